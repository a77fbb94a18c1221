package trajectories

import "strings"

// Counts counts what a trajectory holds. Calls are taken in order, across turns
// and runs. Two calls are the same if their names and arguments are equal, the
// arguments as JSON or, where they are not JSON, as text.
type Counts struct {
	Messages      int // of all roles
	CallTurns     int // turns with calls
	Calls         int
	ParallelTurns int // turns with more than one call
	Errors        int // results marked as errors by the source, or beginning with "Error"
	Unanswered    int // calls without a result
	Distinct      int // different calls
	MaxInARow     int // calls in the longest stretch of the same call
	MaxInAll      int // times that the most frequent call was made
	MaxAlternate  int // calls in the longest stretch A B A B …, 0 below three
	MaxErrors     int // calls in the longest stretch of errors
	IDMissing     int // calls without an id
	IDReused      int // calls with an id that an earlier one had
	ArgsEmpty     int // calls whose arguments are the empty text
	ArgsInvalid   int // calls whose arguments are not JSON
}

// Counts returns the counts of the trajectory.
func (r *Trajectory) Counts() Counts {
	c := counter{Counts: Counts{Messages: r.Messages}, ids: map[string]bool{}, times: map[string]int{}}
	for _, run := range r.Runs {
		for _, t := range run.Turns {
			if len(t.Calls) > 0 {
				c.CallTurns++
			}
			if len(t.Calls) > 1 {
				c.ParallelTurns++
			}
		}
	}
	r.eachCall(func(call *Call) {
		c.ofIDs(call)
		c.ofArgs(call)
		c.ofResults(call.Result)
		c.ofRepeats(signature(call))
	})
	c.Distinct = len(c.times)
	return c.Counts
}

type counter struct {
	Counts
	ids                     map[string]bool
	times                   map[string]int // how often each call was made
	last, beforeLast        string
	inARow, alternate, errs int
}

func (c *counter) ofIDs(call *Call) {
	switch {
	case call.ID == "":
		c.IDMissing++
	case c.ids[call.ID]:
		c.IDReused++
	}
	c.ids[call.ID] = true
}

func (c *counter) ofArgs(call *Call) {
	if call.Args == "" {
		c.ArgsEmpty++
	} else if _, ok := canonicalArgs(call.Args); !ok {
		c.ArgsInvalid++
	}
}

func (c *counter) ofResults(r *Result) {
	switch {
	case r == nil:
		c.Unanswered++
		c.errs = 0
	case r.Code.Failed() || strings.HasPrefix(r.Text, "Error"):
		c.Errors++
		c.errs++
	default:
		c.errs = 0
	}
	c.MaxErrors = max(c.MaxErrors, c.errs)
}

func (c *counter) ofRepeats(sig string) {
	if c.Calls == 0 || sig != c.last {
		c.inARow = 0
	}
	c.inARow++
	if c.Calls > 1 && sig != c.last && sig == c.beforeLast {
		c.alternate++
	} else {
		c.alternate = 2 // with the call before
	}
	c.Calls++
	c.beforeLast, c.last = c.last, sig
	c.times[sig]++
	c.MaxInARow = max(c.MaxInARow, c.inARow)
	c.MaxInAll = max(c.MaxInAll, c.times[sig])
	if c.alternate > 2 {
		c.MaxAlternate = max(c.MaxAlternate, c.alternate)
	}
}

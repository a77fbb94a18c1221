package loop

import "time"

// An audit sorts a trace into runs, requests, replies, calls, gates and tries.
// This file says what is known of them.

// An auditPlace is where something stands in a trace. A line of 0 is nowhere.
type auditPlace struct {
	rec  int // index of the record
	line int // 1-based line in the text form
	at   time.Duration
}

func (p auditPlace) found() bool { return p.line > 0 }

// by reports whether the place is found, in record rec or before it.
func (p auditPlace) by(rec int) bool { return p.found() && p.rec <= rec }

// An auditItem is one line of a trace: an input or an effect.
type auditItem struct {
	auditPlace
	run   *auditRun // nil outside of runs
	in    *Input
	eff   *Effect
	taken bool // of an input: the machine did not ignore it
	user  int  // of an input: the number of the user message that it brings, or 0
}

type auditRun struct {
	begin    auditPlace
	halt     auditPlace
	outcome  *Outcome
	requests []*auditRequest
	replies  []*auditReply
	gates    []*auditGate
	asks     []*auditPause // the questions
	pauses   []*auditPause // of both, as they opened
	tries    []*auditTry
	cancels  []auditItem

	// What the recount finds out.
	broke     auditPlace // the cancel or run deadline that broke it off
	brokeBy   Stop
	decisions []auditDecision
}

// broken reports whether a cancel or the run deadline had broken the run off
// by the end of record rec.
func (r *auditRun) broken(rec int) bool { return r.broke.by(rec) }

type auditRequest struct {
	run   *auditRun
	tries []*auditAsk
}

// How a try of a model request ended.
type auditEnding uint8

const (
	auditOpen auditEnding = iota
	auditReplied
	auditFailed
	auditGivenUp // by a cancel effect
)

type auditAsk struct {
	ref    Ref
	run    *auditRun
	to     Purpose
	asked  auditPlace
	deltas []auditPlace
	ended  auditPlace
	how    auditEnding
	in     *Input // the reply or failure
}

// What sort of reply it is.
type auditSort uint8

const (
	auditEmpty   auditSort = iota // neither text nor calls
	auditCut                      // no calls, cut off by the length limit
	auditBad                      // a planner's reply that is no action
	auditSummary                  // a summary
	auditAnswer                   // no calls
	auditAction                   // a planner's action that is no call
	auditBatch                    // calls
)

type auditReply struct {
	auditPlace
	ref   Ref
	run   *auditRun
	in    *Input
	sort  auditSort
	last  bool // it is the last word that a limit or detector asked for
	calls []*auditCall
}

type auditCall struct {
	n       int
	reply   *auditReply
	asked   AskedCall
	name    string // without white space round it
	args    string // "{}" where the model wrote nothing
	id      string // as in the history
	planned bool   // it stands in the text of a planner's reply
	gates   []*auditGate
	tries   []*auditTry
	puts    []auditItem
	spec    *ToolSpec

	// What the recount finds out.
	page    int        // of an answer in pages that it reads
	standIn string     // the fallback that is called from the first try on
	same    string     // equal for calls that are identical to a detector
	fault   Why        // Unknown or InvalidArgs
	fixed   string     // the arguments after repair
	sent    string     // the arguments that a hook gave, or fixed
	loose   bool       // whether it can be executed is the tools' own matter
	block   Why        // what keeps it from being executed, before any gate
	rule    string     // the rule that block comes from
	denied  auditPlace // the answer of the gate that keeps it from being executed
	deny    Why        // Denied, or Vetoed by a hook
	hooked  bool       // a hook gave sent
	// The first and the last record in which its result may become final; ok if
	// the trace gets that far.
	final auditSpan
}

// An auditSpan is a range of records.
type auditSpan struct {
	lo, hi int
	ok     bool
}

func (c *auditCall) last() *auditTry {
	if len(c.tries) == 0 {
		return nil
	}
	return c.tries[len(c.tries)-1]
}

type auditTry struct {
	ref       Ref
	call      *auditCall
	name      string // of the tool that was called
	started   auditPlace
	cancels   []auditPlace
	ended     auditPlace
	abandoned bool
	in        *Input // the result
}

func (t *auditTry) cancelledAt(line int) bool {
	for _, p := range t.cancels {
		if p.line == line {
			return true
		}
	}
	return false
}

// An auditPause is what the user is asked and answers.
type auditPause struct {
	ref      Ref
	run      *auditRun
	opened   auditPlace
	answered auditPlace
	allow    bool
}

type auditGate struct {
	auditPause
	at GateKind
	of *auditCall // nil before and after a run
	in *Input     // the answer
}

type auditBook struct {
	cfg      Config
	task     Task
	tools    map[string]*ToolSpec
	trace    Trace
	lines    []int // the line of each record's input
	items    []auditItem
	runs     []*auditRun
	replies  []*auditReply
	calls    []*auditCall // by number, from 1
	tries    []*auditTry  // as they started
	requests map[int]*auditRequest
	gates    map[int]*auditGate
	asks     map[int]*auditPause
	schemas  map[string]Schema
	states   map[string]*auditTool // by the tools' names
	users    int

	plain bool // every detector is
	rule  string
	found []Violation
}

// ask finds the latest try of a model request with that number; no try means
// the first.
func (b *auditBook) ask(r Ref) *auditAsk {
	q := b.requests[r.N]
	if r.Kind != RefModel || q == nil {
		return nil
	}
	for i := len(q.tries) - 1; i >= 0; i-- {
		if q.tries[i].ref.Try == max(r.Try, 1) {
			return q.tries[i]
		}
	}
	return nil
}

func (b *auditBook) call(r Ref) *auditCall {
	if r.Kind != RefCall || r.N < 1 || r.N > len(b.calls) {
		return nil
	}
	return b.calls[r.N-1]
}

func (b *auditBook) try(r Ref) *auditTry {
	c := b.call(r)
	if c == nil {
		return nil
	}
	for i := len(c.tries) - 1; i >= 0; i-- {
		if c.tries[i].ref.Try == r.Try {
			return c.tries[i]
		}
	}
	return nil
}

func (b *auditBook) gate(r Ref) *auditGate {
	if r.Kind != RefGate {
		return nil
	}
	return b.gates[r.N]
}

func (b *auditBook) question(r Ref) *auditPause {
	if r.Kind != RefQuestion {
		return nil
	}
	return b.asks[r.N]
}

// next gives the first record after rec that is not before the instant at, or
// len(b.trace) if there is none.
func (b *auditBook) next(rec int, at time.Duration) int {
	for i := rec + 1; i < len(b.trace); i++ {
		if b.trace[i].In.At >= at {
			return i
		}
	}
	return len(b.trace)
}

// input gives the place of a record's input.
func (b *auditBook) input(rec int) auditPlace {
	return auditPlace{rec: rec, line: b.lines[rec], at: b.trace[rec].In.At}
}

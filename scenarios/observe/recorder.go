package observe

import (
	"slices"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
)

// A Recorder makes an [Observation] of what a [serve.Server] is asked. Its zero value
// is ready. Any number of goroutines may use it.
type Recorder struct {
	// Clock returns the time since the trial began; it must be set.
	Clock func() time.Duration

	mu    sync.Mutex
	seq   int
	o     Observation
	at    map[int]int // the index in o.Requests of an entry of the journal
	calls map[int]bool
	runs  map[*fakes.Execution]int // the index in o.Executions of one that is open
	last  time.Duration            // when something last happened
	open  int                      // requests that are being answered
}

func (r *Recorder) moment() Moment {
	r.seq++
	r.last = r.Clock()
	return Moment{r.seq, r.last}
}

// Seen is told of each request: see [serve.Options].
func (r *Recorder) Seen(seen *serve.Seen) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := seen.Entry
	switch {
	case e.Astray:
		r.moment()
		if e.Open && !slices.Contains(r.o.Astray, e.Path) && len(r.o.Astray) < maxAstray {
			r.o.Astray = append(r.o.Astray, e.Path)
		}
	case e.Open:
		r.open++
		if r.moment(); e.Aside {
			r.o.Asides++
			return
		}
		if r.at == nil {
			r.at, r.calls = map[int]int{}, map[int]bool{}
		}
		r.at[e.N] = len(r.o.Requests)
		r.o.Requests = append(r.o.Requests, Request{N: e.Request, Step: e.Step, Asked: Moment{r.seq, r.last}, Fault: e.Fault, Refused: e.Error, Tools: len(seen.Tools),
			Undeclared: e.Undeclared, Problems: e.Problems, History: seen.History, Text: seen.Text, Calls: seen.Calls, Finish: e.Finish, Failed: seen.Failed,
			TokensIn: seen.TokensIn, TokensOut: seen.TokensOut})
	default:
		r.open--
		m := r.moment()
		if i, ok := r.at[e.N]; ok {
			q := &r.o.Requests[i]
			q.Answered, q.Status, q.Gone = m, e.Status, e.Gone
			delete(r.at, e.N)
			if q.answered() {
				for _, c := range q.Calls {
					r.calls[c.N] = true
				}
			}
		}
	}
}

// Executed is told of each execution of a scripted tool: see [serve.Options].
func (r *Recorder) Executed(x *serve.Executed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m, e := r.moment(), x.Execution
	i, begun := r.runs[e]
	if !begun {
		if r.runs == nil {
			r.runs = map[*fakes.Execution]int{}
		}
		i = len(r.o.Executions)
		r.runs[e] = i
		r.open++
		r.o.Executions = append(r.o.Executions, Execution{N: e.Call.N, Try: e.Call.Try, Name: e.Call.Name, Args: e.Call.Args, Began: m, Code: e.Said.Code, Text: e.Said.Text})
		if e.Err != nil {
			r.o.Executions[i].Dry = e.Err.Error()
		}
	}
	if e.Ended {
		r.open--
		delete(r.runs, e)
		r.o.Executions[i].Ended, r.o.Executions[i].Answered = m, e.Answered
	}
}

// Begin notes that a run of a conversation begins with this message of the user.
func (r *Recorder) Begin(message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.o.Runs = append(r.o.Runs, Run{Text: message, Began: r.moment()})
}

// End notes how the newest run ended.
func (r *Recorder) End(failed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := &r.o.Runs[len(r.o.Runs)-1]
	last.Ended, last.Failed = r.moment(), failed
}

// Cancel notes that the user cancels the run that is under way. The first time counts.
func (r *Recorder) Cancel() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.moment(); r.o.Cancelled.Seq == 0 {
		r.o.Cancelled = m
	}
}

// maxAstray is the number of paths that are kept.
const maxAstray = 5

// A State is what a recorder has seen so far.
type State struct {
	Requests int           // of the agent's loop
	Calls    int           // that the model has asked for
	Asides   int           // requests beside the loop
	Open     int           // requests and executions that are being answered
	Last     time.Duration // when something last happened
}

// State returns what has been seen so far.
func (r *Recorder) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	return State{Requests: len(r.o.Requests), Calls: len(r.calls), Asides: r.o.Asides, Open: r.open, Last: r.last}
}

// Observation returns what has been seen so far. The caller fills in the rest.
func (r *Recorder) Observation() *Observation {
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.o
	o.Requests, o.Executions, o.Runs, o.Astray = slices.Clone(o.Requests), slices.Clone(o.Executions), slices.Clone(o.Runs), slices.Clone(o.Astray)
	return &o
}

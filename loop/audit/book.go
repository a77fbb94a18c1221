package audit

import (
	"sort"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// An audit divides a trace into runs, requests, replies, calls, gates and tries. This
// file has their types.

// A place is a position in a trace. The zero place means not found.
type place struct {
	rec  int // index of the record
	line int // 1-based line in the text form
	at   time.Duration
}

func (p place) found() bool { return p.line > 0 }

// by reports whether the place is in record rec or before it.
func (p place) by(rec int) bool { return p.found() && p.rec <= rec }

// An item is one line of a trace: an input or an effect.
type item struct {
	place
	run   *run          // nil outside of runs
	msg   *loop.Message // the message that it adds to the history; nil until [book.message] makes it
	in    *loop.Input
	eff   *loop.Effect
	taken bool // of an input: the machine did not ignore it
	user  int  // of an input: the number of the user message that it adds, or 0
}

// A run is a run of the loop.
type run struct {
	begin    place
	from, to int // its items
	halt     place
	outcome  *loop.Outcome
	requests []*request
	replies  []*reply
	gates    []*gate
	asks     []*pause // the questions
	pauses   []*pause // gates and questions, in the order in which they opened
	tries    []*try
	cancels  []item
	notes    []*item
	extended []time.Duration // the deadline after each pause, see [book.deadline]

	// The recount sets these.
	broke     place // the cancel or run deadline that broke off the run
	brokeBy   loop.Stop
	decisions []decision
	graced    bool // its last word, with tools offered, is the answer
}

// broken reports whether a cancel or the run deadline has broken off the run by the
// end of record rec.
func (r *run) broken(rec int) bool { return r.broke.by(rec) }

// A request is a model request.
type request struct {
	run   *run
	tries []*ask
	first [1]*ask // memory for one try
}

// An ending is how a try of a model request ended.
type ending uint8

const (
	askOpen ending = iota
	askReplied
	askFailed
	askGivenUp // by a cancel effect
)

// An ask is a try of a model request.
type ask struct {
	ref    loop.Ref
	run    *run
	to     loop.Purpose
	asked  place
	deltas []place
	ended  place
	how    ending
	in     *loop.Input // the reply or failure
}

// A replySort says how the loop treats a reply.
type replySort uint8

const (
	emptyReply     replySort = iota // neither text nor calls
	cutReply                        // no calls, cut off by the length limit
	announcedReply                  // text alone, finished as a reply with calls
	badReply                        // a planner's reply that is not an action
	gapReply                        // an answer, or a planner's stop, that the critic turns back
	summaryReply                    // a summary
	answerReply                     // the answer: text without calls
	actionReply                     // a planner's action other than a call
	batchReply                      // a reply with calls
)

// A reply is a reply of the model.
type reply struct {
	place
	ref     loop.Ref
	run     *run
	in      *loop.Input
	sort    replySort
	last    bool // a limit or detector asked for it as the last word
	grace   bool // tools were offered with it
	calls   []*call
	repeats []*call  // the calls that repeat another one, see [book.separate]
	dropped []*call  // the calls that contracts.broken_args took out, see [book.drops]
	first   [1]*call // memory for one call
	open    int      // the index of the call that [book.batchWaits] last found open
	ready   int      // the result of [book.gatesDone]; 0 = not computed yet

	// The records from which on limits.tokens and cost_usd forbid starts.
	tokens, cost int
}

// A call is a call that the model asked for.
type call struct {
	n       int
	reply   *reply
	asked   loop.AskedCall
	name    string // without white space around it
	args    string // "{}" if the model wrote nothing
	id      string // the id in the history
	planned bool   // it is in the text of a planner's reply
	repeats *call  // the call that it repeats, or nil
	dropped bool   // contracts.broken_args took it out of its reply
	gates   []*gate
	tries   []*try
	puts    []*item
	first   struct { // memory for one of each
		try [1]*try
		put [1]*item
	}
	spec *loop.ToolSpec

	// The recount sets these.
	place   int      // of the calls that limits.calls counts, it is this one; 0 = it is none
	spawn   int      // of the sub-runs that limits.spawns counts, it is this one; 0 = it is none
	full    int      // the record from which on limits.calls forbids its start
	crowded int      // the record from which on limits.spawns forbids its start
	page    int      // the page of a paged answer that it reads
	standIn string   // the fallback that already its first try calls, or ""
	object  bool     // its arguments are a JSON object
	same    string   // equal for calls that are identical for detectors; "" unless streaks are counted
	fault   loop.Why // Unknown or InvalidArgs
	fixed   string   // the arguments after repair
	sent    string   // the arguments of a hook, or fixed
	loose   bool     // whether it can be executed is not known
	block   loop.Why // why it is not executed, before any gate
	rule    string   // the rule of block
	denied  place    // the answer of the gate that denies it
	deny    loop.Why // Denied, or Vetoed by a hook
	hooked  bool     // sent is from a hook
	// The first and the last record in which its result may become final. ok says
	// that the trace reaches them.
	final span
}

// A span is a range of records.
type span struct {
	lo, hi int
	ok     bool
}

// last returns the last try, or nil.
func (c *call) last() *try {
	if len(c.tries) == 0 {
		return nil
	}
	return c.tries[len(c.tries)-1]
}

// A try is a try of a call.
type try struct {
	n         int // it is the n-th of the session
	ref       loop.Ref
	call      *call
	name      string         // the name of the tool that was called
	spec      *loop.ToolSpec // the tool, or an empty spec
	started   place
	cancels   []place
	ended     place
	abandoned bool
	in        *loop.Input // the result
}

// cancelledAt reports whether a line cancels the try.
func (t *try) cancelledAt(line int) bool {
	for _, p := range t.cancels {
		if p.line == line {
			return true
		}
	}
	return false
}

// A pause is the time from a question, or a gate, to its answer.
type pause struct {
	ref      loop.Ref
	run      *run
	opened   place
	answered place
	allow    bool
}

// A gate is a gate of the loop.
type gate struct {
	pause
	at loop.GateKind
	of *call       // nil before and after a run
	in *loop.Input // the answer

	lapsed bool // nobody answered in time; answered is when its time was over
}

// A book holds a trace in parts, and the violations found so far.
type book struct {
	*storage
	cfg      loop.Config
	task     loop.Task
	tools    map[string]*loop.ToolSpec
	trace    loop.Trace
	runs     []*run
	replies  []*reply
	calls    []*call // by number, from 1
	tries    []*try  // in the order in which they started
	requests map[int]*request
	gates    map[int]*gate
	asks     map[int]*pause
	schemas  map[string]loop.Schema
	states   map[string]*toolState // by the name of the tool
	rests    map[loop.Ref]rest     // of the tries that are sub-runs
	users    int                   // user messages so far

	plain     bool            // every detector only counts identical calls and stops, see [onlyCounts]
	streaks   bool            // streaks are counted: plain is true and there is a detector
	dropped   bool            // the trace has a drop
	lengths   []historyLength // found by [book.checkHistory] for [book.checkAskedWith]
	distinct  bool            // [book.checkCallIDs] found that all ids are unique
	backwards bool            // the time decreases somewhere
	rule      string          // the name of the current rule
	found     []Violation
}

// ask returns the latest try of a model request with this reference, or nil. A
// reference without a try means the first one.
func (b *book) ask(r loop.Ref) *ask {
	q := b.requests[r.N]
	if r.Kind != loop.RefModel || q == nil {
		return nil
	}
	for i := len(q.tries) - 1; i >= 0; i-- {
		if q.tries[i].ref.Try == max(r.Try, 1) {
			return q.tries[i]
		}
	}
	return nil
}

// call returns the call with this reference, or nil.
func (b *book) call(r loop.Ref) *call {
	if r.Kind != loop.RefCall || r.N < 1 || r.N > len(b.calls) {
		return nil
	}
	return b.calls[r.N-1]
}

// try returns the latest try of a call with this reference, or nil.
func (b *book) try(r loop.Ref) *try {
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

// gate returns the gate with this reference, or nil.
func (b *book) gate(r loop.Ref) *gate {
	if r.Kind != loop.RefGate {
		return nil
	}
	return b.gates[r.N]
}

// question returns the question with this reference, or nil.
func (b *book) question(r loop.Ref) *pause {
	if r.Kind != loop.RefQuestion {
		return nil
	}
	return b.asks[r.N]
}

// next returns the first record after rec that is not before the instant at, or
// len(b.trace) if there is none.
func (b *book) next(rec int, at time.Duration) int {
	if rest := b.trace[min(rec+1, len(b.trace)):]; !b.backwards {
		return len(b.trace) - len(rest) + sort.Search(len(rest), func(i int) bool { return rest[i].In.At >= at })
	}
	for i := rec + 1; i < len(b.trace); i++ {
		if b.trace[i].In.At >= at {
			return i
		}
	}
	return len(b.trace)
}

// itemsOf returns the items of a run, which are consecutive.
func (b *book) itemsOf(r *run) []item { return b.items[r.from:r.to] }

// whole returns a reference without its try.
func whole(r loop.Ref) loop.Ref { return loop.Ref{Kind: r.Kind, N: r.N} }

// input returns the place of a record's input.
func (b *book) input(rec int) place {
	return place{rec: rec, line: b.lines[rec], at: b.trace[rec].In.At}
}

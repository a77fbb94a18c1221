package audit

import (
	"sort"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// An audit sorts a trace into runs, requests, replies, calls, gates and tries.
// This file holds their types.

// A place is a position in a trace. The zero place is nowhere.
type place struct {
	rec  int // index of the record
	line int // 1-based line in the text form
	at   time.Duration
}

func (p place) found() bool { return p.line > 0 }

// by reports whether the place is found, in record rec or before it.
func (p place) by(rec int) bool { return p.found() && p.rec <= rec }

// An item is one line of a trace: an input or an effect.
type item struct {
	place
	run   *run          // nil outside of runs
	msg   *loop.Message // the message that it adds to the history; nil until [book.message] makes it
	in    *loop.Input
	eff   *loop.Effect
	taken bool // of an input: the machine did not ignore it
	user  int  // of an input: the number of its user message, or 0
}

type run struct {
	begin    place
	from, to int // its items
	halt     place
	outcome  *loop.Outcome
	requests []*request
	replies  []*reply
	gates    []*gate
	asks     []*pause // the questions
	pauses   []*pause // gates and questions, as they opened
	tries    []*try
	cancels  []item
	notes    []*item
	extended []time.Duration // the deadline after each pause, see [book.deadline]

	// The recount fills these in.
	broke     place // the cancel or run deadline that broke it off
	brokeBy   loop.Stop
	decisions []decision
}

// broken reports whether a cancel or the run deadline had broken the run off
// by the end of record rec.
func (r *run) broken(rec int) bool { return r.broke.by(rec) }

type request struct {
	run   *run
	tries []*ask
	first [1]*ask // the memory of one try
}

// An ending is how a try of a model request ended.
type ending uint8

const (
	askOpen ending = iota
	askReplied
	askFailed
	askGivenUp // by a cancel effect
)

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

// A replySort is what a reply is to the loop.
type replySort uint8

const (
	emptyReply   replySort = iota // neither text nor calls
	cutReply                      // no calls, cut off by the length limit
	badReply                      // a planner's reply that is not an action
	summaryReply                  // a summary
	answerReply                   // no calls
	actionReply                   // a planner's action other than a call
	batchReply                    // calls
)

type reply struct {
	place
	ref   loop.Ref
	run   *run
	in    *loop.Input
	sort  replySort
	last  bool // it is the last word, which a limit or detector asked for
	calls []*call
	first [1]*call // the memory of one call
	open  int      // the index of the call that [book.batchWaits] last found open
	ready int      // the result of [book.gatesDone]; 0 = not computed yet
}

type call struct {
	n       int
	reply   *reply
	asked   loop.AskedCall
	name    string // without white space round it
	args    string // "{}" where the model wrote nothing
	id      string // as in the history
	planned bool   // a planner wrote it as text
	gates   []*gate
	tries   []*try
	puts    []*item
	first   struct { // the memory of one each
		try [1]*try
		put [1]*item
	}
	spec *loop.ToolSpec

	// The recount fills these in.
	page    int      // the page that it reads, of an answer in pages
	standIn string   // the fallback that its first try calls already, or ""
	object  bool     // its arguments are an object
	same    string   // equal for calls that detectors take for identical; "" unless streaks are counted
	fault   loop.Why // Unknown or InvalidArgs
	fixed   string   // the arguments after repair
	sent    string   // the arguments that a hook gave, or fixed
	loose   bool     // whether it can be executed is up to the tool
	block   loop.Why // what keeps it from being executed, before any gate
	rule    string   // the rule that block comes from
	denied  place    // the answer of the gate that keeps it from being executed
	deny    loop.Why // Denied, or Vetoed by a hook
	hooked  bool     // a hook gave sent
	// The first and the last record in which its result may become final. ok
	// reports whether the trace gets that far.
	final span
}

// A span is a range of records.
type span struct {
	lo, hi int
	ok     bool
}

func (c *call) last() *try {
	if len(c.tries) == 0 {
		return nil
	}
	return c.tries[len(c.tries)-1]
}

type try struct {
	n         int // the session's n-th
	ref       loop.Ref
	call      *call
	name      string         // of the tool that was called
	spec      *loop.ToolSpec // its tool, or an empty one
	started   place
	cancels   []place
	ended     place
	abandoned bool
	in        *loop.Input // the result
}

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

type gate struct {
	pause
	at loop.GateKind
	of *call       // nil before and after a run
	in *loop.Input // the answer
}

type book struct {
	*storage
	cfg      loop.Config
	task     loop.Task
	tools    map[string]*loop.ToolSpec
	trace    loop.Trace
	runs     []*run
	replies  []*reply
	calls    []*call // by number, from 1
	tries    []*try  // as they started
	requests map[int]*request
	gates    map[int]*gate
	asks     map[int]*pause
	schemas  map[string]loop.Schema
	states   map[string]*toolState // by the tools' names
	users    int

	plain     bool            // every detector only counts identical calls and stops
	streaks   bool            // plain, and there is a detector: streaks are counted
	dropped   bool            // the trace has a drop
	lengths   []historyLength // what [book.checkHistory] finds for [book.checkAskedWith]
	distinct  bool            // [book.checkCallIDs] found an id of its own at every call
	backwards bool            // time goes back somewhere
	rule      string
	found     []Violation
}

// ask returns the latest try of a model request with that number, or nil. A
// reference without a try is to the first.
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

func (b *book) call(r loop.Ref) *call {
	if r.Kind != loop.RefCall || r.N < 1 || r.N > len(b.calls) {
		return nil
	}
	return b.calls[r.N-1]
}

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

func (b *book) gate(r loop.Ref) *gate {
	if r.Kind != loop.RefGate {
		return nil
	}
	return b.gates[r.N]
}

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

package fakes

import (
	"fmt"
	"iter"
	"math/bits"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
)

// A Model is the model of a script as a function: what it says follows from the
// script, the seed, the request's number and what the request comes after. It
// keeps nothing, and any number of goroutines may use one. A [World] plays it in
// virtual time, the package fakes/serve over HTTP.
type Model struct{ seeded }

// NewModel reads a script, which must not change any more. The error is what
// [Script.Validate] reports.
func NewModel(s *Script, seed uint64) (*Model, error) {
	p, err := compile(s)
	if err != nil {
		return nil, err
	}
	return &Model{seeded{program: p, seed: seed, key: newKey(seed)}}, nil
}

// Seeded gives the model with another seed.
func (m *Model) Seeded(seed uint64) Model {
	return Model{seeded{program: m.program, seed: seed, key: newKey(seed)}}
}

// Next goes on to the next request of a conversation, which comes right after b,
// and gives the index in [Script.Model] of the step that answers all its tries:
// -1 if there is none.
func (m *Model) Next(c *Course, b Before) int {
	if s := m.next(c, &b); s != nil {
		return s.index
	}
	return -1
}

// Say gives what the step with that index says to one try of a request. The
// error is a [DryError]: a result that the arguments of a call want is not
// there.
func (m *Model) Say(step int, r Request) (Said, error) {
	var b scratch
	return m.say(&m.steps[step], &r, &b, true)
}

// CallNumber gives the number of the call that has a fresh id, 0 for an id that
// is none.
func (m *Model) CallNumber(id string) int {
	digits, ok := strings.CutPrefix(id, m.fresh)
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || n < 1 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// A Course is how far a conversation has come in a script. The zero Course is
// the beginning.
type Course struct {
	requests int
	used     []int // how often each When step has answered
}

// Before is what a request comes right after: see [When].
type Before struct {
	Results                     bool // the history ends with a batch of results
	Denied, Vetoed, Failed, Cut bool
	Nudged                      bool
	For                         loop.Purpose // what the request is for; "" = the next turn
}

func (b *Before) holds(c When) bool {
	switch c {
	case WhenDenied:
		return b.Denied
	case WhenVetoed:
		return b.Vetoed
	case WhenFailed:
		return b.Failed
	case WhenOK:
		return b.Results && !b.Failed
	case WhenCut:
		return b.Cut
	case WhenNudged:
		return b.Nudged
	case WhenSummary:
		return b.For == loop.ForSummary
	case WhenFinal:
		return b.For == loop.ForFinal || b.For == loop.ForGrace
	}
	return false
}

// A Request is one try of a request, as a model gets it.
type Request struct {
	Ref     loop.Ref       // m3#2: its number and the try
	Calls   int            // how many calls were asked for before it
	History []loop.Message // for the values of results
}

// Said is what a model says to one try of a request.
type Said struct {
	Text   string
	Calls  []loop.AskedCall
	Finish string
	// TokensIn, TokensOut and Cost (nano-dollars) are the reply's usage.
	TokensIn, TokensOut, Cost int64
	// Failure is what the try gets instead of the reply, nil = the reply; Reason
	// is its text. The reply is then the one that breaks off.
	Failure *ModelFailure
	Reason  string
	// After is how long it takes until the reply is whole, or fails.
	After time.Duration
	// Of is the number of pieces that the text is cut into (see [Cut]), 0 where
	// it comes at once. Of these, Pieces come before the reply is whole or fails.
	Of, Pieces int
	// Deltas are the pieces of a [Speaker]'s reply; Of and Pieces are then its own
	// to count.
	Deltas []Delta

	// Struck are the faults that did, by their place in [Script.Faults].
	Struck []int

	first time.Duration // until the first piece, 0 = as long as each
}

// seeded is a program with the seed that it is played with.
type seeded struct {
	*program
	seed uint64
	key  key
}

// next finds the step for the next request, nil if there is none.
func (p *seeded) next(c *Course, b *Before) *step {
	c.requests++
	if s := p.conditional(c, b); s != nil {
		return s
	}
	// A When step covers nothing: the first that comes so far is a plain one.
	at := sort.Search(len(p.steps), func(i int) bool { return p.steps[i].last >= c.requests })
	switch {
	case at < len(p.steps):
		return &p.steps[at]
	case len(p.states) > 0:
		return p.inState(c.requests)
	}
	return nil
}

// conditional finds the When step that holds, nil if there is none.
func (p *program) conditional(c *Course, b *Before) *step {
	if c.used == nil && len(p.when) > 0 {
		c.used = make([]int, len(p.when))
	}
	for i, at := range p.when {
		if s := &p.steps[at]; c.used[i] < s.left && b.holds(s.When) {
			c.used[i]++
			return s
		}
	}
	return nil
}

// say gives what a step says, and the faults make of it. The calls of a reply
// that fails are left out unless all is wanted.
func (p *seeded) say(s *step, r *Request, b *scratch, all bool) (Said, error) {
	said, err := p.saying(s, r, b, all)
	if len(p.faults) > 0 {
		said = p.spoiled(said, r.Ref)
	}
	return said, err
}

func (p *seeded) saying(s *step, r *Request, b *scratch, all bool) (Said, error) {
	k := p.key.ref(r.Ref)
	v := vars{turn: r.Ref.N, call: r.Calls + 1, seed: p.seed, key: k.of(forText), history: r.History}
	said := Said{Text: b.say(&s.text, &v), Finish: s.finish(), TokensIn: s.TokensIn, TokensOut: s.TokensOut, Cost: s.Cost, first: s.FirstToken, Pieces: s.Chunks, Of: s.Chunks}
	latency := s.Latency
	if i := s.failure(r.Ref.Try); i >= 0 {
		f := &s.Failures[i]
		latency = f.Latency.or(latency)
		v.key = k.of(r.Ref.Try).of(forText)
		said.Failure, said.Reason = f, b.say(&s.failures[i], &v)
		if f.Wire != WireNoFinish { // where all pieces come
			said.Pieces, said.Of = f.Chunks, max(s.Chunks, f.Chunks+1)
		}
	}
	said.After = latency.or(exactly(DefaultModelLatency)).draw(k.of(r.Ref.Try).of(forLatency))
	if said.Failure != nil && !all {
		return said, nil
	}
	var err error
	said.Calls, err = p.calls(s, r, b, v)
	return said, err
}

// failure is the index of the failure that a try gets, -1 if it succeeds.
func (s *step) failure(try int) int {
	i, last := max(try, 1)-1, len(s.Failures)-1
	switch {
	case i <= last:
		return i
	case s.FailForever:
		return last
	}
	return -1
}

func (s *step) finish() string {
	switch {
	case s.Finish != "":
		return s.Finish
	case len(s.Calls) > 0:
		return loop.FinishToolCalls
	}
	return loop.FinishStop
}

// calls writes the calls of a reply.
func (p *seeded) calls(s *step, r *Request, b *scratch, v vars) ([]loop.AskedCall, error) {
	if len(s.Calls) == 0 {
		return nil, nil
	}
	var dry error
	calls := make([]loop.AskedCall, len(s.Calls))
	for i := range calls {
		c := &s.Calls[i]
		v.call = r.Calls + i + 1
		v.key = p.key.ref(r.Ref).of(forArgs).of(i)
		calls[i].Name = c.Name
		var err error
		if calls[i].ID, calls[i].Args, err = b.call(c, &s.args[i], &v, p.fresh); err != nil && dry == nil {
			dry = &DryError{r.Ref, fmt.Sprintf("request m%d, call %s: %v", r.Ref.N, quoted(c.Name), err)}
		}
	}
	return calls, dry
}

// scratch is memory for texts on their way.
type scratch []byte

// say gives a text. v says what its values come from.
func (b *scratch) say(t *template, v *vars) string {
	if t.parts == nil {
		return t.text
	}
	*b, _ = t.append((*b)[:0], v)
	return string(*b)
}

// call gives the id and the arguments of a call, in one piece of memory.
func (b *scratch) call(c *StepCall, args *template, v *vars, fresh string) (id, text string, err error) {
	buf := (*b)[:0]
	if c.ID == nil {
		buf = strconv.AppendInt(append(buf, fresh...), int64(v.call), 10)
	}
	n := len(buf)
	if args.parts != nil {
		buf, err = args.append(buf, v)
	}
	*b = buf
	all := string(buf)
	id, text = all[:n], all[n:]
	if c.ID != nil {
		id = *c.ID
	}
	if args.parts == nil {
		text = args.text
	}
	return id, text, err
}

// At is when piece i comes, counted from the request.
func (s *Said) At(i int) time.Duration {
	n := s.Pieces
	if s.Failure != nil {
		n++ // the failure is the last piece of a stream
	}
	return spread(s.first, s.After, i, n)
}

// Cut cuts a text into n pieces that are equally long, to a character.
func Cut(text string, n int) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		chars := 0
		if n > 1 {
			chars = utf8.RuneCountInString(text)
		}
		for i := range n {
			end := len(text)
			if i < n-1 {
				end = runes(text, chars*(i+1)/n-chars*i/n)
			}
			if !yield(i, text[:end]) {
				return
			}
			text = text[end:]
		}
	}
}

// spread is the i-th of n instants: the first and the last are given, the
// others lie evenly between them. A first of 0 is as long as each step.
func spread(first, last time.Duration, i, n int) time.Duration {
	first = min(first, last)
	switch {
	case first == 0:
		return share(last, i+1, n)
	case i == 0:
		return first
	}
	return first + share(last-first, i, n-1)
}

// share is d × k ÷ n, for 0 <= k <= n.
func share(d time.Duration, k, n int) time.Duration {
	high, low := bits.Mul64(uint64(d), uint64(k))
	q, _ := bits.Div64(high, low, uint64(n))
	return time.Duration(q)
}

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

// A Model is the model of a script as a function of the script, the seed, the
// request's number and what the request follows. It has no state, and any number
// of goroutines may use it. A [World] plays it in virtual time; the package
// fakes/serve plays it over HTTP.
type Model struct{ seeded }

// NewModel returns the model of a script, which must not change afterwards. The
// error is that of [Script.Validate].
func NewModel(s *Script, seed uint64) (*Model, error) {
	p, err := compile(s)
	if err != nil {
		return nil, err
	}
	return &Model{p.seeded(seed)}, nil
}

// Seeded returns the model with another seed.
func (m *Model) Seeded(seed uint64) Model {
	return Model{m.program.seeded(seed)}
}

// Next advances c to the next request of a conversation, which follows b. It
// returns the index in [Script.Model] of the step that answers all tries of this
// request, or -1 if there is none.
func (m *Model) Next(c *Course, b Before) int {
	if s := m.next(c, &b); s != nil {
		return s.index
	}
	return -1
}

// Say returns what the step with that index says to one try of a request. The
// error is a [DryError]: the arguments of a call need a result that the history
// does not have.
func (m *Model) Say(step int, r Request) (Said, error) {
	var b scratch
	return m.say(&m.steps[step], &r, &b, true)
}

// PlaceID returns a fresh id that says where its call stands: call_3_2 is the second
// call of the reply to the third request. before is the number of calls in earlier
// replies. An id that the script gives is returned as it is.
func (m *Model) PlaceID(id string, request, before int) string {
	digits, ok := strings.CutPrefix(id, m.fresh)
	n := natural(digits)
	if !ok || n <= before {
		return id
	}
	return m.fresh + strconv.Itoa(request) + "_" + strconv.Itoa(n-before)
}

// IDPlace returns the numbers in an id of [Model.PlaceID], or 0, 0 if it is another
// one.
func (m *Model) IDPlace(id string) (request, call int) {
	digits, ok := strings.CutPrefix(id, m.fresh)
	a, b, _ := strings.Cut(digits, "_")
	if request, call = natural(a), natural(b); !ok || request == 0 || call == 0 {
		return 0, 0
	}
	return request, call
}

// natural returns the number that the digits write, or 0 if they write none that is
// greater than 0 and less than a million.
func natural(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > 999_999 || strconv.Itoa(n) != digits {
		return 0
	}
	return n
}

// A Course is the progress of a conversation through a script. The zero Course is
// the beginning.
type Course struct {
	requests int
	used     []int // how often each When step has answered
}

// Before describes what a request follows: see [When].
type Before struct {
	Results                     bool   // the history ends with a batch of results
	Result                      string // the last of them
	Denied, Vetoed, Failed, Cut bool
	Nudged                      bool
	Forced                      bool         // the request forces the model to call a tool
	For                         loop.Purpose // what the request is for; "" = the next turn
}

func (b *Before) holds(c When, result *resultIs) bool {
	switch c {
	case WhenResult:
		return b.Results && result.fits(b.Result)
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
	case WhenForced:
		return b.Forced
	case WhenSummary:
		return b.For == loop.ForSummary
	case WhenFinal:
		return b.For == loop.ForFinal || b.For == loop.ForGrace
	}
	return false
}

// A Request is one try of a model request.
type Request struct {
	Ref     loop.Ref       // m3#2: the number of the request and the try
	Calls   int            // the number of calls in the replies before it, without those that repeat another one
	History []loop.Message // supplies the ${result:…} values
}

// Said is a model's answer to one try of a request.
type Said struct {
	Text   string
	Calls  []loop.AskedCall
	Finish string
	// TokensIn, TokensOut and Cost (nano-dollars) are the reply's usage.
	TokensIn, TokensOut, Cost int64
	// Failure replaces the reply, nil = the try succeeds; Reason is its text. The
	// other fields then hold the reply that breaks off.
	Failure *ModelFailure
	Reason  string
	// After is the time until the reply is complete or fails.
	After time.Duration
	// Of is the number of pieces into which the text is cut (see [Cut]), 0 if it
	// is not streamed. Pieces is how many of them come before the reply is
	// complete or fails.
	Of, Pieces int
	// Deltas are the pieces of a [Speaker]'s reply. The World then counts Of and
	// Pieces itself.
	Deltas []Delta

	// Struck lists the faults that struck, as indexes in [Script.Faults].
	Struck []int

	first time.Duration // until the first piece, 0 = as long as each of the others
}

// seeded is a program with its seed.
type seeded struct {
	*program
	seed uint64
	key  key
}

func (p *program) seeded(seed uint64) seeded {
	return seeded{program: p, seed: seed, key: newKey(named(p.name, seed))}
}

// next returns the step for the next request, or nil if there is none.
func (p *seeded) next(c *Course, b *Before) *step {
	c.requests++
	if s := p.conditional(c, b); s != nil {
		return s
	}
	// A When step does not raise last, so the first step found is a plain one.
	at := sort.Search(len(p.steps), func(i int) bool { return p.steps[i].last >= c.requests })
	switch {
	case at < len(p.steps):
		return &p.steps[at]
	case len(p.states) > 0:
		return p.inState(c.requests)
	}
	return nil
}

// conditional returns the first When step that holds and is not used up, or nil if
// there is none.
func (p *program) conditional(c *Course, b *Before) *step {
	if c.used == nil && len(p.when) > 0 {
		c.used = make([]int, len(p.when))
	}
	for i, at := range p.when {
		if s := &p.steps[at]; c.used[i] < s.left && b.holds(s.When, &s.result) {
			c.used[i]++
			return s
		}
	}
	return nil
}

// say returns what a step says to a try after the faults that strike it. It leaves
// out the calls of a reply that the script lets fail, unless all is set.
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
		if f.Wire != WireNoFinish { // which sends all pieces
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

// failure returns the index of the failure that a try gets, or -1 if it succeeds.
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

// calls returns the calls of a reply with their ids and arguments. The error is a
// DryError for the first call whose arguments need a missing result.
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

// scratch is a buffer that is used again for one text after another.
type scratch []byte

// say returns the text of a template whose values come from v. Missing results are
// not reported: only arguments hold ${result:…}.
func (b *scratch) say(t *template, v *vars) string {
	if t.parts == nil {
		return t.text
	}
	*b, _ = t.append((*b)[:0], v)
	return string(*b)
}

// call returns the id and the arguments of a call, in one allocation.
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

// At returns the instant of piece i, counted from the request.
func (s *Said) At(i int) time.Duration {
	n := s.Pieces
	if s.Failure != nil {
		n++ // the failure is the last piece of a stream
	}
	return spread(s.first, s.After, i, n)
}

// Cut yields n pieces of a text whose lengths differ by one character at most.
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

// spread returns the i-th of n instants, spaced evenly from first to last. If first
// is 0, the time before the first is as long as each step.
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

// share returns d × k ÷ n, for 0 <= k <= n.
func share(d time.Duration, k, n int) time.Duration {
	high, low := bits.Mul64(uint64(d), uint64(k))
	q, _ := bits.Div64(high, low, uint64(n))
	return time.Duration(q)
}

package fakes

import (
	"fmt"
	"math/bits"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
)

// heard is what the loop said that the history alone does not tell.
type heard struct {
	whys       map[int]loop.Why // of calls that were not executed, by number
	cutReply   int              // the last request whose reply was cut off
	cutMessage int              // the user message that said so
}

// hear takes notice of what the loop notes and puts into the history.
func (w *World) hear(e *loop.Effect) {
	switch {
	case e.Kind == loop.Note && e.Event == loop.EventCutReply:
		w.heard.cutReply = e.Ref.N
	case e.Kind == loop.Put && e.Ref.Kind == loop.RefMessage && w.heard.cutReply == w.turn:
		w.heard.cutMessage = e.Ref.N
	case e.Kind == loop.Put && e.Ref.Kind == loop.RefCall:
		delete(w.open, e.Ref.N)
		w.asked = max(w.asked, e.Ref.N) // where a call stood in the text of a reply
		if e.Why != loop.Executed {
			w.heard.whys[e.Ref.N] = e.Why
		}
	}
}

// before is what a request comes right after.
type before struct {
	results                     bool
	denied, vetoed, failed, cut bool
}

// look reads the end of a history: the last batch of results, and messages
// after it.
func (h *heard) look(history []loop.Message) before {
	var b before
	i := len(history) - 1
	for ; i >= 0 && history[i].Role == loop.User; i-- {
		b.cut = b.cut || history[i].Ref.N == h.cutMessage
	}
	for ; i >= 0 && history[i].Role == loop.ToolRole; i-- {
		b.results = true
		b.failed = b.failed || history[i].Failed
		switch h.whys[history[i].Ref.N] {
		case loop.Denied:
			b.denied = true
		case loop.Vetoed, loop.Refused:
			b.vetoed = true
		}
	}
	b.cut = b.cut || i >= 0 && history[i].Ref.N == h.cutReply
	return b
}

func (b *before) holds(c When) bool {
	switch c {
	case WhenDenied:
		return b.denied
	case WhenVetoed:
		return b.vetoed
	case WhenFailed:
		return b.failed
	case WhenOK:
		return b.results && !b.failed
	case WhenCut:
		return b.cut
	}
	return false
}

// A choice is the step that answers a request, whatever the try.
type choice struct {
	turn int
	step *step
}

// choose finds the step for a request, nil if there is none.
func (w *World) choose(e *loop.Effect) *step {
	if w.choice.turn != e.Ref.N {
		w.choice = choice{turn: e.Ref.N, step: w.find(e)}
	}
	return w.choice.step
}

// summary is what the world itself says to a request for a summary.
var summary = step{Step: &Step{}, text: template{text: "What was said before, in a few words."}}

func (w *World) find(e *loop.Effect) *step {
	if e.For == loop.ForSummary {
		w.summed++
		return &summary
	}
	if len(w.when) > 0 {
		b := w.heard.look(e.History)
		for i := range w.when {
			if s := &w.when[i]; s.left > 0 && b.holds(s.When) {
				s.left--
				return s
			}
		}
	}
	// The numbers of requests only grow: what lies behind stays behind.
	n := e.Ref.N - w.summed
	for len(w.plain) > 0 && w.plain[0].last < n {
		w.plain = w.plain[1:]
	}
	if len(w.plain) == 0 {
		return nil
	}
	return &w.plain[0]
}

// ask answers a model request, or lets it fail.
func (w *World) ask(e *loop.Effect) {
	w.turn = e.Ref.N
	if e.Ref.N > w.ceiling().Requests {
		w.queue.push(w.bound(w.now))
		return
	}
	s := w.choose(e)
	if s == nil {
		w.fail(&DryError{e.Ref, fmt.Sprintf("no model step for request m%d (the script has %d)", e.Ref.N, w.covered)})
		return
	}
	v := vars{turn: w.turn, call: w.asked + 1, seed: w.seed, key: w.key.ref(e.Ref).of(forText), history: e.History}
	latency := w.key.ref(e.Ref).of(e.Ref.Try).of(forLatency)
	text := w.say(&s.text, v)
	if i := s.failure(e.Ref.Try); i >= 0 {
		f := &s.Failures[i]
		at := f.Latency.or(s.Latency).or(exactly(DefaultModelLatency)).draw(latency)
		w.stream(e.Ref, text, max(s.Chunks, f.Chunks+1), times{first: s.FirstToken, last: at, n: f.Chunks + 1}, f.Chunks)
		if !f.Hang {
			v.key = w.key.ref(e.Ref).of(e.Ref.Try).of(forText)
			w.queue.push(loop.Input{At: w.now + at, Kind: loop.ModelFailure, Ref: e.Ref,
				Status: f.Status, RetryAfter: f.RetryAfter, Text: w.say(&s.failures[i], v)})
		}
		return
	}
	at := s.Latency.or(exactly(DefaultModelLatency)).draw(latency)
	w.stream(e.Ref, text, s.Chunks, times{first: s.FirstToken, last: at, n: s.Chunks}, s.Chunks)
	w.queue.push(loop.Input{At: w.now + at, Kind: loop.ModelReply, Ref: e.Ref, Text: text,
		Calls: w.calls(s, e, v), Finish: s.finish(),
		TokensIn: s.TokensIn, TokensOut: s.TokensOut, Cost: s.Cost})
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
func (w *World) calls(s *step, e *loop.Effect, v vars) []loop.AskedCall {
	if len(s.Calls) == 0 {
		return nil
	}
	calls := make([]loop.AskedCall, len(s.Calls))
	for i := range calls {
		v.call = w.asked + i + 1
		v.key = w.key.ref(e.Ref).of(forArgs).of(i)
		calls[i].Name = s.Calls[i].Name
		calls[i].ID, calls[i].Args = w.texts(&s.Calls[i], &s.args[i], &v, e.Ref)
	}
	return calls
}

// texts gives the id and the arguments of a call, in one piece of memory.
func (w *World) texts(c *StepCall, args *template, v *vars, ref loop.Ref) (id, text string) {
	b := w.scratch[:0]
	if c.ID == nil {
		b = strconv.AppendInt(append(b, w.fresh...), int64(v.call), 10)
	}
	n := len(b)
	if args.parts != nil {
		var err error
		if b, err = args.append(b, v); err != nil {
			w.fail(&DryError{ref, fmt.Sprintf("request m%d, call %q: %v", ref.N, clip(c.Name), err)})
		}
	}
	w.scratch = b
	all := string(b)
	id, text = all[:n], all[n:]
	if c.ID != nil {
		id = *c.ID
	}
	if args.parts == nil {
		text = args.text
	}
	return id, text
}

// times are n instants after now, the first and the last given and the others
// spread evenly between them. A first of 0 is as long as each step.
type times struct {
	first, last time.Duration
	n           int
}

func (t times) at(i int) time.Duration {
	first := min(t.first, t.last)
	if first == 0 {
		return share(t.last, i+1, t.n)
	}
	if i == 0 {
		return first
	}
	return first + share(t.last-first, i, t.n-1)
}

// share is d × k ÷ n, for 0 <= k <= n.
func share(d time.Duration, k, n int) time.Duration {
	high, low := bits.Mul64(uint64(d), uint64(k))
	q, _ := bits.Div64(high, low, uint64(n))
	return time.Duration(q)
}

// stream says the first pieces of a text that is cut into of.
func (w *World) stream(ref loop.Ref, text string, of int, t times, pieces int) {
	if pieces == 0 {
		return
	}
	chars := utf8.RuneCountInString(text)
	for i := range pieces {
		n := runes(text, chars*(i+1)/of-chars*i/of)
		w.queue.push(loop.Input{At: w.now + t.at(i), Kind: loop.ModelDelta, Ref: ref, Text: text[:n]})
		text = text[n:]
	}
}

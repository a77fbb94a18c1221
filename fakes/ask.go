package fakes

import (
	"fmt"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// heard keeps what the loop reported and a history does not show.
type heard struct {
	whys       map[int]loop.Why // why calls were not executed, by number
	unheld     int              // calls that repeat another one or were dropped: the history does not have them
	cutReply   int              // the last request whose reply was cut off
	cutMessage int              // the user message that says so
	nudge      int              // the last request whose calls made a detector nudge the model
	nudgeText  int              // the user message with that nudge
}

// hear reads what the loop notes and puts into the history.
func (w *World) hear(e *loop.Effect) {
	switch {
	case e.Kind == loop.Note && e.Event == loop.EventSteered:
		w.steered++
	case e.Kind == loop.Note && (e.Event == loop.EventRepeatedCall || e.Event == loop.EventDroppedCall):
		w.heard.unheld++
	case e.Kind == loop.Note && e.Event == loop.EventCutReply:
		w.heard.cutReply = e.Ref.N
	case e.Kind == loop.Note && e.Event == loop.EventNudged:
		w.heard.nudge = w.turn
	case e.Kind == loop.Put && e.Ref.Kind == loop.RefMessage && w.heard.cutReply == w.turn:
		w.heard.cutMessage = e.Ref.N
	case e.Kind == loop.Put && e.Ref.Kind == loop.RefMessage && w.heard.nudge == w.turn:
		w.heard.nudgeText = e.Ref.N
	case e.Kind == loop.Put && e.Ref.Kind == loop.RefCall:
		delete(w.open, e.Ref.N)
		w.asked = max(w.asked, e.Ref.N) // the call may have been read from a reply's text
		if e.Why != loop.Executed {
			w.heard.whys[e.Ref.N] = e.Why
		}
	}
}

// look reads the end of a history: the last batch of results and the messages
// after it.
func (h *heard) look(history []loop.Message) Before {
	var b Before
	i := len(history) - 1
	for ; i >= 0 && history[i].Role == loop.User; i-- {
		b.Cut = b.Cut || history[i].Ref.N == h.cutMessage
		b.Nudged = b.Nudged || history[i].Ref.N == h.nudgeText
	}
	for ; i >= 0 && history[i].Role == loop.ToolRole; i-- {
		if !b.Results {
			b.Results, b.Result = true, history[i].Text
		}
		b.Failed = b.Failed || history[i].Failed
		switch h.whys[history[i].Ref.N] {
		case loop.Denied:
			b.Denied = true
		case loop.Vetoed, loop.Refused:
			b.Vetoed = true
		}
	}
	b.Cut = b.Cut || i >= 0 && history[i].Ref.N == h.cutReply
	return b
}

// A choice is the step that answers all tries of a request.
type choice struct {
	turn int
	step *step
}

// choose returns the step for a request, or nil if there is none.
func (w *World) choose(e *loop.Effect) *step {
	if w.choice.turn != e.Ref.N {
		w.choice = choice{turn: e.Ref.N, step: w.find(e)}
	}
	return w.choice.step
}

// The world's own summary and last word, for scripts without a step for them.
var (
	summary  = step{Step: &Step{}, text: template{text: "What was said before, in a few words."}}
	lastWord = step{Step: &Step{}, text: template{text: "I did not get any further."}}
)

func (w *World) find(e *loop.Effect) *step {
	if e.For == loop.ForSummary {
		w.summed++
		if s := w.conditional(&w.course, &Before{For: e.For}); s != nil {
			return s
		}
		return &summary
	}
	var b Before
	if len(w.when) > 0 {
		b = w.heard.look(e.History)
	}
	b.For, b.Forced = e.For, e.Choice != ""
	w.course.requests = e.Ref.N - w.summed - 1
	s := w.next(&w.course, &b)
	if s == nil && b.holds(WhenFinal, nil) {
		return &lastWord
	}
	return s
}

// ask queues the answer to a model request, or its failure.
func (w *World) ask(e *loop.Effect) {
	w.turn = e.Ref.N
	if w.parent != nil && e.Ref.Try <= 1 {
		w.top.requests++
	}
	if w.top.turn+w.top.requests > w.ceiling().Requests {
		w.top.boundNow(w.now)
		return
	}
	if w.Speaker != nil {
		w.askSpeaker(e)
		return
	}
	if text := w.overflow(e); text != "" {
		if w.refused != e.Ref.N {
			w.summed++
		}
		w.refused = e.Ref.N
		w.push(loop.Input{At: w.now + DefaultModelLatency, Kind: loop.ModelFailure, Ref: e.Ref, Status: 400, Text: text})
		return
	}
	s := w.choose(e)
	if s == nil {
		w.fail(&DryError{e.Ref, w.where() + fmt.Sprintf("no model step for request m%d (the script has %d)", e.Ref.N, w.covered)})
		return
	}
	said, err := w.say(s, &Request{Ref: e.Ref, Calls: w.asked - w.heard.unheld, History: e.History}, &w.scratch, false)
	if err != nil {
		w.fail(err)
		return
	}
	if i := s.failure(e.Ref.Try); i >= s.struck { // never true of summary and lastWord, which all worlds share
		s.struck = i + 1
	}
	for i, text := range Cut(said.Text, said.Of) {
		if i == said.Pieces {
			break
		}
		w.delta(e.Ref, said.At(i), text)
	}
	w.answer(e.Ref, &said)
}

// overflow returns why the model's window refuses a request, or "".
func (w *World) overflow(e *loop.Effect) string {
	if w.script.Window == 0 {
		return ""
	}
	var tools []loop.ToolSpec
	if (e.For == loop.ForReply || e.For == loop.ForGrace) && w.script.Planner == loop.PlannerNative {
		tools = w.specs
	}
	return w.script.Overflow(loop.EstimateRequest(e.System, tools, e.History))
}

// Overflow returns what the model answers to a request of so many tokens if its window
// is too small, else "".
func (s *Script) Overflow(tokens int) string {
	if s.Window == 0 || tokens <= s.Window {
		return ""
	}
	return fmt.Sprintf("context_length_exceeded: This model's maximum context length is %d tokens, but the request has %d.", s.Window, tokens)
}

func (w *World) delta(ref loop.Ref, after time.Duration, text string) {
	w.push(loop.Input{At: w.now + after, Kind: loop.ModelDelta, Ref: ref, Text: text})
}

// answer queues the end of a model's answer to a try: its reply or its failure. A
// failure that hangs queues nothing.
func (w *World) answer(ref loop.Ref, said *Said) {
	for _, i := range said.Struck {
		w.fired[i] = true
	}
	switch f := said.Failure; {
	case f == nil:
		w.push(loop.Input{At: w.now + said.After, Kind: loop.ModelReply, Ref: ref, Text: said.Text,
			Calls: said.Calls, Finish: said.Finish,
			TokensIn: said.TokensIn, TokensOut: said.TokensOut, Cost: said.Cost})
	case !f.Hangs():
		w.push(loop.Input{At: w.now + said.After, Kind: loop.ModelFailure, Ref: ref,
			Status: f.Status, RetryAfter: f.RetryAfter, Text: said.Reason})
	}
}

package fakes

import (
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A planned fault is one that a program plays.
type planned struct {
	Fault
	*faultKind
}

// injected is the text of a failure that a fault has made.
const injected = "the fault was injected"

// strikes reports whether fault i strikes a try. n is the number of the request,
// of the call, or of the tool's call where the fault names a tool.
func (p *seeded) strikes(i int, ref loop.Ref, try, n int) bool {
	f := &p.faults[i]
	if f.N == 0 {
		return p.key.ref(ref).of(ref.Try).of(forFault).of(i).below(100) < uint64(f.Percent)
	}
	return f.N == n && max(f.Try, 1) == try
}

// spoiled returns what the model says to a try after the faults that strike it.
// It takes a copy: only a world with faults pays for the memory.
func (p *seeded) spoiled(said Said, ref loop.Ref) Said {
	for i := range p.faults {
		if f := &p.faults[i]; f.reply != nil && p.strikes(i, ref, max(ref.Try, 1), ref.N) && f.reply(&said, f.Operand) {
			said.Struck = append(said.Struck, i)
		}
	}
	return said
}

// fail replaces what the model says by a failure.
func fail(said *Said, f ModelFailure) bool {
	said.Failure, said.Reason, said.Pieces = &f, "", 0
	if !f.Hang {
		said.Reason = injected
	}
	return true
}

// whole makes a spoiler of replies that do not fail.
func whole(spoil func(said *Said) bool) func(*Said, any) bool {
	return func(said *Said, _ any) bool { return said.Failure == nil && spoil(said) }
}

// halved returns the first half of the arguments of a call, which is never a JSON
// object.
func halved(args string) string {
	if half := args[:runes(args, (len([]rune(args))+1)/2)]; half != "" && half != args {
		return half
	}
	return "{"
}

// A tryAnswer is what a tool says to a try.
type tryAnswer struct {
	in    loop.Input
	hang  bool
	after time.Duration
}

// spoiledAnswer returns what a tool says to a try after the faults that strike it.
func (w *World) spoiledAnswer(a tryAnswer, e *loop.Effect, c *openCall) tryAnswer {
	for i := range w.faults {
		f, n := &w.faults[i], e.Ref.N
		if f.Tool != "" {
			n = c.nth
		}
		if f.result == nil || f.Tool != "" && f.Tool != e.Name || !w.strikes(i, e.Ref, max(e.Ref.Try-c.before, 1), n) {
			continue
		}
		if f.result(&a, f.Operand) {
			w.fired[i] = true
		}
	}
	return a
}

// succeeded makes a spoiler of the results of calls that succeed.
func succeeded(spoil func(text string, v any) string) func(*tryAnswer, any) bool {
	return func(a *tryAnswer, v any) bool {
		if a.hang || a.in.Code != loop.None {
			return false
		}
		before := a.in.Text
		a.in.Text = spoil(before, v)
		return a.in.Text != before
	}
}

// Idle lists the planned failures that never fired in a session.
type Idle struct {
	// Faults of the overlay.
	Faults []Fault
	// Steps are the indexes in [Script.Model] of the steps none of whose failures
	// answered a request.
	Steps []int
	// Answers are those none of whose failures answered a call.
	Answers []AnswerAt
}

// An AnswerAt is an answer by its place: Script.Tools[Tool].Answers[Answer].
type AnswerAt struct{ Tool, Answer int }

// Idle returns what has struck nothing so far. A hang strikes when it is what a
// try gets, whether or not the loop lives to give the try up.
func (w *World) Idle() Idle {
	idle := Idle{Faults: w.NotFired()}
	for i := range w.steps {
		if s := &w.steps[i]; len(s.Failures) > 0 && !s.struck {
			idle.Steps = append(idle.Steps, s.index)
		}
	}
	for i := range w.tools {
		for j := range w.tools[i].answers {
			if a := &w.tools[i].answers[j]; len(a.Failures) > 0 && !a.struck {
				idle.Answers = append(idle.Answers, AnswerAt{i, j})
			}
		}
	}
	return idle
}

// NotFired returns the faults of the script that have not struck anything so far.
func (w *World) NotFired() []Fault {
	var out []Fault
	for i, fired := range w.fired {
		if !fired {
			out = append(out, w.faults[i].Fault)
		}
	}
	return out
}

package fakes

import (
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A planned fault is a fault of a program, with its row of [faultKinds].
type planned struct {
	Fault
	*faultKind
}

// injected is the text of a failure caused by a fault.
const injected = "the fault was injected"

// strikes reports whether fault i strikes a try. n is the number of the request or
// the call; if the fault names a tool, n counts the calls of that tool.
func (p *seeded) strikes(i int, ref loop.Ref, try, n int) bool {
	f := &p.faults[i]
	if f.N == 0 {
		return p.key.ref(ref).of(ref.Try).of(forFault).of(i).below(100) < uint64(f.Percent)
	}
	return f.N == n && max(f.Try, 1) == try
}

// spoiled returns the model's answer to a try after the faults that strike it. It
// works on a copy, so only a world with faults pays for the memory.
func (p *seeded) spoiled(said Said, ref loop.Ref) Said {
	for i := range p.faults {
		if f := &p.faults[i]; f.reply != nil && p.strikes(i, ref, max(ref.Try, 1), ref.N) && f.reply(&said, f.Operand) {
			said.Struck = append(said.Struck, i)
		}
	}
	return said
}

// fail replaces the model's answer by a failure.
func fail(said *Said, f ModelFailure) bool {
	said.Failure, said.Reason, said.Pieces = &f, "", 0
	if !f.Hang {
		said.Reason = injected
	}
	return true
}

// whole returns a spoiler that leaves failures alone.
func whole(spoil func(said *Said) bool) func(*Said, any) bool {
	return func(said *Said, _ any) bool { return said.Failure == nil && spoil(said) }
}

// halved returns the first half of the arguments of a call, which never parses as
// a JSON object.
func halved(args string) string {
	if half := args[:runes(args, (len([]rune(args))+1)/2)]; half != "" && half != args {
		return half
	}
	return "{"
}

// A tryAnswer is a tool's answer to a try.
type tryAnswer struct {
	in     loop.Input
	hang   bool
	after  time.Duration
	wire   Wire
	struck bool // by a fault
}

// spoiledAnswer returns a tool's answer to a try after the faults that strike it.
func (s *answering) spoiledAnswer(a tryAnswer, try loop.Ref, c *openCall) tryAnswer {
	for i := range s.faults {
		f, n := &s.faults[i], try.N
		if f.Tool != "" {
			n = c.nth
		}
		if f.result == nil || f.Tool != "" && f.Tool != c.tool.Name || !s.strikes(i, try, c.failure(try)+1, n) {
			continue
		}
		if f.result(&a, f.Operand) {
			s.fired[i], a.struck = true, true
		}
	}
	return a
}

// succeeded returns a spoiler that changes only the results of successful calls.
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

// Idle lists what a script plans and a session never reached.
type Idle struct {
	// Faults are those of [Script.Faults] that struck nothing.
	Faults []Fault
	// Steps are the steps with failures of which none answered a request, as
	// indexes in [Script.Model].
	Steps []int
	// Unasked are the other plain steps whose place no request reached, as indexes
	// in [Script.Model]. A step that is Optional is in neither list.
	Unasked []int
	// Answers are the answers with failures of which none answered a call.
	Answers []AnswerAt
	// PartSteps and PartAnswers are those of which some failures answered, but not
	// the last one.
	PartSteps   []int
	PartAnswers []AnswerAt
	// Unheld are the steps for [WhenOK], [WhenFailed] or [WhenResult] that answered
	// nothing. The
	// other conditions may hold under other configs only.
	Unheld []int
	// Unsaid is the number of the user's messages that were not sent, or that no run
	// heard.
	Unsaid int
}

// An AnswerAt is the place of an answer: Script.Tools[Tool].Answers[Answer].
type AnswerAt struct{ Tool, Answer int }

// Idle returns what has not been reached so far. A hang fires when a try gets it,
// even if the loop ends before it gives up on the try.
func (w *World) Idle() Idle {
	idle := Idle{Faults: w.NotFired(), Unsaid: w.unsaid()}
	before := 0 // requests covered by the plain steps before
	for i := range w.steps {
		s := &w.steps[i]
		plain := s.When == WhenAlways && s.State == ""
		switch {
		case s.Optional:
		case len(s.Failures) > 0 && s.struck == 0:
			idle.Steps = append(idle.Steps, i)
		case s.struck < len(s.Failures):
			idle.PartSteps = append(idle.PartSteps, i)
		case plain && w.course.requests <= before:
			idle.Unasked = append(idle.Unasked, i)
		}
		before = s.last
	}
	w.idleAnswers(&idle)
	for i, at := range w.when {
		s := &w.steps[at]
		if (s.When == WhenOK || s.When == WhenFailed || s.When == WhenResult) && !s.Optional && len(s.Failures) == 0 && (w.course.used == nil || w.course.used[i] == 0) {
			idle.Unheld = append(idle.Unheld, at)
		}
	}
	return idle
}

// idleAnswers lists the answers whose failures answered no call.
func (s *answering) idleAnswers(idle *Idle) {
	for i := range s.tools {
		for j := range s.tools[i].answers {
			switch a := &s.tools[i].answers[j]; {
			case len(a.Failures) > 0 && a.struck == 0:
				idle.Answers = append(idle.Answers, AnswerAt{i, j})
			case a.struck < len(a.Failures):
				idle.PartAnswers = append(idle.PartAnswers, AnswerAt{i, j})
			}
		}
	}
}

// unsaid counts the messages that no run got.
func (w *World) unsaid() int {
	n := -w.steered
	for i := range w.user.Messages {
		if i >= w.messages || w.user.Messages[i].At > 0 {
			n++
		}
	}
	return n
}

// NotFired returns the faults of the script that have struck nothing so far.
func (w *World) NotFired() []Fault { return w.notFired(loop.RefModel, loop.RefCall) }

// notFired returns the faults at these targets that have struck nothing so far.
func (s *answering) notFired(at ...loop.RefKind) []Fault {
	var out []Fault
	for i, fired := range s.fired {
		if !fired && slices.Contains(at, s.faults[i].At) {
			out = append(out, s.faults[i].Fault)
		}
	}
	return out
}

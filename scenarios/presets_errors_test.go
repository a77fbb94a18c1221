package scenarios

import (
	"slices"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// errorsOnly is a config with the error limit of another, alone.
func errorsOnly(cfg loop.Config) (c loop.Config, n int) {
	c = loop.Off()
	c.Scope, c.Errors = cfg.Scope, cfg.Errors
	n = c.Errors.MaxConsecutive
	if c.Errors.Trip == loop.TripExceeded {
		n++
	}
	return c, n
}

// failure is a reply of one call that fails in some way.
func failure(kind loop.ErrorKind) fakes.Step {
	switch kind {
	case loop.KindText:
		return calls(`Says{}`)
	case loop.KindUnknown:
		return calls(`Nowhere{}`)
	case loop.KindInvalid:
		return calls(`A{"x":`)
	case loop.KindDenied:
		return calls(`Guarded{}`)
	}
	return calls(`Fails{}`)
}

// failingTurns plays n times a reply, then an answer.
func failingTurns(t *testing.T, c loop.Config, n int, step fakes.Step) *played {
	t.Helper()
	guarded := answeringTool("Guarded", "ok")
	guarded.Permission = loop.AskCall
	s := &fakes.Script{Task: "go", Tools: []fakes.Tool{failingTool("Fails", loop.ToolBug, "broken"), answeringTool("Says", "Error: broken"), guarded, answeringTool("A", "ok")},
		User: fakes.User{Permissions: []fakes.PermissionAnswer{{Deny: true}}}}
	if step.Repeat = n; n > 0 {
		s.Model = append(s.Model, step)
	}
	s.Model = append(s.Model, fakes.Step{Text: "I am done."})
	return play(t, c, s, n+5)
}

// The turn at which the count reaches or exceeds the limit stops the run, and
// none before it; a turn that does not fail sets it to 0.
func checkErrors(t *testing.T, cfg loop.Config) {
	c, n := errorsOnly(cfg)
	if n == 0 {
		return
	}
	fails := failure(c.Errors.Kinds[0])
	done(t, "one failing turn less", failingTurns(t, c, n-1, fails))
	stopped(t, "as many failing turns", failingTurns(t, c, n, fails), loop.StopErrorLimit, n, loop.LimitStop)

	s := &fakes.Script{Task: "go", Tools: []fakes.Tool{failingTool("Fails", loop.ToolBug, "broken"), answeringTool("A", "ok")}}
	for _, step := range []fakes.Step{fails, calls("A{}"), fails} {
		if step.Repeat = n - 1; step.Calls[0].Name == "A" && step.Calls[0].Args == "{}" {
			step.Repeat = 1
		}
		if step.Repeat > 0 {
			s.Model = append(s.Model, step)
		}
	}
	s.Model = append(s.Model, fakes.Step{Text: "I am done."})
	done(t, "a success in between", play(t, c, s, 3*n+5))
}

// A turn of which one call fails is a failing one where batch says any.
func checkErrorBatch(t *testing.T, cfg loop.Config) {
	c, n := errorsOnly(cfg)
	if n == 0 {
		return
	}
	mixed := failure(c.Errors.Kinds[0])
	mixed.Calls = append(mixed.Calls, calls("A{}").Calls...)
	if p := failingTurns(t, c, n, mixed); (p.last().Stop == loop.StopErrorLimit) != (c.Errors.Batch == loop.BatchAny) {
		t.Errorf("a batch of which one call fails: %s", p.last().Stop)
	}
}

// What is listed counts, and nothing else.
func checkErrorKinds(t *testing.T, cfg loop.Config) {
	c, n := errorsOnly(cfg)
	for _, kind := range []loop.ErrorKind{loop.KindException, loop.KindText, loop.KindUnknown, loop.KindInvalid, loop.KindDenied} {
		want := n > 0 && slices.Contains(c.Errors.Kinds, kind) && (kind != loop.KindText || c.Errors.TextPrefix != "")
		if p := failingTurns(t, c, max(n, 1), failure(kind)); (p.last().Stop == loop.StopErrorLimit) != want {
			t.Errorf("%s: %s, want the error limit: %v", kind, p.last().Stop, want)
		}
	}
}

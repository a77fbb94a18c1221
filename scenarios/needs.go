package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A Need is something that a scenario needs and not every agent offers. An agent that
// lacks it cannot be asked the scenario: whatever it does says nothing.
type Need string

// The needs.
const (
	NeedGates   Need = "gates"   // a user or a host who is asked for permissions and answers questions
	NeedRuns    Need = "runs"    // a user who says more than the task
	NeedCancel  Need = "cancel"  // a user who cancels the run
	NeedLoop    Need = "loop"    // a feature of the reference loop: a planner, a critic, sub-runs, or what it tells the model
	NeedResults Need = "results" // what the script's tools answer: other tools will not do
	NeedWindow  Need = "window"  // requests that are as long as the loop's, since the model's window refuses long ones
	NeedTries   Need = "tries"   // a loop that tries a failed call again by itself, without the model
)

// Needs returns what the scenario needs, in the order of the constants.
func (s *Scenario) Needs() []Need {
	var out []Need
	for _, n := range []struct {
		need Need
		has  bool
	}{
		{NeedGates, s.needsGates()},
		{NeedRuns, len(s.Script.User.Messages) > 0},
		{NeedCancel, s.Script.User.Cancel != nil},
		{NeedLoop, s.needsLoop()},
		{NeedResults, s.needsResults()},
		{NeedWindow, s.Script.Window > 0},
		{NeedTries, s.Label == Healthy && slices.ContainsFunc(s.called(), failsAtFirst)},
	} {
		if n.has {
			out = append(out, n.need)
		}
	}
	return out
}

func (s *Scenario) needsGates() bool {
	asks := func(t fakes.Tool) bool { return t.Permission != loop.AskNever }
	u, h := &s.Script.User, &s.Script.Hooks
	return len(u.Permissions)+len(u.Replies)+len(h.BeforeCall)+len(h.AfterCall) > 0 || slices.ContainsFunc(s.Script.Tools, asks)
}

func (s *Scenario) needsLoop() bool {
	x := &s.Script
	nests := func(t fakes.Tool) bool { return t.Session != nil }
	return x.Planner != loop.PlannerNative || x.Critic != nil || x.SafetyPrompt || s.Cassette != "" ||
		slices.ContainsFunc(x.Tools, nests) || s.Label == Healthy && !slices.ContainsFunc(x.Model, answers)
}

// answers reports whether a step ends a run whatever the loop does: with a text, and
// not only after a message that a loop may or may not write.
func answers(step fakes.Step) bool {
	switch step.When {
	case fakes.WhenAlways, fakes.WhenOK, fakes.WhenFailed, fakes.WhenResult:
		return len(step.Calls) == 0 && strings.TrimSpace(step.Text) != "" && step.Finish != loop.FinishLength
	}
	return false
}

// needsResults reports whether other results than the script's change what the
// scenario stands for: the model looks at them, they fail or are slow, or equal calls of
// a healthy run get different ones.
func (s *Scenario) needsResults() bool {
	for i := range s.Script.Model {
		step := &s.Script.Model[i]
		switch step.When {
		case fakes.WhenOK, fakes.WhenFailed, fakes.WhenResult:
			return true
		}
		for _, c := range step.Calls {
			if strings.Contains(c.Args, "${result:") {
				return true
			}
		}
	}
	return slices.ContainsFunc(s.Script.Faults, func(f fakes.Fault) bool { return f.At == loop.RefCall }) ||
		slices.ContainsFunc(s.called(), func(t fakes.Tool) bool { return telling(t) || s.Label == Healthy && changing(t) })
}

// called returns the tools that the model's script calls.
func (s *Scenario) called() []fakes.Tool {
	return slices.DeleteFunc(slices.Clone(s.Script.Tools), func(t fakes.Tool) bool {
		return !slices.ContainsFunc(s.Script.Model, func(step fakes.Step) bool {
			return slices.ContainsFunc(step.Calls, func(c fakes.StepCall) bool { return strings.TrimSpace(c.Name) == t.Name })
		})
	})
}

// slow is the latency above which a time-out may act.
const slow = 5 * time.Second

// telling reports whether the tool's answers are more than plain results: a failure, a
// hang, a long wait, a large text, a schema.
func telling(t fakes.Tool) bool {
	return t.IgnoresCancel || t.Output != "" || t.Latency.Min > slow || t.Latency.Max > slow || slices.ContainsFunc(t.Answers, func(a fakes.Answer) bool {
		return a.Error != loop.None && a.Error != loop.NoResults || len(a.Failures) > 0 || a.Hang || a.ResultChars > 0 ||
			a.Latency.Min > slow || a.Latency.Max > slow
	})
}

// changing reports whether equal calls of the tool may get different results.
func changing(t fakes.Tool) bool {
	return slices.ContainsFunc(t.Answers, func(a fakes.Answer) bool { return a.Times > 0 || strings.Contains(a.Result, "${") })
}

// failsAtFirst reports whether the first tries of some call of the tool fail.
func failsAtFirst(t fakes.Tool) bool {
	return slices.ContainsFunc(t.Answers, func(a fakes.Answer) bool { return len(a.Failures) > 0 })
}

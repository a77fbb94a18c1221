package scenarios

import (
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// script returns the script that a file describes.
func (f *scenarioFile) script() fakes.Script {
	out := fakes.Script{Task: f.Task, System: f.System, SafetyPrompt: f.SafetyPrompt, Window: f.Window, Planner: loop.Planner(f.Planner),
		ToolChoice: loop.ToolChoice(f.ToolChoice)}
	if f.Critic == rulesWord {
		out.Critic = loop.RuleCritic{}
	}
	for _, c := range f.Constraints {
		out.Constraints = append(out.Constraints, loop.Constraint(c))
	}
	for i := range f.Tools {
		out.Tools = append(out.Tools, f.Tools[i].tool())
	}
	for i := range f.Model {
		out.Model = append(out.Model, f.Model[i].step())
	}
	out.User = f.User.user()
	for _, h := range f.Hooks.BeforeCall {
		out.Hooks.BeforeCall = append(out.Hooks.BeforeCall, fakes.BeforeCall{Tool: h.Tool, When: h.When, Times: h.Times, Veto: h.Veto, Args: string(h.Args), End: h.End})
	}
	for _, h := range f.Hooks.AfterCall {
		out.Hooks.AfterCall = append(out.Hooks.AfterCall, fakes.AfterCall(h))
	}
	for _, x := range f.Faults {
		out.Faults = append(out.Faults, fakes.Fault(x))
	}
	return out
}

func (t *toolEntry) tool() fakes.Tool {
	out := fakes.Tool{
		ToolSpec: loop.ToolSpec{Name: t.Name, Description: t.Description, Version: t.Version,
			Input: string(t.Input), Output: string(t.Output),
			Permission: loop.Permission(t.Permission), Idempotent: t.idempotence(), Timeout: t.Timeout, Retries: t.retries(), Retry: (*loop.Retry)(t.Retry),
			Fallback: t.Fallback, SubRun: t.SubRun, Waits: t.Waits, Rate: loop.Rate(t.Rate), Breaker: loop.ToolBreaker(t.Breaker)},
		Latency:       fakes.Span(t.Latency),
		IgnoresCancel: t.IgnoresCancel,
	}
	for i := range t.Answers {
		out.Answers = append(out.Answers, t.Answers[i].answer())
	}
	if t.Session != nil {
		out.Session = t.Session.session()
	}
	return out
}

// session returns the session without its config, which depends on the scenario's.
func (e *sessionEntry) session() *fakes.Session {
	out := &fakes.Session{Task: e.Task, System: e.System, Planner: loop.Planner(e.Planner), Shared: e.Shared}
	for i := range e.Tools {
		out.Tools = append(out.Tools, e.Tools[i].tool())
	}
	for i := range e.Model {
		out.Model = append(out.Model, e.Model[i].step())
	}
	return out
}

// idempotence returns the three values as the loop has them.
func (t *toolEntry) idempotence() loop.Idempotence {
	switch {
	case t.Idempotent == nil:
		return loop.IdempotenceUnset
	case *t.Idempotent:
		return loop.Idempotent
	}
	return loop.NotIdempotent
}

// retries returns the retries as the loop has them: 0 leaves them to the config, a
// negative number means none.
func (t *toolEntry) retries() int {
	switch {
	case t.Retries == nil:
		return 0
	case *t.Retries == 0:
		return -1
	}
	return *t.Retries
}

func (a *answerEntry) answer() fakes.Answer {
	out := fakes.Answer{When: a.When, Times: a.Times, ResultChars: a.ResultChars, Error: loop.Code(a.Error),
		Text: a.Text, Hang: a.Hang, Latency: fakes.Span(a.Latency), Wire: fakes.Wire(a.Wire),
		TokensIn: a.TokensIn, TokensOut: a.TokensOut, Cost: int64(a.CostUSD), Used: a.Used}
	if a.Result != nil {
		out.Result = *a.Result
	}
	for _, f := range a.Failures {
		out.Failures = append(out.Failures, fakes.Failure{Error: loop.Code(f.Error), Text: f.Text, Hang: f.Hang, Latency: fakes.Span(f.Latency), Wire: fakes.Wire(f.Wire)})
	}
	return out
}

func (e *stepEntry) step() fakes.Step {
	out := fakes.Step{When: fakes.When(e.When.word), Result: e.When.is(), Repeat: int(e.Repeat), State: e.State, Optional: e.Optional, Next: e.Next, Text: e.Text, Finish: e.Finish,
		TokensIn: e.TokensIn, TokensOut: e.TokensOut, Cost: int64(e.CostUSD), Latency: fakes.Span(e.Latency),
		Chunks: e.Chunks, FirstToken: e.FirstToken, FailForever: e.FailForever, Wire: fakes.Wire(e.Wire)}
	for _, c := range e.Calls {
		out.Calls = append(out.Calls, fakes.StepCall{ID: c.ID, Name: c.Name, Args: string(c.Args)})
	}
	for _, f := range e.Failures {
		out.Failures = append(out.Failures, fakes.ModelFailure{Status: f.Status, RetryAfter: f.RetryAfter, Text: f.Text,
			Hang: f.Hang, Chunks: f.Chunks, Latency: fakes.Span(f.Latency), Wire: fakes.Wire(f.Wire)})
	}
	return out
}

func (u *userEntry) user() fakes.User {
	var out fakes.User
	for _, p := range u.Permissions {
		out.Permissions = append(out.Permissions, fakes.PermissionAnswer{Tool: p.Tool, When: p.When, Times: p.Times,
			Deny: p.Answer == deny, Text: p.Text, After: fakes.Span(p.After), Hang: p.Hang})
	}
	for _, r := range u.Replies {
		out.Replies = append(out.Replies, fakes.Reply{Text: r.Text, Deny: r.Answer == deny, Times: r.Times, After: fakes.Span(r.After), Hang: r.Hang})
	}
	for _, m := range u.Messages {
		out.Messages = append(out.Messages, fakes.UserMessage{Text: m.Text, At: m.At, Wait: m.Wait, AfterAny: m.After == afterAny})
	}
	if u.Cancel != nil {
		out.Cancel = &fakes.CancelAt{At: u.Cancel.At, Call: u.Cancel.Call}
	}
	return out
}

func (e *expectEntry) expect() Expect {
	return Expect{
		EndState: loop.EndState(e.EndState), Stop: loop.Stop(e.Stop),
		Turns: e.Turns, ModelCalls: e.ModelCalls, Calls: e.Calls, Tries: e.Tries,
		Errors: e.Errors, Vetoed: e.Vetoed, Nudges: e.Nudges, Denied: e.Denied, Invalid: e.Invalid, Refused: e.Refused, Interfered: e.Interfered,
		SubRuns: e.SubRuns, SubStops: e.SubStops,
		Time: e.Time, Must: words(e.Events.Must), MustNot: words(e.Events.MustNot),
	}
}

func (e *expectation) eachRun() []Expect {
	var out []Expect
	for i := range e.runs {
		out = append(out, e.runs[i].expect())
	}
	return out
}

func words[T ~string](list []T) []string {
	var out []string
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

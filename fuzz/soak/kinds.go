package soak

import (
	"context"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A Kind is a kind of conversation.
type Kind struct {
	Name   string
	Script fakes.Script
	// Cancel is when the user cancels, counted from the beginning; 0 = never.
	Cancel time.Duration
}

// config returns the config of every conversation. Its timeouts are short, so that the
// loop gives up on hanging tools. What a busy machine may delay has no timeout.
func config() loop.Config {
	c := loop.Off()
	c.Limits.Turns = 50
	c.Time.Tool, c.Time.Grace = 3*time.Second, 200*time.Millisecond
	c.Errors.MaxConsecutive = 3
	c.Retry.Max, c.Retry.Base = 2, 5*time.Millisecond
	c.Retry.Timeouts = false
	c.ModelRetry.Max, c.ModelRetry.Base = 3, 5*time.Millisecond
	c.Detectors = []detect.Detector{{Name: "circuit-breaker", Do: []detect.Rung{{At: 5, Act: detect.Stop}}}}
	return c
}

// Kinds returns the kinds of conversation, in the order in which they begin.
func Kinds() []Kind {
	ms := time.Millisecond
	span := fakes.Span{Min: 1 * ms, Max: 8 * ms}
	tool := func(name string, a fakes.Answer) fakes.Tool {
		return fakes.Tool{ToolSpec: loop.ToolSpec{Name: name, Timeout: 0}, Latency: span, Answers: []fakes.Answer{a}}
	}
	call := func(name, args string) fakes.StepCall { return fakes.StepCall{Name: name, Args: args} }
	step := func(text string, calls ...fakes.StepCall) fakes.Step {
		return fakes.Step{Text: text, Calls: calls, Latency: span, Chunks: 3, TokensIn: 100, TokensOut: 10}
	}
	repeated := func(n int, s fakes.Step) fakes.Step { s.Repeat = n; return s }
	failing := func(s fakes.Step, failures ...fakes.ModelFailure) fakes.Step { s.Failures = failures; return s }
	answer := step("All is done.")
	read := tool("read", fakes.Answer{Result: "a line"})
	hung := tool("hung", fakes.Answer{Hang: true})
	hung.Timeout = 40 * ms
	deaf := tool("deaf", fakes.Answer{Result: "too late", Latency: fakes.Span{Min: 600 * ms}})
	deaf.Timeout, deaf.IgnoresCancel = 40*ms, true
	return []Kind{
		{Name: "three-at-once", Script: fakes.Script{Task: "Read three files.", Tools: []fakes.Tool{read},
			Model: []fakes.Step{step("", call("read", `{"n":1}`), call("read", `{"n":2}`), call("read", `{"n":3}`)), answer}}},
		{Name: "runaway", Script: fakes.Script{Task: "Read it.", Tools: []fakes.Tool{read},
			Model: []fakes.Step{repeated(fakes.Forever, step("Once more.", call("read", `{"n":1}`)))}}},
		{Name: "error-spiral", Script: fakes.Script{Task: "Find it.", Tools: []fakes.Tool{tool("find", fakes.Answer{Error: loop.NotFound, Text: "no such file"})},
			Model: []fakes.Step{repeated(fakes.Forever, step("", call("find", `{"n":${turn}}`)))}}},
		{Name: "flaky-tool", Script: fakes.Script{Task: "Fetch it.", Tools: []fakes.Tool{tool("fetch", fakes.Answer{Result: "here", Failures: []fakes.Failure{{Text: "503"}, {Text: "503"}}})},
			Model: []fakes.Step{step("", call("fetch", `{}`)), answer}}},
		{Name: "busy-model", Script: fakes.Script{Task: "Read it.", Tools: []fakes.Tool{read},
			Model: []fakes.Step{failing(step("", call("read", `{"n":1}`)), fakes.ModelFailure{Status: 429, Text: "slow down", Latency: span}), failing(answer, fakes.ModelFailure{Status: 503, Latency: span})}}},
		{Name: "hung-tool", Script: fakes.Script{Task: "Wait for it.", Tools: []fakes.Tool{hung, read},
			Model: []fakes.Step{step("", call("hung", `{}`), call("read", `{"n":1}`)), answer}}},
		{Name: "deaf-tool", Script: fakes.Script{Task: "Tell it.", Tools: []fakes.Tool{deaf},
			Model: []fakes.Step{step("", call("deaf", `{}`)), answer}}},
		{Name: "long-work", Script: fakes.Script{Task: "Read twenty files.", Tools: []fakes.Tool{read},
			Model: []fakes.Step{repeated(20, step("", call("read", `{"n":${turn}}`))), answer}}},
		{Name: "user-gives-up", Cancel: 20 * ms, Script: fakes.Script{Task: "Wait.", Tools: []fakes.Tool{tool("hold", fakes.Answer{Hang: true})},
			Model: []fakes.Step{step("", call("hold", `{}`))}}},
	}
}

// expected returns how a kind must end: as its script does in the simulated world.
func (k *Kind) expected(ctx context.Context) (loop.Outcome, error) {
	script := k.Script
	if k.Cancel > 0 {
		script.User.Cancel = &fakes.CancelAt{At: k.Cancel}
	}
	runs, err := fakes.NewWorld(&script, 1).Run(ctx, config(), nil)
	if err != nil {
		return loop.Outcome{}, err
	}
	return runs[len(runs)-1], nil
}

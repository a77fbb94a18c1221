package loop_test

import (
	"strconv"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// plays returns scripts for both worlds, with configs in which timers, retries
// and places in a batch matter.
func plays() map[string]play {
	return map[string]play{
		"answer at once": {
			script: fakes.Script{Model: []fakes.Step{{Text: "Nothing to do.", TokensIn: 7, TokensOut: 3, Cost: 1500}}},
			config: loop.Default(),
		},
		"a call a turn": {
			script: fakes.Script{
				Tools: []fakes.Tool{says200ms("read", "text"), says200ms("write", "written")},
				Model: []fakes.Step{calls("read"), calls("write"), done()},
			},
			config: loop.Default(),
		},
		"batch, answers out of order and together": {
			script: fakes.Script{
				Tools: []fakes.Tool{takes1("a", 3*time.Second), takes1("b", time.Second), takes1("c", time.Second), takes1("d", 2*time.Second)},
				Model: []fakes.Step{calls("a", "b", "c", "d"), done()},
			},
			config: loop.Default(),
		},
		"two places for six calls": {
			script: fakes.Script{
				Tools: []fakes.Tool{takes1("a", 3*time.Second), takes1("b", time.Second)},
				Model: []fakes.Step{calls("a", "b", "b", "a", "b", "a"), done()},
			},
			config: with(func(c *loop.Config) { c.Parallel.Max = 2 }),
		},
		"hung tool, spent retries": {
			script: fakes.Script{
				Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "hung"}, Answers: []fakes.Answer{{Hang: true}}}},
				Model: []fakes.Step{calls("hung"), done()},
			},
			config: loop.Default(),
		},
		"timeout, then a retry that works": {
			script: fakes.Script{
				Tools: []fakes.Tool{
					{ToolSpec: loop.ToolSpec{Name: "slow"}, Answers: []fakes.Answer{{Result: "at last", Failures: []fakes.Failure{{Hang: true}, {Latency: fakes.Span{Min: time.Minute}}}}}},
					takes1("quick", time.Second),
				},
				Model: []fakes.Step{calls("slow", "quick"), done()},
			},
			config: loop.Default(),
		},
		"a result at the instant of its timeout": {
			script: fakes.Script{
				Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "tie"}, IgnoresCancel: true, Answers: []fakes.Answer{{Result: "just late", Latency: fakes.Span{Min: 30 * time.Second}}}}},
				Model: []fakes.Step{calls("tie"), done()},
			},
			config: with(func(c *loop.Config) { c.Retry.Max = 0 }),
		},
		"abandoned, and heard of again in a later run": {
			script: fakes.Script{
				Tools: []fakes.Tool{
					{ToolSpec: loop.ToolSpec{Name: "deaf"}, IgnoresCancel: true, Answers: []fakes.Answer{{Result: "hello?", Latency: fakes.Span{Min: 50 * time.Second}}}},
					{ToolSpec: loop.ToolSpec{Name: "gone"}, IgnoresCancel: true, Answers: []fakes.Answer{{Hang: true}}},
				},
				Model: []fakes.Step{calls("deaf", "gone"), {Text: "Two did not answer."}, {Text: "Still not.", Latency: fakes.Span{Min: time.Minute}}},
				User:  fakes.User{Messages: []fakes.UserMessage{{Text: "And now?", Wait: 5 * time.Second}}},
			},
			config: loop.Default(),
		},
		"abandoned, tried again, late answer of the first try": {
			script: fakes.Script{
				Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "deaf", Idempotent: loop.Idempotent}, IgnoresCancel: true, Answers: []fakes.Answer{{
					Result: "second", Latency: fakes.Span{Min: 20 * time.Second}, Failures: []fakes.Failure{{Error: loop.NotFound, Text: "first", Latency: fakes.Span{Min: 40 * time.Second}}},
				}}}},
				Model: []fakes.Step{calls("deaf"), done()},
			},
			config: loop.Default(),
		},
		"failing tools": {
			script: fakes.Script{
				Tools: []fakes.Tool{
					{ToolSpec: loop.ToolSpec{Name: "flaky"}, Answers: []fakes.Answer{{Result: "fine", Failures: []fakes.Failure{{Text: "503"}, {Error: loop.RateLimited, Text: "429"}}}}},
					{ToolSpec: loop.ToolSpec{Name: "broken"}, Answers: []fakes.Answer{{Error: loop.ToolBug, Text: "nil map"}}},
				},
				Model: []fakes.Step{calls("flaky", "broken"), calls("broken"), calls("broken"), calls("broken"), calls("broken")},
			},
			config: loop.Default(),
		},
		"gates: one answer for a batch, one denial": {
			script: fakes.Script{
				Tools: []fakes.Tool{
					{ToolSpec: loop.ToolSpec{Name: "write", Permission: loop.AskBatch}, Answers: []fakes.Answer{{Result: "written"}}},
					{ToolSpec: loop.ToolSpec{Name: "delete", Permission: loop.AskCall}, Answers: []fakes.Answer{{Result: "deleted"}}},
				},
				Model: []fakes.Step{calls("write", "delete", "write"), done()},
				User:  fakes.User{Permissions: []fakes.PermissionAnswer{{Tool: "delete", Deny: true, Text: "keep it", After: fakes.Span{Min: 3 * time.Second}}}},
			},
			config: loop.Default(),
		},
		"nobody answers the gate": {
			script: fakes.Script{
				Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "delete", Permission: loop.AskCall}, Answers: []fakes.Answer{{Result: "deleted"}}}},
				Model: []fakes.Step{calls("delete")},
				User:  fakes.User{Permissions: []fakes.PermissionAnswer{{Tool: "delete", Hang: true}}},
			},
			config: loop.Default(),
		},
		"cancel during the model": {
			script: fakes.Script{Model: []fakes.Step{done()}, User: fakes.User{Cancel: &fakes.CancelAt{At: time.Second}}},
			config: loop.Default(),
		},
		"cancel during a batch": {
			script: fakes.Script{
				Tools: []fakes.Tool{
					takes1("quick", time.Second), takes1("obeys", time.Minute),
					{ToolSpec: loop.ToolSpec{Name: "saves"}, IgnoresCancel: true, Answers: []fakes.Answer{{Result: "saved", Latency: fakes.Span{Min: 3 * time.Second}}}},
					{ToolSpec: loop.ToolSpec{Name: "deaf"}, IgnoresCancel: true, Answers: []fakes.Answer{{Result: "never", Latency: fakes.Span{Min: time.Minute}}}},
				},
				Model: []fakes.Step{calls("quick", "obeys", "saves", "deaf")},
				User:  fakes.User{Cancel: &fakes.CancelAt{At: 3500 * time.Millisecond}},
			},
			config: loop.Default(),
		},
		"cancel during the backoff": {
			script: fakes.Script{
				Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "busy"}, Answers: []fakes.Answer{{Error: loop.RetryableServer, Text: "503"}}}},
				Model: []fakes.Step{calls("busy")},
				User:  fakes.User{Cancel: &fakes.CancelAt{At: 2500 * time.Millisecond}},
			},
			config: loop.Default(),
		},
		"model failures": {
			script: fakes.Script{Model: []fakes.Step{
				{Text: "Hello there.", Failures: []fakes.ModelFailure{{Status: 429, RetryAfter: 7 * time.Second, Text: "slow down"}, {Status: 503}, {Text: "connection reset"}}},
			}},
			config: with(func(c *loop.Config) { c.ModelRetry.Max = 3 }),
		},
		"a status that is not retried": {
			script: fakes.Script{Model: []fakes.Step{{Failures: []fakes.ModelFailure{{Status: 400, Text: "bad request"}}}}},
			config: with(func(c *loop.Config) { c.ModelRetry.Max = 3 }),
		},
		"a stream that is slow to begin, breaks, hangs and then comes whole": {
			script: fakes.Script{Model: []fakes.Step{{
				Text: "abcdefghijkl", Chunks: 4, FirstToken: time.Second, Latency: fakes.Span{Min: 7 * time.Second},
				Failures: []fakes.ModelFailure{{Hang: true}, {Chunks: 2, Text: "unexpected EOF", Latency: fakes.Span{Min: 5 * time.Second}}, {Chunks: 3, Hang: true, Latency: fakes.Span{Min: 4 * time.Second}}},
			}}},
			config: with(func(c *loop.Config) {
				c.ModelRetry.Max, c.Time.FirstToken, c.Time.Chunk = 3, 4*time.Second, 3*time.Second
			}),
		},
		"a model that never ends": {
			script: fakes.Script{Model: []fakes.Step{{Failures: []fakes.ModelFailure{{Hang: true}, {Hang: true}}}}},
			config: with(func(c *loop.Config) { c.ModelRetry.Max, c.Time.Model = 1, 20*time.Second }),
		},
		"the same call again and again": {
			script: fakes.Script{
				Tools: []fakes.Tool{says200ms("read", "the same")},
				Model: []fakes.Step{{Text: "I will look.", Calls: []fakes.StepCall{{Name: "read", Args: `{"path": "a"}`}}, Repeat: fakes.Forever}},
			},
			config: loop.Default(),
		},
		"the run deadline in a batch": {
			script: fakes.Script{
				Tools: []fakes.Tool{takes1("quick", time.Second), takes1("slow", 20*time.Second)},
				Model: []fakes.Step{calls("quick", "slow", "quick", "quick")},
			},
			config: with(func(c *loop.Config) { c.Time.Run, c.Parallel.Max = 10*time.Second, 2 }),
		},
		"at the limit the user says yes, then no": {
			script: fakes.Script{
				Tools: []fakes.Tool{says200ms("read", "text")},
				Model: []fakes.Step{calls("read"), {Text: "I am slow.", Calls: []fakes.StepCall{{Name: "read", Args: "{}"}}}},
				User:  fakes.User{Replies: []fakes.Reply{{Times: 1, Text: "Go on.", After: fakes.Span{Min: 9 * time.Second}}, {Times: 1, Deny: true}}},
			},
			config: with(func(c *loop.Config) { c.Limits.Turns, c.Limits.AtLimit = 1, loop.LimitAsk }),
		},
		"nobody answers the question": {
			script: fakes.Script{
				Tools: []fakes.Tool{says200ms("read", "text")},
				Model: []fakes.Step{calls("read")},
				User:  fakes.User{Replies: []fakes.Reply{{Hang: true}}},
			},
			config: with(func(c *loop.Config) { c.Limits.Turns, c.Limits.AtLimit = 1, loop.LimitAsk }),
		},
		"a last word, with hints before it": {
			script: fakes.Script{
				Tools: []fakes.Tool{says200ms("read", "text")},
				Model: []fakes.Step{calls("read"), calls("read", "read"), {Text: "That is all I have."}},
			},
			config: with(func(c *loop.Config) { c.Limits.Turns, c.Limits.AtLimit, c.Limits.Near = 2, loop.LimitFinal, 1 }),
		},
		"compaction": {
			script: fakes.Script{
				Tools: []fakes.Tool{says200ms("read", "a rather long text"), says200ms("write", "written")},
				Model: []fakes.Step{calls("read"), calls("write"), calls("read", "write"), done()},
			},
			config: with(func(c *loop.Config) { c.History.CompactAt = 4 }),
		},
		"a fallback for a tool that fails": {
			script: fakes.Script{
				Tools: []fakes.Tool{
					{ToolSpec: loop.ToolSpec{Name: "main", Fallback: "spare"}, Answers: []fakes.Answer{{Error: loop.RetryableServer, Text: "503"}}},
					{ToolSpec: loop.ToolSpec{Name: "spare"}, Answers: []fakes.Answer{{Result: "from the spare", Failures: []fakes.Failure{{Text: "first"}}}}},
				},
				Model: []fakes.Step{calls("main"), done()},
			},
			config: with(func(c *loop.Config) { c.Policy.Fallbacks = true }),
		},
		"a sub-run that uses up the tokens": {
			script: fakes.Script{
				Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "agent", SubRun: true}, Answers: []fakes.Answer{{Result: "found", TokensIn: 800, TokensOut: 300, Cost: 5000, Used: 4}}}},
				Model: []fakes.Step{calls("agent"), done()},
			},
			config: with(func(c *loop.Config) { c.Limits.Tokens = 1000 }),
		},
		"hooks that change nothing": {
			script: fakes.Script{
				Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "write", Permission: loop.AskCall}, Answers: []fakes.Answer{{Result: "written"}}}},
				Model: []fakes.Step{calls("write", "write"), done()},
			},
			config: loop.Default(),
			hooks:  loop.Hooks{BeforeRun: true, BeforeCall: true, AfterCall: true, AfterRun: true},
		},
		"broken arguments, unknown tool, empty and cut replies": {
			script: fakes.Script{
				Tools: []fakes.Tool{says200ms("read", "text")},
				Model: []fakes.Step{
					{Calls: []fakes.StepCall{{Name: "read", Args: `{"path": `}, {Name: "raed", Args: "{}"}, {Name: " read", Args: "{}"}}},
					{}, {Text: "It is", Finish: loop.FinishLength}, done(),
				},
			},
			config: loop.Default(),
		},
	}
}

func with(change func(*loop.Config)) loop.Config {
	c := loop.Default()
	change(&c)
	return c
}

func done() fakes.Step { return fakes.Step{Text: "All done."} }

// calls returns a step that calls tools, each with other arguments.
func calls(tools ...string) (s fakes.Step) {
	for i, name := range tools {
		s.Calls = append(s.Calls, fakes.StepCall{Name: name, Args: `{"n": ` + strconv.Itoa(i) + `}`})
	}
	return s
}

func says200ms(name, result string) fakes.Tool {
	return fakes.Tool{ToolSpec: loop.ToolSpec{Name: name}, Answers: []fakes.Answer{{Result: result}}}
}

func takes1(name string, latency time.Duration) fakes.Tool {
	return fakes.Tool{ToolSpec: loop.ToolSpec{Name: name}, Latency: fakes.Span{Min: latency}, Answers: []fakes.Answer{{Result: name + " done"}}}
}

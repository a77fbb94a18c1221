package scenarios

import (
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A model may give as many unusable replies in a row as the config says; one more
// ends the run.
func checkUnusable(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.ModelRetry.EmptyReplies, c.ModelRetry.CutReplies = cfg.ModelRetry.EmptyReplies, cfg.ModelRetry.CutReplies
	for _, k := range []struct {
		step fakes.Step
		n    int
		stop loop.Stop
	}{
		{fakes.Step{Text: " "}, c.ModelRetry.EmptyReplies, loop.StopEmptyReply},
		{fakes.Step{Text: "Half of", Finish: loop.FinishLength}, c.ModelRetry.CutReplies, loop.StopTruncatedReply},
	} {
		for times, want := range map[int]loop.Stop{k.n: loop.StopDone, k.n + 1: k.stop} {
			s := &fakes.Script{Task: "go"}
			if k.step.Repeat = times; times > 0 {
				s.Model = append(s.Model, k.step)
			}
			s.Model = append(s.Model, fakes.Step{Text: "I am done."})
			p := play(t, c, s, times+5)
			if requests := max(times, k.n+1); p.last().Stop != want || p.last().ModelCalls != requests {
				t.Errorf("%d times %q: %s after %d requests, want %s after %d", times, k.step.Text, p.last().Stop, p.last().ModelCalls, want, requests)
			}
		}
	}
}

// A request whose stream broke as often as the config says is not tried again.
func checkBrokenStreams(t *testing.T, cfg loop.Config) {
	c, n := loop.Off(), cfg.ModelRetry.BrokenStreams
	c.ModelRetry = cfg.ModelRetry
	if n == 0 {
		return
	}
	for times, want := range map[int]loop.Stop{n - 1: loop.StopDone, n: loop.StopModelFailed} {
		step := fakes.Step{Text: "I am done.", Chunks: 4}
		for range times {
			step.Failures = append(step.Failures, fakes.ModelFailure{Chunks: 2})
		}
		p := play(t, c, &fakes.Script{Task: "go", Model: []fakes.Step{step}}, 2)
		if got := p.last().Stop; got != want {
			t.Errorf("%d broken streams: %s, want %s", times, got, want)
		}
	}
}

// A call with broken arguments is answered, or it is none.
func checkBrokenArgs(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Contracts.BrokenArgs = cfg.Contracts.BrokenArgs
	s := working(0, answeringTool("A", "ok"))
	s.Model = append([]fakes.Step{calls(`A{"x`, `A{"x":1}`)}, s.Model...)
	p := play(t, c, s, 5)
	want := map[bool][2]int{false: {2, 1}, true: {1, 0}}[c.Contracts.BrokenArgs == loop.BrokenDropped]
	if out := p.last(); out.Stop != loop.StopDone || out.Calls != 1 || [2]int{out.Asked, out.Invalid} != want {
		t.Errorf("%s: %d calls asked for, %d invalid, %d ran; want %v and 1", out.Stop, out.Asked, out.Invalid, out.Calls, want)
	}
}

// One word of the arguments that is misspelled is repaired, two are not; a result that
// breaks the schema is an error.
func checkContracts(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Contracts = cfg.Contracts
	tool := answeringTool("A", "not an object")
	tool.Input = `{"type":"object","properties":{"a":{"enum":["read","write"]},"b":{"enum":["read","write"]}}}`
	tool.Output = `{"type":"object"}`
	for args, want := range map[string][2]int{`A{"a":"raed"}`: {0, 1}, `A{"a":"raed","b":"wirte"}`: {1, 0}} {
		s := working(0, tool)
		s.Model = append([]fakes.Step{calls(args)}, s.Model...)
		if out := play(t, c, s, 5).last(); [2]int{out.Invalid, out.Errors} != want {
			t.Errorf("%s: %d invalid, %d errors, want %v", args, out.Invalid, out.Errors, want)
		}
	}
}

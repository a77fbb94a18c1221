package events_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/loop/events"
)

// TestEvents plays a session with a retried request, a batch of two, a retried
// and a timed-out try, a nudge, a cut result and a near limit.
func TestEvents(t *testing.T) {
	cfg := loop.Off()
	cfg.Limits.Turns, cfg.Limits.Near = 3, 1
	cfg.Time.Tool = time.Second
	cfg.Retry.Max = 1
	cfg.ModelRetry.Max = 1
	cfg.History.MaxResultChars = 5
	cfg.Detectors = []detect.Detector{{Name: "twice", Do: []detect.Rung{{At: 2, Act: detect.Nudge}}}}
	read := fakes.StepCall{Name: "read", Args: `{"x":1}`}
	script := &fakes.Script{
		Task: "go",
		Tools: []fakes.Tool{
			{ToolSpec: loop.ToolSpec{Name: "read"}, Answers: []fakes.Answer{{Result: "too long"}}},
			{ToolSpec: loop.ToolSpec{Name: "slow"}, Answers: []fakes.Answer{{Result: "ok", Failures: []fakes.Failure{{Hang: true}}}}},
		},
		Model: []fakes.Step{
			{Calls: []fakes.StepCall{read, {Name: "slow", Args: `{}`}}, Failures: []fakes.ModelFailure{{Status: 503}}},
			{Calls: []fakes.StepCall{read}},
			{Text: "Done."},
		},
	}
	m, err := loop.New(cfg, loop.Task{Text: "go"}, []loop.ToolSpec{{Name: "read"}, {Name: "slow"}})
	if err != nil {
		t.Fatal(err)
	}
	var trace loop.Trace
	if _, err := loop.Run(context.Background(), m, loop.Recording(fakes.NewWorld(script, 1), &trace)); err != nil {
		t.Fatal(err)
	}
	var reader events.Reader
	var kinds, lines []string
	for _, rec := range trace {
		for _, e := range reader.Read(rec) {
			kinds = append(kinds, string(e.Kind))
			if line := e.Progress(cfg.Limits.Turns); line != "" {
				lines = append(lines, line)
			}
		}
	}
	// The nudge is found before the call runs. After two of three turns one is
	// left: the limit is near.
	want := "run-started turn-started model-retry call-started call-started call-timeout call-retry truncated call-ended call-ended " +
		"turn-started nudge call-started truncated call-ended limit-near turn-started run-ended"
	got := strings.Join(kinds, " ")
	if got != want {
		t.Errorf("events\ngot  %s\nwant %s", got, want)
	}
	wantLines := "[1/3] Calling read (1/2)\n[1/3] Calling slow (2/2)\n[2/3] Calling read (1/1)"
	if got := strings.Join(lines, "\n"); got != wantLines {
		t.Errorf("progress\ngot  %s\nwant %s", got, wantLines)
	}
}

// What a model calls in a summary is not counted: the call that follows is the
// first of its batch.
func TestSummaryHasNoCalls(t *testing.T) {
	ask := func(n int, what loop.Purpose) []loop.Effect {
		return []loop.Effect{{Kind: loop.AskModel, Ref: loop.Ref{Kind: loop.RefModel, N: n, Try: 1}, For: what}}
	}
	reply := func(n int, calls ...loop.AskedCall) loop.Input {
		return loop.Input{Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: n}, Calls: calls}
	}
	read := loop.AskedCall{Name: "read", Args: "{}"}
	var reader events.Reader
	var got []string
	for _, rec := range []loop.Record{
		{In: loop.Input{Kind: loop.Started, Text: "go"}, Effects: ask(1, loop.ForSummary)},
		{In: reply(1, read), Effects: ask(2, loop.ForReply)},
		{In: reply(2, read), Effects: []loop.Effect{{Kind: loop.CallTool, Ref: loop.Ref{Kind: loop.RefCall, N: 1, Try: 1}, Name: "read", Args: "{}"}}},
	} {
		for _, e := range reader.Read(rec) {
			if line := e.Progress(0); line != "" {
				got = append(got, line)
			}
		}
	}
	if strings.Join(got, "|") != "[1] Calling read (1/1)" {
		t.Errorf("got %q", got)
	}
}

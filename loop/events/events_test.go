package events_test

import (
	"context"
	"fmt"
	"slices"
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
	var took []time.Duration
	for _, rec := range trace {
		for _, e := range reader.Read(rec) {
			kinds = append(kinds, string(e.Kind))
			if line := e.Progress(cfg.Limits.Turns); line != "" {
				lines = append(lines, line)
			}
			if e.Kind == events.CallEnded {
				took = append(took, e.Duration)
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
	wantLines := "[1/3] Calling read (1/2)\n[1/3] Calling slow (2/2)\n[2/3] Calling read (1/1) ⚠️ 2 times in a row"
	// read takes 0.2 s; slow hangs for 1 s, waits for 1 s and takes 0.2 s.
	if want := []time.Duration{200 * time.Millisecond, 2200 * time.Millisecond, 200 * time.Millisecond}; !slices.Equal(took, want) {
		t.Errorf("the calls took %v, want %v", took, want)
	}
	if got := strings.Join(lines, "\n"); got != wantLines {
		t.Errorf("progress\ngot  %s\nwant %s", got, wantLines)
	}
}

// TestRepeat: a streak counts each occurrence in consecutive turns, whatever the order
// of the keys, and ends at a turn without the call. So it does for a planner's calls,
// which are in the text of its replies.
func TestRepeat(t *testing.T) {
	call := func(n, made int, args string) loop.Record {
		return loop.Record{In: loop.Input{Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: n}, Text: "{}"},
			Effects: []loop.Effect{{Kind: loop.CallTool, Ref: loop.Ref{Kind: loop.RefCall, N: made, Try: 1}, Name: "read", Args: args}}}
	}
	native := func(n, first int, args ...string) loop.Record {
		rec := loop.Record{In: loop.Input{Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: n}}}
		for i, a := range args {
			rec.In.Calls = append(rec.In.Calls, loop.AskedCall{Name: "read", Args: a})
			rec.Effects = append(rec.Effects, loop.Effect{Kind: loop.CallTool, Ref: loop.Ref{Kind: loop.RefCall, N: first + i, Try: 1}, Name: "read", Args: a})
		}
		return rec
	}
	const a, same, b = `{"x":1,"y":2}`, `{"y": 2, "x": 1}`, `{"x":2}`
	for name, c := range map[string]struct {
		records []loop.Record
		want    string
	}{
		"native":  {[]loop.Record{native(1, 1, a, b), native(2, 3, same, same), native(3, 5, b), native(4, 6, a)}, "1 1 2 3 1 1"},
		"planner": {[]loop.Record{call(1, 1, a), call(2, 2, same), call(3, 3, b), call(4, 4, a)}, "1 2 1 1"},
	} {
		var reader events.Reader
		var got []string
		for _, rec := range append([]loop.Record{{In: loop.Input{Kind: loop.Started}}}, c.records...) {
			for _, e := range reader.Read(rec) {
				if e.Kind == events.CallStarted {
					got = append(got, fmt.Sprint(e.Repeat))
				}
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %s, want %s", name, got, c.want)
		}
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

package fakes

import (
	"context"
	"strconv"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// turns is the length of the runs that are measured.
const turns = 16

// benchScript asks for one call a turn, with new arguments of 100 bytes, and
// then answers.
func benchScript() *Script {
	return &Script{
		Task: "Go through the pages.",
		Tools: []Tool{{
			ToolSpec: loop.ToolSpec{Name: "read_page"},
			Answers:  []Answer{{Result: "the text of the page"}},
		}},
		Model: []Step{
			{
				Text: "I read on.", Repeat: turns - 1, TokensIn: 800, TokensOut: 30,
				Calls: []StepCall{{Name: "read_page", Args: `{"path":"/srv/archive/2026/minutes/of/the/board/volume-one/chapter-two","page":${call},"lines":"1..200"}`}},
			},
			{Text: "Done.", TokensIn: 800, TokensOut: 30},
		},
	}
}

// every is a config with every net on, of which the script triggers none.
func every() loop.Config {
	c := loop.Default()
	c.Limits = loop.Limits{Turns: 100, Calls: 100, CallsPerTurn: 10, Tokens: 1e6, CostUSD: 10, Tries: 100}
	c.Time.Model, c.Time.FirstToken, c.Time.Chunk = c.Time.Tool, c.Time.Tool, c.Time.Tool
	c.ModelRetry.Max = 3
	c.Parallel.Max = 4
	c.History.MaxMessages, c.History.MaxResultChars = 1000, 40_000
	c.Limits.Steps, c.Limits.Depth, c.Limits.Spawns, c.Limits.Near = 1000, 3, 10, 2
	c.History.CompactAt, c.History.KeepLast = 900, 10
	c.Contracts.PageLimit, c.Contracts.MaxPayloadBytes = 100, 500_000
	c.Policy = loop.Policy{OnFailure: loop.FailureTable, Fallbacks: true, AskMissing: true}
	c.Detectors = append(c.Detectors,
		detect.Detector{Name: "ping-pong", Match: detect.Cycle, Period: detect.Period{Min: 2, Max: 4}, Memory: 20, Do: []detect.Rung{{At: 3, Act: detect.Stop}}},
		detect.Detector{Name: "no-progress", Key: []detect.Part{detect.Tool, detect.Args, detect.Result}, Ends: detect.EndsNever, Memory: 20,
			Acts: detect.AfterBatch, Do: []detect.Rung{{At: 3, Act: detect.Nudge}, {At: 5, Act: detect.Stop}}})
	return c
}

// BenchmarkTurn measures a turn of the loop in the simulated world, beside one
// of the bare loop. Each figure is per turn, the world's and the machine's
// making included.
func BenchmarkTurn(b *testing.B) {
	script, cfg := benchScript(), every()
	ctx := context.Background()
	run := func(b *testing.B, once func()) float64 {
		b.ReportAllocs()
		for b.Loop() {
			once()
		}
		perTurn := float64(b.Elapsed().Nanoseconds()) / float64(b.N) / turns
		b.ReportMetric(perTurn, "ns/turn")
		return perTurn
	}
	var bare float64
	b.Run("bare", func(b *testing.B) {
		bare = run(b, func() {
			if n := len(bareLoop(bareModel, bareTools, "Go through the pages.")); n != 2*turns {
				b.Fatalf("%d messages", n)
			}
		})
	})
	b.Run("agentbench", func(b *testing.B) {
		guarded := run(b, func() {
			outcomes, err := NewWorld(script, 1).Run(ctx, cfg, nil)
			if err != nil || outcomes[0].Turns != turns {
				b.Fatal(outcomes, err)
			}
		})
		b.ReportMetric(guarded/bare, "x-bare")
	})
	var untraced float64
	b.Run("default", func(b *testing.B) {
		cfg := loop.Default()
		untraced = run(b, func() { playTraced(b, script, cfg, nil) })
		b.ReportMetric(untraced/bare, "x-bare")
	})
	b.Run("default-traced-to-text", func(b *testing.B) {
		cfg := loop.Default()
		text := make([]byte, 0, 1<<16)
		traced := run(b, func() { text = playTraced(b, script, cfg, text[:0]) })
		b.ReportMetric(traced/untraced, "x-untraced")
	})
}

// playTraced plays the script, and writes its trace as it happens if text is
// not nil.
func playTraced(b *testing.B, script *Script, cfg loop.Config, text []byte) []byte {
	m, err := loop.New(cfg, loop.Task{Text: script.Task}, script.Specs())
	if err != nil {
		b.Fatal(err)
	}
	var w loop.World = NewWorld(script, 1)
	writer := &textWriter{World: w, text: text}
	if text != nil {
		w = writer
	}
	if out, err := loop.Run(context.Background(), m, w); err != nil || out.Turns != turns {
		b.Fatal(out, err)
	}
	return writer.text
}

// A textWriter writes what passes as the text of a trace.
type textWriter struct {
	loop.World
	text []byte
}

func (w *textWriter) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	w.text = loop.Record{In: in, Effects: effects}.AppendText(w.text)
	w.World.Do(ctx, in, effects)
}

// The bare loop: a tool loop without any net.

type bareMessage struct {
	role, text, id string
	calls          []bareCall
}

type bareCall struct{ id, name, args string }

type bareReply struct {
	text  string
	calls []bareCall
}

func bareLoop(model func(turn int, history []bareMessage) bareReply, tools map[string]func(args string) string, task string) []bareMessage {
	history := []bareMessage{{role: "user", text: task}}
	for turn := 1; ; turn++ {
		reply := model(turn, history)
		history = append(history, bareMessage{role: "assistant", text: reply.text, calls: reply.calls})
		if len(reply.calls) == 0 {
			return history
		}
		for _, c := range reply.calls {
			history = append(history, bareMessage{role: "tool", id: c.id, text: tools[c.name](c.args)})
		}
	}
}

func bareModel(turn int, _ []bareMessage) bareReply {
	if turn == turns {
		return bareReply{text: "Done."}
	}
	n := strconv.Itoa(turn)
	return bareReply{text: "I read on.", calls: []bareCall{{
		id:   "call_" + n,
		name: "read_page",
		args: `{"path":"/srv/archive/2026/minutes/of/the/board/volume-one/chapter-two","page":` + n + `,"lines":"1..200"}`,
	}}}
}

var bareTools = map[string]func(string) string{
	"read_page": func(string) string { return "the text of the page" },
}

// A turn of the world takes two allocations, which the trace keeps: the calls
// of the reply, and their texts. All else is reused.
func TestAllocations(t *testing.T) {
	script := benchScript()
	script.Model[0].Repeat = Forever
	w := NewWorld(script, 1)
	w.Ceiling.Requests, w.Ceiling.Calls = 1<<30, 1<<30
	ctx := context.Background()
	n, effects := 0, make([]loop.Effect, 1)
	step := func(in loop.Input, e loop.Effect) loop.Input {
		effects[0] = e
		w.Do(ctx, in, effects)
		next, err := w.Next(ctx, 0, false)
		if err != nil {
			t.Fatal(err)
		}
		return next
	}
	in := loop.Input{Kind: loop.Started}
	turn := func() {
		n++
		in = step(in, ask(n, 1))
		in = step(in, call(n, 1, in.Calls[0].Name, in.Calls[0].Args))
		effects[0] = put(n, loop.Executed)
		w.Do(ctx, in, effects)
	}
	if got := testing.AllocsPerRun(100, turn); got != 2 {
		t.Errorf("%v allocations a turn", got)
	}
}

package loop_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// lengths are the turns of the measured runs. A turn must cost the same in each.
var lengths = []int{16, 128, 512, 2048}

// BenchmarkLive measures a turn of the live loop, with a model and a tool that
// answer at once, beside a turn of the bare loop with the same model and tool.
// x-bare compares their CPU time, which a busy machine does not blur. A run
// includes making machine and world. Without any limit or net (off) it
// shows what goroutines and history cost, with the default ones what a user
// pays.
func BenchmarkLive(b *testing.B) {
	for _, turns := range lengths {
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			var bare float64
			b.Run("bare", func(b *testing.B) {
				bare = perTurn(b, turns, func() {
					if n := len(bareLoop(turns)); n != 2*turns {
						b.Fatalf("%d messages", n)
					}
				})
			})
			guarded := func(cfg loop.Config) func(b *testing.B) {
				return func(b *testing.B) {
					ns := perTurn(b, turns, func() { liveRun(b, cfg, turns) })
					if bare > 0 {
						b.ReportMetric(ns/bare, "x-bare")
					}
				}
			}
			b.Run("off", guarded(loop.Off()))
			b.Run("default", guarded(unlimited()))
		})
	}
}

// perTurn benchmarks runs and reports what a turn of them costs. It returns the
// nanoseconds of CPU time.
func perTurn(b *testing.B, turns int, run func()) float64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began := cpuTime()
	for b.Loop() {
		run()
	}
	cpu := cpuTime() - began
	runtime.ReadMemStats(&after)
	n := float64(b.N) * float64(turns)
	ns := float64(cpu.Nanoseconds()) / n
	b.ReportMetric(ns, "cpu-ns/turn")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/n, "ns/turn")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/n, "B/turn")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/n, "allocs/turn")
	return ns
}

// A turn takes as many bytes and allocations late in a long run as in a short
// one. Making a run weighs less in a long one, and slices that grow by a factor
// waste the same share of any length, so half as much again is far above both;
// a turn that copied the history took 15 times the bytes at 512 turns.
func TestLiveTurnCostsTheSame(t *testing.T) {
	// What a run of charm.land/fantasy v0.41.2 with as many turns allocates.
	fantasy := map[int]float64{16: 1225, 128: 9631, 512: 38438}
	var shortest float64
	for _, turns := range lengths {
		const runs = 5
		var before, after runtime.MemStats
		liveRun(t, unlimited(), turns)
		runtime.ReadMemStats(&before)
		for range runs {
			liveRun(t, unlimited(), turns)
		}
		runtime.ReadMemStats(&after)
		bytes := float64(after.TotalAlloc-before.TotalAlloc) / runs / float64(turns)
		allocs := float64(after.Mallocs-before.Mallocs) / runs
		if shortest == 0 {
			shortest = bytes
		}
		if bytes > 1.5*shortest {
			t.Errorf("%d turns: %.0f bytes a turn, and %.0f at %d turns", turns, bytes, shortest, lengths[0])
		}
		if most := fantasy[turns]; most > 0 && allocs >= most {
			t.Errorf("%d turns: %.0f allocations", turns, allocs)
		}
	}
}

// unlimited is the default config without the limits that a long run meets.
func unlimited() loop.Config {
	c := loop.Default()
	c.Limits = loop.Limits{}
	return c
}

func liveRun(t testing.TB, config loop.Config, turns int) {
	tools := []loop.Tool{readPage{}}
	out, err := loop.RunLive(context.Background(), config, loop.Task{Text: "Go through the pages."}, reader(turns), tools, loop.LiveOptions{})
	if err != nil || out.Turns != turns || out.Stop != loop.StopDone {
		t.Fatal(out, err)
	}
}

// A reader asks for a call a turn, with new arguments of 100 bytes, and answers
// in its last turn.
type reader int

func (r reader) Reply(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
	return r.reply(req.Ref.N), nil
}

func (r reader) reply(turn int) loop.Reply {
	if turn == int(r) {
		return loop.Reply{Text: "Done."}
	}
	n := strconv.Itoa(turn)
	return loop.Reply{Text: "I read on.", Calls: []loop.AskedCall{{
		ID:   "call_" + n,
		Name: "read_page",
		Args: `{"path":"/srv/archive/2026/minutes/of/the/board/volume-one/chapter-two","page":` + n + `,"lines":"1..200"}`,
	}}}
}

// readPage is a tool that answers at once.
type readPage struct{}

func (readPage) Spec() loop.ToolSpec { return loop.ToolSpec{Name: "read_page"} }

func (readPage) Call(context.Context, string) (string, error) { return "the text of the page", nil }

// bareMessage is a message of the bare loop: what a tool loop is without any
// net.
type bareMessage struct {
	role, text, id string
	calls          []loop.AskedCall
}

func bareLoop(turns int) []bareMessage {
	ctx, model, tools := context.Background(), reader(turns), map[string]loop.Tool{"read_page": readPage{}}
	history := []bareMessage{{role: "user", text: "Go through the pages."}}
	for turn := 1; ; turn++ {
		reply := model.reply(turn)
		history = append(history, bareMessage{role: "assistant", text: reply.Text, calls: reply.Calls})
		if len(reply.Calls) == 0 {
			return history
		}
		for _, c := range reply.Calls {
			text, err := tools[c.Name].Call(ctx, c.Args)
			if err != nil {
				text = "Error: " + err.Error()
			}
			history = append(history, bareMessage{role: "tool", id: c.ID, text: text})
		}
	}
}

package audit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A shape is a kind of long session. Its model answers each request with reply,
// every call succeeds, every gate and question is allowed, and after a halt the
// user goes on.
type shape struct {
	name  string
	set   func(*loop.Config, *loop.Task)
	reply func(n int) loop.Input
}

// calls is a reply with calls of these tools, none of which repeats an earlier
// call.
func calls(n int, names ...string) (in loop.Input) {
	in.TokensIn, in.TokensOut, in.Finish = 9, 3, loop.FinishToolCalls
	for i, name := range names {
		in.Calls = append(in.Calls, loop.AskedCall{ID: fmt.Sprintf("id_%d_%d", n, i), Name: name, Args: fmt.Sprintf(`{"n":%d,"path":"a"}`, 10*n+i)})
	}
	return in
}

// turns is the shape that a long run has: two calls a turn, every limit on and
// none reached.
var turns = shape{"turns", func(*loop.Config, *loop.Task) {}, func(n int) loop.Input { return calls(n, "read", "idem") }}

// shapes are those whose audit must grow with their length and no faster. Each
// makes much of something that an audit could look for from the start again.
var shapes = []shape{
	turns,
	{"runs", func(c *loop.Config, _ *loop.Task) { c.Scope = loop.ScopeSession }, func(int) loop.Input { return loop.Input{Text: "done"} }},
	{"gates", func(c *loop.Config, t *loop.Task) {
		c.Time.PauseForUser = true
		t.Hooks = loop.Hooks{BeforeRun: true, BeforeCall: true, AfterCall: true, AfterRun: true}
	}, func(n int) loop.Input { return calls(n, "ask", "write") }},
	{"questions", func(c *loop.Config, _ *loop.Task) { c.Limits.Turns, c.Limits.AtLimit = 1, loop.LimitAsk },
		func(n int) loop.Input { return calls(n, "read") }},
	{"trimmed", func(c *loop.Config, _ *loop.Task) { c.History.MaxMessages = 20 }, func(n int) loop.Input { return calls(n, "read", "idem") }},
	{"empty replies", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.EmptyReplies = 1 }, func(n int) loop.Input {
		if n%2 == 0 {
			return loop.Input{}
		}
		return calls(n, "read")
	}},
	{"notes", func(c *loop.Config, _ *loop.Task) { c.History.MaxResultChars = 5 }, func(n int) loop.Input {
		in := calls(n, " read", "read ", "idem")
		in.Calls[1].ID, in.Calls[2].ID = "", "again"
		return in
	}},
	{"rated", func(c *loop.Config, _ *loop.Task) { c.Errors.MaxConsecutive = 0 }, func(n int) loop.Input { return calls(n, "rated", "fragile", "nobody") }},
	{"wide batches", func(c *loop.Config, _ *loop.Task) { c.Parallel.Max = 3 }, func(n int) loop.Input {
		return calls(n, strings.Split(strings.Repeat("read,", 400)+"idem", ",")...)
	}},
}

// play makes a trace of a shape with so many records.
func (s shape) play(tb testing.TB, records int) (loop.Config, loop.Task, loop.Trace) {
	tb.Helper()
	const many = 1 << 30
	cfg, task := loop.Default(), loop.Task{Text: "go"}
	cfg.Time.Run, cfg.Time.Model, cfg.Time.Chunk = 24*365*time.Hour, time.Minute, time.Minute
	cfg.Limits = loop.Limits{Turns: many, Calls: many, CallsPerTurn: many, Tokens: many, CostUSD: 1e6, Tries: many, Steps: many}
	cfg.History.MaxMessages, cfg.History.MaxResultChars = many, 9000
	s.set(&cfg, &task)
	m, err := loop.New(cfg, task, testTools)
	if err != nil {
		tb.Fatal(err)
	}
	var trace loop.Trace
	pending := []loop.Input{m.Begin()}
	for n := 0; len(trace) < records; {
		if len(pending) == 0 {
			tb.Fatalf("%s: nothing is pending after %d records:\n%v", s.name, len(trace), trace[max(0, len(trace)-3):])
		}
		in := pending[0]
		pending, in.At = pending[1:], time.Duration(len(trace))*100*time.Millisecond
		effects := m.Step(in)
		trace.Append(in, effects)
		for _, e := range effects {
			answer := loop.Input{Ref: e.Ref, Allow: true}
			switch e.Kind {
			case loop.AskModel:
				n++
				answer = s.reply(n)
				answer.Kind, answer.Ref = loop.ModelReply, e.Ref
			case loop.CallTool:
				answer.Kind, answer.Text = loop.ToolResult, "the text of the file"
			case loop.OpenGate:
				answer.Kind = loop.GateAnswer
			case loop.AskUser:
				answer.Kind = loop.UserReply
			case loop.Halt:
				answer = loop.Input{Kind: loop.UserMessage, Text: "more"}
			default:
				continue
			}
			pending = append(pending, answer)
		}
	}
	return cfg, task, trace
}

// TestGrowth checks that the audit is linear in the trace: four times as many
// records may take at most 4.4 times as many statements. It counts them with a
// test binary that was built with counters.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the package once more")
	}
	binary := filepath.Join(t.TempDir(), "audit.test")
	if out, err := exec.Command("go", "test", "-c", "-covermode=count", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	statements := func(shape string, records int) (n int) {
		profile := filepath.Join(t.TempDir(), "counts")
		cmd := exec.Command(binary, "-test.run", "^TestShape$", "-test.coverprofile", profile)
		cmd.Env = append(os.Environ(), fmt.Sprintf("AUDIT_SHAPE=%s %d", shape, records))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", shape, err, out)
		}
		data, err := os.ReadFile(profile)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if fields := strings.Fields(line); len(fields) == 3 { // place, statements, times
				statements, _ := strconv.Atoi(fields[1])
				times, _ := strconv.Atoi(fields[2])
				n += statements * times
			}
		}
		return n
	}
	for i, s := range shapes {
		few, many := statements(strconv.Itoa(i), 2000), statements(strconv.Itoa(i), 8000)
		t.Logf("%s: %d statements a record", s.name, many/8000)
		if few == 0 || float64(many) > 4.4*float64(few) {
			t.Errorf("%s: %d statements for 2,000 records, %d for 8,000", s.name, few, many)
		}
	}
}

// TestShape audits one shape, for TestGrowth to count.
func TestShape(t *testing.T) {
	var i, records int
	if _, err := fmt.Sscan(os.Getenv("AUDIT_SHAPE"), &i, &records); err != nil {
		i, records = 0, 100
	}
	cfg, task, trace := shapes[i].play(t, records)
	if vs := Check(cfg, task, testTools, trace); len(vs) > 0 {
		t.Error(list(vs[:1]))
	}
}

// BenchmarkCheck audits runs of 100, 2,000 and 20,000 records.
func BenchmarkCheck(b *testing.B) {
	for _, records := range []int{100, 2000, 20000} {
		b.Run(fmt.Sprintf("records=%d", records), func(b *testing.B) {
			cfg, task, trace := turns.play(b, records)
			for b.Loop() {
				if vs := Check(cfg, task, testTools, trace); len(vs) > 0 {
					b.Fatal(list(vs[:1]))
				}
			}
			b.ReportMetric(float64(records*b.N)/b.Elapsed().Seconds(), "records/s")
		})
	}
}

package scenarios

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// exactly is a latency to the nanosecond.
func exactly(d time.Duration) fakes.Span { return fakes.Span{Min: d, Max: d} }

// A timeout wins a tie.
func checkRunDeadline(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Time.Run = cfg.Time.Run
	slow := func(d time.Duration) *played {
		return play(t, c, &fakes.Script{Task: "go", Model: []fakes.Step{{Text: "I am done.", Latency: exactly(d)}}}, 2)
	}
	done(t, "an answer just in time", slow(c.Time.Run-time.Millisecond))
	stopped(t, "an answer at the deadline", slow(c.Time.Run), loop.StopRunDeadline, 0, loop.LimitStop)
}

func checkToolDeadline(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Time.Tool = cfg.Time.Tool
	for late, want := range map[time.Duration]int{-time.Millisecond: 0, 0: 1} {
		tool := answeringTool("A", "ok")
		tool.Latency = exactly(c.Time.Tool + late)
		if p := play(t, c, working(1, tool), 3); p.last().Errors != want {
			t.Errorf("%v after %v: %d errors, want %d", late, c.Time.Tool, p.last().Errors, want)
		}
	}
}

func checkModel(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Time.Model = cfg.Time.Model
	checkModelDeadline(t, c, c.Time.Model, func(d time.Duration) fakes.Step {
		return fakes.Step{Text: "I am done.", Chunks: 2, FirstToken: time.Second, Latency: exactly(d)}
	})
}

func checkFirstToken(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Time.FirstToken = cfg.Time.FirstToken
	checkModelDeadline(t, c, c.Time.FirstToken, func(d time.Duration) fakes.Step {
		return fakes.Step{Text: "I am done.", Latency: exactly(d)}
	})
	checkModelDeadline(t, c, c.Time.FirstToken, func(d time.Duration) fakes.Step {
		return fakes.Step{Text: "I am done.", Chunks: 2, FirstToken: d, Latency: exactly(10 * d)}
	})
}

func checkChunk(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Time.Chunk = cfg.Time.Chunk
	checkModelDeadline(t, c, c.Time.Chunk, func(d time.Duration) fakes.Step {
		return fakes.Step{Text: "I am done.", Chunks: 2, FirstToken: time.Second, Latency: exactly(time.Second + d)}
	})
}

func checkModelDeadline(t *testing.T, c loop.Config, limit time.Duration, step func(time.Duration) fakes.Step) {
	t.Helper()
	for late, want := range map[time.Duration]loop.Stop{-time.Millisecond: loop.StopDone, 0: loop.StopModelDeadline} {
		p := play(t, c, &fakes.Script{Task: "go", Model: []fakes.Step{step(limit + late)}}, 2)
		if got := p.last().Stop; got != want {
			t.Errorf("%v after %v: %s, want %s", late, limit, got, want)
		}
	}
}

// schedule returns the waits of a formula in whole terms, without jitter: base,
// then as the backoff says, none above the cap.
func schedule(b loop.Backoff, base, limit time.Duration, n int) (waits []time.Duration) {
	wait := base
	for k := range n {
		switch b {
		case loop.Constant:
		case loop.Exponential:
			if k > 0 && (limit == 0 || wait < limit) {
				wait *= 2
			}
		default:
			wait = base * time.Duration(k+1)
		}
		w := wait
		if limit > 0 && w > limit {
			w = limit
		}
		waits = append(waits, w)
	}
	return waits
}

func checkRetry(t *testing.T, cfg loop.Config) {
	c, n := loop.Off(), cfg.Retry.Max
	c.Retry = cfg.Retry
	for _, code := range loop.Codes()[1:] {
		if !code.Failed() {
			continue
		}
		listed := slices.Contains(c.Retry.Codes, code) || code == loop.NotSent && slices.Contains(c.Retry.Codes, loop.RetryableServer)
		if code == loop.ConnectionLost {
			listed = false // the tool's idempotent is unset
		}
		for failures, want := range map[int]bool{n: listed, n + 1: false} {
			tool := answeringTool("A", "at last")
			tool.Latency = fakes.Instantly()
			for range failures {
				tool.Answers[0].Failures = append(tool.Answers[0].Failures, fakes.Failure{Error: code, Text: "not now"})
			}
			p := play(t, c, working(1, tool), 3)
			if got := p.last().Errors == 0; got != want {
				t.Errorf("%d times %s: it went well: %v, want %v", failures, code, got, want)
			}
			if waits := p.waits(loop.CallTool); want && !jitters(c.Retry.Backoff) && !slices.Equal(waits, schedule(c.Retry.Backoff, c.Retry.Base, c.Retry.Cap, n)) {
				t.Errorf("the waits are %v", waits)
			}
		}
	}
	c.Time.Tool = time.Second
	hangs := answeringTool("A", "at last")
	hangs.Answers[0].Failures = []fakes.Failure{{Hang: true}}
	if p := play(t, c, working(1, hangs), 3); (p.last().Errors == 0) != c.Retry.Timeouts {
		t.Errorf("a timeout is tried again: %v, want %v", p.last().Errors == 0, c.Retry.Timeouts)
	}
}

// waits returns the times between the end of a try and the start of the next.
func (p *played) waits(kind loop.EffectKind) (waits []time.Duration) {
	var ended time.Duration
	for i := range p.trace {
		r := &p.trace[i]
		if k := r.In.Kind; k == loop.ToolResult || k == loop.ModelFailure {
			ended = r.In.At
		}
		for _, e := range r.Effects {
			if e.Kind == kind && e.Ref.Try > 1 {
				waits = append(waits, r.In.At-ended)
			}
		}
	}
	return waits
}

func checkModelRetry(t *testing.T, cfg loop.Config) {
	c, n := loop.Off(), cfg.ModelRetry.Max
	c.ModelRetry = cfg.ModelRetry
	failing := func(f fakes.ModelFailure, times int) *played {
		step := fakes.Step{Text: "I am done."}
		for range times {
			step.Failures = append(step.Failures, f)
		}
		return play(t, c, &fakes.Script{Task: "go", Model: []fakes.Step{step}}, 2)
	}
	listed := func(status string) bool { return slices.Contains(c.ModelRetry.Statuses, status) }
	for status, want := range map[int]bool{408: listed("408"), 409: listed("409"), 425: listed("425"), 429: listed("429"), 500: listed("5xx") || listed("500"), 599: listed("5xx"), 0: listed("5xx"), 400: false, 404: false} {
		for times, again := range map[int]bool{n: want, n + 1: false} {
			p := failing(fakes.ModelFailure{Status: status}, times)
			if got := p.last().Stop == loop.StopDone; got != again {
				t.Errorf("%d times HTTP %d: it went well: %v, want %v", times, status, got, again)
			}
			if waits := p.waits(loop.AskModel); again && !slices.Equal(waits, schedule(c.ModelRetry.Backoff, c.ModelRetry.Base, c.ModelRetry.Cap, n)) {
				t.Errorf("the waits are %v", waits)
			}
		}
	}
	if n == 0 || c.ModelRetry.MaxWait == 0 {
		return
	}
	status := 500
	if s, err := strconv.Atoi(c.ModelRetry.Statuses[0]); err == nil {
		status = s
	}
	for late, want := range map[time.Duration]bool{0: true, time.Second: false} {
		p := failing(fakes.ModelFailure{Status: status, RetryAfter: c.ModelRetry.MaxWait + late}, 1)
		if got := p.last().Stop == loop.StopDone; got != want {
			t.Errorf("Retry-After %v: it went well: %v, want %v", c.ModelRetry.MaxWait+late, got, want)
		}
	}
}

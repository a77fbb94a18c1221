package loop

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// A randomWorld answers a machine at random, with ties, late answers, hangs and
// answers to what is not open.
type randomWorld struct {
	r       *rand.Rand
	pending []Input
	runs    int
	calls   int
}

const beat = 500 * time.Millisecond

func (w *randomWorld) later(most int) time.Duration { return time.Duration(w.r.IntN(most+1)) * beat }
func (w *randomWorld) one(in int) bool              { return w.r.IntN(in) == 0 }

func (w *randomWorld) at(in Input, at time.Duration) {
	in.At = at
	w.pending = append(w.pending, in)
}

func (w *randomWorld) do(now time.Duration, effects []Effect) {
	for _, e := range effects {
		switch e.Kind {
		case AskModel:
			w.model(e, now)
		case OpenGate:
			if !w.one(12) {
				w.at(Input{Kind: GateAnswer, Ref: e.Ref, Allow: !w.one(3), Text: "no"}, now+w.later(6))
			}
		case AskUser:
			if !w.one(4) {
				w.at(Input{Kind: UserReply, Ref: e.Ref, Allow: !w.one(3), Text: w.text("")}, now+w.later(6))
			}
		case CallTool:
			w.tool(e, now)
		case CancelTool:
			if !w.one(4) {
				w.pending = slices.DeleteFunc(w.pending, func(in Input) bool { return in.Kind == ToolResult && in.Ref == e.Ref })
				code := Cancelled
				if w.one(3) {
					code = None
				}
				w.at(Input{Kind: ToolResult, Ref: e.Ref, Code: code, Text: "stopped"}, now+w.later(4))
			}
		case Halt:
			if w.runs < 3 && !w.one(4) {
				w.runs++
				w.at(Input{Kind: UserMessage, Text: "and now?"}, now+w.later(10))
			}
		}
	}
	if w.one(12) {
		w.stray(now)
	}
}

func (w *randomWorld) stray(now time.Duration) {
	n, k := 1+w.r.IntN(6), 1+w.r.IntN(3)
	in := []Input{
		{Kind: ToolResult, Ref: Ref{RefCall, n, k}, Text: "stray"},
		{Kind: ModelReply, Ref: Ref{RefModel, n, k}, Text: "stray"},
		{Kind: ModelFailure, Ref: Ref{RefModel, n, k}, Status: 500},
		{Kind: ModelDelta, Ref: Ref{RefModel, n, k}, Text: "stray"},
		{Kind: GateAnswer, Ref: Ref{RefGate, n, 0}},
		{Kind: UserMessage, Text: "stray"},
		{Kind: Tick},
		{Kind: Started, Text: "again"},
		{Kind: Cancel, Cause: []Cause{ByCaller, ByCaller, ByCeiling, ByRecordingEnded}[w.r.IntN(4)]},
	}[w.r.IntN(9)]
	w.at(in, now+w.later(8))
}

func (w *randomWorld) text(or string) string {
	return []string{or, or, or, " ", "a long text that must be cut somewhere", "Error: so it says"}[w.r.IntN(6)]
}

func (w *randomWorld) model(e Effect, now time.Duration) {
	at := now + w.later(4)
	for range w.r.IntN(8) - 4 {
		w.at(Input{Kind: ModelDelta, Ref: e.Ref, Text: "piece"}, at)
		at += w.later(6)
	}
	switch w.r.IntN(12) {
	case 0: // hangs
		return
	case 1, 2:
		in := Input{Kind: ModelFailure, Ref: e.Ref, Text: "broken"}
		in.Status = []int{0, 429, 500, 503, 400}[w.r.IntN(5)]
		if w.one(4) {
			in.RetryAfter = w.later(20)
		}
		w.at(in, at)
		return
	}
	in := Input{Kind: ModelReply, Ref: e.Ref, Text: w.text("text"), Finish: FinishStop, TokensIn: int64(w.r.IntN(20)), TokensOut: int64(w.r.IntN(5)), Cost: 2 * int64(w.r.IntN(500))}
	if w.one(6) {
		in.Text = ""
	}
	if !w.one(3) {
		in.Finish = FinishToolCalls
		for range 1 + w.r.IntN(4) {
			in.Calls = append(in.Calls, AskedCall{
				ID:   []string{"", "same", fmt.Sprint("id", w.calls), fmt.Sprint("id", w.calls)}[w.r.IntN(4)],
				Name: []string{"read", "read", "write", "ask", "idem", " read", "nope"}[w.r.IntN(7)],
				Args: []string{"", "{}", `{"a":1}`, `{"a":1.0}`, `{ "a": 2 }`, "[1]", `{"a":`}[w.r.IntN(7)],
			})
			w.calls++
		}
	}
	if w.one(6) {
		in.Finish = FinishLength
	}
	w.at(in, at)
}

func (w *randomWorld) tool(e Effect, now time.Duration) {
	if w.one(8) {
		return
	}
	in := Input{Kind: ToolResult, Ref: e.Ref, Text: w.text("result")}
	if w.one(3) {
		in.Code = Codes()[w.r.IntN(len(Codes()))]
	}
	w.at(in, now+w.later(10))
	if w.one(10) {
		w.at(in, now+w.later(20))
	}
}

func (w *randomWorld) next(wake time.Duration, armed bool) (Input, bool) {
	slices.SortStableFunc(w.pending, func(a, b Input) int { return cmp.Compare(a.At, b.At) })
	if armed && (len(w.pending) == 0 || wake <= w.pending[0].At) {
		return Input{Kind: Tick, At: wake}, true
	}
	if len(w.pending) == 0 {
		return Input{}, false
	}
	in := w.pending[0]
	w.pending = w.pending[1:]
	return in, true
}

func randomConfig(r *rand.Rand) Config {
	c := Off()
	few := func(most int) int { return max(0, r.IntN(2*most+1)-most) }
	wait := func(most int) time.Duration { return time.Duration(few(most)) * beat }
	c.Limits = Limits{Turns: few(6), Calls: few(6), CallsPerTurn: few(3), Tokens: int64(few(80)), CostUSD: float64(2*few(2500)+1) / 1e9, Tries: few(6)}
	c.Time = Time{Run: wait(60), Model: wait(12), FirstToken: wait(6), Chunk: wait(6), Tool: wait(10), Grace: wait(4), PauseForUser: r.IntN(2) == 0}
	c.Errors.MaxConsecutive = few(4)
	c.Errors.Trip = []Trip{"", TripReached, TripExceeded}[r.IntN(3)]
	c.Errors.Batch = []BatchRule{"", BatchAll, BatchAny}[r.IntN(3)]
	if r.IntN(3) == 0 {
		c.Errors.Kinds = []ErrorKind{KindException}
	}
	backoffs := []Backoff{"", Linear, Constant, Exponential, FullJitter, DecorrelatedJitter}
	c.Retry.Max, c.Retry.Base, c.Retry.Backoff, c.Retry.Cap = few(3), wait(4), backoffs[r.IntN(6)], wait(8)
	c.Retry.Timeouts = r.IntN(3) > 0
	c.ModelRetry.Max, c.ModelRetry.Base, c.ModelRetry.Backoff, c.ModelRetry.Cap = few(3), wait(4), backoffs[r.IntN(6)], wait(8)
	c.ModelRetry.MaxWait, c.ModelRetry.EmptyReplies = wait(10), r.IntN(3)
	if r.IntN(4) == 0 {
		c.ModelRetry.Statuses = []string{"429", "503"}
	}
	c.Parallel.Max = r.IntN(4)
	c.History = History{MaxMessages: few(8), KeepFirst: r.IntN(2) == 0, KeepLast: few(3), MaxResultChars: few(20)}
	if r.IntN(2) == 0 {
		c.Scope = ScopeSession
	}
	for i := range r.IntN(3) {
		d := detect.Detector{Name: fmt.Sprint("breaker-", i), Do: []detect.Rung{{At: 2 + r.IntN(4), Act: detect.Stop}}}
		if r.IntN(2) == 0 {
			d.Ends = detect.EndsNext
		}
		c.Detectors = append(c.Detectors, d)
	}
	return c
}

// randomRun plays a machine in a random world.
func randomRun(t *testing.T, seed uint64, cfg Config, r *rand.Rand) (Task, Trace) {
	t.Helper()
	task := Task{Text: "go", Seed: seed}
	m, err := New(cfg, task, auditTools)
	if err != nil {
		t.Fatal(err)
	}
	w := &randomWorld{r: r, runs: 1}
	var trace Trace
	for in, ok := m.Begin(), true; ok && len(trace) < 400; {
		effects := m.Step(in)
		trace.Append(in, effects)
		w.do(in.At, effects)
		wake, armed := m.Wake()
		in, ok = w.next(wake, armed)
	}
	return task, trace
}

// Audit and Machine share no code, so where they agree on what nobody wrote
// down beforehand, both are probably right.
func TestAuditRuns(t *testing.T) {
	atLimit := []AtLimit{LimitStop, LimitFinal, LimitGrace, LimitAsk}
	acts := []detect.Act{detect.Nudge, detect.Veto, detect.Ask, detect.FinalAnswer, detect.Stop}
	tests := []struct {
		name   string
		change func(c *Config, r *rand.Rand)
	}{
		{"limits and detectors that stop", func(*Config, *rand.Rand) {}},
		{"limits that ask and hint", func(c *Config, r *rand.Rand) {
			c.Limits.AtLimit, c.Limits.Near = atLimit[r.IntN(4)], r.IntN(3)
		}},
		{"steps", func(c *Config, r *rand.Rand) { c.Limits.Steps = r.IntN(8) }},
		{"detectors that do more", func(c *Config, r *rand.Rand) {
			for i := range c.Detectors {
				c.Detectors[i].Do[0].Act = acts[r.IntN(5)]
			}
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(500) {
				r := rand.New(rand.NewPCG(seed, 1))
				cfg := randomConfig(r)
				tt.change(&cfg, r)
				task, trace := randomRun(t, seed, cfg, r)
				if vs := Audit(cfg, task, auditTools, trace); len(vs) > 0 {
					t.Fatalf("seed %d, config %+v\n%s%s", seed, cfg, trace, auditList(vs))
				}
			}
		})
	}
}

// Whatever is done to a trace, Audit only finds it wrong.
func TestAuditAbsurd(t *testing.T) {
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		cfg := randomConfig(r)
		task, trace := randomRun(t, seed, cfg, r)
		for range 1 + r.IntN(8) {
			trace = distort(trace, r)
		}
		Audit(randomConfig(r), task, auditTools[:r.IntN(5)], trace)
	}
	Audit(Config{}, Task{}, nil, nil)
	Audit(Config{}, Task{}, nil, make(Trace, 3))
}

// distort makes one change to a trace, without regard to its meaning.
func distort(trace Trace, r *rand.Rand) Trace {
	trace = slices.Clone(trace)
	i, j := r.IntN(len(trace)), r.IntN(len(trace))
	rec := &trace[i]
	rec.Effects = slices.Clone(rec.Effects)
	ref := Ref{Kind: []RefKind{RefNone, RefModel, RefCall, RefGate, RefMessage, RefQuestion, 'x'}[r.IntN(7)], N: r.IntN(9) - 2, Try: r.IntN(5) - 1}
	switch r.IntN(9) {
	case 0:
		trace[i], trace[j] = trace[j], trace[i]
	case 1:
		return slices.Insert(trace, i, trace[j])
	case 2:
		rec.In.Ref = ref
	case 3:
		rec.In.Kind = InputKind(r.IntN(14))
	case 4:
		rec.In.At = []time.Duration{-1 << 63, -1, 0, time.Second, 1<<63 - 1}[r.IntN(5)]
	case 5:
		rec.Effects = append(rec.Effects, trace[j].Effects...)
	case 6:
		rec.Effects = append(rec.Effects, Effect{Kind: EffectKind(r.IntN(14)), Ref: ref, Of: ref, To: -1, Event: EventAbandoned})
	default:
		if len(rec.Effects) > 0 {
			e := &rec.Effects[r.IntN(len(rec.Effects))]
			e.Kind, e.Ref = EffectKind(r.IntN(14)), ref
		}
	}
	return trace
}

// BenchmarkAudit audits a run of 1,000 turns with two calls each, with every
// limit on and none reached.
func BenchmarkAudit(b *testing.B) {
	cfg := Default()
	cfg.Time.Run, cfg.Time.Model, cfg.Time.Chunk = 24*time.Hour, time.Minute, time.Second
	cfg.Limits = Limits{Turns: 5000, Calls: 5000, CallsPerTurn: 9, Tokens: 1e9, CostUSD: 1e6, Tries: 5000, Steps: 5000}
	cfg.History.MaxMessages, cfg.History.MaxResultChars = 9000, 9000
	m, err := New(cfg, Task{Text: "go"}, auditTools)
	if err != nil {
		b.Fatal(err)
	}
	var trace Trace
	step := func(in Input) {
		in.At = time.Duration(len(trace)) * time.Millisecond
		trace.Append(in, m.Step(in))
	}
	step(m.Begin())
	for n := 1; n <= 1000; n++ {
		args := func(k int) string { return fmt.Sprintf(`{"n":%d}`, 2*n+k) }
		step(Input{Kind: ModelReply, Ref: Ref{RefModel, n, 1}, TokensIn: 9, Calls: []AskedCall{{Name: "read", Args: args(0)}, {Name: "idem", Args: args(1)}}})
		step(Input{Kind: ToolResult, Ref: Ref{RefCall, 2*n - 1, 1}, Text: "one"})
		step(Input{Kind: ToolResult, Ref: Ref{RefCall, 2 * n, 1}, Text: "two"})
	}
	for b.Loop() {
		if vs := Audit(cfg, Task{Text: "go"}, auditTools, trace); len(vs) > 0 {
			b.Fatal(auditList(vs[:1]))
		}
	}
}

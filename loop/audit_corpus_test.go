package loop

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// What somebody wrote by hand as right is right.
func TestAuditSessions(t *testing.T) {
	files, err := filepath.Glob("testdata/machine/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range files {
		s := readSession(t, file)
		if vs := Audit(s.cfg, s.task, s.tools, s.trace); len(vs) > 0 {
			t.Errorf("%s: found %s", file, auditList(vs))
		}
	}
}

// Audit and Machine share no code, so where they agree on what nobody wrote
// down beforehand, both are probably right.
func TestAuditWildWorlds(t *testing.T) {
	for seed := range uint64(1000) {
		s, trace := wildTrace(t, seed)
		if vs := Audit(s.cfg, s.task, s.tools, trace); len(vs) > 0 {
			t.Fatalf("seed %d, config %+v, task %+v\n%s%s", seed, s.cfg, s.task, trace, auditList(vs))
		}
	}
}

// Whatever is done to a trace, and whatever it is held to, Audit only finds it
// wrong.
func TestAuditAbsurd(t *testing.T) {
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 3))
		_, trace := wildTrace(t, seed)
		for range 1 + r.IntN(8) {
			trace = distort(trace, r)
		}
		s, err := wildSession(seed + uint64(r.IntN(3)))
		if err != nil {
			t.Fatal(err)
		}
		Audit(s.cfg, s.task, s.tools[:r.IntN(len(s.tools)+1)], trace)
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

package audit

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// storedTraces reads the traces of the hand-written sessions of the machine,
// without the settings that they were made under.
func storedTraces(t *testing.T) (traces []loop.Trace) {
	t.Helper()
	files, err := filepath.Glob("../testdata/machine/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, text, _ := strings.Cut(string(data), "\n\n")
		trace, err := loop.ParseTrace(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		traces = append(traces, trace)
	}
	return traces
}

// fields reads schemas that name one field, which an object must have.
type fields struct{}

func (fields) Compile(schema string) (loop.Schema, error) { return field(schema), nil }

type field string

func (f field) Check(text string, _ int) (fixed string, repaired int, problem string, missing []string) {
	if strings.Contains(text, fmt.Sprintf("%q:", string(f))) {
		return text, 0, "", nil
	}
	return text, 0, "missing: " + string(f), []string{string(f)}
}

// Whatever is done to a trace, and whatever it is held to, Check only finds it
// wrong.
func TestAbsurd(t *testing.T) {
	traces, names := storedTraces(t), slices.Sorted(maps.Keys(goodTraces))
	for seed := range uint64(1500) {
		r := rand.New(rand.NewPCG(seed, 3))
		trace := traces[r.IntN(len(traces))]
		for range 1 + r.IntN(8) {
			trace = distort(trace, r)
		}
		cfg, task := goodTraces[names[r.IntN(len(names))]].setting()
		Check(cfg, task, testTools[:r.IntN(len(testTools)+1)], trace)
	}
	Check(loop.Config{}, loop.Task{}, nil, nil)
	Check(loop.Config{}, loop.Task{}, nil, make(loop.Trace, 3))
}

// distort makes one change to a trace, without regard to its meaning.
func distort(trace loop.Trace, r *rand.Rand) loop.Trace {
	trace = slices.Clone(trace)
	i, j := r.IntN(len(trace)), r.IntN(len(trace))
	rec := &trace[i]
	rec.Effects = slices.Clone(rec.Effects)
	ref := loop.Ref{Kind: []loop.RefKind{loop.RefNone, loop.RefModel, loop.RefCall, loop.RefGate, loop.RefMessage, loop.RefQuestion, 'x'}[r.IntN(7)], N: r.IntN(9) - 2, Try: r.IntN(5) - 1}
	switch r.IntN(9) {
	case 0:
		trace[i], trace[j] = trace[j], trace[i]
	case 1:
		return slices.Insert(trace, i, trace[j])
	case 2:
		rec.In.Ref = ref
	case 3:
		rec.In.Kind = loop.InputKind(r.IntN(14))
	case 4:
		rec.In.At = []time.Duration{-1 << 63, -1, 0, time.Second, 1<<63 - 1}[r.IntN(5)]
	case 5:
		rec.Effects = append(rec.Effects, trace[j].Effects...)
	case 6:
		rec.Effects = append(rec.Effects, loop.Effect{Kind: loop.EffectKind(r.IntN(14)), Ref: ref, Of: ref, To: -1, Event: loop.EventAbandoned})
	default:
		if len(rec.Effects) > 0 {
			e := &rec.Effects[r.IntN(len(rec.Effects))]
			e.Kind, e.Ref = loop.EffectKind(r.IntN(14)), ref
		}
	}
	return trace
}

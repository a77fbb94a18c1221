package scenarios

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// answering is a scenario that is done after one reply. A random one draws its
// latency.
func answering(name string, random bool) *Scenario {
	step := fakes.Step{Text: "hello"}
	if random {
		step.Text = "${rand:1..1000000}"
	}
	return &Scenario{Suite: "s", Name: name, Label: Healthy, Variant: Variant{Name: "own", Config: loop.Off()}, Config: loop.Off(),
		Script: fakes.Script{Task: "t", Model: []fakes.Step{step}}}
}

// results runs the trials, and gives their lines as in a file.
func results(t *testing.T, o Options) string {
	t.Helper()
	var b bytes.Buffer
	w, err := NewResultWriter(&b, o.Header("test"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), o, w.Write); err != nil {
		t.Fatal(err)
	}
	if err := w.End(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The bytes of a results file do not depend on the number of workers.
func TestWorkersChangeNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays many scenarios several times")
	}
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var few []*Scenario // every fifth, since 1,000 requests each take their time
	for i := 0; i < len(all); i += 5 {
		few = append(few, all[i])
	}
	for i := range 20 {
		few = append(few, answering(fmt.Sprintf("r%02d", i), true))
	}
	none, err := LoadVariant("none")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Scenarios: few, Variants: []Variant{none, {Name: "own", Config: loop.Default()}}, Seeds: 5, Seed: 7, Keep: KeepFailed, Workers: 1}
	one := results(t, o)
	o.Workers = 8
	if eight := results(t, o); one != eight {
		t.Error("1 and 8 workers give different bytes")
	}
	// 2 variants: 20 random scenarios × 5 seeds × 2, and the header.
	if got := strings.Count(one, "\n"); got < 201 {
		t.Errorf("%d lines", got)
	}
}

func TestOrderAndSeeds(t *testing.T) {
	o := Options{Scenarios: []*Scenario{answering("fixed", false), answering("drawn", true)},
		Variants: []Variant{{Name: "v2", Config: loop.Off()}, {Name: "v1", Config: loop.Off()}}, Seeds: 3, Seed: 9, Workers: 3}
	var got []string
	texts := map[string]bool{}
	o.Keep = KeepAll
	if err := Run(context.Background(), o, func(r *Result) error {
		got = append(got, fmt.Sprintf("%s %s %d %v", r.Scenario, r.Variant, r.Seed, r.Random))
		texts[r.Trace] = true
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"s/fixed v2 9 false", "s/fixed v1 9 false",
		"s/drawn v2 9 true", "s/drawn v2 10 true", "s/drawn v2 11 true", "s/drawn v1 9 true", "s/drawn v1 10 true", "s/drawn v1 11 true"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// One trace of the fixed scenario, one a seed of the other.
	if len(texts) != 4 {
		t.Errorf("%d different traces, want 4", len(texts))
	}
	if h := o.Header("x"); h.Trials != 8 || h.Scenarios != 2 || h.Seeds != 3 || !slices.Equal(h.Order, []string{"v2", "v1"}) {
		t.Errorf("the header says %+v", h)
	}
}

// A backoff that draws makes a trial random, if a retry is possible.
func TestJitterIsRandom(t *testing.T) {
	cfg := loop.Default()
	cfg.ModelRetry.Backoff = loop.FullJitter // of retries that are never made
	for _, tt := range []struct {
		backoff loop.Backoff
		max     int
		want    bool
	}{{loop.Linear, 3, false}, {loop.FullJitter, 3, true}, {loop.DecorrelatedJitter, 1, true}, {loop.FullJitter, 0, false}} {
		cfg.Retry.Backoff, cfg.Retry.Max = tt.backoff, tt.max
		trial := Trial{Scenario: answering("a", false), Variant: Variant{Name: "v", Config: cfg}}
		if got := trial.random(); got != tt.want {
			t.Errorf("%s, %d retries: random is %v", tt.backoff, tt.max, got)
		}
	}
}

func TestRunStops(t *testing.T) {
	var all []*Scenario
	for i := range 1000 {
		all = append(all, answering(fmt.Sprint(i), false))
	}
	o := Options{Scenarios: all, Workers: 4}
	enough := errors.New("enough")
	n := 0
	err := Run(context.Background(), o, func(*Result) error {
		if n++; n == 50 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 50 {
		t.Errorf("after %d results: %v", n, err)
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	n = 0
	err = Run(ctx, o, func(*Result) error {
		if n++; n == 50 {
			cancel(enough)
		}
		return nil
	})
	if !errors.Is(err, enough) || n != 50 {
		t.Errorf("after %d results and a cancel: %v", n, err)
	}
}

// A long trace loses its middle, between two records, so that what is left can be read.
func TestLongTraceIsCut(t *testing.T) {
	var trace loop.Trace
	for i := range 10 {
		trace = append(trace, loop.Record{In: loop.Input{Kind: loop.UserMessage, At: time.Duration(i) * time.Second, Text: strings.Repeat("x", 100)}})
	}
	one := len(trace[:1].String())
	whole := trace.String()
	if text, cut := TraceText(trace, strings.Clone, len(whole)); text != whole || cut != nil {
		t.Errorf("a trace that fits is cut: %v", cut)
	}
	text, cut := TraceText(trace, strings.Clone, 5*one+4) // 2 at each end and half of one
	got, err := loop.ParseTrace(text)
	if err != nil || len(got) != 4 || got[1].In.At != time.Second || got[2].In.At != 8*time.Second {
		t.Errorf("got %v, %v", got, err)
	}
	if *cut != (TraceCut{Line: 3, Steps: 6}) {
		t.Errorf("got %+v", *cut)
	}

	// What a results file holds of a failed trial is short, whatever was kept before.
	for range 2000 {
		trace = append(trace, trace[9])
	}
	r := &Result{Trace: trace.String()}
	if r.CutTrace(); len(r.Trace) > 32<<10 || r.TraceCut == nil || r.TraceCut.Steps+strings.Count(r.Trace, "\n") != 2010 {
		t.Errorf("%d bytes, %+v", len(r.Trace), r.TraceCut)
	}
}

func TestSameNameTwice(t *testing.T) {
	o := Options{Scenarios: []*Scenario{answering("a", false)}, Variants: []Variant{{Name: "v"}, {Name: "v"}}}
	if err := Run(context.Background(), o, nil); err == nil || err.Error() != `two variants are called "v"` {
		t.Errorf("got %v", err)
	}
}

func TestUnjudged(t *testing.T) {
	o := Options{Scenarios: []*Scenario{answering("a", false)}, Unjudged: true}
	if err := Run(context.Background(), o, func(r *Result) error {
		if r.Verdict != Unjudged {
			t.Errorf("got %s", r.Verdict)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// Seeds do not start again from 0.
func TestSeedsDoNotWrap(t *testing.T) {
	err := Run(t.Context(), Options{Seed: math.MaxUint64, Seeds: 2}, func(*Result) error { return nil })
	if err == nil || err.Error() != "2 seeds from 18446744073709551615 go beyond the largest seed" {
		t.Errorf("got %v", err)
	}
	if err := Run(t.Context(), Options{Seed: math.MaxUint64, Seeds: 1}, func(*Result) error { return nil }); err != nil {
		t.Errorf("the largest seed itself: %v", err)
	}
}

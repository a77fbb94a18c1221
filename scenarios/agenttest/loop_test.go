package agenttest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// suites are the embedded scenarios, which are read once.
var suites = sync.OnceValues(func() ([]*scenarios.Scenario, error) { return scenarios.Load() })

// first returns the ids of the 262 scenarios that the suites had when the goals for
// agents were set.
func first(t *testing.T) map[string]bool {
	t.Helper()
	f, err := os.Open("testdata/410f1f7.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ids := map[string]bool{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		ids[lines.Text()] = true
	}
	return ids
}

// reference is the reference loop as an agent.
func reference(s *scenarios.Scenario, seed uint64, out *loop.Outcome) Agent {
	return func(ctx context.Context, w *World) (string, error) {
		var tools []loop.Tool
		for i, spec := range s.Script.Specs() {
			tools = append(tools, &scripted{spec, w.Tools[i].Call})
		}
		o, err := loop.RunLive(ctx, s.Config, s.Script.LoopTask(seed), w.Model(), tools, loop.LiveOptions{})
		*out = o
		if err == nil && o.End != loop.Done && o.End != loop.ClarifyNeeded {
			err = fmt.Errorf("%s: %s", o.Stop, o.Reason)
		}
		return o.Answer, err
	}
}

type scripted struct {
	spec loop.ToolSpec
	call func(context.Context, string) (string, error)
}

func (s *scripted) Spec() loop.ToolSpec                                   { return s.spec }
func (s *scripted) Call(ctx context.Context, args string) (string, error) { return s.call(ctx, args) }

// deed is what a trace tells of a run, as far as it can be seen from outside.
type deed struct {
	requests int
	calls    []string
	stop     loop.Stop
}

func deedOf(trace loop.Trace) (d deed) {
	for i := range trace {
		if trace[i].Path != "" {
			continue
		}
		for _, e := range trace[i].Effects {
			switch e.Kind {
			case loop.AskModel:
				d.requests++
			case loop.CallTool:
				d.calls = append(d.calls, e.Name+" "+strings.TrimSpace(e.Args))
			case loop.Halt:
				d.stop = e.Outcome.Stop
			}
		}
	}
	return d
}

const summary = "no request says that it is for a summary: it is an aside, which no step answers and no number counts"

// exceptions are the scenarios in which the reference loop, asked as a foreign agent, is
// not what it is in the simulated world, and why.
var exceptions = map[string]string{
	"history/compacted-four-times":     summary,
	"history/compaction-gains-nothing": summary,
	"history/summary-fails-once":       summary,
	"limits/last-word-sums-up":         "no request says that it is the last: it still offers tools",
	"limits/cost-limit":                "no API tells what a reply costs",
	"limits/sub-run-spends-the-budget": "no API tells what a sub-run costs, and the tool is no loop here",
}

// The reference loop, asked by HTTP and in virtual time, does what it does in the
// simulated world: requests, calls with their arguments and their order, and its end.
func TestReferenceLoop(t *testing.T) {
	all, err := suites()
	if err != nil {
		t.Fatal(err)
	}
	o := newOptions([]Option{Cap(1000)})
	ids := first(t)
	equal, of := 0, 0
	for i, s := range all {
		if !ids[s.ID()] || o.notAsked(s) != "" {
			continue
		}
		of++
		if exceptions[s.ID()] != "" || testing.Short() && i%6 > 0 {
			continue
		}
		if asForeign(t, s, o) {
			equal++
		}
	}
	if !testing.Short() && (of < 214 || equal < of-len(exceptions)) {
		t.Errorf("%d of %d are equal", equal, of)
	}
}

// asForeign reports whether the loop is the same in both worlds.
func asForeign(t *testing.T, s *scenarios.Scenario, o *options) bool {
	const seed = 1
	_, trace := scenarios.Trial{Scenario: s, Variant: s.Variant, Seed: seed}.Run(t.Context())
	var out loop.Outcome
	var report *Report
	leaked := inBubble(t, func(t *testing.T) {
		tr, err := newTrial(s, o, seed)
		if err != nil {
			t.Fatal(err)
		}
		report = tr.play(t.Context(), reference(s, seed, &out))
		tr.close()
	})
	if leaked != "" {
		t.Errorf("%s: it leaves behind\n%s", s.ID(), leaked)
		return false
	}
	// What a loop asks without offering tools, such as a summary, is an aside.
	got, want := deed{requests: report.Requests + report.Asides, stop: out.Stop}, deedOf(trace)
	for _, x := range report.Observation.Executions {
		got.calls = append(got.calls, x.Name+" "+x.Args)
	}
	if got.requests != want.requests || got.stop != want.stop || !slices.Equal(got.calls, want.calls) {
		t.Errorf("%s: as a foreign agent %+v, simulated %+v", s.ID(), got, want)
		return false
	}
	return true
}

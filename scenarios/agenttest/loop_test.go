package agenttest

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
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

// A way is how the reference loop reaches the model and the tools of a trial.
type way struct {
	name    string
	connect func(*testing.T, *trial) (closed func())
	tool    func(*World, Tool) toolCall
}

type toolCall func(ctx context.Context, args string) (string, error)

var ways = []way{
	{"in process", func(*testing.T, *trial) func() { return func() {} }, func(_ *World, tool Tool) toolCall { return tool.Call }},
	{"over sockets", overSockets, byHTTP},
}

// byHTTP calls a tool as an agent of any language does.
func byHTTP(w *World, tool Tool) toolCall {
	deaf := slices.ContainsFunc(w.trial.scenario.Script.Tools, func(t fakes.Tool) bool { return t.Name == tool.Name && t.IgnoresCancel })
	return func(ctx context.Context, args string) (string, error) {
		if deaf {
			ctx = context.WithoutCancel(ctx)
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.Base+"/tools/"+url.PathEscape(tool.Name), strings.NewReader(args))
		if err != nil {
			return "", err
		}
		resp, err := w.Client.Do(r)
		switch {
		case err != nil && ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err != nil:
			return "", &loop.ToolError{Code: loop.ConnectionLost, Text: err.Error()}
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode == http.StatusOK {
			return string(text), err
		}
		code := cmp.Or(resp.Header.Get("X-Agentbench-Code"), string(loop.InvalidInput)) // the server has refused it
		return "", &loop.ToolError{Code: loop.Code(code), Text: string(text)}
	}
}

// reference is the reference loop as an agent.
func reference(s *scenarios.Scenario, seed uint64, way *way, out *loop.Outcome) Agent {
	return func(ctx context.Context, w *World) (string, error) {
		var tools []loop.Tool
		for i, spec := range s.Script.Specs() {
			tools = append(tools, &scripted{spec, way.tool(w, w.Tools[i])})
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
	call toolCall
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
	"limits/sub-run-spends-the-budget": "no API tells what a sub-run costs, and the tool is not a loop here",
}

// The reference loop, asked in virtual time, does what it does in the simulated world:
// requests, calls with their arguments and their order, and its end. In process, model
// and tools answer without sockets; over sockets, model and tools are those of agentbench
// serve.
func TestReferenceLoop(t *testing.T) {
	all, err := suites()
	if err != nil {
		t.Fatal(err)
	}
	o := newOptions([]Option{Cap(1000)})
	ids := first(t)
	equal, of := make([]int, len(ways)), 0
	for i, s := range all {
		if !ids[s.ID()] || o.notAsked(s) != "" {
			continue
		}
		of++
		if testing.Short() && i%6 > 0 {
			continue
		}
		_, trace := scenarios.Trial{Scenario: s, Variant: s.Variant, Seed: 1}.Run(t.Context())
		want, why := deedOf(trace), exceptions[s.ID()]
		for j := range ways {
			if why != "" && j > 0 {
				continue // the reasons hold in every way
			}
			got := asForeign(t, s, o, &ways[j])
			switch same := got.requests == want.requests && got.stop == want.stop && slices.Equal(got.calls, want.calls); {
			case same && why != "":
				t.Errorf("%s %s: it is equal, although %s", s.ID(), ways[j].name, why)
			case same:
				equal[j]++
			case why == "":
				t.Errorf("%s %s: as a foreign agent %+v, simulated %+v", s.ID(), ways[j].name, got, want)
			}
		}
	}
	for j := range ways {
		if !testing.Short() && (of < 214 || equal[j] < of-len(exceptions)) {
			t.Errorf("%s %d of %d are equal", ways[j].name, equal[j], of)
		}
	}
}

// asForeign returns what the loop does as a foreign agent.
func asForeign(t *testing.T, s *scenarios.Scenario, o *options, way *way) (got deed) {
	const seed = 1
	leaked := inBubble(t, func(t *testing.T) {
		tr, err := newTrial(s, o, seed)
		if err != nil {
			t.Fatal(err)
		}
		closed := way.connect(t, tr)
		var out loop.Outcome
		report := tr.play(t.Context(), reference(s, seed, way, &out))
		tr.close()
		closed()
		// What a loop asks without offering tools, such as a summary, is an aside.
		got = deed{requests: report.Requests + report.Asides, stop: out.Stop}
		for _, x := range report.Observation.Executions {
			got.calls = append(got.calls, x.Name+" "+x.Args)
		}
	})
	if leaked != "" {
		t.Errorf("%s %s: it leaves behind\n%s", s.ID(), way.name, leaked)
	}
	return got
}

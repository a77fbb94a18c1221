package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/agentbench-go/agentbench/scenarios/observe"
)

// An Agent runs an agent on a task, in a World that plays its model and its tools. It
// returns the answer, or why there is none. A new agent must be made in each call.
//
// The context ends when the scenario's user cancels, and when the trial is over: see
// [ErrCancelled], [ErrCap] and [ErrTime]. The Agent returns then.
type Agent func(ctx context.Context, w *World) (answer string, err error)

// A World is the model, the tools and the user of one scenario.
type World struct {
	Task   string // the user's first message
	System string // the system prompt that the scenario has, "" = none
	// URL is the address of the model for OpenAI's clients; it ends in /v1. Base is the
	// same without /v1, for Anthropic's and Google's clients. Any API key will do, and
	// any name of a model. Only Client reaches them.
	URL, Base string
	Client    *http.Client
	Tools     []Tool

	trial *trial
}

// A Tool is a tool of the scenario, which answers as its script says: with its results,
// failures, latencies and hangs. An agent offers it to the model under its name.
type Tool struct {
	Name, Description string
	// Schema is the JSON Schema of its arguments, an object.
	Schema json.RawMessage
	// Call executes the tool. args is a JSON object; "" counts as {}. A scripted failure
	// is a [*loop.ToolError]. A call that ctx ends returns the cause. Any number of
	// goroutines may call it.
	Call func(ctx context.Context, args string) (string, error)
}

// Spec returns the tool for the reference loop, by [loop.FuncTool] for example.
func (t *Tool) Spec() loop.ToolSpec {
	return loop.ToolSpec{Name: t.Name, Description: t.Description, Input: string(t.Schema)}
}

// A Report is what one trial came to.
type Report struct {
	scenarios.Result
	Answer string // what the agent returned
	Err    error  // what the agent returned
	// Observation holds each request of the agent and each call of a tool, and Observed
	// is the same as a trace.
	Observation *observe.Observation
	Observed    loop.Trace
	// Leaked are the goroutines that the agent left behind: "" = none, or not in a
	// bubble.
	Leaked string

	scenario *scenarios.Scenario
	stack    string // of the agent's panic
}

// Run asks the agent the scenarios, each in a parallel subtest and a bubble of its own.
// Without options these are all embedded ones that it can be asked: an agent has nobody
// to ask for a permission, and only with [Sessions] it hears more than one message. With
// -test.v the test says what is not asked, and why.
func Run(t *testing.T, agent Agent, opts ...Option) {
	t.Helper()
	o := newOptions(opts)
	chosen, err := o.chosen()
	if err != nil {
		t.Fatal(err)
	}
	asked := o.askable(t, chosen)
	if len(asked) == 0 {
		t.Fatalf("none of %s can be asked: go test -v says why", text.Count(len(chosen), "scenario"))
	}
	for id := range o.known {
		if !slices.ContainsFunc(asked, func(s *scenarios.Scenario) bool { return s.ID() == id }) {
			t.Errorf("Known names %s, which is not asked%s", text.Line(id), hint(id, asked))
		}
	}
	r := &runner{options: o, agent: agent, t: t, pkg: testPackage()}
	r.golden = readGolden(t)
	t.Cleanup(r.end)
	quietSignals()
	for _, s := range asked {
		for seed := range o.seedsOf(s) {
			r.subtest(s, seed+1)
		}
	}
}

func hint(id string, asked []*scenarios.Scenario) string {
	ids := make([]string, len(asked))
	for i, s := range asked {
		ids[i] = s.ID()
	}
	if meant := text.DidYouMean(id, ids); meant != "" {
		return ": " + meant
	}
	return ""
}

// Trial asks the agent one scenario and returns what came of it. It does not judge: a
// test looks at the [Report], and may print its Failure. Call it in a bubble of one's
// own, by [testing/synctest.Test], or with [RealTime].
func Trial(t *testing.T, s *scenarios.Scenario, agent Agent, opts ...Option) *Report {
	t.Helper()
	o := newOptions(opts)
	if why := o.notAsked(s); why != "" {
		t.Fatalf("%s cannot be asked: it needs %s", s.ID(), why)
	}
	tr, err := newTrial(s, o, 1)
	if err != nil {
		t.Fatal(err)
	}
	report := tr.play(t.Context(), agent)
	tr.close()
	report.Repeat = repeat(t.Name(), testPackage())
	return report
}

// A runner runs the trials of one test.
type runner struct {
	*options
	agent  Agent
	t      *testing.T
	pkg    string
	golden *golden

	mu      sync.Mutex
	reports []*Report
}

// subtest runs one trial as a subtest.
func (r *runner) subtest(s *scenarios.Scenario, seed uint64) {
	name := s.ID()
	if r.seeds > 1 {
		name += "/seed-" + text.Number(int(seed))
	}
	r.t.Run(name, func(t *testing.T) {
		t.Parallel()
		report, err := r.trial(t, s, seed)
		if err != nil {
			t.Fatal(err)
		}
		report.Repeat = repeat(t.Name(), r.pkg)
		r.mu.Lock()
		r.reports = append(r.reports, report)
		r.mu.Unlock()
		if report.Leaked != "" {
			t.Logf("the agent left goroutines behind:\n%s", report.Leaked)
		}
		r.golden.compare(t, report, r.speed == 0)
		r.judge(t, report)
	})
}

// tally says how many scenarios of each label passed, and of which suites they are that did
// not.
func tally(reports []*Report) (lines []string) {
	for _, kind := range []struct {
		label        scenarios.Label
		what, passed string
	}{{scenarios.Runaway, "runaways", "stopped by the agent"}, {scenarios.Healthy, "healthy runs", "came to their end"}} {
		n, failed := map[scenarios.Verdict]int{}, map[string]int{}
		for _, one := range reports {
			if one.Label != kind.label {
				continue
			}
			n[one.Verdict]++
			if one.Verdict == scenarios.Fail {
				failed[one.Suite]++
			}
		}
		if len(n) == 0 {
			continue
		}
		pass, fail := n[scenarios.Pass], n[scenarios.Fail]
		line := fmt.Sprintf("%s: %s of %s %s, %s did not, %s inconclusive", kind.what, text.Number(pass), text.Number(pass+fail), kind.passed, text.Number(fail), text.Number(n[scenarios.Inconclusive]))
		var suites []string
		for _, suite := range slices.Sorted(maps.Keys(failed)) {
			suites = append(suites, text.Line(suite)+" "+text.Number(failed[suite]))
		}
		if len(suites) > 0 {
			line += "; failed: " + strings.Join(suites, ", ")
		}
		lines = append(lines, line)
	}
	return lines
}

// mistakes are the rules that say that the test, and not the agent, must be mended.
var mistakes = []string{observe.RuleNoRequest, observe.RuleTools, observe.RuleMessages}

// judge lets the subtest fail, or skips it.
func (r *runner) judge(t *testing.T, report *Report) {
	why, known := r.known[report.Scenario]
	mistake := len(report.Findings) > 0 && slices.Contains(mistakes, report.Findings[0].Rule)
	switch {
	case mistake:
		t.Error(report.Failure())
	case report.Verdict == scenarios.Inconclusive:
		t.Skip(report.Failure())
	case report.Verdict == scenarios.Fail && known:
		t.Skipf("known: %s\n%s", why, report.Failure())
	case report.Verdict == scenarios.Fail:
		t.Error(report.Failure())
	case known:
		t.Errorf("it passes: take it out of Known, which says %q", why)
	}
}

// end writes the results and the golden, once all subtests have ended.
func (r *runner) end() {
	slices.SortFunc(r.reports, byID)
	if r.results != "" {
		if err := r.writeResults(); err != nil {
			r.t.Errorf("the results cannot be written: %v", err)
		}
	}
	if err := r.golden.write(r.reports, r.speed == 0); err != nil {
		r.t.Errorf("the golden cannot be written: %v", err)
	}
	if r.t.Failed() || testing.Verbose() {
		for _, line := range tally(r.reports) {
			r.t.Log(line)
		}
	}
	judged := func(one *Report) bool { return one.Verdict != scenarios.Inconclusive }
	if len(r.reports) > 0 && !slices.ContainsFunc(r.reports, judged) && !r.t.Failed() {
		r.t.Errorf("nothing could be judged; the first reason:\n%s", strings.TrimSpace(r.reports[0].Failure()))
	}
}

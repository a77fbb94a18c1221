package scenarios

import (
	"context"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

const withSession = `name: x
description: a sub-run
label: healthy
task: Go.
tools:
  - name: ask
    session:
      config: {limits: {turns: 3}}
      shared: [ask]
      tools:
        - {name: look, answers: [{result: seen}]}
      model:
        - {calls: [{look: {}}]}
        - {text: seen}
model:
  - {calls: [{ask: {}}]}
  - {text: done}
`

// Mistakes inside a session are found where they are.
func TestBrokenSessions(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"text: seen", "txt: seen", `14:12: unknown key "txt" in an entry of model (did you mean text?)`},
		{"answers: [{result: seen}]", "answers: []", `11:33: answers must not be empty`},
		{"name: look, answers: [{result: seen}]", "name: look", `11:11: a tool has none of answers, session`},
		{"shared: [ask]", "shared: [aks]", `9:16: shared[0] there is no tool "aks" in a session around this one`},
		{"    session:\n", "    answers: [{result: no}]\n    session:\n", `9:7: a tool has both answers and session`},
		{"turns: 3", "turns: -3", `8:32: turns must be 0 (off) or more, not -3`},
		{"turns: 3", "trns: 3", `8:25: unknown key "trns" in limits (did you mean turns?)`},
		{"task: Go.\n", "task: Go.\nexpect: {sub_stops: [depth-limt]}\n", `5:22: there is no stop "depth-limt" (did you mean depth-limit?)`},
	} {
		if !strings.Contains(withSession, c.old) {
			t.Fatalf("the file does not hold %q", c.old)
		}
		_, err := Parse("s/x.yaml", strings.Replace(withSession, c.old, c.new, 1))
		if err == nil || !strings.Contains(err.Error(), strings.SplitN(c.want, " (did", 2)[0]) {
			t.Errorf("%q:\ngot  %v\nwant %s", c.new, err, c.want)
		}
	}
	if _, err := Parse("s/x.yaml", withSession); err != nil {
		t.Error(err)
	}
}

// A depth that no sub-run reaches can never act; one that the deepest reaches is a near
// miss.
func TestDepthThatNeverActs(t *testing.T) {
	number := `name: x
description: a sub-run
label: healthy
config: {limits: {depth: 2}}
task: Go.
tools: [{name: ask, sub_run: true, answers: [{result: ok, used: 40}]}]
model: [{text: done}]
`
	_, err := Parse("s/x.yaml", number)
	if err == nil || !strings.Contains(err.Error(), "4:26: depth can never act: it is 2, and sub-runs of this scenario are at most 1 deep") {
		t.Errorf("got %v", err)
	}
	if _, err := Parse("s/x.yaml", strings.Replace(number, "depth: 2", "depth: 1", 1)); err != nil {
		t.Error(err)
	}
	if _, err := Parse("s/x.yaml", strings.Replace(withSession, "task:", "config: {limits: {depth: 50}}\ntask:", 1)); err != nil {
		t.Errorf("a ring reaches any depth: %v", err)
	}
}

// The config of a session is a change to the scenario's own, and applies under its own
// variant only.
func TestSessionConfig(t *testing.T) {
	s, err := Parse("s/x.yaml", strings.Replace(withSession, "task:", "config: {limits: {calls: 7}}\ntask:", 1))
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.Script.Tools[0].Session.Config
	if cfg == nil || cfg.Limits.Turns != 3 || cfg.Limits.Calls != 7 || cfg.Time != s.Config.Time {
		t.Errorf("got %+v", cfg)
	}
	none, err := LoadVariant("none")
	if err != nil {
		t.Fatal(err)
	}
	other := Trial{Scenario: s, Variant: none}
	if x := other.script().Tools[0].Session; x.Config != nil {
		t.Error("under another variant the session keeps its config")
	}
	if s.Script.Tools[0].Session.Config == nil {
		t.Error("the scenario itself has lost it")
	}
}

// A script with sessions is written as a file that says the same.
func TestSessionWritten(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range all {
		if len(s.Script.Tools) == 0 || s.Script.Tools[0].Session == nil {
			continue
		}
		n++
		back, err := Parse(s.Suite+"/x.yaml", string(s.YAML("")))
		if err != nil {
			t.Errorf("%s: %v", s.ID(), err)
			continue
		}
		_, want := Trial{Scenario: s, Variant: s.Variant}.Run(context.Background())
		_, got := Trial{Scenario: back, Variant: back.Variant}.Run(context.Background())
		if got.String() != want.String() {
			t.Errorf("%s plays differently when it is written and read", s.ID())
		}
	}
	if n < 8 {
		t.Errorf("%d scenarios with sessions", n)
	}
}

// What a rule did in a sub-run is told, and a runaway that it caught there is caught.
func TestSubRunFacts(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if s.ID() != "limits/agents-ask-each-other" {
			continue
		}
		r, trace := Trial{Scenario: s, Variant: s.Variant}.Run(context.Background())
		if r.SubRuns != 3 || r.SubStops[string(loop.StopDepthLimit)] != 1 || r.SubStops[string(loop.StopDone)] != 2 {
			t.Errorf("got %d sub-runs, %v", r.SubRuns, r.SubStops)
		}
		if f := read(trace); !f.acted || !caught(r.EndState, f) {
			t.Error("not caught")
		}
		// The deepest session refused its call.
		if r.Refused != 1 || r.Calls != 1 {
			t.Errorf("refused %d of %d calls", r.Refused, r.Calls)
		}
	}
}

package trajectories

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/scenarios"
)

// reload writes a scenario and loads it again.
func reload(t *testing.T, s *scenarios.Scenario) *scenarios.Scenario {
	t.Helper()
	s.Name, s.Description = "recorded", "A recorded run."
	path := filepath.Join(t.TempDir(), "recorded.yaml")
	if err := os.WriteFile(path, s.YAML("a comment"), 0o600); err != nil {
		t.Fatal(err)
	}
	loaded, err := scenarios.Load(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, s.YAML(""))
	}
	return loaded[0]
}

// effects returns the records of a trace without the cancel at its end.
func effects(trace loop.Trace) (steps []string) {
	for _, r := range trace {
		if r.In.Kind != loop.Cancel {
			r.In.At = 0
			steps = append(steps, r.String())
		}
	}
	return steps
}

// The scenario of a trajectory, written and loaded again, gives the trace of the
// replay, whatever the rules are and however the trajectory ends.
func TestScenario(t *testing.T) {
	refusing := perTurn(1)
	for _, c := range []struct {
		name     string
		messages []string
		config   loop.Config
		end      loop.EndState
	}{
		{"an answer", []string{"user: hi", "f({})", "= 1", "done"}, loop.Off(), loop.Done},
		{"several runs", []string{"user: hi", "f({})", "= 1", "done", "user: more", `f({"a":1}) g()`, "= 2", "= !3", "done", "user: bye"}, loop.Off(), loop.Done},
		{"a breaker", []string{"user: hi", "f({})", "= 1", "f({})", "= 1", "f({})", "= 1", "f({})", "= 1", "f({})", "= 1", "done"},
			breakerAt5(detect.EndsTurn), loop.LoopDetected},
		{"refused calls", []string{"user: hi", "f({})g({})", "= 1", "= 2", "g({})", "= 3", "done"}, refusing, loop.Done},
		{"invalid calls, and one with no answer", []string{"user: hi", "f({) f(1) f({}) g({})", "= 1", "= 2", "= 3", "done"}, loop.Off(), loop.Done},
		{"a tool that only gets what is no JSON", []string{"user: hi", "f({)", "= 1", "done"}, loop.Off(), loop.Done},
		{"what a script would fill in", []string{"user: ${turn}", `f({"a":"${result:last} $${x"})`, "= ${seed}", "${nothing"}, loop.Off(), loop.Done},
		{"it breaks off before an answer", []string{"user: hi", "f({})", "= 1"}, loop.Off(), loop.WasCancelled},
		{"it breaks off at a call", []string{"user: hi", "f({})"}, loop.Off(), loop.WasCancelled},
		{"a breaker before the last turns", []string{"user: hi", "f({})", "= !1", "f({})", "= !1", "f({})", "= !1", "f({})", "= !1", "f({})", "= !1", "g({})", "= !1", "g({})"},
			breakerAt5(detect.EndsTurn), loop.LoopDetected},
		{"it breaks off within a batch", []string{"user: hi", "f({}) g({})", "= 1"}, loop.Off(), loop.WasCancelled},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := chat(t, c.messages...)
			s, err := r.Scenario(c.config)
			if err != nil {
				t.Fatal(err)
			}
			_, want := play(t, r, c.config)
			s = reload(t, s)
			got, end, err := played(&s.Script, s.Config)
			if err != nil {
				t.Fatal(err)
			}
			if result := passes(t, s); result.Verdict != scenarios.Pass {
				t.Errorf("it does not pass: %s %v", result.Verdict, result.Findings)
			}
			if diff := cmp.Diff(effects(want), effects(got)); diff != "" {
				t.Errorf("-replay +scenario:\n%s", diff)
			}
			if end != c.end || s.Expect.EndState != c.end {
				t.Errorf("it ends %s, expected %s, want %s", end, s.Expect.EndState, c.end)
			}
		})
	}
}

// passes returns the result of a scenario under its own config.
func passes(t *testing.T, s *scenarios.Scenario) (result *scenarios.Result) {
	t.Helper()
	err := scenarios.Run(t.Context(), scenarios.Options{Scenarios: []*scenarios.Scenario{s}}, func(r *scenarios.Result) error {
		result = r
		return nil
	})
	if err != nil || result == nil {
		t.Fatal(err)
	}
	return result
}

func TestNoScenario(t *testing.T) {
	_, err := chat(t, "user: hi", "f({})", "= 1", "user: stop it", "stopped").Scenario(loop.Off())
	if err == nil || !strings.HasPrefix(err.Error(), "user message 1 has no answer before the next one") {
		t.Errorf("got %v", err)
	}
}

// The scenario keeps the label; without one, the end decides.
func TestLabelOfScenario(t *testing.T) {
	for _, c := range []struct {
		label Label
		ends  string
		want  scenarios.Label
	}{
		{Success, "f({})", scenarios.Healthy}, {Failure, "done", scenarios.Runaway},
		{Unlabelled, "done", scenarios.Healthy}, {Unlabelled, "f({})", scenarios.Runaway},
	} {
		r := chat(t, "user: hi", "f({})", "= 1", c.ends)
		r.Label = c.label
		s, err := r.Scenario(loop.Off())
		if err != nil {
			t.Fatal(err)
		}
		if s.Label != c.want {
			t.Errorf("label %q, ends with %q: %s, want %s", c.label, c.ends, s.Label, c.want)
		}
	}
}

// Real runs become scenarios with the trace of their replay.
func TestScenariosOfRealRuns(t *testing.T) {
	for _, source := range []string{"tau-bench", "agentdojo", "agentdojo-native", "mini-swe-agent", "sentinel", "swe-agent", "tau2", "toolathlon"} {
		t.Run(source, func(t *testing.T) {
			for i, r := range readReal(t, source) {
				if i%8 > 0 { // one of eight is enough
					continue
				}
				s, err := r.Scenario(loop.Default())
				if err != nil {
					t.Errorf("%s: %v", r.ID(), err)
					continue
				}
				if i%32 > 0 { // and one of 32 to play
					continue
				}
				if result := passes(t, reload(t, s)); result.Verdict != scenarios.Pass {
					t.Errorf("%s does not pass: %s %v", r.ID(), result.Verdict, result.Findings)
				}
			}
		})
	}
}

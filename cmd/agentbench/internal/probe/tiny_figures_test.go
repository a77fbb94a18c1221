//go:build unix && figures

package probe

import (
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios"
)

// shellAgent asks once, with curl, and ends with code 3.
const shellAgent = `curl -s --max-time 20 "$OPENAI_BASE_URL/chat/completions" -H "Content-Type: application/json" -d '
{"model":"tiny","messages":[{"role":"user","content":"go"}],"tools":[{"type":"function","function":{"name":"read_file","parameters":
{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}}}]}'; exit 3`

// Agents in three more languages, whose verdicts on the short set follow from what they
// do: as the kinds of [tinyAgent] that do the same, or in the order of tinyVerdicts.
func TestTinyAgentsOfOtherLanguages(t *testing.T) {
	column := func(kind string) (out []byte) {
		for _, row := range tinyVerdicts {
			out = append(out, row.verdicts[slices.Index(tinyKinds, kind)])
		}
		return out
	}
	example := func(name string) string {
		path, err := filepath.Abs("../../../../examples/probe/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return path
	}
	capped := slices.Clone(column("cap-10")) // agent.mjs has the cap, and no retries
	for i, row := range tinyVerdicts {
		switch {
		case row.scenario == "error-spirals/rate-limited-forever":
			capped[i] = 'i'
		case filepath.Dir(row.scenario) == "recovery":
			capped[i] = 'f'
		}
	}
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	own := ownOf(t, goAgent(t, "naive"))
	chosen := Short(all, own)
	for _, tt := range []struct {
		program string
		args    []string
		want    []byte
	}{
		{"python3", []string{example("agent.py"), "{TASK}"}, column("naive")},
		{"node", []string{example("agent.mjs"), "{TASK}"}, capped},
		{"sh", []string{"-c", shellAgent}, column("crash")},
	} {
		t.Run(tt.program, func(t *testing.T) {
			needed := tt.program
			if needed == "sh" {
				needed = "curl"
			}
			if _, err := exec.LookPath(needed); err != nil {
				t.Skip("there is no " + needed)
			}
			a := tiny(t, append([]string{tt.program}, tt.args...)...)
			err := a.Run(t.Context(), Plan{Scenarios: chosen, Own: own, Seed: 1, Jobs: 2}, func(r *scenarios.Result) error {
				for i, row := range tinyVerdicts {
					if got := r.Verdict[0]; row.scenario == r.Scenario && got != tt.want[i] {
						t.Errorf("%s: %s, want %c (%d requests, %d calls, %s) %+v", r.Scenario, r.Verdict, tt.want[i], r.Requests, r.Asked, r.Why, r.Findings)
					}
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

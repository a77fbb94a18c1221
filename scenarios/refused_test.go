package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// near is a healthy run that polls four times and then says what it has seen. The second
// and the fourth call equal each other, and so do the first and the third.
const near = `name: near
description: polls two jobs in turns
label: healthy
task: Watch.
variant: VARIANT
tools: [{name: poll, answers: [{result: running}]}]
model:
  - {calls: [{poll: {job: a}}]}
  - {calls: [{poll: {job: b}}]}
  - {calls: [{poll: {b: 1, job: a}}]}
  - {calls: [{poll: {job: a, b: 1.0}}]}
  - {text: Still running.}
`

// under runs the scenario, meant for one variant, under another, both as YAML.
func under(t *testing.T, text, variant string) *Result {
	t.Helper()
	all, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "tried.yaml")
	if err := os.WriteFile(file, []byte(variant), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := LoadVariant(file)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := Trial{Scenario: all[0], Variant: v, Seed: 1}.Run(t.Context())
	return r
}

const (
	vetoesAll   = "extends: none\ndetectors: [{name: all, counts: [all], key: [tool], do: [{at: 1, act: veto}]}]\n"
	vetoesThird = "extends: none\ndetectors: [{name: third, key: [tool], vetoed: same, do: [{at: 3, act: veto}]}]\n"
)

func TestRefused(t *testing.T) {
	none := strings.Replace(near, "VARIANT", "none", 1)
	for _, tt := range []struct {
		name, text, variant string
		refused, own, at    int
		interfered          bool
		end                 loop.EndState
	}{
		{"nothing", none, "extends: none\n", 0, 0, 0, false, loop.Done},
		// All four calls are vetoed, and the first was asked for after none.
		{"everything", none, vetoesAll, 4, 0, 0, true, loop.Done},
		// Three in a row of one tool: the third and the fourth, after two.
		{"the third on", none, vetoesThird, 2, 0, 2, true, loop.Done},
		// A stop at the third call is no interference: the run is counted as stopped.
		{"stopped", none, "extends: none\ndetectors: [{name: third, key: [tool], do: [{at: 3, act: stop}]}]\n", 0, 0, 0, false, loop.LoopDetected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := under(t, tt.text, tt.variant)
			if r.Refused != tt.refused || r.RefusedOwn != tt.own || r.RefusedAt != tt.at || r.Interfered() != tt.interfered || r.EndState != tt.end {
				t.Errorf("refused %d, own %d, at %d, interfered %t, end %s; want %d, %d, %d, %t, %s", r.Refused, r.RefusedOwn, r.RefusedAt, r.Interfered(), r.EndState,
					tt.refused, tt.own, tt.at, tt.interfered, tt.end)
			}
		})
	}
}

// What the scenario's own variant refuses too is no interference: by name and canonical
// arguments, as often.
func TestRefusedByItsOwn(t *testing.T) {
	own := strings.Replace(near, "variant: VARIANT", "config: {detectors: [{name: own, key: [tool, args], do: [{at: 2, act: veto}]}]}", 1)
	// Its own detector vetoes the fourth call, which equals the third. Of the four that
	// the other refuses, one is that.
	r := under(t, own, vetoesAll)
	if r.Refused != 4 || r.RefusedOwn != 1 || r.RefusedAt != 0 || !r.Interfered() {
		t.Errorf("refused %d, own %d, at %d", r.Refused, r.RefusedOwn, r.RefusedAt)
	}
	// One that refuses only that does not interfere.
	r = under(t, own, "extends: none\ndetectors: [{name: a, key: [tool, args], do: [{at: 2, act: veto}]}]\n")
	if r.Refused != 1 || r.RefusedOwn != 1 || r.Interfered() {
		t.Errorf("refused %d, own %d", r.Refused, r.RefusedOwn)
	}
}

// A script that has nothing to say after a veto did not expect it.
func TestDryAfterAVeto(t *testing.T) {
	text := strings.Replace(near, "VARIANT", "none", 1)
	text = strings.Replace(text, "- {text: Still running.}", "- {when: ok, text: Still running.}", 1)
	r := under(t, text, vetoesAll)
	if r.Verdict != Inconclusive || !r.Interfered() {
		t.Errorf("verdict %s, interfered %t: %+v", r.Verdict, r.Interfered(), r.Findings)
	}
}

func TestExpectRefused(t *testing.T) {
	text := strings.Replace(near, "variant: VARIANT", "config: {detectors: [{name: own, key: [tool], do: [{at: 3, act: veto}]}]}", 1)
	for expect, want := range map[string]Verdict{"{refused: 0}": Fail, "{refused: 1, interfered: 0}": Pass, "[{refused: 1}]": Pass, "[{refused: 2}]": Fail} {
		all, err := load(t, text+"expect: "+expect+"\n")
		if err != nil {
			t.Fatal(err)
		}
		r, _ := Trial{Scenario: all[0], Variant: all[0].Variant, Seed: 1}.Run(t.Context())
		if r.Verdict != want {
			t.Errorf("expect %s: %s, want %s: %+v", expect, r.Verdict, want, r.Findings)
		}
	}
}

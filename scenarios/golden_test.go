package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// What a file says of its golden, and where each allowance stands.
func TestGoldenKey(t *testing.T) {
	all, err := load(t, valid+"golden:\n  mode: off\n")
	if err != nil {
		t.Fatal(err)
	}
	if g := all[0].Golden; g == nil || g.Mode != "off" || len(g.Allow) > 0 {
		t.Errorf("got %+v", g)
	}
	if all, err = load(t, valid); err != nil || all[0].Golden != nil {
		t.Errorf("without the key: got %+v, error %v", all, err)
	}
	all, err = load(t, valid+"golden:\n  allow:\n    - \"retries: the network is real\"\n    - added tick\n")
	if err != nil {
		t.Fatal(err)
	}
	g := all[0].Golden
	if g == nil || g.Mode != "" || len(g.Allow) != 2 || g.Allow[0].Text != "retries: the network is real" || g.Allow[1].Text != "added tick" {
		t.Fatalf("got %+v", g)
	}
	// valid has 14 lines, golden is the 15th.
	want := all[0].File + ":18:7: no reason\n  18 |     - added tick\n     |       ^\nhint: say why"
	if got := g.Allow[1].Mistake("no reason", "say why").Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBrokenGoldenKey(t *testing.T) {
	for _, c := range []struct{ key, want string }{
		{"golden: {mode: loose}", `15:16: there is no mode "loose" (there are strict, actions, unordered, subset, superset, off)`},
		{"golden: {allow: retries}", `15:17: allow must be a list, not "retries"`},
		{"golden: {allow: [3]}", `15:18: an entry of allow must be text, not 3`},
		{"golden: strict", `15:9: golden must be a mapping`},
		{"golden: {rules: []}", `15:10: unknown key "rules" in golden`},
		{`golden: {mode: off, allow: ["retries: x"]}`, `15:28: nothing can differ where there is no golden (take out allow, or the mode off)`},
	} {
		got := mistakes(t, valid+c.key+"\n")
		if len(got) != 1 || !strings.HasPrefix(got[0], c.want) {
			t.Errorf("%s:\ngot  %q\nwant %s", c.key, got, c.want)
		}
	}
}

// A check of goldens is asked about each trial that came to an end, and what it
// finds fails the trial.
func TestGoldenCheck(t *testing.T) {
	all, err := load(t, valid)
	if err != nil {
		t.Fatal(err)
	}
	dry, err := load(t, strings.Replace(valid, "  - {text: hello}\n", "  - {calls: [{read: {path: a}}]}\n", 1))
	if err != nil {
		t.Fatal(err)
	}
	dry[0].Suite = "dry"
	var mu sync.Mutex
	var asked []string
	check := func(trial *Trial, random bool, trace loop.Trace) (string, *Finding) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, fmt.Sprintf("%v %s %v %v %d", trial.Scenario.Suite == "dry", trial.Variant.Name, trial.Own(), random, len(trace)))
		switch trial.Variant.Name {
		case "none":
			return GoldenMismatch, &Finding{Rule: "golden", Message: "the trace differs", Want: "a", Got: "b"}
		case "microbot":
			return GoldenMissing, nil
		}
		return GoldenMatch, nil
	}
	o := Options{Scenarios: append(all, dry...), Golden: check, Seed: 1}
	for _, name := range []string{"hpd-agent", "none", "microbot"} {
		v, err := LoadVariant(name)
		if err != nil {
			t.Fatal(err)
		}
		o.Variants = append(o.Variants, v)
	}
	var got []string
	err = Run(context.Background(), o, func(r *Result) error {
		got = append(got, fmt.Sprintf("%v %s %s %s %d", r.Suite == "dry", r.Variant, r.Golden, r.Verdict, len(r.Findings)))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"false hpd-agent match pass 0", "false none mismatch fail 1", "false microbot missing pass 0",
		"true hpd-agent off inconclusive 1", "true none off inconclusive 1", "true microbot off inconclusive 1"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	slices.Sort(asked)
	// Two records: the message, and the reply.
	if want := []string{"false hpd-agent true false 2", "false microbot false false 2", "false none false false 2"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

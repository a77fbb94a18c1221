package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fuzz"
	"github.com/agentbench-go/agentbench/scenarios"
)

// broken is a campaign in which a case broke an invariant, as a broken loop
// would have made it.
func broken(t *testing.T, f *fuzzFlags) (*fuzzed, []*fuzz.Case) {
	t.Helper()
	c := &fuzzed{fuzzFlags: f, Summary: fuzz.NewSummary()}
	v := fuzz.Check(fuzz.Number(1, 12, fuzz.Options{}))
	v.Number, v.Violation = 12, &fuzz.Violation{Invariant: fuzz.OneResult, Problem: "the call c1 has no result"}
	c.Add(v)
	for n := range 39 {
		c.Add(fuzz.Check(fuzz.Number(1, n, fuzz.Options{})))
	}
	return c, []*fuzz.Case{v.Case}
}

// TestFuzzFailure: a failure says what broke, the one command that repeats it,
// where it is saved, and the case in words; what is saved loads. One broken
// promise fails the campaign, though 39 of 40 runs (97.5 %) survive.
func TestFuzzFailure(t *testing.T) {
	f := &fuzzFlags{seed: 1, variant: "my limits.yaml", save: filepath.Join(t.TempDir(), "new", "folder")}
	c, small := broken(t, f)
	if err := c.keep(io.Discard, small); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := c.show(&b, small); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(f.save, "one-result-1-12.yaml")
	for _, want := range []string{
		" one-result               40       1\n",
		"40 runs of seed 1: 39 survived, 97.5 % (95 % interval ",
		"\nFAIL one-result: the call c1 has no result\n  repeat: agentbench fuzz --seed 1 --case 12 --variant 'my limits.yaml'\n  saved: " + file + "\n  made small: 4 steps, ",
		"\nThe user\n", "\nThe tools\n", "\nThe model\n", "\nThe config\n", "\nThe trace\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the output has no %q:\n%s", want, &b)
		}
	}
	if c.Passed() {
		t.Error("the campaign passes with a broken promise")
	}
	all, err := scenarios.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	if all[0].Name != "one-result-1-12" {
		t.Errorf("the scenario is called %s", all[0].Name)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if head := "# It broke one-result: the call c1 has no result\n# Found by: agentbench fuzz --seed 1 --case 12 --variant 'my limits.yaml'\n"; !strings.HasPrefix(string(text), head) {
		t.Errorf("the file begins\n%.300s\nwant\n%s", text, head)
	}
}

// TestFuzzGate: runs that do not reach DONE break no promise, until more than 5 %
// of the runs are such.
func TestFuzzGate(t *testing.T) {
	for _, c := range []struct {
		stuck int // of 40 runs
		want  bool
	}{{0, true}, {2, true}, {3, false}} { // 38 of 40 are 95 %, 37 are 92.5 %
		s := fuzz.NewSummary()
		for n := range 40 {
			v := &fuzz.Checked{Case: &fuzz.Case{Recoverable: true}, Judged: make([]bool, len(fuzz.Invariants()))}
			if n < c.stuck {
				v.Violation = &fuzz.Violation{Invariant: fuzz.Recovers}
			}
			s.Add(v)
		}
		if got := s.Passed(); got != c.want {
			t.Errorf("%d of 40 runs do not reach DONE: passed %v, want %v", c.stuck, got, c.want)
		}
	}
}

// TestFuzzPercent: a share is cut off, so that only all of them are 100 %.
func TestFuzzPercent(t *testing.T) {
	for share, want := range map[float64]string{1: "100 %", 0.999999: "99.99 %", 0.975: "97.5 %", 0.95: "95 %", 0: "0 %", 0.29: "29 %"} {
		if got := percent(share); got != want {
			t.Errorf("%v: got %s, want %s", share, got, want)
		}
	}
}

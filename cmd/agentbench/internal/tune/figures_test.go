//go:build figures

package tune

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The figures of docs/tune.md stand between these lines.
const (
	page         = "../../../../docs/tune.md"
	figuresBegin = "<!-- The simulations; UPDATE=1 make figures writes them. -->\n\n"
	figuresEnd   = "\n<!-- The end of the simulations. -->\n"
)

// TestPlantedFigures runs every seed of the simulations and compares docs/tune.md with
// what they found.
func TestPlantedFigures(t *testing.T) {
	l := newLab(t)
	const seeds, quiet = 50, 200
	found, promised := found(t, l, seeds), promised(t, l, quiet)
	saved, stopped := bias(t, l, quiet, 5000)
	if found < 48 {
		t.Errorf("the planted optimum is found in %d of %d seeds", found, seeds)
	}
	if promised > quiet/20 {
		t.Errorf("a false promise in %d of %d seeds", promised, quiet)
	}
	if max(saved, -saved, stopped, -stopped) > 0.01 {
		t.Errorf("biased: saved %.4f, good stopped %.4f", saved, stopped)
	}
	want := fmt.Sprintf(`| planted | what tune must do | it did |
|---|---|---|
| failed runs repeat a call 7 times, good ones at most 3 times | find the stop at 4, or a rule that is as good | in %d of %d seeds |
| no difference between failed and good runs | choose nothing | in %d of %d seeds |
| good runs that repeat less, with no clear line | tell, held out, what the choice does to fresh tasks | mean difference over %d seeds: %.2f points of calls saved, %.2f points of good runs stopped |
`, found, seeds, quiet-promised, quiet, quiet, 100*saved, 100*stopped)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), figuresBegin)
	got, after, ok2 := strings.Cut(rest, figuresEnd)
	switch {
	case !ok || !ok2:
		t.Fatalf("the figures are not between %q and %q", figuresBegin, figuresEnd)
	case got == want:
	case os.Getenv("UPDATE") == "":
		t.Errorf("the figures of docs/tune.md are stale: run UPDATE=1 make figures, and read the diff\n%s", want)
	default:
		if err := os.WriteFile(page, []byte(before+figuresBegin+want+figuresEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

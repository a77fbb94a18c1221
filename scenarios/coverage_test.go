package scenarios

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

const (
	coverageFile = "../docs/coverage.md"
	matrixBegin  = "<!-- matrix -->\n"
	matrixEnd    = "<!-- end of the matrix -->\n"
)

var (
	named    = regexp.MustCompile("`([a-z-]+/[a-z0-9-]+)`")
	reported = regexp.MustCompile(`#([0-9]+)`)
)

// Every scenario that the page names is there, every row names one or says why
// none, and a row with a star names one whose source is a report of that row.
func TestCoverageRows(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*Scenario{}
	for _, s := range all {
		byID[s.ID()] = s
	}
	stars := 0
	rows, _, _ := strings.Cut(page(t, "coverage.md"), matrixBegin)
	for line := range strings.Lines(rows) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || strings.Contains(line, "---") || strings.HasSuffix(line, "| scenarios |\n") {
			continue
		}
		names := named.FindAllStringSubmatch(line, -1)
		if len(names) == 0 && !strings.Contains(line, "no scenario: ") {
			t.Errorf("no scenario in the row %s", line)
		}
		sourced := false
		for _, n := range names {
			s := byID[n[1]]
			if s == nil {
				t.Errorf("there is no scenario %s", n[1])
				continue
			}
			for _, r := range reported.FindAllStringSubmatch(line, -1) {
				sourced = sourced || strings.HasSuffix(s.Source, "/"+r[1])
			}
		}
		if star := strings.TrimSpace(cells[1]) == "★"; star {
			stars++
			if !sourced {
				t.Errorf("no scenario has a report of the row as its source: %s", line)
			}
		}
	}
	if stars < 28 {
		t.Errorf("%d rows have a star, want the 28 that there are", stars)
	}
}

// Half of the scenarios are healthy.
func TestCoverageOfBothKinds(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	healthy := 0
	for _, s := range all {
		if s.Label == Healthy {
			healthy++
		}
	}
	if len(all) < 120 || 2*healthy < len(all) {
		t.Errorf("%d of %d scenarios are healthy", healthy, len(all))
	}
}

// The matrix is what the presets do. UPDATE=1 writes it anew.
func TestCoverageMatrix(t *testing.T) {
	text := page(t, "coverage.md")
	before, rest, ok := strings.Cut(text, matrixBegin)
	got, after, ok2 := strings.Cut(rest, matrixEnd)
	if !ok || !ok2 {
		t.Fatalf("the matrix does not stand between %q and %q", matrixBegin, matrixEnd)
	}
	want := matrix(t)
	if got == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("the matrix of docs/coverage.md is stale: run UPDATE=1 go test ./scenarios -run TestCoverage, and read the diff\n%s", want)
	}
	if err := os.WriteFile(coverageFile, []byte(before+matrixBegin+want+matrixEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// matrix measures all presets on all suites.
func matrix(t *testing.T) string {
	t.Helper()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	var variants []Variant
	for _, name := range Presets() {
		// Under another name, so that no scenario's own changes apply.
		variants = append(variants, Variant{Name: name + " ", Config: presetOf(t, name)})
	}
	type cell struct{ runaways, caught, healthy, stopped int }
	cells := map[string]*cell{}
	err = Run(t.Context(), Options{Scenarios: all, Variants: variants, Seed: 1}, func(r *Result) error {
		c := cells[r.Variant+r.Suite]
		if c == nil {
			c = &cell{}
			cells[r.Variant+r.Suite] = c
		}
		switch {
		case r.Verdict == Inconclusive || r.Stop == loop.StopCancelled:
		case r.Label == Runaway:
			c.runaways++
			if r.Verdict == Pass {
				c.caught++
			}
		default:
			c.healthy++
			if r.Verdict != Pass {
				c.stopped++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	suites := Suites(all)
	var b strings.Builder
	fmt.Fprintf(&b, "| preset | %s |\n|%s\n", strings.Join(suites, " | "), strings.Repeat(" --- |", len(suites)+1))
	for _, v := range variants {
		row := []string{strings.TrimSpace(v.Name)}
		for _, suite := range suites {
			c := cells[v.Name+suite]
			row = append(row, share(c.caught, c.runaways)+" · "+share(c.stopped, c.healthy))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d", n, of)
}

// Which presets there are and which suites does not depend on the matrix.
func TestCoverageNamesAll(t *testing.T) {
	text := page(t, "coverage.md")
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(Presets(), Suites(all)) {
		if !strings.Contains(text, "| "+name+" |") {
			t.Errorf("docs/coverage.md does not name %s", name)
		}
	}
}

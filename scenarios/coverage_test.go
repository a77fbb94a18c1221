package scenarios

import (
	"regexp"
	"slices"
	"strings"
	"testing"
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

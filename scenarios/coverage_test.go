package scenarios

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	coverageFile = "../docs/coverage.md"
	heldBackFile = "../docs/held-back.md"
	matrixBegin  = "<!-- matrix -->\n"
	matrixEnd    = "<!-- end of the matrix -->\n"
	pairsBegin   = "<!-- pairs -->\n"
	pairsEnd     = "<!-- end of the pairs -->\n"
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
	halves, _, _ := strings.Cut(page(t, "held-back.md"), pairsBegin)
	for line := range strings.Lines(rows + halves) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || strings.Contains(line, "---") || strings.HasSuffix(line, "| scenarios |\n") || strings.HasPrefix(line, "| kind |") {
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

// Halves are two scenarios of one kind, of which one is held back.
type halves struct{ open, heldBack *Scenario }

var pairRow = regexp.MustCompile("(?m)^\\| [^|]+ \\| ([^|]+) \\| `([^`]+)` \\| `([^`]+)` \\|$")

// pairs returns the pairs that docs/held-back.md lists.
func pairs(t *testing.T) []halves {
	t.Helper()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	byID := map[string]*Scenario{}
	for _, s := range all {
		byID[s.ID()] = s
	}
	var out []halves
	for _, row := range pairRow.FindAllStringSubmatch(page(t, "held-back.md"), -1) {
		p := halves{byID[row[2]], byID[row[3]]}
		if p.open == nil || p.heldBack == nil {
			t.Fatalf("there is no scenario %s or no scenario %s", row[2], row[3])
		}
		for i, s := range []*Scenario{p.open, p.heldBack} {
			report := strings.Split(row[1], "; ")[i]
			if !strings.HasSuffix(s.Source, "/"+report[strings.Index(report, "#")+1:]) || !strings.Contains(s.Source, strings.Fields(report)[0]) {
				t.Errorf("%s: the page has the source %s, the file %s", s.ID(), report, s.Source)
			}
		}
		out = append(out, p)
	}
	return out
}

// The page lists every scenario that is held back beside one of its label that is
// not, half of both are healthy, and no source is that of another scenario.
func TestHeldBackHalf(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	listed, healthy, sources := map[string]bool{}, 0, map[string]int{}
	for _, s := range all {
		sources[s.Source]++
	}
	rows := pairs(t)
	for _, p := range rows {
		if p.open.HeldBack || !p.heldBack.HeldBack || p.open.Label != p.heldBack.Label || listed[p.open.ID()] || listed[p.heldBack.ID()] {
			t.Errorf("%s and %s are not a pair", p.open.ID(), p.heldBack.ID())
		}
		listed[p.open.ID()], listed[p.heldBack.ID()] = true, true
		if p.open.Label == Healthy {
			healthy++
		}
		for _, s := range []*Scenario{p.open, p.heldBack} {
			if sources[s.Source] != 1 {
				t.Errorf("%s has the source of another scenario, %s", s.ID(), s.Source)
			}
		}
	}
	if len(rows) < 22 || 2*healthy != len(rows) {
		t.Errorf("%d of %d pairs are healthy, want half of at least 22", healthy, len(rows))
	}
	for _, s := range all {
		if s.HeldBack && !listed[s.ID()] {
			t.Errorf("docs/held-back.md does not list %s, which is held back", s.ID())
		}
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
			t.Errorf("docs/coverage.md does not name %s: UPDATE=1 make figures writes its row", name)
		}
	}
}

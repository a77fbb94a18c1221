package reports

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A Summary folds results into the table of `agentbench run`. For each suite it shows
// the number of scenarios, how many passed, the median of the calls before the stop,
// and the virtual time of all trials. The zero Summary is ready for use.
//
// A scenario passes if all its trials pass. If a scenario was tried under several
// variants, each variant has its own table; otherwise there is one table for all.
type Summary struct {
	variants []string                  // in the order of their first results
	cells    map[cellKey]*cell         //
	verdicts map[scenarios.Verdict]int // of trials
	tried    map[string]string         // scenario → a variant that it was tried under
	several  bool                      // a scenario was tried under two variants
	trials   int                       //
}

type cellKey struct{ variant, suite string }

// A cell holds the counts of one suite under one variant.
type cell struct {
	passed map[string]bool // scenario → all its trials so far passed
	calls  map[int]int     // calls before the stop → trials
	time   time.Duration
}

func newCell() *cell { return &cell{passed: map[string]bool{}, calls: map[int]int{}} }

// add adds another cell's counts.
func (c *cell) add(other *cell) {
	for name, passed := range other.passed {
		before, seen := c.passed[name]
		c.passed[name] = passed && (before || !seen)
	}
	for n, trials := range other.calls {
		c.calls[n] += trials
	}
	c.time += other.time
}

// Add adds one result.
func (s *Summary) Add(r *scenarios.Result) {
	if s.cells == nil {
		s.cells, s.verdicts, s.tried = map[cellKey]*cell{}, map[scenarios.Verdict]int{}, map[string]string{}
	}
	key := cellKey{r.Variant, r.Suite}
	c := s.cells[key]
	if c == nil {
		c = newCell()
		s.cells[key] = c
	}
	if !slices.Contains(s.variants, r.Variant) {
		s.variants = append(s.variants, r.Variant)
	}
	if before, seen := s.tried[r.Scenario]; seen && before != r.Variant {
		s.several = true
	}
	s.tried[r.Scenario] = r.Variant
	one := cell{
		passed: map[string]bool{r.Scenario: r.Verdict == scenarios.Pass},
		time:   time.Duration(r.VirtualMS) * time.Millisecond,
	}
	if r.Stop != "" {
		one.calls = map[int]int{r.Calls: 1}
	}
	c.add(&one)
	s.verdicts[r.Verdict]++
	s.trials++
}

// Verdicts returns the number of results with that verdict.
func (s *Summary) Verdicts(v scenarios.Verdict) int { return s.verdicts[v] }

// Write writes the tables, followed by the line of [Summary.Line].
func (s *Summary) Write(w io.Writer, colour Colour) error {
	if s.trials == 0 {
		_, err := fmt.Fprintln(w, "no trials")
		return err
	}
	if !s.several {
		if err := s.table(w, colour, s.variants); err != nil {
			return err
		}
		return s.end(w)
	}
	for _, v := range s.variants {
		if _, err := fmt.Fprintf(w, "variant %s\n", text.Line(v)); err != nil {
			return err
		}
		if err := s.table(w, colour, []string{v}); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(w); err != nil {
			return err
		}
	}
	return s.end(w)
}

func (s *Summary) end(w io.Writer) error {
	_, err := fmt.Fprintln(w, s.Line())
	return err
}

// table writes one table for the given variants together.
func (s *Summary) table(w io.Writer, colour Colour, variants []string) error {
	suites := map[string]*cell{}
	all := newCell()
	for key, c := range s.cells {
		if !slices.Contains(variants, key.variant) {
			continue
		}
		if suites[key.suite] == nil {
			suites[key.suite] = newCell()
		}
		suites[key.suite].add(c)
		all.add(c)
	}
	var rows [][]string
	for _, suite := range slices.Sorted(maps.Keys(suites)) {
		rows = append(rows, suites[suite].row(text.Line(suite), colour))
	}
	head := []string{"suite", "scenarios", "passed", "calls before the stop", "virtual time"}
	return Table(w, 1, head, rows, all.row("total", colour))
}

func (c *cell) row(name string, colour Colour) []string {
	passed := 0
	for _, ok := range c.passed {
		if ok {
			passed++
		}
	}
	paint := colour.Good
	if passed < len(c.passed) {
		paint = colour.Bad
	}
	return []string{name, text.Number(len(c.passed)), paint(text.Number(passed)), median(c.calls), text.Duration(c.time)}
}

// median returns the median of values, given how often each occurs. For an even number
// of values it is the mean of the two in the middle, for none it is "–".
func median(counts map[int]int) string {
	n := 0
	for _, k := range counts {
		n += k
	}
	if n == 0 {
		return "–"
	}
	values := slices.Sorted(maps.Keys(counts))
	nth := func(i int) int { // the i-th value, from 0
		for _, v := range values {
			if i -= counts[v]; i < 0 {
				return v
			}
		}
		return 0
	}
	sum := nth((n-1)/2) + nth(n/2)
	if sum%2 == 1 {
		return text.Number(sum/2) + ".5"
	}
	return text.Number(sum / 2)
}

// Line returns the verdicts in one line: 64 trials of 64 scenarios: 62 passed, 1
// failed, 1 inconclusive.
func (s *Summary) Line() string {
	parts := []string{text.Number(s.verdicts[scenarios.Pass]) + " passed"}
	for _, v := range []struct {
		verdict scenarios.Verdict
		words   string
	}{{scenarios.Fail, "failed"}, {scenarios.Inconclusive, "inconclusive"}, {scenarios.Unjudged, "not judged"}} {
		if n := s.verdicts[v.verdict]; n > 0 {
			parts = append(parts, text.Number(n)+" "+v.words)
		}
	}
	return fmt.Sprintf("%s of %s: %s", text.Count(s.trials, "trial"), text.Count(len(s.tried), "scenario"), strings.Join(parts, ", "))
}

package reports

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Evidence says what speaks for the reference among its alternatives, in three columns:
// runaways caught, healthy runs harmed, and the calls that a runaway made before its
// stop. In a replay they are failed runs stopped, good runs stopped, and the recorded
// calls of failed runs that did not run.
type Evidence struct {
	Reference string        `json:"reference"`
	Rows      []EvidenceRow `json:"rows"`      // in the order of the variants
	Same      []string      `json:"same"`      // alternatives that no column tells from the reference: every p is .05 or more
	NotTried  []string      `json:"not_tried"` // alternatives without a scenario in common with the reference
	Compared  int           `json:"compared"`  // the number of p values, for which each is corrected
	InWords   string        `json:"in_words"`  // which alternatives the reference cannot be told from
}

// An EvidenceRow is one variant in the three columns. A column is nil if the variant was
// tried on no scenario of its label.
type EvidenceRow struct {
	Variant string         `json:"variant"`
	Caught  *EvidenceRate  `json:"caught,omitempty"`
	Harmed  *EvidenceRate  `json:"harmed,omitempty"`
	Calls   *EvidenceCalls `json:"calls,omitempty"`   // nil for a replay
	NotRun  *EvidenceSaved `json:"not_run,omitempty"` // of a replay only
}

// An EvidenceRate is a rate, and P, the p value of the exact sign test on scenarios
// against the reference, two-sided, with Holm's correction over all alternatives and
// columns. It is unknown for the reference and without a scenario in common.
type EvidenceRate struct {
	Rate
	P Figure `json:"p"`
}

// EvidenceCalls are the calls before the stop, with P as in [EvidenceRate]: a scenario
// counts by its mean over seeds.
type EvidenceCalls struct {
	Spent
	P Figure `json:"p"`
}

// EvidenceSaved are the recorded calls that did not run, with P as in [EvidenceRate].
type EvidenceSaved struct {
	NotRun
	P Figure `json:"p"`
}

// untold is the p value from which on two variants are not told apart.
const untold = 0.05

// evidence returns the evidence for the reference of r, nil without alternatives.
func (f *Fold) evidence(r *Report, names []string) *Evidence {
	if len(r.Variants) < 2 {
		return nil
	}
	e := &Evidence{Reference: r.Reference, Same: []string{}, NotTried: []string{}}
	var tests []*Figure // of all columns that have a test
	var p []float64
	for _, v := range r.Variants {
		row := r.evidenceRow(v)
		columns := row.columns()
		for i, column := range columns {
			if column == nil {
				continue
			}
			*column = Unknown()
			more, fewer, n := f.against(v, r.Reference, evidenceColumns(r.replay())[i], names)
			if v != r.Reference && n > 0 {
				tests, p = append(tests, column), append(p, stats.SignTest(more, fewer))
			}
		}
		e.Rows = append(e.Rows, row)
	}
	for i, adjusted := range stats.Holm(p) {
		*tests[i] = Figure(adjusted)
	}
	e.Compared = len(p)
	e.judge()
	return e
}

// An evidenceColumn is the label of a column and the value of a unit in it.
type evidenceColumn struct {
	label scenarios.Label
	value func(*unit) (value float64, known bool)
}

// evidenceColumns returns the three columns.
func evidenceColumns(replay bool) [3]evidenceColumn {
	rate := func(m Metric) func(*unit) (float64, bool) {
		return func(u *unit) (float64, bool) { return u.share(m) }
	}
	if replay {
		notRun := func(u *unit) (float64, bool) { return float64(u.notRun), u.judged > 0 }
		return [3]evidenceColumn{{scenarios.Runaway, rate(Stopped)}, {scenarios.Healthy, rate(Stopped)}, {scenarios.Runaway, notRun}}
	}
	return [3]evidenceColumn{{scenarios.Runaway, rate(Caught)}, {scenarios.Healthy, rate(Harmed)}, {scenarios.Runaway, (*unit).meanCalls}}
}

// meanCalls returns the calls before the stop, averaged over the trials.
func (u *unit) meanCalls() (calls float64, known bool) {
	for _, c := range u.spent[0] {
		calls += c
	}
	return calls / float64(len(u.spent[0])), len(u.spent[0]) > 0
}

// against counts the scenarios in which a variant has a higher or a lower value than the
// reference, and those that both were tried on.
func (f *Fold) against(variant, reference string, c evidenceColumn, names []string) (more, fewer, n int) {
	for _, name := range names {
		a, b := f.units[unitKey{variant, name}], f.units[unitKey{reference, name}]
		if f.all[name].label != c.label || a == nil || b == nil {
			continue
		}
		x, known := c.value(a)
		y, both := c.value(b)
		if !known || !both {
			continue
		}
		n++
		switch {
		case math.Abs(x-y) < 1e-9: // means of the same numbers
		case x > y:
			more++
		default:
			fewer++
		}
	}
	return more, fewer, n
}

// evidenceRow returns the figures of a variant, without p.
func (r *Report) evidenceRow(variant string) EvidenceRow {
	row := EvidenceRow{Variant: variant}
	caught := Caught
	if r.replay() {
		caught = Stopped
	}
	for _, rate := range r.Rates {
		switch {
		case rate.Variant != variant || rate.N == 0:
		case rate.Label == scenarios.Runaway && rate.Metric == caught:
			row.Caught = &EvidenceRate{Rate: rate}
		case rate.Label == scenarios.Healthy && rate.Metric == r.harm():
			row.Harmed = &EvidenceRate{Rate: rate}
		}
	}
	for _, spent := range r.Spent {
		if !r.replay() && spent.Variant == variant && spent.Label == scenarios.Runaway && spent.Metric == SpentCalls {
			row.Calls = &EvidenceCalls{Spent: spent}
		}
	}
	for _, n := range r.NotRun {
		if r.replay() && n.Variant == variant && n.Metric == CallsSaved {
			row.NotRun = &EvidenceSaved{NotRun: n}
		}
	}
	return row
}

// columns returns where the p values of a row stand, nil for a column that it lacks.
func (row *EvidenceRow) columns() [3]*Figure {
	var out [3]*Figure
	if row.Caught != nil {
		out[0] = &row.Caught.P
	}
	if row.Harmed != nil {
		out[1] = &row.Harmed.P
	}
	switch {
	case row.Calls != nil:
		out[2] = &row.Calls.P
	case row.NotRun != nil:
		out[2] = &row.NotRun.P
	}
	return out
}

// judge fills in which alternatives cannot be told from the reference.
func (e *Evidence) judge() {
	for i := range e.Rows {
		row := &e.Rows[i]
		tried, differs := false, false
		for _, p := range row.columns() {
			if p != nil && p.Known() {
				tried, differs = true, differs || *p < untold
			}
		}
		switch {
		case row.Variant == e.Reference || differs:
		case tried:
			e.Same = append(e.Same, row.Variant)
		default:
			e.NotTried = append(e.NotTried, row.Variant)
		}
	}
	e.InWords = e.words()
}

func (e *Evidence) words() string {
	reference := text.Line(e.Reference)
	out := fmt.Sprintf("%s can be told from every alternative that was tried on its scenarios.", reference)
	switch {
	case e.Compared == 0:
		out = fmt.Sprintf("Nothing was tried on the scenarios of %s.", reference)
	case len(e.Same) > 0:
		out = fmt.Sprintf("These figures cannot tell %s from %s (every p is .05 or more).", reference, strings.Join(clean(e.Same), "; "))
	}
	if e.Compared > 0 && len(e.NotTried) > 0 {
		out += " Without a scenario in common: " + strings.Join(clean(e.NotTried), "; ") + "."
	}
	return out
}

// Write writes the evidence as a table for a terminal, and below it in words which
// alternatives the reference cannot be told from.
func (e *Evidence) Write(w io.Writer) error {
	s := e.table()
	if _, err := fmt.Fprintln(w, s.title); err != nil {
		return err
	}
	if err := Table(w, s.left, s.head, s.rows, nil); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%s\n", e.InWords)
	return err
}

func (e *Evidence) table() section {
	replay := slices.ContainsFunc(e.Rows, func(row EvidenceRow) bool {
		return row.NotRun != nil || row.Caught != nil && row.Caught.Metric == Stopped
	})
	s := section{left: 1, title: fmt.Sprintf("The evidence for %s (p: exact sign test on scenarios, corrected for %s)", text.Line(e.Reference), text.Count(e.Compared, "comparison"))}
	s.head = []string{"variant", "caught", "95 %", "p", "harmed", "95 %", "p", "calls", "95 %", "p95", "95 %", "p"}
	if replay {
		s.head = []string{"variant", "failed stopped", "95 %", "p", "good stopped", "95 %", "p", "calls saved", "p"}
	}
	for i := range e.Rows {
		row := &e.Rows[i]
		cells := append([]string{text.Line(row.Variant)}, row.Caught.cells()...)
		cells = append(cells, row.Harmed.cells()...)
		if replay {
			cells = append(cells, row.NotRun.cells()...)
		} else {
			cells = append(cells, row.Calls.cells()...)
		}
		s.rows = append(s.rows, cells)
	}
	return s
}

func (x *EvidenceRate) cells() []string {
	if x == nil {
		return []string{none, none, none}
	}
	return []string{x.words(), Percents(x.Lower, x.Upper), pCell(x.P)}
}

func (x *EvidenceCalls) cells() []string {
	if x == nil {
		return []string{none, none, none, none, none}
	}
	limits := func(lower, upper Figure) string {
		if !lower.Known() || !upper.Known() {
			return none
		}
		return Amount(float64(lower)) + "–" + Amount(float64(upper))
	}
	return []string{spentWords(SpentCalls, x.P50), limits(x.P50Lower, x.P50Upper), spentWords(SpentCalls, x.P95), limits(x.P95Lower, x.P95Upper), pCell(x.P)}
}

func (x *EvidenceSaved) cells() []string {
	if x == nil {
		return []string{none, none}
	}
	return []string{fmt.Sprintf("%s of %s", text.Number(x.K), text.Number(x.N)), pCell(x.P)}
}

// pCell writes a p value as .03 or < .001.
func pCell(p Figure) string {
	if !p.Known() {
		return none
	}
	return strings.TrimPrefix(strings.TrimPrefix(PValue(p), "p "), "= ")
}

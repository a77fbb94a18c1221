package reports

import (
	"strconv"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A section is a table of a report as text, for the terminal and for Markdown. Foreign
// text in it has passed through [text.Line].
type section struct {
	title string
	left  int // number of left-aligned columns
	head  []string
	rows  [][]string
}

// none is the text of an empty cell.
const none = "—"

// sections returns the tables about runs, without those that have no rows.
func (r *Report) sections() []section {
	var out []section
	for _, s := range []section{r.rateTable(), r.notRunTable(), r.aliveTable(), r.spentTable(), r.servedTable()} {
		if len(s.rows) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// harm returns the metric by which healthy runs are judged: in a replay nobody knows
// what a refused call would have changed.
func (r *Report) harm() Metric {
	if r.replay() {
		return Stopped
	}
	return Harmed
}

// replay reports whether the results are of recorded runs.
func (r *Report) replay() bool { return r.Kind == KindReplay }

// present returns the labels that have results. Runaways come first, since variants
// exist to stop them.
func (r *Report) present() []scenarios.Label {
	var out []scenarios.Label
	for _, label := range []scenarios.Label{scenarios.Runaway, scenarios.Healthy, ""} {
		for i := range r.Survival {
			if r.Survival[i].Label == label {
				out = append(out, label)
				break
			}
		}
	}
	return out
}

// name returns the text of a variant in the first column.
func (r *Report) name(variant string) string {
	if len(r.Variants) > 1 && variant == r.Reference {
		return text.Line(variant) + " (reference)"
	}
	return text.Line(variant)
}

// rateTable returns a table with a row for each variant and the rate of each label.
func (r *Report) rateTable() section {
	s := section{title: "How many were stopped, with 95 % intervals", left: 1, head: []string{"variant"}}
	shown := r.present()
	for _, label := range shown {
		runs := runsOf(label, r.replay()) + "s "
		switch {
		case r.replay() || label == "":
			s.head = append(s.head, runs+"stopped", "95 %")
		case label == scenarios.Runaway:
			s.head = append(s.head, runs+"caught", "95 %")
		default:
			s.head = append(s.head, "healthy harmed", "95 %", "stopped", "interfered")
		}
	}
	if r.replay() {
		s.head = append(s.head, "stopped, but went on")
	}
	for _, v := range r.Variants {
		row := []string{r.name(v)}
		for _, label := range shown {
			row = append(row, r.rateCells(v, label)...)
		}
		if r.replay() {
			row = append(row, r.wentOn(v))
		}
		if !empty(row[1:]) {
			s.rows = append(s.rows, row)
		}
	}
	return s
}

func (r *Report) rateCells(variant string, label scenarios.Label) []string {
	rate := func(m Metric) *Rate {
		for i := range r.Rates {
			if x := &r.Rates[i]; x.Variant == variant && x.Label == label && x.Metric == m && x.N > 0 {
				return x
			}
		}
		return &Rate{}
	}
	cells := func(x *Rate) []string {
		if x.N == 0 {
			return []string{none, none}
		}
		return []string{x.words(), Percents(x.Lower, x.Upper)}
	}
	switch {
	case r.replay() || label == "":
		return cells(rate(Stopped))
	case label == scenarios.Runaway:
		return cells(rate(Caught))
	}
	return append(cells(rate(Harmed)), cells(rate(Stopped))[0], cells(rate(Interfered))[0])
}

// wentOn returns how many of the recorded runs that a variant stopped went on to a new
// call.
func (r *Report) wentOn(variant string) string {
	all := Rate{}
	for _, rate := range r.Rates {
		if rate.Variant == variant && rate.Metric == WentOn {
			all.K += rate.K
			all.N += rate.N
		}
	}
	if all.N == 0 {
		return none
	}
	return all.words()
}

// words writes 31 of 32.
func (r *Rate) words() string { return Amount(r.K) + " of " + Amount(r.N) }

// Percents writes an interval of shares: 84–99 %.
func Percents(lower, upper Figure) string {
	if !lower.Known() || !upper.Known() {
		return none
	}
	return percent(lower) + "–" + percent(upper) + " %"
}

// percent writes a share as a percentage without the sign. A share near 0 or 1, but not
// equal to it, has one digit after the point.
func percent(f Figure) string {
	x := 100 * float64(f)
	if x != 0 && x < 1 || x > 99 && x != 100 {
		return decimal(x, 1)
	}
	return decimal(x, 0)
}

// aliveTable returns a table with a row for each variant and its curves at a few
// numbers of calls.
func (r *Report) aliveTable() section {
	s := section{title: "Not yet stopped after 2, 4, 8 and 16 calls, of runs that want one more (fewer than 5 runs in brackets)", left: 1, head: []string{"variant"}}
	shown := r.present()
	for _, label := range shown {
		for i, n := range AliveAfter {
			column := strconv.Itoa(n)
			if i == 0 {
				column = runsOf(label, r.replay()) + "s: " + column
			}
			s.head = append(s.head, column)
		}
	}
	for _, v := range r.Variants {
		row := []string{r.name(v)}
		for _, label := range shown {
			row = append(row, r.aliveCells(v, label)...)
		}
		if !empty(row[1:]) {
			s.rows = append(s.rows, row)
		}
	}
	return s
}

func (r *Report) aliveCells(variant string, label scenarios.Label) []string {
	row := make([]string, len(AliveAfter))
	for i := range row {
		row[i] = none
	}
	for i := range r.Survival {
		c := &r.Survival[i]
		if c.Variant != variant || c.Label != label {
			continue
		}
		for j, n := range AliveAfter {
			row[j] = c.Alive[strconv.Itoa(n)].words()
		}
	}
	return row
}

// few is the number of runs at risk below which a curve is uncertain.
const few = 5

func (a Alive) words() string {
	switch {
	case !a.Survival.Known() || a.AtRisk == 0:
		return none
	case a.AtRisk < few:
		return "(" + percent(a.Survival) + " %)"
	}
	return percent(a.Survival) + " %"
}

func empty(cells []string) bool {
	for _, c := range cells {
		if c != none {
			return false
		}
	}
	return true
}

// spentTable returns a table with a row for each variant and label and what its runs
// used.
func (r *Report) spentTable() section {
	s := section{title: "What a run used before its stop: the median, and from 60 runs on the 95th percentile (p95)", left: 2, head: []string{"variant", "runs"}}
	var shown []string
	for _, metric := range spentMetrics {
		for _, spent := range r.Spent {
			if spent.Metric == metric && (spent.P50 > 0 || spent.P95 > 0) {
				shown = append(shown, metric)
				s.head = append(s.head, map[string]string{SpentCalls: "calls", SpentTokens: "tokens", SpentCost: "cost", SpentTime: "virtual time"}[metric], "p95")
				break
			}
		}
	}
	for i := range r.Survival {
		c := &r.Survival[i]
		row := []string{r.name(c.Variant), runsOf(c.Label, r.replay()) + "s"}
		for _, metric := range shown {
			row = append(row, r.spentCells(c.Variant, c.Label, metric)...)
		}
		if !empty(row[2:]) {
			s.rows = append(s.rows, row)
		}
	}
	return s
}

func (r *Report) spentCells(variant string, label scenarios.Label, metric string) []string {
	for _, s := range r.Spent {
		if s.Variant == variant && s.Label == label && s.Metric == metric {
			return []string{spentWords(metric, s.P50), spentWords(metric, s.P95)}
		}
	}
	return []string{none, none}
}

func spentWords(metric string, f Figure) string {
	switch {
	case !f.Known():
		return none
	case metric == SpentTime:
		return text.Duration(time.Duration(f) * time.Millisecond)
	case metric == SpentCost:
		return "$" + decimal(float64(f), 4)
	}
	return Amount(float64(f))
}

// toolTable returns a table with a row for each variant and the totals of its tools.
func (r *Report) toolTable() section {
	s := section{title: "Tools, over all trials", left: 1,
		head: []string{"variant", "calls", "succeeded", "schema kept", "repairs", "repaired", "retries a call", "p95 latency"}}
	for _, t := range r.Tools {
		s.rows = append(s.rows, []string{r.name(t.Variant), text.Number(t.Calls), share(t.StepSuccess), share(t.SchemaOK), text.Number(t.Repairs), share(t.RepairSuccess),
			decimals(t.MeanRetries), spentWords(SpentTime, t.P95MS)})
	}
	return s
}

func share(f Figure) string {
	if !f.Known() {
		return none
	}
	return percent(f) + " %"
}

func decimals(f Figure) string {
	if !f.Known() {
		return none
	}
	return decimal(float64(f), 2)
}

package reports

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A Replay counts what the variants did to recorded runs. agentbench replay prints it.
// [Fold.Replay] makes it much faster than a [Report], which adds intervals and curves.
type Replay struct {
	Runs         int // recorded runs with a result
	Inconclusive int // trials that could not be judged and count in no other figure
	Skipped      int // records and files that could not be read
	Variants     []VariantReplay
}

// A VariantReplay is what one variant did to recorded runs.
type VariantReplay struct {
	Variant    string
	Failed     GroupReplay // runs that ended in failure
	Good       GroupReplay // runs that ended in success
	Unlabelled GroupReplay
	Rules      []RuleReplay // the rule that stopped most runs comes first
}

// A GroupReplay is what a variant did to the recorded runs of one label.
type GroupReplay struct {
	Runs    int
	Stopped int // by a rule
	WentOn  int // stopped runs that later make a call that had not run before
	Calls   int // recorded calls of all runs
	NotRun  int // recorded calls that did not run because of the variant: saved on failed runs, lost on good ones
}

// replayLabels are the labels in the order of reports on replays.
var replayLabels = []scenarios.Label{scenarios.Runaway, scenarios.Healthy, ""}

// notRunMetrics and notRunWords name, by label, the recorded calls that did not run
// because of a variant.
var notRunMetrics = map[scenarios.Label]string{scenarios.Runaway: CallsSaved, scenarios.Healthy: CallsLost, "": CallsNotRun}

var notRunWords = map[scenarios.Label]string{
	scenarios.Runaway: "calls saved",
	scenarios.Healthy: "calls lost",
	"":                "calls not run",
}

// A RuleReplay counts the runs that one rule stopped, by their label.
type RuleReplay struct {
	Stop                     loop.Stop
	Failed, Good, Unlabelled int
}

func (r *RuleReplay) total() int { return r.Failed + r.Good + r.Unlabelled }

// Replay returns the counts of the results so far, which must come from a replay. A
// variant without a trial that could be judged is left out.
func (f *Fold) Replay() *Replay {
	r := &Replay{Runs: len(f.all), Inconclusive: f.unclear}
	r.Skipped = f.files.skipped
	variants := map[string]*VariantReplay{}
	for key, u := range f.units {
		if variants[key.variant] == nil {
			variants[key.variant] = &VariantReplay{Variant: key.variant}
		}
		variants[key.variant].add(f.all[key.scenario].label, u)
	}
	for _, name := range f.order {
		if v := variants[name]; v != nil && v.all().Runs > 0 {
			v.sort()
			r.Variants = append(r.Variants, *v)
		}
	}
	return r
}

// A ReplayCount counts the results of a replay, each run once under each variant. It
// counts what [Fold.Replay] does in memory that does not grow with the runs, and takes
// the word of whoever adds that no trial comes twice. The zero value is ready.
type ReplayCount struct {
	variants []*VariantReplay
	trials   []int // of each variant
	unclear  int
}

// Add counts a result.
func (c *ReplayCount) Add(r *scenarios.Result) {
	i := slices.IndexFunc(c.variants, func(v *VariantReplay) bool { return v.Variant == r.Variant })
	if i < 0 {
		i = len(c.variants)
		c.variants, c.trials = append(c.variants, &VariantReplay{Variant: r.Variant}), append(c.trials, 0)
	}
	if c.trials[i]++; unclear(r) {
		c.unclear++
		return
	}
	u := newUnit()
	u.tally(r)
	c.variants[i].add(r.Label, u)
}

// Replay returns the counts so far. skipped is how much could not be read.
func (c *ReplayCount) Replay(skipped int) *Replay {
	r := &Replay{Inconclusive: c.unclear, Skipped: skipped}
	for i, v := range c.variants {
		r.Runs = max(r.Runs, c.trials[i])
		if v.all().Runs > 0 {
			one := *v
			one.Rules = slices.Clone(v.Rules)
			one.sort()
			r.Variants = append(r.Variants, one)
		}
	}
	return r
}

// sort puts the rule that stopped most runs first.
func (v *VariantReplay) sort() {
	slices.SortFunc(v.Rules, func(a, b RuleReplay) int {
		return cmp.Or(cmp.Compare(b.total(), a.total()), cmp.Compare(a.Stop, b.Stop))
	})
}

// A SuiteReplay counts what the variants did to the recorded runs of one suite: of one
// file or one corpus. It does not count what could not be judged or read.
type SuiteReplay struct {
	Suite string
	Replay
}

// notRun returns what the variants kept from running, by variant and label; nil unless
// the results come from a replay.
func (f *Fold) notRun() []NotRun {
	if f.files.kind != KindReplay {
		return nil
	}
	var out []NotRun
	r := f.Replay()
	for i := range r.Variants {
		v := &r.Variants[i]
		for _, label := range replayLabels {
			if g := v.group(label); g.Runs > 0 {
				out = append(out, NotRun{Variant: v.Variant, Label: label, Metric: notRunMetrics[label], K: g.NotRun, N: g.Calls})
			}
		}
	}
	return out
}

// notRunTable returns a table with a row for each variant and the recorded calls that
// did not run: those saved on failed runs apart from those lost on good ones.
func (r *Report) notRunTable() section {
	s := section{title: "Recorded calls that did not run", left: 1, head: []string{"variant"}}
	cells := map[string][]string{} // by variant
	for _, label := range replayLabels {
		of := map[string]string{}
		for _, n := range r.NotRun {
			if n.Label == label {
				of[n.Variant] = outOf(n.K, n.N)
			}
		}
		if len(of) == 0 {
			continue
		}
		s.head = append(s.head, notRunColumn(label))
		for _, v := range r.Variants {
			cells[v] = append(cells[v], cmp.Or(of[v], none))
		}
	}
	for _, v := range r.Variants {
		if row := cells[v]; !empty(row) {
			s.rows = append(s.rows, append([]string{r.name(v)}, row...))
		}
	}
	return s
}

// notRunColumn returns what [NotRun] counts for a label: calls saved on failed runs.
func notRunColumn(label scenarios.Label) string {
	return notRunWords[label] + " on " + runsOf(label, true) + "s"
}

// notRunLine returns the counts of a variant in one line: calls saved on failed runs:
// 3 of 10; calls lost on good runs: 0 of 12.
func (r *Report) notRunLine(variant string) string {
	var parts []string
	for _, n := range r.NotRun {
		if n.Variant == variant {
			parts = append(parts, notRunColumn(n.Label)+": "+outOf(n.K, n.N))
		}
	}
	return strings.Join(parts, "; ")
}

// add counts the trials of a recorded run.
func (v *VariantReplay) add(label scenarios.Label, u *unit) {
	ofRule := func(r *RuleReplay) *int { return &r.Unlabelled }
	switch label {
	case scenarios.Runaway:
		ofRule = func(r *RuleReplay) *int { return &r.Failed }
	case scenarios.Healthy:
		ofRule = func(r *RuleReplay) *int { return &r.Good }
	}
	v.group(label).add(GroupReplay{Runs: u.judged, Stopped: u.stopped, WentOn: u.wentOn, Calls: u.calls, NotRun: u.notRun})
	for e, n := range u.stops {
		if !slices.Contains(stops, e.state) {
			continue
		}
		i := slices.IndexFunc(v.Rules, func(r RuleReplay) bool { return r.Stop == e.stop })
		if i < 0 {
			i = len(v.Rules)
			v.Rules = append(v.Rules, RuleReplay{Stop: e.stop})
		}
		*ofRule(&v.Rules[i]) += n
	}
}

// group returns the runs of a label.
func (v *VariantReplay) group(label scenarios.Label) *GroupReplay {
	switch label {
	case scenarios.Runaway:
		return &v.Failed
	case scenarios.Healthy:
		return &v.Good
	}
	return &v.Unlabelled
}

func (g *GroupReplay) add(more GroupReplay) {
	g.Runs += more.Runs
	g.Stopped += more.Stopped
	g.WentOn += more.WentOn
	g.Calls += more.Calls
	g.NotRun += more.NotRun
}

// all sums up the runs of every label.
func (v *VariantReplay) all() GroupReplay {
	all := v.Failed
	all.add(v.Good)
	all.add(v.Unlabelled)
	return all
}

// Write writes a table with a row for each variant, the rules that stopped runs, and
// the lines of [Replay.Line]. Of failed, good and unlabelled runs it has columns only
// for those that there are.
func (r *Replay) Write(w io.Writer) error {
	present := r.present()
	head := append([]string{"variant"}, replayHead(present)...)
	var rows [][]string
	var rules strings.Builder
	for i := range r.Variants {
		v := &r.Variants[i]
		name := text.Line(v.Variant)
		rows = append(rows, append([]string{name}, v.row(present)...))
		for _, rule := range v.Rules {
			fmt.Fprintf(&rules, "%s: %s stopped %s failed, %s good and %s unlabelled\n", name, text.Line(string(rule.Stop)),
				text.Number(rule.Failed), text.Number(rule.Good), text.Number(rule.Unlabelled))
		}
	}
	if len(rows) > 0 {
		if err := Table(w, 1, head, rows, nil); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, rules.String()+r.Line())
	return err
}

// replayHead returns the heads of the columns that count runs of these labels.
func replayHead(labels []scenarios.Label) (head []string) {
	for _, label := range labels {
		head = append(head, runsOf(label, true)+"s stopped", notRunWords[label])
	}
	return append(head, "stopped, but went on")
}

// row returns the cells of the columns of replayHead.
func (v *VariantReplay) row(labels []scenarios.Label) (row []string) {
	for _, label := range labels {
		g := v.group(label)
		row = append(row, outOf(g.Stopped, g.Runs), outOf(g.NotRun, g.Calls))
	}
	all := v.all()
	return append(row, outOf(all.WentOn, all.Stopped))
}

// WriteBySuite writes a table with a row for each suite and variant. kind is the word
// for a suite, such as corpus. all are the counts over every suite.
func WriteBySuite(w io.Writer, kind string, suites []SuiteReplay, all *Replay) error {
	present := all.present()
	head := append([]string{kind, "variant"}, replayHead(present)...)
	var rows [][]string
	for i := range suites {
		s := &suites[i]
		name := text.Line(s.Suite)
		for j := range s.Variants {
			v := &s.Variants[j]
			row := append([]string{name, text.Line(v.Variant)}, v.row(present)...)
			for k, cell := range row {
				if cell == outOf(0, 0) {
					row[k] = none
				}
			}
			rows = append(rows, row)
			name = ""
		}
	}
	return Table(w, 2, head, rows, nil)
}

// present returns the labels of the replayed runs: failed, good, unlabelled.
func (r *Replay) present() []scenarios.Label {
	var out []scenarios.Label
	for _, label := range replayLabels {
		if slices.ContainsFunc(r.Variants, func(v VariantReplay) bool { return v.group(label).Runs > 0 }) {
			out = append(out, label)
		}
	}
	return out
}

func outOf(k, n int) string { return text.Number(k) + " of " + text.Number(n) }

// Line returns a line about the replayed runs, and one each about trials that could not
// be judged and data that could not be read.
func (r *Replay) Line() string {
	line := fmt.Sprintf("%s under %s\n", text.Count(r.Runs, "recorded run"), text.Count(len(r.Variants), "variant"))
	if r.Inconclusive > 0 {
		line += fmt.Sprintf("%s could not be judged and count in no figure\n", text.Count(r.Inconclusive, "trial"))
	}
	if r.Skipped > 0 {
		line += fmt.Sprintf("skipped what could not be read: %s\n", text.Count(r.Skipped, "problem"))
	}
	return line
}

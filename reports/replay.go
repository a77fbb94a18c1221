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
	Saved   int // recorded calls that did not run because of the variant
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
	r := &Replay{Runs: len(f.all), Inconclusive: f.unclear, Skipped: f.files.skipped}
	variants := map[string]*VariantReplay{}
	for key, u := range f.units {
		if variants[key.variant] == nil {
			variants[key.variant] = &VariantReplay{Variant: key.variant}
		}
		variants[key.variant].add(f.all[key.scenario].label, u)
	}
	for _, name := range f.order {
		if v := variants[name]; v != nil && v.all().Runs > 0 {
			slices.SortFunc(v.Rules, func(a, b RuleReplay) int {
				return cmp.Or(cmp.Compare(b.total(), a.total()), cmp.Compare(a.Stop, b.Stop))
			})
			r.Variants = append(r.Variants, *v)
		}
	}
	return r
}

// add counts the trials of a recorded run.
func (v *VariantReplay) add(label scenarios.Label, u *unit) {
	group, ofRule := &v.Unlabelled, func(r *RuleReplay) *int { return &r.Unlabelled }
	switch label {
	case scenarios.Runaway:
		group, ofRule = &v.Failed, func(r *RuleReplay) *int { return &r.Failed }
	case scenarios.Healthy:
		group, ofRule = &v.Good, func(r *RuleReplay) *int { return &r.Good }
	}
	group.add(GroupReplay{Runs: u.judged, Stopped: u.stopped, WentOn: u.wentOn, Calls: u.calls, Saved: u.saved})
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

func (g *GroupReplay) add(more GroupReplay) {
	g.Runs += more.Runs
	g.Stopped += more.Stopped
	g.WentOn += more.WentOn
	g.Calls += more.Calls
	g.Saved += more.Saved
}

// all sums up the runs of every label.
func (v *VariantReplay) all() GroupReplay {
	all := v.Failed
	all.add(v.Good)
	all.add(v.Unlabelled)
	return all
}

// Write writes a table with a row for each variant, the rules that stopped runs, and
// the lines of [Replay.Line].
func (r *Replay) Write(w io.Writer) error {
	head := []string{"variant", "failed runs stopped", "good runs stopped", "unlabelled stopped", "calls saved", "stopped, but went on"}
	var rows [][]string
	var rules strings.Builder
	for i := range r.Variants {
		v := &r.Variants[i]
		name, all := text.Line(v.Variant), v.all()
		rows = append(rows, []string{name, v.Failed.stopped(), v.Good.stopped(), v.Unlabelled.stopped(),
			outOf(all.Saved, all.Calls), outOf(all.WentOn, all.Stopped)})
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

func (g *GroupReplay) stopped() string { return outOf(g.Stopped, g.Runs) }

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

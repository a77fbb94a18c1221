package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
)

// comparisons compares each variant with the reference.
func (f *Fold) comparisons(reference string, names []string) []Comparison {
	out := []Comparison{}
	for _, v := range f.order {
		if v != reference {
			out = append(out, Comparison{Variant: v, Reference: reference, Pairs: f.pairs(v, reference, names)})
		}
	}
	for _, label := range labels {
		for _, m := range f.metrics(label) {
			correct(out, label, m)
		}
	}
	for i := range out {
		out[i].Verdict = words(out[i].Pairs, f.files.kind == KindReplay)
	}
	return out
}

// pairs compares two variants label by label, on the scenarios that both were tried on.
func (f *Fold) pairs(variant, reference string, names []string) []Pair {
	out := []Pair{}
	for _, label := range labels {
		for _, m := range f.metrics(label) {
			if p := f.pair(Pair{Label: label, Metric: m}, variant, reference, names); p.N > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

// pair compares one rate of two variants.
func (f *Fold) pair(p Pair, variant, reference string, names []string) Pair {
	for _, name := range names {
		a, b := f.units[unitKey{variant, name}], f.units[unitKey{reference, name}]
		if f.all[name].label == p.Label && a != nil && b != nil {
			p.add(a, b)
		}
	}
	p.Change = tidy(p.Change)
	p.P = Figure(stats.SignTest(p.More, p.Fewer))
	return p
}

// add adds a scenario under the variant and under the reference.
func (p *Pair) add(variant, reference *unit) {
	a, known := variant.share(p.Metric)
	b, both := reference.share(p.Metric)
	if !known || !both {
		return
	}
	p.N++
	p.Change += a - b
	switch {
	case a > b:
		p.More++
	case a < b:
		p.Fewer++
	}
}

// correct fills in Holm's p over all variants for one rate.
func correct(all []Comparison, label scenarios.Label, m Metric) {
	var pairs []*Pair
	var p []float64
	for i := range all {
		for j := range all[i].Pairs {
			if pair := &all[i].Pairs[j]; pair.Label == label && pair.Metric == m {
				pairs, p = append(pairs, pair), append(p, float64(pair.P))
			}
		}
	}
	for i, adjusted := range stats.Holm(p) {
		pairs[i].PAdjusted = Figure(adjusted)
	}
}

// words returns the outcome of a comparison, such as: catches 6 more runaways (p =
// .03), harms 2 more healthy runs (p = .5).
func words(pairs []Pair, replay bool) string {
	var parts []string
	for _, label := range []scenarios.Label{scenarios.Runaway, scenarios.Healthy, ""} {
		i := slices.IndexFunc(pairs, func(p Pair) bool { return p.Label == label })
		if i >= 0 {
			parts = append(parts, pairs[i].words(replay))
		}
	}
	if len(parts) == 0 {
		return "has no scenario in common with the reference"
	}
	return strings.Join(parts, ", ")
}

func (p *Pair) words(replay bool) string {
	verb := map[Metric]string{Caught: "catches", Harmed: "harms", Interfered: "interferes with"}[p.Metric]
	verb = cmp.Or(verb, "stops")
	size := math.Abs(p.Change)
	noun := runsOf(p.Label, replay)
	if size != 1 {
		noun += "s"
	}
	switch {
	case p.More+p.Fewer == 0:
		return fmt.Sprintf("%s the same %s", verb, noun)
	case p.Change == 0:
		return fmt.Sprintf("%s as many %s, but others (%s)", verb, noun, p.chance())
	}
	more := "more"
	if p.Change < 0 {
		more = "fewer"
	}
	return fmt.Sprintf("%s %s %s %s (%s)", verb, Amount(size), more, noun, p.chance())
}

// runsOf returns the noun for a run of a label.
func runsOf(label scenarios.Label, replay bool) string {
	switch {
	case label == scenarios.Healthy && replay:
		return "good run"
	case label == scenarios.Healthy:
		return "healthy run"
	case label == "":
		return "unlabelled run"
	case replay:
		return "failed run"
	}
	return "runaway"
}

func (p *Pair) chance() string { return PValue(p.PAdjusted) }

// PValue writes p = .03, or p < .001.
func PValue(p Figure) string {
	switch {
	case !p.Known():
		return "p unknown"
	case p < 0.001:
		return "p < .001"
	}
	digits := 2
	if p < 0.01 || p >= 0.045 && p < 0.05 { // .049 is not .05
		digits = 3
	}
	s := decimal(float64(p), digits)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	return "p = " + strings.TrimPrefix(cmp.Or(s, "0"), "0")
}

// Amount writes a sum of shares: as a whole number, or with one digit after the point.
// It writes a sum that would round to 0 as < 0.1.
func Amount(x float64) string {
	switch {
	case x == math.Trunc(x) && math.Abs(x) < 1e15:
		return text.Number(int(x))
	case x > 0 && x < 0.05:
		return "< 0.1"
	}
	return decimal(x, 1)
}

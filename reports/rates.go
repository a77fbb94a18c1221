package reports

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A group holds the units of one variant and label, in the order of scenarios.
type group struct {
	variant string
	label   scenarios.Label
	units   []*unit
}

// groups returns the groups that have units, by variant and then label. names are the
// scenarios in order.
func (f *Fold) groups(names []string) []group {
	var all []group
	for _, v := range f.order {
		for _, label := range labels {
			g := group{variant: v, label: label}
			for _, name := range names {
				if u := f.units[unitKey{v, name}]; u != nil && f.all[name].label == label {
					g.units = append(g.units, u)
				}
			}
			if len(g.units) > 0 {
				all = append(all, g)
			}
		}
	}
	return all
}

// metric returns the metric by which a label is judged. In a replay nothing counts as
// caught or harmed, since nobody knows how a stopped run would have continued.
func (f *Fold) metric(label scenarios.Label) Metric {
	switch {
	case f.files.kind == KindReplay:
	case label == scenarios.Runaway:
		return Caught
	case label == scenarios.Healthy:
		return Harmed
	}
	return Stopped
}

// metrics returns all metrics of a label, the one by which it is judged first.
func (f *Fold) metrics(label scenarios.Label) []Metric {
	if m := f.metric(label); m != Harmed {
		return []Metric{m}
	}
	return []Metric{Harmed, Stopped, Interfered}
}

// rates returns the rates of a group.
func (f *Fold) rates(g group) []Rate {
	var out []Rate
	for _, m := range f.metrics(g.label) {
		out = append(out, g.rate(m))
	}
	if f.files.kind == KindReplay {
		out = append(out, g.rate(WentOn))
	}
	return out
}

func (g *group) rate(m Metric) Rate {
	r := Rate{Variant: g.variant, Label: g.label, Metric: m}
	var shares []float64
	var trials []int
	for _, u := range g.units {
		r.Inconclusive += u.unclear
		if share, known := u.share(m); known {
			r.K += share
			r.N++
			shares, trials = append(shares, share), append(trials, u.outOf(m))
		}
	}
	r.K = tidy(r.K)
	i := stats.WilsonUnits(shares, trials)
	r.Rate, r.Lower, r.Upper = Figure(i.Value), Figure(i.Lower), Figure(i.Upper)
	return r
}

// tidy removes rounding errors from a sum of shares: it is a whole number if it is nearly
// one, else it has 12 significant digits.
func tidy(x float64) float64 {
	if whole := math.Round(x); math.Abs(x-whole) < 1e-9 {
		return whole
	}
	return rounded(x)
}

// stops counts how the runs of a group ended, the most frequent first.
func (g *group) stops() []Stops {
	n := map[ending]float64{}
	for _, u := range g.units {
		all := 0
		for _, k := range u.stops {
			all += k
		}
		for e, k := range u.stops {
			n[e] += float64(k) / float64(all)
		}
	}
	var out []Stops
	for e, k := range n {
		out = append(out, Stops{Variant: g.variant, Label: g.label, Stop: e.stop, EndState: e.state, N: tidy(k)})
	}
	slices.SortFunc(out, func(a, b Stops) int {
		return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.EndState, b.EndState), cmp.Compare(a.Stop, b.Stop))
	})
	return out
}

// draws is how often units are resampled for an interval. drawSeed makes the result
// reproducible.
const (
	draws    = 1000
	drawSeed = 1
)

// fewForP95 is how many units, or calls, a 95th percentile needs: of fewer than 59 none
// lies beyond it with a chance above 5 % (.95⁵⁸ = .051, .95⁵⁹ = .048), so that the
// largest value is not an upper limit with 95 % confidence.
const fewForP95 = 60

// spent returns what the runs of a group used up to their stop.
func (g *group) spent() []Spent {
	var out []Spent
	for i, metric := range spentMetrics {
		values := make([][]float64, len(g.units))
		for j, u := range g.units {
			values[j] = u.spent[i]
			if n := len(values[j]); n > 1 && slices.Min(values[j]) == slices.Max(values[j]) {
				values[j] = values[j][:1] // a unit weighs 1, whatever the number of its values
			}
		}
		p50 := stats.QuantileInterval(values, 0.5, draws, drawSeed)
		p95 := stats.Interval{Value: math.NaN(), Lower: math.NaN(), Upper: math.NaN()}
		if len(g.units) >= fewForP95 {
			p95 = stats.QuantileInterval(values, 0.95, draws, drawSeed)
		}
		out = append(out, Spent{Variant: g.variant, Label: g.label, Metric: metric,
			P50: Figure(p50.Value), P50Lower: Figure(p50.Lower), P50Upper: Figure(p50.Upper),
			P95: Figure(p95.Value), P95Lower: Figure(p95.Lower), P95Upper: Figure(p95.Upper)})
	}
	return out
}

// p95 returns the smallest value with at least 95 % of the counts at or below it, and
// the number of counts. The value is unknown for fewer than fewForP95.
func p95(counts map[float64]int) (value Figure, all int) {
	for _, n := range counts {
		all += n
	}
	if all < fewForP95 {
		return Unknown(), all
	}
	need := (all*95 + 99) / 100
	for _, value := range slices.Sorted(maps.Keys(counts)) {
		if need -= counts[value]; counts[value] > 0 && need <= 0 {
			return Figure(value), all
		}
	}
	return Unknown(), all
}

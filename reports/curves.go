package reports

import (
	"strconv"

	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
)

// observations returns the trials of a group as observations of a curve, by unit.
func (g *group) observations() [][]stats.Obs {
	return g.observed(func(u *unit) map[end]int { return u.ends })
}

func (g *group) observed(ends func(*unit) map[end]int) [][]stats.Obs {
	var out [][]stats.Obs
	for _, u := range g.units {
		if obs := observations(ends(u)); len(obs) > 0 {
			out = append(out, obs)
		}
	}
	return out
}

// survival returns the curve of a group.
func (g *group) survival() Survival { return g.curve(g.observations()) }

// harm returns the curve of a group whose event is the stop or the first refused call.
func (g *group) harm() Survival {
	return g.curve(g.observed(func(u *unit) map[end]int { return u.harms }))
}

func (g *group) curve(units [][]stats.Obs) Survival {
	c := stats.ClusterBands(units)
	s := Survival{Variant: g.variant, Label: g.label, N: tidy(c.N), Events: tidy(c.Events), Alive: map[string]Alive{},
		Points: []Point{}, Incidence: []Incidence{}, Median: Figure(c.Median().Value)}
	for _, t := range AliveAfter {
		p := c.At(float64(t))
		s.Alive[strconv.Itoa(t)] = Alive{Survival: Figure(p.Survival), Lower: Figure(p.Lower), Upper: Figure(p.Upper), AtRisk: tidy(p.AtRisk)}
	}
	for _, p := range c.Points {
		s.Points = append(s.Points, Point{T: p.Time, AtRisk: tidy(p.AtRisk), Events: tidy(p.Events), Survival: Figure(p.Survival),
			StdErr: Figure(p.StdErr), Lower: Figure(p.Lower), Upper: Figure(p.Upper)})
	}
	for _, p := range stats.ClusterIncidence(units, stats.Event) {
		if p.Events > 0 {
			s.Incidence = append(s.Incidence, Incidence{T: p.Time, Value: Figure(p.Value), Lower: Figure(p.Lower), Upper: Figure(p.Upper)})
		}
	}
	return s
}

// logRank compares the curve of each variant with that of the reference.
func logRank(groups []group, reference string) []LogRank {
	var out []LogRank
	for _, label := range labels {
		base := find(groups, reference, label)
		if base == nil {
			continue
		}
		from := len(out)
		var p []float64
		for i := range groups {
			g := &groups[i]
			if g.label != label || g.variant == reference {
				continue
			}
			test := stats.LogRank(stats.Pool(base.observations()), stats.Pool(g.observations()))
			out = append(out, LogRank{Label: label, Reference: reference, Variant: g.variant, Chi2: Figure(test.Chi2), DF: test.DF, P: Figure(test.P)})
			p = append(p, test.P)
		}
		for i, adjusted := range stats.Holm(p) {
			out[from+i].PAdjusted = Figure(adjusted)
		}
	}
	return out
}

// find returns the group of a variant and a label, or nil.
func find(groups []group, variant string, label scenarios.Label) *group {
	for i := range groups {
		if groups[i].variant == variant && groups[i].label == label {
			return &groups[i]
		}
	}
	return nil
}

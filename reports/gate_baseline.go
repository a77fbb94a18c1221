package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
)

// significant is the p value below which a difference is significant.
const significant = 0.05

// survivalAt is the number of calls at which curves are compared.
const survivalAt = 16

// baseline checks that the results are not worse than those of the baseline.
func (j *judge) baseline() []Rule {
	if j.base == nil {
		return []Rule{{Name: "baseline", Verdict: scenarios.Unjudged, Measured: "there is no --baseline"}}
	}
	j.base.init()
	if now, base := j.now.files.faults, j.base.files.faults; !slices.Equal(now, base) {
		return []Rule{{Name: "baseline", Verdict: scenarios.Inconclusive, Measured: "the results were made under " + faultsOf(now) + ", the baseline under " + faultsOf(base),
			Wanted: "results made with the same --fault", See: j.more()}}
	}
	if j.base.files.old() {
		return []Rule{{Name: "baseline", Verdict: scenarios.Inconclusive, Measured: "an earlier version wrote the baseline", Wanted: "a new baseline, made with --bless", See: j.more()}}
	}
	if missing := j.base.missing(); len(missing) > 0 {
		return []Rule{{Name: "baseline", Verdict: scenarios.Inconclusive, Measured: "in the baseline, " + strings.Join(missing, "; "), Wanted: "a whole baseline", See: j.more()}}
	}
	comparable := j.comparable()
	if comparable.Verdict != scenarios.Pass {
		return []Rule{comparable}
	}
	all := j.matches()
	if !slices.ContainsFunc(all, func(m match) bool { return len(m.units) > 0 }) {
		return []Rule{{Name: "baseline", Verdict: scenarios.Inconclusive, Measured: "no scenario is in both results", Wanted: "results of the same scenarios and variants", See: j.more()}}
	}
	rules := []Rule{comparable}
	for _, m := range []measure{
		{"pass rate kept", "", passShare, true},
		{"runaways caught", scenarios.Runaway, func(u *unit) (float64, bool) { return u.share(j.now.metric(scenarios.Runaway)) }, true},
		{"healthy stopped", scenarios.Healthy, func(u *unit) (float64, bool) { return u.share(Stopped) }, false},
	} {
		rules = append(rules, j.notWorse(m, all)...)
	}
	rules = append(rules, j.survival(all)...)
	return append(rules, came("new scenarios", j.OnNew, all, func(m match) []string { return m.added }, "that the baseline does not have", j.more()),
		came("removed", j.OnRemoved, all, func(m match) []string { return m.gone }, "that only the baseline has", j.more()))
}

// A measure is a share that each scenario has.
type measure struct {
	name  string
	label scenarios.Label // of the scenarios that it applies to; "" = all
	share func(*unit) (float64, bool)
	more  bool // is better
}

func passShare(u *unit) (float64, bool) {
	n := u.passed + u.failed
	if n == 0 {
		return 0, false
	}
	return float64(u.passed) / float64(n), true
}

// A matched is one scenario in both results.
type matched struct {
	scenario  string
	now, base *unit
}

// A match holds the scenarios that are compared: those of one variant, or of all
// variants if no scenario was tried under several.
type match struct {
	variant string // "" = all
	units   []matched
	added   []string // scenarios that only the results have
	gone    []string // scenarios that only the baseline has
}

// title adds the variant to a rule's name.
func (m *match) title(name string) string {
	if m.variant == "" {
		return name
	}
	return name + ", " + text.Line(m.variant)
}

// matches pairs the scenarios of both results.
func (j *judge) matches() []match {
	if !j.now.several() && !j.base.several() {
		return []match{pairUp("", j.now.byScenario(""), j.base.byScenario(""))}
	}
	variants := slices.Clone(j.now.order)
	for _, v := range j.base.order {
		if !slices.Contains(variants, v) {
			variants = append(variants, v)
		}
	}
	var all []match
	for _, v := range variants {
		all = append(all, pairUp(v, j.now.byScenario(v), j.base.byScenario(v)))
	}
	return all
}

// several reports whether a scenario was tried under two variants.
func (f *Fold) several() bool { return len(f.units) > len(f.all) }

// byScenario returns the units of a variant, "" = of all, by scenario.
func (f *Fold) byScenario(variant string) map[string]*unit {
	out := map[string]*unit{}
	for key, u := range f.units {
		if variant == "" || key.variant == variant {
			out[key.scenario] = u
		}
	}
	return out
}

func pairUp(variant string, now, base map[string]*unit) match {
	m := match{variant: variant}
	for name, u := range now {
		if base[name] == nil {
			m.added = append(m.added, name)
			continue
		}
		m.units = append(m.units, matched{name, u, base[name]})
	}
	for name := range base {
		if now[name] == nil {
			m.gone = append(m.gone, name)
		}
	}
	slices.Sort(m.added)
	slices.Sort(m.gone)
	slices.SortFunc(m.units, func(a, b matched) int { return cmp.Compare(a.scenario, b.scenario) })
	return m
}

// notWorse checks that a share did not get worse. It fails if the share is worse by
// more than the margin and the sign test on scenarios is significant.
func (j *judge) notWorse(m measure, all []match) []Rule {
	var rules []Rule
	var p []float64
	var changes []change
	for _, match := range all {
		c := j.change(m, match)
		if c.n == 0 {
			continue
		}
		changes = append(changes, c)
		p = append(p, stats.SignTest(c.better, c.worse))
	}
	for i, adjusted := range stats.Holm(p) {
		rules = append(rules, j.judgeChange(m, changes[i], Figure(adjusted)))
	}
	return rules
}

// A change is how a share changed over the scenarios in both results.
type change struct {
	match         match
	n             int
	now, base     float64 // sums of shares
	better, worse int     // scenarios
	example       string  // repeats a trial of the first scenario that is worse
}

func (j *judge) change(m measure, match match) change {
	c := change{match: match}
	for _, pair := range match.units {
		now, known := m.share(pair.now)
		base, both := m.share(pair.base)
		if !known || !both || m.label != "" && j.now.all[pair.scenario].label != m.label {
			continue
		}
		c.n++
		c.now += now
		c.base += base
		switch {
		case now == base:
		case now > base == m.more:
			c.better++
		default:
			c.worse++
			if c.example == "" {
				c.example = pair.now.command()
			}
		}
	}
	c.now, c.base = tidy(c.now), tidy(c.base)
	return c
}

func (j *judge) judgeChange(m measure, c change, p Figure) Rule {
	r := Rule{Name: c.match.title(m.name), Verdict: scenarios.Pass, See: cmp.Or(c.example, j.more())}
	loss := (c.base - c.now) / float64(c.n)
	if !m.more {
		loss = -loss
	}
	r.Measured = fmt.Sprintf("%s of %d, %s in the baseline (%d better, %d worse; %s)", Amount(c.now), c.n, Amount(c.base), c.better, c.worse, PValue(p))
	r.Wanted = fmt.Sprintf("not worse by more than %s at p < %s", share(Figure(j.MaxRegression)), ".05")
	switch {
	case loss <= j.MaxRegression+1e-12:
	case p < significant:
		r.Verdict = scenarios.Fail
	default:
		r.Warning = true
	}
	return r
}

// survival checks that the curve of healthy runs at 16 calls is not below the
// baseline's band.
func (j *judge) survival(all []match) []Rule {
	var rules []Rule
	for _, m := range all {
		if len(m.units) == 0 {
			continue
		}
		r := Rule{Name: m.title("survival at 16"), Verdict: scenarios.Pass, See: j.more()}
		now, base := j.alive(m, func(p matched) *unit { return p.now }), j.alive(m, func(p matched) *unit { return p.base })
		lower := Figure(base.Lower)
		if !lower.Known() || !Figure(now.Survival).Known() {
			r.Verdict, r.Measured = scenarios.Unjudged, "no healthy run asked for 16 calls"
			rules = append(rules, r)
			continue
		}
		r.Measured = fmt.Sprintf("%s of healthy runs, %s in the baseline", share(Figure(now.Survival)), share(Figure(base.Survival)))
		r.Wanted = "at least " + share(lower) + ", the baseline's lower limit"
		r.Verdict = verdictIf(Figure(now.Survival) >= lower-1e-12, scenarios.Fail)
		rules = append(rules, r)
	}
	return rules
}

// alive returns the curve of the healthy scenarios of a match at 16 calls.
func (j *judge) alive(m match, side func(matched) *unit) stats.Point {
	var g group
	for _, pair := range m.units {
		if j.now.all[pair.scenario].label == scenarios.Healthy {
			g.units = append(g.units, side(pair))
		}
	}
	return stats.ClusterBands(g.observations()).At(survivalAt)
}

// came returns the rule about scenarios that are in only one of the results.
func came(name string, policy Policy, all []match, which func(match) []string, where, see string) Rule {
	var names []string
	for _, m := range all {
		for _, scenario := range which(m) {
			names = append(names, m.title(scenario))
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	r := Rule{Name: name, Verdict: scenarios.Pass, Measured: text.Count(len(names), "scenario") + " " + where, See: see}
	if len(names) == 0 {
		return r
	}
	r.Measured += ": " + someOf(names)
	r.Warning = policy == Warn
	if policy == Forbid {
		r.Verdict, r.Wanted = scenarios.Fail, "none"
	}
	return r
}

package reports

import (
	"cmp"
	"slices"

	"github.com/agentbench-go/agentbench/internal/text"
)

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
	added   []added  // scenarios that only the results have
	gone    []string // scenarios that only the baseline has
}

// An added is a scenario that only the results have.
type added struct {
	scenario string
	unit     *unit
}

// title adds the variant to a rule's name.
func (m *match) title(name string) string {
	if m.variant == "" {
		return name
	}
	return name + ", " + text.Line(m.variant)
}

// pairs pairs the scenarios of both results.
func (j *judge) pairs() []match {
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
			m.added = append(m.added, added{name, u})
			continue
		}
		m.units = append(m.units, matched{name, u, base[name]})
	}
	for name := range base {
		if now[name] == nil {
			m.gone = append(m.gone, name)
		}
	}
	slices.SortFunc(m.added, func(a, b added) int { return cmp.Compare(a.scenario, b.scenario) })
	slices.Sort(m.gone)
	slices.SortFunc(m.units, func(a, b matched) int { return cmp.Compare(a.scenario, b.scenario) })
	return m
}

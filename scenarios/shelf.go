package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
)

// A Selection says which goldens [Goldens.Open] opens.
type Selection struct {
	// Paths, Suites and Pattern name the scenarios, as [Load] and [Select] take
	// them.
	Paths, Suites []string
	Pattern       string
	// Variants are those whose goldens are opened; none = each scenario's own variant,
	// and the presets for which it has a golden.
	Variants []Variant
	// Player plays the cassettes of scenarios that have one: see [Trial].
	Player Player
}

// selects reports whether a scenario that may not exist would be selected.
func (sel *Selection) selects(id string) bool {
	suite, _, _ := strings.Cut(id, "/")
	return (len(sel.Suites) == 0 || slices.Contains(sel.Suites, suite)) && matches(sel.Pattern, id)
}

// A Shelf holds all goldens of a selection.
type Shelf struct {
	Scenarios []*Scenario // all at the selected paths
	Trials    []Trial     // those that have or should have a golden, each with the golden's seed
	Orphans   []Orphan    // in the order of their paths
	// Broken holds the errors of the goldens that cannot be read, by their paths. It is
	// empty if a pattern or a suite is selected, since the scenario of such a golden is
	// unknown.
	Broken map[string]error

	goldens *Goldens
	there   map[*goldens.Place]map[string]*goldens.Golden // by place and name; nil for a broken one
}

// An Orphan is a golden that no scenario or variant owns.
type Orphan struct {
	Path string // of its file, for messages
	Why  string

	place *goldens.Place
	name  string
}

// Remove removes the golden's file.
func (o *Orphan) Remove() error {
	if err := o.place.Remove(o.name); err != nil {
		return fmt.Errorf("cannot remove %s: %w", text.Line(o.Path), err)
	}
	return nil
}

// Open loads the selected scenarios and reads their goldens.
func (g *Goldens) Open(sel Selection) (*Shelf, error) {
	all, err := Load(sel.Paths...)
	if err != nil {
		return nil, err
	}
	chosen, err := Select(all, sel.Suites, sel.Pattern)
	if err != nil {
		return nil, err
	}
	s := &Shelf{Scenarios: all, Broken: map[string]error{}, goldens: g, there: map[*goldens.Place]map[string]*goldens.Golden{}}
	if err := s.read(&sel); err != nil {
		return nil, err
	}
	for _, sc := range chosen {
		if err := s.add(sc, &sel); err != nil {
			return nil, err
		}
	}
	s.findOrphans(&sel)
	return s, nil
}

// read reads every golden at the places of the scenarios.
func (s *Shelf) read(sel *Selection) error {
	for _, sc := range s.Scenarios {
		place := s.goldens.place(sc)
		if s.there[place] != nil {
			continue
		}
		there := map[string]*goldens.Golden{}
		s.there[place] = there
		names, err := place.List()
		if err != nil {
			return err
		}
		for _, name := range names {
			if there[name], err = place.Read(name); err == nil {
				continue
			}
			if suite, _, _ := strings.Cut(name, "/"); sel.Pattern == "" && len(sel.Suites) == 0 && place.Covers(suite, sel.Paths) {
				s.Broken[place.Path(name)] = err
			}
		}
	}
	return nil
}

// add adds the trials of a scenario.
func (s *Shelf) add(sc *Scenario, sel *Selection) error {
	there := s.there[s.goldens.place(sc)]
	variants := sel.Variants
	if len(variants) == 0 {
		variants = []Variant{sc.Variant}
		for _, preset := range Presets() {
			name, err := goldens.Name(sc.ID(), preset)
			if _, found := there[name]; err != nil || !found || preset == sc.Variant.Name {
				continue
			}
			v, err := LoadVariant(preset)
			if err != nil {
				return err
			}
			variants = append(variants, v)
		}
	}
	for _, v := range variants {
		t := Trial{Scenario: sc, Variant: v, Seed: 1, Player: sel.Player}
		if name, err := goldens.Name(sc.ID(), v.Name); err == nil && there[name] != nil {
			t.Seed = there[name].Seed
		}
		s.Trials = append(s.Trials, t)
	}
	return nil
}

// findOrphans finds the selected goldens that no scenario or variant owns.
func (s *Shelf) findOrphans(sel *Selection) {
	owners := map[string]*Scenario{}
	for _, sc := range s.Scenarios {
		owners[sc.ID()] = sc
	}
	variants := Presets()
	for _, v := range sel.Variants {
		variants = append(variants, v.Name)
	}
	for place, there := range s.there {
		for name, golden := range there {
			if golden == nil || !sel.selects(golden.Scenario) {
				continue
			}
			suite, _, _ := strings.Cut(golden.Scenario, "/")
			if why := orphaned(golden, owners[golden.Scenario], variants); why != "" && place.Covers(suite, sel.Paths) {
				s.Orphans = append(s.Orphans, Orphan{place.Path(name), why, place, name})
			}
		}
	}
	slices.SortFunc(s.Orphans, func(a, b Orphan) int { return strings.Compare(a.Path, b.Path) })
}

// orphaned says why no scenario or variant owns the golden, or "" if one does.
// owner is the golden's scenario, nil if there is none.
func orphaned(g *goldens.Golden, owner *Scenario, variants []string) string {
	switch {
	case owner == nil:
		return "there is no scenario " + g.Scenario
	case g.Variant != owner.Variant.Name && !slices.Contains(variants, g.Variant):
		return "there is no variant " + g.Variant + "; name the file of a variant with --variant"
	case g.Variant == owner.Variant.Name && owner.Golden != nil && owner.Golden.Mode == goldens.Off:
		return "the scenario says golden: {mode: off}"
	}
	return ""
}

// Check plays the trials one after another and compares each with its golden, or with
// Update makes its trace the golden. It returns a check for each trial whose session
// finished, and the results of the others, both in order. It takes the goldens that it
// has checked out of Broken. The error is that of ctx.
func (s *Shelf) Check(ctx context.Context) (checks []GoldenCheck, brokeOff []*Result, err error) {
	for i := range s.Trials {
		t := &s.Trials[i]
		r, trace := t.Run(ctx)
		switch {
		case ctx.Err() != nil:
			return checks, brokeOff, context.Cause(ctx)
		case r.BrokeOff():
			r.Redact(nil, t.Scenario.redacting())
			brokeOff = append(brokeOff, r)
		default:
			c := s.goldens.check(t, r.Random, true, trace)
			delete(s.Broken, c.Path)
			checks = append(checks, c)
		}
	}
	return checks, brokeOff, nil
}

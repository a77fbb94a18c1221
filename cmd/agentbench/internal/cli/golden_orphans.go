package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// findOrphans finds the selected goldens that belong to nothing.
func (w *goldenWork) findOrphans(f *goldenFlags, all []*scenarios.Scenario, given []scenarios.Variant, shelf goldenShelf, paths []string) {
	ids := map[string]*scenarios.Scenario{}
	for _, s := range all {
		ids[s.ID()] = s
	}
	known := scenarios.Presets()
	for _, v := range given {
		known = append(known, v.Name)
	}
	for place, there := range shelf {
		for name, g := range there {
			if g == nil {
				continue
			}
			suite, _, _ := strings.Cut(g.Scenario, "/")
			if why := orphaned(g, ids[g.Scenario], known); why != "" && f.selects(g.Scenario) && place.covers(suite, paths) {
				w.orphans = append(w.orphans, goldenOrphan{place, name, why})
			}
		}
	}
	slices.SortFunc(w.orphans, func(a, b goldenOrphan) int {
		return cmp.Or(cmp.Compare(a.place.Path(a.name), b.place.Path(b.name)))
	})
}

// orphaned says why a golden is one of nothing, "" if it is not; s is its
// scenario, nil if there is none.
func orphaned(g *goldens.Golden, s *scenarios.Scenario, variants []string) string {
	switch {
	case s == nil:
		return "there is no scenario " + g.Scenario
	case g.Variant != s.Variant.Name && !slices.Contains(variants, g.Variant):
		return "there is no variant " + g.Variant + "; that of a file is given with --variant"
	case g.Variant == s.Variant.Name && s.Golden != nil && s.Golden.Mode == "off":
		return "the scenario says golden: {mode: off}"
	}
	return ""
}

// selects reports whether a scenario that need not be there would be selected.
func (f *goldenFlags) selects(id string) bool {
	suite, name, _ := strings.Cut(id, "/")
	if len(f.suites) > 0 && !slices.Contains(f.suites, suite) {
		return false
	}
	found, err := scenarios.Select([]*scenarios.Scenario{{Suite: suite, Name: name}}, nil, f.filter)
	return err == nil && len(found) == 1
}

func (o *goldenOrphan) String() string {
	return text.Line(o.place.Path(o.name)) + ": " + text.Line(o.why)
}

// prune lists the orphans and then removes them.
func (f *goldenFlags) prune(cmd *cobra.Command, paths []string) error {
	w, err := f.workToWrite(paths)
	if err != nil {
		return err
	}
	if !f.quiet {
		for i := range w.orphans {
			fmt.Fprintf(cmd.OutOrStdout(), "orphan   %s\n", &w.orphans[i])
		}
	}
	for _, o := range w.orphans {
		if err := o.place.Remove(o.name); err != nil {
			return fmt.Errorf("cannot remove %s: %w", text.Line(o.place.Path(o.name)), err)
		}
	}
	if f.quiet {
		return nil
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s removed\n", text.Count(len(w.orphans), "golden"))
	return err
}

// workToWrite is work for a command that writes.
func (f *goldenFlags) workToWrite(paths []string) (*goldenWork, error) {
	if f.ci {
		return nil, misuse("update goldens where a person looks at what changed, and commit them", "--ci refuses to write or remove goldens")
	}
	w, err := f.work(paths)
	if err != nil {
		return nil, err
	}
	return w, w.book.writable()
}

// writable refuses goldens that lie in the program.
func (b *goldenBook) writable() error {
	for _, place := range b.places {
		if place.ReadOnly() {
			return misuse("do it in a checkout of agentbench, or name a folder with agentbench golden -o DIR", "the goldens of the embedded scenarios lie in the program itself")
		}
	}
	return nil
}

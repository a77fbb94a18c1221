package cli

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type goldenFlags struct {
	selectFlags
	variants []string
	dir      string
	quiet    bool
	verbose  bool
	ci       bool
	noColor  bool
}

func newGolden() *cobra.Command {
	cmd := newGoldenVerb("golden [PATH…]", "Compare traces with goldens, and keep the goldens", (*goldenFlags).check)
	cmd.Long = `Compare the trace of each trial with its golden: a trace that was looked at once
and found right. golden by itself is golden check; a PATH is a scenario file or a
folder of them, and without one the embedded suites are meant.

A golden is a file goldens/<suite>/<scenario>.<variant>.golden: of embedded
scenarios in a checkout of agentbench, elsewhere in the program; of others beside
the folder that is their suite; or in the folder that -o names. Each scenario
should have one under the variant that it is meant for, and may have others: these
are made with --variant, and from then on checked along with the rest.`
	cmd.Example = `  agentbench golden
  agentbench golden check my-scenarios/ --ci
  agentbench golden update --filter same-call-forever
  agentbench golden prune`
	check := newGoldenVerb("check [PATH…]", "Compare each trace with its golden", (*goldenFlags).check)
	check.Long = `Compare each trace with its golden, and tell of each that differs the first line
that does. What differs fails, and so does an orphan: a golden whose scenario or
variant is not there any more. A missing golden fails with --ci.`
	check.Example = "  agentbench golden check\n  agentbench golden check my-scenarios/ --ci"
	update := newGoldenVerb("update [PATH…]", "Write the goldens anew where traces differ from them", (*goldenFlags).update)
	update.Long = `Show what differs from each golden, and then write it anew. A trace that the golden
allows leaves it as it is; mode and allowances stay, unless the scenario has its own.
Read what is shown, and commit only what you understand the cause of. --ci refuses.`
	update.Example = "  agentbench golden update\n  agentbench golden update --filter same-call-forever --variant none"
	prune := newGoldenVerb("prune [PATH…]", "Remove the goldens of what is not there any more", (*goldenFlags).prune)
	prune.Long = `List the orphans (goldens whose scenario or variant is not there any more) and then
remove them. Only folders are taken as whole: a PATH that is one file has no orphans.`
	prune.Example = "  agentbench golden prune\n  agentbench golden prune my-scenarios/"
	cmd.AddCommand(check, update, prune)
	return cmd
}

// newGoldenVerb makes a command with the flags of all.
func newGoldenVerb(use, short string, run func(*goldenFlags, *cobra.Command, []string) error) *cobra.Command {
	f := &goldenFlags{}
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.HasSubCommands() && len(args) > 0 && isWord(args[0]) {
			return noCommand(cmd, args[0])
		}
		return run(f, cmd, args)
	}
	f.selectFlags.add(cmd)
	addVariants(cmd, &f.variants, "the goldens of this `VARIANT`, a preset or a YAML file, instead of those that there are and should be; can be repeated")
	fs := cmd.Flags()
	fs.StringVarP(&f.dir, "goldens", "o", "", "the goldens lie in the folder `DIR`")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "write nothing: the exit code tells")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "leave nothing out")
	fs.BoolVar(&f.ci, "ci", false, "a missing golden fails, nothing is written and nothing left out")
	addNoColor(cmd, &f.noColor)
	return cmd
}

// isWord reports whether an argument is meant as a command: it is no path, and
// nothing of that name is there.
func isWord(arg string) bool {
	_, err := os.Stat(arg)
	return errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(arg, `/\.`)
}

// A goldenWork is what a golden command works on.
type goldenWork struct {
	book    *goldenBook
	trials  []scenarios.Trial // each with the seed of its golden
	orphans []goldenOrphan
	broken  map[string]error // what cannot be read, by its path
}

// A goldenOrphan is a golden without a trial, and why.
type goldenOrphan struct {
	place *goldenPlace
	name  string
	why   string
}

// work reads scenarios and goldens.
func (f *goldenFlags) work(paths []string) (*goldenWork, error) {
	if len(paths) == 0 {
		paths = f.scenarios
	}
	given, err := loadVariants(f.variants)
	if err != nil {
		return nil, err
	}
	all, err := loadScenarios(paths)
	if err != nil {
		return nil, err
	}
	chosen, err := scenarios.Select(all, f.suites, f.filter)
	if err != nil {
		return nil, badInput(err)
	}
	places := newGoldenPlaces(f.dir, len(paths) == 0)
	w := &goldenWork{book: newGoldenBook(places, all), broken: map[string]error{}}
	w.book.expected = true
	shelf, err := w.read(places, all, paths)
	if err != nil {
		return nil, err
	}
	for _, s := range chosen {
		if err := w.add(s, given, shelf); err != nil {
			return nil, err
		}
	}
	w.findOrphans(f, all, given, shelf, paths)
	if len(chosen)+len(w.orphans) == 0 {
		return nil, misuse("agentbench list scenarios shows the names", "no scenario and no golden is selected")
	}
	return w, nil
}

// A goldenShelf holds the goldens that there are, by their places and names; nil
// for one that cannot be read.
type goldenShelf map[*goldenPlace]map[string]*goldens.Golden

// read reads all goldens at the places of some scenarios, which lie in paths.
func (w *goldenWork) read(places *goldenPlaces, all []*scenarios.Scenario, paths []string) (goldenShelf, error) {
	shelf := goldenShelf{}
	for _, s := range all {
		place := places.of(s)
		if shelf[place] != nil {
			continue
		}
		shelf[place] = map[string]*goldens.Golden{}
		names, err := place.List()
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			g, err := place.Read(name)
			shelf[place][name] = g
			if suite, _, _ := strings.Cut(name, "/"); err != nil && place.covers(suite, paths) {
				w.broken[place.Path(name)] = err
			}
		}
	}
	return shelf, nil
}

// add adds the trials of a scenario: under the variants that are given, else
// under its own and all presets of which there is a golden.
func (w *goldenWork) add(s *scenarios.Scenario, given []scenarios.Variant, shelf goldenShelf) error {
	variants := given
	if len(variants) == 0 {
		variants = []scenarios.Variant{s.Variant}
	}
	there := shelf[w.book.places[s]]
	for _, preset := range scenarios.Presets() {
		name, err := goldens.Name(s.ID(), preset)
		if _, found := there[name]; err != nil || !found || len(given) > 0 || preset == s.Variant.Name {
			continue
		}
		v, err := loadVariant(preset)
		if err != nil {
			return err
		}
		variants = append(variants, v)
	}
	for _, v := range variants {
		seed := uint64(1)
		if name, err := goldens.Name(s.ID(), v.Name); err == nil && there[name] != nil {
			seed = there[name].Seed
		}
		w.trials = append(w.trials, scenarios.Trial{Scenario: s, Variant: v, Seed: seed})
	}
	return nil
}

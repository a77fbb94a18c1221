package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

func newList() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List suites, scenarios, variants and formats of recorded runs",
		Long: `List suites, scenarios, the preset variants or the formats of recorded runs. list
alone means list suites.`,
		Example: `  agentbench list
  agentbench list scenarios --suite healthy
  agentbench list variants --quiet`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return f.suites(cmd, nil)
			}
			return noCommand(cmd, args[0])
		},
	}
	f.add(cmd)
	cmd.AddCommand(newListSuites(), newListScenarios(), newListVariants(), newListCorpora(), newListFormats())
	return cmd
}

// listFlags say how a list is printed.
type listFlags struct {
	quiet  bool
	format format
}

func (f *listFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print only the names, one per line")
	f.format = table
	addChoice(cmd, &f.format, "format", "what to print: table or json", table, jsonWhole)
}

// A listed is an entry of a list: its row in the table, and what it is in JSON.
type listed struct {
	row  []string
	json any
}

// write prints entries as a table, as JSON, or only their names, which are in the first
// column. left is how many columns are aligned left.
func (f *listFlags) write(cmd *cobra.Command, left int, head []string, entries []listed) error {
	w := cmd.OutOrStdout()
	var rows [][]string
	list := make([]any, len(entries))
	for i, e := range entries {
		rows = append(rows, e.row)
		list[i] = e.json
	}
	switch {
	case f.quiet && f.format == jsonWhole:
		return misuse("leave one of them out", "--quiet and --format json contradict each other")
	case f.format == jsonWhole:
		doc, err := json.MarshalIndent(list, "", "  ")
		if err != nil {
			return err
		}
		_, err = w.Write(append(text.JSON(doc), '\n'))
		return err
	case !f.quiet && len(rows) == 0:
		_, err := fmt.Fprintln(w, "there are none")
		return err
	case !f.quiet:
		return reports.Table(w, left, head, rows, nil)
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, row[0]); err != nil {
			return err
		}
	}
	return nil
}

func newListSuites() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:     "suites [PATH…]",
		Short:   "List the embedded suites, or those in PATH",
		Example: "  agentbench list suites",
		RunE:    f.suites,
	}
	f.add(cmd)
	return cmd
}

// A listedSuite is a suite in the JSON list, and how many scenarios of each label it
// has.
type listedSuite struct {
	Suite     string `json:"suite"`
	Scenarios int    `json:"scenarios"`
	Runaway   int    `json:"runaway"`
	Healthy   int    `json:"healthy"`
}

func (f *listFlags) suites(cmd *cobra.Command, paths []string) error {
	all, err := scenarios.Load(paths...)
	if err != nil {
		return badInput(err)
	}
	var entries []listed
	for _, name := range scenarios.Suites(all) {
		x := listedSuite{Suite: name}
		for _, s := range all {
			switch {
			case s.Suite != name:
				continue
			case s.Label == scenarios.Runaway:
				x.Runaway++
			default:
				x.Healthy++
			}
			x.Scenarios++
		}
		entries = append(entries, listed{[]string{text.Line(name), text.Number(x.Scenarios), text.Number(x.Runaway), text.Number(x.Healthy)}, x})
	}
	return f.write(cmd, 1, []string{"suite", "scenarios", "runaway", "healthy"}, entries)
}

func newListScenarios() *cobra.Command {
	var chosen selectFlags
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "scenarios [PATH…]",
		Short: "List the embedded scenarios, or those in PATH",
		Long: `List the embedded scenarios, or those in PATH. With --format json each is an object
that also says what the scenario needs beside a model and tools, which not every
agent offers: gates, runs, cancel, loop, results, tries (see docs/scenarios-more.md).`,
		Example: `  agentbench list scenarios --suite healthy
  agentbench list scenarios --filter retry
  agentbench list scenarios --format json`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			all, err := chosen.load(paths)
			if err != nil {
				return err
			}
			var entries []listed
			for _, s := range all {
				entries = append(entries, listed{
					[]string{text.Line(s.ID()), string(s.Label), text.Line(s.Variant.Name), text.Line(s.Description)},
					listedScenario{s.ID(), s.Suite, s.Label, s.Variant.Name, append([]scenarios.Need{}, s.Needs()...), s.Description, s.Source, s.HeldBack, s.File},
				})
			}
			return f.write(cmd, 4, []string{"scenario", "label", "variant", "description"}, entries)
		},
	}
	chosen.add(cmd)
	chosen.addHeldBack(cmd)
	f.add(cmd)
	return cmd
}

// A listedScenario is a scenario in the JSON list.
type listedScenario struct {
	Scenario    string           `json:"scenario"` // suite/name
	Suite       string           `json:"suite"`
	Label       scenarios.Label  `json:"label"`
	Variant     string           `json:"variant"` // the one it is meant for
	Needs       []scenarios.Need `json:"needs"`
	Description string           `json:"description"`
	Source      string           `json:"source,omitempty"`
	HeldBack    bool             `json:"held_back,omitempty"`
	File        string           `json:"file"`
}

func newListVariants() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "variants",
		Short: "List the preset variants and their limits",
		Long: `List the preset variants and their limits. --format json has every setting of
each, with the keys of a variant's file.`,
		Example: "  agentbench list variants",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var entries []listed
			names := 0 // all
			if isTerminal(cmd.OutOrStdout()) {
				names = shownDetectors
			}
			for _, name := range scenarios.Presets() {
				v, err := loadVariant(name)
				if err != nil {
					return err
				}
				entries = append(entries, listed{variantRow(&v, names), listedVariant{v.Name, v.JSON()}})
			}
			head := []string{"variant", "detectors", "failing turns", "retries", "one try", "whole run", "turns", "calls", "steps"}
			return f.write(cmd, 2, head, entries)
		},
	}
	f.add(cmd)
	return cmd
}

// A listedVariant is a variant in the JSON list.
type listedVariant struct {
	Variant string          `json:"variant"`
	Config  json.RawMessage `json:"config"`
}

func newListFormats() *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:     "formats",
		Short:   "List the formats of recorded runs that replay reads",
		Example: "  agentbench list formats",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var entries []listed
			for _, name := range trajectories.Formats() {
				looks := trajectories.Looks(name)
				entries = append(entries, listed{[]string{name, looks}, listedFormat{name, looks}})
			}
			return f.write(cmd, 2, []string{"format", "looks like"}, entries)
		},
	}
	f.add(cmd)
	return cmd
}

// A listedFormat is a format of recorded runs in the JSON list.
type listedFormat struct {
	Format    string `json:"format"`
	LooksLike string `json:"looks_like"`
}

// variantRow returns the row of a variant: its detectors and limits. names is how many
// names of detectors it shows at most; 0 means all.
func variantRow(v *scenarios.Variant, names int) []string {
	cfg := &v.Config
	return []string{v.Name, cmp.Or(detectors(v.Config.Detectors, names), off), number(cfg.Errors.MaxConsecutive), number(cfg.Retry.Max),
		timeout(cfg.Time.Tool), timeout(cfg.Time.Run), number(cfg.Limits.Turns), number(cfg.Limits.Calls), number(cfg.Limits.Steps)}
}

// detectors names the detectors, at most names of them if names is not 0. For a single
// detector it adds when it acts.
func detectors(all []detect.Detector, names int) string {
	var parts []string
	for _, d := range all {
		if len(all) > 1 {
			parts = append(parts, text.Line(d.Name))
			continue
		}
		for _, rung := range d.Do {
			parts = append(parts, fmt.Sprintf("%s at %d", rung.Act, rung.At))
		}
		return text.Line(d.Name) + ": " + strings.Join(parts, ", ")
	}
	if more := len(parts) - names; names > 0 && more > 0 {
		parts = append(parts[:names], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// shownDetectors is how many names of detectors a row shows on a terminal.
const shownDetectors = 2

// off is shown for a setting that is not set.
const off = "–"

func number(n int) string {
	if n == 0 {
		return off
	}
	return text.Number(n)
}

func timeout(d time.Duration) string {
	if d == 0 {
		return off
	}
	return text.Duration(d)
}

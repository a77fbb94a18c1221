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
				return listSuites(cmd, nil, false)
			}
			return noCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(newListSuites(), newListScenarios(), newListVariants(), newListCorpora(), newListFormats())
	return cmd
}

func newListSuites() *cobra.Command {
	quiet := false
	cmd := &cobra.Command{
		Use:     "suites [PATH…]",
		Short:   "List the embedded suites, or those in PATH",
		Example: "  agentbench list suites",
		RunE: func(cmd *cobra.Command, paths []string) error {
			return listSuites(cmd, paths, quiet)
		},
	}
	addNamesOnly(cmd, &quiet)
	return cmd
}

func listSuites(cmd *cobra.Command, paths []string, namesOnly bool) error {
	all, err := scenarios.Load(paths...)
	if err != nil {
		return badInput(err)
	}
	labels := map[string]map[scenarios.Label]int{}
	for _, s := range all {
		if labels[s.Suite] == nil {
			labels[s.Suite] = map[scenarios.Label]int{}
		}
		labels[s.Suite][s.Label]++
	}
	var rows [][]string
	for _, suite := range scenarios.Suites(all) {
		runaway, healthy := labels[suite][scenarios.Runaway], labels[suite][scenarios.Healthy]
		rows = append(rows, []string{text.Line(suite), fmt.Sprint(runaway + healthy), fmt.Sprint(runaway), fmt.Sprint(healthy)})
	}
	return writeList(cmd, namesOnly, 1, []string{"suite", "scenarios", "runaway", "healthy"}, rows)
}

func newListScenarios() *cobra.Command {
	var (
		chosen selectFlags
		quiet  bool
		format = table
	)
	cmd := &cobra.Command{
		Use:   "scenarios [PATH…]",
		Short: "List the embedded scenarios, or those in PATH",
		Long: `List the embedded scenarios, or those in PATH. With --format json each is an object
that also says what the scenario needs beside a model and tools, which not every
agent offers: gates, runs, cancel, loop, results, tries (see docs/scenarios.md).`,
		Example: `  agentbench list scenarios --suite healthy
  agentbench list scenarios --filter retry
  agentbench list scenarios --format json`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			all, err := chosen.load(paths)
			if err != nil {
				return err
			}
			switch {
			case format == jsonWhole && quiet:
				return misuse("leave one of them out", "--quiet and --format json contradict each other")
			case format == jsonWhole:
				return writeScenariosJSON(cmd, all)
			}
			var rows [][]string
			for _, s := range all {
				rows = append(rows, []string{text.Line(s.ID()), string(s.Label), text.Line(s.Variant.Name), text.Cut(text.Line(s.Description), 100)})
			}
			return writeList(cmd, quiet, 4, []string{"scenario", "label", "variant", "description"}, rows)
		},
	}
	chosen.add(cmd)
	chosen.addHeldBack(cmd)
	addNamesOnly(cmd, &quiet)
	addChoice(cmd, &format, "format", "what to print: table or json", table, jsonWhole)
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

func writeScenariosJSON(cmd *cobra.Command, all []*scenarios.Scenario) error {
	list := make([]listedScenario, len(all))
	for i, s := range all {
		list[i] = listedScenario{s.ID(), s.Suite, s.Label, s.Variant.Name, append([]scenarios.Need{}, s.Needs()...), s.Description, s.Source, s.HeldBack, s.File}
	}
	doc, err := json.MarshalIndent(list, "", "  ")
	if err != nil {
		return err
	}
	_, err = cmd.OutOrStdout().Write(append(text.JSON(doc), '\n'))
	return err
}

func newListVariants() *cobra.Command {
	quiet := false
	cmd := &cobra.Command{
		Use:     "variants",
		Short:   "List the preset variants and their limits",
		Example: "  agentbench list variants",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows [][]string
			for _, name := range scenarios.Presets() {
				v, err := loadVariant(name)
				if err != nil {
					return err
				}
				rows = append(rows, variantRow(&v))
			}
			head := []string{"variant", "detectors", "failing turns", "retries", "one try", "whole run", "turns", "calls"}
			return writeList(cmd, quiet, 2, head, rows)
		},
	}
	addNamesOnly(cmd, &quiet)
	return cmd
}

func newListFormats() *cobra.Command {
	quiet := false
	cmd := &cobra.Command{
		Use:     "formats",
		Short:   "List the formats of recorded runs that replay reads",
		Example: "  agentbench list formats",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var rows [][]string
			for _, name := range trajectories.Formats() {
				rows = append(rows, []string{name, trajectories.Looks(name)})
			}
			return writeList(cmd, quiet, 2, []string{"format", "looks like"}, rows)
		},
	}
	addNamesOnly(cmd, &quiet)
	return cmd
}

// variantRow returns the row of a variant: its detectors and limits.
func variantRow(v *scenarios.Variant) []string {
	cfg := &v.Config
	return []string{v.Name, cmp.Or(detectors(v.Config.Detectors), off), number(cfg.Errors.MaxConsecutive), number(cfg.Retry.Max),
		timeout(cfg.Time.Tool), timeout(cfg.Time.Run), number(cfg.Limits.Turns), number(cfg.Limits.Calls)}
}

// detectors names the detectors. For a single detector it adds when it acts.
func detectors(all []detect.Detector) string {
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
	if more := len(parts) - shownDetectors; more > 0 {
		parts = append(parts[:shownDetectors], fmt.Sprintf("%d more", more))
	}
	return strings.Join(parts, ", ")
}

// shownDetectors is how many names of detectors a row shows.
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

func addNamesOnly(cmd *cobra.Command, quiet *bool) {
	cmd.Flags().BoolVarP(quiet, "quiet", "q", false, "print only the names, one per line")
}

// writeList prints rows as a table, or only their first column. left is how many
// columns are aligned left.
func writeList(cmd *cobra.Command, namesOnly bool, left int, head []string, rows [][]string) error {
	w := cmd.OutOrStdout()
	if !namesOnly {
		if len(rows) == 0 {
			_, err := fmt.Fprintln(w, "there are none")
			return err
		}
		return reports.Table(w, left, head, rows, nil)
	}
	for _, row := range rows {
		if _, err := fmt.Fprintln(w, row[0]); err != nil {
			return err
		}
	}
	return nil
}

package cli

import (
	"strings"

	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// selectFlags say which scenarios a command is about.
type selectFlags struct {
	suites    []string
	filter    string
	scenarios []string // paths that stand in for missing arguments
}

func (f *selectFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.suites, "suite", nil, "only the scenarios of this `SUITE`; can be repeated")
	cmd.Flags().StringVar(&f.filter, "filter", "", "only scenarios whose suite/name holds `TEXT`; with *, ? or [ in it TEXT must match the whole suite/name")
	addScenarios(cmd, &f.scenarios)
	complete(cmd, "suite", func() []string { return scenarios.Suites(embedded()) })
	complete(cmd, "filter", embeddedNames)
}

func addScenarios(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringArrayVar(paths, "scenarios", nil, "take the scenarios from this `PATH` where no argument names any; can be repeated")
}

// load reads the scenarios and keeps those that are selected.
func (f *selectFlags) load(paths []string) ([]*scenarios.Scenario, error) {
	if len(paths) == 0 {
		paths = f.scenarios
	}
	all, err := scenarios.Load(paths...)
	if err != nil {
		return nil, badInput(err)
	}
	chosen, err := scenarios.Select(all, f.suites, f.filter)
	return chosen, badInput(err)
}

// nothingSelected is the error of an empty selection.
func (f *selectFlags) nothingSelected(paths []string) error {
	switch {
	case f.filter != "":
		return misuse("agentbench list scenarios shows the names; --allow-empty lets an empty selection pass", "no scenario matches --filter %s", shellWords([]string{f.filter}))
	case len(f.suites) > 0 || len(paths) == 0:
		return misuse("--allow-empty lets an empty selection pass", "no scenario is selected")
	}
	return misuse("a scenario is a .yaml file; --allow-empty lets an empty selection pass", "there is no scenario in %s", strings.Join(paths, ", "))
}

// embedded gives the embedded scenarios, for completion.
func embedded() []*scenarios.Scenario {
	all, err := scenarios.Load()
	if err != nil {
		return nil // completion has nobody to tell
	}
	return all
}

func embeddedNames() []string {
	var names []string
	for _, s := range embedded() {
		names = append(names, s.ID())
	}
	return names
}

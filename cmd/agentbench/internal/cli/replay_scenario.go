package cli

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// checkScenario reports flags that contradict --to-scenario.
func (f *replayFlags) checkScenario(cmd *cobra.Command) error {
	switch {
	case len(f.variants) > 1:
		return misuse("its config becomes that of the scenario", "--to-scenario takes one --variant, not %d", len(f.variants))
	case len(f.files) > 1:
		return misuse("", "--to-scenario writes one file, not %d", len(f.files))
	case len(f.files) == 1 && f.files[0] != "-" && !isScenarioFile(f.files[0]):
		return misuse("a scenario is a .yaml file", "cannot write a scenario to %q", f.files[0])
	case cmd.Flags().Changed("format"):
		return misuse("leave one of them out", "--format is for results: --to-scenario makes none")
	}
	return nil
}

func isScenarioFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// writeScenario writes the chosen trajectory as a scenario.
func (f *replayFlags) writeScenario(cmd *cobra.Command, runs []*trajectories.Trajectory, v scenarios.Variant) error {
	r, err := f.chosen(runs)
	if err != nil {
		return err
	}
	redactor := redactor()
	s, err := r.Map(redactor.Text).Scenario(v.Config)
	if err != nil {
		return misuse("", "no scenario of %s: %v", r.ID(), err)
	}
	s.Name = scenarioName(r.Name)
	if to := f.scenarioFile(); to != "" {
		s.Name = scenarioName(strings.TrimSuffix(filepath.Base(to), filepath.Ext(to)))
	}
	s.Description = "A recorded run, as it was replayed under " + v.Name + "."
	file := s.YAML(fmt.Sprintf("Made by agentbench replay --to-scenario of %s, line %d", r.ID(), r.Line))
	to := f.scenarioFile()
	if to == "" {
		_, err := cmd.OutOrStdout().Write(file)
		return err
	}
	out, err := createFile(cmd.ErrOrStderr(), to)
	if err != nil {
		return err
	}
	if _, err := out.Write(file); err != nil {
		out.Discard()
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	if !f.quiet {
		showRedacted(cmd.ErrOrStderr(), redactor.Count())
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: agentbench run %s plays it\n", text.Line(to), shellWords([]string{to}))
	}
	return nil
}

// scenarioFile returns the file to write, "" for the standard output.
func (f *replayFlags) scenarioFile() string {
	if len(f.files) == 0 || f.files[0] == "-" {
		return ""
	}
	return f.files[0]
}

// chosen returns the trajectory with the name, or file and name, that --to-scenario
// asks for.
func (f *replayFlags) chosen(runs []*trajectories.Trajectory) (*trajectories.Trajectory, error) {
	var found []*trajectories.Trajectory
	var names []string
	for _, r := range runs {
		names = append(names, r.Name)
		if f.toScenario == r.Name || f.toScenario == r.ID() {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return nil, misuse(cmp.Or(text.DidYouMean(f.toScenario, names), "the results of a replay name the runs: -o -"), "there is no recorded run %q", f.toScenario)
	}
	return nil, misuse("say which: "+found[0].ID()+" or "+found[1].ID(), "%d recorded runs are named %q", len(found), f.toScenario)
}

// scenarioName turns a name into one that a scenario may have.
func scenarioName(name string) string {
	fit := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_':
			return c
		}
		return '-'
	}, name)
	const most = 100
	if fit = strings.Trim(fit, "-._"); fit == "" {
		return "recorded"
	}
	return fit[:min(most, len(fit))]
}

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

func newValidate() *cobra.Command {
	var variants, elsewhere []string
	cmd := &cobra.Command{
		Use:   "validate [PATH…]",
		Short: "Check scenario files and variants without running them",
		Long: `Check scenario files or folders of them, and the variants of --variant, and print
all mistakes at once. Without a PATH and --variant, validate checks the scenarios
of --scenarios, or else the embedded suites.`,
		Example: `  agentbench validate my-scenarios/
  agentbench validate --variant my-limits.yaml`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			if len(paths) == 0 && !asArgument(cmd.Flag("variant")) {
				paths = elsewhere
			}
			return validate(cmd, paths, variants)
		},
	}
	addScenarios(cmd, &elsewhere)
	addVariants(cmd, &variants, "check this `VARIANT`, a preset or a YAML file; can be repeated")
	return cmd
}

func validate(cmd *cobra.Command, paths, variants []string) error {
	var wrong []error
	fine := 0
	for _, name := range variants {
		if _, err := loadVariant(name); err != nil {
			wrong = append(wrong, err)
			continue
		}
		fine++
	}
	if len(paths) > 0 || len(variants) == 0 {
		n, err := validateScenarios(paths)
		fine += n
		if err != nil {
			wrong = append(wrong, err)
		}
	}
	for _, err := range wrong {
		report(cmd.ErrOrStderr(), err)
	}
	if _, err := fmt.Fprintln(cmd.OutOrStdout(), validated(fine, wrong)); err != nil {
		return err
	}
	if len(wrong) > 0 {
		return exitCode(exitUsage)
	}
	return nil
}

// validateScenarios checks scenario files and counts those without mistakes.
func validateScenarios(paths []string) (fine int, err error) {
	all, err := scenarios.Load(paths...)
	var mistakes scenarios.Mistakes
	switch {
	case errors.As(err, &mistakes):
		files := scenarioFiles(paths)
		for _, m := range mistakes {
			delete(files, m.File)
		}
		return len(files), err
	case err != nil:
		return 0, badInput(err)
	}
	return len(all), nil // a file has one scenario
}

// scenarioFiles returns the files that [scenarios.Load] reads.
func scenarioFiles(paths []string) map[string]bool {
	files := map[string]bool{}
	for _, root := range paths {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil: // Load has reported it
			case d.IsDir() && path != root && (d.Name() == "variants" || strings.HasPrefix(d.Name(), ".")):
				return fs.SkipDir
			case path == root && !d.IsDir(), isScenario(d):
				files[filepath.ToSlash(path)] = true
			}
			return nil
		})
	}
	return files
}

func isScenario(d fs.DirEntry) bool {
	name := d.Name()
	yaml := strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
	return !d.IsDir() && yaml && name != "agentbench.yaml" && !strings.HasPrefix(name, ".")
}

// validated returns the counts in one line: files that are fine, and mistakes.
func validated(fine int, wrong []error) string {
	line := text.Count(fine, "file") + " fine"
	bad, mistakes := map[string]bool{}, 0
	for _, err := range wrong {
		var list scenarios.Mistakes
		if !errors.As(err, &list) {
			mistakes++
			bad[err.Error()] = true
			continue
		}
		mistakes += len(list)
		for _, m := range list {
			bad[m.File] = true
		}
	}
	if mistakes > 0 {
		line += fmt.Sprintf(", %s in %s", text.Count(mistakes, "mistake"), text.Count(len(bad), "file"))
	}
	return line
}

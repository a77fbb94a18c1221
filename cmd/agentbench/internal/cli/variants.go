package cli

import (
	"cmp"
	"errors"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// addVariants adds the flag --variant, which can be repeated.
func addVariants(cmd *cobra.Command, variants *[]string, usage string) {
	cmd.Flags().StringArrayVar(variants, "variant", nil, usage)
	completeVariant(cmd)
}

// completeVariant completes --variant with the presets; the shell adds files.
func completeVariant(cmd *cobra.Command) {
	err := cmd.RegisterFlagCompletionFunc("variant", func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return startingWith(start, scenarios.Presets()), cobra.ShellCompDirectiveDefault
	})
	if err != nil {
		panic(err) // the flag is not there: a mistake in this package
	}
}

// loadVariants reads the variants that were named.
func loadVariants(names []string) ([]scenarios.Variant, error) {
	var variants []scenarios.Variant
	first := map[string]string{} // a variant's name → what was given for it
	for _, given := range names {
		v, err := loadVariant(given)
		if err != nil {
			return nil, err
		}
		switch before, twice := first[v.Name]; {
		case twice && before == given:
			return nil, misuse("", "--variant %s is given twice", given)
		case twice:
			return nil, misuse("rename one of the files", "%s and %s are both called %s", before, given, v.Name)
		}
		first[v.Name] = given
		variants = append(variants, v)
	}
	return variants, nil
}

// loadVariant reads the variant that was named.
func loadVariant(given string) (scenarios.Variant, error) {
	v, err := scenarios.LoadVariant(given)
	var unknown *scenarios.UnknownVariantError
	if errors.As(err, &unknown) {
		presets := scenarios.Presets()
		return v, misuse(cmp.Or(text.DidYouMean(given, presets), "the presets are "+text.AnyOf(presets)+"; a file's path holds a slash or ends in .yaml"),
			"there is no variant %q", given)
	}
	return v, badInput(err)
}

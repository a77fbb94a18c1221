package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/probe"
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A choice is a flag whose value is one of a few words.
type choice[T ~string] struct {
	value *T
	words []T
}

func (c choice[T]) String() string { return string(*c.value) }
func (c choice[T]) Type() string   { return "WORD" }

func (c choice[T]) Set(s string) error {
	if slices.Contains(c.words, T(s)) {
		*c.value = T(s)
		return nil
	}
	return misuse(text.DidYouMean(s, c.names()), "must be %s", text.AnyOf(c.names()))
}

func (c choice[T]) names() []string {
	names := make([]string, len(c.words))
	for i, w := range c.words {
		names[i] = string(w)
	}
	return names
}

// addChoice adds a flag whose value is one of words, and completes it.
func addChoice[T ~string](cmd *cobra.Command, value *T, name, usage string, words ...T) {
	c := choice[T]{value, words}
	cmd.Flags().Var(c, name, usage)
	complete(cmd, name, func() []string { return c.names() })
}

// complete registers the words that the shell offers as values of a flag.
func complete(cmd *cobra.Command, flag string, words func() []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return startingWith(start, words()), cobra.ShellCompDirectiveNoFileComp
	})
	if err != nil {
		panic(err) // the flag is not there: a mistake in this package
	}
}

func startingWith(start string, words []string) []string {
	var out []string
	for _, w := range words {
		if strings.HasPrefix(w, start) {
			out = append(out, w)
		}
	}
	return out
}

// A count is a flag whose value is a whole number of at least 1.
type count int

func (c *count) String() string { return strconv.Itoa(int(*c)) }
func (c *count) Type() string   { return "N" }

func (c *count) Set(s string) error { return c.set(s, 1e9) }

func (c *count) set(s string, most int) error {
	n, err := strconv.Atoi(s)
	switch {
	case errors.Is(err, strconv.ErrRange) && s[0] != '-', n > most:
		return fmt.Errorf("must be at most %s", text.Number(most))
	case err != nil || n < 1:
		return errors.New("must be a whole number of at least 1")
	}
	*c = count(n)
	return nil
}

// A jobs is a flag whose value is a number of workers, at most 10,000: each one
// takes memory.
type jobs struct{ count }

func (j *jobs) Set(s string) error { return j.set(s, 10_000) }

// A seed is a flag whose value seeds the random numbers: a whole number of at
// least 0.
type seed uint64

func (v *seed) String() string { return strconv.FormatUint(uint64(*v), 10) }
func (v *seed) Type() string   { return "N" }

func (v *seed) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return errors.New("must be a whole number of at least 0")
	}
	*v = seed(n)
	return nil
}

// flagError turns an error of the flag library into one line. Its hint is the
// nearest flag or the allowed words.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
	)
	help := cmd.CommandPath() + " --help lists the flags"
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		name := unknown.GetSpecifiedName()
		return misuse(cmp.Or(text.DidYouMean("--"+name, flagNames(cmd)), help), "%s has no flag --%s", cmd.CommandPath(), text.Line(name))
	case errors.As(err, &invalid):
		return invalidValue("--"+invalid.GetFlag().Name+" "+strconv.Quote(invalid.GetValue()), invalid.Unwrap())
	}
	return misuse(help, "%s", text.Line(err.Error()))
}

func flagNames(cmd *cobra.Command) []string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
	return names
}

// invalidValue returns the error for a bad value of a flag or a variable.
func invalidValue(what string, err error) error {
	var usage *usageError
	if errors.As(err, &usage) {
		return misuse(usage.hint, "%s: %s", what, usage.problem)
	}
	var number *strconv.NumError
	switch {
	case errors.As(err, &number):
		err = errors.New("must be true or false")
	case strings.HasPrefix(err.Error(), "time: "): // of time.ParseDuration
		err = errors.New("must be a duration, such as 30s, 200ms or 1m30s")
	}
	return misuse("", "%s: %s", what, err)
}

// flagsFromEnvironment sets the flags that are not on the command line from
// their environment variables.
func flagsFromEnvironment(cmd *cobra.Command) error {
	var first error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := variable(f)
		value := os.Getenv(name)
		if f.Changed || value == "" || f.Name == "help" || first != nil {
			return
		}
		values := []string{value}
		if _, list := f.Value.(pflag.SliceValue); list {
			values = strings.Split(value, ",")
		}
		for _, v := range values {
			if err := f.Value.Set(v); err != nil {
				first = invalidValue(name+"="+strconv.Quote(v), err)
				return
			}
		}
		f.Changed = true
	})
	return first
}

// noteVariables prints a note to stderr for each environment variable that has our
// prefix and sets no flag.
func noteVariables(cmd *cobra.Command) {
	var known []string
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		c.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, strings.TrimPrefix(variable(f), variables)) })
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(cmd.Root())
	slices.Sort(known)
	known = slices.Compact(known)
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		name, ours := strings.CutPrefix(name, variables)
		if !ours || slices.Contains(known, name) || slices.Contains(probe.Variables(), variables+name) {
			continue
		}
		note := "note: the variable " + variables + text.Line(name) + " does not set a flag"
		if near := text.Nearest(name, known); len(near) > 0 {
			note += "; did you mean " + variables + near[0] + "?"
		}
		fmt.Fprintln(cmd.ErrOrStderr(), note)
	}
}

// variables is the prefix of the environment variables that set flags.
const variables = "AGENTBENCH_"

// variable returns the name of the environment variable that sets a flag.
func variable(f *pflag.Flag) string {
	return variables + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// asArgument reports whether a flag was set on the command line. The variables
// and the project's file are for many commands, so what they set does not count.
func asArgument(f *pflag.Flag) bool {
	return f.Changed && !fromProject(f) && os.Getenv(variable(f)) == ""
}

// selectFlags choose the scenarios of a command.
type selectFlags struct {
	suites    []string
	filter    string
	heldBack  heldBack
	scenarios []string // paths to use if no argument names any
}

// heldBack says what happens to the scenarios that are held back. The zero value
// selects them like the others.
type heldBack string

const (
	withHeldBack    heldBack = "with"
	withoutHeldBack heldBack = "without"
	onlyHeldBack    heldBack = "only"
)

// of returns the scenarios that it selects.
func (h heldBack) of(all []*scenarios.Scenario) []*scenarios.Scenario {
	return slices.DeleteFunc(all, func(s *scenarios.Scenario) bool {
		return h == withoutHeldBack && s.HeldBack || h == onlyHeldBack && !s.HeldBack
	})
}

// addHeldBack adds the flag that chooses scenarios by whether they are held back.
func (f *selectFlags) addHeldBack(cmd *cobra.Command) {
	f.heldBack = withHeldBack
	addChoice(cmd, &f.heldBack, "held-back", "the scenarios that are held back (no setting is chosen on them): with, without or only", withHeldBack, withoutHeldBack, onlyHeldBack)
}

func (f *selectFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.suites, "suite", nil, "only scenarios of this `SUITE`; can be repeated")
	cmd.Flags().StringVar(&f.filter, "filter", "", "only scenarios whose suite/name contains `TEXT`; with *, ? or [ in it, TEXT is a pattern for the whole name, or with / for suite/name")
	addScenarios(cmd, &f.scenarios)
	complete(cmd, "suite", func() []string { return scenarios.Suites(embedded()) })
	complete(cmd, "filter", embeddedNames)
}

func addScenarios(cmd *cobra.Command, paths *[]string) {
	cmd.Flags().StringArrayVar(paths, "scenarios", nil, "read scenarios from this `PATH` if no argument names any; can be repeated")
}

// load reads the scenarios in paths and returns those that are selected.
func (f *selectFlags) load(paths []string) ([]*scenarios.Scenario, error) {
	if len(paths) == 0 {
		paths = f.scenarios
	}
	all, err := scenarios.Load(paths...)
	if err != nil {
		for _, path := range paths {
			_, missing := os.Stat(path)
			if s, _ := findEmbedded(path); s != nil && errors.Is(missing, fs.ErrNotExist) {
				return nil, misuse("--filter "+s.ID()+" selects the embedded scenario", "%s: there is no such file or folder", path)
			}
		}
		return nil, badInput(err)
	}
	chosen, err := scenarios.Select(all, f.suites, f.filter)
	return f.heldBack.of(chosen), badInput(err)
}

// nothingSelected returns the error for an empty selection.
func (f *selectFlags) nothingSelected(paths []string) error {
	switch {
	case f.heldBack != withHeldBack:
		return misuse("--allow-empty lets an empty selection pass", "no scenario is selected with --held-back %s", f.heldBack)
	case f.filter != "":
		return misuse("agentbench list scenarios shows the names; --allow-empty lets an empty selection pass", "no scenario matches --filter %s", shellWords([]string{f.filter}))
	case len(f.suites) > 0 || len(paths) == 0:
		return misuse("--allow-empty lets an empty selection pass", "no scenario is selected")
	}
	return misuse("a scenario is a .yaml file; --allow-empty lets an empty selection pass", "there is no scenario in %s", strings.Join(paths, ", "))
}

// embedded returns the embedded scenarios, for completion.
func embedded() []*scenarios.Scenario {
	all, err := scenarios.Load()
	if err != nil {
		return nil // completion cannot report an error
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

// addVariants adds the flag --variant, which can be repeated, and completes it.
func addVariants(cmd *cobra.Command, variants *[]string, usage string) {
	cmd.Flags().StringArrayVar(variants, "variant", nil, usage)
	completeVariant(cmd)
}

// completeVariant completes --variant with the names of the presets; the shell
// adds files.
func completeVariant(cmd *cobra.Command) {
	err := cmd.RegisterFlagCompletionFunc("variant", func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
		return startingWith(start, scenarios.Presets()), cobra.ShellCompDirectiveDefault
	})
	if err != nil {
		panic(err) // the flag is not there: a mistake in this package
	}
}

// loadVariants loads the named variants, in order. Two variants of one name are
// an error.
func loadVariants(names []string) ([]scenarios.Variant, error) {
	var variants []scenarios.Variant
	first := map[string]string{} // a variant's name → the value of --variant
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

// loadVariant loads one variant: a preset by its name, or a file by its path.
func loadVariant(given string) (scenarios.Variant, error) {
	v, err := scenarios.LoadVariant(given)
	var unknown *scenarios.UnknownVariantError
	if errors.As(err, &unknown) {
		presets := scenarios.Presets()
		return v, misuse(cmp.Or(text.DidYouMean(given, presets), "the presets are "+text.AnyOf(presets)+"; a file's path contains a slash or ends in .yaml"),
			"there is no variant %q", given)
	}
	return v, badInput(err)
}

// faults is a flag that adds a fault each time it is given.
type faults []fakes.Fault

func (f *faults) String() string {
	var texts []string
	for _, x := range *f {
		texts = append(texts, x.String())
	}
	return strings.Join(texts, ", ")
}

func (f *faults) Type() string { return "TEXT" }

func (f *faults) Set(text string) error {
	fault, err := fakes.ParseFault(text)
	if err != nil {
		return misuse("such as 'drop model 3', 'delay tool read_file 2 5s' or 'error tool 10% RetryableServer'", "%v", err)
	}
	*f = append(*f, fault)
	return nil
}

// args returns the arguments that set the same faults.
func (f faults) args() []string {
	var out []string
	for _, x := range f {
		out = append(out, "--fault", x.String())
	}
	return out
}

func addFaults(cmd *cobra.Command, f *faults) {
	cmd.Flags().Var(f, "fault", "add this `FAULT` to every world, such as 'drop model 3', and judge by the label alone; can be repeated")
}

package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A choice is a flag that takes one of a few words.
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

// addChoice adds a flag that takes one of a few words, with their completion.
func addChoice[T ~string](cmd *cobra.Command, value *T, name, usage string, words ...T) {
	c := choice[T]{value, words}
	cmd.Flags().Var(c, name, usage)
	complete(cmd, name, func() []string { return c.names() })
}

// complete gives the words that a flag is completed with.
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

// A count is a flag that takes a whole number from one on.
type count int

func (c *count) String() string { return strconv.Itoa(int(*c)) }
func (c *count) Type() string   { return "N" }

func (c *count) Set(s string) error {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > 1e9 {
		return errors.New("must be a whole number from 1 on")
	}
	*c = count(n)
	return nil
}

// A seed is a flag that takes a number that seeds randomness.
type seed uint64

func (v *seed) String() string { return strconv.FormatUint(uint64(*v), 10) }
func (v *seed) Type() string   { return "N" }

func (v *seed) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return errors.New("must be a whole number from 0 on")
	}
	*v = seed(n)
	return nil
}

// flagError says what is wrong with a flag in one line, with the nearest name
// or the words that are allowed as a hint.
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

// invalidValue says what is wrong with the value of a flag or a variable.
func invalidValue(what string, err error) error {
	var usage *usageError
	if errors.As(err, &usage) {
		return misuse(usage.hint, "%s: %s", what, usage.problem)
	}
	var number *strconv.NumError
	if errors.As(err, &number) {
		err = fmt.Errorf("must be true or false")
	}
	return misuse("", "%s: %s", what, err)
}

// flagsFromEnvironment sets the flags that were not given from their variables.
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

// variable names the environment variable that stands for a flag.
func variable(f *pflag.Flag) string {
	return "AGENTBENCH_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
}

// asArgument reports whether a flag was given for this one command: it has no
// value of a variable or of the project's file, which speak to many.
func asArgument(f *pflag.Flag) bool {
	return f.Changed && !fromProject(f) && os.Getenv(variable(f)) == ""
}

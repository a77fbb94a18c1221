// Package cli is the agentbench command. [Main] is the whole program as a
// function; beside it stands one file for each subcommand: flags in, one
// library call, answer out.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitPassed       = 0   // done; all passed
	exitFailed       = 1   // a trial failed, whatever else was inconclusive
	exitUsage        = 2   // bad usage or bad input
	exitInconclusive = 3   // a trial could not be judged, or the machine's own trouble
	exitInterrupted  = 130 // Ctrl-C
)

// Main runs the program with these arguments (without its own name) and returns
// its exit code. An interrupt ends the work at hand in good order; a second one
// kills the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, built Options) int {
	ctx, stop := signal.NotifyContext(built.within(context.Background()), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, args, stdin, stdout, stderr)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // not nil, which would mean os.Args
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return report(stderr, root.ExecuteContext(ctx))
}

// report writes what is to be said of an error, and gives its exit code.
func report(stderr io.Writer, err error) int {
	var (
		code     exitCode
		usage    *usageError
		mistakes scenarios.Mistakes
	)
	switch {
	case err == nil:
		return exitPassed
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &usage):
		io.WriteString(stderr, text.Lines("error: "+usage.problem))
		if usage.hint != "" {
			io.WriteString(stderr, text.Lines("hint: "+usage.hint))
		}
		return exitUsage
	case errors.As(err, &mistakes):
		io.WriteString(stderr, text.Lines(mistakes.Error()))
		return exitUsage
	}
	io.WriteString(stderr, text.Lines("error: "+err.Error()))
	return exitInconclusive
}

// An exitCode ends the program with that code; all has been said.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// A usageError is a mistake of the person who gave the arguments or the input.
type usageError struct{ problem, hint string }

func (e *usageError) Error() string { return e.problem }

// misuse makes a usageError; hint may be empty.
func misuse(hint, format string, args ...any) error {
	return &usageError{problem: fmt.Sprintf(format, args...), hint: hint}
}

// badInput turns an error of reading input into one that ends with the code of
// bad input.
func badInput(err error) error {
	var mistakes scenarios.Mistakes
	if err == nil || errors.As(err, &mistakes) {
		return err
	}
	return &usageError{problem: err.Error()}
}

// newRoot makes the tree of commands.
func newRoot() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "agentbench",
		Short: "Test how an agent loop fails: does it stop when it should, and only then?",
		Long: `agentbench runs the loop of an LLM agent against scripted worlds: a model that
repeats itself, a tool that hangs, a stream that breaks. It shows whether the
loop's safety settings stop what runs away and leave healthy work alone.
Everything is offline, in virtual time, and the same on every run.

Exit codes: 0 passed, 1 failed, 2 bad usage or bad input, 3 inconclusive or
trouble with the machine, 130 interrupted.

Every flag can be set by a variable as well: AGENTBENCH_SEEDS=5 stands for
--seeds 5 (lists are separated by commas); and in an agentbench.yaml, which is
looked for upwards from the working directory: seeds: 5 for every command, or
below the name of one. A flag beats its variable, which beats the file.`,
		Example: `  agentbench run                       run the embedded suites
  agentbench explain same-call-forever see what one scenario does
  agentbench replay runs/*.json        what would the limits do to recorded runs?`,
		Args:              cobra.ArbitraryArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := flagsFromEnvironment(cmd); err != nil {
				return err
			}
			return flagsFromProject(cmd)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return noCommand(cmd, args[0])
			case version:
				return printVersion(cmd.OutOrStdout())
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version, as the command version does")
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().String("config", "", "take what flags do not say from `FILE` (default: the first "+projectName+" upwards from here)")
	root.AddCommand(newRun(), newCompare(), newGate(), newGolden(), newReport(), newReplay(), newFuzz(), newServe(), newRecord(), newCassette(), newSoak(), newList(), newExplain(), newValidate(), newInit(), newSchema(), newVersion())
	root.SetHelpCommand(newHelp(root))
	addCompletion(root)
	return root
}

// newHelp makes the command help, which unlike cobra's own fails when there is
// nothing to tell.
func newHelp(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Show the help of a command",
		Example: "  agentbench help run",
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return commandNames(root), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return noCommand(cmd, rest[0])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// addCompletion adds cobra's command completion, with examples, and with errors
// that are ours.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // cobra has just added it
	}
	cmd.Short = "Write the script that completes commands in a shell"
	cmd.Example = "  source <(agentbench completion bash)\n  agentbench completion fish > ~/.config/fish/completions/agentbench.fish"
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return noCommand(cmd, args[0])
	}
	for _, shell := range cmd.Commands() {
		shell.Short = "Write the script for " + shell.Name()
		shell.Example = "  agentbench completion " + shell.Name()
		shell.Args = noArguments
	}
}

// noCommand is the error of a command that there is not.
func noCommand(parent *cobra.Command, name string) error {
	return misuse(cmp.Or(text.DidYouMean(name, commandNames(parent)), parent.CommandPath()+" --help lists the commands"),
		"%s has no command %q", parent.CommandPath(), name)
}

func commandNames(cmd *cobra.Command) []string {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return names
}

// Options are what the program was built with.
type Options struct {
	// Connect makes live models. nil: there are none, as in a build with the tag
	// nolive.
	Connect endpoint.Connect
}

type optionsKey struct{}

// within lets the commands that run within a context find the options.
func (o Options) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, optionsKey{}, o)
}

// connector gives what makes live models, for a command that needs one.
func connector(cmd *cobra.Command) (endpoint.Connect, error) {
	if o, _ := cmd.Context().Value(optionsKey{}).(Options); o.Connect != nil {
		return o.Connect, nil
	}
	return nil, misuse("build it without -tags nolive", "this build has no live models (tag nolive)")
}

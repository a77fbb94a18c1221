// Package cli is the agentbench command. [Main] is the whole program as a
// function. Each subcommand has its own file: it reads the flags, makes one
// library call and prints the answer.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/probe"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitPassed       = 0   // done, and every trial passed
	exitFailed       = 1   // a trial failed; others may be inconclusive
	exitUsage        = 2   // bad usage or bad input
	exitInconclusive = 3   // a trial could not be judged, or the machine failed (a full disk, say)
	exitInterrupted  = 130 // Ctrl-C
)

// Main runs the program with args (without the program's name) and returns its
// exit code. A first interrupt ends the work and keeps the results so far; a
// second one kills the process. A terminal that is closed interrupts too, unless the
// program was started to outlive it, as by nohup.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer, built Options) int {
	if len(args) > 0 && args[0] == probe.Word {
		return probe.Supervise(args[1:])
	}
	ends := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		ends = append(ends, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(built.within(context.Background()), ends...)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, args, stdin, stdout, stderr)
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(append([]string{}, args...)) // not nil, which would mean os.Args
	root.SetIn(stdin)
	out := screen(stdout)
	root.SetOut(out)
	if s, ok := out.(reports.Screen); ok {
		root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprintf(".FlagUsagesWrapped %d", s.Columns)))
	}
	root.SetErr(stderr)
	var unwritten error
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		kept := &shownOutput{Writer: cmd.OutOrStdout()}
		cmd.SetOut(kept)
		help(cmd, args)
		unwritten = kept.err
	})
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = unwritten
	}
	return report(stderr, err)
}

// report prints an error to stderr and returns its exit code.
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

// An exitCode ends the program with that code and prints nothing more.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// A usageError reports a mistake in the arguments or in the input.
type usageError struct{ problem, hint string }

func (e *usageError) Error() string { return e.problem }

// misuse returns a usageError. hint says what to do instead; it may be empty.
func misuse(hint, format string, args ...any) error {
	return &usageError{problem: fmt.Sprintf(format, args...), hint: hint}
}

// updateLocally is the hint where --ci forbids writing goldens.
const updateLocally = "update goldens on your machine, read what changed, and commit them"

// badInput turns an error of reading input into one whose exit code is
// exitUsage. nil stays nil.
func badInput(err error) error {
	var mistakes scenarios.Mistakes
	if err == nil || errors.As(err, &mistakes) {
		return err
	}
	return &usageError{problem: err.Error()}
}

// newRoot returns the root command with all subcommands.
func newRoot() *cobra.Command {
	version := false
	root := &cobra.Command{
		Use:   "agentbench",
		Short: "Test how an agent loop fails: does it stop when it should, and only then?",
		Long: `agentbench runs the loop of an LLM agent in scripted worlds: a model that
repeats itself, a tool that hangs, a stream that breaks. It shows whether the
loop's safety settings stop runaways and leave healthy work alone. Scripted
worlds need no network, run in virtual time and give the same result every time.

Exit codes: 0 passed, 1 failed, 2 bad usage or bad input, 3 inconclusive or a
failure of the machine (such as a full disk), 130 interrupted.

You can also set a flag with an environment variable: AGENTBENCH_SEEDS=5 is
--seeds 5, with commas between the values of a list. Or put it in a file
agentbench.yaml, in the working directory or a folder above it: seeds: 5 sets it
for every command, and below a command's name for that command. A flag beats its
variable, and a variable beats the file.`,
		Example: `  agentbench run                       run the embedded suites
  agentbench explain same-call-forever see what one scenario does
  agentbench replay runs/*.json        see what the limits would do to recorded runs`,
		Args:              cobra.ArbitraryArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			noteVariables(cmd)
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
	root.Flags().BoolVar(&version, "version", false, "print the version, like the command version")
	root.SetFlagErrorFunc(flagError)
	root.PersistentFlags().String("config", "", "read the flags that are not given from `FILE` (default: the nearest "+projectName+", here or in a folder above)")
	root.AddCommand(newRun(), newCompare(), newGate(), newGolden(), newReport(), newReplay(), newTune(), newFuzz(), newServe(), newProbe(), newMCP(), newWatch(), newRecord(), newCassette(), newSoak(), newList(), newExplain(), newValidate(), newInit(), newSchema(), newVersion())
	root.SetHelpCommand(newHelp(root))
	addCompletion(root)
	return root
}

// newHelp returns the command help. Unlike cobra's own, it fails for a command
// that does not exist.
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

// addCompletion adds cobra's command completion, with our examples and errors.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	cmd, _, err := root.Find([]string{"completion"})
	if err != nil {
		panic(err) // cobra has just added it
	}
	cmd.Short = "Print the script that completes commands in a shell"
	cmd.Example = "  source <(agentbench completion bash)\n  agentbench completion fish > ~/.config/fish/completions/agentbench.fish"
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return noCommand(cmd, args[0])
	}
	for _, shell := range cmd.Commands() {
		shell.Short = "Print the script for " + shell.Name()
		shell.Example = "  agentbench completion " + shell.Name()
		shell.Args = noArguments
	}
}

// noCommand returns the error for an unknown command, with the nearest name as
// the hint.
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

// Options are set by the build.
type Options struct {
	// Connect connects to live models. It is nil in a build with the tag nolive,
	// which has none.
	Connect endpoint.Connect
}

type optionsKey struct{}

// within returns a copy of ctx that holds the options, where commands find them.
func (o Options) within(ctx context.Context) context.Context {
	return context.WithValue(ctx, optionsKey{}, o)
}

// connector returns the function that connects to live models. A build without
// them is an error.
func connector(cmd *cobra.Command) (endpoint.Connect, error) {
	if o, _ := cmd.Context().Value(optionsKey{}).(Options); o.Connect != nil {
		return o.Connect, nil
	}
	return nil, misuse("build it without -tags nolive", "this build has no live models (tag nolive)")
}

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/tape"
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// oldCassette is the age at which a cassette should be recorded again, because
// models and their APIs change.
const oldCassette = 180 * 24 * time.Hour

type doctorFlags struct{ quiet bool }

func newCassette() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cassette",
		Short: "Look after cassettes, the recordings of live models",
		Long: `Look after cassettes, the recordings of live models that agentbench record makes.
docs/cassettes.md describes them.`,
		Example: "  agentbench cassette doctor my-scenarios/",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return noCommand(cmd, args[0])
		},
	}
	cmd.AddCommand(newDoctor())
	return cmd
}

func newDoctor() *cobra.Command {
	f := &doctorFlags{}
	cmd := &cobra.Command{
		Use:   "doctor PATH…",
		Short: "Find problems in cassettes",
		Long: `Examine cassettes and print their problems. A PATH is a cassette, or a folder with
cassettes in it or below it.

Errors: the file was cut or changed, it has a secret, a stream breaks off, it has
requests that the loop no longer sends, or it lacks requests that the loop sends
(with how they differ). Notes: recorded failures, equal requests, an age of half a
year.

The exit code is 1 if a cassette has an error.`,
		Example: `  agentbench cassette doctor refund.cassette.yaml
  agentbench cassette doctor my-scenarios/`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print only errors")
	return cmd
}

func (f *doctorFlags) run(cmd *cobra.Command, args []string) error {
	paths, err := findCassettes(args)
	if err != nil {
		return err
	}
	if _, err := connector(cmd); err != nil {
		return err
	}
	stdout, wrong := &shownOutput{Writer: cmd.OutOrStdout()}, 0
	for _, path := range paths {
		ill := false
		for _, p := range examine(cmd, path, time.Now()) {
			ill = ill || p.Wrong
			if p.Wrong || !f.quiet {
				fmt.Fprintf(stdout, "%s: %s\n", path, text.Line(p.String()))
			}
		}
		if ill {
			wrong++
		}
		if cmd.Context().Err() != nil {
			return exitCode(exitInterrupted)
		}
	}
	if !f.quiet {
		fmt.Fprintf(stdout, "%s, %d with errors\n", text.Count(len(paths), "cassette"), wrong)
	}
	switch {
	case stdout.err != nil:
		return stdout.err
	case wrong > 0:
		return exitCode(exitFailed)
	}
	return nil
}

// findCassettes returns the cassettes that args name, and those below the folders
// in args.
func findCassettes(args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, misuse("agentbench cassette doctor my-scenarios/", "doctor needs a cassette or a folder of cassettes")
	}
	var paths []string
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, misuse("", "cannot read %s: %s", arg, text.Reason(err))
		}
		if !info.IsDir() {
			if !strings.HasSuffix(arg, scenarios.CassetteSuffix) {
				return nil, misuse("the name of a cassette ends in "+scenarios.CassetteSuffix, "%s is not a cassette", arg)
			}
			paths = append(paths, arg)
			continue
		}
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && strings.HasSuffix(path, scenarios.CassetteSuffix) {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			return nil, misuse("", "cannot read %s: %s", arg, text.Reason(err))
		}
	}
	if len(paths) == 0 {
		return nil, misuse("the name of a cassette ends in "+scenarios.CassetteSuffix, "there is no cassette in %s", strings.Join(args, ", "))
	}
	return paths, nil
}

// examine returns the problems of one cassette.
func examine(cmd *cobra.Command, path string, now time.Time) []tape.Problem {
	whole := func(wrong bool, format string, args ...any) tape.Problem {
		return tape.Problem{Wrong: wrong, Text: fmt.Sprintf(format, args...)}
	}
	c, err := tape.Open(path, nil)
	if err != nil {
		return []tape.Problem{whole(true, "%s", strings.TrimPrefix(err.Error(), path+": "))}
	}
	head, redactor, err := headOf(path)
	if err != nil {
		return []tape.Problem{whole(true, "%s", strings.TrimPrefix(err.Error(), path+": "))}
	}
	all := c.Inspect(redactor)
	if rule := redactor.Leftover(string(c.Head)); rule != "" {
		all = append(all, whole(true, "its head has a secret (%s)", rule))
	}
	if age := now.Sub(head.Recorded); age > oldCassette {
		all = append(all, whole(false, "it is %d days old: record it again", int(age.Hours()/24)))
	}
	for _, x := range all {
		if x.Wrong {
			return all // a broken cassette is not played
		}
	}
	return append(all, examineSession(cmd, path)...)
}

// examineSession plays the cassette and returns where its requests differ from
// those of the loop.
func examineSession(cmd *cobra.Command, path string) []tape.Problem {
	_, _, err := playCassette(cmd, path)
	if err == nil {
		return nil
	}
	all := []tape.Problem{{Wrong: true, Text: err.Error()}}
	var miss *tape.Miss
	if errors.As(err, &miss) {
		for _, d := range miss.Drift() {
			all = append(all, tape.Problem{Interaction: miss.Nearest, Wrong: true, Text: "the request's shape has changed: " + d})
		}
	}
	return all
}

// player returns the function that plays the cassettes of scenarios.
func player(cmd *cobra.Command) scenarios.Player {
	return func(s *scenarios.Scenario) (fakes.Speaker, func() error, error) {
		connect, err := connector(cmd)
		if err != nil {
			return nil, nil, err
		}
		head, redactor, err := headOf(s.Cassette)
		if err != nil {
			return nil, nil, err
		}
		transport, err := tape.Begin(s.Cassette, tape.None, nil, redactor)
		if err != nil {
			return nil, nil, err
		}
		speak, err := head.Speaker(connect, transport)
		if len(s.Script.Faults) > 0 { // they may end the session before the recording ends
			return speak, func() error { return nil }, err
		}
		return speak, transport.Leftovers, err
	}
}

package cli

import (
	"errors"
	"fmt"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/probe"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// notOfBoundary are the flags about results: --boundary prints a number, and has none.
var notOfBoundary = []string{"output", "format", "trials", "jobs", "keep-traces", "goldens", "update"}

// refuseGiven returns an error if one of the flags is given as an argument. What the
// project's file sets for all of a command is not meant for this one.
func refuseGiven(cmd *cobra.Command, flags []string) error {
	for _, name := range flags {
		if flag := cmd.Flags().Lookup(name); flag.Changed && !fromProject(flag) {
			return misuse("leave one of them out", "--boundary prints a number and has no results, so that --%s means nothing", name)
		}
	}
	return nil
}

// findBoundary finds by bisection how often a scenario must repeat itself until the
// agent stops it.
func (f *probeFlags) findBoundary(cmd *cobra.Command, a *probe.Agent, s *scenarios.Scenario, own *probe.Tool, screen *probeScreen) error {
	if why := probe.NotAsked(s, own); why != "" {
		return misuse("agentbench list scenarios --format json says what each needs", "%s cannot be asked of this agent: it %s", s.ID(), why)
	}
	say := func(format string, args ...any) {
		if !screen.quiet {
			fmt.Fprintf(screen.w, format+"\n", args...)
		}
	}
	n, err := a.Boundary(cmd.Context(), s, own, uint64(f.seed), int(f.cap), func(n int, r *scenarios.Result) {
		what := "it came to its end"
		if r.Verdict != scenarios.Pass {
			what = r.Why
		}
		say("%s: %s", text.Count(n, "time"), text.Cut(text.Line(what), 120))
	})
	var cannot *probe.BoundaryError
	switch {
	case cmd.Context().Err() != nil:
		return exitCode(exitInterrupted)
	case errors.As(err, &cannot) && cannot.Usage:
		return misuse("such as same-call-forever: its model must have a step that repeats forever", "%s", cannot.Problem)
	case errors.As(err, &cannot):
		fmt.Fprint(cmd.ErrOrStderr(), text.Lines("error: "+cannot.Problem))
		return exitCode(exitInconclusive)
	case err != nil:
		return err
	case n == 0:
		say("\n%s: not stopped within %s", text.Line(s.ID()), text.Count(int(f.cap), "time"))
		return exitCode(exitFailed)
	case n == 1:
		say("\n%s: stopped at the first time", text.Line(s.ID()))
	default:
		say("\n%s: %s pass, %d are stopped", text.Line(s.ID()), text.Count(n-1, "time"), n)
	}
	return nil
}

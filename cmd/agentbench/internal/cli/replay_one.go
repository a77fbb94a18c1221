package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// checkOne reports flags that contradict --run.
func (f *replayFlags) checkOne(cmd *cobra.Command) error {
	switch {
	case f.quiet:
		return misuse("leave one of them out", "--run and --quiet contradict each other")
	case cmd.Flags().Changed("format"):
		return misuse("leave one of them out", "--format and --run contradict each other: --run prints a trace")
	case len(f.files) > 0:
		return misuse("agentbench replay -o writes the results of all runs", "-o and --run contradict each other: --run prints a trace")
	}
	return nil
}

// showOne shows what the variants would have done to one run.
func (f *replayFlags) showOne(cmd *cobra.Command, runs *recordedRuns, variants []scenarios.Variant) error {
	t, broken, err := f.chosen(cmd, runs, f.one)
	if err != nil {
		return err
	}
	stdout, redact := cmd.OutOrStdout(), redactor().Text
	label := "without a label"
	if t.Label != trajectories.Unlabelled {
		label = "labelled " + string(t.Label)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: a recorded run of %s, %s\n", text.Line(t.ID()), text.Count(t.OwnCalls(), "call"), label)
	for _, v := range variants {
		result, trace, err := trajectories.Play(cmd.Context(), t, v)
		if err != nil {
			return err
		}
		lost, err := trajectories.NotRun(cmd.Context(), t, v)
		if err != nil && result.Verdict != scenarios.Inconclusive {
			return err
		}
		var notRun []string
		for _, c := range lost {
			notRun = append(notRun, "  "+text.Line(redact(c.Name+" "+c.Args)))
		}
		trace = result.Redact(trace, redact)
		reports.ExplainReplay(&b, result, trace, notRun, f.colour(stdout), f.lines())
	}
	_, err = fmt.Fprint(stdout, b.String())
	return cmp.Or(err, broken)
}

// lines returns how many lines of a trace are shown, 0 = all.
func (f *replayFlags) lines() int {
	if f.verbose || f.ci {
		return 0
	}
	return shownLines
}

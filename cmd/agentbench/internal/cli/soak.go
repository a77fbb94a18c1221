package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fuzz/soak"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/spf13/cobra"
)

const (
	soakConversations = 1000
	soakRounds        = 20
	mostConversations = 100_000
)

// overBoth is the value of --over for process and then http.
const overBoth = "both"

type soakFlags struct {
	conversations count
	rounds        count
	time          time.Duration
	watchdog      time.Duration
	over          string
	output        string
	quiet         bool
	noColor       bool
}

func newSoak() *cobra.Command {
	f := &soakFlags{conversations: soakConversations, rounds: soakRounds, over: overBoth}
	cmd := &cobra.Command{
		Use:   "soak",
		Short: "Run many conversations at once, in real time, to find deadlocks and leaks",
		Long: `Run the loop in its live world, with goroutines, timers and the real clock. Many
scripted conversations run at once, and a new one starts when one ends: healthy
ones, a runaway, an error spiral, flaky and hung tools, a tool that ignores its
cancel, a busy model, a user who gives up. Their model is first a function in this
process, and then agentbench's own server, which real clients ask over HTTP.

soak passes if every conversation ends as its script does in the simulated world,
none stands still, no goroutine or file is left over, and memory does not grow: what
is left after the second half of the conversations is compared with what was left
after the first, and the heap is watched under the steady load. Ctrl-C cancels all
conversations; each must end properly, the last one within 2 s. The exit code is 1
if soak does not pass.`,
		Example: `  agentbench soak
  agentbench soak -n 10000 --over process --rounds 3
  agentbench soak --time 10m -o soak.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().VarP(&f.conversations, "conversations", "n", "run `N` conversations at once")
	cmd.Flags().Var(&f.rounds, "rounds", "run `N` conversations one after another in each place; it takes two to see memory grow")
	cmd.Flags().DurationVar(&f.time, "time", 0, "start conversations for this `DURATION`, such as 60s, instead of a number of rounds")
	cmd.Flags().DurationVar(&f.watchdog, "watchdog", 30*time.Second, "report a deadlock if a conversation stands still for this `DURATION`")
	addChoice(cmd, &f.over, "over", "how the loop asks the model: process (a function call), http, or both, one after the other", string(soak.Process), string(soak.HTTP), overBoth)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "also write the figures to `FILE`.json")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print nothing; the exit code has the verdict")
	addNoColor(cmd, &f.noColor)
	return cmd
}

func (f *soakFlags) run(cmd *cobra.Command) error {
	if err := f.check(cmd); err != nil {
		return err
	}
	ways := []soak.Over{soak.Over(f.over)}
	if f.over == overBoth {
		ways = []soak.Over{soak.Process, soak.HTTP}
	}
	var all []*soak.Report
	code := exitPassed
	for _, over := range ways {
		o := soak.Options{Over: over, Conversations: int(f.conversations), Rounds: int(f.rounds), Time: f.time, Watchdog: f.watchdog}
		if f.time > 0 {
			o.Rounds = 0
		}
		r, err := soak.Run(cmd.Context(), o)
		if err != nil {
			return err
		}
		all = append(all, r)
		if !f.quiet {
			out := &shownOutput{Writer: cmd.OutOrStdout()}
			if showSoak(out, r); out.err != nil {
				return out.err
			}
		}
		if !r.Passed() {
			code = exitFailed
		}
		if cmd.Context().Err() != nil {
			break
		}
	}
	if err := f.write(cmd.ErrOrStderr(), all); err != nil {
		return err
	}
	switch {
	case code != exitPassed:
		return exitCode(code)
	case cmd.Context().Err() != nil:
		return exitCode(exitInterrupted)
	}
	return nil
}

func (f *soakFlags) check(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	switch {
	case f.conversations > mostConversations:
		return misuse("more would test the machine, not the loop", "-n must be at most %d, not %d", mostConversations, f.conversations)
	case changed("time") && f.time <= 0:
		return misuse("such as 60s", "--time must be longer than 0s, not %v", f.time)
	case changed("time") && changed("rounds"):
		return misuse("leave one of them out", "--time and --rounds contradict each other")
	case f.watchdog < time.Second:
		return misuse("such as 30s", "--watchdog must be at least 1s, not %v", f.watchdog)
	case f.output != "" && filepath.Ext(f.output) != ".json":
		return misuse("give it a name that ends in .json", "cannot write %q: soak writes only json", f.output)
	}
	if most := openFileLimit(); f.over != string(soak.Process) && most > 0 && uint64(f.conversations)*2+100 > most {
		return misuse("ulimit -n raises the limit; --over process needs no files", "-n %d over HTTP needs %d open files, and the limit is %d", f.conversations, f.conversations*2+100, most)
	}
	return nil
}

func (f *soakFlags) write(stderr io.Writer, all []*soak.Report) error {
	if f.output == "" {
		return nil
	}
	out, err := createFile(stderr, f.output)
	if err != nil {
		return err
	}
	doc, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = out.Write(text.JSON(append(doc, '\n')))
	}
	if err != nil {
		out.Discard()
		return err
	}
	if err := out.Commit(); err != nil {
		return fmt.Errorf("%w%s", err, earlier(out.Path()))
	}
	return nil
}

// showSoak prints the figures of a report.
func showSoak(w io.Writer, r *soak.Report) {
	seconds := r.Elapsed.Seconds()
	fmt.Fprintf(w, "over %s: %s at once, %s in all, %s\n", r.Over, text.Count(r.Conversations, "conversation"), number(r.Ended), took(r.Elapsed))
	fmt.Fprintf(w, "  throughput    %s conversations, %s turns and %s requests a second\n",
		number(int(float64(r.Ended)/seconds)), number(int(float64(r.Turns)/seconds)), number(int(float64(r.Requests)/seconds)))
	fmt.Fprintf(w, "  conversation  %s\n", quantiles(r.Conversation))
	fmt.Fprintf(w, "  request       %s\n", quantiles(r.Request))
	slope := "no slope (too few samples under a steady load)"
	if r.Samples >= soak.LeastSamples {
		slope = fmt.Sprintf("slope %+.0f bytes a conversation (%d samples)", r.Slope, r.Samples)
	}
	fmt.Fprintf(w, "  memory        peak %d MiB, %s, GC %.0f %% of the time\n", r.Peak>>20, slope, 100*r.GCShare)
	growth := "not known (it takes two rounds)"
	if grown, each, known := r.Growth(); known {
		growth = fmt.Sprintf("%+d KiB from the first half to the second, %+.0f bytes a conversation", int64(grown)/1024, each)
	}
	fmt.Fprintf(w, "  growth        %s\n", growth)
	files := "not measured"
	if r.Files[0] >= 0 {
		files = fmt.Sprintf("%d before, %d after", r.Files[0], r.Files[1])
	}
	fmt.Fprintf(w, "  left over     heap %+d KiB; goroutines %d before, %d after; open files %s\n",
		(int64(r.HeapAfter)-int64(r.HeapBefore))/1024, r.Goroutines[0], r.Goroutines[1], files)
	if r.Interrupted {
		fmt.Fprintf(w, "  interrupted   %s cancelled, the last one after %s\n", text.Count(r.Cancelled, "conversation"), took(r.EndTook))
	}
	for _, line := range r.Wrong {
		fmt.Fprintf(w, "  wrong         %s\n", text.Line(line))
	}
	for _, goroutine := range r.Stuck {
		fmt.Fprintf(w, "  stuck         %s", strings.ReplaceAll(text.Lines(goroutine), "\n", "\n                "))
		fmt.Fprintln(w)
	}
	if r.Passed() {
		fmt.Fprintln(w, "  passed")
	}
	for _, p := range r.Problems {
		fmt.Fprintf(w, "  FAILED        %s\n", text.Line(p))
	}
}

// quantiles writes the quantiles that are known.
func quantiles(q soak.Quantiles) string {
	words := "p50 " + took(q.P50)
	if q.P95 > 0 {
		words += ", p95 " + took(q.P95)
	}
	if q.P99 > 0 {
		words += ", p99 " + took(q.P99)
	}
	return words
}

// took formats a duration with about three digits.
func took(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

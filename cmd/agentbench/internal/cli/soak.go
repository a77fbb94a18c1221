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

// overBoth is the word for one way after the other.
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
		Short: "Run many conversations at once, in real time, and look for deadlocks and leaks",
		Long: `Run the loop in its live world: goroutines, timers, the clock. Many scripted
conversations are at work at once, and where one ends the next begins: healthy
ones, a runaway, an error spiral, flaky and hung tools, one that is deaf to its
cancel, a busy model, a user who gives up. Their model is a function in this
process, then one behind HTTP: agentbench's own server, asked by real clients.

The verdict is a pass if every conversation ended as its script does in the
simulated world, none stood still, and nothing is left over: no goroutine, no
file, no memory; and under the steady load memory has a slope of about zero (less
than 512 bytes a conversation). Ctrl-C ends all of them: each must be cancelled
in order, and the last one within 2 s. The exit code is 1 if the verdict is none.`,
		Example: `  agentbench soak
  agentbench soak -n 10000 --over process --rounds 3
  agentbench soak --time 10m -o soak.json`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().VarP(&f.conversations, "conversations", "n", "keep that many at work at once")
	cmd.Flags().Var(&f.rounds, "rounds", "have so many conversations one after another in each place")
	cmd.Flags().DurationVar(&f.time, "time", 0, "begin conversations for that long, such as 60s, instead of a number of rounds")
	cmd.Flags().DurationVar(&f.watchdog, "watchdog", 30*time.Second, "call it a deadlock when a conversation stands still for that long")
	addChoice(cmd, &f.over, "over", "what is between the loop and the model: process (nothing), http, or both, one after the other", string(soak.Process), string(soak.HTTP), overBoth)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write the figures to `FILE`.json as well")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "show nothing: the exit code tells")
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
		return misuse("more than that is a test of the machine", "-n is at most %d, not %d", mostConversations, f.conversations)
	case changed("time") && f.time <= 0:
		return misuse("such as 60s", "--time must be longer than nothing, not %v", f.time)
	case changed("time") && changed("rounds"):
		return misuse("leave one of them out", "--time and --rounds contradict each other")
	case f.watchdog < time.Second:
		return misuse("such as 30s", "--watchdog must be a second or more, not %v", f.watchdog)
	case f.output != "" && filepath.Ext(f.output) != ".json":
		return misuse("give it a name that ends in .json", "cannot write %q: figures are written in the format json only", f.output)
	}
	if most := openFileLimit(); f.over != string(soak.Process) && most > 0 && uint64(f.conversations)*2+100 > most {
		return misuse("ulimit -n raises it; --over process needs none", "-n %d over HTTP needs %d open files, and the limit is %d", f.conversations, f.conversations*2+100, most)
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
	return out.Commit()
}

// showSoak writes the figures of one way.
func showSoak(w io.Writer, r *soak.Report) {
	seconds := r.Elapsed.Seconds()
	fmt.Fprintf(w, "over %s: %s at once, %s in all, %s\n", r.Over, text.Count(r.Conversations, "conversation"), number(r.Ended), took(r.Elapsed))
	fmt.Fprintf(w, "  throughput    %s conversations, %s turns and %s requests a second\n",
		number(int(float64(r.Ended)/seconds)), number(int(float64(r.Turns)/seconds)), number(int(float64(r.Requests)/seconds)))
	fmt.Fprintf(w, "  conversation  p50 %s, p95 %s, p99 %s\n", took(r.Conversation.P50), took(r.Conversation.P95), took(r.Conversation.P99))
	fmt.Fprintf(w, "  request       p50 %s, p95 %s, p99 %s\n", took(r.Request.P50), took(r.Request.P95), took(r.Request.P99))
	slope := "no slope (too few samples under a steady load)"
	if r.Samples >= soak.LeastSamples {
		slope = fmt.Sprintf("slope %+.0f bytes a conversation (%d samples)", r.Slope, r.Samples)
	}
	fmt.Fprintf(w, "  memory        peak %d MiB, %s, GC %.0f %% of the time\n", r.Peak>>20, slope, 100*r.GCShare)
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

// took writes a duration as people read it.
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

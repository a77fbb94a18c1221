package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/drive"
	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/cassettes/tape"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/events"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type recordFlags struct {
	modelFlags
	redactFlags
	output  string
	results string
	mode    tape.Mode
	chat    bool
	check   bool
	update  bool
	variant string
	seed    seed
	ci      bool
	quiet   bool
	noColor bool

	held *outfile.File // keeps other runs from recording the cassette, nil = none
}

func newRecord() *cobra.Command {
	f := &recordFlags{seed: 1, mode: tape.Rewrite}
	cmd := &cobra.Command{
		Use:   "record SCENARIO | --chat [SCENARIO] | --check CASSETTE…",
		Short: "Record a live model in a scenario's world, and check recordings",
		Long: `Run a scenario's task with a live model instead of its script, and record the HTTP
traffic in a cassette. The scenario's tools and user answer; the loop's retries,
limits and detectors work as in agentbench run. --model or OPENAI_MODEL names the
model, --base-url or OPENAI_BASE_URL the endpoint, and OPENAI_API_KEY has the key.
agentbench.yaml can set all but the key, and a file .env can set all three.

Before it writes anything, record replaces keys, tokens and personal data by
placeholders. It writes the trace beside the cassette as a golden. --check plays
cassettes without a network: each must give the trace of its golden. A scenario
with the key cassette plays its cassette in run, compare and golden.

--chat lets you talk to the model at a prompt, with the tools of a scenario if you
name one, and records the conversation.`,
		Example: `  agentbench record my-scenarios/refund.yaml --model gpt-4.1-mini
  agentbench record --check my-scenarios/*.cassette.yaml
  agentbench record --chat --model gpt-4.1-mini -o talk.cassette.yaml`,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			return startingWith(start, embeddedNames()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	f.modelFlags.add(cmd)
	f.redactFlags.add(cmd)
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write the cassette to `FILE`, whose name must end in "+scenarios.CassetteSuffix+" (default: the scenario's key cassette, or NAME"+scenarios.CassetteSuffix+" here)")
	cmd.Flags().StringVar(&f.results, "results", "", "also write the result of each session to `FILE`.jsonl, for report and gate")
	addChoice(cmd, &f.mode, "record-mode", "what to record: none, once (if there is no cassette yet), new (requests that the cassette lacks) or rewrite (everything)", tape.Modes()...)
	cmd.Flags().BoolVar(&f.chat, "chat", false, "talk to the model at a prompt")
	cmd.Flags().BoolVar(&f.check, "check", false, "play cassettes without a network and compare the traces with their goldens")
	cmd.Flags().BoolVarP(&f.update, "update", "u", false, "with --check: rewrite the goldens")
	cmd.Flags().StringVar(&f.variant, "variant", "", "run under this `VARIANT`, a preset or a YAML file (default: the scenario's own)")
	completeVariant(cmd)
	cmd.Flags().Var(&f.seed, "seed", "the seed of the scenario's random numbers")
	cmd.Flags().BoolVar(&f.ci, "ci", false, "record and write nothing, as with --record-mode none")
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print only errors")
	addNoColor(cmd, &f.noColor)
	return cmd
}

func (f *recordFlags) run(cmd *cobra.Command, args []string) error {
	if err := f.checkResults(); err != nil {
		return err
	}
	switch {
	case f.check && f.chat:
		return misuse("leave one of them out", "--check and --chat contradict each other")
	case f.update && !f.check:
		return misuse("without --check, record always writes the golden", "--update needs --check")
	case f.update && f.ci:
		return misuse(updateLocally, "--update and --ci contradict each other")
	case f.check:
		return f.checkAll(cmd, args)
	case len(args) > 1:
		return misuse("a cassette has one conversation", "record takes one scenario, not %d", len(args))
	case len(args) == 0 && !f.chat:
		return misuse("name a scenario, or talk to the model with --chat", "record needs a scenario")
	}
	if f.ci {
		if cmd.Flags().Changed("record-mode") && f.mode != tape.None {
			return misuse("record on your machine, read the cassette, and commit it", "--record-mode %s and --ci contradict each other", f.mode)
		}
		f.mode = tape.None
	}
	s, path, err := f.session(cmd, args)
	if f.held != nil {
		defer f.held.Discard()
	}
	if err != nil {
		return err
	}
	if f.chat {
		return f.talk(cmd, s, path)
	}
	stderr := cmd.ErrOrStderr()
	if !f.quiet {
		s.Watch = f.progress(stderr, s)
		if !f.plays(path) {
			fmt.Fprintf(stderr, "asking %s at %s\n", text.Line(s.Settings.Model), text.Line(hostOf(s.Settings.BaseURL)))
		}
	}
	return f.record(cmd, s, path)
}

// session returns the session to record and the path of its cassette.
func (f *recordFlags) session(cmd *cobra.Command, args []string) (*drive.Session, string, error) {
	connect, err := connector(cmd)
	if err != nil {
		return nil, "", err
	}
	scenario, err := f.scenario(args)
	if err != nil {
		return nil, "", err
	}
	path := f.output
	if path == "" {
		path = cmp.Or(scenario.Cassette, scenario.Name+scenarios.CassetteSuffix)
	}
	if !strings.HasSuffix(path, scenarios.CassetteSuffix) {
		return nil, "", misuse("such as "+strings.TrimSuffix(path, filepath.Ext(path))+scenarios.CassetteSuffix, "the name of a cassette must end in %s, unlike that of a scenario: %s", scenarios.CassetteSuffix, path)
	}
	s := &drive.Session{Scenario: scenario, Seed: uint64(f.seed), Connect: connect}
	world, err := drive.World(scenario)
	if err != nil {
		return nil, "", err
	}
	own := []string{string(world)}
	var recorded *endpoint.Settings
	if f.plays(path) && fileExists(path) {
		head, _, err := headOf(path)
		if err != nil {
			return nil, "", recordError(err)
		}
		recorded = &head.Model
		own = append(own, string(head.Scenario))
	}
	if s.Settings, err = f.settings(cmd, scenario.Script.Planner == loop.PlannerJSON, recorded); err != nil {
		return nil, "", err
	}
	if s.Redactor, s.Redact, err = f.redactor(s.Settings.Key, own); err != nil {
		return nil, "", err
	}
	return s, path, f.mayWrite(path)
}

// plays reports whether every reply comes from the cassette, and none from the
// endpoint.
func (f *recordFlags) plays(path string) bool {
	return f.mode == tape.None || f.mode == tape.Once && fileExists(path)
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// mayWrite returns an error if a file of this recording cannot be written, before
// the endpoint is asked: its replies may cost money. It keeps other runs from recording
// the same cassette.
func (f *recordFlags) mayWrite(path string) error {
	var paths []string
	if f.mode != tape.None {
		paths = append(paths, path, goldenOf(path))
	}
	if f.results != "" {
		paths = append(paths, f.results)
	}
	for _, path := range paths {
		out, err := createFile(io.Discard, path)
		var usage *usageError
		if errors.As(err, &usage) {
			return misuse("name a file in a folder that you may write to", "%s", usage.problem)
		} else if err != nil {
			return err
		}
		if f.held == nil && f.mode != tape.None {
			f.held = out // the cassette's
			continue
		}
		out.Discard()
	}
	return nil
}

// scenario returns the scenario to record, or an empty one for --chat, under the
// variant of --variant.
func (f *recordFlags) scenario(args []string) (*scenarios.Scenario, error) {
	s := &scenarios.Scenario{Suite: "chat", Name: "chat", Description: "A talk with a live model.", Label: scenarios.Healthy}
	s.Script.Name = s.ID() // as a player of the cassette loads it
	variant := f.variant
	if len(args) > 0 {
		found, err := findScenario(args[0])
		if err != nil {
			return nil, err
		}
		copied := *found
		s = &copied
	} else {
		variant = cmp.Or(variant, scenarios.DefaultVariant)
	}
	if variant != "" {
		v, err := loadVariant(variant)
		if err != nil {
			return nil, err
		}
		s.Variant, s.Config = v, v.Config
	}
	return s, nil
}

func hostOf(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return base
	}
	return u.Host
}

// progress returns a function that prints calls and warnings as they happen. A log
// is more public than a cassette, so the lines are redacted in the same way. Those of
// sub-runs are indented and begin with their path.
func (f *recordFlags) progress(w io.Writer, s *drive.Session) func(loop.Record) {
	readers := map[loop.Path]*events.Reader{}
	redact := terminal(s)
	return func(rec loop.Record) {
		rec = rec.Map(redact)
		reader, lead := readers[rec.Path], ""
		if reader == nil {
			reader = &events.Reader{}
			readers[rec.Path] = reader
		}
		if rec.Path != "" {
			lead = strings.Repeat("  ", rec.Path.Depth()) + string(rec.Path) + " "
		}
		if in := rec.In; in.Kind == loop.ModelFailure {
			fmt.Fprintf(w, "%swarning: the endpoint failed%s: %s\n", lead, status(in.Status), text.Cut(text.Line(in.Text), 300))
		}
		for _, e := range reader.Read(rec) {
			if line := cmp.Or(e.Progress(s.Scenario.Config.Limits.Turns), warning(e)); line != "" {
				fmt.Fprintln(w, lead+text.Line(line))
			}
		}
	}
}

// terminal returns the function that redacts a session's texts for the terminal.
func terminal(s *drive.Session) func(string) string {
	r := s.Redactor()
	return func(text string) string { return r.Body("", text) }
}

// status returns an HTTP status as the end of a phrase, "" for 0.
func status(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" with the status %d", n)
}

// warning returns the warning for an event, "" = none.
func warning(e events.Event) string {
	switch e.Kind {
	case events.ModelRetry:
		return fmt.Sprintf("warning: the request is sent again (attempt %d)", e.Ref.Try)
	case events.ModelTimeout:
		return "warning: the request was given up: " + e.Text
	case events.CallRetry:
		return fmt.Sprintf("warning: %s is called again (attempt %d)", e.Tool, e.Ref.Try)
	case events.Truncated:
		return "warning: the result of " + e.Tool + " was cut"
	case events.Trimmed:
		return "warning: old messages were dropped from the conversation"
	case events.Compacted:
		return "warning: old messages were summed up"
	case events.Alert:
		return "warning: alert: " + e.Text
	case events.CallTimeout:
		return "warning: " + e.Tool + " took too long"
	case events.Nudge:
		return "warning: the model was told that it repeats itself (" + e.Text + ")"
	case events.LimitNear:
		return "warning: a limit is near"
	case events.CallEnded:
		if e.Why != loop.Executed {
			return "warning: " + e.Tool + " was not executed: " + e.Text
		}
		if e.Code != loop.None {
			return "warning: " + e.Tool + " failed: " + e.Text
		}
	}
	return ""
}

// record records the session, plays the cassette, checks that both traces agree,
// and prints the result.
func (f *recordFlags) record(cmd *cobra.Command, s *drive.Session, path string) error {
	ctx := cmd.Context()
	played, err := s.Record(ctx, path, f.mode, network(), Version, time.Now())
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(cmd.ErrOrStderr(), "interrupted")
		if played == nil || played.Recorded == 0 { // no run has ended
			return exitCode(exitInterrupted)
		}
	case errors.Is(err, drive.ErrNoAnswer):
		fmt.Fprintf(cmd.ErrOrStderr(), "error: there is no answer, and nothing is recorded: %s\n", text.Line(terminal(s)(played.Runs[0].Reason)))
		return exitCode(exitInconclusive)
	case err != nil:
		return recordError(redactedError{err, terminal(s)})
	}
	driven, again, err := playCassette(cmd, path)
	if err != nil {
		return recordError(fmt.Errorf("the recording cannot be played: %w", err))
	}
	if err := same(played, again); err != nil {
		io.WriteString(cmd.ErrOrStderr(), text.Lines("error: "+err.Error()))
		return exitCode(exitFailed)
	}
	if f.mode != tape.None {
		if err := writeGolden(cmd.ErrOrStderr(), path, s, again); err != nil {
			return err
		}
	}
	driven.Settings = s.Settings // with the endpoint that was asked
	if err := f.writeResults(cmd.ErrOrStderr(), []recorded{{driven, again}}); err != nil {
		return err
	}
	if !f.quiet {
		out := &shownOutput{Writer: cmd.OutOrStdout()}
		showPlayed(out, path, again)
		if showRedacted(out, played.Redacted); out.err != nil {
			return out.err
		}
	}
	if ctx.Err() != nil {
		return exitCode(exitInterrupted)
	}
	return nil
}

// network returns the transport to the endpoint. It uses the proxy that the
// environment names, if any.
func network() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 1
	return t
}

// A redactedError is an error whose text may be from an endpoint.
type redactedError struct {
	error
	redact func(string) string
}

func (e redactedError) Error() string { return e.redact(e.error.Error()) }
func (e redactedError) Unwrap() error { return e.error }

// recordError turns an error of a session into a usage error. For a request that
// the cassette lacks it adds a hint.
func recordError(err error) error {
	var miss *tape.Miss
	if errors.As(err, &miss) {
		return misuse("the loop's requests have changed: record the scenario again, or with --record-mode new only the missing requests", "%s", miss)
	}
	return misuse("", "%s", err)
}

// goldenOf returns the path of a cassette's golden.
func goldenOf(path string) string { return strings.TrimSuffix(path, ".yaml") + ".golden" }

// writeGolden writes the trace of a played cassette as its golden.
func writeGolden(stderr io.Writer, path string, s *drive.Session, p *drive.Played) error {
	g := &goldens.Golden{Scenario: s.Scenario.ID(), Variant: s.Scenario.Variant.Name, Seed: s.Seed, Trace: p.Trace.String()}
	out, err := createMode(stderr, goldenOf(path), 0o600)
	if err != nil {
		return err
	}
	if _, err := out.Write(g.Format()); err != nil {
		out.Discard()
		return err
	}
	return out.Commit()
}

// same returns an error if playing a recording gives another trace than the
// session had. If something was redacted the texts differ, so it compares only the
// number of steps.
func same(live, again *drive.Played) error {
	const bug = "the recording does not match the session (this is a bug of agentbench): "
	if live.Recorded == 0 {
		return nil
	}
	if len(live.Redacted) > 0 || len(live.Runs) != len(again.Runs) { // the last run was interrupted
		if n := min(len(live.Trace), len(again.Trace)); n < len(again.Trace) {
			return fmt.Errorf("%sit has %d steps, and the session had %d", bug, len(again.Trace), n)
		}
		return nil
	}
	g := &goldens.Golden{Trace: live.Trace.String()}
	if d := g.Compare(again.Trace); d != nil {
		return fmt.Errorf("%s\n%s", bug, d)
	}
	return nil
}

// showRedacted prints how many secrets of each kind were redacted.
func showRedacted(w io.Writer, redacted map[string]int) {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(redacted)) {
		kinds = append(kinds, fmt.Sprintf("%d × %s", redacted[kind], text.Line(kind)))
	}
	if len(kinds) > 0 {
		fmt.Fprintf(w, "redacted: %s\n", strings.Join(kinds, ", "))
	}
}

// showPlayed prints the result of each run of a session, and the files.
func showPlayed(w io.Writer, path string, p *drive.Played) {
	for _, out := range p.Runs {
		fmt.Fprintf(w, "%s (%s): %s\n", out.End, text.Line(string(out.Stop)), text.Line(cmp.Or(out.Answer, out.Reason)))
		cost := ""
		if out.Cost > 0 { // an endpoint without a known price
			cost = fmt.Sprintf(", $%.6f", float64(out.Cost)/1e9)
		}
		fmt.Fprintf(w, "  %s, %s, %s, %d + %d tokens%s, %s\n", text.Count(out.Turns, "turn"), text.Count(out.ModelCalls, "request"), text.Count(out.Calls, "call"),
			out.TokensIn, out.TokensOut, cost, out.Elapsed.Round(time.Millisecond))
	}
	fmt.Fprintf(w, "cassette %s, golden %s\n", text.Line(path), text.Line(goldenOf(path)))
}

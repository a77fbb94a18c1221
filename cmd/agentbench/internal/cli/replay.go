package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type replayFlags struct {
	outputFlags
	variants   []string
	recordings recordingFlags
	toScenario string
	one        string // the run to show
	shapes     shapeFlags
	jobs       jobs
}

func newReplay() *cobra.Command {
	f := &replayFlags{}
	cmd := &cobra.Command{
		Use:   "replay [PATH…]",
		Short: "Show what variants would have done to recorded runs",
		Long: `Feed the replies and results of recorded runs to the loop, and show which runs
each variant would have stopped. A PATH is a file, a folder or a glob. A folder
means all files in it that may be recorded; agentbench list formats says what can be
read. Recorded HTTP traffic with an LLM API is read as the conversations in it. Files
may be compressed with gzip or zstd.

The next recorded reply follows whatever the variant did, and recorded errors are
final: nothing is retried, nothing times out. replay reports and does not judge.
If a record or a label cannot be read, the others are still replayed and the exit
code is 2. A file with nothing to replay, such as embeddings, is named and is not an error.

With --to-scenario, replay writes one recorded run as a scenario for agentbench
run and agentbench golden. It plays as the run was replayed under the variant.

With --run, replay shows one recorded run: the trace under each variant to the point
where it stops, and the recorded calls that did not run.

With --shapes, replay writes the shapes of the runs and replays nothing. A shape
holds which call, result and error came when, and no content: it can be shared,
and every command that reads recorded runs reads it.`,
		Example: `  agentbench replay runs/
  agentbench replay 'logs/*.jsonl' --variant hpd-agent --variant my-limits.yaml
  agentbench replay testdata/cassettes/ --verbose
  agentbench replay chat.json --input-format openai-chat -o results.jsonl
  agentbench replay logs/ --input-map our-logs.yaml
  agentbench replay runs/ --run task=3,trial=0 --variant my-limits.yaml
  agentbench replay runs/ --to-scenario task=3,trial=0 -o stuck.yaml
  agentbench replay runs/ --shapes -o traffic.shapes
  agentbench replay --variant my-limits.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	addVariants(cmd, &f.variants, "replay under this `VARIANT`, a preset or a YAML file; can be repeated (default "+scenarios.DefaultVariant+")")
	f.recordings.add(cmd)
	cmd.Flags().Func("run", "show what the variants would have done to the recorded run called `NAME`: its trace to the stop, and the calls that did not run", once(&f.one))
	cmd.Flags().Func("to-scenario", "write the recorded run called `NAME` as a scenario, to the file of -o or the standard output", once(&f.toScenario))
	f.shapes.add(cmd)
	addJobs(cmd, &f.jobs)
	f.outputFlags.add(cmd)
	return cmd
}

// once returns the setter of a flag that names one run: none would be all of them, and of
// two the last would win in silence.
func once(run *string) func(string) error {
	return func(name string) error {
		switch {
		case name == "":
			return errors.New("it is empty: name one run")
		case *run != "" && *run != name:
			return fmt.Errorf("it is already %s, and one run is taken", text.Line(*run))
		}
		*run = name
		return nil
	}
}

func (f *replayFlags) run(cmd *cobra.Command, paths []string) error {
	check := f.check
	switch {
	case f.shapes.write || f.shapes.given(f.files):
		check = f.checkShapes
	case f.toScenario != "":
		check = f.checkScenario
	case f.one != "":
		check = f.checkOne
	}
	if err := check(cmd); err != nil {
		return err
	}
	if !f.shapes.write && (f.shapes.names || f.shapes.corpus != "") {
		return misuse("--shapes writes them", "--names and --corpus say what is written of shapes")
	}
	if err := f.checkFolders(); err != nil { // before the work, of which there may be much
		return err
	}
	names := f.variants
	if len(names) == 0 {
		names = []string{scenarios.DefaultVariant}
	}
	variants, err := loadVariants(names)
	if err != nil {
		return err
	}
	runs, err := f.recordings.open(paths)
	if err != nil {
		return err
	}
	switch {
	case f.shapes.write:
		return f.writeShapes(cmd, runs)
	case f.toScenario != "":
		return f.writeScenario(cmd, runs, variants[0])
	case f.one != "":
		return f.showOne(cmd, runs, variants)
	}
	return f.trials(cmd, runs, variants)
}

// trials replays the runs, writes their results and shows the counts.
func (f *replayFlags) trials(cmd *cobra.Command, runs *recordedRuns, variants []scenarios.Variant) error {
	var blind blindSpots
	var count corpusCount
	out, skipped, err := f.replayStream(cmd, runs, variants, int(f.jobs.count), func(r *scenarios.Result) {
		blind.add(r)
		count.add(r, runs)
	})
	interrupted := errors.Is(err, exitCode(exitInterrupted))
	if err != nil && !interrupted {
		return err
	}
	replay := count.Replay(skipped)
	if err := f.show(cmd, replay, count.corpora(), notTimed(runs, variants)+blind.lines()); err != nil {
		return err
	}
	switch {
	case interrupted:
		out.printInterrupt(cmd.ErrOrStderr())
		return out.code(err)
	case out.unwritten:
		return exitCode(exitInconclusive)
	case skipped > 0:
		return exitCode(exitUsage)
	case replay.Inconclusive > 0:
		return exitCode(exitInconclusive)
	}
	return nil
}

func replayHeader(runs, skipped int, variants []scenarios.Variant) scenarios.Header {
	o := scenarios.Options{Variants: variants}
	h := headerOf(&o)
	h.Kind, h.Judged, h.Scenarios, h.Trials, h.Skipped = reports.KindReplay, scenarios.JudgedNone, runs, runs*len(variants), skipped
	return h
}

// notTimed names the detectors whose within is not judged, in one line; "" if there are
// none, or if every run has times.
func notTimed(runs *recordedRuns, variants []scenarios.Variant) string {
	if !runs.untimed {
		return ""
	}
	var names []string
	for _, v := range variants {
		for _, d := range v.Config.Detectors {
			if d.Within > 0 {
				names = append(names, d.Name+" of "+v.Name)
			}
		}
	}
	if len(names) == 0 {
		return ""
	}
	return text.Line("recordings have no times, so within is not judged and every repetition counts: "+strings.Join(names, ", ")) + "\n"
}

// show prints the table and a note, or one line and the note to standard error if the
// results are printed.
func (f *replayFlags) show(cmd *cobra.Command, replay *reports.Replay, corpora []reports.SuiteReplay, note string) error {
	switch {
	case f.quiet:
		return nil
	case f.format != table:
		_, err := io.WriteString(cmd.ErrOrStderr(), replay.Line()+note)
		return err
	}
	if err := showCorpora(cmd.OutOrStdout(), replay, corpora); err != nil {
		return err
	}
	if err := replay.Write(cmd.OutOrStdout()); err != nil {
		return err
	}
	_, err := io.WriteString(cmd.OutOrStdout(), note)
	return err
}

// checkScenario reports flags that contradict --to-scenario.
func (f *replayFlags) checkScenario(cmd *cobra.Command) error {
	switch {
	case f.one != "":
		return misuse("leave one of them out", "--to-scenario and --run contradict each other")
	case len(f.variants) > 1:
		return misuse("the scenario gets the config of this variant", "--to-scenario takes one --variant, not %d", len(f.variants))
	case len(f.files) > 1:
		return misuse("", "--to-scenario writes one file, not %d", len(f.files))
	case len(f.files) == 1 && f.files[0] != "-" && !isScenarioFile(f.files[0]):
		return misuse("a scenario is a .yaml file", "cannot write a scenario to %q", f.files[0])
	case cmd.Flags().Changed("format"):
		return misuse("leave one of them out", "--format and --to-scenario contradict each other: a scenario is YAML")
	}
	return nil
}

func isScenarioFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// writeScenario writes the chosen trajectory as a scenario.
func (f *replayFlags) writeScenario(cmd *cobra.Command, runs *recordedRuns, v scenarios.Variant) error {
	r, broken, err := f.chosen(cmd, runs, f.toScenario)
	if err != nil {
		return err
	}
	redactor := redactor()
	s, err := r.Map(redactor.Text).Scenario(v.Config)
	if err != nil {
		return misuse("", "%s cannot become a scenario: %v", r.ID(), err)
	}
	s.Name = scenarioName(r.Name)
	if to := f.scenarioFile(); to != "" {
		s.Name = scenarioName(strings.TrimSuffix(filepath.Base(to), filepath.Ext(to)))
	}
	s.Description = "A recorded run, as it was replayed under " + v.Name + "."
	file := s.YAML(fmt.Sprintf("Made by agentbench replay --to-scenario of %s, line %d", r.ID(), r.Line))
	to := f.scenarioFile()
	if to == "" {
		_, err := cmd.OutOrStdout().Write(file)
		return cmp.Or(err, broken)
	}
	out, err := createFile(cmd.ErrOrStderr(), to)
	if err != nil {
		return err
	}
	if _, err := out.Write(file); err != nil {
		out.Discard()
		return err
	}
	if err := out.Commit(); err != nil {
		return err
	}
	if !f.quiet {
		showRedacted(cmd.ErrOrStderr(), redactor.Count())
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: agentbench run %s plays it\n", text.Line(to), shellWords([]string{to}))
	}
	return broken
}

// scenarioFile returns the file to write, "" for the standard output.
func (f *replayFlags) scenarioFile() string {
	if len(f.files) == 0 || f.files[0] == "-" {
		return ""
	}
	return f.files[0]
}

// chosen returns the trajectory with this name, or file and name. broken is exitUsage if
// others could not be read, which is told and does not keep this one from its use.
func (f *replayFlags) chosen(cmd *cobra.Command, runs *recordedRuns, name string) (one *trajectories.Trajectory, broken, err error) {
	var found []*trajectories.Trajectory // two say what to name instead: a thousand files may all have a run line=1
	var names []string
	called := 0
	for r := range runs.until(cmd.Context()) {
		names = append(names, r.Name)
		if name != r.Name && name != r.ID() {
			continue
		}
		if called++; called <= 2 {
			found = append(found, r)
		}
	}
	if cmd.Context().Err() != nil {
		return nil, nil, exitCode(exitInterrupted)
	}
	if f.printRead(cmd, runs) > 0 {
		broken = exitCode(exitUsage)
	}
	switch {
	case len(names) == 0:
		return nil, nil, exitCode(exitUsage)
	case len(found) == 1:
		return found[0], broken, nil
	case len(found) == 0:
		return nil, nil, misuse(cmp.Or(text.DidYouMean(name, names), nameHint(names)), "there is no recorded run %q", name)
	}
	return nil, nil, misuse("name one of them: "+found[0].ID()+" or "+found[1].ID(), "%d recorded runs are called %q", called, name)
}

// nameHint says which names runs have: the names themselves if they are few.
func nameHint(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names) // files may have runs of one name
	if len(names) == 0 || len(names) > 5 {
		return "agentbench replay --verbose names the runs"
	}
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = text.Quote(name, 100)
	}
	return "the name can be " + text.AnyOf(quoted)
}

// scenarioName turns a name into a valid name of a scenario.
func scenarioName(name string) string {
	fit := strings.Map(func(c rune) rune {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '.', c == '_':
			return c
		}
		return '-'
	}, name)
	const most = 100
	if fit = strings.Trim(fit, "-._"); fit == "" {
		return "recorded"
	}
	return fit[:min(most, len(fit))]
}

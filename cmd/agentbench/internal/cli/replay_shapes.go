package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/shapes"
	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// shapeFlags say whether and how replay writes the shapes of runs.
type shapeFlags struct {
	write  bool
	names  bool
	corpus string
}

func (f *shapeFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.BoolVar(&f.write, "shapes", false, "write the shapes of the runs, without content, to the file of -o or the standard output, and replay nothing")
	fs.BoolVar(&f.names, "names", false, "with --shapes: keep the names of runs and tools, which are numbers and letters otherwise")
	fs.StringVar(&f.corpus, "corpus", "", "with --shapes: write a header for the runs, `\"NAME source=… commit=… licence=…\"`")
}

// given reports whether a file of -o is one of shapes.
func (f *shapeFlags) given(files []string) bool {
	return slices.ContainsFunc(files, func(name string) bool { return filepath.Ext(name) == ".shapes" })
}

// checkShapes reports flags that contradict --shapes.
func (f *replayFlags) checkShapes(cmd *cobra.Command) error {
	switch {
	case !f.shapes.write:
		return misuse("--shapes writes them", "a .shapes file holds shapes of runs, not results")
	case f.toScenario != "":
		return misuse("leave one of them out", "--shapes and --to-scenario contradict each other")
	case f.one != "":
		return misuse("leave one of them out", "--shapes and --run contradict each other")
	case cmd.Flags().Changed("variant"):
		return misuse("agentbench replay traffic.shapes --variant … replays them", "--shapes replays nothing, so --variant has no effect")
	case cmd.Flags().Changed("format"):
		return misuse("leave one of them out", "--format and --shapes contradict each other: shapes have one format")
	case len(f.files) > 1:
		return misuse("", "--shapes writes one file, not %d", len(f.files))
	case len(f.files) == 1 && f.files[0] != "-" && !f.shapes.given(f.files):
		return misuse("such as traffic.shapes", "cannot write shapes to %q: the name must end in .shapes", f.files[0])
	}
	return nil
}

// writeShapes writes the shapes of the runs.
func (f *replayFlags) writeShapes(cmd *cobra.Command, runs *recordedRuns) error {
	out := cmd.OutOrStdout()
	to := f.scenarioFile()
	commit := func() error { return nil }
	if to != "" {
		file, err := createFile(cmd.ErrOrStderr(), to)
		if err != nil {
			return err
		}
		defer file.Discard()
		out, commit = file, file.Commit
	}
	err := f.shapesTo(cmd.Context(), out, runs)
	switch {
	case err != nil:
		return err
	case cmd.Context().Err() != nil:
		return exitCode(exitInterrupted)
	}
	broken := f.printRead(cmd, runs)
	if runs.runs == 0 {
		return exitCode(exitUsage)
	}
	if err := commit(); err != nil {
		return err
	}
	if to != "" && !f.quiet {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s has the shapes of %s: agentbench replay %s replays them\n",
			text.Line(to), text.Count(runs.runs, "run"), shellWords([]string{to}))
	}
	if broken > 0 {
		return exitCode(exitUsage)
	}
	return nil
}

// shapesTo writes the shapes of the runs until ctx ends, each corpus below its header.
func (f *replayFlags) shapesTo(ctx context.Context, w io.Writer, runs *recordedRuns) error {
	shaper := trajectories.Shaper{Names: f.shapes.names}
	var header, last *shapes.Corpus
	if f.shapes.corpus != "" {
		var err error
		if header, err = shapes.ParseCorpus(f.shapes.corpus); err != nil {
			return misuse(`such as --corpus "mine source=https://example.com/runs commit=59a200c licence=MIT"`, "--corpus: %v", err)
		}
	}
	var line []byte
	for t := range runs.until(ctx) {
		run := shaper.Shape(t)
		if header != nil {
			run.Corpus = header
		}
		line = line[:0]
		if run.Corpus != nil && run.Corpus != last {
			last = run.Corpus
			line = last.Append(line)
		}
		if _, err := w.Write(run.Append(line)); err != nil {
			return err
		}
	}
	return nil
}

// blindSpots counts, by variant, the runs on which a rule was not judged.
type blindSpots struct {
	order []string
	runs  map[string]int
}

func (b *blindSpots) add(r *scenarios.Result) {
	for _, rule := range r.NotJudged {
		key := r.Variant + ": not judged: " + rule
		if b.runs == nil {
			b.runs = map[string]int{}
		}
		if b.runs[key]++; b.runs[key] == 1 {
			b.order = append(b.order, key)
		}
	}
}

// lines returns a line for each rule that was not judged.
func (b *blindSpots) lines() string {
	slices.Sort(b.order)
	var out strings.Builder
	for _, key := range b.order {
		fmt.Fprintf(&out, "%s, which the shapes of %s do not hold\n", text.Line(key), text.Count(b.runs[key], "run"))
	}
	return out.String()
}

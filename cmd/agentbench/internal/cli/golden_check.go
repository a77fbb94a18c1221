package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// A goldenTally counts what became of goldens, and keeps what is to be told.
type goldenTally struct {
	update                        string // the command that writes a golden
	match, mismatch, missing, off int
	told                          []string
	inconclusive                  []string
}

// check compares each trace with its golden.
func (f *goldenFlags) check(cmd *cobra.Command, paths []string) error {
	w, err := f.work(paths)
	if err != nil {
		return err
	}
	stdout := cmd.OutOrStdout()
	paint := colour(stdout, f.noColor || f.ci)
	t := &goldenTally{update: shellWords([]string{"agentbench", "golden", "update"})}
	if f.dir != "" {
		t.update = shellWords([]string{"agentbench", "golden", "update", "-o", f.dir})
	}
	err = w.each(cmd, t, func(trial *scenarios.Trial, random bool, trace loop.Trace) {
		page := w.book.look(trial, random, trace)
		delete(w.broken, page.path) // which page tells, if it is
		t.add(page, paint)
	})
	if err != nil {
		return err
	}
	if f.filter != "" || len(f.suites) > 0 {
		clear(w.broken) // nobody knows which scenario it is of
	}
	if !f.quiet {
		if err := f.tell(stdout, paint, w, t); err != nil {
			return err
		}
	}
	switch {
	case t.mismatch+len(w.orphans)+len(w.broken) > 0, f.ci && t.missing > 0:
		return exitCode(exitFailed)
	case len(t.inconclusive) > 0:
		return exitCode(exitInconclusive)
	}
	return nil
}

// each makes the trials one after another. Those that broke off have no trace to
// compare.
func (w *goldenWork) each(cmd *cobra.Command, t *goldenTally, look func(*scenarios.Trial, bool, loop.Trace)) error {
	for i := range w.trials {
		trial := &w.trials[i]
		trial.Player = player(cmd)
		r, trace := trial.Run(cmd.Context())
		switch {
		case cmd.Context().Err() != nil:
			return exitCode(exitInterrupted)
		case r.BrokeOff():
			t.inconclusive = append(t.inconclusive, fmt.Sprintf("%s under %s: %s", text.Line(r.Scenario), text.Line(r.Variant), strings.Join(reports.Reasons(r), "; ")))
		default:
			look(trial, r.Random, trace)
		}
	}
	return nil
}

// add counts what the book says of a trial.
func (t *goldenTally) add(page goldenPage, paint reports.Colour) {
	switch page.word {
	case scenarios.GoldenMatch:
		t.match++
	case scenarios.GoldenMissing:
		t.missing++
		t.told = append(t.told, paint.Bad("MISSING")+" "+text.Line(page.path)+": "+t.update+" writes it\n")
	case scenarios.GoldenMismatch:
		t.mismatch++
		how := page.wrong + "\n"
		if page.diff != nil {
			how = page.diff.String()
		}
		t.told = append(t.told, paint.Bad("MISMATCH")+" "+how)
	default:
		t.off++
	}
}

// tell writes what was found, the first of it unless all is asked for, and the
// counts.
func (f *goldenFlags) tell(w io.Writer, paint reports.Colour, work *goldenWork, t *goldenTally) error {
	told := t.told
	for _, line := range t.inconclusive {
		told = append(told, paint.Bad("INCONCLUSIVE")+" "+line+"\n")
	}
	for _, path := range slices.Sorted(maps.Keys(work.broken)) {
		told = append(told, paint.Bad("BROKEN")+" "+text.Line(work.broken[path].Error())+"\n")
	}
	for i := range work.orphans {
		told = append(told, paint.Bad("ORPHAN")+" "+work.orphans[i].String()+"; agentbench golden prune removes it\n")
	}
	for _, note := range work.book.notes() {
		told = append(told, "note: "+text.Line(note)+"\n")
	}
	shown := told[:min(len(told), f.most(len(told)))]
	out := strings.Join(shown, "")
	if more := len(told) - len(shown); more > 0 {
		out += fmt.Sprintf("%s not shown: --verbose shows all\n", text.Count(more, "more message"))
	}
	_, err := io.WriteString(w, out+t.line(work)+"\n")
	return err
}

// most is how many of n messages are shown.
func (f *goldenFlags) most(n int) int {
	if f.ci || f.verbose {
		return n
	}
	return shownFailures
}

// line gives the counts.
func (t *goldenTally) line(w *goldenWork) string {
	parts := []string{text.Number(t.match) + " match"}
	for _, c := range []struct {
		n    int
		what string
	}{{t.mismatch, "different"}, {t.missing, "missing"}, {len(t.inconclusive), "inconclusive"}, {len(w.broken), "broken"}, {len(w.orphans), "without a scenario or variant"}} {
		if c.n > 0 {
			parts = append(parts, text.Number(c.n)+" "+c.what)
		}
	}
	return text.Count(t.match+t.mismatch, "golden") + ": " + strings.Join(parts, ", ")
}

// update shows what differs, and then writes it.
func (f *goldenFlags) update(cmd *cobra.Command, paths []string) error {
	w, err := f.workToWrite(paths)
	if err != nil {
		return err
	}
	t := &goldenTally{}
	u := &goldenUpdate{book: w.book, seed: 1}
	err = w.each(cmd, t, func(trial *scenarios.Trial, random bool, trace loop.Trace) { u.look(trial, random, trace) })
	if err != nil {
		return err
	}
	stdout := cmd.OutOrStdout()
	if f.quiet {
		stdout = io.Discard
	}
	if err := u.finish(stdout, f.most(0)); err != nil {
		return err
	}
	for _, line := range t.inconclusive {
		fmt.Fprintf(stdout, "not written: %s\n", line)
	}
	for i := range w.orphans {
		fmt.Fprintf(stdout, "orphan   %s; agentbench golden prune removes it\n", &w.orphans[i])
	}
	if len(t.inconclusive) > 0 {
		return exitCode(exitInconclusive)
	}
	return nil
}

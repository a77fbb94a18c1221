package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
)

// A format is what a command writes to its standard output.
type format string

const (
	table     format = "table"
	jsonl     format = "jsonl"
	jsonWhole format = "json"
)

// outputFlags say what a command that makes results writes, and where.
type outputFlags struct {
	files   []string
	format  format
	quiet   bool
	verbose bool
	ci      bool
	noColor bool

	// repeatTrial gives the command that makes a trial again; nil = none.
	repeatTrial func(*scenarios.Result) string
	// reference is the variant that reports compare others with; "" = the first.
	reference string
	// folded says that the command needs the fold whatever is written, and reported
	// that it needs the report, too.
	folded, reported bool
}

func (f *outputFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVarP(&f.files, "output", "o", nil, "write the results to `FILE`.jsonl as well, or a report in the format of another ending ("+strings.Join(extensions(), " ")+"); - is --format jsonl; can be repeated")
	f.format = table
	addChoice(cmd, &f.format, "format", "what stands on the standard output: table, jsonl (the results) or json (a report)", table, jsonl, jsonWhole)
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "write no table, no failures and no progress: the exit code tells")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "tell each trial on standard error as it is made")
	fs.BoolVar(&f.ci, "ci", false, "write for a log: no colour and no progress, and nothing left out")
	addNoColor(cmd, &f.noColor)
}

func addNoColor(cmd *cobra.Command, noColor *bool) {
	cmd.Flags().BoolVar(noColor, "no-color", false, "write no colour; the variable NO_COLOR says the same")
}

// check reports flags that contradict each other, before anything is written.
func (f *outputFlags) check(cmd *cobra.Command) error {
	if f.quiet && f.verbose {
		return misuse("leave one of them out", "--quiet and --verbose contradict each other")
	}
	var files []string
	for _, name := range f.files {
		switch {
		case name == "-" && f.format == table && cmd.Flags().Changed("format"):
			return misuse("leave one of them out", "-o - writes the results in place of the table: it contradicts --format table")
		case name == "-":
			f.format = jsonl
			continue
		case exporters[filepath.Ext(name)].write == nil:
			return misuse("the format is that of the name's ending: "+text.AnyOf(extensions()), "cannot write %q: no format has that ending", name)
		case slices.ContainsFunc(files, func(other string) bool { return samePath(other, name) }):
			return misuse("", "-o %s is given twice", name)
		}
		files = append(files, name)
	}
	f.files = files
	return nil
}

// samePath reports whether two paths name one file, whether it is there or not.
func samePath(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	absA, errA := filepath.Abs(a)
	absB, errB := filepath.Abs(b)
	if errA == nil && errB == nil && absA == absB {
		return true
	}
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// colour says whether w is to be painted.
func (f *outputFlags) colour(w io.Writer) reports.Colour {
	return colour(w, f.noColor || f.ci)
}

func colour(w io.Writer, never bool) reports.Colour {
	return reports.Colour(!never && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w))
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// results takes the results of a command as they come, to the files, the
// standard output and the terminal.
type results struct {
	files  []*resultFile
	stream *scenarios.ResultWriter // on the standard output, nil = none
	stdout io.Writer
	bar    *bar
	log    io.Writer // what --verbose tells, nil = nothing
	done   int
	of     int

	flags   *outputFlags
	stderr  io.Writer
	exports []export
	fold    *reports.Fold   // nil if nobody asks for it
	report  *reports.Report // made at the end, if anybody asks for one
}

// open makes the files. When it fails it leaves none.
func (f *outputFlags) open(cmd *cobra.Command, h scenarios.Header) (_ *results, err error) {
	r := &results{stdout: cmd.OutOrStdout(), of: h.Trials, flags: f, stderr: cmd.ErrOrStderr()}
	defer func() {
		if err != nil {
			r.discard()
		}
	}()
	if err := r.create(cmd.ErrOrStderr(), h); err != nil {
		return nil, err
	}
	if f.format == jsonl {
		if r.stream, err = scenarios.NewResultWriter(r.stdout, h); err != nil {
			return nil, err
		}
	}
	switch stderr := cmd.ErrOrStderr(); {
	case f.verbose:
		r.log = stderr
	case !f.quiet && !f.ci && isTerminal(stderr):
		r.bar = &bar{w: stderr, of: h.Trials, drawn: time.Now()}
	}
	return r, nil
}

// create begins the files, and the report if anybody asks for one.
func (r *results) create(stderr io.Writer, h scenarios.Header) error {
	var others []string
	for _, name := range r.flags.files {
		if filepath.Ext(name) != ".jsonl" {
			others = append(others, name)
			continue
		}
		file, err := createResults(stderr, name, 0o666, h)
		if err != nil {
			return err
		}
		r.files = append(r.files, file)
	}
	var err error
	if r.exports, err = createExports(stderr, others); err != nil {
		return err
	}
	if !r.flags.folded && !r.reported() {
		return nil
	}
	r.fold = &reports.Fold{Reference: r.flags.reference, Keep: needResults(r.exports), Repeat: r.flags.repeatTrial}
	return r.fold.Header(&h)
}

// reported reports whether anybody asks for the report.
func (r *results) reported() bool {
	return r.flags.reported || len(r.exports) > 0 || r.flags.format == jsonWhole || r.flags.inActions()
}

// add takes one result.
func (r *results) add(res *scenarios.Result) error {
	r.done++
	if r.fold != nil {
		if err := r.fold.Add(res); err != nil {
			return err
		}
	}
	for _, f := range r.files {
		if err := f.results.Write(res); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.Path(), err)
		}
	}
	if r.stream != nil {
		if err := r.stream.Write(res); err != nil {
			return err
		}
	}
	if r.log != nil {
		fmt.Fprintf(r.log, "%s %s under %s, seed %d: %s after %s\n", res.Verdict, text.Line(res.Scenario),
			text.Line(res.Variant), res.Seed, reports.Ending(res), text.Count(res.Calls, "call"))
	}
	r.bar.show(r.done)
	return nil
}

// end completes the files. err is what ended the work, nil where nothing broke
// it off: after an interrupt the files keep the results so far, with a last
// line that says so, and the error is the exit code; after anything else they
// are removed.
func (r *results) end(ctx context.Context, err error) error {
	r.bar.clear()
	interrupted := ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err()))
	if err != nil && !interrupted {
		r.discard()
		return err
	}
	if interrupted && r.stream != nil {
		if _, err := io.WriteString(r.stdout, r.interruption()); err != nil {
			return err
		}
	}
	for i, f := range r.files {
		last := ""
		if interrupted {
			last = r.interruption()
		}
		if err := f.complete(last); err != nil {
			r.files = r.files[i:]
			r.discard()
			return err
		}
	}
	if err := r.tell(); err != nil {
		return err
	}
	if interrupted {
		return exitCode(exitInterrupted)
	}
	return nil
}

// tell makes the report and hands it to all who asked for it.
func (r *results) tell() (err error) {
	if !r.reported() {
		return nil
	}
	if r.report, err = r.fold.Report(); err != nil {
		discardExports(r.exports)
		return err
	}
	writeExports(r.exports, r.report, r.stderr) // which tells, and changes no exit code
	r.flags.tellActions(r.report, r.stderr)
	if r.flags.format == jsonWhole && !r.flags.quiet {
		return reports.WriteJSON(r.stdout, r.report)
	}
	return nil
}

// interruption is the last line of results that are not whole. Readers skip it
// as they skip every line of a type that they do not know.
func (r *results) interruption() string {
	return fmt.Sprintf("{\"type\":\"interrupted\",\"trials\":%d,\"of\":%d}\n", r.done, r.of)
}

func (r *results) discard() {
	for _, f := range r.files {
		f.Discard()
	}
	discardExports(r.exports)
}

// tellInterrupt says where the results of an interrupted command are.
func (r *results) tellInterrupt(stderr io.Writer) {
	fmt.Fprintf(stderr, "interrupted after %s of %d\n", text.Count(r.done, "trial"), r.of)
	for _, f := range r.files {
		fmt.Fprintf(stderr, "%s holds them; its last line says that it is not whole\n", text.Line(f.Path()))
	}
}

// createFile begins a file, and names on stderr the temporary files of the same
// path that an earlier run left. The error is one of bad usage where the path
// cannot be meant.
func createFile(stderr io.Writer, path string) (*outfile.File, error) {
	return createMode(stderr, path, 0o666)
}

// createMode is createFile with the mode of a new file.
func createMode(stderr io.Writer, path string, mode fs.FileMode) (*outfile.File, error) {
	file, err := outfile.Create(path, mode)
	switch {
	case errors.Is(err, outfile.ErrNotRegular):
		return nil, misuse("-o - writes to the standard output", "cannot write %s: it is not a regular file", path)
	case err != nil:
		return nil, misuse("-o takes the path of a file in a folder that you may write to", "cannot write %s: %s", path, text.Reason(err))
	}
	for _, name := range file.Stale() {
		fmt.Fprintf(stderr, "note: %s was left by a run that was killed, or another run is writing it; if none is, remove it\n", text.Line(name))
	}
	return file, nil
}

// A resultFile is a results file on its way.
type resultFile struct {
	*outfile.File
	results *scenarios.ResultWriter
}

// createResults begins a results file.
func createResults(stderr io.Writer, path string, mode fs.FileMode, h scenarios.Header) (*resultFile, error) {
	file, err := createMode(stderr, path, mode)
	if err != nil {
		return nil, err
	}
	f := &resultFile{File: file}
	if f.results, err = scenarios.NewResultWriter(f, h); err != nil {
		f.Discard()
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return f, nil
}

// complete writes the last line, if there is one, and gives the file its name.
func (f *resultFile) complete(last string) error {
	if _, err := f.WriteString(last); err != nil {
		return fmt.Errorf("cannot write %s: %w", f.Path(), err)
	}
	return f.Commit()
}

// redactor returns the redactor for an output that belongs to no scenario.
func redactor() *secrets.Redactor {
	r, err := secrets.New(secrets.Options{})
	if err != nil {
		panic(err) // no option can be wrong
	}
	return r
}

// A bar shows on a terminal how far the work is. A nil bar shows nothing.
type bar struct {
	w     io.Writer
	of    int
	drawn time.Time // last, or when the work began: what is done at once needs no bar
	shown bool
}

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
)

// show draws the bar, unless it has just been drawn.
func (b *bar) show(done int) {
	if b == nil || b.of == 0 || time.Since(b.drawn) < barEvery {
		return
	}
	b.drawn, b.shown = time.Now(), true
	full := barWidth * done / b.of
	fmt.Fprintf(b.w, "\r\x1b[K%s%s %d of %d", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), done, b.of)
}

// clear takes the bar off the terminal.
func (b *bar) clear() {
	if b != nil && b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}

// A shown output keeps the first error of writing to it, which who writes many
// lines looks at once, at the end.
type shownOutput struct {
	io.Writer
	err error
}

func (o *shownOutput) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	if o.err == nil {
		o.err = err
	}
	return n, err
}

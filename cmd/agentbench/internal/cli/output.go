package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// A format is what a command writes to the standard output.
type format string

const (
	table     format = "table"
	jsonl     format = "jsonl"
	jsonWhole format = "json"
)

// outputFlags say what a command with results writes, and where.
type outputFlags struct {
	files   []string
	format  format
	quiet   bool
	verbose bool
	ci      bool
	noColor bool
	// evidence means that the table is the evidence for the reference.
	evidence bool

	// repeatTrial returns the command that runs a trial again; nil = none.
	repeatTrial func(*scenarios.Result) string
	// reference is the variant that reports compare the others with; "" = the first.
	reference string
	// reported means that the command itself needs the report, even if it is not written.
	reported bool
}

func (f *outputFlags) add(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringArrayVarP(&f.files, "output", "o", nil, "also write the results to `FILE`, in the format of its ending ("+strings.Join(extensions(), " ")+"); - means --format jsonl; can be repeated")
	f.format = table
	addChoice(cmd, &f.format, "format", "what to print: table, jsonl (the results) or json (a report)", table, jsonl, jsonWhole)
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print no table, failures or progress; the exit code has the verdict")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "print a line for each trial on standard error, and leave nothing out")
	fs.BoolVar(&f.ci, "ci", false, "print for a log: no colour, nothing left out, and every 30s how far it is instead of a bar")
	addNoColor(cmd, &f.noColor)
}

func addNoColor(cmd *cobra.Command, noColor *bool) {
	cmd.Flags().BoolVar(noColor, "no-color", false, "print no colour, as with the variable NO_COLOR")
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
			return misuse("leave one of them out", "-o - and --format table contradict each other")
		case name == "-":
			f.format = jsonl
			continue
		case extension(name) == "":
			return misuse("the ending of the name chooses the format: "+text.AnyOf(extensions()), "cannot write %q: no format has that ending", name)
		case slices.ContainsFunc(files, func(other string) bool { return samePath(other, name) }):
			return misuse("", "-o %s is given twice", name)
		}
		files = append(files, name)
	}
	f.files = files
	return nil
}

// checkFolders reports a file of -o whose folder is not there.
func (f *outputFlags) checkFolders() error {
	for _, name := range f.files {
		if name == "-" {
			continue
		}
		if _, err := os.Stat(filepath.Dir(name)); err != nil {
			return misuse("-o takes the path of a file in a folder that you may write to", "cannot write %s: %s", name, text.Reason(err))
		}
	}
	return nil
}

// samePath reports whether two paths name one file, even if it does not exist
// yet.
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

// colour returns whether to print colour to w.
func (f *outputFlags) colour(w io.Writer) reports.Colour {
	return colour(w, f.noColor || f.ci)
}

// colour returns whether to print colour to w: never if never is set, and
// otherwise on a terminal unless NO_COLOR or TERM=dumb is set.
func colour(w io.Writer, never bool) reports.Colour {
	return reports.Colour(!never && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w))
}

func isTerminal(w io.Writer) bool {
	if s, ok := w.(reports.Screen); ok {
		w = s.Writer
	}
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}

// screen returns a terminal as a [reports.Screen], and another writer as it is. The
// variable COLUMNS beats the terminal's width.
func screen(w io.Writer) io.Writer {
	if !isTerminal(w) {
		return w
	}
	columns, _ := strconv.Atoi(os.Getenv("COLUMNS"))
	if columns < 1 {
		columns, _, _ = term.GetSize(int(w.(*os.File).Fd())) // 0 if it is not known
	}
	if columns < 1 {
		columns = usualColumns
	}
	return reports.Screen{Writer: w, Columns: columns}
}

// usualColumns is the width of a terminal that does not tell it.
const usualColumns = 80

// results passes the results of a command on as they come: to the files, the
// standard output and the terminal.
type results struct {
	files  []*resultFile
	stream *scenarios.ResultWriter // on the standard output, nil = none
	stdout io.Writer
	bar    *bar
	log    io.Writer // the lines of --verbose, nil = none
	done   int
	of     int

	flags   *outputFlags
	stderr  io.Writer
	exports []export
	spool   *spool          // of lines, until the header is known; nil = it is known, or no lines are written
	reach   func() int      // how far the work is; nil = one for each result
	fold    *reports.Fold   // nil if nothing needs it
	report  *reports.Report // made at the end, if something needs it

	unwritten bool // a report could not be written, which is printed
}

// open creates the files. If it fails it leaves none behind.
func (f *outputFlags) open(cmd *cobra.Command, h scenarios.Header) (_ *results, err error) {
	r := &results{stdout: cmd.OutOrStdout(), of: h.Trials, flags: f, stderr: cmd.ErrOrStderr()}
	defer func() {
		if err != nil {
			r.discard()
		}
	}()
	if err := r.create(); err != nil {
		return nil, err
	}
	if err := r.begin(&h); err != nil {
		return nil, err
	}
	r.bar = f.progress(cmd, r.of)
	return r, nil
}

// openStream is like open for results of which nobody knows how many they will be. They
// get their header from endStream. reach says how far the work is, of what of says; if that is
// not known (0), it is told how many results there are.
func (f *outputFlags) openStream(cmd *cobra.Command, of int, reach func() int) (_ *results, err error) {
	r := &results{stdout: cmd.OutOrStdout(), flags: f, stderr: cmd.ErrOrStderr()}
	if of > 0 {
		r.reach = reach
	}
	defer func() {
		if err != nil {
			r.discard()
		}
	}()
	if err := r.create(); err != nil {
		return nil, err
	}
	if len(r.files) > 0 || f.format == jsonl {
		folder := ""
		if len(r.files) > 0 {
			folder = filepath.Dir(r.files[0].Path())
		}
		if r.spool, err = newSpool(folder); err != nil {
			return nil, err
		}
	}
	r.bar = f.progress(cmd, of)
	return r, nil
}

// progress returns the bar, nil with --verbose, which has a line for each trial.
func (f *outputFlags) progress(cmd *cobra.Command, of int) *bar {
	if f.verbose {
		return nil
	}
	return newBar(cmd.ErrOrStderr(), of, f.quiet, f.ci)
}

// create creates the files, and the fold if something needs it.
func (r *results) create() error {
	var others []string
	for _, name := range r.flags.files {
		if filepath.Ext(name) != ".jsonl" {
			others = append(others, name)
			continue
		}
		file, err := createMode(r.stderr, name, 0o666)
		if err != nil {
			return err
		}
		r.files = append(r.files, &resultFile{File: file})
	}
	var err error
	if r.exports, err = createExports(r.stderr, others); err != nil {
		return err
	}
	if r.reported() {
		r.fold = &reports.Fold{Reference: r.flags.reference, Keep: needResults(r.exports), Repeat: r.flags.repeatTrial, Place: newPlaces().path}
	}
	if r.flags.verbose {
		r.log = r.stderr
	}
	return nil
}

// begin writes the header everywhere.
func (r *results) begin(h *scenarios.Header) (err error) {
	for _, f := range r.files {
		if f.results, err = scenarios.NewResultWriter(f, *h); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.Path(), err)
		}
	}
	if r.flags.format == jsonl {
		if r.stream, err = scenarios.NewResultWriter(r.stdout, *h); err != nil {
			return err
		}
	}
	if r.fold != nil {
		return r.fold.Header(h)
	}
	return nil
}

// reported reports whether something needs the report.
func (r *results) reported() bool {
	return r.flags.reported || len(r.exports) > 0 || r.flags.format == jsonWhole || r.flags.inActions()
}

// add writes one result everywhere.
func (r *results) add(res *scenarios.Result) error {
	r.done++
	if r.fold != nil {
		if err := r.fold.Add(res); err != nil {
			return err
		}
	}
	if err := r.line(res); err != nil {
		return err
	}
	if r.log != nil {
		fmt.Fprintf(r.log, "%s %s under %s, seed %d: %s after %s\n", res.Verdict, text.Line(res.Scenario),
			text.Line(res.Variant), res.Seed, reports.Ending(res), text.Count(res.Calls, "call"))
	}
	if r.reach == nil {
		r.bar.show(r.done)
	} else {
		r.bar.show(r.reach())
	}
	return nil
}

// line writes the line of a result.
func (r *results) line(res *scenarios.Result) error {
	if r.spool != nil {
		return r.spool.lines.Write(res)
	}
	for _, f := range r.files {
		if err := f.results.Write(res); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.Path(), err)
		}
	}
	if r.stream != nil {
		return r.stream.Write(res)
	}
	return nil
}

// endStream is end for openStream. h, the header, now knows how many results there are.
func (r *results) endStream(ctx context.Context, err error, h *scenarios.Header) error {
	interrupted := err != nil && r.interrupted(ctx, err)
	if err != nil && !interrupted {
		return r.end(ctx, err)
	}
	if interrupted {
		h.Trials = r.done // of a number that nobody knows
		if r.fold != nil {
			r.fold.Gap("the command was interrupted after " + text.Count(r.done, "trial"))
		}
	}
	if wrong := r.unspool(h); wrong != nil {
		err = wrong
	}
	return r.end(ctx, err)
}

// unspool writes the header and the lines so far.
func (r *results) unspool(h *scenarios.Header) error {
	r.bar.clear()
	if err := r.begin(h); err != nil || r.spool == nil {
		return err
	}
	defer r.spool.remove()
	for _, f := range r.files {
		if err := r.spool.to(f.results); err != nil {
			return fmt.Errorf("cannot write %s: %w", f.Path(), err)
		}
	}
	if r.stream != nil {
		return r.spool.to(r.stream)
	}
	return nil
}

// interrupted reports whether err says that ctx ended.
func (r *results) interrupted(ctx context.Context, err error) bool {
	return ctx.Err() != nil && (errors.Is(err, context.Cause(ctx)) || errors.Is(err, ctx.Err()))
}

// end completes the files. err is the error that ended the work, nil if the work
// is done. After an interrupt the files keep the results so far, their last line
// says so, and end returns the exit code. After any other error end removes them.
func (r *results) end(ctx context.Context, err error) error {
	r.bar.clear()
	interrupted := r.interrupted(ctx, err)
	if err != nil && !interrupted {
		r.discard()
		return err
	}
	if r.stream != nil {
		if err := r.last(r.stream, interrupted); err != nil {
			return err
		}
	}
	for i, f := range r.files {
		if err := f.complete(r.last(f.results, interrupted)); err != nil {
			r.files = r.files[i:]
			r.discard()
			return fmt.Errorf("%w%s", err, earlier(f.Path()))
		}
	}
	if err := r.writeReport(); err != nil {
		return err
	}
	if interrupted {
		return exitCode(exitInterrupted)
	}
	return nil
}

// code returns the error that ends the command: err, or exitInconclusive if a report
// could not be written.
func (r *results) code(err error) error {
	if r.unwritten {
		return exitCode(exitInconclusive)
	}
	return err
}

// writeReport makes the report and writes it everywhere that needs it.
func (r *results) writeReport() (err error) {
	if !r.reported() {
		return nil
	}
	if r.report, err = r.fold.Report(); err != nil {
		discardExports(r.exports)
		return err
	}
	r.unwritten = writeExports(r.exports, r.report, r.stderr) != nil
	r.flags.writeActions(r.report, r.stderr)
	if r.flags.format == jsonWhole && !r.flags.quiet {
		return reports.WriteJSON(r.stdout, r.report)
	}
	return nil
}

// last writes the last line of results, which says whether they are whole.
func (r *results) last(w *scenarios.ResultWriter, interrupted bool) error {
	if interrupted {
		return w.Interrupt(r.done, r.of)
	}
	return w.End()
}

func (r *results) discard() {
	for _, f := range r.files {
		f.Discard()
	}
	discardExports(r.exports)
	r.spool.remove()
}

// A spool is a file without a name in which result lines wait for their header.
type spool struct {
	file  *os.File
	name  string // "" = it has none any more
	buf   *bufio.Writer
	lines *scenarios.ResultWriter
}

// newSpool creates a spool in a folder, "" = that for temporary files.
func newSpool(folder string) (*spool, error) {
	file, err := os.CreateTemp(folder, ".agentbench-*.spool")
	if err != nil {
		return nil, fmt.Errorf("cannot keep results: %w", err)
	}
	s := &spool{file: file, buf: bufio.NewWriterSize(file, 64<<10)}
	if os.Remove(file.Name()) != nil { // an open file cannot be removed everywhere
		s.name = file.Name()
	}
	s.lines = scenarios.NewResultLines(s.buf)
	return s, nil
}

// to appends the lines to a file.
func (s *spool) to(w *scenarios.ResultWriter) error {
	if err := s.buf.Flush(); err != nil {
		return err
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	return w.Append(s.file)
}

func (s *spool) remove() {
	if s != nil {
		s.file.Close()
		if s.name != "" {
			os.Remove(s.name)
		}
	}
}

// printInterrupt says where the results of an interrupted command are.
func (r *results) printInterrupt(stderr io.Writer) {
	of := ""
	if r.of > 0 {
		of = fmt.Sprintf(" of %d", r.of)
	}
	fmt.Fprintf(stderr, "interrupted after %s%s\n", text.Count(r.done, "trial"), of)
	for _, f := range r.files {
		fmt.Fprintf(stderr, "%s has them; its last line says that it is not whole\n", text.Line(f.Path()))
	}
}

// createFile creates a file that gets its name when it is committed. It also
// prints to stderr the temporary files that earlier runs left beside it. A path
// that cannot be written is bad usage, and so is one that another run is writing.
func createFile(stderr io.Writer, path string) (*outfile.File, error) {
	return createMode(stderr, path, 0o666)
}

// createMode is like createFile. A new file gets this mode.
func createMode(stderr io.Writer, path string, mode fs.FileMode) (*outfile.File, error) {
	file, err := outfile.CreateAlone(path, mode)
	switch {
	case errors.Is(err, outfile.ErrBusy):
		return nil, misuse("let the other run end, or give this one a file of its own", "cannot write %s: it is being written already", path)
	case errors.Is(err, outfile.ErrNotRegular):
		return nil, misuse("-o - writes to the standard output", "cannot write %s: it is not a regular file", path)
	case err != nil:
		return nil, unwritable(path, err)
	}
	for _, name := range file.Stale() {
		fmt.Fprintf(stderr, "note: %s is from a run that was killed or is still writing it; if no run is writing it, remove it\n", text.Line(name))
	}
	return file, nil
}

// unwritable returns the error for a file that cannot be created. A full disk is trouble
// with the machine; everything else is a path that is wrong.
func unwritable(path string, err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EMFILE) {
		return fmt.Errorf("cannot write %s: %s", path, text.Reason(err))
	}
	return misuse("name a file in a folder that you may write to", "cannot write %s: %s", path, text.Reason(err))
}

// A resultFile is a results file that is being written.
type resultFile struct {
	*outfile.File
	results *scenarios.ResultWriter
}

// createResults creates a results file and writes its header.
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

// complete commits the file; err is the error of writing its last line.
func (f *resultFile) complete(err error) error {
	if err != nil {
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

// A bar shows progress: on a terminal as a bar, in a log as a line now and then, so that
// nobody takes a long command for one that hangs. A nil bar shows nothing.
type bar struct {
	w     io.Writer
	of    int // 0 = it is not known
	log   bool
	drawn time.Time // when it was last drawn, at first when the work began: short work needs no bar
	shown bool
}

const (
	barWidth = 30
	barEvery = 100 * time.Millisecond
	logEvery = 30 * time.Second
)

// newBar returns the progress of a command: a bar on a terminal, lines with ci, nil with
// quiet and in a pipe.
func newBar(stderr io.Writer, of int, quiet, ci bool) *bar {
	if quiet || !ci && !isTerminal(stderr) {
		return nil
	}
	return &bar{w: stderr, of: of, log: ci, drawn: time.Now()}
}

// show draws the bar, unless it was drawn a short time ago.
func (b *bar) show(done int) {
	switch {
	case b == nil:
	case b.log && time.Since(b.drawn) >= logEvery:
		b.drawn = time.Now()
		line := "still running: " + text.Number(done) + " done"
		if b.of > 0 {
			line = "still running: " + text.Number(done) + " of " + text.Number(b.of)
		}
		fmt.Fprintln(b.w, line)
	case b.log || time.Since(b.drawn) < barEvery:
	case b.of == 0:
		b.drawn, b.shown = time.Now(), true
		fmt.Fprintf(b.w, "\r\x1b[K%s done", text.Number(done))
	default:
		b.drawn, b.shown = time.Now(), true
		full := barWidth * done / b.of
		fmt.Fprintf(b.w, "\r\x1b[K%s%s %d of %d", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), done, b.of)
	}
}

// clear erases the bar.
func (b *bar) clear() {
	if b != nil && b.shown {
		fmt.Fprint(b.w, "\r\x1b[K")
	}
}

// A shownOutput keeps the first error of writing to it, so that a caller that
// writes many lines checks only once, at the end.
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

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type goldenFlags struct {
	selectFlags
	variants []string
	dir      string
	quiet    bool
	verbose  bool
	ci       bool
	noColor  bool
}

func newGolden() *cobra.Command {
	cmd := newGoldenVerb("golden [PATH…]", "Check, update and prune goldens", (*goldenFlags).check)
	cmd.Long = `Compare the trace of each trial with its golden, a stored trace that somebody read
and found right. golden alone means golden check. A PATH is a scenario file or a
folder of them; without a PATH the embedded suites are checked.

A golden is the file goldens/<suite>/<scenario>.<variant>.golden. Those of your
scenarios are beside the folder that is their suite, or in the folder of -o. Those
of the embedded scenarios are in a checkout of agentbench, or else in the program.
Each scenario should have a golden under its own variant. It can have more: create
them with --variant, and they are checked from then on.`
	cmd.Example = `  agentbench golden
  agentbench golden check my-scenarios/ --ci
  agentbench golden update --filter same-call-forever
  agentbench golden prune`
	check := newGoldenVerb("check [PATH…]", "Compare each trace with its golden", (*goldenFlags).check)
	check.Long = `Compare each trace with its golden, and show the first line of each that differs.
A difference fails, and so does an orphan: a golden whose scenario or variant no
longer exists. With --ci a missing golden fails too.`
	check.Example = "  agentbench golden check\n  agentbench golden check my-scenarios/ --ci"
	update := newGoldenVerb("update [PATH…]", "Rewrite the goldens that traces differ from", (*goldenFlags).update)
	update.Long = `Show how each trace differs from its golden, and then rewrite the golden. A golden
that allows the trace stays as it is. Its mode and allowances stay too, unless the
scenario has its own. Read the differences, and commit only those whose cause you
understand. With --ci, update refuses to write.`
	update.Example = "  agentbench golden update\n  agentbench golden update --filter same-call-forever --variant none"
	prune := newGoldenVerb("prune [PATH…]", "Remove goldens whose scenario or variant no longer exists", (*goldenFlags).prune)
	prune.Long = `List the orphans (goldens whose scenario or variant no longer exists) and then
remove them. Only a folder can have orphans; a PATH that is one file has none.`
	prune.Example = "  agentbench golden prune\n  agentbench golden prune my-scenarios/"
	cmd.AddCommand(check, update, prune)
	return cmd
}

// newGoldenVerb returns a command with the flags that golden and its subcommands
// share.
func newGoldenVerb(use, short string, run func(*goldenFlags, *cobra.Command, []string) error) *cobra.Command {
	f := &goldenFlags{}
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.HasSubCommands() && len(args) > 0 && isWord(args[0]) {
			return noCommand(cmd, args[0])
		}
		return run(f, cmd, args)
	}
	f.selectFlags.add(cmd)
	addVariants(cmd, &f.variants, "only goldens of this `VARIANT`, a preset or a YAML file, existing or new; can be repeated")
	fs := cmd.Flags()
	fs.StringVarP(&f.dir, "goldens", "o", "", "the goldens are in the folder `DIR`")
	fs.BoolVarP(&f.quiet, "quiet", "q", false, "print nothing; the exit code has the verdict")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "leave nothing out")
	fs.BoolVar(&f.ci, "ci", false, "fail on a missing golden, refuse to write or remove, and leave nothing out")
	addNoColor(cmd, &f.noColor)
	return cmd
}

// isWord reports whether an argument is meant as a command: it does not look like
// a path, and no file has the name.
func isWord(arg string) bool {
	_, err := os.Stat(arg)
	return errors.Is(err, fs.ErrNotExist) && !strings.ContainsAny(arg, `/\.`)
}

// open opens the goldens that are selected.
func (f *goldenFlags) open(cmd *cobra.Command, g *scenarios.Goldens, paths []string) (*scenarios.Shelf, error) {
	if len(paths) == 0 {
		paths = f.scenarios
	}
	variants, err := loadVariants(f.variants)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Stat(f.dir); {
	case f.dir == "":
	case err == nil && !info.IsDir():
		return nil, misuse("-o takes the folder of the goldens", "%s is a file, not a folder", f.dir)
	case errors.Is(err, fs.ErrNotExist) && !g.Update:
		return nil, misuse("agentbench golden update -o "+shellWords([]string{f.dir})+" writes them", "there is no folder of goldens %s", f.dir)
	}
	g.Dir, g.Expected = f.dir, true
	shelf, err := g.Open(scenarios.Selection{Paths: paths, Suites: f.suites, Pattern: f.filter, Variants: variants, Player: player(cmd)})
	var unreadable *fs.PathError
	switch {
	case errors.As(err, &unreadable):
		return nil, err
	case err != nil:
		return nil, badInput(err)
	case len(shelf.Trials)+len(shelf.Orphans) == 0:
		return nil, misuse("agentbench list scenarios shows the names", "no scenario and no golden is selected")
	}
	return shelf, nil
}

// openToWrite is like open, for a command that writes or removes goldens.
func (f *goldenFlags) openToWrite(cmd *cobra.Command, g *scenarios.Goldens, paths []string) (*scenarios.Shelf, error) {
	if f.ci {
		return nil, misuse(updateLocally, "--ci refuses to write or remove goldens")
	}
	shelf, err := f.open(cmd, g, paths)
	if err != nil {
		return nil, err
	}
	return shelf, writable(g, shelf.Scenarios)
}

// writable returns an error if goldens are in the program itself.
func writable(g *scenarios.Goldens, all []*scenarios.Scenario) error {
	if g.Writable(all) != nil {
		return misuse("do it in a checkout of agentbench, or name a folder with agentbench golden -o DIR", "the goldens of the embedded scenarios are in the program itself")
	}
	return nil
}

// most returns how many messages are shown: n with --ci or --verbose.
func (f *goldenFlags) most(n int) int {
	if f.ci || f.verbose {
		return n
	}
	return shownFailures
}

// check compares each trace with its golden.
func (f *goldenFlags) check(cmd *cobra.Command, paths []string) error {
	g := &scenarios.Goldens{}
	shelf, err := f.open(cmd, g, paths)
	if err != nil {
		return err
	}
	checks, brokeOff, err := shelf.Check(cmd.Context())
	if err != nil {
		return exitCode(exitInterrupted)
	}
	count := map[string]int{}
	for i := range checks {
		count[checks[i].Word]++
	}
	if !f.quiet {
		stdout := cmd.OutOrStdout()
		lines := f.messages(colour(stdout, f.noColor || f.ci), shelf, checks, brokeOff)
		for _, line := range g.Stale() {
			lines = append(lines, "note: "+text.Line(line)+"\n")
		}
		shown := lines[:min(len(lines), f.most(len(lines)))]
		out := strings.Join(shown, "")
		if more := len(lines) - len(shown); more > 0 {
			out += fmt.Sprintf("%s not shown: --verbose shows all\n", text.Count(more, "more message"))
		}
		if _, err := io.WriteString(stdout, out+goldenCounts(count, shelf, len(brokeOff))+"\n"); err != nil {
			return err
		}
	}
	switch {
	case count[scenarios.GoldenMismatch]+len(shelf.Orphans)+len(shelf.Broken) > 0, f.ci && count[scenarios.GoldenMissing] > 0:
		return exitCode(exitFailed)
	case len(brokeOff) > 0:
		return exitCode(exitInconclusive)
	}
	return nil
}

// messages returns one text for each golden that fails, is missing or is an
// orphan.
func (f *goldenFlags) messages(paint reports.Colour, shelf *scenarios.Shelf, checks []scenarios.GoldenCheck, brokeOff []*scenarios.Result) (lines []string) {
	add := func(word, line string) { lines = append(lines, paint.Bad(word)+" "+line) }
	update := []string{"agentbench", "golden", "update"}
	if f.dir != "" {
		update = append(update, "-o", f.dir)
	}
	for i := range checks {
		switch c := &checks[i]; {
		case c.Word == scenarios.GoldenMissing:
			add("MISSING", text.Line(c.Path)+": "+shellWords(update)+" writes it\n")
		case c.Difference != nil:
			add("MISMATCH", c.Difference.String())
		case c.Word == scenarios.GoldenMismatch:
			add("MISMATCH", c.Problem+"\n")
		}
	}
	for _, r := range brokeOff {
		add("INCONCLUSIVE", brokenOff(r)+"\n")
	}
	for _, path := range slices.Sorted(maps.Keys(shelf.Broken)) {
		add("BROKEN", text.Line(shelf.Broken[path].Error())+"\n")
	}
	for i := range shelf.Orphans {
		add("ORPHAN", orphanLine(&shelf.Orphans[i])+"; agentbench golden prune removes it\n")
	}
	return lines
}

func brokenOff(r *scenarios.Result) string {
	return fmt.Sprintf("%s under %s: %s", text.Line(r.Scenario), text.Line(r.Variant), strings.Join(reports.Reasons(r), "; "))
}

func orphanLine(o *scenarios.Orphan) string { return text.Line(o.Path) + ": " + text.Line(o.Why) }

// goldenCounts returns the counts of a check in one line.
func goldenCounts(count map[string]int, shelf *scenarios.Shelf, brokeOff int) string {
	match, mismatch := count[scenarios.GoldenMatch], count[scenarios.GoldenMismatch]
	parts := []string{text.Number(match) + " match"}
	for _, c := range []struct {
		n    int
		what string
	}{{mismatch, "different"}, {count[scenarios.GoldenMissing], "missing"}, {brokeOff, "inconclusive"}, {len(shelf.Broken), "broken"}, {len(shelf.Orphans), "without a scenario or variant"}} {
		if c.n > 0 {
			parts = append(parts, text.Number(c.n)+" "+c.what)
		}
	}
	return text.Count(match+mismatch, "golden") + ": " + strings.Join(parts, ", ")
}

// update shows the differences and then writes the goldens.
func (f *goldenFlags) update(cmd *cobra.Command, paths []string) error {
	g := &scenarios.Goldens{Update: true}
	shelf, err := f.openToWrite(cmd, g, paths)
	if err != nil {
		return err
	}
	_, brokeOff, err := shelf.Check(cmd.Context())
	if err != nil {
		return exitCode(exitInterrupted)
	}
	stdout := cmd.OutOrStdout()
	if f.quiet {
		stdout = io.Discard
	}
	if err := writeGoldens(stdout, g, f.most(0)); err != nil {
		return err
	}
	for _, r := range brokeOff {
		fmt.Fprintf(stdout, "not written: %s\n", brokenOff(r))
	}
	for i := range shelf.Orphans {
		fmt.Fprintf(stdout, "orphan   %s; agentbench golden prune removes it\n", orphanLine(&shelf.Orphans[i]))
	}
	if len(brokeOff) > 0 {
		return exitCode(exitInconclusive)
	}
	return nil
}

// writeGoldens shows the changes of at most so many goldens (0 = all) and then
// writes all goldens.
func writeGoldens(w io.Writer, g *scenarios.Goldens, most int) error {
	changes, same := g.Changes()
	var b strings.Builder
	fresh := 0
	for i := range changes {
		c := &changes[i]
		if c.New() {
			fresh++
		}
		if most == 0 || i < most {
			b.WriteString(c.String())
		}
	}
	if more := len(changes) - most; most > 0 && more > 0 {
		fmt.Fprintf(&b, "%s not shown: --verbose shows all\n", text.Count(more, "more golden"))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	if err := g.Write(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s written: %d new, %d changed; %d as before\n", text.Count(len(changes), "golden"), fresh, len(changes)-fresh, same)
	return err
}

// prune lists the orphans and then removes them.
func (f *goldenFlags) prune(cmd *cobra.Command, paths []string) error {
	shelf, err := f.openToWrite(cmd, &scenarios.Goldens{}, paths)
	if err != nil {
		return err
	}
	stdout := cmd.OutOrStdout()
	if f.quiet {
		stdout = io.Discard
	}
	for i := range shelf.Orphans {
		fmt.Fprintf(stdout, "orphan   %s\n", orphanLine(&shelf.Orphans[i]))
	}
	for i := range shelf.Orphans {
		if err := shelf.Orphans[i].Remove(); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "%s removed\n", text.Count(len(shelf.Orphans), "golden"))
	return err
}

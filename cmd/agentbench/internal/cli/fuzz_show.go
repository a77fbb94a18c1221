package cli

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/fuzz"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/reports/stats"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// fuzzed is a campaign with its results and outputs.
type fuzzed struct {
	*fuzzFlags
	*fuzz.Summary
	bar     *bar
	out     []*outfile.File
	stdout  io.Writer
	checked int          // saved cases
	again   []regression // the saved cases that break an invariant
}

// A regression is a saved case that breaks an invariant.
type regression struct {
	file      string
	violation *fuzz.Violation
}

// begin creates the files, so that a file that cannot be written is an error
// before any case runs.
func (c *fuzzed) begin(cmd *cobra.Command) error {
	c.stdout = cmd.OutOrStdout()
	for _, name := range c.files {
		if name == "-" {
			continue
		}
		file, err := createFile(cmd.ErrOrStderr(), name)
		if err != nil {
			c.discard()
			return err
		}
		c.out = append(c.out, file)
	}
	of := int(c.runs)
	if c.time > 0 {
		of = 0
	}
	c.bar = newBar(cmd.ErrOrStderr(), of, c.quiet, c.ci)
	return nil
}

func (c *fuzzed) discard() {
	for _, f := range c.out {
		f.Discard()
	}
}

// shrunk returns the failures, each shrunk as far as possible.
func (c *fuzzed) shrunk() []*fuzz.Case {
	small := make([]*fuzz.Case, len(c.Failures))
	for i, v := range c.Failures {
		small[i] = fuzz.Shrink(v.Case, v.Violation.Invariant)
	}
	return small
}

// header returns the first line of a results file.
func (c *fuzzed) header() scenarios.Header {
	o := scenarios.Options{Seed: uint64(c.seed)}
	if c.given != nil {
		o.Variants = []scenarios.Variant{*c.given}
	}
	h := headerOf(&o)
	h.Judged = scenarios.JudgedNone
	return h
}

// write writes the results to the files, and to the standard output if it has the
// results.
func (c *fuzzed) write(small []*fuzz.Case, interrupted bool) error {
	header := c.header()
	scenario := func(i int) []byte { return c.scenario(c.Failures[i], small[i]) }
	for i, f := range c.out {
		err := c.WriteResults(f, header, scenario, interrupted)
		if err == nil {
			err = f.Commit()
		}
		if err != nil {
			c.out = c.out[i:]
			c.discard()
			return fmt.Errorf("%w%s", err, earlier(f.Path()))
		}
	}
	if c.streams() {
		return c.WriteResults(c.stdout, header, scenario, interrupted)
	}
	return nil
}

// streams reports whether the standard output has the results instead of tables.
func (c *fuzzed) streams() bool {
	for _, name := range c.files {
		if name == "-" {
			return true
		}
	}
	return false
}

// show prints the tables and the failures.
func (c *fuzzed) show(w io.Writer, small []*fuzz.Case) error {
	if c.quiet || c.streams() {
		return nil
	}
	var b strings.Builder
	if c.All.Runs > 0 {
		if err := c.tables(&b); err != nil {
			return err
		}
	}
	if c.checked > 0 {
		fmt.Fprintf(&b, "%s: %s broken\n", text.Count(c.checked, "saved case"), text.Number(len(c.again)))
	}
	if c.All.Runs > 0 {
		c.verdict(&b)
	}
	for _, r := range c.again {
		file := text.Line(r.file)
		fmt.Fprintf(&b, "\nFAIL %s breaks %s: %s\n  repeat: %s\n", file, r.violation.Invariant, text.Line(r.violation.Problem),
			shellWords([]string{"agentbench", "fuzz", file}))
	}
	for i, v := range c.Failures {
		saved := ""
		if c.save != "" {
			saved = c.path(v)
		}
		b.WriteByte('\n')
		v.Explain(&b, small[i], c.repeat(v), saved)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *fuzzed) tables(w io.Writer) error {
	tallies := c.Tallies()
	var rows [][]string
	for _, t := range tallies {
		rows = append(rows, []string{t.Kind, text.Number(t.Runs), text.Number(t.Survived), text.Number(t.Recoverable), text.Number(t.Done)})
	}
	last := len(rows) - 1
	if err := reports.Table(w, 1, []string{"attack", "runs", "survived", "recoverable", "of these DONE"}, rows[:last], rows[last]); err != nil {
		return err
	}
	rows = nil
	for _, name := range fuzz.Invariants() {
		rows = append(rows, []string{string(name), text.Number(c.Judged[name]), text.Number(c.Broken[name])})
	}
	if _, err := io.WriteString(w, "\n"); err != nil {
		return err
	}
	if err := reports.Table(w, 1, []string{"invariant", "judged", "broken"}, rows, nil); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// verdict prints how many runs survived, and how many recoverable runs reached
// DONE.
func (c *fuzzed) verdict(b *strings.Builder) {
	seed := fmt.Sprintf("seed %d", c.seed)
	if c.given != nil {
		seed += " under " + text.Line(c.given.Name)
	}
	fmt.Fprintf(b, "%s of %s: %s survived, %s; the gate is %s\n", text.Count(c.All.Runs, "run"), seed,
		text.Number(c.All.Survived), rate(c.All.Survived, c.All.Runs), percent(fuzz.Gate))
	if c.All.Recoverable > 0 {
		fmt.Fprintf(b, "%s of %s reached DONE, %s\n", text.Number(c.All.Done), text.Count(c.All.Recoverable, "recoverable run"), rate(c.All.Done, c.All.Recoverable))
	}
}

// rate formats a share with its interval: 99.5 % (95 % interval 99.1 % to 99.8 %).
func rate(k, n int) string {
	w := stats.Wilson(float64(k), float64(n))
	return fmt.Sprintf("%s (95 %% interval %s to %s)", percent(w.Value), percent(w.Lower), percent(w.Upper))
}

// percent formats a share with at most two decimals. It cuts the rest off, so
// 100 % means all of them.
func percent(share float64) string {
	cut := math.Floor(share*1e4+1e-9) / 100
	return strconv.FormatFloat(cut, 'f', -1, 64) + " %"
}

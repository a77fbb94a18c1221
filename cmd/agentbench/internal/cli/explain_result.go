package cli

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// explainResult says of one trial of a results file why it ended as it did, from
// its line alone.
func (f *explainFlags) explainResult(cmd *cobra.Command, path string) error {
	for _, flag := range []string{"variant", "plain", "seed", "fault"} {
		if asArgument(cmd.Flag(flag)) {
			return misuse("--trial "+trialForm+" names one of its trials", "--%s is for a scenario that is run; %s holds trials that have been", flag, path)
		}
	}
	p := &pick{path: path, want: f.trial}
	r, err := p.read()
	if err != nil {
		return err
	}
	r = r.Redacted()
	stdout := cmd.OutOrStdout()
	var b strings.Builder
	p.describe(&b, r, colour(stdout, f.noColor))
	if _, err := fmt.Fprint(stdout, b.String()); err != nil {
		return err
	}
	summary := &reports.Summary{}
	summary.Add(r)
	return verdict(summary)
}

// trialForm is how a trial of a results file is named.
const trialForm = "SUITE/NAME[/VARIANT[/SEED]]"

// A pick takes one trial out of a results file.
type pick struct {
	path string
	want string // "" = the only one, or the only one that did not pass
	fold reports.Fold
	from string // what the header says
	ids  []string

	all, fit, bad found
}

// found are trials that fit: their number, and the first of them.
type found struct {
	n     int
	first *scenarios.Result
	names []string
}

const namesShown = 3

func (f *found) add(r *scenarios.Result) {
	if f.n++; f.n == 1 {
		f.first = r
	}
	if len(f.names) < namesShown {
		f.names = append(f.names, text.Line(trialNames(r)[2]))
	}
}

// trialNames are the ways to name a trial, the longest last.
func trialNames(r *scenarios.Result) [3]string {
	under := r.Scenario + "/" + r.Variant
	return [3]string{r.Scenario, under, fmt.Sprintf("%s/%d", under, r.Seed)}
}

// read gives the trial that is asked for.
func (p *pick) read() (*scenarios.Result, error) {
	file, err := os.Open(p.path)
	if err != nil {
		return nil, misuse("agentbench run -o results.jsonl makes one", "cannot read %s: %s", p.path, text.Reason(err))
	}
	defer file.Close()
	if err := scenarios.ReadResults(file, p.path, p.header, p.add); err != nil {
		return nil, badInput(err)
	}
	switch {
	case p.all.n == 0:
		return nil, misuse("agentbench report shows what else a results file holds", "%s holds no trial", p.path)
	case p.want != "":
		return p.named()
	case p.all.n == 1:
		return p.all.first, nil
	case p.bad.n == 1:
		return p.bad.first, nil
	case p.bad.n == 0:
		return nil, misuse("name one with --trial, such as "+p.all.names[0], "%s holds %s, and all of them passed or were not judged", p.path, text.Count(p.all.n, "trial"))
	}
	return nil, misuse("name one with --trial, such as "+text.AnyOf(p.bad.names), "%s holds %s, and %s of them did not pass", p.path, text.Count(p.all.n, "trial"), text.Number(p.bad.n))
}

// named gives the one trial that has the name.
func (p *pick) named() (*scenarios.Result, error) {
	switch p.fit.n {
	case 0:
		return nil, misuse(cmp.Or(text.DidYouMean(p.want, p.ids), "--trial takes "+trialForm+"; the first is "+p.all.names[0]), "%s has no trial %q", p.path, p.want)
	case 1:
		return p.fit.first, nil
	}
	return nil, misuse("add the variant and the seed, such as "+text.AnyOf(p.fit.names), "%s has %s %q", p.path, text.Count(p.fit.n, "trial"), p.want)
}

func (p *pick) header(h *scenarios.Header) error {
	p.from = fmt.Sprintf(", of %s, agentbench %s", text.Line(h.Kind), text.Line(h.Tool))
	return p.fold.Header(h)
}

func (p *pick) add(r *scenarios.Result) error {
	p.all.add(r)
	names := trialNames(r)
	if slices.Contains(names[:], p.want) {
		p.fit.add(r)
	}
	if r.Verdict == scenarios.Fail || r.Verdict == scenarios.Inconclusive {
		p.bad.add(r)
	}
	if id := text.Line(r.Scenario); len(p.ids) == 0 || p.ids[len(p.ids)-1] != id {
		p.ids = append(p.ids, id)
	}
	return nil
}

// describe says why a trial ended as it did.
func (p *pick) describe(b *strings.Builder, r *scenarios.Result, paint reports.Colour) {
	fmt.Fprintf(b, "%s: ", text.Line(r.Scenario))
	if r.Label != "" {
		fmt.Fprintf(b, "%s, ", r.Label)
	}
	fmt.Fprintf(b, "under %s, seed %d\nfrom %s%s\n", text.Line(r.Variant), r.Seed, text.Line(p.path), p.from)
	trace, _ := loop.ParseTrace(r.Trace) // what is no trace tells no reason
	section(b, "Why it ended", endings(r, halts(trace)))
	section(b, "What it used", used(r))
	section(b, "Faults", lines(p.fold.Faults()))
	section(b, "Verdict", judgement(r, paint))
	section(b, "The golden", toldGolden(r))
	if r.Trace == "" {
		b.WriteString("\nThe trace was not kept\n")
	} else {
		fmt.Fprintf(b, "\nThe trace\n%s", text.Lines(strings.TrimSuffix(r.Trace, "\n")+"\n"))
	}
	fmt.Fprintf(b, "\nrepeat: %s\n", text.Line(repeatResult(&p.fold, r)))
}

// endings says how each run ended, or where no trace tells that the session.
func endings(r *scenarios.Result, runs []*loop.Outcome) []string {
	var out []string
	for _, o := range runs {
		out = append(out, fmt.Sprintf("%s (%s): %s", o.End, text.Line(string(o.Stop)), text.Line(o.Reason)))
	}
	if len(out) > 0 {
		return out
	}
	if r.EndState == "" && r.Stop == "" {
		return []string{"the session broke off before a run ended"}
	}
	line := reports.Ending(r)
	if why := r.Stop.Means(); why != "" {
		line += ": " + why
	} else if r.EndState == loop.LoopDetected {
		line += ": the detector of this name found that the model repeats itself"
	}
	return []string{line}
}

// used says what a trial used, and with which codes its calls failed.
func used(r *scenarios.Result) []string {
	out := []string{counts(r)}
	var failed []string
	for _, code := range slices.Sorted(maps.Keys(r.Codes)) {
		if code != "None" && r.Codes[code] > 0 {
			failed = append(failed, text.Number(r.Codes[code])+" "+text.Line(code))
		}
	}
	if len(failed) > 0 {
		out = append(out, "calls that failed: "+strings.Join(failed, ", "))
	}
	if r.Saved > 0 {
		out = append(out, text.Count(r.Saved, "recorded call")+" not executed")
	}
	if r.WentOn {
		out = append(out, "the recorded run goes on after that")
	}
	return out
}

// judgement gives the verdict, and what speaks against the trial.
func judgement(r *scenarios.Result, paint reports.Colour) []string {
	word := text.Line(string(r.Verdict))
	switch r.Verdict {
	case scenarios.Pass:
		word = paint.Good(word)
	case scenarios.Fail, scenarios.Inconclusive:
		word = paint.Bad(word)
	case "":
		word = "none"
	}
	out := []string{word}
	if len(r.Findings) > 0 {
		for _, why := range reports.Reasons(r) {
			out = append(out, "- "+why)
		}
	}
	return out
}

// toldGolden says what became of the golden, and how the trace differs from it.
func toldGolden(r *scenarios.Result) []string {
	if r.Golden == "" || r.Golden == scenarios.GoldenOff {
		return nil
	}
	out := []string{text.Line(r.Golden)}
	for _, f := range r.Findings {
		if f.Diff == nil {
			continue
		}
		for _, e := range f.Diff.Edit {
			sign := "+"
			if e.Out {
				sign = "-"
			}
			out = append(out, fmt.Sprintf("%s %4d  %s", sign, e.Line, text.Line(e.Text)))
		}
		if f.Diff.More > 0 {
			out = append(out, fmt.Sprintf("… %s left out", text.Count(f.Diff.More, "line")))
		}
	}
	return out
}

// lines makes foreign texts fit for a line each.
func lines(texts []string) []string {
	var out []string
	for _, t := range texts {
		out = append(out, text.Line(t))
	}
	return out
}

// completeTrial completes with the trials of the results file that is named.
func completeTrial(_ *cobra.Command, args []string, start string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 || !isResults(args[0]) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	p := &pick{path: args[0]}
	if file, err := os.Open(p.path); err == nil {
		defer file.Close()
		add := func(r *scenarios.Result) error {
			names = append(names, text.Line(trialNames(r)[2]))
			return nil
		}
		scenarios.ReadResults(file, p.path, p.header, add) // as many as can be read
	}
	return startingWith(start, names), cobra.ShellCompDirectiveNoFileComp
}

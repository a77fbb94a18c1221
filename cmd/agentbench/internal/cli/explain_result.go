package cli

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
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
	p.fold.Repeat = func(r *scenarios.Result) string { return repeatResult(&p.fold, r) }
	r, err := p.read()
	if err != nil {
		return err
	}
	r = r.Redacted()
	stdout := cmd.OutOrStdout()
	var b strings.Builder
	p.fold.Explain(&b, r, text.Line(path)+p.from, colour(stdout, f.noColor))
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

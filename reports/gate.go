package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A Gate is one verdict over results, and the rules that lead to it.
type Gate struct {
	Verdict scenarios.Verdict `json:"verdict"` // pass, fail or inconclusive
	Rules   []Rule            `json:"rules"`
	Changes []Change          `json:"changes"` // since the baseline, in the order of their importance
}

// A Rule is one check of a gate and its outcome.
type Rule struct {
	Name     string            `json:"name"`
	Verdict  scenarios.Verdict `json:"verdict"`  // unjudged: there was nothing to check, and the rule does not count
	Measured string            `json:"measured"` // the measured value
	Wanted   string            `json:"wanted"`   // the value that it must have
	Warning  bool              `json:"warning"`  // passed, but a reader should look at it
	See      string            `json:"see"`      // the command that shows more; "" = none
}

// A Policy says how a gate treats scenarios that changed since the baseline.
type Policy string

// The policies.
const (
	Allow  Policy = "allow"
	Warn   Policy = "warn"
	Forbid Policy = "fail"
)

// Limits are the requirements of a gate. Faults of the loop itself have no limit here:
// a limit that it did not keep, a history that an API would refuse and a panic always
// fail.
type Limits struct {
	PassRate      float64       // minimal share of trials that pass, averaged over scenarios; below 0 = all without a baseline, any with one
	FuzzSurvival  float64       // minimal share of fuzz runs that survive, and of recoverable ones that are done
	P95Tool       time.Duration // maximal 95th percentile of tool latency in results of record and replay; 0 = no limit
	MaxRegression float64       // how much worse than the baseline a rate can be without failing, as a share
	MinTrials     int           // with fewer trials the gate is inconclusive
	OnFailing     Policy        // for scenarios that fail and did not in the baseline
	OnHarmed      Policy        // for healthy scenarios that are harmed and were not in the baseline
	OnNew         Policy        // for scenarios that the baseline does not have
	OnRemoved     Policy        // for scenarios that only the baseline has
}

// DefaultLimits returns the limits that a gate has by default.
func DefaultLimits() Limits {
	return Limits{PassRate: -1, FuzzSurvival: 0.95, MaxRegression: 0.02, MinTrials: 1, OnFailing: Forbid, OnHarmed: Forbid, OnNew: Allow, OnRemoved: Warn}
}

// Judge returns the verdict over results. They must not be worse than those of
// baseline; nil = no baseline. files are the results files, for the commands that show
// more; nil = the results are not from files.
func (l Limits) Judge(now, baseline *Fold, files []string) *Gate {
	j := &judge{Limits: l, now: now, base: baseline, files: files}
	now.init()
	if baseline != nil {
		baseline.init()
		j.matches = j.pairs()
		if j.against = j.usable(); j.against.Verdict == scenarios.Pass {
			j.changes = j.changed()
		}
	}
	rules := append(j.grave(), j.whole(), j.judged(), j.trials())
	measured := append([]Rule{j.passRate(), j.goldens(), j.fuzz(), j.invariants(), j.latency()}, append(j.served(), j.baseline()...)...)
	if !slices.ContainsFunc(measured, func(r Rule) bool { return r.Verdict != scenarios.Unjudged }) {
		rules = append(rules, Rule{Name: "measured", Verdict: scenarios.Inconclusive, Measured: "no rule had anything to check",
			Wanted: "judged results, or a baseline", See: "agentbench run -o results.jsonl"})
	}
	rules = append(rules, measured...)
	g := &Gate{Verdict: scenarios.Pass, Rules: rules, Changes: append([]Change{}, j.changes...)}
	for _, r := range rules {
		g.Verdict = worse(g.Verdict, r.Verdict)
	}
	return g
}

// judge holds what the rules check.
type judge struct {
	Limits
	now, base *Fold
	files     []string
	matches   []match  // of the results and the baseline
	against   Rule     // says whether they can be compared
	changes   []Change // if they can
}

// Write writes what changed since the baseline, the rules and the verdict for a
// terminal.
func (g *Gate) Write(w io.Writer, colour Colour) error {
	var b strings.Builder
	for _, c := range g.told() {
		fmt.Fprintf(&b, "%s: %s\n", c.what, c.words)
		if c.command != "" {
			fmt.Fprintf(&b, "  %s\n", colour.Dim(c.command))
		}
	}
	width := 0
	for i := range g.Rules {
		width = max(width, utf8.RuneCountInString(g.Rules[i].Name))
	}
	for i := range g.Rules {
		g.Rules[i].write(&b, colour, width)
	}
	fmt.Fprintf(&b, "gate: %s\n", paint(colour, g.Verdict, string(g.Verdict)))
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Rule) write(b *strings.Builder, colour Colour, width int) {
	fmt.Fprintf(b, "%s  %-*s  %s", paint(colour, r.Verdict, fmt.Sprintf("%-12s", r.words())), width, r.Name, text.Line(r.Measured))
	if r.Wanted != "" {
		fmt.Fprintf(b, "; wanted: %s", text.Line(r.Wanted))
	}
	b.WriteByte('\n')
	if r.See != "" && r.mark() != "" {
		fmt.Fprintf(b, "%*s%s\n", 12+2+width+2, "", colour.Dim(text.Line(r.See)))
	}
}

func paint(colour Colour, v scenarios.Verdict, s string) string {
	switch v {
	case scenarios.Pass:
		return colour.Good(s)
	case scenarios.Unjudged:
		return colour.Dim(s)
	}
	return colour.Bad(s)
}

// words returns the rule's verdict as a reader sees it.
func (r *Rule) words() string {
	switch {
	case r.Verdict == scenarios.Unjudged:
		return "not measured"
	case r.Warning && r.Verdict == scenarios.Pass:
		return "warning"
	}
	return string(r.Verdict)
}

// mark returns how a rule that a reader must look at is marked: fail, inconclusive or
// warning; "" = nobody need look.
func (r *Rule) mark() string {
	switch {
	case r.Verdict == scenarios.Fail || r.Verdict == scenarios.Inconclusive:
		return string(r.Verdict)
	case r.Warning:
		return "warning"
	}
	return ""
}

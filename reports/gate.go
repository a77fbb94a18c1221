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

// A Gate is one verdict over some results, and the rules that it comes from.
type Gate struct {
	Verdict scenarios.Verdict `json:"verdict"` // pass, fail or inconclusive
	Rules   []Rule            `json:"rules"`
}

// A Rule is one thing that a gate looked at.
type Rule struct {
	Name     string            `json:"name"`
	Verdict  scenarios.Verdict `json:"verdict"`  // unjudged: there was nothing to look at, which does not count
	Measured string            `json:"measured"` // what was found
	Wanted   string            `json:"wanted"`   // and against what
	Warning  bool              `json:"warning"`  // passed, but a reader should look
	See      string            `json:"see"`      // what to run to see more; "" = nothing
}

// A Policy says what scenarios that came or went since the baseline do to a
// gate.
type Policy string

// The policies.
const (
	Allow  Policy = "allow"
	Warn   Policy = "warn"
	Forbid Policy = "fail"
)

// Limits are what a gate asks for. What the loop itself must never do has no
// limit here: a limit that it did not keep, a history that an API would refuse
// and a panic always fail.
type Limits struct {
	PassRate      float64       // least share of trials that pass, averaged over scenarios
	FuzzSurvival  float64       // least share of fuzz runs that survive, and of the recoverable ones that are done
	P95Tool       time.Duration // most for the 95th percentile of tool latency in results of record and replay; 0 = free
	MaxRegression float64       // how much worse than the baseline a rate may be whatever a test says, as a share
	MinTrials     int           // fewer are inconclusive
	OnNew         Policy        // for scenarios that the baseline does not have
	OnRemoved     Policy        // for scenarios that only the baseline has
}

// DefaultLimits are those of a gate that says nothing else.
func DefaultLimits() Limits {
	return Limits{PassRate: 1, FuzzSurvival: 0.95, MaxRegression: 0.02, MinTrials: 1, OnNew: Allow, OnRemoved: Warn}
}

// Judge gives the verdict over results. baseline holds the results that they
// must not be worse than; nil = none. files names the results files for the
// commands that show more; nil = the trials were made on the spot.
func (l Limits) Judge(now, baseline *Fold, files []string) *Gate {
	j := &judge{Limits: l, now: now, base: baseline, files: files}
	now.init()
	rules := append(j.grave(), j.whole(), j.judged(), j.trials())
	measured := append([]Rule{j.passRate(), j.goldens(), j.fuzz(), j.latency()}, j.baseline()...)
	if !slices.ContainsFunc(measured, func(r Rule) bool { return r.Verdict != scenarios.Unjudged }) {
		rules = append(rules, Rule{Name: "measured", Verdict: scenarios.Inconclusive, Measured: "no rule had anything to look at",
			Wanted: "judged results, or a baseline", See: "agentbench run -o results.jsonl"})
	}
	rules = append(rules, measured...)
	g := &Gate{Verdict: scenarios.Pass, Rules: rules}
	for _, r := range rules {
		g.Verdict = worse(g.Verdict, r.Verdict)
	}
	return g
}

// judge is what the rules look at.
type judge struct {
	Limits
	now, base *Fold
	files     []string
}

// Write writes the rules and the verdict for a terminal.
func (g *Gate) Write(w io.Writer, colour Colour) error {
	var b strings.Builder
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
	if r.See != "" && (r.Verdict == scenarios.Fail || r.Verdict == scenarios.Inconclusive || r.Warning) {
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

// words is the rule's verdict as a reader sees it.
func (r *Rule) words() string {
	switch {
	case r.Verdict == scenarios.Unjudged:
		return "not measured"
	case r.Warning && r.Verdict == scenarios.Pass:
		return "warning"
	}
	return string(r.Verdict)
}

package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A card is the summary of a variant.
type card struct {
	Variant string
	Class   string // class of its colour in the charts
	Best    bool
	Place   string // its rank among the others
	Bars    []bar
	NotRun  string // in a replay: the recorded calls saved and lost
	Beside  string // comparison with the reference
	// Settings are the settings of the variant, as JSON; "" = unknown.
	Settings string
}

// A bar is a rate with its interval, in percent.
type bar struct {
	Words        string // 31 of 32 runaways caught
	Value        string // 97 %
	Interval     string // 84–99 %
	Rate         string // widths and positions for the style
	Lower, Width string
	Good         bool // a higher rate is better
}

// cardsShown is how many variants readers see at first.
const cardsShown = 8

// choose sets the variant to choose, and a card for each variant.
func (p *page) choose(c *choice) {
	r := c.report
	ruling := c.ruling()
	p.Best, p.Undecided, p.Advice = text.Line(ruling.best), ruling.undecided, c.advice()
	if !c.comparable() && len(r.Variants) > 1 {
		p.Unranked = "The variants were not tried on the same scenarios, so they are not ranked: look at each by itself."
	}
	shown := map[string]bool{}
	add := func(s *standing) {
		shown[s.variant] = true
		card := c.card(s)
		if len(p.Cards) < cardsShown || s.variant == r.Reference {
			p.Cards = append(p.Cards, card)
			return
		}
		p.More = append(p.More, card)
	}
	for i := range c.ranked {
		add(&c.ranked[i])
	}
	for _, v := range r.Variants {
		if s := c.standing(v); !shown[v] && (s.caught != nil || s.harmed != nil) {
			add(&s)
		}
	}
}

func (c *choice) card(s *standing) card {
	k := card{Variant: text.Line(s.variant), Class: c.class(s.variant), Best: s.variant == c.best(), NotRun: c.report.notRunLine(s.variant), Beside: c.compared(s.variant)}
	var indented bytes.Buffer
	if json.Indent(&indented, c.report.Header.Variants[s.variant], "", "  ") == nil {
		k.Settings = text.Lines(indented.String())
	}
	if len(c.report.Variants) < 2 {
		k.Beside = ""
	}
	if slices.Contains(c.apart, s.variant) {
		k.Place = "tried on other scenarios"
	} else {
		k.Place = c.place(s)
	}
	verb := "caught"
	if c.report.replay() {
		verb = "stopped"
	}
	if s.caught != nil {
		k.Bars = append(k.Bars, c.bar(s.caught, verb, true))
	}
	if s.harmed != nil {
		k.Bars = append(k.Bars, c.bar(s.harmed, string(c.report.harm()), false))
	}
	for i := range c.report.Rates {
		r := &c.report.Rates[i]
		if words := map[Metric]string{Stopped: "stopped", Interfered: "interfered with"}[r.Metric]; r.Variant == s.variant && r.Label == scenarios.Healthy && r.N > 0 && r != s.harmed && words != "" {
			k.Bars = append(k.Bars, c.bar(r, words, false))
		}
	}
	return k
}

func (c *choice) bar(r *Rate, verb string, good bool) bar {
	width := func(f Figure) string { return decimal(100*float64(f), 1) }
	return bar{Words: r.words() + " " + runsOf(r.Label, c.report.replay()) + "s " + verb, Value: percent(r.Rate) + " %", Interval: Percents(r.Lower, r.Upper),
		Rate: width(r.Rate), Lower: width(r.Lower), Width: width(r.Upper - r.Lower), Good: good}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// A findingsView shows a trial that failed or could not be judged.
type findingsView struct {
	Verdict string
	Title   string
	Ending  string
	Reasons []string
	Command string
	Trace   int       // number of its trace, 0 = not on the page
	Diff    *diffView // set if the page has no trace that shows it
}

// A differenceView shows a scenario that the variants treat differently.
type differenceView struct{ Scenario, Words, Command string }

// listed is how many trials with findings and how many differences a page lists. Its
// table has all trials.
const listed = 100

func findingsViews(r *Report, trials *trialsView) []findingsView {
	var out []findingsView
	for _, t := range r.Findings[:min(listed, len(r.Findings))] {
		view := findingsView{Verdict: string(t.Verdict), Title: fmt.Sprintf("%s under %s, seed %d", text.Line(t.Scenario), text.Line(t.Variant), t.Seed), Ending: t.Ending,
			Reasons: reasons(t.Findings[:min(markdownFindings, len(t.Findings))]), Command: text.Line(t.Command), Trace: trials.traces[trialKey{t.Scenario, t.Variant, t.Seed}]}
		if view.Trace == 0 {
			view.Diff = newDiff(t.Findings)
		}
		out = append(out, view)
	}
	return out
}

func differenceViews(r *Report) []differenceView {
	var out []differenceView
	for i := range r.Differences[:min(listed, len(r.Differences))] {
		d := &r.Differences[i]
		out = append(out, differenceView{text.Line(d.Scenario), d.words(r.replay()), text.Line(d.Command)})
	}
	return out
}

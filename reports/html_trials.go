package reports

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A trialsView holds all trials in a form that the script filters quickly: rows of
// numbers, which are indexes into a list of words.
type trialsView struct {
	Data   trialsData
	Static []trialRow // for readers without JavaScript, the worst first
	Traces []traceView
	Total  int
	Left   string // says how many traces are left out; "" = none
	Cut    string // says how many trials are left out; "" = none

	traces map[trialKey]int // number of the trace, from 1
}

// trialsData is the data for the script. A row holds the indexes in Words of scenario,
// suite, label, variant, verdict, ending and seed, then the calls asked for, virtual
// milliseconds, tokens, the number of the trace (0 = none) and the index of the
// findings ("" = none).
type trialsData struct {
	Words []string `json:"words"`
	Rows  [][]int  `json:"rows"`
}

// A trialRow is a trial as text.
type trialRow struct {
	Scenario, Suite, Label, Variant, Seed, Verdict, Ending, Calls, Time, Tokens, Found string
	Trace                                                                              int
}

// A traceView is the text of a trace that was kept.
type traceView struct {
	Number  int
	Title   string
	Reasons []string
	Diff    *diffView // nil unless it differs from its golden
	Text    string
}

// A trace that is longer than traceHead and traceTail together, in bytes, is shown
// without its middle: a run that nothing stops repeats itself a thousand times.
const (
	traceHead = 48 << 10
	traceTail = 16 << 10
)

// shortTrace leaves out the middle of a long trace, in whole lines.
func shortTrace(trace string) string {
	if len(trace) <= traceHead+traceTail {
		return trace
	}
	head := trace[:strings.LastIndexByte(trace[:traceHead], '\n')+1]
	tail := trace[len(trace)-traceTail:]
	tail = tail[strings.IndexByte(tail, '\n')+1:]
	left := strings.Count(trace, "\n") - strings.Count(head, "\n") - strings.Count(tail, "\n")
	return head + "… " + text.Count(left, "line") + " left out\n" + tail
}

// staticRows is how many trials are shown without JavaScript.
const staticRows = 1000

// foundChars is the length to which the findings in a row are cut.
const foundChars = 300

func newTrials(r *Report) trialsView {
	v := trialsView{Total: len(r.Results), traces: map[trialKey]int{}, Data: trialsData{Words: []string{}, Rows: [][]int{}}}
	worst := slices.Clone(r.Results)
	slices.SortStableFunc(worst, func(a, b *scenarios.Result) int { return rank(b.Verdict) - rank(a.Verdict) })
	worst = v.list(worst)
	kept, listed := v.choose(worst), map[*scenarios.Result]bool{}
	for _, res := range worst {
		listed[res] = true
	}
	places := map[string]int{}
	place := func(word string) int {
		at, seen := places[word]
		if !seen {
			at = len(v.Data.Words)
			places[word] = at
			v.Data.Words = append(v.Data.Words, word)
		}
		return at
	}
	for _, res := range r.Results {
		if !listed[res] {
			continue
		}
		trace := 0
		if kept[res] {
			trace = v.trace(res)
		}
		t := newTrialRow(res, trace)
		v.Data.Rows = append(v.Data.Rows, []int{place(t.Scenario), place(t.Suite), place(t.Label), place(t.Variant), place(t.Verdict), place(t.Ending), place(t.Seed),
			asked(res), int(res.VirtualMS), int(res.TokensIn + res.TokensOut), trace, place(t.Found)})
	}
	for _, res := range worst[:min(staticRows, len(worst))] {
		v.Static = append(v.Static, newTrialRow(res, v.traces[trialKey{res.Scenario, res.Variant, res.Seed}]))
	}
	return v
}

// A page has at most 10 MB, so that every browser opens it and every CI keeps it. These
// are the shares of its largest parts, in bytes as they stand in the page: the texts of
// traces, and the table of all trials.
const (
	maxTraces = 5_000_000
	maxRows   = 2_500_000
)

// choose returns the results whose traces the page holds: the first ones, until the
// room is used up. The worst results come first.
func (v *trialsView) choose(worst []*scenarios.Result) map[*scenarios.Result]bool {
	kept := map[*scenarios.Result]bool{}
	room, left := maxTraces, 0
	for _, res := range worst {
		if res.Trace == "" {
			continue
		}
		if left == 0 {
			if room -= len(template.HTMLEscapeString(shortTrace(res.Trace))); room >= 0 {
				kept[res] = true
				continue
			}
		}
		left++
	}
	if left > 0 {
		v.Left = fmt.Sprintf("The page holds %s; %s left out, failed trials last. The results file has all of them; agentbench explain shows them.", text.Count(len(kept), "trace"), counted(left, "more is", "more are"))
	}
	return kept
}

// list returns the results that the table has: the first ones, until the room is used
// up. The worst results come first.
func (v *trialsView) list(worst []*scenarios.Result) []*scenarios.Result {
	const numbers = 60 // bytes of a row, at most: its indexes and counts
	words, room := map[string]bool{}, maxRows
	for i, res := range worst {
		t := newTrialRow(res, 0)
		room -= numbers
		for _, word := range []string{t.Scenario, t.Suite, t.Variant, t.Ending, t.Seed, t.Found} {
			if !words[word] {
				words[word] = true
				room -= len(template.JSEscapeString(word)) + len(`"",`)
			}
		}
		if room < 0 {
			v.Cut = fmt.Sprintf("The page lists %s, the worst first; %s left out. The results file has all of them; agentbench explain shows them.", text.Count(i, "trial"), counted(len(worst)-i, "more is", "more are"))
			return worst[:i]
		}
	}
	return worst
}

// counted writes a number, followed by one or many.
func counted(n int, one, many string) string {
	if n == 1 {
		return text.Number(n) + " " + one
	}
	return text.Number(n) + " " + many
}

// trace adds the trace of a result, and returns its number.
func (v *trialsView) trace(res *scenarios.Result) int {
	n := len(v.Traces) + 1
	t := traceView{Number: n, Title: fmt.Sprintf("%s under %s, seed %d: %s", text.Line(res.Scenario), text.Line(res.Variant), res.Seed, Ending(res)), Text: shortTrace(keptTrace(res))}
	if len(res.Findings) > 0 {
		t.Reasons = Reasons(res)
		t.Diff = newDiff(res.Findings)
	}
	v.Traces = append(v.Traces, t)
	v.traces[trialKey{res.Scenario, res.Variant, res.Seed}] = n
	return n
}

func newTrialRow(r *scenarios.Result, trace int) trialRow {
	found := ""
	if len(r.Findings) > 0 {
		found = text.Cut(Reasons(r)[0], foundChars)
		if more := len(r.Findings) - 1; more > 0 {
			found += fmt.Sprintf(" (and %d more)", more)
		}
	}
	return trialRow{Scenario: text.Line(r.Scenario), Suite: text.Line(suiteOf(r)), Label: string(r.Label), Variant: text.Line(r.Variant), Seed: fmt.Sprint(r.Seed),
		Verdict: text.Line(string(r.Verdict)), Ending: Ending(r), Calls: text.Number(asked(r)), Time: text.Duration(time.Duration(r.VirtualMS) * time.Millisecond),
		Tokens: text.Number(int(r.TokensIn + r.TokensOut)), Found: found, Trace: trace}
}

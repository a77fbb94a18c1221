package goldens

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// Compare returns the first difference between the golden and a trace, or nil if
// they differ in nothing, or only in what the mode leaves out or an allowance
// allows.
func (g *Golden) Compare(trace loop.Trace) *Difference {
	if g.same(trace) {
		return nil
	}
	return g.compare(trace.String())
}

// CompareRedacted is [Golden.Compare] of the redacted golden with the redacted
// trace. redactor returns what redacts the texts of one trace, from first to last;
// it is not asked where the two are the same as they stand.
func (g *Golden) CompareRedacted(trace loop.Trace, redactor func() func(string) string) *Difference {
	if g.same(trace) {
		return nil
	}
	redacted := *g
	if stored, err := loop.ParseTrace(g.Trace); err == nil { // else Compare says what is broken
		redacted.Trace = stored.Map(redactor()).String()
	}
	return redacted.compare(trace.Map(redactor()).String())
}

// compare compares the golden with the text of a trace.
func (g *Golden) compare(text string) *Difference {
	if g.Trace == text {
		return nil
	}
	stored, now := excerpt{text: g.Trace}, excerpt{text: text}
	if g.lineByLine() {
		stored, now = differing(g.Trace, text)
	}
	want, err := stored.lines()
	if err != nil {
		return g.broken(err, "the golden is broken", text)
	}
	got, err := now.lines()
	if err != nil {
		return g.broken(err, "the trace is broken", text)
	}
	want, got = g.compared(want), g.compared(got)
	al := g.align(want, got)
	edits, whole := al.shortest()
	if whole && len(edits) == 0 {
		return nil
	}
	if !whole {
		edits = al.first()
	}
	return g.difference(want, got, edits, whole, stored.after)
}

// lineByLine reports whether each line is compared as it stands, so that those
// before and after all that differs need not be looked at.
func (g *Golden) lineByLine() bool {
	return (g.Mode == "" || g.Mode == Strict) && !slices.ContainsFunc(g.Allow, func(a Allowance) bool { return a.kind == allowRetries })
}

// Unused returns the allowances that allow nothing: neither the golden nor the
// trace holds anything that they are about. They are stale.
func (g *Golden) Unused(trace loop.Trace) []Allowance {
	if len(g.Allow) == 0 {
		return nil
	}
	want, err := (&excerpt{text: g.Trace}).lines()
	if err != nil {
		return nil // which Compare tells
	}
	got := entries(trace)
	var unused []Allowance
	for _, a := range g.Allow {
		if !a.finds(want) && !a.finds(got) {
			unused = append(unused, a)
		}
	}
	return unused
}

// compared keeps of the lines of a trace what is compared.
func (g *Golden) compared(lines []entry) []entry {
	if g.lineByLine() && len(g.Allow) == 0 {
		return lines
	}
	for i := range g.Allow {
		lines = g.Allow[i].apply(lines)
	}
	lines = g.Mode.project(lines)
	for i := range lines {
		lines[i].render()
	}
	return lines
}

// align says what is equal in the two, and what may be taken out or put in.
func (g *Golden) align(want, got []entry) *alignment {
	var tolerances, added, missing []*Allowance
	for i := range g.Allow {
		switch a := &g.Allow[i]; {
		case a.tolerates():
			tolerances = append(tolerances, a)
		case a.kind == allowAdded:
			added = append(added, a)
		case a.kind == allowMissing:
			missing = append(missing, a)
		}
	}
	allowed := func(e *entry, all []*Allowance) bool {
		for _, a := range all {
			if e.is(a.line) {
				return true
			}
		}
		return false
	}
	return &alignment{
		n: len(want), m: len(got),
		equal:   func(a, b int) bool { return equal(&want[a], &got[b], tolerances) },
		freeOut: func(a int) bool { return allowed(&want[a], missing) || g.Mode == Subset && want[a].isCall() },
		freeIn:  func(b int) bool { return allowed(&got[b], added) || g.Mode == Superset && got[b].isCall() },
	}
}

// broken is the difference where one of the two texts is not a trace.
func (g *Golden) broken(err error, what, trace string) *Difference {
	var at *loop.TraceError
	if !errors.As(err, &at) {
		at = &loop.TraceError{Line: 1, Problem: err.Error()}
	}
	d := &Difference{File: g.File, Line: g.headerLines() + at.Line, TraceLine: at.Line,
		Problem: fmt.Sprintf("%s at column %d: %s", what, at.Column, text.Clip(at.Problem, lineChars))}
	d.Want, d.Got = windows(lineOf(g.Trace, at.Line), lineOf(trace, at.Line))
	return d
}

// lineOf gives the n-th line of a text, "" if it has none.
func lineOf(text string, n int) string {
	for ; n > 1; n-- {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// difference describes edits: the first in full, the others as far as one
// wants to read them. after is the number of lines that are the same before all
// that was compared.
func (g *Golden) difference(want, got []entry, edits []edit, whole bool, after int) *Difference {
	head := g.headerLines()
	all := make([]Edit, len(edits))
	for i, e := range edits {
		if e.out {
			all[i] = Edit{Out: true, Line: head + want[e.a].line, Text: want[e.a].whole}
		} else {
			all[i] = Edit{Line: got[e.b].line, Text: got[e.b].whole}
		}
	}
	d := &Difference{File: g.File, Line: head + placeIn(want, edits[0].a, after), TraceLine: placeIn(got, edits[0].b, after), tooMany: !whole}
	d.first(all[:together(edits)])
	if whole {
		d.Edits = shownEdits(all)
	}
	return d
}

// placeIn is the line of the i-th entry; of one behind the end, the line behind
// the last.
func placeIn(lines []entry, i, after int) int {
	switch {
	case i < len(lines):
		return lines[i].line
	case len(lines) > 0:
		return lines[len(lines)-1].line + 1
	}
	return after + 1
}

// together counts the edits at the beginning that follow one another, with no
// equal line between them.
func together(edits []edit) int {
	a, b := edits[0].a, edits[0].b
	for i, e := range edits {
		if e.a != a || e.b != b {
			return i
		}
		a, b = e.behind()
	}
	return len(edits)
}

// first sets what was expected and what came at the first place that differs:
// the first line out and the first line in of the edits there.
func (d *Difference) first(edits []Edit) {
	out := slices.IndexFunc(edits, func(e Edit) bool { return e.Out })
	in := slices.IndexFunc(edits, func(e Edit) bool { return !e.Out })
	var want, got string
	if out >= 0 {
		d.Problem, want = "a line is missing from the trace", edits[out].Text
	}
	if in >= 0 {
		d.Problem, got = "the trace has one line more", edits[in].Text
	}
	if out >= 0 && in >= 0 {
		d.Problem = "the trace differs"
	}
	d.Want, d.Got = windows(want, got)
}

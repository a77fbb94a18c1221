package goldens

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// Compare returns the first difference between the golden and a trace. It returns nil
// if they are equal, or differ only where the mode or an allowance permits it.
func (g *Golden) Compare(trace loop.Trace) *Difference {
	if g.same(trace) {
		return nil
	}
	return g.compare(trace.String())
}

// CompareRedacted is [Golden.Compare] of the redacted golden with the redacted trace.
// redactor returns a function that redacts the texts of one trace, from first to last.
// It is not called if the unredacted traces are equal.
func (g *Golden) CompareRedacted(trace loop.Trace, redactor func() func(string) string) *Difference {
	if g.same(trace) {
		return nil
	}
	redacted := *g
	if stored, err := loop.ParseTrace(g.Trace); err == nil { // else compare reports what is broken
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

// lineByLine reports whether lines are compared one by one, so that the equal lines at
// the beginning and the end can be skipped.
func (g *Golden) lineByLine() bool {
	return (g.Mode == "" || g.Mode == Strict) && !slices.ContainsFunc(g.Allow, func(a Allowance) bool { return a.kind == allowRetries })
}

// Unused returns the stale allowances: neither the golden nor the trace holds anything
// that they are about.
func (g *Golden) Unused(trace loop.Trace) []Allowance {
	if len(g.Allow) == 0 {
		return nil
	}
	want, err := (&excerpt{text: g.Trace}).lines()
	if err != nil {
		return nil // Compare reports the error
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

// compared reduces the lines of a trace to the parts that are compared.
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

// align returns the alignment of two traces: which lines are equal, and which may be
// missing or added.
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

// broken returns the difference if one of the two texts is not a trace.
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

// lineOf returns the n-th line of a text, "" if the text is shorter.
func lineOf(text string, n int) string {
	for ; n > 1; n-- {
		_, text, _ = strings.Cut(text, "\n")
	}
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// difference describes edits: the first in full, and the first mostEdits of all. after
// is the number of equal lines before the compared ones.
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

// placeIn returns the line number of the i-th entry. For an index beyond the end, it is
// the number after that of the last entry.
func placeIn(lines []entry, i, after int) int {
	switch {
	case i < len(lines):
		return lines[i].line
	case len(lines) > 0:
		return lines[len(lines)-1].line + 1
	}
	return after + 1
}

// together counts the first edits that have no equal line between them.
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

// first sets the problem and the two lines at the first place that differs, from the
// edits there: the first line out and the first line in.
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

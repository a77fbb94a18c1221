package goldens

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// Compare gives what differs between a trace and the golden, nil if nothing does
// that the mode compares and no rule allows.
func (g *Golden) Compare(trace loop.Trace) *Difference {
	if g.same(trace) {
		return nil
	}
	stored, err := loop.ParseTrace(g.Trace)
	if err != nil {
		return g.broken(err, trace)
	}
	want, got := g.lines(stored), g.lines(trace)
	al := g.align(want, got)
	edits, whole := al.shortest()
	if whole && len(edits) == 0 {
		return nil
	}
	if !whole {
		edits = al.first()
	}
	return g.difference(want, got, edits, whole, trace)
}

// Unused gives the allowances that find nothing to allow: neither the golden nor
// the trace holds anything that they are about. They say something about the
// trace that is not true any more.
func (g *Golden) Unused(trace loop.Trace) []Allowance {
	if len(g.Allow) == 0 {
		return nil
	}
	stored, err := loop.ParseTrace(g.Trace)
	if err != nil {
		return nil // which Compare tells
	}
	want, got := entries(stored), entries(trace)
	var unused []Allowance
	for _, a := range g.Allow {
		if !a.Rule.finds(want) && !a.Rule.finds(got) {
			unused = append(unused, a)
		}
	}
	return unused
}

// lines gives the lines of a trace as far as they are compared.
func (g *Golden) lines(trace loop.Trace) []entry {
	lines := entries(trace)
	for i := range g.Allow {
		lines = g.Allow[i].Rule.apply(lines)
	}
	lines = g.Mode.project(lines)
	for i := range lines {
		lines[i].render()
	}
	return lines
}

// align says what is equal in the two, and what may be taken out or put in.
func (g *Golden) align(want, got []entry) *alignment {
	var tolerances, added, missing []*Rule
	for i := range g.Allow {
		switch r := &g.Allow[i].Rule; {
		case r.tolerates():
			tolerances = append(tolerances, r)
		case r.kind == addedRule:
			added = append(added, r)
		case r.kind == missingRule:
			missing = append(missing, r)
		}
	}
	allowed := func(e *entry, rules []*Rule) bool {
		for _, r := range rules {
			if e.is(r.line) {
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

// broken is the difference to a golden whose trace is none.
func (g *Golden) broken(err error, trace loop.Trace) *Difference {
	var at *loop.TraceError
	if !errors.As(err, &at) {
		at = &loop.TraceError{Line: 1, Problem: err.Error()}
	}
	return &Difference{
		File: g.File, Line: g.headerLines() + at.Line, TraceLine: at.Line,
		Problem: fmt.Sprintf("the golden is broken at column %d: %s", at.Column, escape(cut(at.Problem))),
		Want:    lineOf(g.Trace, at.Line), Got: lineOf(trace.String(), at.Line),
	}
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
// wants to read them.
func (g *Golden) difference(want, got []entry, edits []edit, whole bool, trace loop.Trace) *Difference {
	head := g.headerLines()
	wants, gots := strings.Split(g.Trace, "\n"), strings.Split(trace.String(), "\n")
	all := make([]Edit, len(edits))
	for i, e := range edits {
		if e.out {
			line := want[e.a].line
			all[i] = Edit{Out: true, Line: head + line, Text: wants[line-1]}
		} else {
			line := got[e.b].line
			all[i] = Edit{Line: line, Text: gots[line-1]}
		}
	}
	d := &Difference{File: g.File, Line: placeIn(want, edits[0].a, head), TraceLine: placeIn(got, edits[0].b, 0), whole: whole}
	d.first(all[:together(edits)])
	d.Edit = all[:min(len(all), shownEdits)]
	d.More = len(all) - len(d.Edit)
	return d
}

// placeIn is the line of the i-th entry; of one behind the end, the line behind
// the last.
func placeIn(lines []entry, i, offset int) int {
	switch {
	case i < len(lines):
		return offset + lines[i].line
	case len(lines) > 0:
		return offset + lines[len(lines)-1].line + 1
	}
	return offset + 1
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

// first says what was expected and what came at the first place that differs:
// the first line out and the first line in of the edits there.
func (d *Difference) first(edits []Edit) {
	out := slices.IndexFunc(edits, func(e Edit) bool { return e.Out })
	in := slices.IndexFunc(edits, func(e Edit) bool { return !e.Out })
	if out >= 0 {
		d.Problem, d.Want = "a line is missing from the trace", edits[out].Text
	}
	if in >= 0 {
		d.Problem, d.Got = "the trace has one line more", edits[in].Text
	}
	if out >= 0 && in >= 0 {
		d.Problem = "the trace differs"
	}
}

package goldens

import (
	"reflect"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
)

// mask replaces a part of a text that an allowance permits to differ.
const mask = "\x00"

// apply removes from the lines what may differ. Differences within an amount are left
// to reconcile, and added or missing lines to the alignment.
func (a *Allowance) apply(lines []entry) []entry {
	switch a.kind {
	case allowRetries:
		return withoutRetries(lines)
	case allowField:
		for i := range lines {
			if !a.tolerates() {
				a.clear(&lines[i])
			}
		}
	case allowText:
		for i := range lines {
			if v := a.value(&lines[i]); v.IsValid() {
				v.SetString(a.pattern.ReplaceAllLiteralString(v.String(), mask))
			}
		}
	case allowArgument:
		for i := range lines {
			lines[i].arguments(func(tool string, args *string) {
				doc, ok := a.argument(tool, *args)
				if ok && !a.tolerates() {
					doc, _ = a.path.remove(doc)
				}
				if ok {
					*args = writeJSON(doc) // so that equal arguments have equal texts
				}
			})
		}
	}
	return lines
}

// value returns the field of a line that the allowance is about, in place; the
// zero Value if the line has none.
func (a *Allowance) value(e *entry) reflect.Value {
	if !e.is(a.line) {
		return reflect.Value{}
	}
	return keys[a.key].in(e)
}

// clear empties a field. For the key id it empties the id of each call.
func (a *Allowance) clear(e *entry) {
	v := a.value(e)
	switch {
	case !v.IsValid():
	case a.key == "id":
		for i := range e.input.Calls {
			e.input.Calls[i].ID = ""
		}
	default:
		v.SetZero()
	}
}

// argument parses the arguments of a call. ok is false if the call is not of the
// allowance's tool or the arguments are not JSON.
func (a *Allowance) argument(tool, args string) (doc any, ok bool) {
	if a.tool != "" && a.tool != tool {
		return nil, false
	}
	return parseJSON(args)
}

// finds reports whether these lines hold anything that the allowance is about.
func (a *Allowance) finds(lines []entry) bool {
	for i := range lines {
		if a.findsIn(&lines[i]) {
			return true
		}
	}
	return false
}

func (a *Allowance) findsIn(e *entry) bool {
	switch a.kind {
	case allowRetries:
		return e.ref().Try > 1
	case allowField:
		v := a.value(e)
		return v.IsValid() && !v.IsZero()
	case allowText:
		v := a.value(e)
		return v.IsValid() && a.pattern.MatchString(v.String())
	case allowAdded, allowMissing:
		return e.is(a.line)
	}
	found := false
	e.arguments(func(tool string, args *string) {
		if doc, ok := a.argument(tool, *args); ok {
			_, there := a.path.remove(doc)
			found = found || there
		}
	})
	return found
}

// withoutRetries merges the tries of each call and request into one: it keeps the line
// that began the first try, the line that ended the last one, and the sub-run of the
// last one. It removes all times and the counts of tries.
func withoutRetries(lines []entry) []entry {
	last := lastTries{}
	for i := range lines {
		what := last.of(lines[i].path, *lines[i].ref())
		last[what] = max(last[what], lines[i].ref().Try)
	}
	kept := lines[:0]
	for _, e := range lines {
		path, ok := last.path(e.path)
		if !ok {
			continue
		}
		ref := e.ref()
		try := last[last.of(e.path, *ref)]
		e.path = path
		if e.effect != nil && (e.effect.Kind == loop.CallTool || e.effect.Kind == loop.AskModel) {
			try = 1
		}
		if e.effect == nil && e.input.Kind == loop.Tick || ref.Try > 0 && ref.Try != try {
			continue
		}
		if ref.Try > 0 {
			ref.Try = 1
		}
		e.input.At = 0
		if e.effect != nil && e.effect.Outcome != nil {
			out := e.effect.Outcome
			out.Tries, out.ModelCalls, out.Elapsed = 0, 0, 0
		}
		kept = append(kept, e)
	}
	return kept
}

// lastTries are the last tries of the requests and calls of each session.
type lastTries map[tried]int

// A tried is what may have several tries.
type tried struct {
	path loop.Path
	ref  loop.Ref
}

func (lastTries) of(path loop.Path, ref loop.Ref) tried {
	return tried{path, loop.Ref{Kind: ref.Kind, N: ref.N}}
}

// path returns the path of a sub-run as if each call on the way had one try. ok is
// false if it is that of a try that is not the last.
func (l lastTries) path(p loop.Path) (merged loop.Path, ok bool) {
	if p == "" {
		return "", true
	}
	above, try := p.Caller()
	if try.Try != l[l.of(above, try)] {
		return "", false
	}
	merged, ok = l.path(above)
	try.Try = 1
	return merged.Sub(try), ok
}

// equal reports whether two lines are equal, except for numbers that differ within a
// tolerance.
func equal(want, got *entry, tolerances []*Allowance) bool {
	if want.text == got.text {
		return true
	}
	if len(tolerances) > 0 && want.word == got.word {
		near := got.clone()
		for _, a := range tolerances {
			a.reconcile(want, &near)
		}
		got = &near
	}
	return want.path == got.path && cmp.Equal(want.input, got.input) && cmp.Equal(want.effect, got.effect)
}

// clone returns a copy that can be changed.
func (e *entry) clone() entry {
	c := *e
	c.input.Calls = append([]loop.AskedCall(nil), c.input.Calls...)
	if c.effect != nil {
		effect := *c.effect
		if effect.Outcome != nil {
			outcome := *effect.Outcome
			effect.Outcome = &outcome
		}
		c.effect = &effect
	}
	return c
}

// reconcile replaces numbers of got by those of want if they differ within the amount.
func (a *Allowance) reconcile(want, got *entry) {
	if a.kind == allowField {
		w, g := a.value(want), a.value(got)
		if w.IsValid() && g.IsValid() && a.within.covers(number(w), number(g)) {
			g.Set(w)
		}
		return
	}
	var wants []any // the documents of want's calls, in order
	want.arguments(func(tool string, args *string) {
		doc, _ := a.argument(tool, *args)
		wants = append(wants, doc)
	})
	n := 0
	got.arguments(func(tool string, args *string) {
		doc, ok := a.argument(tool, *args)
		if n++; !ok || n > len(wants) {
			return
		}
		*args = writeJSON(a.path.pair(wants[n-1], doc, a.nearer))
	})
}

// nearer returns want if both are numbers that differ within the amount, else got.
func (a *Allowance) nearer(want, got any) any {
	w, ok1 := jsonNumber(want)
	g, ok2 := jsonNumber(got)
	if ok1 && ok2 && a.within.covers(w, g) {
		return want
	}
	return got
}

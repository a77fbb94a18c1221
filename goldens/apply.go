package goldens

import (
	"reflect"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
)

// mask takes the place of a text that a rule allows to be another.
const mask = "\x00"

// apply takes out of the lines what the rule allows to differ. What it allows
// within an amount is decided pair by pair, see reconcile, and whole lines when
// the traces are aligned.
func (r *Rule) apply(lines []entry) []entry {
	switch r.kind {
	case retriesRule:
		return withoutRetries(lines)
	case fieldRule:
		for i := range lines {
			if !r.tolerates() {
				r.clear(&lines[i])
			}
		}
	case textRule:
		for i := range lines {
			if v := r.value(&lines[i]); v.IsValid() {
				v.SetString(r.pattern.ReplaceAllLiteralString(v.String(), mask))
			}
		}
	case argumentRule:
		for i := range lines {
			lines[i].arguments(func(tool string, args *string) {
				doc, ok := r.argument(tool, *args)
				if ok && !r.tolerates() {
					doc, _ = r.path.remove(doc)
				}
				if ok {
					*args = writeJSON(doc) // so that all arguments of the tool are written alike
				}
			})
		}
	}
	return lines
}

// tolerates reports whether the rule allows a difference within an amount only.
func (r *Rule) tolerates() bool { return r.within.n > 0 }

// value gives what a rule of a field is about, in place; the zero Value if the
// line has none.
func (r *Rule) value(e *entry) reflect.Value {
	if !e.is(r.line) {
		return reflect.Value{}
	}
	return keys[r.key].in(e)
}

// clear empties a field; of the ids of calls, each.
func (r *Rule) clear(e *entry) {
	v := r.value(e)
	switch {
	case !v.IsValid():
	case r.key == "id":
		for i := range e.input.Calls {
			e.input.Calls[i].ID = ""
		}
	default:
		v.SetZero()
	}
}

// argument reads the arguments of a call of the rule's tool.
func (r *Rule) argument(tool, args string) (any, bool) {
	if r.tool != "" && r.tool != tool {
		return nil, false
	}
	return parseJSON(args)
}

// finds reports whether there is anything in these lines that the rule is about.
func (r *Rule) finds(lines []entry) bool {
	for i := range lines {
		if r.findsIn(&lines[i]) {
			return true
		}
	}
	return false
}

func (r *Rule) findsIn(e *entry) bool {
	switch r.kind {
	case retriesRule:
		return e.ref().Try > 1
	case fieldRule:
		v := r.value(e)
		return v.IsValid() && !v.IsZero()
	case textRule:
		v := r.value(e)
		return v.IsValid() && r.pattern.MatchString(v.String())
	case addedRule, missingRule:
		return e.is(r.line)
	}
	found := false
	e.arguments(func(tool string, args *string) {
		if doc, ok := r.argument(tool, *args); ok {
			_, there := r.path.remove(doc)
			found = found || there
		}
	})
	return found
}

// withoutRetries keeps of each call and request where its first try began and
// how its last one ended, as if it were one, and takes out all that tells how
// long it took.
func withoutRetries(lines []entry) []entry {
	last := map[loop.Ref]int{}
	for i := range lines {
		ref := *lines[i].ref()
		whole := loop.Ref{Kind: ref.Kind, N: ref.N}
		last[whole] = max(last[whole], ref.Try)
	}
	kept := lines[:0]
	for _, e := range lines {
		ref := e.ref()
		try := last[loop.Ref{Kind: ref.Kind, N: ref.N}]
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

// equal reports whether two lines are the same, but for numbers that may differ
// by an amount.
func equal(want, got *entry, tolerances []*Rule) bool {
	if want.text == got.text {
		return true
	}
	if len(tolerances) > 0 && want.word == got.word {
		near := got.clone()
		for _, r := range tolerances {
			r.reconcile(want, &near)
		}
		got = &near
	}
	return cmp.Equal(want.input, got.input) && cmp.Equal(want.effect, got.effect)
}

// clone gives a copy that can be changed.
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

// reconcile makes numbers of got those of want where they are near enough.
func (r *Rule) reconcile(want, got *entry) {
	if r.kind == fieldRule {
		w, g := r.value(want), r.value(got)
		if w.IsValid() && g.IsValid() && r.within.covers(number(w), number(g)) {
			g.Set(w)
		}
		return
	}
	var wants []any // the documents of want's calls, in order
	want.arguments(func(tool string, args *string) {
		doc, _ := r.argument(tool, *args)
		wants = append(wants, doc)
	})
	n := 0
	got.arguments(func(tool string, args *string) {
		doc, ok := r.argument(tool, *args)
		if n++; !ok || n > len(wants) {
			return
		}
		*args = writeJSON(r.path.pair(wants[n-1], doc, r.nearer))
	})
}

// nearer gives want in place of got, if both are numbers and near enough.
func (r *Rule) nearer(want, got any) any {
	w, ok1 := jsonNumber(want)
	g, ok2 := jsonNumber(got)
	if ok1 && ok2 && r.within.covers(w, g) {
		return want
	}
	return got
}

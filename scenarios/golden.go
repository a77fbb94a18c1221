package scenarios

import (
	"strconv"

	"github.com/agentbench-go/agentbench/loop"
)

// What became of a trial's golden, in a result.
const (
	GoldenMatch    = "match"
	GoldenMismatch = "mismatch"
	GoldenMissing  = "missing" // there should be one
	GoldenOff      = "off"     // there need not be one, or nobody looked
)

// A GoldenCheck compares the trace of a trial with its golden: it gives one of
// the words above, and what it found wrong; nil = nothing that the trial should
// fail for. random says that another seed may give another trace. It is not asked
// about sessions that broke off, and may be called from several goroutines.
type GoldenCheck func(t *Trial, random bool, trace loop.Trace) (word string, found *Finding)

// Own reports whether the variant is the one that the scenario is meant for, so
// that its config, expect and golden apply.
func (t *Trial) Own() bool { return t.Variant.Name == t.Scenario.Variant.Name }

// A Golden says how a scenario's trace is compared with its golden under its own
// variant. The package goldens knows what the words mean.
type Golden struct {
	Mode  string // one of that package's modes, "" = strict; off = there is no golden
	Allow []Allowance
}

// An Allowance is a difference that is fine, as RULE: REASON.
type Allowance struct {
	Text string
	at   Mistake // where it stands
}

// Mistake is what is wrong with the allowance.
func (a *Allowance) Mistake(problem, hint string) *Mistake {
	m := a.at
	m.Problem, m.Hint = problem, hint
	return &m
}

// golden reads what a file says of the golden; nil = nothing.
func (s *source) golden(e *goldenEntry) *Golden {
	if e == nil {
		return nil
	}
	g := &Golden{Mode: string(e.Mode)}
	list := child(find(s.root, "golden"), "allow")
	for i, text := range e.Allow {
		at := position(child(list, strconv.Itoa(i)))
		g.Allow = append(g.Allow, Allowance{Text: text, at: Mistake{File: s.file, Line: at.Line, Column: at.Column,
			Excerpt: excerpt(s.line(at.Line), at.Line, at.Column)}})
	}
	if e.Mode == goldenOff && len(e.Allow) > 0 {
		s.failAt("golden.allow", "nothing can differ where there is no golden", "take out allow, or the mode off")
	}
	return g
}

package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A goldenBook compares trials with their goldens. It may be asked from several
// goroutines at once, about the scenarios that it was made for.
type goldenBook struct {
	places   map[*scenarios.Scenario]*goldenPlace
	expected bool // a golden is missed also where there is no folder of goldens

	mu     sync.Mutex
	unused map[string][]goldens.Allowance // by the golden's path
}

func newGoldenBook(places *goldenPlaces, all []*scenarios.Scenario) *goldenBook {
	b := &goldenBook{places: map[*scenarios.Scenario]*goldenPlace{}, unused: map[string][]goldens.Allowance{}}
	for _, s := range all {
		b.places[s] = places.of(s)
	}
	return b
}

// A goldenPage is what the book says of a trial.
type goldenPage struct {
	word   string // of a result
	path   string // of the golden, for messages
	golden *goldens.Golden
	diff   *goldens.Difference // nil unless the traces differ
	wrong  string              // what else is wrong
}

// look compares a trial with its golden.
func (b *goldenBook) look(t *scenarios.Trial, random bool, trace loop.Trace) goldenPage {
	place := b.places[t.Scenario]
	spec := goldenSpec(t)
	name, err := goldens.Name(t.Scenario.ID(), t.Variant.Name)
	if err != nil || place == nil || spec != nil && spec.Mode == "off" {
		return goldenPage{word: scenarios.GoldenOff}
	}
	page := goldenPage{word: scenarios.GoldenMatch, path: place.Path(name)}
	page.golden, err = place.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		page.word = scenarios.GoldenOff
		if t.Own() && (b.expected || place.Exists()) {
			page.word = scenarios.GoldenMissing
		}
	case err != nil:
		page.word, page.wrong = scenarios.GoldenMismatch, err.Error()
	case random && page.golden.Seed != t.Seed:
		return goldenPage{word: scenarios.GoldenOff}
	case spec != nil && !sameHeader(page.golden, spec):
		page.word = scenarios.GoldenMismatch
		page.wrong = page.path + ":5: the mode and the allowances are not those of the scenario; agentbench golden update writes them"
	default:
		if page.diff = page.golden.Compare(trace); page.diff != nil {
			page.word = scenarios.GoldenMismatch
		}
		b.note(page, trace)
	}
	return page
}

// note keeps the allowances that find nothing.
func (b *goldenBook) note(page goldenPage, trace loop.Trace) {
	if unused := page.golden.Unused(trace); len(unused) > 0 {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.unused[page.path] = unused
	}
}

// notes says which allowances found nothing, in order.
func (b *goldenBook) notes() (lines []string) {
	for path, unused := range b.unused {
		for _, a := range unused {
			lines = append(lines, fmt.Sprintf("%s: the allowance %q finds nothing to allow: take it out", path, a.Rule))
		}
	}
	slices.Sort(lines)
	return lines
}

// find is what a result says of a page; nil = nothing.
func (p *goldenPage) find() *scenarios.Finding {
	f := &scenarios.Finding{Rule: "golden", Message: p.wrong}
	if p.diff != nil {
		f.Message = fmt.Sprintf("%s:%d: %s", p.diff.File, p.diff.Line, p.diff.Problem)
		f.At = fmt.Sprintf("line %d", p.diff.TraceLine)
		f.Want, f.Got = p.diff.Lines()
		f.Diff = resultDiff(p.diff)
	}
	if f.Message == "" {
		return nil
	}
	return f
}

// resultDiff is a difference as a result holds it; nil if it is not known whole.
func resultDiff(d *goldens.Difference) *scenarios.Diff {
	edits, more := d.Edits()
	if len(edits) == 0 {
		return nil
	}
	out := &scenarios.Diff{More: more}
	for _, e := range edits {
		out.Edit = append(out.Edit, scenarios.Edit(e))
	}
	return out
}

// goldenSpec is what the scenario says of the golden of a trial; nil = nothing.
func goldenSpec(t *scenarios.Trial) *scenarios.Golden {
	if !t.Own() {
		return nil
	}
	return t.Scenario.Golden
}

// sameHeader reports whether a golden has the mode and the allowances that its
// scenario says.
func sameHeader(g *goldens.Golden, spec *scenarios.Golden) bool {
	mode, allow := header(spec)
	return g.Mode == mode && slices.EqualFunc(g.Allow, allow, func(a, b goldens.Allowance) bool { return a.String() == b.String() })
}

// header is the mode and the allowances that a scenario says. checkAllowances has
// found them right.
func header(spec *scenarios.Golden) (goldens.Mode, []goldens.Allowance) {
	mode := goldens.Mode(spec.Mode)
	if mode == "" {
		mode = goldens.Strict
	}
	var allow []goldens.Allowance
	for _, a := range spec.Allow {
		if parsed, err := goldens.ParseAllowance(a.Text); err == nil {
			allow = append(allow, parsed)
		}
	}
	return mode, allow
}

// checkAllowances tells all that is wrong with what scenarios allow.
func checkAllowances(all []*scenarios.Scenario) error {
	var mistakes scenarios.Mistakes
	for _, s := range all {
		if s.Golden == nil {
			continue
		}
		for i := range s.Golden.Allow {
			a := &s.Golden.Allow[i]
			var wrong *goldens.RuleError
			if _, err := goldens.ParseAllowance(a.Text); errors.As(err, &wrong) {
				mistakes = append(mistakes, a.Mistake(wrong.Problem, wrong.Hint))
			}
		}
	}
	if len(mistakes) > 0 {
		return mistakes
	}
	return nil
}

package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// The results of comparing a trial with its golden.
const (
	GoldenMatch    = "match"
	GoldenMismatch = "mismatch"
	GoldenMissing  = "missing" // there should be a golden
	GoldenOff      = "off"     // there does not have to be a golden, or nothing was compared
)

// Goldens compare the traces of trials with stored ones, and keep the stored ones
// up to date. The zero value is ready for use, by several goroutines at once.
//
// Both sides of a comparison are redacted, and so is what is written: see
// [Scenario.Redactor].
//
// In [Options.Goldens] they make [Run] compare each trial whose session finished and
// that has no faults from [Options]. A trace that differs is a finding of its result. A
// golden has one seed: trials with another seed are compared only if they draw no
// random number, and a missing golden would have the first seed. [Goldens.Open] starts
// from the goldens instead of the trials: it finds all that exist or should exist, and
// those that no scenario owns.
type Goldens struct {
	// Dir is the folder of all goldens; "" = the places where [goldens.Places] looks
	// for them.
	Dir string
	// Expected makes a golden count as missing, for a scenario under its own variant,
	// even if its place has no goldens at all.
	Expected bool
	// Required makes a trial fail if its golden is missing.
	Required bool
	// Update makes the traces the new goldens. They are collected for [Goldens.Changes]
	// and [Goldens.Write], and no trial fails because of its golden.
	Update bool

	mu      sync.Mutex
	places  goldens.Places
	placeOf map[*Scenario]*goldens.Place
	changes []GoldenChange
	same    int
	stale   map[string][]goldens.Allowance // by the golden's path
}

// A GoldenCheck is the comparison of a trial with its golden.
type GoldenCheck struct {
	Word       string              // GoldenMatch, GoldenMismatch, GoldenMissing or GoldenOff
	Path       string              // of the golden's file, for messages; "" if the trial cannot have a golden
	Stored     *goldens.Golden     // the golden; nil if there is none or it cannot be read
	Difference *goldens.Difference // nil unless the trace differs
	Problem    string              // what is wrong beside the difference, "" = nothing
}

// A GoldenChange is a golden that [Goldens.Write] writes.
type GoldenChange struct {
	GoldenCheck // of the golden that exists
	Now         *goldens.Golden
	place       *goldens.Place
}

// New reports whether there is no golden yet.
func (c *GoldenChange) New() bool { return c.Word != GoldenMismatch }

// String describes the change in one line, or in the lines of the difference. It ends
// with a newline.
func (c *GoldenChange) String() string {
	switch {
	case c.New():
		return fmt.Sprintf("new      %s: %s\n", text.Line(c.Path), text.Count(strings.Count(c.Now.Trace, "\n"), "line"))
	case c.Difference != nil:
		return "changed  " + c.Difference.String()
	}
	return fmt.Sprintf("changed  %s\n", text.Line(c.Problem))
}

// judge compares a trial with its golden, and adds the outcome to the result.
func (g *Goldens) judge(t *Trial, r *Result, first bool, trace loop.Trace) {
	c := g.check(t, r.Random, first, trace)
	r.Golden = c.Word
	if f := c.finding(); f != nil {
		r.Findings = append(r.Findings, *f)
	}
}

// check compares the trace of a trial with its golden, or with Update makes it the
// golden. random says that another seed may lead to another trace. first says that the
// trial has the seed that a new golden would have.
func (g *Goldens) check(t *Trial, random, first bool, trace loop.Trace) GoldenCheck {
	place := g.place(t.Scenario)
	c := g.compare(t, place, random, trace)
	switch isNew := c.Stored == nil && c.Problem == ""; {
	case isNew && !first:
		return GoldenCheck{Word: GoldenOff}
	case g.Update && c.Path != "":
		return g.take(t, place, c, trace)
	case c.Word == GoldenMissing && g.Required:
		c.Problem = "there is no golden " + c.Path + ": agentbench golden update writes it"
	}
	return c
}

// compare compares a trace with the golden at a place.
func (g *Goldens) compare(t *Trial, place *goldens.Place, random bool, trace loop.Trace) GoldenCheck {
	terms := t.terms()
	name, err := goldens.Name(t.Scenario.ID(), t.Variant.Name)
	if err != nil || place == nil || terms != nil && terms.Mode == goldens.Off {
		return GoldenCheck{Word: GoldenOff}
	}
	c := GoldenCheck{Word: GoldenMatch, Path: place.Path(name)}
	c.Stored, err = place.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		c.Word = GoldenOff
		if t.Own() && (g.Expected || place.Exists()) {
			c.Word = GoldenMissing
		}
	case err != nil:
		c.Word, c.Problem = GoldenMismatch, err.Error()
	case random && c.Stored.Seed != t.Seed:
		return GoldenCheck{Word: GoldenOff}
	case terms != nil && !terms.Equal(c.Stored.Terms):
		c.Word = GoldenMismatch
		c.Problem = c.Path + ":5: the mode and the allowances are not those of the scenario; agentbench golden update writes them"
	default:
		if c.Difference = c.Stored.CompareRedacted(trace, t.Scenario.redacting); c.Difference != nil {
			c.Word = GoldenMismatch
		}
		g.note(&c, trace)
	}
	return c
}

// note records the allowances that allow nothing.
func (g *Goldens) note(c *GoldenCheck, trace loop.Trace) {
	if unused := c.Stored.Unused(trace); len(unused) > 0 {
		g.mu.Lock()
		defer g.mu.Unlock()
		if g.stale == nil {
			g.stale = map[string][]goldens.Allowance{}
		}
		g.stale[c.Path] = unused
	}
}

// finding returns the finding of a check, or nil.
func (c *GoldenCheck) finding() *Finding {
	f := &Finding{Rule: "golden", Message: c.Problem}
	if d := c.Difference; d != nil {
		f.Message, f.At, f.Want, f.Got, f.Diff = d.Message(), fmt.Sprintf("line %d", d.TraceLine), d.Want, d.Got, d.Edits
	}
	if f.Message == "" {
		return nil
	}
	return f
}

// take makes a trace the golden, unless it matches the golden that exists.
func (g *Goldens) take(t *Trial, place *goldens.Place, was GoldenCheck, trace loop.Trace) GoldenCheck {
	g.mu.Lock()
	defer g.mu.Unlock()
	if was.Word == GoldenMatch {
		g.same++
		return was
	}
	now := &goldens.Golden{Scenario: t.Scenario.ID(), Variant: t.Variant.Name, Seed: t.Seed, Trace: trace.Map(t.Scenario.redacting()).String()}
	if was.Stored != nil {
		now.Seed, now.Terms = was.Stored.Seed, was.Stored.Terms
	}
	if terms := t.terms(); terms != nil {
		now.Terms = *terms
	}
	g.changes = append(g.changes, GoldenChange{was, now, place})
	return GoldenCheck{Word: GoldenMatch, Path: was.Path, Stored: now}
}

// place returns the place of a scenario's golden, or nil if it cannot have one.
func (g *Goldens) place(s *Scenario) *goldens.Place {
	g.mu.Lock()
	defer g.mu.Unlock()
	place, known := g.placeOf[s]
	if known {
		return place
	}
	if g.placeOf == nil {
		g.places.Dir, g.placeOf = g.Dir, map[*Scenario]*goldens.Place{}
	}
	switch {
	case s.embedded:
		place = g.places.Of("")
	case s.File != "" || g.Dir != "":
		place = g.places.Of(s.File)
	}
	g.placeOf[s] = place
	return place
}

// Changes returns the goldens that [Goldens.Write] writes, in the order of their paths,
// and the number of goldens that do not change.
func (g *Goldens) Changes() (changes []GoldenChange, same int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	slices.SortFunc(g.changes, func(a, b GoldenChange) int { return strings.Compare(a.Path, b.Path) })
	return slices.Clone(g.changes), g.same
}

// Write writes the goldens that were collected with Update. Show the changes first, and
// commit only those that somebody has reviewed.
func (g *Goldens) Write() error {
	changes, _ := g.Changes()
	for i := range changes {
		if _, err := changes[i].place.Write(changes[i].Now); err != nil {
			return fmt.Errorf("cannot write %s: %w", text.Line(changes[i].Path), err)
		}
	}
	return nil
}

// Writable returns [goldens.ErrReadOnly] if the goldens of one of these scenarios are
// embedded in the program.
func (g *Goldens) Writable(all []*Scenario) error {
	for _, s := range all {
		if place := g.place(s); place != nil && place.ReadOnly() {
			return goldens.ErrReadOnly
		}
	}
	return nil
}

// Stale returns a line for each allowance that allowed nothing in a comparison,
// sorted.
func (g *Goldens) Stale() (lines []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for path, unused := range g.stale {
		for _, a := range unused {
			lines = append(lines, fmt.Sprintf("%s: the allowance %q finds nothing to allow: take it out", path, a.Difference()))
		}
	}
	slices.Sort(lines)
	return lines
}

package cli

import (
	"fmt"
	"io"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// goldenUse says what a command that makes trials does with goldens. The zero
// value checks.
type goldenUse string

const (
	goldenCheck    goldenUse = "check"
	goldenUpdating goldenUse = "update"
	goldenOff      goldenUse = "off"
)

// A goldenRun is what trials have to do with goldens. A golden that is missing is
// told where it is asked for, or where others lie; with --ci it fails.
type goldenRun struct {
	said   bool // --golden was given
	book   *goldenBook
	update *goldenUpdate // nil = check
}

// begin gives the check of each trial; nil = none.
func (g *goldenRun) begin(f *runFlags) (scenarios.GoldenCheck, error) {
	if f.golden == goldenOff {
		return nil, nil
	}
	g.book = newGoldenBook(newGoldenPlaces("", !f.fromFiles), f.chosen)
	g.book.expected = g.said
	if f.golden == goldenUpdating {
		g.update = &goldenUpdate{book: g.book, seed: uint64(f.seed)}
		return func(t *scenarios.Trial, random bool, trace loop.Trace) (string, *scenarios.Finding) {
			return g.update.look(t, random, trace), nil
		}, g.book.writable()
	}
	return func(t *scenarios.Trial, random bool, trace loop.Trace) (string, *scenarios.Finding) {
		page := g.book.look(t, random, trace)
		if page.word == scenarios.GoldenMissing && t.Seed != uint64(f.seed) {
			return scenarios.GoldenOff, nil // one seed has the golden
		}
		if page.word == scenarios.GoldenMissing && f.ci {
			page.wrong = "there is no golden " + page.path + ": agentbench golden update writes it"
		}
		return page.word, page.find()
	}, nil
}

// end writes the goldens, if that is asked for, and tells of allowances that
// find nothing.
func (g *goldenRun) end(f *runFlags, stderr io.Writer) error {
	if g.book == nil {
		return nil
	}
	if f.quiet {
		stderr = io.Discard
	}
	if g.update != nil {
		most := shownFailures
		if f.verbose {
			most = 0
		}
		if err := g.update.finish(stderr, most); err != nil {
			return err
		}
	}
	for _, note := range g.book.notes() {
		fmt.Fprintf(stderr, "note: %s\n", text.Line(note))
	}
	return nil
}

package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// probeGoldens compares the traces of a foreign agent with its goldens, or makes them
// the goldens.
type probeGoldens struct {
	store      *goldens.Store
	update, ci bool

	mu    sync.Mutex
	now   []*goldens.Golden // to be written
	fresh int               // of them, new ones
	words map[string]int
}

// probeTerms are the terms of a new golden: an agent takes the time that it takes, and
// batches in any order.
var probeTerms = func() goldens.Terms {
	terms := goldens.Terms{Mode: goldens.Unordered}
	for _, line := range []string{
		"field *.time: an agent takes the time that it takes",
		"field halt.elapsed: and so does the sum",
		"field *.in: tokens are estimated from its requests, in which its own words change",
		"field *.out: and in the paths that its own tools get",
		"field halt.reason: its last words may hold times and names of files",
	} {
		a, err := goldens.ParseAllowance(line)
		if err != nil {
			panic(err) // they are constant
		}
		terms.Allow = append(terms.Allow, a)
	}
	return terms
}()

// judge compares a trace with its golden. A difference fails the trial.
func (g *probeGoldens) judge(r *scenarios.Result, trace loop.Trace) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.words == nil {
		g.words = map[string]int{}
	}
	problem := g.compare(r, trace)
	g.words[r.Golden]++
	if problem != nil {
		r.Findings = append(r.Findings, *problem)
		r.Verdict = scenarios.Fail
	}
}

func (g *probeGoldens) compare(r *scenarios.Result, trace loop.Trace) *scenarios.Finding {
	r.Golden = scenarios.GoldenOff
	name, err := goldens.Name(r.Scenario, r.Variant)
	if err != nil {
		return nil
	}
	now := &goldens.Golden{Scenario: r.Scenario, Variant: r.Variant, Seed: r.Seed, Terms: probeTerms, Trace: trace.String()}
	stored, err := g.store.Read(name)
	switch {
	case errors.Is(err, fs.ErrNotExist) && g.update:
		if slices.ContainsFunc(g.now, func(o *goldens.Golden) bool { return o.Scenario == r.Scenario }) {
			return nil // another seed
		}
		g.now, g.fresh, r.Golden = append(g.now, now), g.fresh+1, scenarios.GoldenMatch
		return nil
	case errors.Is(err, fs.ErrNotExist):
		if r.Golden = scenarios.GoldenMissing; g.ci {
			return &scenarios.Finding{Rule: "golden", Message: "there is no golden " + g.store.Path(name) + ": agentbench probe --goldens DIR --update writes it"}
		}
		return nil
	case err != nil:
		r.Golden = scenarios.GoldenMismatch
		return &scenarios.Finding{Rule: "golden", Message: err.Error()}
	case stored.Seed != r.Seed:
		return nil
	}
	d := stored.Compare(trace)
	if r.Golden = scenarios.GoldenMatch; d == nil {
		return nil
	}
	if g.update {
		now.Terms = stored.Terms
		g.now = append(g.now, now)
		return nil
	}
	r.Golden = scenarios.GoldenMismatch
	return &scenarios.Finding{Rule: "golden", Message: d.Message(), At: fmt.Sprintf("line %d", d.TraceLine), Want: d.Want, Got: d.Got, Diff: d.Edits}
}

// end writes the goldens, and says how many differ.
func (g *probeGoldens) end(w io.Writer, quiet bool) error {
	for _, golden := range g.now {
		if _, err := g.store.Write(golden); err != nil {
			return err
		}
	}
	line := fmt.Sprintf("%s match, %s differ, %s missing", text.Count(g.words[scenarios.GoldenMatch], "golden"), text.Number(g.words[scenarios.GoldenMismatch]), text.Number(g.words[scenarios.GoldenMissing]))
	if g.update {
		line = fmt.Sprintf("%s written: %s new, %s changed", text.Count(len(g.now), "golden"), text.Number(g.fresh), text.Number(len(g.now)-g.fresh))
	}
	if quiet {
		return nil
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

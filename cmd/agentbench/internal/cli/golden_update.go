package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A goldenUpdate collects goldens to be written, so that all that changes can be
// shown before anything is.
type goldenUpdate struct {
	book *goldenBook
	seed uint64 // of goldens that are new

	mu     sync.Mutex
	writes []goldenWrite
	same   int // goldens that stay as they are
}

// A goldenWrite is a golden to be written.
type goldenWrite struct {
	place *goldenPlace
	page  goldenPage // of the golden that is there
	now   *goldens.Golden
}

// look takes the trace of a trial as its golden, unless what is there allows it
// as it is. It gives what a result says then.
func (u *goldenUpdate) look(t *scenarios.Trial, random bool, trace loop.Trace) string {
	page := u.book.look(t, random, trace)
	isNew := page.golden == nil && page.wrong == ""
	switch {
	case page.word == scenarios.GoldenMatch:
		u.mu.Lock()
		defer u.mu.Unlock()
		u.same++
		return page.word
	case page.path == "", isNew && t.Seed != u.seed: // there is none, or it is of another seed
		return scenarios.GoldenOff
	}
	now := &goldens.Golden{Scenario: t.Scenario.ID(), Variant: t.Variant.Name, Seed: t.Seed, Mode: goldens.Strict, Trace: trace.String()}
	if old := page.golden; old != nil {
		now.Seed, now.Mode, now.Allow = old.Seed, old.Mode, old.Allow
	}
	if spec := goldenSpec(t); spec != nil {
		now.Mode, now.Allow = header(spec)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.writes = append(u.writes, goldenWrite{u.book.places[t.Scenario], page, now})
	return scenarios.GoldenMatch
}

// finish shows what changes, the whole of no more than so many goldens (0 = of
// all), and then writes it.
func (u *goldenUpdate) finish(w io.Writer, most int) error {
	slices.SortFunc(u.writes, func(a, b goldenWrite) int { return strings.Compare(a.page.path, b.page.path) })
	var b strings.Builder
	fresh := 0
	for i := range u.writes {
		if u.writes[i].isNew() {
			fresh++
		}
		if most == 0 || i < most {
			u.writes[i].show(&b)
		}
	}
	if more := len(u.writes) - most; most > 0 && more > 0 {
		fmt.Fprintf(&b, "%s not shown: --verbose shows all\n", text.Count(more, "more golden"))
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return err
	}
	for i := range u.writes {
		if _, err := u.writes[i].place.Write(u.writes[i].now); err != nil {
			return fmt.Errorf("cannot write %s: %w", text.Line(u.writes[i].page.path), err)
		}
	}
	_, err := fmt.Fprintf(w, "%s written: %d new, %d changed; %d as before\n", text.Count(len(u.writes), "golden"), fresh, len(u.writes)-fresh, u.same)
	return err
}

func (g *goldenWrite) isNew() bool { return g.page.word != scenarios.GoldenMismatch }

// show says what changes in a golden.
func (g *goldenWrite) show(b *strings.Builder) {
	switch page := g.page; {
	case g.isNew():
		fmt.Fprintf(b, "new      %s: %s\n", text.Line(page.path), text.Count(strings.Count(g.now.Trace, "\n"), "line"))
	case page.diff != nil:
		fmt.Fprintf(b, "changed  %s", page.diff)
	default:
		fmt.Fprintf(b, "changed  %s\n", text.Line(page.wrong))
	}
}

package trajectories

import (
	"fmt"

	"github.com/agentbench-go/agentbench/internal/text"
)

// Notes collects what is odd in runs that were read all the same: results that answer
// no call, calls without a result, late results, and blocks that no reader knows. The
// zero value is ready. A hundred files with the same oddity make one note.
type Notes struct {
	notes []*note
}

// A note counts an oddity over runs.
type note struct {
	about string // how the note begins
	count int
	runs  int
	first *Trajectory
	place string // in the first run, "" = not known
}

// Add takes the runs of a file.
func (n *Notes) Add(runs []*Trajectory) {
	for _, r := range runs {
		n.add("results that answer no call, left out", r.Dropped, r, "")
		n.add("calls without a result although the run goes on, replayed with an empty one", r.Missing, r, "")
		n.add("results that come after a later turn or user message, replayed with their calls", r.Late, r, "")
		for _, u := range r.Unread {
			n.add(text.Quote(u.Kind, 40)+" is not known and was not read, though it may hold calls or results", u.N, r, fmt.Sprintf(", message %d", u.First))
		}
	}
}

func (n *Notes) add(about string, count int, r *Trajectory, place string) {
	if count == 0 {
		return
	}
	for _, known := range n.notes {
		if known.about == about {
			known.count += count
			known.runs++
			return
		}
	}
	n.notes = append(n.notes, &note{about, count, 1, r, place})
}

// Problems returns a problem of the kind [Noted] for each oddity, at the first run that
// has it.
func (n *Notes) Problems() (all []*Problem) {
	for _, o := range n.notes {
		all = append(all, &Problem{File: o.first.File, Line: o.first.Line, Kind: Noted,
			Text: fmt.Sprintf("%s: %s in %s, first in %s%s", o.about, text.Number(o.count), text.Count(o.runs, "run"), o.first.Name, o.place)})
	}
	return all
}

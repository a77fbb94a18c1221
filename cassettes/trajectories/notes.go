package trajectories

import (
	"fmt"
	"hash/maphash"

	"github.com/agentbench-go/agentbench/internal/text"
)

// Notes collects what is odd in runs that were read all the same: results that answer
// no call, calls without a result, late results, and blocks that no reader knows. The
// zero value is ready. A run that equals another one counts again, and is told. A hundred files with the same oddity make one note.
type Notes struct {
	notes []*note
	seen  map[uint64]string // runs by what was said in them
	twin  note
	of    string // the run that the first twin equals
}

// A note counts an oddity over runs.
type note struct {
	about  string // how the note begins
	count  int
	runs   int
	first  place
	within string // where in the first run, "" = not known
}

// A place is where a run is.
type place struct {
	file, name string
	line       int
}

func placeOf(r *Trajectory) place { return place{r.File, r.Name, r.Line} }

// Add takes the runs of a file.
func (n *Notes) Add(runs []*Trajectory) {
	for _, r := range runs {
		n.note(r)
	}
}

// note takes a run.
func (n *Notes) note(r *Trajectory) {
	n.again(r)
	n.add("results that answer no call, left out", r.Dropped, r, "")
	n.add("calls without a result although the run goes on, replayed with an empty one", r.Missing, r, "")
	n.add("results that come after a later turn or user message, replayed with their calls", r.Late, r, "")
	for _, u := range r.Unread {
		n.add(text.Quote(u.Kind, 40)+" is not known and was not read, though it may hold calls or results", u.N, r, fmt.Sprintf(", message %d", u.First))
	}
}

// again notes a run with calls in which everything that was said, ids included, is as in
// an earlier one. Equal shapes say little, and do not count.
func (n *Notes) again(r *Trajectory) {
	if r.Shape {
		return
	}
	key, calls := r.fingerprint()
	if calls == 0 {
		return
	}
	if n.seen == nil {
		n.seen = map[uint64]string{}
	}
	of, known := n.seen[key]
	switch {
	case !known:
		n.seen[key] = r.ID()
		return
	case n.twin.count == 0:
		n.twin.first, n.of = placeOf(r), of
	}
	n.twin.count++
}

// hashSeed makes equal texts equal within this process.
var hashSeed = maphash.MakeSeed()

// fingerprint returns a hash of everything that was said, and the number of calls.
func (r *Trajectory) fingerprint() (key uint64, calls int) {
	var h maphash.Hash
	h.SetSeed(hashSeed)
	add := func(texts ...string) {
		for _, s := range texts {
			h.WriteString(s)
			h.WriteByte(0)
		}
	}
	add(r.System)
	for _, run := range r.Runs {
		add("user", run.User)
		for _, turn := range run.Turns {
			add("turn", turn.Text)
			for _, c := range turn.Calls {
				calls++
				add(c.ID, c.Name, c.Args)
				if c.Result != nil {
					add(c.Result.Text, string(c.Result.Code))
				}
			}
		}
	}
	return h.Sum64(), calls
}

func (n *Notes) add(about string, count int, r *Trajectory, within string) {
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
	n.notes = append(n.notes, &note{about, count, 1, placeOf(r), within})
}

// Problems returns a problem of the kind [Noted] for each oddity, at the first run that
// has it.
func (n *Notes) Problems() (all []*Problem) {
	for _, o := range n.notes {
		all = append(all, &Problem{File: o.first.file, Line: o.first.line, Kind: Noted,
			Text: fmt.Sprintf("%s: %s in %s, first in %s%s", o.about, text.Number(o.count), text.Count(o.runs, "run"), o.first.name, o.within)})
	}
	if t := &n.twin; t.count > 0 {
		all = append(all, &Problem{File: t.first.file, Line: t.first.line, Kind: Noted,
			Text: fmt.Sprintf("%s equal to another one in every word, and %s again: first %s, which is %s", text.Count(t.count, "run")+plural(t.count, " is", " are"), plural(t.count, "counts", "count"), t.first.name, n.of)})
	}
	return all
}

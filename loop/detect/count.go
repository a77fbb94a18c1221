package detect

import (
	"slices"
	"time"
)

// This file counts records. Each count also returns the key of the counted
// records, which separates one streak from another.

// count returns the count at record i.
func (w *watcher) count(i int) (n int, key uint64) {
	switch {
	case w.Full && !w.full(i):
		return 0, 0
	case w.Match == Window:
		return w.window(i)
	case w.Match == Cycle:
		return w.laps(i), 0
	}
	return w.streak(i)
}

// alone reports whether the record differs from every other one.
func (w *watcher) alone(s *record) bool { return s.class.has(vetoed) && w.vetoed != AsSame }

// same reports whether two records have the same key. late is used as the late
// part of cur's key.
func (w *watcher) same(s, cur *record, late uint64) bool {
	return s.known == cur.known && s.late == late && !w.alone(s) && !w.alone(cur)
}

// follows reports whether a record at the instant later counts as a repetition of
// one at the instant sooner.
func (w *watcher) follows(sooner, later time.Duration) bool {
	return w.Within == 0 || later-sooner <= w.Within
}

// full reports whether there are at least Memory records up to i.
func (w *watcher) full(i int) bool {
	made := 0
	if w.PriorOnly {
		i--
	}
	for ; i >= w.cleared && made < w.Memory; i-- {
		if w.counts(&w.log[i]) {
			made++
		}
	}
	return made == w.Memory
}

// streak counts the records with the key of record i, back to the end of the
// streak.
func (w *watcher) streak(i int) (n int, key uint64) {
	cur := &w.log[i]
	late, wantLate := cur.late, w.PriorOnly && w.needsResult()
	looked, lastTurn, countedTurn, lastAt := 0, cur.turn, -1, cur.at
	var args []uint64
	w.alike = 0
	if !w.PriorOnly {
		n, looked, countedTurn = 1, 1, cur.turn
		args = w.addArgs(args, cur)
	}
	if !w.PriorOnly || w.counts(cur) && !wantLate {
		w.alike = 1
	}
	results := w.resultsFrom(cur)
	first := true
	for j := i - 1; j >= w.cleared; j-- {
		s := &w.log[j]
		if w.resets(s, cur) || results.change(s) {
			break
		}
		if w.justVetoed(j, cur) {
			w.alike++
		}
		if !w.counts(s) {
			continue
		}
		if looked++; w.Memory > 0 && looked > w.Memory {
			break
		}
		if wantLate && s.known == cur.known && !w.alone(s) {
			late, wantLate = s.late, false
		}
		same := !wantLate && w.same(s, cur, late)
		if w.endsAt(s, cur, same, lastTurn) {
			break
		}
		if !same {
			continue
		}
		if !w.follows(s.at, lastAt) {
			break
		}
		first, lastTurn, lastAt = false, s.turn, s.at
		w.alike++
		if w.OncePerTurn && s.turn == countedTurn {
			continue
		}
		n++
		countedTurn = s.turn
		args = w.addArgs(args, s)
	}
	key = mix(cur.known, late)
	if first {
		delete(w.nudged, key)
	}
	if len(args) < w.DistinctArgs {
		return 0, key
	}
	return n, key
}

// justVetoed reports whether record j is a call of the present batch like cur that no
// longer counts, since its veto makes it another record.
func (w *watcher) justVetoed(j int, cur *record) bool {
	s := &w.log[j]
	return j >= w.batch && s.class.has(vetoed) && w.vetoed != AsSame && s.known == cur.known && !w.needsResult()
}

// seen returns [Firing].Seen of the detector that has judged record i last, with the
// count n.
func (w *watcher) seen(i, n int) int {
	last := len(w.log) - 1
	switch w.Match {
	case Window:
		if m, key := w.window(last); key == w.key {
			return max(n, m)
		}
		return n
	case Cycle:
		return max(n, w.laps(last))
	}
	return max(n, w.alike+w.ahead(i))
}

// ahead counts the records of the batch after record i that go on with its streak.
func (w *watcher) ahead(i int) (n int) {
	if w.PriorOnly && w.needsResult() {
		return 0 // they have no result yet
	}
	cur := &w.log[i]
	results := w.resultsFrom(cur)
	for j := i + 1; j < len(w.log); j++ {
		s := &w.log[j]
		if w.resets(s, cur) || results.change(s) {
			break
		}
		if !w.counts(s) {
			continue
		}
		same := w.same(s, cur, cur.late)
		if w.endsAt(s, cur, same, cur.turn) {
			break
		}
		if same {
			n++
		}
	}
	return n
}

// endsAt reports whether record s ends the streak. same says that s has its key,
// and lastTurn is the turn of the last record that has.
func (w *watcher) endsAt(s, cur *record, same bool, lastTurn int) bool {
	switch w.Ends {
	case EndsNext:
		return !same
	case EndsTool:
		return !same && s.tool == cur.tool
	case EndsBatch:
		return !same || s.turn != cur.turn
	case EndsNever:
		return false
	}
	return s.turn < lastTurn-1
}

// addArgs appends the arguments of a record if DistinctArgs needs them.
func (w *watcher) addArgs(args []uint64, s *record) []uint64 {
	if w.DistinctArgs > 0 && !slices.Contains(args, s.args) {
		args = append(args, s.args)
	}
	return args
}

// results follows the results of one call from the newest back, for
// OnResultChange.
type results struct {
	of     *record // nil without OnResultChange
	result uint64
	known  bool
}

// resultsFrom begins at record cur.
func (w *watcher) resultsFrom(cur *record) results {
	if !w.onResultChange {
		return results{}
	}
	r := results{of: cur}
	r.change(cur)
	return r
}

// change reports whether the record is of the same call and has another result.
func (r *results) change(s *record) bool {
	if r.of == nil || !s.hasResult() || s.tool != r.of.tool || s.args != r.of.args {
		return false
	}
	if r.known {
		return s.result != r.result
	}
	r.result, r.known = s.result, true
	return false
}

// hasResult reports whether the record has a result other than a veto.
func (s *record) hasResult() bool { return s.class.has(ended) && !s.class.has(vetoed) }

// window returns the commonest key among the last records up to i, and how often it
// occurs.
func (w *watcher) window(i int) (n int, key uint64) {
	if w.most == nil {
		w.most = map[uint64]int{}
	}
	clear(w.most)
	if w.Within > 0 && w.latest == nil {
		w.latest = map[uint64]time.Duration{}
	}
	clear(w.latest)
	w.look(i)
	for k := 0; w.back(k) != nil; k++ {
		s := w.tail[k]
		if w.alone(s) {
			continue
		}
		own := mix(s.known, s.late)
		if w.Within > 0 && !w.chained(own, s.at) {
			continue
		}
		w.most[own]++
		if w.most[own] > n {
			n, key = w.most[own], own
		}
	}
	return n, key
}

// broken marks a key of w.latest whose older records do not count.
const broken = time.Duration(-1)

// chained reports whether the record with the key at an instant is followed by its
// repetition in time, as are all later ones with the key. They are shown newest first.
func (w *watcher) chained(key uint64, at time.Duration) bool {
	later, repeated := w.latest[key]
	if repeated && (later == broken || !w.follows(at, later)) {
		w.latest[key] = broken
		return false
	}
	w.latest[key] = at
	return true
}

// laps returns how often the last records up to i have gone through their shortest
// cycle, or 0 if its length is not in Period.
func (w *watcher) laps(i int) int {
	lo, hi := w.Period.Min, w.Period.Max
	if hi == 0 {
		lo, hi = 2, 2
	}
	w.look(i)
	for p := 1; p <= hi; p++ {
		equal := 0
		for w.back(equal+p) != nil && w.same(w.tail[equal+p], w.tail[equal], w.tail[equal].late) && w.follows(w.tail[equal+p].at, w.tail[equal].at) {
			equal++
		}
		if laps := 1 + equal/p; laps >= w.rungs[0].At {
			if p < lo {
				return 0
			}
			return laps
		}
	}
	return 0
}

// look begins to go back from record i, or with PriorOnly from the one before it.
func (w *watcher) look(i int) {
	w.tail, w.present, w.before = w.tail[:0], i, i
	if w.PriorOnly {
		w.before--
	}
}

// back returns the k-th counted record back, or nil after the end of the memory, a
// reset or the start of the log.
func (w *watcher) back(k int) *record {
	for k >= len(w.tail) {
		if w.before < w.cleared || w.Memory > 0 && len(w.tail) == w.Memory {
			return nil
		}
		s := &w.log[w.before]
		if w.before < w.present && w.resets(s, &w.log[w.present]) || w.changed(s) {
			return nil
		}
		w.before--
		if w.counts(s) {
			w.tail = append(w.tail, s)
		}
	}
	return w.tail[k]
}

// changed reports whether the newest record of the same call in the tail has
// another result.
func (w *watcher) changed(s *record) bool {
	if !w.onResultChange || !s.hasResult() {
		return false
	}
	for k := len(w.tail) - 1; k >= 0; k-- {
		if t := w.tail[k]; t.hasResult() && t.tool == s.tool && t.args == s.args {
			return t.result != s.result
		}
	}
	return false
}

package audit

import (
	"cmp"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// This file recounts the detectors.

// checkDetectors counts the calls of a reply for each detector, and blocks them if one
// fires.
func (b *book) checkDetectors(r *reply, n *counts) {
	switch {
	case !b.plain:
		r.trustVetoes()
		return
	case !b.streaks:
		return
	}
	turn, next := n.repeats(r)
	for _, d := range b.cfg.Detectors {
		count := turn
		if d.Ends == detect.EndsNext {
			count = next
		}
		if !slices.ContainsFunc(d.Do, func(g detect.Rung) bool { return count >= g.At }) {
			continue
		}
		r.run.decide(loop.Stop(d.Name), rankDetectors, r.rec, r.rec)
		for _, c := range r.calls {
			c.stop(loop.Vetoed, "detector")
		}
	}
}

// repeats adds a turn to the streaks, and returns the longest streak of its calls, over
// consecutive turns and over consecutive calls.
func (n *counts) repeats(r *reply) (turn, next int) {
	n.before = n.streakCount
	return n.count(r, func(*call) bool { return true })
}

// forgetVetoed counts a turn anew without the calls that a detector or a hook vetoed.
// Those are not equal to any other call.
func (n *counts) forgetVetoed(r *reply) {
	vetoed := func(c *call) bool { return c.block == loop.Vetoed || c.deny == loop.Vetoed }
	if slices.ContainsFunc(r.calls, vetoed) {
		n.streakCount = n.before
		n.count(r, func(c *call) bool { return !vetoed(c) })
	}
}

// A streakCount holds the counts of detectors: how often each call came in consecutive
// turns, and how often the last call came in a row.
type streakCount struct {
	streaks map[string]int
	same    string
	times   int // 0 if the last call is not equal to any other
}

// count adds the calls of a turn for which counts returns true. It replaces the map and
// does not change the old one.
func (s *streakCount) count(r *reply, counts func(*call) bool) (turn, next int) {
	turns := map[string]int{}
	for _, c := range r.calls {
		if !counts(c) {
			s.same, s.times = "", 0
			continue
		}
		if turns[c.same] == 0 {
			turns[c.same] = s.streaks[c.same]
		}
		turns[c.same]++
		if s.times > 0 && s.same == c.same {
			s.times++
		} else {
			s.same, s.times = c.same, 1
		}
		turn, next = max(turn, turns[c.same]), max(next, s.times)
	}
	s.streaks = turns
	return turn, next
}

// onlyCounts reports whether a detector only counts identical calls in a row, by turns
// or by calls, and stops the run.
func onlyCounts(d detect.Detector) bool {
	for _, g := range d.Do {
		if g.Act != detect.Stop {
			return false
		}
	}
	key := cmp.Or(len(d.Key), 2) == 2 && !slices.ContainsFunc(d.Key, func(p detect.Part) bool { return p != detect.Tool && p != detect.Args })
	ends := cmp.Or(d.Ends, detect.EndsTurn)
	return key && (ends == detect.EndsTurn || ends == detect.EndsNext) &&
		cmp.Or(d.Record, detect.PerCall) == detect.PerCall && cmp.Or(d.Match, detect.Streak) == detect.Streak &&
		cmp.Or(d.Acts, detect.BeforeCall) == detect.BeforeCall && cmp.Or(d.Vetoed, detect.AsOther) == detect.AsOther &&
		cmp.Or(d.AfterFiring, detect.Keep) == detect.Keep && countsAll(d) &&
		d.Memory == 0 && d.DistinctArgs == 0 && !d.Full && !d.OncePerTurn && !d.PriorOnly &&
		len(d.IgnoreArgs) == 0 && len(d.Reset) == 0 && len(d.Firings) == 0
}

// countsAll reports whether a detector counts every call.
func countsAll(d detect.Detector) bool {
	return len(d.Tools.Only) == 0 && len(d.Tools.Except) == 0 &&
		!slices.ContainsFunc(d.Counts, func(c detect.Class) bool { return c != detect.All })
}

// trustVetoes accepts the vetoes of detectors that the trace has. In a batch without
// results, every call for which nothing has begun may be vetoed.
func (r *reply) trustVetoes() {
	for _, c := range r.calls {
		idle := len(c.puts) == 0 && len(c.tries) == 0
		if len(c.gates) == 0 && (idle || len(c.puts) > 0 && c.puts[0].eff.Why == loop.Vetoed) {
			c.stop(loop.Vetoed, "detector")
		}
	}
}

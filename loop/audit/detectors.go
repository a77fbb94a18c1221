package audit

import (
	"cmp"
	"slices"
	"time"

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
	if n.streaks == nil {
		n.streaks = make([]streakCount, len(b.cfg.Detectors))
	}
	n.before = append(n.before[:0], n.streaks...)
	for i := range b.cfg.Detectors {
		d := &b.cfg.Detectors[i]
		stops := false
		n.streaks[i].count(d, r, false, func(c *call, count int) {
			switch actAt(d, count) {
			case detect.Veto:
				c.stop(loop.Vetoed, "detector")
			case detect.Stop:
				stops = true
			}
		})
		if !stops {
			continue
		}
		r.run.decide(loop.Stop(d.Name), rankDetectors, r.rec, r.rec)
		for _, c := range r.calls {
			c.stop(loop.Vetoed, "detector")
		}
	}
}

// actAt returns the act at a count, "" below the lowest rung.
func actAt(d *detect.Detector, count int) (act detect.Act) {
	highest := 0
	for _, g := range d.Do {
		if g.At <= count && g.At >= highest {
			highest, act = g.At, g.Act
		}
	}
	return act
}

// climbs reports whether a detector counts a call that it vetoes: it has a rung above a
// veto, unless it says otherwise.
func climbs(d *detect.Detector) bool {
	for _, low := range d.Do {
		for _, high := range d.Do {
			if low.Act == detect.Veto && high.At > low.At {
				return d.Vetoed == "" || d.Vetoed == detect.AsSame
			}
		}
	}
	return d.Vetoed == detect.AsSame
}

// forgetVetoed counts a turn anew without the calls that a detector or a hook vetoed.
// Those are not equal to any other call.
func (b *book) forgetVetoed(r *reply, n *counts) {
	if slices.ContainsFunc(r.calls, (*call).vetoed) {
		copy(n.streaks, n.before)
		for i := range n.streaks {
			n.streaks[i].count(&b.cfg.Detectors[i], r, true, func(*call, int) {})
		}
	}
}

// vetoed reports whether a detector or a hook vetoed the call.
func (c *call) vetoed() bool { return c.block == loop.Vetoed || c.deny == loop.Vetoed }

// A streakCount holds the counts of a detector: how often each call came in consecutive
// turns, and how often the last call came in a row.
type streakCount struct {
	turns map[string]int
	last  string
	times int           // 0 if the last call is not equal to any other
	at    time.Duration // of the reply before
	then  time.Duration // of the reply with the last call
}

// count adds the calls of a turn, and shows each with its count. If veto is true, a call
// that a detector or a hook vetoed equals no other, unless the detector counts it. It
// replaces the map and does not change the old one.
func (s *streakCount) count(d *detect.Detector, r *reply, veto bool, show func(*call, int)) {
	turns := map[string]int{}
	soon := func(from time.Duration) bool { return d.Within == 0 || r.at-from <= d.Within }
	byTurn := soon(s.at)
	for _, c := range r.calls {
		switch {
		case !watched(d, c):
			continue
		case veto && c.vetoed() && !climbs(d):
			s.last, s.times = "", 0
			continue
		}
		if turns[c.same] == 0 && byTurn {
			turns[c.same] = s.turns[c.same]
		}
		turns[c.same]++
		if s.times == 0 || s.last != c.same || !soon(s.then) {
			s.last, s.times = c.same, 0
		}
		s.times++
		s.then = r.at
		if d.Ends == detect.EndsNext {
			show(c, s.times)
		} else {
			show(c, turns[c.same])
		}
	}
	s.turns, s.at = turns, r.at
}

// watched reports whether a detector looks at a call, by its tool.
func watched(d *detect.Detector, c *call) bool {
	if slices.Contains(d.Tools.Except, c.name) {
		return false
	}
	waits := c.spec != nil && c.spec.Waits
	return slices.Contains(d.Tools.Only, c.name) || len(d.Tools.Only) == 0 && !waits
}

// allCount reports whether every detector only counts identical calls in a row. If one
// vetoes, they all count vetoed calls, so that none changes the count of another.
func allCount(all []detect.Detector) bool {
	vetoes := false
	for i := range all {
		vetoes = vetoes || slices.ContainsFunc(all[i].Do, func(g detect.Rung) bool { return g.Act == detect.Veto })
	}
	return !slices.ContainsFunc(all, func(d detect.Detector) bool { return !onlyCounts(d) || vetoes && !climbs(&d) })
}

// onlyCounts reports whether a detector only counts identical calls in a row, by turns
// or by calls, and nudges, vetoes, or stops the run.
func onlyCounts(d detect.Detector) bool {
	for _, g := range d.Do {
		if g.Act != detect.Stop && g.Act != detect.Veto && g.Act != detect.Nudge {
			return false
		}
	}
	key := cmp.Or(len(d.Key), 2) == 2 && !slices.ContainsFunc(d.Key, func(p detect.Part) bool { return p != detect.Tool && p != detect.Args })
	ends := cmp.Or(d.Ends, detect.EndsTurn)
	return key && (ends == detect.EndsTurn || ends == detect.EndsNext) &&
		cmp.Or(d.Record, detect.PerCall) == detect.PerCall && cmp.Or(d.Match, detect.Streak) == detect.Streak &&
		cmp.Or(d.Acts, detect.BeforeCall) == detect.BeforeCall && d.Vetoed != detect.NotRecorded &&
		cmp.Or(d.AfterFiring, detect.Keep) == detect.Keep &&
		!slices.ContainsFunc(d.Counts, func(c detect.Class) bool { return c != detect.All }) &&
		d.Memory == 0 && d.DistinctArgs == 0 && !d.Full && !d.OncePerTurn && !d.PriorOnly &&
		len(d.IgnoreArgs) == 0 && len(d.Reset) == 0 && len(d.Firings) == 0
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

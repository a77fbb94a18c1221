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
	case n.loose:
		for _, d := range b.cfg.Detectors {
			r.run.perhaps(loop.Stop(d.Name), r.rec)
		}
		r.trustVetoes()
		return
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
		known := b.countStreaks(&n.streaks[i], d, r, false, func(c *call, count int) {
			switch actAt(d, count) {
			case detect.Veto:
				c.stop(loop.Vetoed, "detector")
			case detect.Stop:
				stops = true
			}
		})
		if n.loose = !known; n.loose {
			b.checkDetectors(r, n)
			return
		}
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
	if !n.loose && slices.ContainsFunc(r.calls, (*call).vetoed) {
		copy(n.streaks, n.before)
		for i := range n.streaks {
			b.countStreaks(&n.streaks[i], &b.cfg.Detectors[i], r, true, func(*call, int) {})
		}
	}
}

// vetoed reports whether a detector or a hook vetoed the call.
func (c *call) vetoed() bool { return c.block == loop.Vetoed || c.deny == loop.Vetoed }

// A streakCount holds the counts of a detector: how often each call came in consecutive
// turns, and how often the last call came in a row.
type streakCount struct {
	turns map[string]tally
	last  string
	times tally         // 0 if the last call is not equal to any other
	at    time.Duration // of the reply before
	then  time.Duration // of the reply with the last call
}

// A tally is a number of equal calls. It has the calls themselves if their results
// matter.
type tally struct {
	n      int
	newest *link
}

// A link is a call and the equal ones before it.
type link struct {
	*call
	before *link
}

// add returns the tally with one more call.
func (t tally) add(d *detect.Detector, c *call) tally {
	t.n++
	if len(d.Reset) > 0 {
		t.newest = &link{c, t.newest}
	}
	return t
}

// steady returns the number of the newest calls of a tally that have one result, as far
// as they have one before a reply.
func (b *book) steady(d *detect.Detector, t tally, r *reply) (n int, known bool) {
	if len(d.Reset) == 0 {
		return t.n, true
	}
	newest, seen := "", false
	for l := t.newest; l != nil; l = l.before {
		if l.reply != r {
			text, has, known := b.outcome(d, l.call)
			switch {
			case !known:
				return 0, false
			case has && seen && text != newest:
				return n, true
			case has:
				newest, seen = text, true
			}
		}
		n++
	}
	return n, true
}

// countStreaks adds the calls of a turn, and shows each with its count. If veto is true, a call
// that a detector or a hook vetoed equals no other, unless the detector counts it. It
// replaces the map and does not change the old one. It returns false if it cannot tell
// which calls or results are equal.
func (b *book) countStreaks(s *streakCount, d *detect.Detector, r *reply, veto bool, show func(*call, int)) bool {
	turns := map[string]tally{}
	soon := func(from time.Duration) bool { return d.Within == 0 || r.at-from <= d.Within }
	byTurn := soon(s.at)
	for _, c := range r.calls {
		switch {
		case !watched(d, c):
			continue
		case veto && c.vetoed() && !climbs(d):
			s.last, s.times = "", tally{}
			continue
		}
		key, known := b.key(d, c)
		if _, seen := turns[key]; !seen && byTurn {
			turns[key] = s.turns[key]
		}
		turns[key] = turns[key].add(d, c)
		if s.times.n == 0 || s.last != key || !soon(s.then) {
			s.last, s.times = key, tally{}
		}
		s.times, s.then = s.times.add(d, c), r.at
		counted := turns[key]
		if d.Ends == detect.EndsNext {
			counted = s.times
		}
		n, sure := b.steady(d, counted, r)
		if !known || !sure {
			return false
		}
		show(c, n)
	}
	s.turns, s.at = turns, r.at
	return true
}

// watched reports whether a detector looks at a call, by its tool.
func watched(d *detect.Detector, c *call) bool {
	if slices.Contains(d.Tools.Except, c.name) {
		return false
	}
	waits := c.spec != nil && c.spec.Waits
	return slices.Contains(d.Tools.Only, c.name) || len(d.Tools.Only) == 0 && !waits
}

// allCount reports whether every detector only counts identical calls in a row, and, if
// results matter, the trace has them. If one vetoes, they all count vetoed calls, so that none changes the count of another.
func allCount(cfg *loop.Config, planner bool) bool {
	all := cfg.Detectors
	vetoes, results := false, false
	for i := range all {
		results = results || len(all[i].Reset) > 0
		vetoes = vetoes || slices.ContainsFunc(all[i].Do, func(g detect.Rung) bool { return g.Act == detect.Veto })
	}
	if results && (planner || cfg.Contracts.Output || cfg.Contracts.MaxPayloadBytes > 0) {
		return false // the text that detectors compare is not in the trace
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
		!slices.ContainsFunc(d.Reset, func(r detect.Reset) bool { return r != detect.OnResultChange }) && len(d.Firings) == 0
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

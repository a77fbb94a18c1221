package audit

import (
	"math"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
)

// This file recounts the limits that are checked before each start: while a batch runs,
// its tries and its sub-runs use up what is left.

// A bar is a limit that may forbid a start.
type bar uint8

const (
	barTries bar = iota
	barTokens
	barCost
	barCalls  // forbids first tries alone
	barSpawns // as barCalls, of sub-runs alone
	bars
)

// barStops are the stops of the limits.
var barStops = [bars]loop.Stop{loop.StopTryLimit, loop.StopTokenLimit, loop.StopCostLimit, loop.StopCallLimit, loop.StopSpawnLimit}

// never is the record of what does not happen.
const never = math.MaxInt

// readStarts finds the records from which on each limit forbids starts of the calls of
// a batch. n has the counts when the batch begins to run.
func (b *book) readStarts(r *reply, n *counts) {
	var used []*try
	for _, c := range r.calls {
		for _, t := range c.tries {
			if in := t.in; in != nil && (in.TokensIn != 0 || in.TokensOut != 0 || in.Cost != 0 || in.Used != 0 || in.Spawned != 0) {
				used = append(used, t)
			}
		}
	}
	if used == nil {
		return
	}
	slices.SortFunc(used, func(t, u *try) int { return t.ended.line - u.ended.line })
	now, limits, calls, spawns := *n, &b.cfg.Limits, 0, 0
	most := b.adapted(limits.Calls, n)
	for _, t := range used {
		rec := t.ended.rec
		now.tokens += t.in.TokensIn + t.in.TokensOut
		now.cost += t.in.Cost
		calls += t.in.Used
		spawns += t.in.Spawned
		if b.aboveTokens(&now) {
			r.tokens = min(r.tokens, rec)
		}
		if b.aboveCost(&now) {
			r.cost = min(r.cost, rec)
		}
		for _, c := range r.calls {
			over := c.place+calls > most
			if n.open {
				over = c.refused() // the count is not known
			}
			if limits.Calls != 0 && c.place > 0 && over {
				c.full = min(c.full, rec)
			}
			if limits.Spawns != 0 && c.spawn > 0 && c.spawn+spawns > limits.Spawns {
				c.crowded = min(c.crowded, rec)
			}
		}
	}
}

// A rest is what the limits of a session leave to a sub-run: the counts of what is spent
// when it starts, and the limit on calls then. open says that the calls are not known.
type rest struct {
	spent counts
	calls int
}

// readRests recounts what is spent when each sub-run of a batch starts. n has the counts
// when the batch begins to run.
func (b *book) readRests(r *reply, n *counts) {
	for _, c := range r.calls {
		for _, t := range c.tries {
			if !t.spec.SubRun {
				continue
			}
			rest := rest{*n, b.adapted(b.cfg.Limits.Calls, n)}
			for _, d := range r.calls {
				for _, u := range d.tries {
					if in := u.in; in != nil && u.ended.line < t.started.line {
						rest.spent.asked += in.Asked
						rest.spent.calls += in.Used
						rest.spent.spawns += in.Spawned
						rest.spent.tokens += in.TokensIn + in.TokensOut
						rest.spent.cost += in.Cost
					}
				}
			}
			b.rests[t.ref] = rest
		}
	}
}

// from returns the record from which on a limit forbids the call that follows its n-th
// try, or never.
func (b *book) from(c *call, n int, limit bar) int {
	switch limit {
	case barTries:
		if rec, ok := b.spent(c.reply.run); ok {
			return rec
		}
	case barTokens:
		return c.reply.tokens
	case barCost:
		return c.reply.cost
	case barCalls:
		if n == 0 {
			return c.full
		}
	case barSpawns:
		if n == 0 {
			return c.crowded
		}
	}
	return never
}

// barred returns the record from which on some limit forbids the call that follows the
// last try of a call.
func (b *book) barred(c *call) (rec int, ok bool) {
	rec = never
	for limit := range bars {
		rec = min(rec, b.from(c, len(c.tries), limit))
	}
	return rec, rec != never
}

// kept reports whether a limit kept a call from another try, and between which records.
func (b *book) kept(c *call) (from, until int, ok bool) {
	rec, ok := b.barred(c)
	if !ok || c.block != loop.Executed || c.denied.found() || len(c.puts) == 0 {
		return 0, 0, false
	}
	from, until = b.gatesDone(c.reply), c.puts[0].rec
	if t := c.last(); t != nil {
		if n := len(c.tries); !t.ended.found() || !b.toolRetry(c, n).may && !b.fallsBack(c, n) {
			return 0, 0, false
		}
		from = t.ended.rec
	}
	from = max(from, rec)
	return from, until, from <= until
}

// startable reports whether nothing but a limit can keep a call from another try. A
// fallback may have been refused by its own rate or breaker.
func (b *book) startable(c *call) bool {
	t := c.last()
	if t == nil || b.toolRetry(c, len(c.tries)).may {
		return true
	}
	other := b.tools[t.spec.Fallback]
	return other == nil || other.Rate == (loop.Rate{}) && other.Breaker == (loop.ToolBreaker{})
}

// decideStarts adds the stops of the limits that kept a call of a batch from a start.
// The earliest start that each of them forbade decides; it may be that of any call. It
// returns the first call that limits.calls kept from its start, or nil; sure says that
// no other limit can have done so.
func (b *book) decideStarts(r *reply, n *counts) (full *call, sure bool) {
	var lo, hi, rank [bars]int
	var certain [bars]bool
	for i, c := range r.calls {
		from, until, ok := b.kept(c)
		if !ok {
			continue
		}
		free := b.startable(c)
		var few [bars]bar
		limits, first := few[:0], never
		for limit := range bars {
			if rec := b.from(c, len(c.tries), limit); rec <= until {
				limits, first = append(limits, limit), min(first, max(from, rec))
			}
		}
		for _, limit := range limits {
			only := len(limits) == 1 && !(limit == barCalls && n.open)
			start := max(from, b.from(c, len(c.tries), limit))
			if hi[limit] == 0 || until < hi[limit] {
				lo[limit], hi[limit], rank[limit] = start, until, rankTryLimit+i*int(bars)+int(limit)
			}
			lo[limit] = min(lo[limit], start)
			// Tokens and cost are checked with every other limit, but not after it.
			certain[limit] = certain[limit] || free && (only || start == first && (limit == barTokens || limit == barCost))
			if limit == barCalls && full == nil {
				full, sure = c, only
			}
		}
	}
	for limit := range bars {
		switch {
		case hi[limit] == 0 || limit == barCalls && b.cfg.Limits.AtLimit == loop.LimitAsk:
		case certain[limit]:
			r.run.decide(barStops[limit], rank[limit], lo[limit], hi[limit])
		default:
			r.run.perhaps(barStops[limit], lo[limit])
		}
	}
	return full, sure
}

// startedAfter reports the tries that started although a limit forbade it.
func (b *book) startedAfter(limit bar) {
	for _, c := range b.calls {
		for n, t := range c.tries {
			from := b.from(c, n, limit)
			sameRecord := from == t.started.rec && b.due(c.reply.run, from) // a timer came before the result
			if from <= t.started.rec && !sameRecord {
				b.report(t.started, "no start", t.ref.String(), "%s is reached", barStops[limit])
			}
		}
	}
}

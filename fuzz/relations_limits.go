package fuzz

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A bound is a setting of the config that limits something.
type bound struct {
	name    string
	on      func(*loop.Config) bool
	reached func(*play, *used) bool // true also if it may have been reached
	raise   func(*loop.Config)
}

// used is an upper bound on the usage of a session in either scope.
type used struct {
	turns, asked, tries, batch, retries, modelTries, unusable, failing int
	tokens, cost                                                       int64
	longest                                                            time.Duration
	has                                                                map[loop.Event]bool
	cancelledTool, cancelledModel, summed                              bool
}

var bounds = []bound{
	{"limits.turns", func(c *loop.Config) bool { return c.Limits.Turns > 0 }, func(p *play, u *used) bool {
		return u.turns >= p.Config.Limits.Turns || p.Config.Limits.Adapt.Errors > 0
	},
		func(c *loop.Config) { c.Limits.Turns += 7 }},
	{"limits.asked", func(c *loop.Config) bool { return c.Limits.Asked > 0 }, func(p *play, u *used) bool { return u.asked >= p.Config.Limits.Asked },
		func(c *loop.Config) { c.Limits.Asked += 7 }},
	{"limits.calls", func(c *loop.Config) bool { return c.Limits.Calls > 0 }, func(p *play, u *used) bool {
		return u.asked >= p.Config.Limits.Calls || p.Config.Limits.Adapt.Errors > 0
	},
		func(c *loop.Config) { c.Limits.Calls += 7 }},
	{"limits.calls_per_turn", func(c *loop.Config) bool { return c.Limits.CallsPerTurn > 0 }, func(p *play, u *used) bool { return u.batch > p.Config.Limits.CallsPerTurn },
		func(c *loop.Config) { c.Limits.CallsPerTurn++ }},
	{"limits.steps", func(c *loop.Config) bool { return c.Limits.Steps > 0 }, func(p *play, u *used) bool { return 2*u.turns >= p.Config.Limits.Steps },
		func(c *loop.Config) { c.Limits.Steps += 7 }},
	{"limits.tokens", func(c *loop.Config) bool { return c.Limits.Tokens > 0 }, func(p *play, u *used) bool { return u.tokens > p.Config.Limits.Tokens },
		func(c *loop.Config) { c.Limits.Tokens++ }},
	{"limits.cost_usd", func(c *loop.Config) bool { return c.Limits.CostUSD > 0 }, func(p *play, u *used) bool { return float64(u.cost) > p.Config.Limits.CostUSD*1e9*(1-1e-9) },
		func(c *loop.Config) { c.Limits.CostUSD *= 2 }},
	{"limits.tries", func(c *loop.Config) bool { return c.Limits.Tries > 0 }, func(p *play, u *used) bool { return u.tries >= p.Config.Limits.Tries },
		func(c *loop.Config) { c.Limits.Tries += 7 }},
	{"time.run", func(c *loop.Config) bool { return c.Time.Run > 0 }, func(p *play, u *used) bool { return u.longest >= p.Config.Time.Run || u.has[loop.EventGaveUp] },
		func(c *loop.Config) { c.Time.Run += 7 * time.Second }},
	{"time.tool", func(c *loop.Config) bool { return c.Time.Tool > 0 }, func(p *play, u *used) bool { return u.cancelledTool },
		func(c *loop.Config) { c.Time.Tool += time.Second }},
	{"time.grace", func(c *loop.Config) bool { return true }, func(p *play, u *used) bool { return u.cancelledTool },
		func(c *loop.Config) { c.Time.Grace += time.Second }},
	{"time.model", func(c *loop.Config) bool { return c.Time.Model > 0 }, func(p *play, u *used) bool { return u.cancelledModel },
		func(c *loop.Config) { c.Time.Model += time.Second }},
	{"time.first_token", func(c *loop.Config) bool { return c.Time.FirstToken > 0 }, func(p *play, u *used) bool { return u.cancelledModel },
		func(c *loop.Config) { c.Time.FirstToken += time.Second }},
	{"time.chunk", func(c *loop.Config) bool { return c.Time.Chunk > 0 }, func(p *play, u *used) bool { return u.cancelledModel },
		func(c *loop.Config) { c.Time.Chunk += time.Second }},
	{"time.permission", func(c *loop.Config) bool { return c.Time.Permission > 0 }, func(p *play, u *used) bool { return u.has[loop.EventUnanswered] },
		func(c *loop.Config) { c.Time.Permission += time.Second }},
	{"errors.max_consecutive", func(c *loop.Config) bool { return c.Errors.MaxConsecutive > 0 }, func(p *play, u *used) bool { return u.failing >= p.Config.Errors.MaxConsecutive },
		func(c *loop.Config) { c.Errors.MaxConsecutive++ }},
	{"retry.max", func(c *loop.Config) bool { return c.Retry.Max > 0 }, func(p *play, u *used) bool { return u.retries >= p.Config.Retry.Max },
		func(c *loop.Config) { c.Retry.Max++ }},
	{"model_retry.max", func(c *loop.Config) bool { return c.ModelRetry.Max > 0 }, func(p *play, u *used) bool { return u.modelTries > p.Config.ModelRetry.Max },
		func(c *loop.Config) { c.ModelRetry.Max++ }},
	{"model_retry.same_deadline", func(c *loop.Config) bool { return c.ModelRetry.SameDeadline > 0 }, func(p *play, u *used) bool { return u.modelTries >= p.Config.ModelRetry.SameDeadline },
		func(c *loop.Config) { c.ModelRetry.SameDeadline++ }},
	{"model_retry.empty_replies", func(c *loop.Config) bool { return c.ModelRetry.EmptyReplies > 0 }, func(p *play, u *used) bool { return u.unusable > p.Config.ModelRetry.EmptyReplies },
		func(c *loop.Config) { c.ModelRetry.EmptyReplies++ }},
	{"model_retry.cut_replies", func(c *loop.Config) bool { return c.ModelRetry.CutReplies > 0 }, func(p *play, u *used) bool { return u.unusable > p.Config.ModelRetry.CutReplies },
		func(c *loop.Config) { c.ModelRetry.CutReplies++ }},
	{"model_retry.gap_replies", func(c *loop.Config) bool { return c.ModelRetry.GapReplies > 0 }, func(p *play, u *used) bool { return u.unusable > p.Config.ModelRetry.GapReplies },
		func(c *loop.Config) { c.ModelRetry.GapReplies++ }},
	{"model_retry.broken_streams", func(c *loop.Config) bool { return c.ModelRetry.BrokenStreams > 0 }, func(p *play, u *used) bool { return u.modelTries >= p.Config.ModelRetry.BrokenStreams },
		func(c *loop.Config) { c.ModelRetry.BrokenStreams++ }},
	{"parallel.max", func(c *loop.Config) bool { return c.Parallel.Max > 0 }, func(p *play, u *used) bool { return u.batch > p.Config.Parallel.Max },
		func(c *loop.Config) { c.Parallel.Max++ }},
	{"history.max_messages", func(c *loop.Config) bool { return c.History.MaxMessages > 0 }, func(p *play, u *used) bool { return u.has[loop.EventTrimmed] },
		func(c *loop.Config) { c.History.MaxMessages++ }},
	{"history.max_result_chars", func(c *loop.Config) bool { return c.History.MaxResultChars > 0 }, func(p *play, u *used) bool { return u.has[loop.EventTruncated] },
		func(c *loop.Config) { c.History.MaxResultChars++ }},
	{"contracts.max_payload_bytes", func(c *loop.Config) bool { return c.Contracts.MaxPayloadBytes > 0 }, func(p *play, u *used) bool { return u.has[loop.EventTruncated] },
		func(c *loop.Config) { c.Contracts.MaxPayloadBytes++ }},
	{"history.compact_at", func(c *loop.Config) bool { return c.History.CompactAt > 0 }, func(p *play, u *used) bool { return u.summed || u.has[loop.EventNoSummary] },
		func(c *loop.Config) { c.History.CompactAt++ }},
}

// checkRaised: raising limits that are not reached changes nothing, unless a hint
// shows the model how much is left.
func checkRaised(p *play) (string, bool) {
	if p.Config.Limits.Near > 0 || p.Script.Planner != loop.PlannerNative || p.weighed() {
		return "", false
	}
	higher := p.Case.clone()
	u := p.used()
	var names []string
	for _, b := range bounds {
		if b.on(&p.Config) && !b.reached(p, u) {
			names = append(names, b.name)
			b.raise(&higher.Config)
		}
	}
	for i := range p.Config.Detectors {
		d := &p.Config.Detectors[i]
		if _, plain := plainly(d); plain && !p.names(d.Name) {
			names = append(names, d.Name)
			higher.Config.Detectors[i].Do[0].At++
		}
	}
	if len(names) == 0 {
		return "", false
	}
	return sameAs(p, higher, "with limits raised that were not reached ("+strings.Join(names, ", ")+")")
}

// names reports whether the trace has a note or a stop of a detector.
func (p *play) names(detector string) bool {
	for i := range p.trace {
		for j := range p.trace[i].Effects {
			e := &p.trace[i].Effects[j]
			if e.Kind == loop.Note && e.Text == detector || e.Outcome != nil && string(e.Outcome.Stop) == detector {
				return true
			}
		}
	}
	return false
}

// used returns the usage of the session, which it sums up once.
func (p *play) used() *used {
	if p.sums != nil {
		return p.sums
	}
	u := &used{has: map[loop.Event]bool{}}
	p.sums = u
	for _, r := range p.view().runs {
		u.longest = max(u.longest, r.haltedAt-r.beganAt)
		for _, q := range r.requests {
			u.modelTries = max(u.modelTries, q.ref.Try)
			u.summed = u.summed || q.to == loop.ForSummary
		}
		for _, reply := range r.replies {
			u.reply(p, reply)
		}
	}
	for i := range p.trace {
		if p.trace[i].Path == "" {
			u.record(&p.trace[i])
		}
	}
	return u
}

func (u *used) reply(p *play, reply *replyView) {
	u.batch = max(u.batch, len(reply.calls))
	u.asked += len(reply.calls)
	if reply.turn() {
		u.turns++
	}
	if len(reply.calls) == 0 || reply.in.Finish == loop.FinishLength {
		u.unusable++
	}
	for _, c := range reply.calls {
		tries := map[string]int{}
		for _, t := range c.tries {
			tries[t.name]++
			u.retries = max(u.retries, tries[t.name]-1)
		}
		u.tries += len(c.tries)
		if len(c.puts) > 0 && p.errorKind(c) != "" {
			u.failing++
		}
	}
}

func (u *used) record(r *loop.Record) {
	u.tokens += r.In.TokensIn + r.In.TokensOut
	u.cost += r.In.Cost
	u.asked += r.In.Used
	for i := range r.Effects {
		switch e := &r.Effects[i]; e.Kind {
		case loop.Note:
			u.has[e.Event] = true
		case loop.CancelTool:
			u.cancelledTool = true
		case loop.CancelModel:
			u.cancelledModel = true
		}
	}
}

// weighed reports whether the tokens of a prompt that tells the limits matter.
func (p *play) weighed() bool {
	return p.Script.SafetyPrompt && (p.Script.Window > 0 || p.Config.History.CompactTokens > 0)
}

// checkStricter: with a stricter limit on turns, calls, tokens or time that stops
// the run, the trace is the same up to that stop.
func checkStricter(p *play) (string, bool) {
	l := &p.Config.Limits
	if l.AtLimit != loop.LimitStop && l.AtLimit != "" || l.Near > 0 || l.Adapt.Errors > 0 || p.Script.Planner != loop.PlannerNative || p.Config.Time.PauseForUser || p.weighed() {
		return "", false
	}
	u := p.used()
	d := dice{roll(p.Seed)}
	strict := p.Case.clone()
	var stop loop.Stop
	switch n := d.below(5); {
	case n == 4 && u.asked > 1:
		strict.Config.Limits.Asked, stop = lower(l.Asked, 1+d.below(u.asked-1)), loop.StopAskedLimit
	case n == 0 && u.turns > 1:
		strict.Config.Limits.Turns, stop = lower(l.Turns, 1+d.below(u.turns-1)), loop.StopTurnLimit
	case n == 1 && u.asked > 1:
		strict.Config.Limits.Calls, stop = lower(l.Calls, 1+d.below(u.asked-1)), loop.StopCallLimit
	case n == 2 && u.tokens > 1:
		strict.Config.Limits.Tokens, stop = int64(lower(int(l.Tokens), 1+d.below(int(u.tokens)-1))), loop.StopTokenLimit
	case n == 3 && u.longest > time.Second && u.modelTries <= 1 && p.Config.ModelRetry.Max == 0:
		run := time.Duration(lower(int(p.Config.Time.Run/time.Millisecond), 1+d.below(int(u.longest/time.Millisecond)))) * time.Millisecond
		strict.Config.Time.Run, stop = run, loop.StopRunDeadline
	default:
		return "", false
	}
	return p.prefix(strict, stop)
}

// lower returns the lower of two limits. A limit of 0 means none.
func lower(limit, other int) int {
	if limit == 0 {
		return other
	}
	return min(limit, other)
}

// prefix compares the trace with that of a stricter config, up to the stop.
func (p *play) prefix(strict *Case, stop loop.Stop) (string, bool) {
	s := played(strict)
	d := p.differs(0, s.trace)
	if d < 0 {
		return "", true // not reached
	}
	if d >= len(s.trace) {
		return fmt.Sprintf("with a stricter limit the trace ends before %s", aLine(recordText(p.trace, d))), true
	}
	here := &s.trace[d]
	sameInput := d < len(p.trace) && inputText(here) == inputText(&p.trace[d])
	deadline := stop == loop.StopRunDeadline && here.In.Kind == loop.Tick
	if !sameInput && !deadline {
		return fmt.Sprintf("with a stricter limit (%s), another input comes before the stop: ", stop) + difference(recordText(p.trace, d), here.String()), true
	}
	for _, r := range s.view().runs {
		if r.begin <= d && (r.end >= d || r.end < 0) {
			if r.outcome == nil || r.outcome.Stop != stop && !s.also(r, stop) {
				return fmt.Sprintf("with a stricter limit the trace differs where %s does not stop the run: ", stop) + difference(recordText(p.trace, d), here.String()), true
			}
			return "", true
		}
	}
	return "with a stricter limit the trace differs between two runs", true
}

// also reports whether a run notes the stop as one that also applied.
func (p *play) also(r *runView, stop loop.Stop) bool {
	for i := r.begin; i <= r.end; i++ {
		for j := range p.trace[i].Effects {
			if e := &p.trace[i].Effects[j]; e.Kind == loop.Note && e.Event == loop.EventAlsoStopped && e.Text == string(stop) {
				return true
			}
		}
	}
	return false
}

func inputText(r *loop.Record) string { return loop.Record{In: r.In}.String() }

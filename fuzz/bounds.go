package fuzz

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// This file recounts the bounds of a config by plain sums over a trace.

// spent is the usage of a run, or of a session if the scope is the session.
type spent struct {
	turns, asked, calls, tries int
	tokens, cost               int64
}

// checkBounds: no run exceeds the turns, calls, tries, tokens, cost, sub-runs and time of
// its config, nor the tries of a call or request. It may pass a limit by what already
// runs, and starts nothing then.
func checkBounds(p *play) (string, bool) {
	for _, check := range []func(*play) string{checkStarts, checkWorld} {
		if problem := check(p); problem != "" {
			return problem, true
		}
	}
	var sum spent
	for _, r := range p.view().runs {
		if p.Config.Scope != loop.ScopeSession {
			sum = spent{}
		}
		for _, check := range []func(*play, *runView) string{runTime, requestTries, callTries} {
			if problem := check(p, r); problem != "" {
				return problem, true
			}
		}
		if problem := sum.run(p, r); problem != "" {
			return problem, true
		}
	}
	return "", true
}

// runTime checks time.run, plus the grace of calls that then still run.
func runTime(p *play, r *runView) string {
	t := &p.Config.Time
	if t.Run == 0 || r.end < 0 {
		return ""
	}
	longest := t.Run + t.Grace
	if t.PauseForUser {
		longest += r.paused
	}
	if took := r.haltedAt - r.beganAt; took > longest {
		return fmt.Sprintf("the run took %v, and its limit is %v", took, longest)
	}
	return ""
}

// requestTries checks model_retry.max.
func requestTries(p *play, r *runView) string {
	for _, q := range r.requests {
		if most := 1 + p.Config.ModelRetry.Max; q.ref.Try > most {
			return fmt.Sprintf("the request m%d is tried %d times, and its limit is %d", q.ref.N, q.ref.Try, most)
		}
	}
	return ""
}

// callTries checks retry.max, or the tool's own.
func callTries(p *play, r *runView) string {
	for _, reply := range r.replies {
		for _, c := range reply.calls {
			tries := map[string]int{}
			for _, t := range c.tries {
				tries[t.name]++
				if most := mostTries(p.Case, t.name); tries[t.name] > most {
					return fmt.Sprintf("the call c%d is tried %d times, and its limit is %d", c.n, tries[t.name], most)
				}
			}
		}
	}
	return ""
}

func mostTries(c *Case, name string) int {
	for i := range c.Script.Tools {
		switch t := &c.Script.Tools[i]; {
		case t.Name != name:
		case t.Retry != nil:
			return 1 + t.Retry.Max
		case t.Retries != 0:
			return 1 + max(0, t.Retries)
		}
	}
	return 1 + c.Config.Retry.Max
}

// run adds the usage of a run, and checks the limits on sums.
func (s *spent) run(p *play, r *runView) string {
	l := &p.Config.Limits
	asks := l.AtLimit == loop.LimitAsk // the user may let the run go on
	for _, reply := range r.replies {
		if reply.turn() {
			s.turns++
		}
		inTurn := 0
		for _, c := range reply.calls {
			if s.asked++; above(l.Asked, s.asked) && !asks && len(c.tries) > 0 {
				return fmt.Sprintf("the call c%d runs, the %dth that the model asks for, and limits.asked is %d", c.n, s.asked, l.Asked)
			}
			s.tries += len(c.tries)
			if len(c.tries) > 0 {
				s.calls++
				inTurn++
			}
		}
		s.tokens += reply.in.TokensIn + reply.in.TokensOut
		s.cost += reply.in.Cost
		next := r.asksAfter(reply)
		switch {
		case above(l.Turns, s.turns) && !asks && p.Script.Planner == loop.PlannerNative:
			return fmt.Sprintf("%d turns, and limits.turns is %d", s.turns, l.Turns)
		case above(l.Asked, s.asked) && !asks && next && len(reply.calls) > 0: // a summary asks for none
			return fmt.Sprintf("the run goes on after %d calls asked for, and limits.asked is %d", s.asked, l.Asked)
		case above(l.Calls, s.calls) && !asks:
			return fmt.Sprintf("%d calls, and limits.calls is %d", s.calls, l.Calls)
		case above(l.CallsPerTurn, inTurn):
			return fmt.Sprintf("%d calls in a turn, and limits.calls_per_turn is %d", inTurn, l.CallsPerTurn)
		case above(l.Tries, s.tries):
			return fmt.Sprintf("%d tries, and limits.tries is %d", s.tries, l.Tries)
		case above(int(l.Tokens), int(s.tokens)) && next:
			return fmt.Sprintf("the run goes on after %d tokens, and limits.tokens is %d", s.tokens, l.Tokens)
		case l.CostUSD > 0 && float64(s.cost) > l.CostUSD*1e9*(1+1e-9) && next:
			return fmt.Sprintf("the run goes on after %d nano-dollars, and limits.cost_usd is %v", s.cost, l.CostUSD)
		}
	}
	return ""
}

// checkStarts sums up all that a run has used, sub-runs included, and checks the limits
// where a call or a request for a reply starts.
func checkStarts(p *play) string {
	var used struct {
		calls, spawns int
		tokens, cost  int64
	}
	l := &p.Config.Limits
	for i := range p.trace {
		rec := &p.trace[i]
		if rec.Path != "" {
			continue
		}
		if in := &rec.In; !ignored(rec) {
			if begins(rec) && p.Config.Scope != loop.ScopeSession {
				used.calls, used.spawns, used.tokens, used.cost = 0, 0, 0, 0
			}
			used.calls += in.Used
			used.spawns += in.Spawned
			used.tokens += in.TokensIn + in.TokensOut
			used.cost += in.Cost
		}
		for j := range rec.Effects {
			e := &rec.Effects[j]
			call := e.Kind == loop.CallTool
			if !call && !(e.Kind == loop.AskModel && e.For == loop.ForReply) {
				continue
			}
			t := tool(p.Script, e.Name)
			spawn := call && e.Ref.Try == 1 && t != nil && t.SubRun
			if call && e.Ref.Try == 1 {
				used.calls++
			}
			if spawn {
				used.spawns++
			}
			switch {
			case l.Tokens > 0 && used.tokens > l.Tokens:
				return fmt.Sprintf("after %d tokens, and limits.tokens is %d: %s", used.tokens, l.Tokens, line(rec, e))
			case l.CostUSD > 0 && float64(used.cost) > l.CostUSD*1e9*(1+1e-9):
				return fmt.Sprintf("after %d nano-dollars, and limits.cost_usd is %v: %s", used.cost, l.CostUSD, line(rec, e))
			case call && e.Ref.Try == 1 && above(l.Calls, used.calls) && l.AtLimit != loop.LimitAsk:
				return fmt.Sprintf("the call %d of %d, those of sub-runs included: %s", used.calls, l.Calls, line(rec, e))
			case spawn && above(l.Spawns, used.spawns):
				return fmt.Sprintf("the sub-run %d of %d: %s", used.spawns, l.Spawns, line(rec, e))
			}
		}
	}
	return ""
}

// A world is what a session and all sub-runs in it have used so far, and what is open.
type world struct {
	calls, spawns int
	tokens, cost  int64
	tries         map[loop.Path]int // that are open, by session
	open          map[loop.Path]bool
	begun         map[loop.Path]bool
	// loose: two tries at once shared what was left, or a user let a sub-run go on, or
	// nobody waited for the usage of one.
	loose bool
	told  bool // a result said how many calls it took, whatever was left and asked for before
}

// checkWorld sums up what all sub-runs use when they use it, and checks the limits of the
// session at each start in any of them: each is handed what is left. Sub-runs that run
// at once share that, and may pass a limit together. After a stray result a sub-run goes on
// that nobody counts.
func checkWorld(p *play) string {
	if slices.ContainsFunc(p.Strays, func(s Stray) bool { return s.Input.Kind == loop.ToolResult }) {
		return ""
	}
	w := world{tries: map[loop.Path]int{}, open: map[loop.Path]bool{}, begun: map[loop.Path]bool{}}
	for i := range p.trace {
		rec := &p.trace[i]
		if rec.Path == "" && begins(rec) && p.Config.Scope != loop.ScopeSession {
			w.calls, w.spawns, w.tokens, w.cost, w.loose = 0, 0, 0, 0, false
		}
		if !ignored(rec) {
			w.input(rec)
		}
		if problem := w.effects(p, rec); problem != "" && !w.loose {
			return problem
		}
	}
	return ""
}

func (w *world) input(rec *loop.Record) {
	in := &rec.In
	switch {
	case in.Kind == loop.Started && rec.Path != "":
		w.open[rec.Path], w.begun[rec.Path] = true, true
		w.share(rec.Path)
	case in.Kind == loop.ToolResult:
		w.tries[rec.Path]--
		if w.begun[rec.Path.Sub(in.Ref)] {
			return // its steps were counted
		}
		w.calls += in.Used
		w.spawns += in.Spawned
		w.told = w.told || in.Used > 0
	}
	w.tokens += in.TokensIn + in.TokensOut
	w.cost += in.Cost
}

// share says that limits are loose if a sub-run runs beside another try of its caller.
func (w *world) share(path loop.Path) {
	caller, _ := path.Caller()
	w.loose = w.loose || w.tries[caller] > 1
}

func (w *world) effects(p *play, rec *loop.Record) string {
	l, asks := &p.Config.Limits, p.Config.Limits.AtLimit == loop.LimitAsk
	for i := range rec.Effects {
		e := &rec.Effects[i]
		first, spawn := e.Kind == loop.CallTool && e.Ref.Try == 1, false
		switch {
		case e.Kind == loop.Halt:
			delete(w.open, rec.Path)
		case e.Kind == loop.AskUser && rec.Path != "":
			w.loose = true
		case e.Kind == loop.Note && e.Event == loop.EventAbandoned:
			w.tries[rec.Path]--
			w.loose = true
		case first:
			w.calls++
			t := tool(p.Script, e.Name)
			if spawn = t != nil && t.SubRun && (rec.Path == "" || t.Session != nil); spawn {
				w.spawns++
			}
		}
		if e.Kind == loop.CallTool {
			w.tries[rec.Path]++
			for path := range w.open {
				w.share(path)
			}
		} else if e.Kind != loop.AskModel || e.For != loop.ForReply {
			continue
		}
		switch {
		case w.loose:
		case l.Tokens > 0 && w.tokens > l.Tokens:
			return fmt.Sprintf("all together have used %d tokens, and limits.tokens is %d: %s", w.tokens, l.Tokens, line(rec, e))
		case l.CostUSD > 0 && float64(w.cost) > l.CostUSD*1e9*(1+1e-9):
			return fmt.Sprintf("all together cost %d nano-dollars, and limits.cost_usd is %v: %s", w.cost, l.CostUSD, line(rec, e))
		case first && above(l.Calls, w.calls) && !asks:
			return fmt.Sprintf("the call %d of all together, and limits.calls is %d: %s", w.calls, l.Calls, line(rec, e))
		case first && above(l.Asked, w.calls) && !asks && !w.told:
			return fmt.Sprintf("the call %d of all together, and limits.asked is %d: %s", w.calls, l.Asked, line(rec, e))
		case spawn && above(l.Spawns, w.spawns):
			return fmt.Sprintf("the sub-run %d of all together, and limits.spawns is %d: %s", w.spawns, l.Spawns, line(rec, e))
		}
	}
	return ""
}

func above(limit, n int) bool { return limit > 0 && n > limit }

// asksAfter reports whether the run asks for another turn after a reply.
func (r *runView) asksAfter(reply *replyView) bool {
	for _, q := range r.requests {
		if q.rec >= reply.rec && q.to == loop.ForReply {
			return true
		}
	}
	return false
}

// notice is the beginning of the notice after a truncated result.
const notice = "\n[OUTPUT TRUNCATED:"

// checkPayloads: no result shows more than the config allows, without the notice of
// a truncated one.
func checkPayloads(p *play) (string, bool) {
	chars, bytes := p.Config.History.MaxResultChars, p.Config.Contracts.MaxPayloadBytes
	if chars == 0 && bytes == 0 {
		return "", false
	}
	for _, c := range p.view().calls {
		for _, put := range c.puts {
			shown := put.e.Text
			if i := strings.LastIndex(shown, notice); i >= 0 {
				shown = shown[:i]
			}
			if n := utf8.RuneCountInString(shown); above(chars, n) {
				return fmt.Sprintf("the result of call c%d shows %d characters, and history.max_result_chars is %d", c.n, n, chars), true
			}
			if chars == 0 && len(shown) > bytes {
				return fmt.Sprintf("the result of call c%d shows %d bytes, and contracts.max_payload_bytes is %d", c.n, len(shown), bytes), true
			}
		}
	}
	return "", true
}

// tool returns the tool of a script with that name, or nil if there is none.
func tool(s *fakes.Script, name string) *fakes.Tool {
	for i := range s.Tools {
		if s.Tools[i].Name == name {
			return &s.Tools[i]
		}
	}
	return nil
}

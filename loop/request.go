package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A request is the current model request: open, or waiting for its retry.
type request struct {
	ref      Ref
	purpose  Purpose
	open     bool
	streamed bool          // a delta has come
	broken   int           // how often its stream broke
	whole    time.Duration // when time.model or time.summary runs out
	idle     time.Duration // when time.first_token or time.chunk runs out
	retry    time.Duration // when the next try begins
	ran      [3]int        // how often it ran into time.model or time.summary, time.first_token, time.chunk
}

// timer returns the instant of the request's next timer, or never.
func (r *request) timer() time.Duration {
	if r.open {
		return min(r.whole, r.idle)
	}
	return r.retry
}

// ask sends the next model request, after the hints for the model. If a compaction is
// due first, that sends it afterwards. Where the history ends with a reply, a user message
// comes first: no two replies may follow each other.
func (m *Machine) ask(purpose Purpose) {
	m.giveHints()
	if last := len(m.history) - 1; m.history[last].Role == Assistant {
		m.say(m.textGoOn(purpose))
	}
	if purpose == ForReply && m.compact() {
		return
	}
	m.trim()
	m.request(purpose)
}

// request begins a new model request.
func (m *Machine) request(purpose Purpose) {
	m.phase = asking
	m.numbers.model++
	m.req = request{ref: Ref{Kind: RefModel, N: m.numbers.model}, purpose: purpose}
	m.sendRequest()
}

// sendRequest sends the next try of the request.
func (m *Machine) sendRequest() {
	r := &m.req
	r.ref.Try++
	r.open, r.streamed = true, false
	r.whole, r.idle, r.retry = after(m.now, m.cfg.Time.Model), after(m.now, m.cfg.Time.FirstToken), never
	m.out.ModelCalls++
	if r.purpose == ForSummary {
		if limit := m.cfg.Time.Summary; limit > 0 {
			r.whole = after(m.now, limit)
		}
		m.emit(m.summaryRequest())
		return
	}
	m.emit(Effect{Kind: AskModel, Ref: r.ref, For: r.purpose, To: len(m.history), Choice: m.choice(), System: m.systemPrompt(), History: m.history})
}

// choice returns what the model must call in reply to the request.
func (m *Machine) choice() string {
	c := &m.task.ToolChoice
	if m.req.purpose != ForReply || m.task.Planner == PlannerJSON || len(m.names) == 0 || m.called && !c.Hold {
		return ""
	}
	return c.Use
}

// checkChoice reports a choice of a tool that there is not.
func (m *Machine) checkChoice() error {
	if use := m.task.ToolChoice.Use; use != "" && use != UseRequired && m.tools[use] == nil {
		return &FieldError{Field: "tool_choice", Problem: fmt.Sprintf("there is no tool %q: name one, or use %s", use, UseRequired)}
	}
	return nil
}

// after returns the instant at which a deadline of d from now runs out, or never if
// d is 0.
func after(now, d time.Duration) time.Duration {
	if d == 0 {
		return never
	}
	return now + d
}

// requestTimer handles the request's timer that is due at an instant.
func (m *Machine) requestTimer(at time.Duration) {
	r := &m.req
	if !r.open {
		m.sendRequest()
		return
	}
	limit, what, which := m.cfg.Time.Model, textModelTimeout, 0
	if r.purpose == ForSummary && m.cfg.Time.Summary > 0 {
		limit = m.cfg.Time.Summary
	}
	if r.whole > at {
		limit, what, which = m.cfg.Time.FirstToken, textFirstToken, 1
		if r.streamed {
			limit, what, which = m.cfg.Time.Chunk, textChunk, 2
		}
	}
	r.ran[which]++
	m.emit(Effect{Kind: CancelModel, Ref: r.ref, Text: what})
	m.requestFailed(0, 0, StopModelDeadline, reasonModelDeadline(what, limit))
}

// answered handles an input for the open request.
func (m *Machine) answered(in *Input) {
	switch in.Kind {
	case ModelDelta:
		m.req.streamed = true
		m.req.idle = after(m.now, m.cfg.Time.Chunk)
	case ModelFailure:
		if m.overflowed(in) {
			return
		}
		m.requestFailed(in.Status, in.RetryAfter, StopModelFailed, m.reasonModelFailed(in.Status, in.Text))
	case ModelReply:
		m.req.open, m.req.retry = false, never
		m.replied(in)
	}
}

// requestFailed schedules a retry if one is allowed. Otherwise it goes on without a
// summary if that was asked for, or stops the run.
func (m *Machine) requestFailed(status int, retryAfter time.Duration, stop Stop, reason string) {
	r, cfg := &m.req, &m.cfg.ModelRetry
	r.open, r.retry = false, never
	if r.streamed {
		m.note(r.ref, EventBrokenStream, "")
		r.broken++
	}
	again := (cfg.SameDeadline == 0 || slices.Max(r.ran[:]) < cfg.SameDeadline) && (cfg.BrokenStreams == 0 || r.broken < cfg.BrokenStreams)
	if r.ref.Try <= cfg.Max && again && cfg.retries(status) {
		wait := min(retryAfter, maxDuration)
		if wait <= 0 {
			wait = cfg.Backoff.wait(cfg.Base, cfg.Cap, r.ref.Try, func(k int) float64 { return m.draw(r.ref.whole(), k) })
		}
		switch {
		case cfg.MaxWait > 0 && wait > cfg.MaxWait:
			m.note(r.ref, EventGaveUp, textLongWait(wait, cfg.MaxWait))
		case m.deadline != never && wait >= m.deadline-m.now:
			m.note(r.ref, EventGaveUp, textPastDeadline(wait))
		default:
			r.retry = m.now + wait
			return
		}
	}
	if r.purpose == ForSummary {
		m.note(r.ref.whole(), EventNoSummary, reason)
		m.afterCompaction(false)
		return
	}
	m.decide(stop, reason, messageModelFailed)
	m.halt()
}

// replied handles a whole reply.
func (m *Machine) replied(in *Input) {
	m.use(in)
	blank := strings.TrimSpace(in.Text) == ""
	if !blank && m.req.purpose != ForSummary {
		m.lastText = in.Text
	}
	switch m.req.purpose {
	case ForSummary:
		m.emit(Effect{Kind: Drop, Ref: m.req.ref.whole()})
		m.summarised(in.Text, blank)
		return
	case ForFinal, ForGrace:
		m.lastReply(in, blank)
		return
	}
	cut := in.Finish == FinishLength
	announced := in.Finish == FinishToolCalls && m.task.Planner != PlannerJSON
	if len(in.Calls) == 0 && (blank || cut || announced) {
		m.askAgain(in.Text, blank, cut)
		return
	}
	if m.task.Planner == PlannerJSON && len(in.Calls) == 0 {
		m.plan(in)
		return
	}
	n, dropped := m.readBatch(in)
	switch {
	case n > 0 || len(in.Calls) == 0:
	case dropped == 0:
		m.askAgain("", true, false) // all of it has been answered
		return
	case blank || cut:
		m.askAgain(in.Text, blank, cut)
		return
	}
	if n == 0 && m.turnedBack(in.Text, in.Text) {
		return
	}
	m.spent.turns++
	m.gains.turns++
	m.out.Turns++
	if n == 0 {
		m.lookAtText(in.Text)
		m.appendReply(in.Text, nil)
		m.step(false)
		if m.out.Stop == "" {
			m.decide(StopDone, reasonDone, "")
		}
		m.goOn()
		return
	}
	m.openBatch(in, cut)
}

// step counts a step, and reports whether the run has reached limits.steps. It
// then does what limits.at_limit says if more work would follow, or else stops
// the run.
func (m *Machine) step(more bool) bool {
	m.spent.steps++
	limit := m.cfg.Limits.Steps
	if limit == 0 || m.spent.steps < limit {
		return false
	}
	if more {
		m.atLimit(StopTurnLimit, reasonSteps(limit), messageTurns)
	} else {
		m.decide(StopTurnLimit, reasonSteps(limit), messageTurns)
	}
	return true
}

// askAgain handles an unusable reply without calls: it asks the model again, or
// stops the run.
func (m *Machine) askAgain(text string, blank, cut bool) {
	ref := m.req.ref.whole()
	if blank {
		m.emit(Effect{Kind: Drop, Ref: ref})
	} else {
		m.appendReply(text, nil)
	}
	if cut {
		m.note(ref, EventCutReply, "")
	} else {
		m.note(ref, EventEmptyReply, "")
	}
	m.countUnusable(blank, cut)
	m.checkBudget()
	if m.out.Stop != "" {
		m.halt()
		return
	}
	switch {
	case cut:
		m.say(textCutReply)
	case !blank:
		m.say(textNoCalls)
	}
	m.ask(ForReply)
}

// countUnusable counts one more unusable reply in a row, and stops the run above
// model_retry.cut_replies if it was cut off, else above model_retry.empty_replies.
func (m *Machine) countUnusable(blank, cut bool) {
	m.unusable++
	limit := m.cfg.ModelRetry.EmptyReplies
	if cut {
		limit = m.cfg.ModelRetry.CutReplies
	}
	if m.unusable <= limit {
		return
	}
	switch {
	case cut:
		m.decide(StopTruncatedReply, reasonCutReplies(m.unusable), messageModelFailed)
	case blank:
		m.decide(StopEmptyReply, reasonEmptyReplies(m.unusable), messageModelFailed)
	default:
		m.decide(StopEmptyReply, reasonNoCalls(m.unusable), messageModelFailed)
	}
}

// use counts the tokens, cost, calls and sub-runs of a reply or of a result's
// sub-runs.
func (m *Machine) use(in *Input) {
	m.out.TokensIn += in.TokensIn
	m.out.TokensOut += in.TokensOut
	m.out.Cost += in.Cost
	m.spent.tokens += in.TokensIn + in.TokensOut
	m.spent.cost += in.Cost
	m.spent.asked += in.Asked
	m.subs.asked += in.Asked
	m.out.SubAsked += in.Asked
	m.spent.calls += in.Used
	m.subs.calls += in.Used
	m.out.SubCalls += in.Used
	m.spent.spawns += in.Spawned
	m.subs.spawns += in.Spawned
	m.out.Spawns += in.Spawned
}

// checkBudget checks the token and cost limits. It returns the reason of the first
// one that the run is above, or "".
func (m *Machine) checkBudget() (over string) {
	limits := &m.cfg.Limits
	if limit := limits.Tokens; limit != 0 && m.spent.tokens > max(0, limit) {
		over = reasonTokens(limit)
		m.decide(StopTokenLimit, over, messageBudget)
	}
	if limit := limits.nanoDollars(); limit != 0 && m.spent.cost > max(0, limit) {
		reason := reasonCost(limits.CostUSD)
		m.decide(StopCostLimit, reason, messageBudget)
		over = cmp.Or(over, reason)
	}
	return over
}

// left returns what a limit leaves: -1 if that is nothing, 0 if there is no limit.
func left[N int | int64](limit, spent N) N {
	switch {
	case limit == 0:
		return 0
	case limit <= spent:
		return -1
	}
	return limit - spent
}

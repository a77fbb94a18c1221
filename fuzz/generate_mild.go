package fuzz

import (
	"cmp"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// This file draws the failures of recoverable worlds: those that the values of the
// config can handle.

// patient reports whether the config's limits are high enough for a short world to
// reach its end.
func (m *maker) patient() bool {
	c := &m.Config
	enough := func(limit, least int) bool { return limit == 0 || limit >= least }
	for i := range c.Detectors {
		for _, r := range c.Detectors[i].Do {
			if r.At < 3 || len(c.Detectors[i].Key) > 0 || len(c.Detectors[i].IgnoreArgs) > 0 {
				return false // it may stop calls that all differ
			}
		}
	}
	l := &c.Limits
	return c.Scope != loop.ScopeSession && enough(l.Turns, 20) && enough(l.Calls, 60) && enough(l.CallsPerTurn, 6) && enough(l.Steps, 40) &&
		enough(l.Tries, 200) && (l.Tokens == 0 || l.Tokens > 1000) && (l.CostUSD == 0 || l.CostUSD > 1e-3) && l.Near == 0 && l.Adapt.Errors == 0 &&
		enough(int(c.Time.Run/time.Second), 300) && enough(int(c.Time.Tool/time.Second), 2) && enough(int(cmp.Or(c.Time.Model, c.Time.FirstToken)/time.Second), 7) &&
		enough(int(c.Time.FirstToken/time.Second), 7) && enough(int(c.Time.Chunk/time.Second), 7) &&
		c.Time.Permission == 0 && c.Policy.OnFailure != loop.FailureTable && !c.Contracts.Input && !c.Contracts.Output && c.Contracts.BrokenArgs != loop.BrokenDropped &&
		c.History.CompactAt == 0 && c.History.CompactTokens == 0 && c.ModelRetry.BrokenStreams == 0
}

// bearsFailure reports whether a run can go on after a failing turn.
func (m *maker) bearsFailure() bool {
	return m.Config.Errors.MaxConsecutive != 1
}

// spendFailure uses up the one failing turn that a mild world may have, and reports
// whether it was left.
func (m *maker) spendFailure() bool {
	was := m.failing
	m.failing = false
	return was
}

// spendHang uses up the one hang that a mild world may have, and reports whether it
// was left.
func (m *maker) spendHang() bool {
	was := m.hang
	m.hang = false
	return was
}

// spendTime uses up a part of the time that a run has, and reports whether it was
// left. The failures of an answer cost their time for every call.
func (m *maker) spendTime(d time.Duration) bool {
	if m.Config.Time.Run == 0 {
		return true
	}
	if m.spare < d {
		return false
	}
	m.spare -= d
	return true
}

// mildFault makes the first tries of a call fail, at most as often as the config
// retries it.
func (m *maker) mildFault(t *fakes.Tool, a *fakes.Answer) {
	r := &m.Config.Retry
	if len(r.Codes) == 0 || r.Base > 2*time.Second {
		return
	}
	for range m.below(min(r.Max, 2) + 1) {
		code := pick(m.dice, r.Codes...)
		if code == loop.Timeout && !r.Timeouts || code == loop.ConnectionLost && t.Idempotent != loop.Idempotent {
			continue
		}
		if t.Idempotent == loop.NotIdempotent && code != loop.RateLimited && code != loop.NotSent {
			continue // it may have taken effect, and is not tried again
		}
		if m.spendTime(40 * (200*time.Millisecond + longest(r.Base, len(a.Failures)+1))) {
			a.Failures = append(a.Failures, fakes.Failure{Error: code, Text: "503"})
		}
	}
}

// mildDelay makes an answer late, or lets its first try hang.
func (m *maker) mildDelay(t *fakes.Tool, a *fakes.Answer) {
	r, limit := &m.Config.Retry, m.Config.Time.Tool
	heard := m.Config.Time.Grace > 0 // else the try is abandoned at once, and only idempotent calls are tried again
	if limit > 0 && heard && t.Idempotent != loop.NotIdempotent && len(a.Failures) < r.Max && r.Timeouts && slices.Contains(r.Codes, loop.Timeout) && m.one(2) && m.spendHang() {
		a.Failures = append(a.Failures, fakes.Failure{Hang: true})
		return
	}
	if late := time.Duration(m.below(15)) * 100 * time.Millisecond; m.spendTime(40 * late) {
		a.Latency = m.exactly(late)
	}
}

// longest returns the longest wait before retry n under any backoff.
func longest(base time.Duration, n int) time.Duration {
	for range n {
		base *= 3
	}
	return base
}

// mildReply draws an odd but harmless reply, perhaps after an unusable one that the
// config asks for again.
func (m *maker) mildReply() fakes.Step {
	if min(m.Config.ModelRetry.EmptyReplies, m.Config.ModelRetry.CutReplies) > 0 && m.one(2) {
		m.Script.Model = append(m.Script.Model, pick(m.dice, fakes.Step{Text: " \n"}, fakes.Step{Text: "I was about to", Finish: loop.FinishLength}))
	}
	s := m.asks()
	s.Finish = pick(m.dice, "", "stop", "content_filter")
	for i := range s.Calls {
		s.Calls[i].ID = pick(m.dice, nil, new(""), new("same"))
	}
	return s
}

// mildFailures makes the API fail, at most as often as the config retries.
func (m *maker) mildFailures(s *fakes.Step) {
	r := &m.Config.ModelRetry
	if r.Base > 2*time.Second || len(r.Statuses) == 0 {
		return
	}
	statuses := []int{429}
	if slices.Contains(r.Statuses, "5xx") {
		statuses = []int{500, 503, 0}
	} else if !slices.Contains(r.Statuses, "429") {
		return
	}
	for range m.below(min(r.Max-len(s.Failures), 2) + 1) {
		f := fakes.ModelFailure{Status: pick(m.dice, statuses...), Latency: m.exactly(time.Second)}
		if m.one(3) && (r.MaxWait == 0 || r.MaxWait >= 5*time.Second) {
			f.RetryAfter = time.Duration(1+m.below(5)) * time.Second
		}
		if m.spendTime(f.Latency.Min + max(f.RetryAfter, longest(r.Base, len(s.Failures)+1))) {
			s.Failures = append(s.Failures, f)
		}
	}
}

// mildStream lets a stream hang or break once, if the config retries it.
func (m *maker) mildStream(s *fakes.Step) {
	r := &m.Config.ModelRetry
	if r.Max == 0 || len(s.Failures) > 0 || r.Base > 2*time.Second || !slices.Contains(r.Statuses, "5xx") {
		return
	}
	if (m.Config.Time.Model > 0 || m.Config.Time.FirstToken > 0) && m.one(2) && m.spendHang() {
		s.Failures = []fakes.ModelFailure{{Hang: true}}
	} else {
		s.Failures = []fakes.ModelFailure{{Chunks: 1 + m.below(3), Latency: m.exactly(time.Second)}}
	}
}

package fuzz

import (
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A scale multiplies durations.
type scale int64

// even is divisible by every number of pieces up to mostParts. So the pieces of a
// stream end at whole nanoseconds, however it is scaled.
const (
	even      = 60
	mostParts = 6
)

func (k scale) of(d time.Duration) time.Duration { return time.Duration(k) * d }

// checkScaled: multiplying all durations of the config and the world, without
// jitter, keeps the steps and multiplies their times.
func checkScaled(p *play) (string, bool) {
	for i := range p.Script.Model {
		if s := &p.Script.Model[i]; s.Chunks > mostParts {
			return "", false
		}
	}
	const k = 3
	once, slow := scaledPlay(p.Case, even), scaledPlay(p.Case, even*k)
	for i := range max(len(once.trace), len(slow.trace)) {
		a, b := timeless(once.trace, i, 1), timeless(slow.trace, i, k)
		if a != b {
			return "with all durations tripled, the steps differ: " + difference(a, b), true
		}
	}
	return "", true
}

// scaledPlay plays a case with all durations multiplied, including the ceiling's.
func scaledPlay(c *Case, k scale) *play {
	p := &play{Case: scaled(c, k)}
	w := newWorld(p.Case)
	w.Ceiling.Time = k.of(w.Ceiling.Time)
	p.drive(w)
	return p
}

// timeless returns a record's text with its times divided by k, and without the
// texts that may contain times.
func timeless(t loop.Trace, i int, k time.Duration) string {
	if i >= len(t) {
		return ""
	}
	r := loop.Record{In: t[i].In, Effects: append([]loop.Effect(nil), t[i].Effects...)}
	r.In.At /= k
	r.In.RetryAfter /= k
	for j := range r.Effects {
		e := &r.Effects[j]
		e.Text = ""
		if e.Outcome != nil {
			o := *e.Outcome
			o.Reason, o.Message, o.Answer, o.Elapsed = "", "", "", o.Elapsed/k
			e.Outcome = &o
		}
	}
	return r.String()
}

// scaled returns a copy of a case with every duration explicit and multiplied. It
// has no ranges, no jitter, and no limits on the length of texts, since some texts
// contain times.
func scaled(c *Case, k scale) *Case {
	out := c.clone()
	scaleConfig(&out.Config, k)
	scaleTools(out.Script.Tools, k)
	scaleModel(out.Script.Model, k)
	out.Script.Window = 0 // the time until it refuses a request cannot be scaled
	for i := range out.Script.Faults {
		if d, ok := out.Script.Faults[i].Operand.(time.Duration); ok {
			out.Script.Faults[i].Operand = k.of(d)
		}
	}
	u := &out.Script.User
	for i := range u.Permissions {
		u.Permissions[i].After = k.span(u.Permissions[i].After, fakes.DefaultToolLatency)
	}
	for i := range u.Replies {
		u.Replies[i].After = k.span(u.Replies[i].After, fakes.DefaultToolLatency)
	}
	u.Permissions = append(u.Permissions, fakes.PermissionAnswer{After: k.span(fakes.Span{}, fakes.DefaultToolLatency)})
	u.Replies = append(u.Replies, fakes.Reply{Deny: true, After: k.span(fakes.Span{}, fakes.DefaultToolLatency)})
	for i := range u.Messages {
		u.Messages[i].Wait, u.Messages[i].At = k.of(u.Messages[i].Wait), k.of(u.Messages[i].At)
	}
	if u.Cancel != nil {
		u.Cancel.At = k.of(u.Cancel.At)
	}
	return out
}

func scaleConfig(c *loop.Config, k scale) {
	for _, d := range []*time.Duration{&c.Time.Run, &c.Time.Model, &c.Time.Summary, &c.Time.FirstToken, &c.Time.Chunk, &c.Time.Tool, &c.Time.Grace, &c.Time.Permission,
		&c.ModelRetry.MaxWait} {
		*d = k.of(*d)
	}
	scaleRetry(&c.Retry.Base, &c.Retry.Cap, &c.Retry.Backoff, k)
	scaleRetry(&c.ModelRetry.Base, &c.ModelRetry.Cap, &c.ModelRetry.Backoff, k)
	for i := range c.Detectors {
		c.Detectors[i].Within = k.of(c.Detectors[i].Within)
	}
	c.History.MaxResultChars, c.Contracts.MaxPayloadBytes = 0, 0
	c.History.CompactAt, c.History.CompactTokens = 0, 0 // the time of the world's own summary cannot be scaled
}

// scaleRetry multiplies the durations of a retry policy, and removes its jitter.
func scaleRetry(base, limit *time.Duration, b *loop.Backoff, k scale) {
	*base, *limit = k.of(*base), k.of(*limit)
	if *b == loop.FullJitter || *b == loop.DecorrelatedJitter {
		*b = loop.Exponential
	}
}

func scaleTools(tools []fakes.Tool, k scale) {
	for i := range tools {
		t := &tools[i]
		t.Timeout, t.Rate.Per, t.Breaker.Cooldown = k.of(t.Timeout), k.of(t.Rate.Per), k.of(t.Breaker.Cooldown)
		if t.Retry != nil {
			own := *t.Retry
			scaleRetry(&own.Base, &own.Cap, &own.Backoff, k)
			t.Retry = &own
		}
		t.Latency = k.span(t.Latency, fakes.DefaultToolLatency)
		for j := range t.Answers {
			a := &t.Answers[j]
			if a.Latency != (fakes.Span{}) {
				a.Latency = k.span(a.Latency, 0)
			}
			for n := range a.Failures {
				if a.Failures[n].Latency != (fakes.Span{}) {
					a.Failures[n].Latency = k.span(a.Failures[n].Latency, 0)
				}
			}
		}
	}
}

func scaleModel(steps []fakes.Step, k scale) {
	for i := range steps {
		s := &steps[i]
		s.Latency, s.FirstToken = k.span(s.Latency, fakes.DefaultModelLatency), k.of(s.FirstToken)
		for j := range s.Failures {
			f := &s.Failures[j]
			f.RetryAfter = k.of(f.RetryAfter)
			if f.Latency != (fakes.Span{}) {
				f.Latency = k.span(f.Latency, 0)
			}
		}
	}
}

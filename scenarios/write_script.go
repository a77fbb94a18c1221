package scenarios

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// This file writes a script in the words of the scenario language.

func duration(d time.Duration) word {
	if d == 0 {
		return ""
	}
	return word(d.String())
}

// latencyYAML writes a span: 1s, 1s..2s, or 0s for no latency.
func latencyYAML(s fakes.Span) word {
	switch {
	case s == fakes.Span{}:
		return ""
	case s.Max > s.Min:
		return word(s.Min.String() + ".." + s.Max.String())
	}
	return word(s.Min.String())
}

func dollarsYAML(nano int64) word {
	if nano == 0 {
		return ""
	}
	return word(fmt.Sprintf("%d.%09d", nano/1e9, nano%1e9))
}

// toolsYAML writes tools. The configs of their sessions are changes to base.
func toolsYAML(tools []fakes.Tool, base loop.Config) (out list) {
	for i := range tools {
		t := &tools[i]
		var m mapping
		m.must("name", t.Name)
		m.put("description", t.Description)
		m.put("version", t.Version)
		m.put("permission", string(t.Permission))
		m.put("idempotent", word(t.Idempotent))
		m.put("waits", t.Waits)
		m.put("timeout", duration(t.Timeout))
		if t.Retries != 0 {
			m.must("retries", int64(max(0, t.Retries)))
		}
		if r := t.Retry; r != nil {
			var codes list
			for _, code := range r.Codes {
				codes = append(codes, string(code))
			}
			m.must("retry", mapping{{"max", int64(r.Max)}, {"base", word(r.Base.String())}, {"backoff", word(cmp.Or(r.Backoff, loop.Linear))},
				{"cap", word(r.Cap.String())}, {"timeouts", r.Timeouts}, {"codes", codes}})
		}
		m.put("fallback", t.Fallback)
		m.put("sub_run", t.SubRun)
		if t.Rate.Calls > 0 {
			m.must("rate", mapping{{"calls", int64(t.Rate.Calls)}, {"per", word(t.Rate.Per.String())}})
		}
		if t.Breaker.Failures > 0 {
			m.must("breaker", mapping{{"failures", int64(t.Breaker.Failures)}, {"cooldown", word(t.Breaker.Cooldown.String())}})
		}
		m.put("ignores_cancel", t.IgnoresCancel)
		m.put("latency", latencyYAML(t.Latency))
		m.put("input", word(t.Input))
		m.put("output", word(t.Output))
		if x := t.Session; x != nil {
			m.must("session", sessionYAML(x, base))
		} else {
			m.must("answers", answersYAML(t.Answers))
		}
		out = append(out, m)
	}
	return out
}

func sessionYAML(x *fakes.Session, base loop.Config) (m mapping) {
	m.put("task", x.Task)
	m.put("system", x.System)
	m.put("planner", string(x.Planner))
	m.put("tools", toolsYAML(x.Tools, base))
	var shared list
	for _, name := range x.Shared {
		shared = append(shared, name)
	}
	m.put("shared", shared)
	m.must("model", modelYAML(x.Model))
	if x.Config != nil {
		from, to := Variant{Config: base}, Variant{Config: *x.Config}
		cfg := changed(from.JSON(), to.JSON())
		if base.NeverActs() != nil && x.Config.NeverActs() != nil {
			cfg = append(mapping{{"faithful", true}}, cfg...) // no session takes it over
		}
		m.put("config", cfg)
	}
	return m
}

func answersYAML(answers []fakes.Answer) (out list) {
	for i := range answers {
		a := &answers[i]
		var m mapping
		m.put("when", whenYAML(a.When))
		m.put("times", a.Times)
		switch {
		case a.Hang:
			m.must("hang", true)
		case a.Error != loop.None:
			m.must("error", string(a.Error))
			m.put("text", a.Text)
		default:
			m.must("result", a.Result)
			m.put("result_chars", a.ResultChars)
		}
		m.put("latency", latencyYAML(a.Latency))
		m.put("tokens_in", a.TokensIn)
		m.put("tokens_out", a.TokensOut)
		m.put("cost_usd", dollarsYAML(a.Cost))
		m.put("used", a.Used)
		m.put("wire", string(a.Wire))
		m.put("failures", failuresYAML(a.Failures))
		out = append(out, m)
	}
	return out
}

func failuresYAML(failures []fakes.Failure) (out list) {
	for _, f := range failures {
		var m mapping
		if f.Hang {
			m.must("hang", true)
		} else {
			m.put("error", string(f.Error))
			m.put("text", f.Text)
		}
		m.put("latency", latencyYAML(f.Latency))
		m.put("wire", string(f.Wire))
		out = append(out, m)
	}
	return out
}

// whenYAML writes the arguments of a when.
func whenYAML(when map[string]any) (m mapping) {
	for _, key := range slices.Sorted(maps.Keys(when)) {
		text, err := json.Marshal(when[key])
		if err == nil {
			m.must(key, treeOf(text))
		}
	}
	return m
}

// resultYAML writes a condition on a result.
func resultYAML(r *fakes.ResultIs) (m mapping) {
	m.put("contains", r.Contains)
	m.put("matches", r.Matches)
	if m.put("path", r.Path); r.Path != "" {
		if text, err := json.Marshal(r.Is); err == nil {
			m.must("is", treeOf(text))
		}
	}
	return m
}

func modelYAML(steps []fakes.Step) (out list) {
	for i := range steps {
		s := &steps[i]
		var m mapping
		if s.When == fakes.WhenResult {
			m.must("when", mapping{{string(s.When), resultYAML(&s.Result)}})
		} else {
			m.put("when", string(s.When))
		}
		m.put("state", s.State)
		m.put("optional", s.Optional)
		if s.Text != "" || len(s.Calls) == 0 {
			m.must("text", s.Text)
		}
		m.put("calls", callsYAML(s.Calls))
		m.put("finish", s.Finish)
		if s.Repeat == fakes.Forever {
			m.must("repeat", word("forever"))
		} else if s.Repeat > 1 {
			m.must("repeat", int64(s.Repeat))
		}
		m.put("tokens_in", s.TokensIn)
		m.put("tokens_out", s.TokensOut)
		m.put("cost_usd", dollarsYAML(s.Cost))
		m.put("latency", latencyYAML(s.Latency))
		m.put("chunks", s.Chunks)
		m.put("first_token", duration(s.FirstToken))
		m.put("failures", modelFailuresYAML(s.Failures))
		m.put("fail_forever", s.FailForever)
		m.put("wire", string(s.Wire))
		m.put("next", nextYAML(s.Next))
		out = append(out, m)
	}
	return out
}

func faultsYAML(faults []fakes.Fault) (out list) {
	for _, f := range faults {
		out = append(out, f.String())
	}
	return out
}

// nextYAML writes states and their weights, which are counted in millionths.
func nextYAML(next []fakes.Transition) (m mapping) {
	for _, t := range next {
		m.must(t.State, word(strconv.FormatFloat(float64(t.Weight)/1e6, 'f', -1, 64)))
	}
	return m
}

func callsYAML(calls []fakes.StepCall) (out list) {
	for _, c := range calls {
		var m mapping
		m.must("name", c.Name)
		if c.ID != nil {
			m.must("id", *c.ID)
		}
		m.must("args", c.Args)
		if c.ID == nil && plainScalar.MatchString(c.Name) && c.Name != "name" {
			m = mapping{{c.Name, c.Args}}
		}
		out = append(out, m)
	}
	return out
}

func modelFailuresYAML(failures []fakes.ModelFailure) (out list) {
	for _, f := range failures {
		var m mapping
		m.put("status", f.Status)
		m.put("retry_after", duration(f.RetryAfter))
		m.put("wire", string(f.Wire))
		m.put("text", f.Text)
		m.put("hang", f.Hang)
		m.put("chunks", f.Chunks)
		m.put("latency", latencyYAML(f.Latency))
		out = append(out, m)
	}
	return out
}

func hooksYAML(h *fakes.Hooks) (m mapping) {
	var before, after list
	for _, b := range h.BeforeCall {
		var e mapping
		e.put("tool", b.Tool)
		e.put("when", whenYAML(b.When))
		e.put("times", b.Times)
		e.put("veto", b.Veto)
		e.put("args", word(b.Args))
		e.put("end", b.End)
		before = append(before, e)
	}
	for _, a := range h.AfterCall {
		var e mapping
		e.put("tool", a.Tool)
		e.put("times", a.Times)
		e.must("result", a.Result)
		after = append(after, e)
	}
	m.put("before_call", before)
	m.put("after_call", after)
	return m
}

func userYAML(u *fakes.User) (m mapping) {
	var permissions, replies, messages list
	for _, p := range u.Permissions {
		var e mapping
		e.put("tool", p.Tool)
		e.put("when", whenYAML(p.When))
		e.put("times", p.Times)
		if p.Hang {
			e.must("hang", true)
		} else {
			e.must("answer", word(map[bool]string{true: "deny", false: "allow"}[p.Deny]))
			e.put("text", p.Text)
			e.put("after", latencyYAML(p.After))
		}
		permissions = append(permissions, e)
	}
	for _, r := range u.Replies {
		var e mapping
		e.put("times", r.Times)
		e.put("hang", r.Hang)
		e.put("text", r.Text)
		if r.Deny {
			e.must("answer", word("deny"))
		} else if !r.Hang {
			e.must("answer", word("allow"))
		}
		e.put("after", latencyYAML(r.After))
		replies = append(replies, e)
	}
	for _, msg := range u.Messages {
		e := mapping{{"text", msg.Text}}
		if msg.AfterAny {
			e.must("after", string(afterAny))
		}
		e.put("wait", duration(msg.Wait))
		e.put("at", duration(msg.At))
		messages = append(messages, e)
	}
	m.put("permissions", permissions)
	m.put("replies", replies)
	m.put("messages", messages)
	switch c := u.Cancel; {
	case c == nil:
	case c.Call > 0:
		m.must("cancel", mapping{{"call", int64(c.Call)}})
	default:
		m.must("cancel", mapping{{"at", word(c.At.String())}})
	}
	return m
}

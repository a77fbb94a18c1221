package fuzz

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Scenario gives a case as a scenario, as [Case.YAML] writes it: meant for the
// preset none, with the config's settings as changes to it.
func (c *Case) Scenario(name string) *scenarios.Scenario {
	s := &scenarios.Scenario{Suite: "fuzz", Name: name, Label: scenarios.Runaway, Variant: scenarios.Variant{Name: "none", Config: loop.Off()},
		Config: c.Config, Script: *c.Script}
	p := safely(c)
	if p == nil || len(p.outcomes) == 0 {
		return s
	}
	end := p.outcomes[len(p.outcomes)-1].End
	if end == loop.Done || end == loop.ClarifyNeeded {
		s.Label = scenarios.Healthy
	}
	s.Expect.EndState = end
	return s
}

// Trace plays a case and gives the trace; nil if that panics.
func (c *Case) Trace() loop.Trace {
	if p := safely(c); p != nil {
		return p.trace
	}
	return nil
}

// safely plays a case; nil if that panics.
func safely(c *Case) (p *play) {
	defer func() {
		if recover() != nil {
			p = nil
		}
	}()
	return played(c)
}

// Unsaid lists what of a case the scenario language has no words for: a scenario
// of it may go otherwise.
func (c *Case) Unsaid() []string {
	var out []string
	say := func(is bool, what string) {
		if is {
			out = append(out, what)
		}
	}
	t := &c.Task
	say(t.Hooks != (loop.Hooks{}), "hooks")
	say(t.Planner != loop.PlannerNative, "a planner")
	say(t.Critic != nil, "a critic")
	say(t.SafetyPrompt, "the safety prompt")
	say(t.Depth > 0, "the depth of a sub-run")
	say(len(c.Strays) > 0, "answers that nobody asked for")
	say(c.Seed != 1 && c.random(), fmt.Sprintf("the seed (run it with --seed %d)", c.Seed))
	return out
}

// random reports whether another seed may give another trace.
func (c *Case) random() bool {
	jitters := func(b loop.Backoff) bool { return b == loop.FullJitter || b == loop.DecorrelatedJitter }
	return c.Script.Random() || jitters(c.Config.Retry.Backoff) || jitters(c.Config.ModelRetry.Backoff)
}

// YAML writes a scenario of a case, for a file that `agentbench run` takes as it
// is. Its expectation is what came of the case: that is no more than what
// happened. comment stands at its head.
func (c *Case) YAML(name, description, comment string) []byte {
	s := c.Scenario(name)
	var m mapping
	m.must("name", word(name))
	m.must("description", description)
	m.must("label", word(s.Label))
	m.must("variant", word("none"))
	m.put("config", configYAML(c.Config))
	m.must("task", c.Script.Task)
	m.put("tools", toolsYAML(c.Script.Tools))
	m.must("model", modelYAML(c.Script.Model))
	m.put("user", userYAML(&c.Script.User))
	if s.Expect.EndState != "" {
		m.must("expect", mapping{{"end_state", word(s.Expect.EndState)}})
	}
	var b []byte
	for line := range strings.SplitSeq(strings.TrimSpace(comment), "\n") {
		b = append(b, "# "...)
		for _, r := range line {
			if unicode.IsGraphic(r) {
				b = utf8.AppendRune(b, r)
			}
		}
		b = append(b, '\n')
	}
	return appendBlock(b, m, "")
}

// configYAML gives the settings that differ from those of the preset none.
func configYAML(cfg loop.Config) mapping {
	off, on := scenarios.Variant{Config: loop.Off()}, scenarios.Variant{Config: cfg}
	return changed(off.JSON(), on.JSON())
}

// changed gives the members of an object that differ from those of another.
func changed(from, to json.RawMessage) mapping {
	var m mapping
	before := members(from)
	for _, e := range membersInOrder(to) {
		old, new := before[e.key], e.value.(json.RawMessage)
		switch {
		case bytes.Equal(old, new):
		case new[0] == '{' && len(old) > 0 && old[0] == '{':
			m.put(e.key, changed(old, new))
		default:
			m.must(e.key, treeOf(new))
		}
	}
	return m
}

func members(object json.RawMessage) map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, e := range membersInOrder(object) {
		all[e.key] = e.value.(json.RawMessage)
	}
	return all
}

// membersInOrder reads an object that this program has written.
func membersInOrder(object json.RawMessage) (m mapping) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.Token()
	for d.More() {
		key, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return m
		}
		m = append(m, entry{fmt.Sprint(key), value})
	}
	return m
}

// treeOf makes YAML of JSON. Of a detector what is not said is left out.
func treeOf(text json.RawMessage) any {
	switch text[0] {
	case '{':
		var m mapping
		for _, e := range membersInOrder(text) {
			if value := string(e.value.(json.RawMessage)); value != `""` && value != "0" && value != "[]" && value != "false" && value != `"0..0"` {
				m.put(e.key, treeOf(json.RawMessage(value)))
			}
		}
		return m
	case '[':
		var items []json.RawMessage
		json.Unmarshal(text, &items)
		out := list{}
		for _, item := range items {
			out = append(out, treeOf(item))
		}
		return out
	case '"':
		var s string
		json.Unmarshal(text, &s)
		if _, err := time.ParseDuration(s); err == nil {
			return word(s)
		}
		return s
	}
	return word(text)
}

func duration(d time.Duration) word {
	if d == 0 {
		return ""
	}
	return word(d.String())
}

// latency writes a span: 1s, 1s..2s, or 0s for no time at all.
func latency(s fakes.Span) word {
	switch {
	case s == fakes.Span{}:
		return ""
	case s.Max > s.Min:
		return word(s.Min.String() + ".." + s.Max.String())
	}
	return word(s.Min.String())
}

func dollars(nano int64) word {
	if nano == 0 {
		return ""
	}
	return word(fmt.Sprintf("%d.%09d", nano/1e9, nano%1e9))
}

func toolsYAML(tools []fakes.Tool) (out list) {
	for i := range tools {
		t := &tools[i]
		var m mapping
		m.must("name", t.Name)
		m.put("description", t.Description)
		m.put("version", t.Version)
		m.put("permission", string(t.Permission))
		m.put("idempotent", t.Idempotent)
		m.put("timeout", duration(t.Timeout))
		if t.Retries != 0 {
			m.must("retries", int64(max(0, t.Retries)))
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
		m.put("latency", latency(t.Latency))
		m.put("input", word(t.Input))
		m.put("output", word(t.Output))
		m.must("answers", answersYAML(t.Answers))
		out = append(out, m)
	}
	return out
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
		m.put("latency", latency(a.Latency))
		m.put("tokens_in", a.TokensIn)
		m.put("tokens_out", a.TokensOut)
		m.put("cost_usd", dollars(a.Cost))
		m.put("used", a.Used)
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
		m.put("latency", latency(f.Latency))
		out = append(out, m)
	}
	return out
}

// whenYAML writes the arguments that something is for.
func whenYAML(when map[string]any) (m mapping) {
	for _, key := range slices.Sorted(maps.Keys(when)) {
		text, err := json.Marshal(when[key])
		if err == nil {
			m.must(key, treeOf(text))
		}
	}
	return m
}

func modelYAML(steps []fakes.Step) (out list) {
	for i := range steps {
		s := &steps[i]
		var m mapping
		m.put("when", string(s.When))
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
		m.put("cost_usd", dollars(s.Cost))
		m.put("latency", latency(s.Latency))
		m.put("chunks", s.Chunks)
		m.put("first_token", duration(s.FirstToken))
		m.put("failures", modelFailuresYAML(s.Failures))
		m.put("fail_forever", s.FailForever)
		out = append(out, m)
	}
	return out
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
		m.put("text", f.Text)
		m.put("hang", f.Hang)
		m.put("chunks", f.Chunks)
		m.put("latency", latency(f.Latency))
		out = append(out, m)
	}
	return out
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
			e.put("after", latency(p.After))
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
		e.put("after", latency(r.After))
		replies = append(replies, e)
	}
	for _, msg := range u.Messages {
		e := mapping{{"text", msg.Text}}
		e.put("after", duration(msg.After))
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

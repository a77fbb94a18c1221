package fuzz

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// ending gives how the last run of a case ends, "" where it does not, and the
// label that goes with it.
func (c *Case) ending() (loop.EndState, scenarios.Label) {
	p := safely(c)
	if p == nil || len(p.outcomes) == 0 {
		return "", scenarios.Runaway
	}
	end := p.outcomes[len(p.outcomes)-1].End
	if end == loop.Done || end == loop.ClarifyNeeded {
		return end, scenarios.Healthy
	}
	return end, scenarios.Runaway
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
	say(c.Hooks != (loop.Hooks{}), "hooks")
	say(c.Depth > 0, "the depth of a sub-run")
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
// is: meant for the preset none, with the config's settings as changes to it. Its
// expectation is what came of the case: that is no more than what
// happened. comment stands at its head.
func (c *Case) YAML(name, description, comment string) []byte {
	end, label := c.ending()
	var m mapping
	m.must("name", word(name))
	m.must("description", description)
	m.must("label", word(label))
	m.must("variant", word("none"))
	m.put("config", configYAML(c.Config))
	m.must("task", c.Script.Task)
	m.put("system", c.Script.System)
	m.put("safety_prompt", c.Script.SafetyPrompt)
	m.put("planner", string(c.Script.Planner))
	if c.Script.Critic != nil {
		m.must("critic", word("rules"))
	}
	m.put("tools", toolsYAML(c.Script.Tools))
	m.must("model", modelYAML(c.Script.Model))
	m.put("user", userYAML(&c.Script.User))
	if end != "" {
		m.must("expect", mapping{{"end_state", word(end)}})
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

// Settings lists the settings of the config that differ from those of the preset
// none, as a variant's file says them: limits.turns: 5.
func (c *Case) Settings() []string {
	var lines []string
	var list func(prefix string, m mapping)
	list = func(prefix string, m mapping) {
		for _, e := range m {
			if group, ok := e.value.(mapping); ok {
				list(prefix+e.key+".", group)
			} else {
				lines = append(lines, string(appendFlow([]byte(prefix+e.key+": "), e.value)))
			}
		}
	}
	list("", configYAML(c.Config))
	return lines
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

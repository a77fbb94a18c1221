package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// YAML returns the scenario as the text of a file that [Load] reads. The scenario is
// meant for the preset none, and lists the settings of its config as changes to it. Of
// the expectations YAML writes only the end states. The file begins with comment, which
// may have several lines.
//
// The language cannot express a critic of your own: YAML writes critic: rules for it.
func (s *Scenario) YAML(comment string) []byte {
	var m mapping
	m.must("name", s.Name)
	m.must("description", s.Description)
	m.must("label", word(s.Label))
	m.put("source", s.Source)
	m.put("held_back", s.HeldBack)
	m.must("variant", word("none"))
	cfg := configYAML(s.Config)
	if s.Config.NeverActs() == nil && s.Config.Limits.Depth > depthOf(s.Script.Tools) {
		cfg = append(mapping{{"faithful", true}}, cfg...)
	}
	m.put("config", cfg)
	m.must("task", s.Script.Task)
	m.put("system", s.Script.System)
	m.put("safety_prompt", s.Script.SafetyPrompt)
	m.put("window", s.Script.Window)
	if c := s.Script.ToolChoice; c.Use != "" {
		m.must("tool_choice", mapping{{"use", c.Use}, {"hold", c.Hold}})
	}
	m.put("planner", string(s.Script.Planner))
	if s.Script.Critic != nil {
		m.must("critic", word("rules"))
	}
	var constraints list
	for _, c := range s.Script.Constraints {
		var x mapping
		x.must("text", c.Text)
		x.put("called", c.Called)
		x.put("with", c.With)
		x.put("after", c.After)
		x.put("says", c.Says)
		x.put("omits", c.Omits)
		constraints = append(constraints, x)
	}
	m.put("constraints", constraints)
	m.put("tools", toolsYAML(s.Script.Tools, s.Config))
	if s.Cassette == "" {
		m.must("model", modelYAML(s.Script.Model))
	} else {
		m.must("cassette", s.Cassette)
	}
	m.put("user", userYAML(&s.Script.User))
	m.put("hooks", hooksYAML(&s.Script.Hooks))
	m.put("faults", faultsYAML(s.Script.Faults))
	m.put("expect", s.expectYAML())
	var b []byte
	for line := range strings.SplitSeq(strings.TrimSpace(comment), "\n") {
		b = append(b, "# "...)
		b = append(append(b, text.Escape(line)...), '\n')
	}
	return appendBlock(b, m, "")
}

// expectYAML returns the end state of the session, or of each run.
func (s *Scenario) expectYAML() any {
	end := func(e *Expect) (m mapping) {
		m.put("end_state", word(e.EndState))
		return m
	}
	if s.Runs == nil {
		return end(&s.Expect)
	}
	var runs list
	for i := range s.Runs {
		runs = append(runs, end(&s.Runs[i]))
	}
	return runs
}

// Settings returns the settings of a config that differ from those of the preset none,
// in the form limits.turns: 5.
func Settings(cfg loop.Config) []string {
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
	list("", configYAML(cfg))
	return lines
}

// configYAML returns the settings that differ from those of the preset none.
func configYAML(cfg loop.Config) mapping {
	off, on := Variant{Config: loop.Off()}, Variant{Config: cfg}
	return changed(off.JSON(), on.JSON())
}

// changed returns the members of the object to that differ from those of from.
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

// membersInOrder decodes an object that this program has written.
func membersInOrder(object json.RawMessage) (m mapping) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.Token()
	for d.More() {
		key, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return m
		}
		m = append(m, pair{fmt.Sprint(key), value})
	}
	return m
}

// treeOf turns JSON into YAML. It leaves out members with zero values, which only
// detectors have.
func treeOf(text json.RawMessage) any {
	switch text[0] {
	case '{':
		var m mapping
		for _, e := range membersInOrder(text) {
			if value := string(e.value.(json.RawMessage)); value != `""` && value != "0" && value != "[]" && value != "false" && value != `"0..0"` && value != `"0s"` && value != "{}" {
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

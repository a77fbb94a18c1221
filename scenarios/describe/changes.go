package describe

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Changes lists the settings of to that differ from those of from, with their
// new values: limits.turns=10. It describes all detectors of a list that differs,
// since a list replaces another whole.
func Changes(from, to loop.Config) []string {
	var list []string
	before, after := settings(from), settings(to)
	for _, key := range slices.Sorted(maps.Keys(after)) {
		switch {
		case bytes.Equal(before[key], after[key]), key == "faithful":
		case key == "detectors":
			list = append(list, detectors(to.Detectors)...)
		default:
			list = append(list, key+"="+string(after[key]))
		}
	}
	return list
}

// settings returns the values of a config by their keys, such as limits.turns.
func settings(cfg loop.Config) map[string]json.RawMessage {
	v := scenarios.Variant{Config: cfg}
	all := map[string]json.RawMessage{}
	var flatten func(prefix string, value json.RawMessage)
	flatten = func(prefix string, value json.RawMessage) {
		var group map[string]json.RawMessage
		if json.Unmarshal(value, &group) != nil {
			all[prefix] = value
			return
		}
		for key, inner := range group {
			if prefix != "" {
				key = prefix + "." + key
			}
			flatten(key, inner)
		}
	}
	flatten("", v.JSON())
	return all
}

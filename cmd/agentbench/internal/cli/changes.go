package cli

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// changes lists the settings of a config that differ from another's, with their
// new values: limits.turns=10. Detectors are said in words, all of them, since a
// list takes the place of the other.
func changes(from, to loop.Config) []string {
	var list []string
	before, after := settings(from), settings(to)
	for _, key := range slices.Sorted(maps.Keys(after)) {
		switch {
		case bytes.Equal(before[key], after[key]):
		case key == "detectors":
			list = append(list, describeDetectors(to.Detectors)...)
		default:
			list = append(list, key+"="+string(after[key]))
		}
	}
	return list
}

// settings gives the values of a config by their keys, limits.turns.
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

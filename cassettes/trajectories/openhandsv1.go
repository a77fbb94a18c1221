package trajectories

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// openHandsV1 is the events of a conversation of OpenHands' SDK: an array, one a line,
// or a file each (event-00000-….json), which are read with the first one. Actions with
// one llm_response_id are one turn. It has no label.
var openHandsV1 = format{
	name:  "openhands-v1",
	looks: `{"kind": "ActionEvent", "tool_name": …, "tool_call": {…}} a line, in an array, or in a file each`,
	fits: func(keys map[string]json.RawMessage) bool {
		kind := field(keys, "kind")
		return keys["source"] != nil && (strings.HasSuffix(kind, "Event") || kind == "UserRejectObservation")
	},
	readAt: readOpenHandsV1,
	joined: true,
}

var eventFile = regexp.MustCompile(`^event-[0-9]+-.*\.json$`)

func readOpenHandsV1(path string, raw json.RawMessage) ([]*Trajectory, error) {
	items, err := readArray("events", raw)
	if err != nil {
		return nil, err
	}
	if len(items) == 1 && eventFile.MatchString(filepath.Base(path)) {
		first, all, err := eventsBeside(path)
		switch {
		case err != nil:
			return nil, err
		case first != filepath.Base(path):
			return nil, elsewhere{fmt.Errorf("an event, which is read with %s", first)}
		}
		items = all
	}
	var log lineLog
	run := log.run("")
	turn := ""
	list, _ := json.Marshal(items)
	err = eachLine(list, func(e map[string]json.RawMessage) error {
		id := field(e, "tool_call_id")
		switch field(e, "kind") {
		case "SystemPromptEvent":
			run.say(wire.Message{Role: wire.System, Text: wire.Text(wrapped(e["system_prompt"]))})
		case "MessageEvent":
			return run.add(e["llm_message"])
		case "ActionEvent":
			call := objectOf(e["tool_call"])
			args := wire.String(call["arguments"])
			m := wire.Message{Role: wire.Assistant, Calls: []wire.Call{{ID: id, Name: cmp.Or(field(e, "tool_name"), field(call, "name")), Args: cmp.Or(args, wire.String(e["action"]))}}}
			m.Reply = turn != field(e, "llm_response_id")
			turn = field(e, "llm_response_id")
			if m.Reply {
				m.Text = wire.Text(e["thought"])
			}
			run.say(m)
		case "ObservationEvent":
			o := objectOf(e["observation"])
			m := wire.Message{Role: wire.Tool, ID: id, Text: cmp.Or(wire.Text(wrapped(o["content"])), wire.String(e["observation"]))}
			if string(o["is_error"]) == "true" || field(o, "exit_code") != "" && field(o, "exit_code") != "0" && field(o, "exit_code") != "-1" {
				m.Code = loop.ToolBug
			}
			run.say(m)
		case "AgentErrorEvent":
			run.say(wire.Message{Role: wire.Tool, ID: id, Text: field(e, "error"), Code: loop.ToolBug})
		case "UserRejectObservation":
			run.say(wire.Message{Role: wire.Tool, ID: id, Text: field(e, "rejection_reason"), Code: loop.Forbidden})
		}
		return nil
	})
	return log.end(), err
}

// wrapped returns a list of blocks, of one where it is a block alone.
func wrapped(raw json.RawMessage) json.RawMessage {
	if wire.IsObject(raw) {
		return slices.Concat(json.RawMessage("["), raw, json.RawMessage("]"))
	}
	return raw
}

// eventsBeside returns the name of the first event in the folder of a file, and all
// events there in order.
func eventsBeside(path string) (first string, all []json.RawMessage, err error) {
	folder := filepath.Dir(filepath.FromSlash(path))
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", nil, err
	}
	var names []string // sorted
	for _, e := range entries {
		if eventFile.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	if len(names) == 0 || names[0] != filepath.Base(path) {
		return names[0], nil, nil
	}
	if err := tooMany("events", len(names)); err != nil {
		return "", nil, err
	}
	for _, name := range names {
		data, err := readFile(filepath.Join(folder, name))
		if err == nil && !json.Valid(data) {
			err = errors.New("invalid JSON")
		}
		if err != nil {
			return "", nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, data)
	}
	return names[0], all, nil
}

// elsewhere says with which file a record is read, which is not an error.
type elsewhere struct{ error }

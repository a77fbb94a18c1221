package trajectories

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// openHands is the output of OpenHands' resolver and evaluations: JSON Lines with a
// run a line, its events in history and whether it was a success.
var openHands = format{
	name:  "openhands",
	looks: `{"history": [events], "success": true} a line`,
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["history"]) && (firstHas(keys["history"], "action") || firstHas(keys["history"], "observation"))
	},
	read: single(readOpenHands),
}

// openHandsEvents is an event stream of OpenHands: an array of events, one run a
// file. It has no label.
var openHandsEvents = format{
	name:  "openhands-events",
	looks: `[{"source": "agent", "action": …, "args": …}, …], one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		return keys["source"] != nil && keys["timestamp"] != nil && (keys["action"] != nil || keys["observation"] != nil)
	},
	read:   single(readOpenHandsEvents),
	joined: true,
}

func readOpenHands(raw json.RawMessage) (*Trajectory, error) {
	var run struct {
		InstanceID json.RawMessage `json:"instance_id"`
		History    json.RawMessage `json:"history"`
		Success    json.RawMessage `json:"success"`
	}
	if err := rawjson.Unmarshal(raw, &run); err != nil {
		return nil, wrongType(err)
	}
	r, err := readOHEvents("history", run.History)
	if err != nil {
		return nil, err
	}
	r.Name = wire.String(run.InstanceID)
	return r, r.said("success", run.Success)
}

// An ohEvent is an event of the older or the newer kind. The arguments of an action
// and the exit code of an observation are in the event itself or in args and
// extras.
type ohEvent struct {
	Source      string `json:"source"`
	Action      string `json:"action"`
	Observation string `json:"observation"`
	Message     string `json:"message"`
	Content     string `json:"content"`
	ExitCode    *int   `json:"exit_code"`
	Extras      struct {
		ExitCode *int `json:"exit_code"`
		Metadata struct {
			ExitCode *int `json:"exit_code"`
		} `json:"metadata"`
	} `json:"extras"`
	Args json.RawMessage `json:"args"`
	Call *ohCall         `json:"tool_call_metadata"`
}

// An ohCall is the model's call that an action or an observation belongs to.
type ohCall struct {
	Name     string          `json:"function_name"`
	ID       json.RawMessage `json:"tool_call_id"`
	Response json.RawMessage `json:"model_response"` // a chat completion
}

func readOpenHandsEvents(raw json.RawMessage) (*Trajectory, error) {
	return readOHEvents("events", raw)
}

func readOHEvents(field string, raw json.RawMessage) (*Trajectory, error) {
	items, err := readArray(field, raw)
	if err != nil {
		return nil, err
	}
	r := &Trajectory{}
	var messages []wire.Message
	for i, item := range items {
		var e ohEvent
		if err := rawjson.Unmarshal(item, &e); err != nil {
			return nil, fmt.Errorf("event %d of %d: %w", i+1, len(items), wrongType(err))
		}
		if e.Call != nil && r.Model == "" {
			_, r.Model, _ = wire.ChatCompletion(e.Call.Response)
		}
		if m, ok := e.message(item, len(messages) == 0); ok {
			messages = append(messages, m)
		}
	}
	r.assemble(messages)
	return r, nil
}

// message returns the message of an event, if it has one. first says that
// there was none before: older events do not name the speaker, and the user
// begins.
func (e *ohEvent) message(raw json.RawMessage, first bool) (wire.Message, bool) {
	args := ohArgs(raw, e.Args)
	switch e.Action {
	case "message":
		m := wire.Message{Role: wire.Assistant, Text: cmp.Or(args.Content, e.Content, e.Message)}
		if e.Source == "user" || e.Source == "" && first {
			m.Role = wire.User
		}
		return m, true
	case "finish", "reject":
		return wire.Message{Role: wire.Assistant, Text: cmp.Or(e.Message, args.Thought)}, true
	case "system", "change_agent_state", "recall", "null":
		return wire.Message{}, false
	case "":
		return e.result()
	}
	if e.Source == "user" || e.Source == "environment" {
		return wire.Message{}, false
	}
	return wire.Message{Role: wire.Assistant, Text: args.Thought, Calls: []wire.Call{e.call(args.rest)}}, true
}

// result returns the result in an observation, if it has one.
func (e *ohEvent) result() (wire.Message, bool) {
	switch e.Observation {
	case "", "null", "agent_state_changed", "recall":
		return wire.Message{}, false
	}
	m := wire.Message{Role: wire.Tool, Text: e.Content}
	if e.Call != nil {
		m.ID = wire.String(e.Call.ID)
	}
	failed := e.Observation == "error"
	for _, code := range []*int{e.ExitCode, e.Extras.ExitCode, e.Extras.Metadata.ExitCode} {
		failed = failed || code != nil && *code != 0
	}
	if failed {
		m.Code = loop.ToolBug
	}
	return m, true
}

// call returns the model's call where the event has it, else the action with
// these arguments.
func (e *ohEvent) call(args string) wire.Call {
	if e.Call == nil {
		return wire.Call{Name: e.Action, Args: args}
	}
	id := wire.String(e.Call.ID)
	reply, _, _ := wire.ChatCompletion(e.Call.Response)
	for _, c := range reply.Calls {
		if c.ID == id {
			return c
		}
	}
	return wire.Call{ID: id, Name: cmp.Or(e.Call.Name, e.Action), Args: args}
}

// ohArguments are the arguments of an action.
type ohArguments struct {
	Thought, Content string
	rest             string // the others, as JSON
}

// ohArgs decodes the arguments of an action: args or, without those, the event
// itself.
func ohArgs(event, args json.RawMessage) (a ohArguments) {
	var keys map[string]json.RawMessage
	if !wire.IsObject(args) {
		args = event
	}
	if json.Unmarshal(args, &keys) != nil {
		return a
	}
	a.Thought, a.Content = wire.String(keys["thought"]), wire.String(keys["content"])
	for _, key := range []string{"action", "thought", "keep_prompt", "is_confirmed", "confirmation_state", "action_risk", "blocking", "hidden"} {
		delete(keys, key)
	}
	rest, _ := json.Marshal(keys)
	a.rest = string(rest)
	return a
}

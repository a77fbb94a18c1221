package trajectories

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// sentinel is the log of AgentTrajectorySentinel: JSON Lines, a run a file and a
// step a line, with the calls and results of a step in tool_events. Older files
// have them in the text instead, as [name({…}) -> result]. Errors are marked;
// labels come from a file of labels. An injected fault is not a label.
var sentinel = format{
	name:  "sentinel",
	looks: `{"text": …, "action": "tool_call", "tool_events": […]} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		return keys["text"] != nil && keys["action"] != nil && (keys["tool_events"] != nil || keys["token_logprobs"] != nil)
	},
	read:   single(readSentinel),
	joined: true,
}

type sentinelStep struct {
	Text   string          `json:"text"`
	Action string          `json:"action"`
	Task   string          `json:"task"`
	Error  bool            `json:"error"`
	Events []sentinelEvent `json:"tool_events"`
}

type sentinelEvent struct {
	ID      json.RawMessage `json:"id"`
	Name    string          `json:"name"`
	Args    json.RawMessage `json:"args"`
	Result  json.RawMessage `json:"result"`
	IsError bool            `json:"is_error"`
}

func readSentinel(raw json.RawMessage) (*Trajectory, error) {
	var steps []sentinelStep
	if err := rawjson.Unmarshal(raw, &steps); err != nil {
		return nil, wrongType(err)
	}
	var messages []wire.Message
	for i := range steps {
		if i == 0 {
			messages = append(messages, wire.Message{Role: wire.User, Text: steps[0].Task})
		}
		messages = append(messages, steps[i].messages()...)
	}
	r := &Trajectory{}
	r.assemble(messages)
	r.Messages = len(steps)
	return r, nil
}

// messages returns the reply of a step and the results of its calls. The text of a
// step with calls is left out, since it only repeats them.
func (s *sentinelStep) messages() []wire.Message {
	events := s.Events
	if len(events) == 0 && s.Action == "tool_call" {
		events = eventsIn(s.Text, s.Error)
	}
	if len(events) == 0 {
		return []wire.Message{{Role: wire.Assistant, Text: s.Text}}
	}
	messages := []wire.Message{{Role: wire.Assistant}}
	for _, e := range events {
		id := wire.String(e.ID)
		messages[0].Calls = append(messages[0].Calls, wire.Call{ID: id, Name: e.Name, Args: wire.String(e.Args)})
		if e.Result == nil {
			continue
		}
		m := wire.Message{Role: wire.Tool, ID: id, Text: wire.Text(e.Result)}
		if e.IsError {
			m.Code = loop.ToolBug
		}
		messages = append(messages, m)
	}
	return messages
}

// writtenCall matches where a call begins in the text of a step.
var writtenCall = regexp.MustCompile(`\[([\w.-]+)\(\{`)

// eventsIn reads the calls in the text of a step: [name({…}) -> result], one after
// another.
func eventsIn(text string, failed bool) (events []sentinelEvent) {
	const arrow = ") -> "
	end := func(result string) {
		if n := len(events); n > 0 {
			result = strings.TrimSuffix(strings.TrimSpace(result), "]")
			events[n-1].Result, _ = json.Marshal(result)
		}
	}
	from := 0 // where the result of the last call begins
	for _, at := range writtenCall.FindAllStringSubmatchIndex(text, -1) {
		if at[0] < from {
			continue // within the arguments of the last call
		}
		rest := text[at[3]+1:] // behind the first bracket
		d := json.NewDecoder(bytes.NewReader([]byte(rest)))
		var args json.RawMessage
		if d.Decode(&args) != nil || !strings.HasPrefix(rest[d.InputOffset():], arrow) {
			continue
		}
		end(text[from:at[0]])
		from = at[3] + 1 + int(d.InputOffset()) + len(arrow)
		events = append(events, sentinelEvent{Name: text[at[2]:at[3]], Args: args, IsError: failed})
	}
	end(text[from:])
	return events
}

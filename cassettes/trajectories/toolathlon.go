package trajectories

import (
	"encoding/json"
	"errors"
	"regexp"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// toolathlon is what the benchmark Toolathlon publishes: a JSON object a run,
// with OpenAI chat messages and whether it passed. Results are parts of text
// written as JSON. Nothing marks an error, so that it is guessed from how a
// text begins, or from a return code or a status in it.
var toolathlon = format{
	name:  "toolathlon",
	looks: `{"pass": true, "messages": [messages]}`,
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["messages"]) && keys["pass"] != nil
	},
	read: single(readToolathlon),
}

func readToolathlon(raw json.RawMessage) (*Trajectory, error) {
	var run struct {
		Pass     *bool           `json:"pass"`
		Messages json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(raw, &run); err != nil {
		return nil, wrongType(err)
	}
	if !wire.IsArray(run.Messages) {
		return nil, errors.New("it has no array messages")
	}
	messages, err := readMessages(run.Messages)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		if m := &messages[i]; m.Role == wire.Tool {
			m.Text = unwrapped(m.Text)
			if toolathlonError.MatchString(m.Text) {
				m.Code = loop.ToolBug
			}
		}
	}
	r := &Trajectory{}
	if run.Pass != nil {
		r.Label = labelOf(*run.Pass)
	}
	r.assemble(messages)
	return r, nil
}

// unwrapped gives the text of parts that a result holds as JSON. Any other
// text stays.
func unwrapped(text string) string {
	raw := json.RawMessage(text)
	var parts []struct{ Type, Text *string }
	if wire.IsObject(raw) {
		raw = json.RawMessage("[" + text + "]")
	}
	if !wire.IsArray(raw) || json.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return text
	}
	for _, p := range parts {
		if p.Type == nil || p.Text == nil {
			return text
		}
	}
	return wire.Text(raw)
}

// toolathlonError is how results of failed calls begin. Words of errors further
// on do not count: a page, a log or a source file may hold them.
var toolathlonError = regexp.MustCompile(`^\s*(?:(?i:error\b|failed to |access denied|security violation|traceback \(most recent)|` +
	`Tool \S+ not found in agent|\{"(?:object":"error"|status":(?:[45]\d\d,"object":"error"|"error")))|(?i:\breturn Code: -?[1-9])`)

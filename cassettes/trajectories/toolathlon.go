package trajectories

import (
	"encoding/json"
	"regexp"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// toolathlon is the published log of the benchmark Toolathlon: a JSON object a run,
// with OpenAI chat messages and whether it passed. Results are text parts written
// as JSON. Errors are not marked: they are guessed from how a text begins, or from
// a return code or a status in it.
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
		Pass     json.RawMessage `json:"pass"`
		Messages json.RawMessage `json:"messages"`
	}
	if err := rawjson.Unmarshal(raw, &run); err != nil {
		return nil, wrongType(err)
	}
	messages, err := readMessages("messages", run.Messages)
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
	r.assemble(messages)
	return r, r.said("pass", run.Pass)
}

// unwrapped returns the text of a result whose text is JSON of parts, and any other
// text unchanged.
func unwrapped(text string) string {
	raw := json.RawMessage(text)
	var parts []struct{ Type, Text *string }
	if wire.IsObject(raw) {
		raw = json.RawMessage("[" + text + "]")
	}
	if !wire.IsArray(raw) || rawjson.Unmarshal(raw, &parts) != nil || len(parts) == 0 {
		return text
	}
	for _, p := range parts {
		if p.Type == nil || p.Text == nil {
			return text
		}
	}
	return wire.Text(raw)
}

// toolathlonError matches how results of failed calls begin. Error words further on
// do not count: a page, a log or a source file may contain them.
var toolathlonError = regexp.MustCompile(`^\s*(?:(?i:error\b|failed to |access denied|security violation|traceback \(most recent)|` +
	`Tool \S+ not found in agent|\{"(?:object":"error"|status":(?:[45]\d\d,"object":"error"|"error")))|(?i:\breturn Code: -?[1-9])`)

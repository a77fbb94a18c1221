package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// ollama is Ollama's own chat API. Its messages are those of [chat], with arguments as
// objects; a stream is a JSON object a line.
var ollama = api{history: "messages", request: chatRequest, said: chatSaid, reply: ollamaReply}

func ollamaReply(payloads []json.RawMessage) (*reply, Reason) {
	r := &reply{}
	var said strings.Builder
	for _, raw := range payloads {
		var p struct {
			Model   string          `json:"model"`
			Message *chatMessage    `json:"message"`
			Done    bool            `json:"done"`
			Why     string          `json:"done_reason"`
			In      int64           `json:"prompt_eval_count"`
			Out     int64           `json:"eval_count"`
			Error   json.RawMessage `json:"error"`
		}
		if rawjson.Unmarshal(raw, &p) != nil {
			return nil, Unreadable
		}
		if Given(p.Error) {
			return nil, ErrorAnswer
		}
		r.model = cmp.Or(r.model, p.Model)
		if p.Message != nil {
			said.WriteString(p.Message.text())
			r.calls = append(r.calls, p.Message.calls()...)
		}
		if p.Done {
			r.finish = cmp.Or(p.Why, "stop")
		}
		r.in, r.out = max(r.in, tokens(p.In)), max(r.out, tokens(p.Out))
	}
	r.text = said.String()
	return r, None
}

package trajectories

import (
	"bytes"
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// llmResponse is an answer of an LLM API without its request: the body, the
// server-sent events of a stream, or their data alone, one a line. The user's
// messages are unknown.
var llmResponse = format{
	name:    "llm-response",
	looks:   `a response body of an LLM API, or its streamed events`,
	ends:    []string{".sse", ".chunks.txt"},
	fits:    isLLMResponse,
	text:    isEventStream,
	traffic: readLLMResponse,
	joined:  true,
}

func isLLMResponse(keys map[string]json.RawMessage) bool {
	kind := wire.String(keys["type"])
	switch {
	case wire.IsArray(keys["choices"]), wire.IsArray(keys["candidates"]):
		return true
	case kind == "message_start", kind == "response.created":
		return true
	case wire.String(keys["object"]) == "response" && wire.IsArray(keys["output"]):
		return true
	case kind == "message" && wire.String(keys["role"]) == "assistant" && keys["stop_reason"] != nil:
		return true
	}
	return wire.IsObject(keys["error"]) && len(keys) <= 2
}

// isEventStream reports whether the first line that is not blank is an event's.
func isEventStream(data []byte) bool {
	data = bytes.TrimLeft(data, "\r\n")
	for _, field := range []string{"data: {", "data:{", "event: ", "event:message_start", "event:response."} {
		if bytes.HasPrefix(data, []byte(field)) {
			return true
		}
	}
	return false
}

func readLLMResponse(raw json.RawMessage) ([]wire.Exchange, error) {
	var exchanges []wire.Exchange
	for _, body := range wire.Answers(raw) {
		exchanges = append(exchanges, wire.Exchange{Response: body})
	}
	return exchanges, nil
}

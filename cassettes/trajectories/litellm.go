package trajectories

import (
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// liteLLM is what LiteLLM and OpenHands log of each request: the messages and the
// response, which together are an exchange. Requests in one file are chained as those of
// HTTP traffic are. Where the model has no native calls, raw_messages are what was sent.
var liteLLM = format{
	name:  "litellm",
	looks: `{"messages": [messages], "response": {"choices": […]}} a file or a line`,
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["messages"]) && wire.IsArray(objectOf(keys["response"])["choices"])
	},
	traffic: readLiteLLM,
	joined:  true,
}

func readLiteLLM(raw json.RawMessage) (exchanges []wire.Exchange, _ error) {
	err := eachLine(raw, func(keys map[string]json.RawMessage) error {
		request := map[string]json.RawMessage{"messages": keys["messages"]}
		if wire.IsArray(keys["raw_messages"]) {
			request["messages"] = keys["raw_messages"]
		}
		if keys["model"] != nil {
			request["model"] = keys["model"]
		}
		asked, _ := json.Marshal(request)
		exchanges = append(exchanges, wire.Exchange{Method: "POST", URL: "/chat/completions", Status: 200, Request: asked, Response: keys["response"]})
		return nil
	})
	return exchanges, err
}

// geminiRecorded is answers that Gemini CLI recorded for its tests, one a line: the
// requests are not there, so each is a run of its own.
var geminiRecorded = format{
	name:  "gemini-recorded",
	looks: `{"method": "generateContentStream", "response": [{"candidates": […]}, …]} a line`,
	fits: func(keys map[string]json.RawMessage) bool {
		answers := keys["response"]
		if list := listOf(answers); len(list) > 0 {
			answers = list[0]
		}
		return keys["method"] != nil && objectOf(answers)["candidates"] != nil
	},
	traffic: func(raw json.RawMessage) (exchanges []wire.Exchange, _ error) {
		err := eachLine(raw, func(keys map[string]json.RawMessage) error {
			exchanges = append(exchanges, wire.Exchange{Response: keys["response"]})
			return nil
		})
		return exchanges, err
	},
	joined: true,
}

package wire

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// A route is the API that a request goes to, or the reason why it is not decoded.
// Without either, the path does not say.
type route struct {
	api    *api
	reason Reason
	fetch  bool // of an answer that was asked for before
	model  string
}

// routeOf returns the route of a method and path.
func routeOf(method, rawURL string) route {
	path := rawURL
	if u, err := url.Parse(rawURL); err == nil {
		path = u.Path
	}
	path = strings.TrimRight(path, "/")
	ends := func(ends ...string) bool {
		for _, e := range ends {
			if strings.HasSuffix(path, e) {
				return true
			}
		}
		return false
	}
	has := func(part string) bool { return strings.Contains(path+"/", part) }
	get := method == http.MethodGet
	switch {
	case ends(":countTokens", "/count_tokens", "/input_tokens", "/tokenize"):
		return route{reason: Tokens}
	case has("/batches/") || ends(":batchGenerateContent"):
		return route{reason: Batch}
	case ends("/embeddings", ":embedContent", ":batchEmbedContents", "/embed"):
		return route{reason: Embeddings}
	case has("/images/") || ends(":generateImages"):
		return route{reason: Images}
	case has("/audio/"):
		return route{reason: Audio}
	case ends("/moderations"):
		return route{reason: Moderation}
	case get && has("/models/"):
		return route{reason: Models}
	case get && has("/responses/"):
		return route{api: &responses, fetch: true}
	case ends("/responses/compact"):
		return route{reason: Compaction}
	case has("/responses/") && !ends("/responses"), has("/conversations/"), has("/files/"), has("/threads/"), has("/assistants/"), has("/vector_stores/"):
		return route{reason: Stored}
	case get || method == http.MethodDelete || method == http.MethodHead:
		return route{reason: NotLLM}
	case ends("/converse", "/converse-stream") && has("/model/"):
		return route{api: &bedrock, model: bedrockModel(path)}
	case ends("/invoke", "/invoke-with-response-stream") && has("/model/"):
		return route{model: bedrockModel(path)} // in the form of the model's maker
	case ends("/api/chat"):
		return route{} // Ollama's, or another server's
	case ends("/api/generate"):
		return route{reason: Completion}
	case ends("/api/tags", "/api/show"):
		return route{reason: Models}
	case ends("/chat/completions"):
		return route{api: &chat}
	case ends("/responses"):
		return route{api: &responses}
	case ends(":generateContent", ":streamGenerateContent"):
		return route{api: &gemini, model: geminiModel(path)}
	case ends("/messages"):
		return route{api: &anthropic}
	case ends("/completions"):
		return route{reason: Completion}
	}
	return route{}
}

func geminiModel(path string) string {
	name := path[strings.LastIndexByte(path, '/')+1:]
	name, _, _ = strings.Cut(name, ":")
	return name
}

// routeByShape returns the route by what the bodies hold. payload is the first part
// of the answer, nil for none.
func routeByShape(request, payload json.RawMessage) route {
	asked, answered := keysOf(request), keysOf(payload)
	kind := String(answered["type"])
	object := String(answered["object"])
	switch {
	case asked["jsonrpc"] != nil || answered["jsonrpc"] != nil:
		return route{reason: NotLLM}
	case IsArray(answered["choices"]) && strings.HasPrefix(object, "text_completion"):
		return route{reason: Completion}
	case IsObject(asked["options"]) && IsArray(asked["messages"]), answered["done"] != nil && IsObject(answered["message"]):
		return route{api: &ollama}
	case keysOf(answered["output"])["message"] != nil && answered["stopReason"] != nil, answered["messageStart"] != nil:
		return route{api: &bedrock}
	case IsArray(answered["choices"]):
		return route{api: &chat}
	case IsArray(answered["candidates"]), IsArray(asked["contents"]):
		return route{api: &gemini}
	case object == "response", strings.HasPrefix(kind, "response."):
		return route{api: &responses}
	case kind == "message", kind == "message_start":
		return route{api: &anthropic}
	case object == "list" && asked["input"] != nil, answered["embeddings"] != nil:
		return route{reason: Embeddings}
	case IsArray(asked["messages"]) && asked["model"] != nil:
		return route{api: &chat}
	case len(asked) == 0 && IsObject(answered["error"]):
		return route{reason: ErrorAnswer}
	}
	return route{reason: NotLLM}
}

// keysOf returns the fields of an object, nil for any other valid JSON.
func keysOf(raw json.RawMessage) map[string]json.RawMessage { return rawjson.Object(raw) }

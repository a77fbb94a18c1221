// Package wire decodes the messages of LLM APIs: in recorded HTTP traffic, which it
// joins into conversations, and in the logs of agents.
//
// It decodes OpenAI Chat Completions and Responses, Anthropic Messages, Gemini
// generateContent, Bedrock Converse and Ollama chat, streamed or not. It goes by the path and by the shape of the
// bodies, so it does not matter whose server it was. Each API is one file of this
// package.
//
// [Read] takes the exchanges of one file. A request repeats the messages before it,
// so an exchange continues the conversation that its history begins with, or the
// one that it names in previous_response_id or conversation. Histories are compared
// without white space, arguments as values, and calls by their ids where the agent
// has rewritten them. A request that failed and was sent again is one turn. The
// same request answered twice makes two conversations, and so does a branch.
//
//	conversations, others := wire.Read([]wire.Exchange{{Method: "POST", URL: url, Status: 200, Request: asked, Response: answer}}, nil)
//
// What only the server did, such as its own web search or its reasoning, is left
// out. Of several choices the first counts.
//
// [LogMessages] decodes the messages of these APIs, and those of frameworks, where an
// agent has written them into its log. [ChatMessage], [ChatCompletion], [Text] and
// [String] decode pieces of them. They take valid JSON, which they do not check again.
package wire

import (
	"encoding/json"
	"time"

	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// An Exchange is a recorded request and its answer. Bodies may be compressed with
// gzip or deflate, and with what [Decoders] know.
type Exchange struct {
	Method   string
	URL      string // "" = only the answer was recorded
	Status   int    // HTTP status, 0 = unknown
	Request  []byte
	Response []byte
	Encoding string // Content-Encoding of the response, "" = unknown
}

// A Conversation is the messages between one agent and its model, in order.
type Conversation struct {
	Model    string // "" = unknown
	System   string // "" = none
	Messages []Message
}

// A Role says who wrote a message.
type Role uint8

// The roles.
const (
	User Role = iota
	Assistant
	Tool   // a result
	System // in logs; a Conversation has it in a field of its own
)

// A Message is one message of a conversation or a log.
type Message struct {
	Role  Role
	Text  string
	Calls []Call    // the assistant's; in a log also a simulated user's
	ID    string    // of a result: the call that it answers, "" = unknown
	Code  loop.Code // of a result: None unless the agent marked it as an error
	// Tokens that the model read and wrote for an assistant's message, 0 = not
	// recorded. With Anthropic the tokens read from the cache and written to it
	// count as read.
	TokensIn, TokensOut int64
	// At is the time since the conversation began, where the times of all messages are
	// known.
	At time.Duration
	// Timed says, of a message in a log, that At is known.
	Timed bool
	// Reply says that the message is a whole answer in traffic, and so a turn of its
	// own. In a log a turn may be several messages.
	Reply bool
	// Of a message in a log: the model that wrote it, "" = unknown, and the kinds of
	// its blocks and fields that are not known and may hold calls or results. A System
	// message with nothing else only tells them.
	Model  string
	Unread []string
}

// A Call is a tool call that the model asked for.
type Call struct {
	ID   string // "" = none
	Name string
	Args string // as the model wrote them, "" = none
}

// A Reason says why an exchange does not belong to any conversation.
type Reason string

// The reasons. There are no others.
const (
	None        Reason = "" // it belongs to one
	NotLLM      Reason = "not LLM traffic"
	Embeddings  Reason = "embeddings"
	Images      Reason = "images"
	Audio       Reason = "audio"
	Models      Reason = "list of models"
	Tokens      Reason = "count of tokens"
	Batch       Reason = "batch"
	Moderation  Reason = "moderation"
	Completion  Reason = "text completion without messages"
	Compaction  Reason = "compaction of a conversation"
	Stored      Reason = "stored objects of the API"
	ErrorAnswer Reason = "error answer"
	NoAnswer    Reason = "no answer recorded"
	Again       Reason = "an answer fetched again"
	Unreadable  Reason = "unreadable body"
	Compressed  Reason = "compressed with brotli or zstd, which this program does not decode"
	TooMany     Reason = "more than 1,000,000 messages"
)

// Reasons returns all reasons but None, in the order in which they are reported.
func Reasons() []Reason {
	return []Reason{ErrorAnswer, NoAnswer, Unreadable, Compressed, TooMany, Again, Embeddings, Images, Audio, Models, Tokens, Batch,
		Moderation, Completion, Compaction, Stored, NotLLM}
}

// An api decodes the bodies of one API.
type api struct {
	history string // the field of a request with what was said so far
	// request decodes the rest of a request. The history is a list, unless the request
	// decoded it itself: then it is nil.
	request func(body json.RawMessage) (r *request, history json.RawMessage, ok bool)
	// said decodes an element of the history.
	said  func(element json.RawMessage) (said, bool)
	reply func(payloads []json.RawMessage) (*reply, Reason)
}

// A said is an element of a history: messages, or a text of the system, or nothing that
// a run needs.
type said struct {
	system   string
	messages []Message
}

// asked decodes a request, which is valid JSON.
func (a *api) asked(body json.RawMessage) (*request, bool) {
	r, history, ok := a.request(body)
	if !ok || history == nil {
		return r, ok
	}
	for _, element := range rawjson.Elements(history) {
		one, ok := a.said(element)
		if !ok {
			return nil, false
		}
		r.system.add(one.system)
		r.messages = append(r.messages, one.messages...)
	}
	return r, true
}

// A request is a decoded request to a model.
type request struct {
	model        string
	system       texts
	messages     []Message
	previous     string // id of the response that it continues, "" = none
	conversation string // id of the stored conversation that it continues, "" = none

	known *known // what a [Memory] knows of the messages, nil = they are in messages
}

// A reply is a decoded answer of a model.
type reply struct {
	id      string
	model   string
	text    string
	calls   []Call
	finish  string // "" = the stream broke off
	in, out int64
	pending bool // the answer is fetched later
}

func (r *reply) empty() bool { return r.text == "" && len(r.calls) == 0 && r.finish == "" }

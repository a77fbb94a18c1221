// Package wire decodes recorded HTTP traffic with LLM APIs into conversations.
//
// It knows OpenAI Chat Completions and Responses, Anthropic Messages and Gemini
// generateContent, streamed or not, by the path and by the shape of the bodies:
// whose server it was does not matter. [Read] takes the exchanges of one file
// and puts those together that belong to one conversation.
//
// A request repeats what was said before, so an exchange belongs to the
// conversation whose messages its history begins with (texts are compared
// without regard to white space, arguments as values, and calls by their ids
// where the agent has rewritten them), or to the one that it names with
// previous_response_id or conversation. A request
// that failed and was sent again is one turn; the same request answered twice
// is two conversations, and so is a branch.
//
// What only the server did (its own web search, its reasoning) is left out, and
// of several choices the first counts.
package wire

import (
	"encoding/json"

	"github.com/agentbench-go/agentbench/loop"
)

// An Exchange is one request and its answer, as they were recorded. Bodies may
// be compressed with gzip or deflate.
type Exchange struct {
	Method   string
	URL      string // "" = only the answer is known
	Status   int    // of HTTP; 0 = unknown
	Request  []byte
	Response []byte
}

// A Conversation is what one agent and its model said, in order.
type Conversation struct {
	Model    string // "" = not told
	System   string // "" = none
	Messages []Message
}

// A Role says who speaks.
type Role uint8

// The roles.
const (
	User Role = iota
	Assistant
	Tool   // a result
	System // of a log: the messages of a Conversation have its text apart
)

// A Message is one message of a conversation.
type Message struct {
	Role  Role
	Text  string
	Calls []Call    // of the assistant; in a log also of a simulated user
	ID    string    // of a result: the call it answers, "" = not told
	Code  loop.Code // of a result: None unless the agent marked it as an error
	// Tokens that the request read and the answer wrote, of an assistant's
	// message whose exchange was recorded. With Anthropic, what was read from
	// the cache or written to it is read too.
	TokensIn, TokensOut int64
}

// A Call is a call that the model asked for.
type Call struct {
	ID   string // "" = none
	Name string
	Args string // as the model wrote them, "" = none
}

// A Reason says why an exchange is part of no conversation.
type Reason string

// The reasons. There are no others.
const (
	None        Reason = "" // it is part of one
	NotLLM      Reason = "no LLM traffic"
	Embeddings  Reason = "embeddings"
	Images      Reason = "images"
	Audio       Reason = "audio"
	Models      Reason = "list of models"
	Tokens      Reason = "count of tokens"
	Batch       Reason = "batch"
	Moderation  Reason = "moderation"
	Completion  Reason = "text completion without messages"
	Stored      Reason = "stored objects of the API"
	ErrorAnswer Reason = "error answer"
	NoAnswer    Reason = "no answer recorded"
	Again       Reason = "an answer fetched again"
	Unreadable  Reason = "body that cannot be read"
	TooMany     Reason = "beyond 1,000,000 messages"
)

// Reasons lists all reasons but None, in the order in which they are told.
func Reasons() []Reason {
	return []Reason{ErrorAnswer, NoAnswer, Unreadable, TooMany, Again, Embeddings, Images, Audio, Models, Tokens, Batch,
		Moderation, Completion, Stored, NotLLM}
}

// An api decodes the bodies of one API.
type api struct {
	request func(body json.RawMessage) (*request, bool)
	reply   func(payloads []json.RawMessage) (*reply, Reason)
}

// A request is what a model was asked.
type request struct {
	model        string
	system       texts
	messages     []Message // those of the assistant in a row are one
	previous     string    // the response that it continues, "" = none
	conversation string    // the stored conversation that it continues, "" = none
}

// A reply is what a model answered.
type reply struct {
	id      string
	model   string
	text    string
	calls   []Call
	finish  string // "" = the stream broke off
	in, out int64
	pending bool // the answer is to be fetched later
}

func (r *reply) empty() bool { return r.text == "" && len(r.calls) == 0 && r.finish == "" }

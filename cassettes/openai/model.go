// Package openai is the live model: a [loop.Model] that asks an endpoint with
// OpenAI's client library, over Chat Completions or Responses, streamed or not.
// It is the only package that imports the library, which takes minutes to build
// and calls some failures a success: an event stream that stops in the middle, a
// field of another type than it should have, a reply without choices. Here each
// of these is an error.
//
// A request is made once: to try again is the loop's affair. Nothing is read from
// the environment. The body of a request follows from the settings and from what
// is asked, to the byte.
package openai

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/loop"
)

// New makes the model of some settings. It is an [endpoint.Connect].
//
// An answer with an HTTP status that is no success, and one that holds an error,
// is a [*loop.ModelError]. Any other error says in its text what was wrong with
// the answer; what the transport or the context returned is wrapped in it.
func New(s endpoint.Settings, transport http.RoundTripper) (loop.Model, error) {
	if err := s.Validate(); err != nil {
		return nil, err
	}
	s = s.WithDefaults()
	if transport == nil {
		transport = network()
	}
	m := &model{settings: s, transport: transport}
	m.price, _ = s.Prices.Find(s.Model)
	options := []option.RequestOption{option.WithBaseURL(s.BaseURL), option.WithAPIKey(s.Key.Reveal()), option.WithMaxRetries(0)}
	m.chat = openai.NewChatCompletionService(options...)
	m.responses = responses.NewResponseService(options...)
	return m, nil
}

var _ endpoint.Connect = New

// connectTime is how long it may take to reach a host. How long an answer may
// take is for the loop to say.
const connectTime = 10 * time.Second

// network is the transport of who gives none.
func network() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: connectTime}).DialContext
	t.TLSHandshakeTimeout = connectTime
	return t
}

// A model asks an endpoint. It keeps nothing from one request to the next.
type model struct {
	settings  endpoint.Settings
	transport http.RoundTripper
	price     endpoint.Price
	chat      openai.ChatCompletionService
	responses responses.ResponseService
}

// Reply makes one request.
func (m *model) Reply(ctx context.Context, req loop.ModelRequest, delta func(text string)) (loop.Reply, error) {
	x := &exchange{next: m.transport, stream: m.settings.Stream}
	ask := m.askChat
	if m.settings.API == endpoint.APIResponses {
		ask = m.askResponses
	}
	reply, err := ask(ctx, req, x, delta)
	if err == nil && x.status >= http.StatusMultipleChoices {
		err = errNoSuccess
	}
	if err == nil {
		err = tooMuch(&reply)
	}
	if err != nil {
		return loop.Reply{}, m.failure(ctx, x, err)
	}
	reply.TokensIn, reply.TokensOut = tokens(reply.TokensIn), tokens(reply.TokensOut)
	reply.Cost = m.price.Cost(reply.TokensIn, reply.TokensOut)
	return reply, nil
}

// What a reply may hold at most.
const (
	maxCalls  = 10_000
	maxReply  = 8 << 20 // bytes of text, and of ids, names and arguments
	maxFinish = 64
	maxTokens = 1 << 40
)

// tooMuch checks that a reply is not larger than what can be worked with.
func tooMuch(r *loop.Reply) error {
	size := len(r.Text)
	for i := range r.Calls {
		size += len(r.Calls[i].ID) + len(r.Calls[i].Name) + len(r.Calls[i].Args)
	}
	switch {
	case len(r.Calls) > maxCalls:
		return errManyCalls
	case size > maxReply:
		return wrong("the reply is larger than %d MiB", maxReply>>20)
	case len(r.Finish) > maxFinish:
		return wrong("the finish reason is longer than %d bytes", maxFinish)
	}
	return nil
}

var errManyCalls = wrong("the reply asks for more than %d calls", maxCalls)

// tokens is a number of tokens that can be added up.
func tokens(n int64) int64 { return min(max(n, 0), maxTokens) }

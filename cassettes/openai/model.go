// Package openai is the live model: a [loop.Model] that asks an endpoint with
// OpenAI's client library, over Chat Completions or Responses, streamed or whole.
// It is the only package that imports the library, which takes minutes to compile.
// The library reports some failures as successes: a stream that breaks off, a field
// of the wrong type, a reply without choices. This package returns an error for each.
//
// The model sends a request once; the loop retries it. It reads no environment
// variables. Equal settings and equal requests have equal bodies, byte for byte.
//
//	model, err := openai.New(endpoint.Settings{Model: "gpt-4.1-mini", Key: endpoint.NewKey(key)}, nil)
//	…
//	out, err := loop.RunLive(ctx, config, task, model, tools, loop.LiveOptions{})
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

// New returns the model of some settings. It is an [endpoint.Connect].
//
// If an answer has an error or an HTTP status other than success, the model returns
// a [*loop.ModelError]. The text of any other error says what is wrong with the
// answer; the error wraps that of the transport or the context.
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

// connectTime is the time limit for connecting to a host. The loop has the limits
// for an answer.
const connectTime = 10 * time.Second

// network returns the transport that New uses if it gets none.
func network() http.RoundTripper {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: connectTime}).DialContext
	t.TLSHandshakeTimeout = connectTime
	return t
}

// A model asks an endpoint. It keeps no state between requests.
type model struct {
	settings  endpoint.Settings
	transport http.RoundTripper
	price     endpoint.Price
	chat      openai.ChatCompletionService
	responses responses.ResponseService
}

// Reply sends one request and returns the reply.
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

// The largest reply that is accepted.
const (
	maxCalls  = 10_000
	maxReply  = 8 << 20 // bytes of text, and of ids, names and arguments
	maxFinish = 64
	maxTokens = 1 << 40
)

// tooMuch returns an error if a reply is too large.
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

// tokens returns n within the bounds in which numbers of tokens can be added.
func tokens(n int64) int64 { return min(max(n, 0), maxTokens) }

package openai

import (
	"context"
	"strings"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/agentbench-go/agentbench/loop"
)

// askResponses sends a request over the Responses API and returns the reply.
func (m *model) askResponses(ctx context.Context, req loop.ModelRequest, x *exchange, delta func(string)) (loop.Reply, error) {
	params, err := m.responseParams(&req)
	if err != nil {
		return loop.Reply{}, err
	}
	if m.settings.Stream {
		return m.streamResponse(ctx, params, x, delta)
	}
	var answer []byte
	if _, err := m.responses.New(ctx, params, x.through(), option.WithResponseBodyInto(&answer)); err != nil {
		return loop.Reply{}, err
	}
	var whole responses.Response
	if err := decode(answer, &whole); err != nil {
		return loop.Reply{}, err
	}
	if !whole.JSON.Output.Valid() && whole.Status != responses.ResponseStatusFailed {
		return loop.Reply{}, wrong(`the answer has no list "output"`)
	}
	return responseWhole(&whole, string(whole.Status), whole.Output)
}

// responseWhole returns the reply of a response with this status and these items.
func responseWhole(whole *responses.Response, status string, items []responses.ResponseOutputItemUnion) (loop.Reply, error) {
	reply := loop.Reply{TokensIn: whole.Usage.InputTokens, TokensOut: whole.Usage.OutputTokens}
	var text strings.Builder
	for i := range items {
		if err := addItem(&reply, &text, &items[i]); err != nil {
			return reply, err
		}
	}
	reply.Text = text.String()
	switch status {
	case "completed":
		reply.Finish = loop.FinishStop
		if len(reply.Calls) > 0 {
			reply.Finish = loop.FinishToolCalls
		}
	case "incomplete":
		reply.Finish = incomplete(whole.IncompleteDetails.Reason)
	case "failed":
		return reply, &answeredError{message: whole.Error.Message, words: []string{string(whole.Error.Code), whole.Error.Type}}
	case "":
		return reply, wrong("the answer has no status")
	default:
		return reply, wrong("the answer is not whole: its status is %s", printable(status))
	}
	return reply, nil
}

// incomplete returns the finish reason of a response that was cut short.
func incomplete(reason string) string {
	switch reason {
	case "max_output_tokens":
		return loop.FinishLength
	case "":
		return "incomplete"
	}
	return reason
}

// addItem adds the text or the call of an item to a reply. It ignores other items,
// such as reasoning and the work of the endpoint's own tools.
func addItem(reply *loop.Reply, text *strings.Builder, item *responses.ResponseOutputItemUnion) error {
	switch item.Type {
	case "message":
		if text.Len() > 0 {
			text.WriteByte('\n')
		}
		for i := range item.Content {
			part := &item.Content[i]
			piece, err := said(part.Text, part.JSON.Text, part.Refusal, part.JSON.Refusal)
			if err != nil {
				return err
			}
			text.WriteString(piece)
		}
	case "function_call":
		args, err := argumentsOf(item.Arguments.OfString, item.JSON.Arguments)
		if err != nil {
			return err
		}
		reply.Calls = append(reply.Calls, loop.AskedCall{ID: item.CallID, Name: item.Name, Args: args})
	}
	return nil
}

// streamResponse reads a response in pieces. The last event has the whole response;
// if it has no items, the items of the earlier events count.
func (m *model) streamResponse(ctx context.Context, params responses.ResponseNewParams, x *exchange, delta func(string)) (loop.Reply, error) {
	stream := m.responses.NewStreaming(ctx, params, x.through())
	defer stream.Close()
	var items []responses.ResponseOutputItemUnion
	for stream.Next() {
		switch event := stream.Current(); event.Type {
		case "response.completed", "response.incomplete", "response.failed":
			if len(event.Response.Output) > 0 {
				items = event.Response.Output
			}
			return responseWhole(&event.Response, strings.TrimPrefix(event.Type, "response."), items)
		case "error":
			return loop.Reply{}, &answeredError{message: event.Message, words: []string{event.Code}}
		case "response.output_text.delta", "response.refusal.delta":
			delta(event.Delta)
		case "response.output_item.done":
			if len(items) == maxCalls {
				return loop.Reply{}, errManyCalls
			}
			items = append(items, event.Item)
		default:
			if event.Type == "response.output_item.added" || strings.HasSuffix(event.Type, ".delta") {
				delta("")
			}
		}
	}
	if err := stream.Err(); err != nil {
		return loop.Reply{}, err
	}
	return loop.Reply{}, errTruncated
}

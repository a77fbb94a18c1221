package openai

import (
	"context"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"

	"github.com/agentbench-go/agentbench/loop"
)

// askChat sends a request over Chat Completions and returns the reply.
func (m *model) askChat(ctx context.Context, req loop.ModelRequest, x *exchange, delta func(string)) (loop.Reply, error) {
	params, err := m.chatParams(&req)
	if err != nil {
		return loop.Reply{}, err
	}
	if m.settings.Stream {
		return m.streamChat(ctx, params, x, delta)
	}
	var answer []byte
	if _, err := m.chat.New(ctx, params, x.through(), option.WithResponseBodyInto(&answer)); err != nil {
		return loop.Reply{}, err
	}
	var whole openai.ChatCompletion
	if err := decode(answer, &whole); err != nil {
		return loop.Reply{}, err
	}
	return chatWhole(&whole)
}

// chatWhole returns the reply of an answer that is not streamed.
func chatWhole(whole *openai.ChatCompletion) (reply loop.Reply, err error) {
	switch {
	case !whole.JSON.Choices.Valid():
		return reply, wrong(`the answer has no list "choices"`)
	case len(whole.Choices) == 0:
		return reply, wrong("the answer has no choices")
	case len(whole.Choices) > maxCalls:
		return reply, wrong("the answer has more than %d choices", maxCalls)
	}
	choice := &whole.Choices[0]
	msg := &choice.Message
	if !choice.JSON.Message.Valid() {
		return reply, wrong(`the answer's choice has no "message"`)
	}
	reply = loop.Reply{Finish: choice.FinishReason, TokensIn: whole.Usage.PromptTokens, TokensOut: whole.Usage.CompletionTokens}
	if reply.Finish == "" {
		return reply, wrong("the answer has no finish reason")
	}
	if reply.Text, err = said(msg.Content, msg.JSON.Content, msg.Refusal, msg.JSON.Refusal); err != nil {
		return reply, err
	}
	if !isListOrNothing(msg.JSON.ToolCalls) {
		return reply, wrong(`"tool_calls" is not a list`)
	}
	for i := range msg.ToolCalls {
		call := &msg.ToolCalls[i]
		args, err := argumentsOf(call.Function.Arguments, call.Function.JSON.Arguments)
		if err != nil {
			return reply, err
		}
		reply.Calls = append(reply.Calls, loop.AskedCall{ID: call.ID, Name: call.Function.Name, Args: args})
	}
	return reply, nil
}

// said returns the text of a reply or of its refusal.
func said(content string, contentField respjson.Field, refusal string, refusalField respjson.Field) (string, error) {
	if !isTextOrNothing(contentField) || !isTextOrNothing(refusalField) {
		return "", wrong("the content of the answer is not a text")
	}
	return content + refusal, nil
}

// isTextOrNothing reports whether a field is a JSON string, null or missing. The
// library would turn a list into a text.
func isTextOrNothing(f respjson.Field) bool {
	return nothing(f) || f.Raw()[0] == '"'
}

func isListOrNothing(f respjson.Field) bool { return nothing(f) || f.Raw()[0] == '[' }

func nothing(f respjson.Field) bool {
	return f.Raw() == "" || f.Raw() == respjson.Null
}

// argumentsOf returns the arguments of a call. Some servers send an object instead of
// its text.
func argumentsOf(text string, f respjson.Field) (string, error) {
	switch {
	case isTextOrNothing(f):
		return text, nil
	case f.Raw()[0] == '{':
		return f.Raw(), nil
	}
	return "", wrong("the arguments of a call are not a text")
}

// streamChat reads a reply in pieces.
func (m *model) streamChat(ctx context.Context, params openai.ChatCompletionNewParams, x *exchange, delta func(string)) (reply loop.Reply, err error) {
	stream := m.chat.NewStreaming(ctx, params, x.through())
	defer stream.Close()
	var text strings.Builder
	calls := calls{at: map[int64]int{}}
	for stream.Next() {
		chunk := stream.Current()
		if chunk.JSON.Usage.Valid() {
			reply.TokensIn, reply.TokensOut = chunk.Usage.PromptTokens, chunk.Usage.CompletionTokens
		}
		for i := range chunk.Choices {
			choice := &chunk.Choices[i]
			if choice.Index != 0 {
				continue // the request asks for one choice
			}
			piece, err := said(choice.Delta.Content, choice.Delta.JSON.Content, choice.Delta.Refusal, choice.Delta.JSON.Refusal)
			if err != nil {
				return reply, err
			}
			text.WriteString(piece)
			for j := range choice.Delta.ToolCalls {
				if err := calls.add(&choice.Delta.ToolCalls[j]); err != nil {
					return reply, err
				}
			}
			if choice.FinishReason != "" {
				reply.Finish = choice.FinishReason
			}
			delta(piece)
		}
	}
	if err := stream.Err(); err != nil {
		return reply, err
	}
	if reply.Finish == "" {
		return reply, errTruncated
	}
	reply.Text, reply.Calls = text.String(), calls.list()
	return reply, nil
}

// calls puts the calls of a stream together. at has the call that the pieces with an
// index belong to. Indexes may have gaps and come in any order, and some servers use
// one index for several calls, one after the other.
type calls struct {
	pieces []*callPieces
	at     map[int64]int
}

type callPieces struct {
	index    int64
	id, name string
	args     strings.Builder
}

// add adds a piece of a call.
func (c *calls) add(d *openai.ChatCompletionChunkChoiceDeltaToolCall) error {
	args, err := argumentsOf(d.Function.Arguments, d.Function.JSON.Arguments)
	if err != nil {
		return err
	}
	i, known := c.at[d.Index]
	if !known || c.pieces[i].endsBefore(d) {
		if i = len(c.pieces); i == maxCalls {
			return errManyCalls
		}
		c.pieces = append(c.pieces, &callPieces{index: d.Index})
		c.at[d.Index] = i
	}
	call := c.pieces[i]
	if call.id == "" {
		call.id = d.ID
	}
	if d.Function.Name != call.name { // some servers repeat it with each piece
		call.name += d.Function.Name
	}
	call.args.WriteString(args)
	return nil
}

// endsBefore reports whether a piece with the call's index begins another call: it has
// another id, or it names a tool after the arguments have begun and one of the two
// has no id.
func (c *callPieces) endsBefore(d *openai.ChatCompletionChunkChoiceDeltaToolCall) bool {
	if d.ID != "" && c.id != "" {
		return d.ID != c.id
	}
	return d.Function.Name != "" && c.args.Len() > 0
}

// list returns the calls in the order of their indexes.
func (c *calls) list() []loop.AskedCall {
	slices.SortStableFunc(c.pieces, func(a, b *callPieces) int {
		switch {
		case a.index < b.index:
			return -1
		case a.index > b.index:
			return 1
		}
		return 0
	})
	var list []loop.AskedCall
	for _, p := range c.pieces {
		list = append(list, loop.AskedCall{ID: p.id, Name: p.name, Args: p.args.String()})
	}
	return list
}

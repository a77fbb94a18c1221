package openai

import (
	"encoding/json"
	"strings"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/agentbench-go/agentbench/loop"
)

// chatParams returns the parameters of a request to Chat Completions.
func (m *model) chatParams(req *loop.ModelRequest) (openai.ChatCompletionNewParams, error) {
	s := &m.settings
	p := openai.ChatCompletionNewParams{Model: s.Model, MaxCompletionTokens: openai.Int(int64(s.MaxTokens))}
	if s.Temperature != nil {
		p.Temperature = openai.Float(*s.Temperature)
	}
	if s.Stream {
		p.StreamOptions.IncludeUsage = openai.Bool(true)
	}
	switch {
	case req.Choice == "":
	case req.Choice == loop.UseRequired:
		p.ToolChoice.OfAuto = openai.String(req.Choice)
	default:
		p.ToolChoice = openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: req.Choice})
	}
	if req.JSON {
		p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	if req.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(req.System))
	}
	for i := range req.History {
		p.Messages = append(p.Messages, chatMessage(&req.History[i]))
	}
	for i := range req.Tools {
		schema, err := parameters(&req.Tools[i])
		if err != nil {
			return p, err
		}
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: req.Tools[i].Name, Description: optional(req.Tools[i].Description), Parameters: schema,
		}))
	}
	return p, nil
}

func chatMessage(msg *loop.Message) openai.ChatCompletionMessageParamUnion {
	switch msg.Role {
	case loop.ToolRole:
		return openai.ToolMessage(msg.Text, msg.CallID)
	case loop.Assistant:
		return chatReply(msg)
	}
	return openai.UserMessage(msg.Text)
}

func chatReply(msg *loop.Message) openai.ChatCompletionMessageParamUnion {
	p := &openai.ChatCompletionAssistantMessageParam{}
	if msg.Text != "" || len(msg.Calls) == 0 {
		p.Content.OfString = openai.String(msg.Text)
	}
	for i := range msg.Calls {
		p.ToolCalls = append(p.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: msg.Calls[i].ID,
				Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name: msg.Calls[i].Name, Arguments: arguments(msg.Calls[i].Args),
				},
			},
		})
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: p}
}

// responseParams returns the parameters of a request to Responses. It asks the
// endpoint not to store anything: each request has the whole conversation.
func (m *model) responseParams(req *loop.ModelRequest) (responses.ResponseNewParams, error) {
	s := &m.settings
	p := responses.ResponseNewParams{
		Model: s.Model, MaxOutputTokens: openai.Int(int64(s.MaxTokens)),
		Instructions: optional(req.System), Store: openai.Bool(false),
	}
	if s.Temperature != nil {
		p.Temperature = openai.Float(*s.Temperature)
	}
	switch {
	case req.Choice == "":
	case req.Choice == loop.UseRequired:
		p.ToolChoice.OfToolChoiceMode = openai.Opt(responses.ToolChoiceOptionsRequired)
	default:
		p.ToolChoice.OfFunctionTool = &responses.ToolChoiceFunctionParam{Name: req.Choice}
	}
	if req.JSON {
		p.Text.Format.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	items := responses.ResponseInputParam{}
	for i := range req.History {
		items = append(items, responseItems(&req.History[i])...)
	}
	p.Input.OfInputItemList = items
	for i := range req.Tools {
		schema, err := parameters(&req.Tools[i])
		if err != nil {
			return p, err
		}
		tool := responses.ToolParamOfFunction(req.Tools[i].Name, schema, false)
		tool.OfFunction.Description = optional(req.Tools[i].Description)
		p.Tools = append(p.Tools, tool)
	}
	return p, nil
}

// responseItems returns the items of a message. A reply has its text and its calls.
func responseItems(msg *loop.Message) (items []responses.ResponseInputItemUnionParam) {
	switch msg.Role {
	case loop.ToolRole:
		item := responses.ResponseInputItemParamOfFunctionCallOutput(msg.Text)
		item.OfFunctionCallOutput.CallID = openai.String(msg.CallID)
		return append(items, item)
	case loop.Assistant:
		if msg.Text != "" || len(msg.Calls) == 0 {
			items = append(items, responses.ResponseInputItemParamOfMessage(msg.Text, responses.EasyInputMessageRoleAssistant))
		}
		for i := range msg.Calls {
			items = append(items, responses.ResponseInputItemParamOfFunctionCall(arguments(msg.Calls[i].Args), msg.Calls[i].ID, msg.Calls[i].Name))
		}
		return items
	}
	return append(items, responses.ResponseInputItemParamOfMessage(msg.Text, responses.EasyInputMessageRoleUser))
}

// arguments returns the arguments of a call as they are sent. Endpoints read them as
// JSON, and strict ones refuse a history with a call whose arguments are not an object. So
// empty arguments become an empty object, and any others that are none become the one
// field of an object, in which the model still sees what it wrote.
func arguments(args string) string {
	args = strings.TrimSpace(args)
	switch {
	case args == "":
		return "{}"
	case args[0] == '{' && json.Valid([]byte(args)):
		return args
	}
	mended, _ := json.Marshal(map[string]string{invalidJSON: args}) // texts always marshal
	return string(mended)
}

// invalidJSON is the field of mended arguments. pydantic-ai uses the same name.
const invalidJSON = "INVALID_JSON"

// parameters returns the schema of a tool's arguments. Its values stay as they were
// written, numbers to the last digit.
func parameters(tool *loop.ToolSpec) (map[string]any, error) {
	if strings.TrimSpace(tool.Input) == "" {
		return map[string]any{"type": "object", "properties": map[string]any{}}, nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(tool.Input), &fields); err != nil || fields == nil {
		return nil, wrong("the request was not sent: the schema of the tool %s is not a JSON object", printable(tool.Name))
	}
	schema := make(map[string]any, len(fields))
	for name, value := range fields {
		schema[name] = value
	}
	return schema, nil
}

// optional returns a text that is left out if it is empty.
func optional(text string) param.Opt[string] {
	if text == "" {
		return param.Opt[string]{}
	}
	return openai.String(text)
}

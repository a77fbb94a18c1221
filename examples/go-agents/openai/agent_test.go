package openai

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"

	goagents "example.com/go-agents"
)

// A loop of one's own over openai-go.
func TestOpenAI(t *testing.T) {
	goagents.Ask(t, func(ctx context.Context, w *agenttest.World) (string, error) {
		client := openai.NewClient(option.WithBaseURL(w.URL), option.WithAPIKey("none"), option.WithHTTPClient(w.Client))
		params := openai.ChatCompletionNewParams{Model: "any", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(w.Task)}}
		for _, tool := range w.Tools {
			var schema map[string]any
			if err := json.Unmarshal(tool.Schema, &schema); err != nil {
				return "", err
			}
			params.Tools = append(params.Tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: tool.Name, Description: openai.String(tool.Description), Parameters: schema}))
		}
		for range goagents.Turns {
			reply, err := client.Chat.Completions.New(ctx, params)
			if err != nil {
				return "", err
			}
			message := reply.Choices[0].Message
			if len(message.ToolCalls) == 0 {
				return message.Content, nil
			}
			params.Messages = append(params.Messages, message.ToParam())
			for _, call := range message.ToolCalls {
				params.Messages = append(params.Messages, openai.ToolMessage(goagents.Execute(ctx, w, call.Function.Name, call.Function.Arguments), call.ID))
			}
		}
		return "", errors.New("too many turns")
	})
}

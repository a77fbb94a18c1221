package anthropic

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"

	goagents "example.com/go-agents"
)

// The tool runner of Anthropic's SDK. At its limit it returns the last message, whose
// calls have not run.
func TestAnthropic(t *testing.T) {
	goagents.Ask(t, func(ctx context.Context, w *agenttest.World) (string, error) {
		client := anthropic.NewClient(option.WithBaseURL(w.Base), option.WithAPIKey("none"), option.WithHTTPClient(w.Client))
		var tools []anthropic.BetaTool
		for _, one := range w.Tools {
			tools = append(tools, &scripted{w, one})
		}
		params := anthropic.BetaToolRunnerParams{MaxIterations: goagents.Turns}
		params.Model, params.MaxTokens = "any", 1024
		params.Messages = []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(w.Task))}
		answer, err := client.Beta.Messages.NewToolRunner(tools, params).RunToCompletion(ctx)
		if err != nil {
			return "", err
		}
		if answer.StopReason == anthropic.BetaStopReasonToolUse {
			return "", errors.New("too many turns")
		}
		return answer.Content[0].Text, nil
	})
}

type scripted struct {
	world *agenttest.World
	tool  agenttest.Tool
}

func (s *scripted) Name() string        { return s.tool.Name }
func (s *scripted) Description() string { return s.tool.Description }

func (s *scripted) InputSchema() (schema anthropic.BetaToolInputSchemaParam) {
	json.Unmarshal(s.tool.Schema, &schema.ExtraFields) // it is an object
	delete(schema.ExtraFields, "type")
	return schema
}

func (s *scripted) Execute(ctx context.Context, args json.RawMessage) ([]anthropic.BetaToolResultBlockParamContentUnion, error) {
	text := goagents.Execute(ctx, s.world, s.tool.Name, string(args))
	return []anthropic.BetaToolResultBlockParamContentUnion{{OfText: &anthropic.BetaTextBlockParam{Text: text}}}, nil
}

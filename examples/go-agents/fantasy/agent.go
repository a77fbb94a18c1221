package fantasy

import (
	"context"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openaicompat"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"

	goagents "example.com/go-agents"
)

// Agent runs an agent of fantasy. It has no breaker; what stops it is a limit of steps.
func Agent(ctx context.Context, w *agenttest.World) (string, error) {
	provider, err := openaicompat.New(openaicompat.WithBaseURL(w.URL), openaicompat.WithAPIKey("none"), openaicompat.WithHTTPClient(w.Client))
	if err != nil {
		return "", err
	}
	model, err := provider.LanguageModel(ctx, "any")
	if err != nil {
		return "", err
	}
	var tools []fantasy.AgentTool
	for _, tool := range w.Tools {
		tools = append(tools, fantasy.NewAgentTool(tool.Name, tool.Description, func(ctx context.Context, _ map[string]any, c fantasy.ToolCall) (fantasy.ToolResponse, error) {
			return fantasy.NewTextResponse(goagents.Execute(ctx, w, c.Name, c.Input)), nil
		}))
	}
	options := []fantasy.AgentOption{fantasy.WithTools(tools...)}
	if goagents.Turns > 0 {
		options = append(options, fantasy.WithStopConditions(fantasy.StepCountIs(goagents.Turns)))
	}
	agent := fantasy.NewAgent(model, options...)
	result, err := agent.Generate(ctx, fantasy.AgentCall{Prompt: w.Task})
	if err != nil {
		return "", err
	}
	return result.Response.Content.Text(), nil
}

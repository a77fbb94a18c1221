package langchaingo

import (
	"context"

	"github.com/tmc/langchaingo/agents"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms/openai"
	"github.com/tmc/langchaingo/tools"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"

	goagents "example.com/go-agents"
)

// Agent runs an agent of langchaingo.
func Agent(ctx context.Context, w *agenttest.World) (string, error) {
	model, err := openai.New(openai.WithBaseURL(w.URL), openai.WithToken("none"), openai.WithModel("any"), openai.WithHTTPClient(w.Client))
	if err != nil {
		return "", err
	}
	var list []tools.Tool
	for _, one := range w.Tools {
		list = append(list, &scripted{w, one})
	}
	var limit []agents.Option
	if goagents.Turns > 0 {
		limit = append(limit, agents.WithMaxIterations(goagents.Turns))
	}
	executor := agents.NewExecutor(agents.NewOpenAIFunctionsAgent(model, list), limit...)
	return chains.Run(ctx, executor, w.Task)
}

type scripted struct {
	world *agenttest.World
	tool  agenttest.Tool
}

func (s *scripted) Name() string        { return s.tool.Name }
func (s *scripted) Description() string { return s.tool.Description }

func (s *scripted) Call(ctx context.Context, args string) (string, error) {
	return goagents.Execute(ctx, s.world, s.tool.Name, args), nil
}

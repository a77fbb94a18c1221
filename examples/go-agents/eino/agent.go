package eino

import (
	"context"

	"github.com/cloudwego/eino-ext/components/model/openai"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/flow/agent/react"
	"github.com/cloudwego/eino/schema"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"

	goagents "example.com/go-agents"
)

// Agent runs the ReAct agent of eino, which counts a step for the model and one for the
// tools. Streamed, it breaks a bubble: it needs agenttest.RealTime then.
func Agent(ctx context.Context, w *agenttest.World) (string, error) {
	model, err := openai.NewChatModel(ctx, &openai.ChatModelConfig{APIKey: "none", Model: "any", BaseURL: w.URL, HTTPClient: w.Client})
	if err != nil {
		return "", err
	}
	var tools []tool.BaseTool
	for _, one := range w.Tools {
		tools = append(tools, &scripted{w, one})
	}
	agent, err := react.NewAgent(ctx, &react.AgentConfig{ToolCallingModel: model, ToolsConfig: compose.ToolsNodeConfig{Tools: tools}, MaxStep: 2 * goagents.Turns})
	if err != nil {
		return "", err
	}
	answer, err := agent.Generate(ctx, []*schema.Message{schema.UserMessage(w.Task)})
	if err != nil {
		return "", err
	}
	return answer.Content, nil
}

type scripted struct {
	world *agenttest.World
	tool  agenttest.Tool
}

func (s *scripted) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: s.tool.Name, Desc: s.tool.Description, ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{})}, nil
}

func (s *scripted) InvokableRun(ctx context.Context, args string, _ ...tool.Option) (string, error) {
	return goagents.Execute(ctx, s.world, s.tool.Name, args), nil
}

package adk

import (
	"context"
	"encoding/json"

	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model/gemini"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"

	goagents "example.com/go-agents"
)

// Agent runs an agent of adk-go, which speaks Gemini's API.
func Agent(ctx context.Context, w *agenttest.World) (answer string, err error) {
	model, err := gemini.NewModel(ctx, "any", &genai.ClientConfig{APIKey: "none", Backend: genai.BackendGeminiAPI, HTTPClient: w.Client, HTTPOptions: genai.HTTPOptions{BaseURL: w.Base}})
	if err != nil {
		return "", err
	}
	var tools []tool.Tool
	for _, one := range w.Tools {
		t, err := functiontool.New(functiontool.Config{Name: one.Name, Description: one.Description}, func(ctx tool.Context, in map[string]any) (map[string]any, error) {
			args, err := json.Marshal(in)
			return map[string]any{"result": goagents.Execute(ctx, w, one.Name, string(args))}, err
		})
		if err != nil {
			return "", err
		}
		tools = append(tools, t)
	}
	a, err := llmagent.New(llmagent.Config{Name: "scripted", Model: model, Tools: tools})
	if err != nil {
		return "", err
	}
	r, err := runner.New(runner.Config{AppName: "scripted", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		return "", err
	}
	for event, err := range r.Run(ctx, "user", "session", genai.NewContentFromText(w.Task, genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			return "", err
		}
		if event.Content != nil {
			for _, part := range event.Content.Parts {
				answer = part.Text
			}
		}
	}
	return answer, nil
}

// Package goagents tests agents that are written with Go libraries against the
// scripted models of agentbench. It is a module of its own, as a user's is: what
// agentbench requires must not change the versions of the user's libraries.
package goagents

import (
	"context"
	"net/http/httptest"
	"testing"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openaicompat"

	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/scenarios"
)

// TestFantasyStops gives a fantasy agent a model that asks for the same call for
// ever. fantasy has no breaker; what stops the agent is its step limit.
func TestFantasyStops(t *testing.T) {
	requests, calls, _, err := fantasyRun(t, "same-call-forever", fantasy.StepCountIs(10))
	if err != nil {
		t.Fatal(err)
	}
	if requests != 10 || calls != 10 {
		t.Errorf("%d requests and %d calls, want 10 of each", requests, calls)
	}
}

// TestFantasyFinishes gives it healthy work, page after page, which ends with an
// answer long before the limit.
func TestFantasyFinishes(t *testing.T) {
	_, calls, answer, err := fantasyRun(t, "paging", fantasy.StepCountIs(20))
	if err != nil {
		t.Fatal(err)
	}
	if calls == 0 || answer == "" {
		t.Errorf("%d calls and the answer %q: the agent did not finish its work", calls, answer)
	}
}

// fantasyRun runs a fantasy agent against the model of an embedded scenario, with
// tools that answer as the scenario's first answer does.
func fantasyRun(t *testing.T, name string, stop fantasy.StopCondition) (requests, calls int, answer string, err error) {
	t.Helper()
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	chosen, err := scenarios.Select(all, nil, name)
	if err != nil || len(chosen) != 1 {
		t.Fatalf("%d scenarios are called %s, %v", len(chosen), name, err)
	}
	s := chosen[0]
	server, err := serve.New([]serve.Scenario{{Name: s.ID(), Script: &s.Script}}, serve.Options{Speed: 1e6})
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	provider, err := openaicompat.New(openaicompat.WithBaseURL(listening.URL+"/run/"+s.ID()+"/1/v1"), openaicompat.WithAPIKey("none"))
	if err != nil {
		t.Fatal(err)
	}
	model, err := provider.LanguageModel(t.Context(), "any")
	if err != nil {
		t.Fatal(err)
	}
	var tools []fantasy.AgentTool
	for _, tool := range s.Script.Tools {
		tools = append(tools, fantasy.NewAgentTool(tool.Name, tool.Description, func(context.Context, map[string]any, fantasy.ToolCall) (fantasy.ToolResponse, error) {
			calls++
			return fantasy.NewTextResponse(tool.Answers[0].Result), nil
		}))
	}
	agent := fantasy.NewAgent(model, fantasy.WithTools(tools...), fantasy.WithStopConditions(stop))
	result, err := agent.Generate(t.Context(), fantasy.AgentCall{Prompt: s.Script.Task})
	if result != nil {
		answer = result.Response.Content.Text()
	}
	return len(server.Journal().Entries), calls, answer, err
}

package agenttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"
)

// A test of an agent that speaks HTTP: func TestStops in a test file.
func testStops(t *testing.T) {
	agenttest.Run(t, func(ctx context.Context, w *agenttest.World) (string, error) {
		a := &agent{url: w.URL + "/chat/completions", client: w.Client, tools: w.Tools}
		return a.run(ctx, w.Task)
	}, agenttest.Suites("stuck-loops"), agenttest.Filter("ring-of-four"))
}

// An agent asks a model by OpenAI's API, at most ten times.
type agent struct {
	url    string
	client *http.Client
	tools  []agenttest.Tool
	model  chatModel // asked in place of the API, if it is there
}

// A chatModel is the interface of the agent for models without HTTP.
type chatModel interface {
	chat(ctx context.Context, history []message) (message, error)
}

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
	Calls   []call `json:"tool_calls,omitempty"`
	CallID  string `json:"tool_call_id,omitempty"`
}

type call struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

func (a *agent) run(ctx context.Context, task string) (string, error) {
	history := []message{{Role: "user", Content: task}}
	for range 10 {
		reply, err := a.ask(ctx, history)
		if err != nil {
			return "", err
		}
		if len(reply.Calls) == 0 {
			return reply.Content, nil
		}
		history = append(history, reply)
		for _, c := range reply.Calls {
			history = append(history, message{Role: "tool", CallID: c.ID, Content: a.execute(ctx, c)})
		}
	}
	return "", errors.New("the model did not come to an answer within ten turns")
}

func (a *agent) ask(ctx context.Context, history []message) (message, error) {
	if a.model != nil {
		return a.model.chat(ctx, history)
	}
	type tool struct {
		Type     string `json:"type"`
		Function any    `json:"function"`
	}
	var tools []tool
	for _, t := range a.tools {
		tools = append(tools, tool{"function", map[string]any{"name": t.Name, "description": t.Description, "parameters": t.Schema}})
	}
	body, err := json.Marshal(map[string]any{"model": "any", "messages": history, "tools": tools})
	if err != nil {
		return message{}, err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", a.url, bytes.NewReader(body))
	if err != nil {
		return message{}, err
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return message{}, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return message{}, fmt.Errorf("the model says %s", resp.Status)
	}
	var answer struct{ Choices []struct{ Message message } }
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return message{}, err
	}
	return answer.Choices[0].Message, nil
}

func (a *agent) execute(ctx context.Context, c call) string {
	for _, t := range a.tools {
		if t.Name == c.Function.Name {
			text, err := t.Call(ctx, c.Function.Arguments)
			if err != nil {
				return "Error: " + err.Error()
			}
			return text
		}
	}
	return "Error: there is no tool " + c.Function.Name
}

// A test asks an agent that speaks HTTP every scenario of a suite whose name has a word.
func ExampleRun() {
	_ = testStops // go test runs it
	// Output:
}

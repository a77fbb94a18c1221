// Command probe runs one of the agents here below agentbench probe, which plays its model
// and its tools:
//
//	go build -o go-agents ./probe
//	agentbench probe -- ./go-agents eino "{TASK}"
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"

	goagents "example.com/go-agents"
	"example.com/go-agents/adk"
	"example.com/go-agents/eino"
	"example.com/go-agents/fantasy"
	"example.com/go-agents/langchaingo"
)

var agents = map[string]agenttest.Agent{"adk": adk.Agent, "eino": eino.Agent, "fantasy": fantasy.Agent, "langchaingo": langchaingo.Agent}

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 || agents[args[0]] == nil {
		return errors.New("usage: probe adk|eino|fantasy|langchaingo TASK")
	}
	goagents.Turns = 0 // what the library does by itself
	tools, err := scripted(ctx, os.Getenv("AGENTBENCH_TOOLS"))
	if err != nil {
		return err
	}
	answer, err := agents[args[0]](ctx, &agenttest.World{Task: args[1], URL: os.Getenv("OPENAI_BASE_URL"), Base: os.Getenv("GOOGLE_GEMINI_BASE_URL"), Client: http.DefaultClient, Tools: tools})
	if err != nil {
		return err
	}
	fmt.Println(answer)
	return nil
}

// scripted returns the tools of the script, which agentbench probe answers.
func scripted(ctx context.Context, address string) ([]agenttest.Tool, error) {
	text, err := send(ctx, http.MethodGet, address, "")
	if err != nil {
		return nil, err
	}
	var list struct {
		Tools []struct {
			Name, Description string
			InputSchema       json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		return nil, err
	}
	var tools []agenttest.Tool
	for _, t := range list.Tools {
		tools = append(tools, agenttest.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema, Call: func(ctx context.Context, args string) (string, error) {
			return send(ctx, http.MethodPost, address+"/"+url.PathEscape(t.Name), args)
		}})
	}
	return tools, nil
}

func send(ctx context.Context, method, address, body string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= http.StatusBadRequest {
		err = errors.New(string(text))
	}
	return string(text), err
}

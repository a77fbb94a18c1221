// Package genkit has an agent of genkit. It is a module of its own: the versions that
// genkit needs and those of other agents beside it exclude each other.
package genkit

import (
	"context"
	"encoding/json"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/compat_oai"
	"github.com/openai/openai-go/option"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"
)

// Turns is the limit of turns; 5 is that of the library.
var Turns = 20

// Agent runs an agent of genkit.
func Agent(ctx context.Context, w *agenttest.World) (string, error) {
	api := &compat_oai.OpenAICompatible{Provider: "scripted", APIKey: "none", BaseURL: w.URL, Opts: []option.RequestOption{option.WithHTTPClient(w.Client)}}
	g := genkit.Init(ctx, genkit.WithPlugins(api))
	model := api.DefineModel("scripted", "any", ai.ModelOptions{Supports: &compat_oai.BasicText})
	var tools []ai.ToolRef
	for _, one := range w.Tools {
		var schema map[string]any
		if err := json.Unmarshal(one.Schema, &schema); err != nil {
			return "", err
		}
		tools = append(tools, genkit.DefineToolWithInputSchema(g, one.Name, one.Description, schema, func(ctx *ai.ToolContext, in any) (string, error) {
			args, err := json.Marshal(in)
			if err != nil {
				return "", err
			}
			text, err := one.Call(ctx, string(args))
			if err != nil { // which the model may read; an error here would end the run
				return "Error: " + err.Error(), nil
			}
			return text, nil
		}))
	}
	answer, err := genkit.Generate(ctx, g, ai.WithModel(model), ai.WithPrompt("%s", w.Task), ai.WithTools(tools...), ai.WithMaxTurns(Turns))
	if err != nil {
		return "", err
	}
	return answer.Text(), nil
}

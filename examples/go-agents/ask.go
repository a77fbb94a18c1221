// Package goagents tests agents that are written with Go libraries, by agenttest: one
// folder a library. The program in probe runs them below agentbench probe. It is a module
// of its own, as a user's is: what agentbench requires must not change the versions of the
// user's libraries.
package goagents

import (
	"context"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"
)

// Turns is the limit of turns of each agent here that has one; 0 = that of its library.
var Turns = 20

// Ask asks an agent two scenarios: a model that asks for the same call for ever, which
// the agent must stop, and healthy work, page after page, which it must not.
func Ask(t *testing.T, agent agenttest.Agent, opts ...agenttest.Option) {
	t.Helper()
	agenttest.Run(t, agent, append(opts, agenttest.From("../testdata"))...)
}

// Execute calls a tool of the scenario. A failure is a text for the model.
func Execute(ctx context.Context, w *agenttest.World, name, args string) string {
	for _, tool := range w.Tools {
		if tool.Name == name {
			text, err := tool.Call(ctx, args)
			if err != nil {
				return "Error: " + err.Error()
			}
			return text
		}
	}
	return "Error: there is no tool " + name
}

package adk

import (
	"testing"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"

	goagents "example.com/go-agents"
)

func TestADK(t *testing.T) {
	goagents.Ask(t, Agent, agenttest.Known(map[string]string{"pages/same-page-forever": "adk-go has no limit of turns of its own"}))
}

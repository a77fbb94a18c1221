package genkit

import (
	"testing"

	"github.com/agentbench-go/agentbench/scenarios/agenttest"
)

func TestGenkit(t *testing.T) {
	agenttest.Run(t, Agent, agenttest.From("../testdata"))
}

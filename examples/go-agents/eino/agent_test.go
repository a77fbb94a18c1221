package eino

import (
	"testing"

	goagents "example.com/go-agents"
)

func TestEino(t *testing.T) {
	goagents.Ask(t, Agent)
}

package fantasy

import (
	"testing"

	goagents "example.com/go-agents"
)

func TestFantasy(t *testing.T) {
	goagents.Ask(t, Agent)
}

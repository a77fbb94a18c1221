package langchaingo

import (
	"testing"

	goagents "example.com/go-agents"
)

func TestLangchaingo(t *testing.T) {
	goagents.Ask(t, Agent)
}

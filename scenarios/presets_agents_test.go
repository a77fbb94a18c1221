package scenarios

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// agentPresets are the presets whose systems are in the table of docs/agents.md, by their
// packages.
var agentPresets = map[string]string{"@openai/agents": "openai-agents", "ai": "vercel-ai", "@langchain/langgraph": "langgraph-js"}

var tableCellText = regexp.MustCompile(`^(stops|goes on|takes it|waits|ends|done|lost) (\d+)/(\d+)$`)

// The real agents in the table asked the model as often as their presets do, of a model
// that repeats a call for ever, and of one that always calls anew.
func TestPresetsAgainstAgents(t *testing.T) {
	page, err := os.ReadFile("../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		preset := agentPresets[strings.Trim(cells[0], "`")]
		if preset == "" || len(cells) < 4 {
			continue
		}
		for i, name := range []string{"stuck-loops/same-call-forever", "limits/always-new-always-ok"} {
			m := tableCellText.FindStringSubmatch(cells[2+i])
			if m == nil || m[1] != "stops" {
				t.Errorf("%s in %s: %s", cells[0], name, cells[2+i])
				continue
			}
			s := embeddedScenario(t, name)
			out := play(t, presetOf(t, preset), &s.Script, 60).runs[0]
			if got := strconv.Itoa(out.ModelCalls); got != m[2] {
				t.Errorf("%s under %s: %s requests, and %s sent %s", name, preset, got, cells[0], m[2])
			}
			compared++
		}
	}
	if compared != 2*len(agentPresets) {
		t.Errorf("%d cells were compared: is an agent missing?", compared)
	}
}

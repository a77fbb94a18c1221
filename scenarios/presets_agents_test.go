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
var agentPresets = map[string]string{"@openai/agents": "openai-agents", "ai": "vercel-ai", "@langchain/langgraph": "langgraph-js", "@mastra/core": "mastra", "llamaindex": "llamaindex-ts"}

// agentScenarios are the scenarios of the table's columns after the version, as the page
// names them below it. "" is not compared: how long an agent waits for a tool shows in no
// number of requests.
var agentScenarios = []string{"stuck-loops/same-call-forever", "limits/always-new-always-ok", "error-spirals/rate-limited-forever", "protocol/nothing-but-empty-replies",
	"protocol/answer-cut-forever", "", "recovery/rate-limited-twice", "healthy/four-checks", "healthy/fifty-files"}

// agentCap is how many requests an agent in the table may make.
const agentCap = 60

var tableCellText = regexp.MustCompile(`^(stops|goes on|takes it|waits|ends|done|lost) (\d+)/(\d+)$`)

// The real agents in the table asked the model as often as their presets do.
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
		if preset == "" || len(cells) != 2+len(agentScenarios) {
			continue
		}
		compared++
		for i, name := range agentScenarios {
			if name == "" {
				continue
			}
			m := tableCellText.FindStringSubmatch(cells[2+i])
			if m == nil {
				t.Errorf("%s in %s: %s", cells[0], name, cells[2+i])
				continue
			}
			s := embeddedScenario(t, name)
			got := play(t, presetOf(t, preset), &s.Script, agentCap).last().ModelCalls
			want, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			// What went on had no more requests or no more time.
			if got != want && (m[1] != "goes on" || got < want) {
				t.Errorf("%s under %s: %d requests, and %s sent %d", name, preset, got, cells[0], want)
			}
		}
	}
	if compared != len(agentPresets) {
		t.Errorf("%d agents were compared: is one missing?", compared)
	}
}

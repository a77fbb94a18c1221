package scenarios

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// agentPresets are the presets whose systems are in the table of docs/agents.md, by their
// packages.
var agentPresets = map[string]string{"@openai/agents": "openai-agents", "ai": "vercel-ai", "@langchain/langgraph": "langgraph-js", "@mastra/core": "mastra", "llamaindex": "llamaindex-ts",
	"adk": "adk-go", "fantasy": "fantasy", "genkit": "genkit-go", "langchaingo": "langchaingo", "eino": "eino-react",
	"claude-code": "claude-agent-sdk", "cline": "cline", "codex": "codex-cli", "gemini-cli": "gemini-cli-2026", "opencode": "opencode", "qwen-code": "qwen-code-0.24"}

// agentScenarios are the scenarios of the table's columns between the version and the day,
// as the page names them below it. "" is not compared: how long an agent waits for a tool shows in no
// number of requests.
var agentScenarios = []string{"stuck-loops/same-call-forever", "limits/always-new-always-ok", "error-spirals/rate-limited-forever", "protocol/nothing-but-empty-replies",
	"protocol/answer-cut-forever", "", "recovery/rate-limited-twice", "healthy/four-checks", "healthy/fifty-files"}

// agentDiffers says why a preset asks another number of times than the agent of the table.
var agentDiffers = map[[2]string]string{
	{"cline", "error-spirals/rate-limited-forever"}:          "below a mistake, the AI SDK and the loop of cline 3.0.65 try more often",
	{"qwen-code-0.24", "error-spirals/rate-limited-forever"}: "each of the 7 attempts is 4 of the OpenAI client's",
}

// agentCap is how many requests an agent in the table may make.
const agentCap = 60

var tableCellText = regexp.MustCompile(`^(stops|goes on|takes it|waits|ends|done|lost) (\d+)/(\d+)$`)

// The real agents in the table asked the model as often as their presets do.
func TestPresetsAgainstAgents(t *testing.T) {
	page, err := os.ReadFile("../docs/agents.md")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Load()
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
		if preset == "" || len(cells) != 3+len(agentScenarios) {
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
			s := all[slices.IndexFunc(all, func(s *Scenario) bool { return s.ID() == name })]
			got := play(t, presetOf(t, preset), &s.Script, agentCap).last().ModelCalls
			want, err := strconv.Atoi(m[2])
			if err != nil {
				t.Fatal(err)
			}
			// What went on had no more requests or no more time.
			equal := got == want || m[1] == "goes on" && got > want
			why, differs := agentDiffers[[2]string{preset, name}]
			switch {
			case differs && equal:
				t.Errorf("%s under %s: %d requests as the agent: it does not differ any more (%s)", name, preset, got, why)
			case !differs && !equal:
				t.Errorf("%s under %s: %d requests, and %s sent %d", name, preset, got, cells[0], want)
			}
		}
	}
	if compared != len(agentPresets) {
		t.Errorf("%d agents were compared: is one missing?", compared)
	}
}

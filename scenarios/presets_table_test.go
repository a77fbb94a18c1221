package scenarios

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
)

// presetCaps is what a preset does to a script of calls that none of its other
// rules is about: its cap on replies, within presetRequests. "-" = nothing.
var presetCaps = map[string]string{
	"autogen": "T1", "langchain-limits": "T5", "openai-agents": "T10", "microbot": "G10", "microbot-plan": "G10", "langgraph-js": "T13",
	"aider": "T4", "eino-react": "G6", "genkit-go": "G5", "langchaingo": "T5", "mastra-0.24": "T5", "mastra": "T5", "eino-agent": "T20", "llamaindex": "T20",
	"framework-spec": "F16", "vercel-ai": "T20", "smolagents": "F20", "crewai": "F25", "meai": "G40", "pydantic-ai": "T50",
	"recommended": "-", "none": "-", "streaming-repl": "-", "microbot-rollback": "-", "autogen-0.2": "-", "google-adk": "-", "claude-agent-sdk": "-", "codex-cli": "-", "langgraph-python": "-",
	"hpd-agent": "-", "hpd-production": "-", "hpd-development": "-", "hpd-long-running": "-", "hpd-error-tracking": "-", "hpd-as-coded": "-",
	"gemini-cli-2025": "-", "gemini-cli-2026": "-", "openhands-v0": "-", "openhands-v1": "-", "openclaw": "-", "cline": "-", "roo-code": "-", "goose": "-",
	"crush": "-", "opencode": "-", "zeroclaw": "-", "qwen-code-0.15": "-", "adk-go": "-", "llamaindex-ts": "-", "fantasy": "-", "qwen-code-0.24": "-", "qwen-code-0.24-heuristics": "-", "hermes-agent": "-", "deer-flow": "-",
}

// presetCells is what each preset does to each base script: the reply at which
// each act comes first (see cell). Empty is the preset's cap. The numbers are
// those of the published rules; where two of them meet, the note says how.
//
//	same     A A A …, one call with one result
//	changes  the same call, another result each time
//	swapped  the same call, its keys in two orders by turns
//	AB, ABC  two or three calls in rotation, each with one result
//	fails    A A A …, one error each time
//	fails-B  A fails, B succeeds, in rotation
//	AAA      three equal calls in each reply
//	A+new    A beside a new call in each reply
var presetCells = table(`
preset               | same       | changes    | swapped    | AB         | ABC     | fails      | fails-B    | AAA    | A+new
recommended          | N3 V5 S10  |            | N3 V5 S10  | N6 S24     | N9 S36  | N3 V5 S10  | N6 S24     | N1 V2 S4 | N3 V5 S10
hpd-agent            | S5         | S5         | S5         |            |         | E3         |            | S2     | S5
hpd-production       | S5         | S5         | S5         |            |         | E3         |            | S2     | S5
hpd-development      | S3         | S3         | S3         |            |         | E2         |            | S1     | S3
hpd-long-running     | S10        | S10        | S10        |            |         | E5         |            | S4     | S10
hpd-error-tracking   |            |            |            |            |         | E4         |            |        |
hpd-as-coded         | S5         | S5         |            |            |         | E3         |            | S2     |
langchain-limits     |            |            |            |            |         |            |            | L4     |
meai                 |            |            |            |            |         | E4         |            |        |
gemini-cli-2025      | S5         | S5         |            |            |         | S5         |            | S2     |
gemini-cli-2026      | V5 S6      | V5 S6      | V10 S11    | V10 S11    | V15 S16 | V5 S6      | V10 S11    | S2     |
openhands-v1         | S4         |            | S4         | S6         |         | N3 S4      | S6         | S2     |
openhands-v0         | S4         |            | S4         | S6         |         | S3         | S6         | S2     |
openclaw             | N11 V21    | N11        | N11 V21    | N10 V20    | N31     | N11 V21    | N10 V20    | N4 V7  | N11
eino-react           |            |            |            |            |         | E1         | E1         |        |
eino-agent           |            |            |            |            |         | E1         | E1         |        |
genkit-go            |            |            |            |            |         | E1         | E1         |        |
langchaingo          |            |            |            |            |         | E1         | E1         |        |
cline                | N3 S5      | N3 S5      | N3 S5      |            |         | N3 E3      |            | N1 S2  |
roo-code             | K4         | K4         | K4         |            |         | K4         |            | K2     |
goose                |            |            |            |            |         | V4         | V7         |        |
crush                | S10        |            |            |            |         | S10        |            | S10    |
opencode             |            |            |            |            |         |            |            | K1     |
pydantic-ai          |            |            |            |            |         | S2         | S3         |        |
crewai               | V2 F25     | V2 F25     | V2 F25     |            |         | V2 F25     |            | V1 F25 |
zeroclaw             | N3 V4 S5   | N3 V4 S5   | N3 V4 S5   | N8 V10 S12 |         | N3 V4 S5   | N8 V10 S12 | N1 S2  | N4 V5 S6
qwen-code-0.24       | S5         | S5         | S5         |            |         | S5         |            | S2     |
qwen-code-0.24-heuristics | S5         | S5         | S5         | S6         | S16     | S5         | S6         | S2     | S6
hermes-agent         | N3 S5      |            | N3 S5      | N6 S10     | N9 S15  | N2 S5      | N3 S10     | N1 S2  |
deer-flow            | N3 F5      | N3 F5      | N3 F5      | N5 F9      | N7 F13  | N3 F5      | N5 F9      | N3 F5  |
`)

// Notes to the table, where the published one says less or something else:
//
//   - Gemini 2026: the first firing is a veto, the second a stop (5 and 6, 10 and
//     11 …); the published table has the first. Three at once: the fifth call is
//     vetoed, the sixth stops, in one reply.
//   - OpenHands V1, keys in two orders: "depends on parsed args": arguments are
//     parsed, so that the order does not matter.
//   - OpenHands V0 fails: "3 identical actions each with an error".
//   - OpenClaw ABC: the warning on A's 11th call, which is call 31.
//   - Cline fails: the third failing turn is the third mistake, and the third
//     equal call a notice.
//   - goose fails-B: "any success resets" is said of the tool that fails
//     (section 10.5), so that A's fourth call is denied.
//   - Crush, AB and fails-B: five and five of ten.
//   - CrewAI refuses every further equal call, until its cap of 25.
//   - recommended: fails: the fifth call is vetoed, and what is vetoed is no
//     failing turn, so that the error limit of 5 is not reached.
//   - hermes fails: nudged at the second failure of the exact call; the fifth equal
//     result in a row halts.

// presetFresh is what each preset does where every call has new arguments, for
// the base scripts; what is empty is the preset's cap.
var presetFresh = table(`
preset               | same  | changes | AB         | ABC     | fails | fails-B
recommended          |       |         |            |         | E5    |
hpd-agent            |       |         |            |         | E3    |
hpd-production       |       |         |            |         | E3    |
hpd-development      |       |         |            |         | E2    |
hpd-long-running     |       |         |            |         | E5    |
hpd-error-tracking   |       |         |            |         | E4    |
hpd-as-coded         |       |         |            |         | E3    |
meai                 |       |         |            |         | E4    |
eino-react           |       |         |            |         | E1    | E1
eino-agent           |       |         |            |         | E1    | E1
genkit-go            |       |         |            |         | E1    | E1
langchaingo          |       |         |            |         | E1    | E1
cline                |       |         |            |         | E3    |
goose                |       |         |            |         | V4    | V7
pydantic-ai          |       |         |            |         | S2    | S3
zeroclaw             | N5 S7 |         | N8 V10 S12 | N13 S19 | N5 S7 | N8 V10 S12
qwen-code-0.24-heuristics | S8    | S8      |            |         | S8    |
hermes-agent         |       |         |            |         | N3 S8 | N5 S15
`)

// table reads a table: its lines by their first column, cells by the heads.
func table(text string) map[string]map[string]string {
	rows := map[string]map[string]string{}
	var heads []string
	for line := range strings.Lines(strings.TrimSpace(text)) {
		var cells []string
		for cell := range strings.SplitSeq(line, "|") {
			cells = append(cells, strings.TrimSpace(cell))
		}
		if heads == nil {
			heads = cells
			continue
		}
		row := map[string]string{}
		for i, cell := range cells[1:] {
			row[heads[i+1]] = cell
		}
		rows[cells[0]] = row
	}
	return rows
}

// expected is the cell of a table, or the preset's cap.
func expected(of map[string]map[string]string, preset, script string) string {
	if cell := of[preset][script]; cell != "" {
		return cell
	}
	return presetCaps[preset]
}

// Each preset acts on each base script where its published rule says.
func TestPresetTable(t *testing.T) {
	scripts := map[string]*fakes.Script{"swapped": scriptSame.script(swapped), "AAA": threeAtOnce(), "A+new": newPartner()}
	for _, b := range baseScripts {
		scripts[b.name] = b.script(unchanged)
	}
	for _, preset := range Presets() {
		t.Run(preset, func(t *testing.T) {
			if presetCaps[preset] == "" {
				t.Fatal("the preset is in no table: presetCaps has how it ends where nothing else stops it, presetCells what else it does with a script")
			}
			cfg := presetOf(t, preset)
			for _, name := range slices.Sorted(maps.Keys(scripts)) {
				p := play(t, cfg, scripts[name], presetRequests+1)
				if got, want := p.cell(), expected(presetCells, preset, name); got != want {
					t.Errorf("%s: got %s, want %s", name, got, want)
				}
			}
		})
	}
}

// A reply without calls is an answer, and no preset objects to one.
func TestPresetText(t *testing.T) {
	s := &fakes.Script{Task: "go", Model: []fakes.Step{{Text: "Done.", Repeat: fakes.Forever}}}
	for _, preset := range Presets() {
		p := play(t, presetOf(t, preset), s, 10)
		if got := p.cell(); got != "-" {
			t.Errorf("%s: got %s, want nothing", preset, got)
		}
	}
}

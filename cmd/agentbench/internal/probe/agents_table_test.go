//go:build unix && agents

package probe

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// tableColumns are the scenarios of docs/agents.md.
var tableColumns = []struct{ scenario, head string }{
	{"stuck-loops/same-call-forever", "the same call for ever"},
	{"limits/always-new-always-ok", "new calls for ever"},
	{"error-spirals/rate-limited-forever", "429 for ever"},
	{"protocol/nothing-but-empty-replies", "empty replies"},
	{"protocol/answer-cut-forever", "cut replies"},
	{"timeouts/deaf-tool", "a hanging tool"},
	{"recovery/rate-limited-twice", "429 twice"},
	{"healthy/four-checks", "four equal calls"},
	{"healthy/fifty-files", "fifty calls"},
}

// tableAgents are the agents of examples/probe/js, each with its package.
var tableAgents = []struct{ file, name string }{
	{"openai.mjs", "openai"}, {"openai-agents.mjs", "@openai/agents"}, {"ai.mjs", "ai"},
	{"langgraph.mjs", "@langchain/langgraph"}, {"mastra.mjs", "@mastra/core"}, {"llamaindex.mjs", "llamaindex"},
}

const jsFolder = "../../../../examples/probe/js"

// TestAgentsTable writes the table of docs/agents.md. make agents runs it.
func TestAgentsTable(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node")
	}
	var chosen []*scenarios.Scenario
	for _, c := range tableColumns {
		chosen = append(chosen, embedded(t, c.scenario))
	}
	var b strings.Builder
	b.WriteString("| agent | version |")
	for _, c := range tableColumns {
		b.WriteString(" " + c.head + " |")
	}
	b.WriteString("\n| --- | --- |" + strings.Repeat(" --- |", len(tableColumns)) + "\n")
	var missing []string
	for _, one := range tableAgents {
		version, err := packageVersion(one.name)
		if err != nil {
			missing = append(missing, one.name)
			continue
		}
		script, err := filepath.Abs(filepath.Join(jsFolder, one.file))
		if err != nil {
			t.Fatal(err)
		}
		a := tiny(t, node, script, "{TASK}")
		a.Timeout, a.Idle = 30*time.Second, 20*time.Second
		cells := map[string]string{}
		if err := a.Run(t.Context(), Plan{Scenarios: chosen, Seed: 1}, func(r *scenarios.Result) error {
			cells[r.Scenario] = tableCell(r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "| `%s` | %s |", one.name, version)
		for _, c := range tableColumns {
			fmt.Fprintf(&b, " %s |", cells[c.scenario])
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "\nMade on %s", time.Now().UTC().Format(time.DateOnly))
	if len(missing) > 0 {
		b.WriteString("; could not be installed: " + text.AnyOf(missing))
	}
	b.WriteString(".\n")
	const page, begin, end = "../../../../docs/agents.md", "<!-- agents: begin -->\n", "<!-- agents: end -->"
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks for the table", page)
	}
	if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o666); err != nil {
		t.Fatal(err)
	}
}

// tableCell says what an agent did: how often it asked, how many calls it was asked
// for, and how it ended.
func tableCell(r *scenarios.Result) string {
	how := string(r.Verdict)
	switch {
	case r.EndState == loop.Hung:
		how = "waits"
	case r.Verdict == scenarios.Inconclusive:
		how = "ends"
	case r.Label == scenarios.Runaway && r.EndState == loop.Ceiling:
		how = "goes on"
	case r.Label == scenarios.Runaway && r.Verdict == scenarios.Fail:
		how = "takes it"
	case r.Label == scenarios.Runaway:
		how = "stops"
	case r.Verdict == scenarios.Pass:
		how = "done"
	default:
		how = "lost"
	}
	return fmt.Sprintf("%s %d/%d", how, r.Requests, r.Asked)
}

func packageVersion(name string) (string, error) {
	b, err := os.ReadFile(filepath.Join(jsFolder, "node_modules", filepath.FromSlash(name), "package.json"))
	if err != nil {
		return "", err
	}
	var p struct {
		Version string `json:"version"`
	}
	return p.Version, json.Unmarshal(b, &p)
}

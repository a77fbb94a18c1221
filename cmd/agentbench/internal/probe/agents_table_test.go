//go:build unix && agents

package probe

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/toolserver"
	"github.com/agentbench-go/agentbench/fakes"
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

// A tableAgent is a row of the table.
type tableAgent struct {
	name    string
	install func(t *testing.T) (a *Agent, version string, err error)
}

// Where the agents come from.
const (
	jsFolder = "../../../../examples/probe/js"
	pyFolder = "../../../../examples/probe"
	goFolder = "../../../../examples/go-agents"
)

// tableAgents are the agents of examples, then the clients.
func tableAgents() []tableAgent {
	var all []tableAgent
	for _, one := range []struct{ file, name string }{
		{"openai.mjs", "openai"}, {"openai-agents.mjs", "@openai/agents"}, {"ai.mjs", "ai"},
		{"langgraph.mjs", "@langchain/langgraph"}, {"mastra.mjs", "@mastra/core"}, {"llamaindex.mjs", "llamaindex"},
	} {
		all = append(all, tableAgent{one.name, func(t *testing.T) (*Agent, string, error) {
			version, err := packageVersion(filepath.Join(jsFolder, "node_modules", filepath.FromSlash(one.name)))
			return tiny(t, "node", absolute(t, filepath.Join(jsFolder, one.file)), "{TASK}"), version, err
		}})
	}
	for _, one := range []struct{ name, module string }{
		{"eino", "github.com/cloudwego/eino"}, {"adk", "google.golang.org/adk"}, {"langchaingo", "github.com/tmc/langchaingo"}, {"fantasy", "charm.land/fantasy"},
		{"genkit", "github.com/firebase/genkit/go"},
	} {
		all = append(all, tableAgent{one.name, func(t *testing.T) (*Agent, string, error) {
			folder, args := goFolder, []string{one.name, "{TASK}"}
			if one.name == "genkit" { // a module of its own
				folder, args = filepath.Join(goFolder, one.name), args[1:]
			}
			program := filepath.Join(os.TempDir(), "agentbench-agents", "go-"+filepath.Base(folder))
			if _, err := output(folder, "go", "build", "-o", program, "./probe"); err != nil {
				return nil, "", err
			}
			version, err := output(folder, "go", "list", "-m", "-f", "{{.Version}}", one.module)
			return tiny(t, append([]string{program}, args...)...), strings.TrimPrefix(version, "v"), err
		}})
	}
	all = append(all, tableAgent{"scripted.py", func(t *testing.T) (*Agent, string, error) {
		version, err := output(pyFolder, "python3", "--version")
		return tiny(t, "python3", absolute(t, filepath.Join(pyFolder, "scripted.py")), "{TASK}"), version, err
	}})
	for _, name := range Clients() {
		all = append(all, tableAgent{name, func(t *testing.T) (*Agent, string, error) { return tableClient(t, name) }})
	}
	return all
}

// tableClient installs a client with npm, below the folder of temporary files, where it
// stays.
func tableClient(t *testing.T, name string) (*Agent, string, error) {
	c, err := FindClient(name)
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(os.TempDir(), "agentbench-agents", name)
	pkg := c.Package[:strings.LastIndexByte(c.Package, '@')]
	installed := filepath.Join(folder, "node_modules", filepath.FromSlash(pkg))
	if version, _ := packageVersion(installed); version != c.Package[len(pkg)+1:] {
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, "", err
		}
		if _, err := output(folder, "npm", "install", "--prefix", ".", "--no-audit", "--no-fund", "--loglevel=error", c.Package); err != nil {
			return nil, "", err
		}
	}
	var words []string
	for i, quoted := range strings.Split(c.Command, `"`) {
		if i%2 == 1 {
			words = append(words, quoted)
			continue
		}
		words = append(words, strings.Fields(quoted)...)
	}
	words[0] = filepath.Join(folder, "node_modules", ".bin", words[0])
	a := tiny(t, words...)
	a.MCP = tableMCP(a.Speed)
	c.Apply(a)
	version, err := packageVersion(installed)
	if err == nil && c.ReadVersion(t.Context(), words[0]) == "unknown" {
		err = fmt.Errorf("%s says no version", words[0])
	}
	return a, version, err
}

// tableMCP offers the script's tools over MCP.
func tableMCP(speed float64) func(*fakes.Desk) http.Handler {
	return func(desk *fakes.Desk) http.Handler {
		return toolserver.New(desk, toolserver.Options{Speed: speed}).Handler()
	}
}

// output runs a command with its output, in a module of its own if it is go.
func output(folder, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	text := strings.TrimSpace(string(out))
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", name, err, text)
	}
	return text, nil
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	out, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// tableTime is the time of a trial in the table, and healthyTime that of a healthy one,
// which is over when it is done.
const (
	tableTime   = time.Minute
	healthyTime = 5 * time.Minute
)

// TestAgentsTable writes the table of docs/agents.md. make agents runs it. The variable
// AGENTS names the agents to probe; the rows of the others, and of those that cannot be
// installed, stay as they are.
func TestAgentsTable(t *testing.T) {
	var chosen []*scenarios.Scenario
	for _, c := range tableColumns {
		chosen = append(chosen, embedded(t, c.scenario))
	}
	const page, begin, end = "../../../../docs/agents.md", "<!-- agents: begin -->\n", "<!-- agents: end -->"
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(old), begin)
	made, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no marks for the table", page)
	}
	rows := map[string]string{}
	for line := range strings.Lines(made) {
		if name, found := strings.CutPrefix(line, "| `"); found {
			rows[name[:strings.IndexByte(name, '`')]] = line
		}
	}
	wanted := strings.FieldsFunc(os.Getenv("AGENTS"), func(r rune) bool { return r == ',' || r == ' ' })
	var b strings.Builder
	b.WriteString("| agent | version |")
	for _, c := range tableColumns {
		b.WriteString(" " + c.head + " |")
	}
	b.WriteString(" probed on |\n| --- | --- |" + strings.Repeat(" --- |", len(tableColumns)+1) + "\n")
	var missing []string
	for _, one := range tableAgents() {
		if len(wanted) == 0 || slices.Contains(wanted, one.name) {
			row, err := tableRow(t, one, chosen)
			if err != nil {
				t.Logf("%s could not be installed: %v", one.name, err)
				missing = append(missing, fmt.Sprintf("`%s`: %s", one.name, text.Cut(text.Line(err.Error()), 200)))
			} else {
				rows[one.name] = row
			}
		}
		b.WriteString(rows[one.name])
	}
	if len(missing) > 0 {
		b.WriteString("\nCould not be installed on " + time.Now().UTC().Format(time.DateOnly) + ":\n\n- " + strings.Join(missing, "\n- ") + "\n")
	}
	if err := os.WriteFile(page, []byte(before+begin+b.String()+end+after), 0o666); err != nil {
		t.Fatal(err)
	}
}

// tableRow probes an agent. It returns an error if the agent is not there.
func tableRow(t *testing.T, one tableAgent, chosen []*scenarios.Scenario) (string, error) {
	a, version, err := one.install(t)
	if err != nil {
		return "", err
	}
	a.Idle = tableTime
	cells := map[string]string{}
	for label, limit := range map[scenarios.Label]time.Duration{scenarios.Runaway: tableTime, scenarios.Healthy: healthyTime} {
		a.Timeout = limit
		of := slices.DeleteFunc(slices.Clone(chosen), func(s *scenarios.Scenario) bool { return s.Label != label })
		if err := a.Run(t.Context(), Plan{Scenarios: of, Seed: 1, Jobs: 2}, func(r *scenarios.Result) error {
			t.Logf("%s %s: %s, %d requests, %d calls: %s %v", one.name, r.Scenario, r.Verdict, r.Requests, r.Asked, r.Why, r.Findings)
			cells[r.Scenario] = tableCell(r)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	row := fmt.Sprintf("| `%s` | %s |", one.name, version)
	for _, c := range tableColumns {
		row += " " + cells[c.scenario] + " |"
	}
	return row + " " + time.Now().UTC().Format(time.DateOnly) + " |\n", nil
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

// packageVersion returns the version of an installed package of npm.
func packageVersion(folder string) (string, error) {
	b, err := os.ReadFile(filepath.Join(folder, "package.json"))
	if err != nil {
		return "", err
	}
	var p struct {
		Version string `json:"version"`
	}
	return p.Version, json.Unmarshal(b, &p)
}

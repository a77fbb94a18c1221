package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

func TestChoose(t *testing.T) {
	dir := t.TempDir()
	notes := filepath.Join(dir, "notes.txt")
	path := `{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`
	for _, tt := range []struct {
		name  string
		tools []loop.ToolSpec
		want  string // name and arguments, "" = none
		next  string // the arguments of the second call that differs
	}{
		{"a reader before a search and a shell", []loop.ToolSpec{{Name: "bash", Input: `{"required":["command"],"properties":{"command":{"type":"string"}}}`}, {Name: "grep_search", Input: `{"required":["q"],"properties":{"q":{"type":"string"}}}`}, {Name: "readFile", Input: path}},
			`readFile {"path":"` + notes + `"}`, `{"path":"` + filepath.Join(dir, "notes-2.txt") + `"}`},
		{"a search", []loop.ToolSpec{{Name: "search_customers", Input: `{"required":["query","limit"],"properties":{"query":{"type":"string"},"limit":{"type":"integer","minimum":5}}}`}},
			`search_customers {"limit":5,"query":"notes"}`, `{"limit":5,"query":"notes 2"}`},
		{"a shell", []loop.ToolSpec{{Name: "exec_command", Input: `{"required":["command"],"properties":{"command":{"type":"string"}}}`}},
			`exec_command {"command":"cat '` + notes + `'"}`, `{"command":"cat '` + filepath.Join(dir, "notes-2.txt") + `'"}`},
		{"nothing that writes, sends or asks the web", []loop.ToolSpec{{Name: "write_file", Input: path}, {Name: "get_url"}, {Name: "send_mail"}, {Name: "web_search"}, {Name: "frobnicate"}, {Name: "read_and_delete"}}, "", ""},
		{"required arguments of every type", []loop.ToolSpec{{Name: "get_data", Input: `{"required":["mode","on","ids","at","n","c"],"properties":{"mode":{"enum":["fast","slow"]},"on":{"type":"boolean"},"ids":{"type":"array","items":{"type":"string"}},"at":{"type":"object","required":["x"],"properties":{"x":{"type":"number"}}},"n":{"type":"integer"},"c":{"const":7}}}`}},
			`get_data {"at":{"x":1},"c":7,"ids":["notes"],"mode":"fast","n":1,"on":false}`, `{"at":{"x":1},"c":7,"ids":["notes"],"mode":"fast","n":2,"on":false}`},
		{"an optional argument makes the difference", []loop.ToolSpec{{Name: "list_orders", Input: `{"properties":{"page":{"type":"integer"}}}`}}, `list_orders {}`, `{"page":1}`},
		{"no argument, no difference", []loop.ToolSpec{{Name: "get_time"}}, `get_time {}`, `{}`},
		{"a nullable text", []loop.ToolSpec{{Name: "view", Input: `{"required":["file"],"properties":{"file":{"anyOf":[{"type":"null"},{"type":"string"}]}}}`}}, `view {"file":"` + notes + `"}`, `{"file":"` + filepath.Join(dir, "notes-2.txt") + `"}`},
	} {
		got, next := "", ""
		if tool := Choose(tt.tools, dir); tool != nil {
			got, next = tool.Name+" "+tool.Args, tool.args(1, dir)
		}
		if got != tt.want || next != tt.next {
			t.Errorf("%s: %s, then %s; want %s, then %s", tt.name, got, next, tt.want, tt.next)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "notes-2.txt")); err != nil || len(b) == 0 {
		t.Errorf("the second file is not there: %v", err)
	}
}

func TestGivenTool(t *testing.T) {
	a := &Agent{Scratch: t.TempDir()}
	look := &Look{Tools: []loop.ToolSpec{{Name: "search", Input: `{"properties":{"q":{"type":"string"}}}`}, {Name: "erase"}}}
	tool, err := a.OwnTool(look, "search", `{"q":"milk"}`)
	if err != nil || tool.Args != `{"q":"milk"}` || tool.args(1, a.Scratch) != `{"q":"milk 2"}` {
		t.Errorf("%+v, %v", tool, err)
	}
	for _, tt := range []struct{ named, args, want string }{
		{"serch", "", "no tool"}, {"search", "[]", "not a JSON object"}, {"search", `{"q":`, "not a JSON object"},
	} {
		if _, err := a.OwnTool(look, tt.named, tt.args); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s %s: %v", tt.named, tt.args, err)
		}
	}
	if _, err := a.OwnTool(&Look{Tools: look.Tools[1:]}, "", ""); err == nil || !strings.Contains(err.Error(), "harmless") {
		t.Errorf("a harmful tool is chosen: %v", err)
	}
	if _, err := a.OwnTool(&Look{}, "", ""); err == nil || !strings.Contains(err.Error(), "no tools") {
		t.Errorf("no tools: %v", err)
	}
}

// Equal calls stay equal, those that differ differ, and what the script has no tool
// for stays.
func TestPattern(t *testing.T) {
	dir := t.TempDir()
	own, err := makeTool(loop.ToolSpec{Name: "look_up", Input: `{"required":["key"],"properties":{"key":{"type":"string"}}}`}, "", dir)
	if err != nil {
		t.Fatal(err)
	}
	p := newPattern(own, dir, []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "read"}}, {ToolSpec: loop.ToolSpec{Name: "list"}}})
	calls := []loop.AskedCall{{Name: "read", Args: `{"a":1,"b":2}`}, {Name: "list", Args: `{"a":1,"b":2}`}, {Name: "read", Args: `{"b":2,"a":1}`}, {Name: "nobody", Args: `{"x":1}`}, {Name: " read ", Args: `{"a":`}, {Name: "list", Args: `{"a":1,"b":2}`}}
	p.carry(nil, calls)
	want := []loop.AskedCall{{Name: "look_up", Args: `{"key":"notes"}`}, {Name: "look_up", Args: `{"key":"notes 2"}`}, {Name: "look_up", Args: `{"key":"notes"}`}, {Name: "nobody", Args: `{"x":1}`}, {Name: "look_up", Args: `{"a":`}, {Name: "look_up", Args: `{"key":"notes 2"}`}}
	if !slices.Equal(calls, want) {
		t.Errorf("got %+v, want %+v", calls, want)
	}
}

func TestEnvironment(t *testing.T) {
	own := []string{"PATH=/bin", "OPENAI_API_KEY=sk-real", "GITHUB_TOKEN=ghp", "AWS_SECRET_ACCESS_KEY=x", "DB_PASSWORD=y", "MONKEY=1", "AGENTBENCH_CAP=3", "HOME=/root", "PASSED_TOKEN=z"}
	env, left := environment(own, []string{"PASSED_TOKEN"}, variables(&place{base: "http://h/p", task: "go"}))
	if want := []string{"AWS_SECRET_ACCESS_KEY", "DB_PASSWORD", "GITHUB_TOKEN"}; !slices.Equal(left, want) {
		t.Errorf("left out %q, want %q", left, want)
	}
	for _, want := range []string{"PATH=/bin", "MONKEY=1", "HOME=/root", "PASSED_TOKEN=z", "OPENAI_API_KEY=agentbench", "OPENAI_BASE_URL=http://h/p/v1", "ANTHROPIC_BASE_URL=http://h/p", "GOOGLE_GEMINI_BASE_URL=http://h/p", "AGENTBENCH_TASK=go"} {
		if !slices.Contains(env, want) {
			t.Errorf("%q is not in %q", want, env)
		}
	}
	if slices.ContainsFunc(env, func(e string) bool { return strings.Contains(e, "sk-real") || strings.HasPrefix(e, "AGENTBENCH_CAP") }) {
		t.Errorf("%q has what it must not", env)
	}
}

// Of the last lines those are shown that say why, if there are any.
func TestSays(t *testing.T) {
	for _, tt := range []struct{ stderr, stdout, want string }{
		{"", "the answer\nloop detected", "loop detected"},
		{"a\nb\nc", "the answer", "b|c"},
		{"exceeded retry limit: 429\ntokens used\n6,430", "", "exceeded retry limit: 429"},
		{"ripgrep is missing", "1\nLoop detection halted the run", "Loop detection halted the run"},
		{"file:///a.mjs:20\nthrow new Error(\"too many turns\");\n^\n\nError: too many turns\n    at a.mjs:20", "", "Error: too many turns"},
		{"AI_RetryError [ai]: Failed after 3 attempts\n  statusCode: 429\ndata: undefined\n}", "", "AI_RetryError [ai]: Failed after 3 attempts"},
		{strings.Repeat("x", keptBytes) + "rest of a line\nthe last", "", "the last"},
		{"", "", ""},
	} {
		p := &process{}
		p.stderr.Write([]byte(tt.stderr))
		p.stdout.Write([]byte(tt.stdout))
		if got := strings.Join(p.says(), "|"); got != tt.want {
			t.Errorf("%q, %q: %q, want %q", tt.stderr, tt.stdout, got, tt.want)
		}
	}
}

func TestTail(t *testing.T) {
	var out tail
	for range 3000 {
		out.Write([]byte("a line that is long enough\n"))
	}
	out.Write([]byte("\nlast but one\n \nlast"))
	if got := out.lines(2); !slices.Equal(got, []string{"last but one", "last"}) || len(out.end) > keptBytes {
		t.Errorf("%q, %d bytes", got, len(out.end))
	}
	out.Write([]byte("\nError: too many\n(node:7) Warning: old\n    at main (agent.mjs:3)\n}\n\nNode.js v20.20.2\n"))
	if got := out.lines(1); !slices.Equal(got, []string{"Error: too many"}) {
		t.Errorf("%q", got)
	}
	out.Write([]byte("\x1b]0;agent\x07\x1b[2K 10%\rall 100\r\n\x1b[91m\x1b[1mError: \x1b[0mtoo \x1b[38;5;1mmany\r\n\x1b[0m\n"))
	if got := out.lines(2); !slices.Equal(got, []string{"all 100", "Error: too many"}) {
		t.Errorf("%q", got)
	}
	out.Write(make([]byte, 1<<20))
	if len(out.end) != keptBytes || out.n < 1<<20 {
		t.Errorf("%d bytes of %d", len(out.end), out.n)
	}
}

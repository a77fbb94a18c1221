package serve

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// The names under which clients declare a tool read_file of a server bench, as they
// were seen in their requests, and what must never be taken for it.
func TestDeclaredNames(t *testing.T) {
	script := &fakes.Script{Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "read_file"}}, {ToolSpec: loop.ToolSpec{Name: "list.all"}}},
		Model: []fakes.Step{{Calls: []fakes.StepCall{call("read_file", `{"path":"a"}`), call("list.all", `{}`), call("no_such_tool", `{}`)}}}}
	for _, tt := range []struct {
		client   string
		server   string
		declared []string // namespace/name, or a name
		want     []string // of the calls; nil = the request is refused
		scripted string
	}{
		{"claude-code, qwen-code", "", []string{"mcp__bench__read_file", "mcp__bench__list_all"}, []string{"mcp__bench__read_file", "mcp__bench__list_all", "no_such_tool"}, "read_file list.all"},
		{"gemini-cli, with a tool of its own", "", []string{"read_file", "mcp_bench_read_file", "mcp_bench_list.all"}, []string{"mcp_bench_read_file", "mcp_bench_list.all", "no_such_tool"}, "read_file list.all"},
		{"opencode, mastra", "", []string{"bench_read_file", "bench_list_all", "bash"}, []string{"bench_read_file", "bench_list_all", "no_such_tool"}, "read_file list.all"},
		{"cline", "", []string{"bench__read_file", "Bench-List-All"}, []string{"bench__read_file", "Bench-List-All", "no_such_tool"}, "read_file list.all"},
		{"codex", "", []string{"mcp__bench/read_file", "mcp__bench/list_all", "exec"}, []string{"mcp__bench/read_file", "mcp__bench/list_all", "no_such_tool"}, "read_file list.all"},
		{"a library", "", []string{"read_file", "list.all"}, []string{"read_file", "list.all", "no_such_tool"}, "read_file list.all"},
		{"another server", "My Tools", []string{"mcp__my-tools__read_file", "my_tools_list_all"}, []string{"mcp__my-tools__read_file", "my_tools_list_all", "no_such_tool"}, "read_file list.all"},
		{"a part of the tools", "", []string{"mcp__bench__read_file", "list.all"}, nil, "read_file"},
		{"never the end alone", "", []string{"fs_read_file", "workbench_read_file", "mcp__bench__fread_file"}, []string{"read_file", "list.all", "no_such_tool"}, ""},
		{"nothing", "", nil, []string{"read_file", "list.all", "no_such_tool"}, ""},
	} {
		t.Run(tt.client, func(t *testing.T) {
			var seen Seen
			server, err := New([]Scenario{{"mine/names", script}}, Options{Speed: 1e6, ServerName: tt.server, Observe: func(s *Seen) { seen = *s }})
			if err != nil {
				t.Fatal(err)
			}
			var tools []object
			for _, name := range tt.declared {
				space, inner, ok := strings.Cut(name, "/")
				if ok {
					tools = append(tools, object{"type": "namespace", "name": space, "tools": []object{{"type": "function", "name": inner}}})
				} else {
					tools = append(tools, object{"type": "function", "name": name})
				}
			}
			if tools == nil { // not an aside
				tools = []object{{"type": "function", "name": "other"}}
			}
			w := post(server, "/v1/responses", jsonText(t, object{"model": "any", "input": "hi", "tools": tools}))
			if tt.want == nil {
				if want := `the script calls "list.all", but of its tools the agent offers only read_file`; w.Code != 422 || !strings.Contains(w.Body.String(), jsonText(t, want)[1:len(want)]) {
					t.Errorf("%d %s", w.Code, w.Body)
				}
			} else if diff := cmp.Diff(tt.want, calledNames(t, w.Body.String())); diff != "" {
				t.Error(diff)
			}
			if got := strings.Join(seen.Scripted, " "); got != tt.scripted {
				t.Errorf("of the script's tools it saw %q", got)
			}
			for _, c := range seen.Calls {
				if tt.want != nil && c.Name != script.Model[0].Calls[c.N-1].Name {
					t.Errorf("the observer was told of %s", c.Name)
				}
			}
			streamed := post(server, "/v1/responses", jsonText(t, object{"model": "any", "input": "hi", "tools": tools, "stream": true})).Body.String()
			for _, name := range tt.want {
				if space, inner, ok := strings.Cut(name, "/"); ok && strings.Count(streamed, fmt.Sprintf(`"name":%q,"namespace":%q`, inner, space)) != 3 { // added, done, completed
					t.Errorf("the stream does not tell %s in its events:\n%s", name, streamed)
				}
			}
		})
	}
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// calledNames returns the names of the calls of a response, after their namespaces.
func calledNames(t *testing.T, body string) (names []string) {
	for _, item := range decode[struct {
		Output []struct{ Type, Name, Namespace string }
	}](t, body).Output {
		if item.Type == "function_call" {
			names = append(names, strings.TrimPrefix(item.Namespace+"/"+item.Name, "/"))
		}
	}
	return names
}

// The other APIs call tools by their declared names too, and take them back as the
// script's.
func TestDeclaredNamesOfEachAPI(t *testing.T) {
	script := &fakes.Script{Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "f"}}},
		Model: []fakes.Step{{Calls: []fakes.StepCall{call("f", `{"n":1}`)}}, {Text: "done"}}}
	var seen Seen
	server, err := New([]Scenario{{"mine/names", script}}, Options{Speed: 1e6, Observe: func(s *Seen) { seen = *s }})
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, c client, stream bool) {
		ask := func(history ...loop.Message) answer {
			w := post(server, c.path, strings.ReplaceAll(c.json(history, stream), `"name":"f"`, `"name":"mcp__bench__f"`))
			if stream {
				return c.events(t, parseEvents(t, w.Body.String()))
			}
			return c.read(t, w.Body.Bytes())
		}
		a := ask(hi)
		if len(a.Calls) != 1 || a.Calls[0].Name != "mcp__bench__f" {
			t.Fatalf("%+v", a)
		}
		reply := replied("", a.Calls[0].ID)
		reply.Calls[0].Name, reply.Calls[0].Args = "mcp__bench__f", a.Calls[0].Args
		if a := ask(hi, reply, result(a.Calls[0].ID, "ok")); a.Text != "done" {
			t.Errorf("%+v", a)
		}
		if got := seen.History[1].Calls[0].Name; got != "f" {
			t.Errorf("the history calls %s", got)
		}
	})
}

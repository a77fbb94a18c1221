package telemetry_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/telemetry"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// TestRoundTrip reads what agentbench sends as spans back as a trajectory: it has
// the turns, and the calls with their arguments, codes and results as the model
// was given them. What was said is not sent.
func TestRoundTrip(t *testing.T) {
	const chat = `{"messages":[
{"role":"user","content":"hi"},
{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f","arguments":"{\"a\":1}"}},{"id":"2","function":{"name":"g","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"1","content":"one"},
{"role":"tool","tool_call_id":"2","content":"two"},
{"role":"assistant","tool_calls":[{"id":"3","function":{"name":"f","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"3","content":"three"},
{"role":"assistant","content":"done"}]}`
	sent := read(t, "chat.json", strings.ReplaceAll(chat, "\n", ""))
	sent.Runs[0].Turns[0].Calls[1].Result.Code = loop.ToolBug
	_, trace, err := trajectories.Play(t.Context(), sent, scenarios.Variant{Name: "v", Config: loop.Off()})
	if err != nil {
		t.Fatal(err)
	}
	const want = `user ""
  turn "" f({"a":1})="one" g({})=ToolBug:"Error: two"
  turn "" f({})="three"
  turn ""
`
	if got := sketch(read(t, "spans.jsonl", export(t, trace))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// read reads the only trajectory of a file with that content.
func read(t *testing.T, name, content string) *trajectories.Trajectory {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, problems := trajectories.Read(file, "")
	if len(runs) != 1 || len(problems) != 0 {
		t.Fatalf("%s: %d runs, problems %v", name, len(runs), problems)
	}
	return runs[0]
}

// sketch writes a trajectory as a line for each message of the user, and below it
// one for each turn with its calls and their results.
func sketch(r *trajectories.Trajectory) string {
	var b strings.Builder
	for _, run := range r.Runs {
		fmt.Fprintf(&b, "user %q\n", run.User)
		for _, turn := range run.Turns {
			fmt.Fprintf(&b, "  turn %q", turn.Text)
			for _, c := range turn.Calls {
				fmt.Fprintf(&b, " %s(%s)=", c.Name, c.Args)
				if c.Result.Code != "" {
					fmt.Fprintf(&b, "%s:", c.Result.Code)
				}
				fmt.Fprintf(&b, "%q", c.Result.Text)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// export sends a trace as spans, and returns the requests as lines of JSON.
func export(t *testing.T, trace loop.Trace) string {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body := io.Reader(req.Body)
		if req.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(req.Body)
		}
		data, err := io.ReadAll(body)
		var got collector.ExportTraceServiceRequest
		if err != nil || proto.Unmarshal(data, &got) != nil {
			http.Error(w, "no", http.StatusBadRequest)
			return
		}
		line, err := protojson.Marshal(&got)
		if err != nil {
			http.Error(w, "no", http.StatusInternalServerError)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, string(line))
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	defer server.Close()
	x, err := telemetry.NewExporter(t.Context(), server.URL, 7)
	if err != nil {
		t.Fatal(err)
	}
	x.Content = true
	x.Send(t.Context(), "suite/name", trace, strings.Clone)
	if err := x.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return strings.Join(lines, "\n")
}

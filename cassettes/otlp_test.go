package cassettes

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/agentbench-go/agentbench/internal/telemetry"
	"github.com/agentbench-go/agentbench/loop"
)

// What agentbench sends as spans is read again: the turns, and the calls with
// their arguments, codes and results as the model was given them. What was said
// is not sent.
func TestOTLPOfOurOwn(t *testing.T) {
	sent := chat(t, "user: hi", `f({"a":1}) g({})`, "= one", "= !two", "f({})", "= three", "done")
	_, trace := play(t, sent, loop.Off())
	recordings, problems := Read(write(t, "spans.jsonl", export(t, trace)), "")
	if len(recordings) != 1 || len(problems) != 0 {
		t.Fatalf("%d recordings, problems %v", len(recordings), problems)
	}
	want := text(`
user ""
  turn "" f({"a":1})="one" g({})=ToolBug:"Error: two"
  turn "" f({})="three"
  turn ""
`)
	if got := sketch(recordings[0]); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// export sends a trace as spans, and gives the requests as lines of JSON.
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
	x.Send(t.Context(), "suite/name", trace)
	if err := x.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	return strings.Join(lines, "\n")
}

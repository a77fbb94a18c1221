package trajectories

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// realFormats holds logs in the formats of agents, frameworks and traces, and a list of
// the calls in each as a script of its own counted them. They are not part of the
// repository.
const realFormats = "../../../shared/data/formats"

// A realFile is a line of the list.
type realFile struct {
	file  string
	calls int
	known bool // the calls were counted
}

func listRealFormats(t *testing.T) (files []realFile) {
	t.Helper()
	f, err := os.Open(filepath.Join(realFormats, "MANIFEST.tsv"))
	if err != nil {
		t.Skipf("the logs in other formats are not here: %v", err)
	}
	defer f.Close()
	tsv := csv.NewReader(f)
	tsv.Comma, tsv.LazyQuotes = '\t', true
	rows, err := tsv.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		n, err := strconv.Atoi(row[8])
		files = append(files, realFile{strings.TrimPrefix(row[4], "formats/"), n, err == nil})
	}
	return files
}

// recounted corrects the counts of the list where a person counted otherwise.
var recounted = map[string]int{
	// One call, which stands in three places of the state.
	"openai-responses-items/v1_13_programmatic_tool_calling.json": 1,
	// web_search_call is the server's own.
	"codex-rollout/agent-sessions-small.jsonl": 6,
	// One id: the calls of the same message, as tool_calls and in additional_kwargs.
	"langchain-messages/langgraph-js.json": 1,
	// Two answers with a call each, which the cassette also has as parsed_body.
	"bedrock-traffic/test_bedrock_mixed_strict_tool_run.yaml": 2,
	// Of nine, the provider executed one.
	"vercel-model-messages/generate-text-1.json": 8,
	// The list counts calls in answers; here it stands in the history of the request.
	"ollama-traffic/test_ollama_chat_tool_calls_legacy.yaml": 1,
}

// unread are the folders whose formats have no reader.
var unread = []string{"otlp-openinference", "otlp-vercel-ai", "otlp-traceloop", "otlp-genai", "langfuse-trace", "langsmith-runs", "inspect-eval", "gemini-cli-session",
	"gemini-contents", "opencode", "copilot-cli-session", "kimi-session", "openhands-v1-events", "har-llm", "atif-trajectory", "litellm-log"}

// The calls in each file are those of the list.
func TestCallsOfRealFormats(t *testing.T) {
	for _, f := range listRealFormats(t) {
		if folder, _, _ := strings.Cut(f.file, "/"); !f.known || slices.Contains(unread, folder) {
			continue
		}
		t.Run(f.file, func(t *testing.T) {
			runs, problems := Read(filepath.Join(realFormats, filepath.FromSlash(f.file)), "")
			calls := 0
			for _, r := range runs {
				r.eachCall(func(*Call) { calls++ })
			}
			want := f.calls
			if n, ok := recounted[f.file]; ok {
				want = n
			}
			if calls != want {
				t.Errorf("%d calls in %d runs, want %d; problems: %v", calls, len(runs), want, problems)
			}
		})
	}
}

package trajectories

import (
	"encoding/csv"
	"os"
	"path/filepath"
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
	// The list counts spans of tools; the answer in the tool final_result has none.
	"langfuse-trace/pydantic-ai-tools-2025-12-04.json": 4,
	// The list counts calls in answers; here it stands in the history of the request.
	"ollama-traffic/test_ollama_chat_tool_calls_legacy.yaml": 1,
}

// The calls in each file are those of the list. Protobuf needs a decoder, which the
// command has, and opencode's storage is several files a run.
func TestCallsOfRealFormats(t *testing.T) {
	for _, f := range listRealFormats(t) {
		if !f.known || strings.HasSuffix(f.file, ".pb") || strings.HasPrefix(f.file, "opencode/storage_v2/") {
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

// The sessions in the storage of opencode have the calls of their parts; other files of
// it are read with them.
func TestRealOpenCodeStorage(t *testing.T) {
	listRealFormats(t)
	files, problems := Find([]string{filepath.Join(realFormats, "opencode", "storage_v2")})
	var calls, runs int
	for _, file := range files {
		more, bad := Read(file, "")
		runs, problems = runs+len(more), append(problems, bad...)
		for _, r := range more {
			r.eachCall(func(*Call) { calls++ })
		}
	}
	if runs != 2 || calls != 2 {
		t.Errorf("%d runs with %d calls, want 2 with 2", runs, calls)
	}
	for _, p := range problems {
		if p.Kind != Partly {
			t.Error(p)
		}
	}
}

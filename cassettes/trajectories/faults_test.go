package trajectories

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
)

// readText reads a file with this name and content.
func readText(t *testing.T, r Reader, name, content string) ([]*Trajectory, []*Problem) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return r.Read(path)
}

// sketches joins the sketches of runs.
func sketches(runs []*Trajectory) string {
	var b strings.Builder
	for _, r := range runs {
		b.WriteString(sketchWithTokens(r))
	}
	return b.String()
}

// What is odd in a file is counted and told at its first place, and the file is read.
func TestNotes(t *testing.T) {
	for name, c := range map[string]struct {
		messages string
		dropped  int
		missing  int
		late     int
		unread   []Unread
		notes    []string
	}{
		"in order":              {`{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","function":"f"}]},{"role":"tool","tool_call_id":"1","content":"x"},{"role":"assistant","content":"b"}`, 0, 0, 0, nil, nil},
		"unanswered at the end": {`{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","function":"f"}]}`, 0, 0, 0, nil, nil},
		"no call for a result":  {`{"role":"user","content":"a"},{"role":"tool","tool_call_id":"9","content":"x"},{"role":"assistant","content":"b"}`, 1, 0, 0, nil, []string{"results that answer no call, left out: 1 in 1 run, first in line=1"}},
		"no result":             {`{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","function":"f"},{"id":"2","function":"g"}]},{"role":"tool","tool_call_id":"1","content":"x"},{"role":"assistant","content":"b"}`, 0, 1, 0, nil, []string{"calls without a result although the run goes on, replayed with an empty one: 1 in 1 run, first in line=1"}},
		"a late result":         {`{"role":"user","content":"a"},{"role":"assistant","tool_calls":[{"id":"1","function":"f"}]},{"role":"user","content":"quick"},{"role":"assistant","content":"yes"},{"role":"tool","tool_call_id":"1","content":"x"}`, 0, 0, 1, nil, []string{"results that come after a later turn or user message, replayed with their calls: 1 in 1 run, first in line=1"}},
		"unknown blocks":        {`{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"hologram","x":1},{"type":"text","text":"b"}]},{"role":"assistant","content":[{"type":"hologram"}]}`, 0, 0, 0, []Unread{{"hologram", 2, 2}}, []string{`"hologram" is not known and was not read, though it may hold calls or results: 2 in 1 run, first in line=1, message 2`}},
		"an unknown field":      {`{"role":"user","content":"a"},{"role":"assistant","content":"b","tool_requests":[{"name":"f"}]}`, 0, 0, 0, []Unread{{"tool_requests", 1, 2}}, []string{`"tool_requests" is not known and was not read, though it may hold calls or results: 1 in 1 run, first in line=1, message 2`}},
	} {
		t.Run(name, func(t *testing.T) {
			runs, problems := readText(t, Reader{}, "a.json", "["+c.messages+"]")
			if len(runs) != 1 || len(problems) > 0 {
				t.Fatalf("%d runs, problems %v", len(runs), problems)
			}
			r := runs[0]
			if r.Dropped != c.dropped || r.Missing != c.missing || r.Late != c.late || !cmp.Equal(r.Unread, c.unread) {
				t.Errorf("dropped %d, missing %d, late %d, unread %v; want %d, %d, %d, %v", r.Dropped, r.Missing, r.Late, r.Unread, c.dropped, c.missing, c.late, c.unread)
			}
			var notes Notes
			notes.Add(runs)
			var got []string
			for _, p := range notes.Problems() {
				if p.Kind != Noted {
					t.Errorf("kind %d, want noted", p.Kind)
				}
				got = append(got, p.Text)
			}
			if diff := cmp.Diff(c.notes, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Files with the same oddity make one note.
func TestNotesOverFiles(t *testing.T) {
	var notes Notes
	for i := range 3 {
		notes.Add([]*Trajectory{{Name: fmt.Sprint("r", i), File: "a.json", Dropped: 2}})
	}
	want := "a.json: results that answer no call, left out: 6 in 3 runs, first in r0"
	if all := notes.Problems(); len(all) != 1 || all[0].Error() != want {
		t.Errorf("got %v, want %s", all, want)
	}
}

// A run that equals another one in every word, ids included, is told; a run without calls
// and one with other ids are not.
func TestRunsTwice(t *testing.T) {
	run := func(file, id, result string) *Trajectory {
		r := &Trajectory{Name: "r", File: file, Runs: []*Run{{User: "go", Turns: []*Turn{{Text: "x"}}}}}
		if id != "" {
			r.Runs[0].Turns[0].Calls = []*Call{{ID: id, Name: "f", Args: "{}", Result: &Result{Text: result}}}
		}
		return r
	}
	var notes Notes
	notes.Add([]*Trajectory{run("a.json", "1", "y"), run("b.json", "2", "y"), run("c.json", "1", "z"), run("d.json", "", ""), run("e.json", "", "")})
	if all := notes.Problems(); len(all) > 0 {
		t.Errorf("got %v", all)
	}
	notes.Add([]*Trajectory{run("f.json", "2", "y"), run("g.json", "1", "y")})
	want := "f.json: 2 runs are equal to another one in every word, and count again: first r, which is b.json/r"
	if all := notes.Problems(); len(all) != 1 || all[0].Error() != want || all[0].Kind != Noted {
		t.Errorf("got %v, want %s", all, want)
	}
}

// Files without a run that agents leave in a folder do not count as errors.
func TestNothingToReplay(t *testing.T) {
	for name, content := range map[string]string{
		"no messages":         `{"messages": []}`,
		"a summary":           `{"type":"summary","summary":"x","leafUuid":"u"}`,
		"a snapshot of files": `{"type":"file-history-snapshot","messageId":"m","snapshot":{}}`,
		"talking agents":      `{"is_correct":false,"history":[{"content":"I think","role":"assistant","name":"Expert"}],"mistake_agent":"Expert","mistake_step":"0"}`,
	} {
		t.Run(name, func(t *testing.T) {
			runs, problems := readText(t, Reader{}, "a.json", content)
			if len(runs) != 0 || len(problems) != 1 || problems[0].Kind != Nothing || !strings.HasPrefix(problems[0].Text, "nothing to replay: ") {
				t.Errorf("%d runs, problems %v", len(runs), problems)
			}
		})
	}
}

// A file of Claude Code with nothing but a side chain is the sub-agent's run.
func TestSideChainAlone(t *testing.T) {
	runs, problems := readText(t, Reader{}, "agent-1.jsonl", `{"type":"user","isSidechain":true,"sessionId":"s","message":{"role":"user","content":"look"}}
{"type":"assistant","isSidechain":true,"sessionId":"s","message":{"role":"assistant","id":"m","usage":{"input_tokens":7,"output_tokens":2},"content":[{"type":"tool_use","id":"1","name":"ls","input":{}}]}}
{"type":"assistant","isSidechain":true,"sessionId":"s","message":{"role":"assistant","id":"m","usage":{"input_tokens":7,"output_tokens":2},"content":[{"type":"tool_use","id":"2","name":"pwd","input":{}}]}}
`)
	want := block(`
user "look"
  turn "" ls({})=? pwd({})=? 7+2
`)
	if got := sketches(runs); got != want || len(problems) > 0 {
		t.Errorf("got:\n%swant:\n%sproblems %v", got, want, problems)
	}
}

// A call whose answer the recording ends before does not count as an error.
func TestUnansweredIsNoError(t *testing.T) {
	result, _ := play(t, chat(t, "user: hi", "f({})"), loop.Off())
	if result.Calls != 1 || result.Errors != 0 || len(result.Codes) != 0 {
		t.Errorf("%d calls, %d errors, codes %v; want 1, none, none", result.Calls, result.Errors, result.Codes)
	}
}

// Compressed files are read, or refused by name.
func TestCompressedFiles(t *testing.T) {
	const content = `[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}]`
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte(content))
	z.Close()
	upper := Decoders{"zstd": func(data []byte, _ int) ([]byte, error) { return data[4:], nil }}
	broken := Decoders{"zstd": func([]byte, int) ([]byte, error) { return nil, errors.New("no frame") }}
	const zstd = "\x28\xb5\x2f\xfd" + content
	for name, c := range map[string]struct {
		reader  Reader
		file    string
		content string
		problem string
	}{
		"gzip":              {Reader{}, "a.json.gz", zipped.String(), ""},
		"half a gzip":       {Reader{}, "a.json.gz", zipped.String()[:30], "broken gzip: unexpected EOF"},
		"zstd":              {Reader{Decoders: upper}, "a.json.zst", zstd, ""},
		"zstd, not built":   {Reader{}, "a.json.zst", zstd, "the file is compressed with zstd, which this program was built without"},
		"broken zstd":       {Reader{Decoders: broken}, "a.json.zst", zstd, "the file is compressed with zstd and broken: no frame"},
		"OTLP in protobuf":  {Reader{}, "a.pb", "\n\xff\xff", "the file is in protobuf, which this program was built without"},
		"a SQLite database": {Reader{}, "state.db", "SQLite format 3\x00", "a SQLite database: export its sessions as JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			runs, problems := readText(t, c.reader, c.file, c.content)
			switch {
			case c.problem == "" && (len(runs) != 1 || len(problems) > 0):
				t.Errorf("%d runs, problems %v", len(runs), problems)
			case c.problem != "" && (len(problems) != 1 || problems[0].Text != c.problem):
				t.Errorf("problems %v, want %s", problems, c.problem)
			}
		})
	}
}

// A body that was recorded as YAML is its JSON.
func TestBodyAsYAML(t *testing.T) {
	runs, problems := readText(t, Reader{}, "a.yaml", `version: 1
interactions:
- request: {method: POST, uri: https://x/v1/chat/completions, body: {model: m, messages: [{role: user, content: hi}]}}
  response: {status: {code: 200}, body: {string: '{"choices":[{"index":0,"message":{"content":"ho"},"finish_reason":"stop"}]}'}}
`)
	if got, want := sketches(runs), "user \"hi\"\n  turn \"ho\"\n"; got != want || len(problems) > 0 {
		t.Errorf("got:\n%swant:\n%sproblems %v", got, want, problems)
	}
}

// Headers may end in LF alone, a body may be sent in chunks, and an exchange that cannot
// be read does not hide the next one.
func TestHTTPRROddities(t *testing.T) {
	exchange := func(request, response string) string {
		return fmt.Sprintf("%d %d\n%s%s", len(request), len(response), request, response)
	}
	const ask = "POST https://x/v1/chat/completions HTTP/1.1\r\nHost: x\r\n\r\n"
	answer := func(text string) string {
		return `{"choices":[{"index":0,"message":{"content":"` + text + `"},"finish_reason":"stop"}]}`
	}
	user := func(text string) string { return `{"messages":[{"role":"user","content":"` + text + `"}]}` }
	body := answer("two")
	file := httpRRHead + "\n" +
		exchange(strings.ReplaceAll(ask, "\r\n", "\n")+user("a"), "HTTP/1.1 200 OK\nX: y\n\n"+answer("one")) +
		exchange(ask+user("b"), "nonsense") +
		exchange(ask+user("c"), fmt.Sprintf("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n", body[:5], len(body)-5, body[5:]))
	runs, problems := readText(t, Reader{}, "a.httprr", file)
	want := "user \"a\"\n  turn \"one\"\nuser \"c\"\n  turn \"two\"\n"
	if got := sketches(runs); got != want || len(problems) != 1 || !strings.Contains(problems[0].Text, "exchange 2 of 2: response: no blank line after its headers") {
		t.Errorf("got:\n%swant:\n%sproblems %v", got, want, problems)
	}
}

// In traffic an answer is a turn: a loop without tool calls is as long as it was.
func TestAnswersAreTurns(t *testing.T) {
	var file strings.Builder
	file.WriteString("version: 1\ninteractions:\n")
	history := `{"role":"user","content":"sum"}`
	for i := range 4 {
		said := fmt.Sprintf(`Thought: again.\nAction: add\nAction Input: {\"n\": %d}`, i%2)
		fmt.Fprintf(&file, "- request: {method: POST, url: https://x/v1/chat/completions, body: '{\"messages\":[%s]}'}\n", history)
		fmt.Fprintf(&file, "  response: {code: 200, body: '{\"choices\":[{\"index\":0,\"message\":{\"content\":\"%s\"},\"finish_reason\":\"stop\"}]}'}\n", said)
		history += fmt.Sprintf(`,{"role":"assistant","content":"%s\nObservation: %d"}`, said, i)
	}
	runs, problems := readText(t, Reader{}, "a.yaml", file.String())
	var got []string
	if len(runs) == 1 {
		runs[0].eachCall(func(c *Call) {
			answer := "?"
			if c.Result != nil {
				answer = c.Result.Text
			}
			got = append(got, c.Name+c.Args+"="+answer)
		})
	}
	want := []string{`add{"n": 0}=Observation: 0`, `add{"n": 1}=Observation: 1`, `add{"n": 0}=Observation: 2`}
	if diff := cmp.Diff(want, got); diff != "" || len(problems) > 0 || len(runs[0].Runs[0].Turns) != 4 {
		t.Errorf("%s%d runs, problems %v", diff, len(runs), problems)
	}
	if result, _ := play(t, runs[0], turns(2, loop.ScopeRun)); result.Stop != loop.StopTurnLimit {
		t.Errorf("a limit of 2 turns ends it with %s", result.Stop)
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A chatAgent is an agent of the tests: it asks the model of a server again and again,
// and answers each call with one text.
type chatAgent struct {
	t        *testing.T
	url      string
	header   http.Header
	messages []any
}

// turn asks once and returns the status.
func (a *chatAgent) turn() int {
	a.t.Helper()
	body, err := json.Marshal(map[string]any{"model": "m", "messages": a.messages, "tools": json.RawMessage(`[{"type":"function","function":{"name":"read_file","parameters":{}}}]`)})
	if err != nil {
		a.t.Fatal(err)
	}
	r, err := http.NewRequest("POST", a.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	r.Header = a.header.Clone()
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(r)
	if err != nil {
		a.t.Fatal(err)
	}
	defer resp.Body.Close()
	var answer struct {
		Choices []struct {
			Message struct {
				Role    string            `json:"role"`
				Content any               `json:"content"`
				Calls   []json.RawMessage `json:"tool_calls,omitempty"`
			}
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Choices) == 0 {
		return resp.StatusCode
	}
	m := answer.Choices[0].Message
	a.messages = append(a.messages, m)
	for _, raw := range m.Calls {
		var c struct{ ID string }
		if json.Unmarshal(raw, &c); c.ID == "" {
			a.t.Fatalf("a call without an id: %s", raw)
		}
		a.messages = append(a.messages, map[string]string{"role": "tool", "tool_call_id": c.ID, "content": "Mail ada@example.org."})
	}
	return resp.StatusCode
}

func user(said string) []any { return []any{map[string]string{"role": "user", "content": said}} }

// startWatch starts a server of scenarios, and a proxy before it.
func startWatch(t *testing.T, scenario string, args ...string) (w *serving, url string) {
	t.Helper()
	s := startServe(t, scenario, "--speed", "1000000")
	t.Cleanup(func() { s.end() })
	up := regexp.MustCompile(`http://[0-9.:]+`).FindString(s.first)
	w = start(t, append([]string{"watch", "--upstream", up}, args...)...)
	found := regexp.MustCompile(`^watching (http://[0-9.:]+) on (http://127\.0\.0\.1:[0-9]+)\n$`).FindStringSubmatch(w.first)
	if found == nil || found[1] != up {
		t.Fatalf("the first line is %q", w.first)
	}
	return w, found[2]
}

// TestWatch checks what is said while it runs and at the end, that a replay of the
// recording says the same, and that the recording has neither the key nor personal data.
func TestWatch(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "traffic")
	w, url := startWatch(t, "same-call-forever", "--variant", "hpd-agent", "--variant", "none", "-o", folder)
	agent := &chatAgent{t: t, url: url, messages: user("I am bob@example.org."), header: http.Header{"Authorization": {"Bearer sk-0123456789abcdef"}}}
	for range 16 {
		agent.turn()
	}
	// hpd-agent stops the fifth of 16 equal calls: 12 of them do not run.
	const table = ` variant    unlabelled runs stopped  calls not run  stopped, but went on
─────────────────────────────────────────────────────────────────────────
 hpd-agent                   1 of 1       12 of 16                0 of 1
 none                        0 of 1        0 of 16                0 of 0
hpd-agent: circuit-breaker stopped 0 failed, 0 good and 1 unlabelled
1 recorded run under 2 variants
`
	want := "conversations are recorded in " + folder + ", redacted\nit accepts connections only from this machine; Ctrl-C ends it\n" +
		"hpd-agent would have stopped conversation 1 at its 5th call: Circuit breaker triggered: read_file was asked for 5 times in a row with the same arguments.\n" +
		"conversation 1 goes on: 10 calls since hpd-agent would have stopped it at its 5th call\n" +
		"16 requests in 1 conversation\n" + table + next(folder)
	if got := w.end(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	code, replayed, stderr := session(t, "replay", folder, "--variant", "hpd-agent", "--variant", "none")
	if code != exitPassed || replayed != table {
		t.Errorf("a replay of the recording: code %d\n%s%s", code, replayed, stderr)
	}
	recorded, err := os.ReadFile(filepath.Join(folder, "conversation-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, not := range []string{"sk-0123", "bob@", "ada@"} {
		if strings.Contains(string(recorded), not) {
			t.Errorf("the recording has %q", not)
		}
	}
	if !strings.Contains(string(recorded), "I am [email-1].") || strings.Count(string(recorded), "Mail [email-2].") != 15 {
		t.Errorf("the recording is\n%s", recorded)
	}
	// Another watch goes on with the numbers.
	w, url = startWatch(t, "same-call-forever", "-o", folder)
	(&chatAgent{t: t, url: url, messages: user("Hi")}).turn()
	w.end()
	if _, err := os.Stat(filepath.Join(folder, "conversation-2.json")); err != nil {
		t.Error(err)
	}
}

// next is the last line of a watch that has kept something.
func next(kept string) string {
	return "next: agentbench tune " + kept + " looks for limits that suit these runs\n"
}

// TestWatchRetries checks that failed requests are told and count once, and that runs
// are named by the hash of their header.
func TestWatchRetries(t *testing.T) {
	folder := t.TempDir()
	w, url := startWatch(t, "rate-limited-twice", "--variant", "hpd-agent", "--key-header", "X-Run-Id", "-o", folder)
	for _, run := range []string{"run 17", "run 18"} {
		agent := &chatAgent{t: t, url: url, messages: user("Hi"), header: http.Header{"X-Run-Id": {run}}}
		for range 3 { // as the scenario's name says
			agent.turn()
		}
	}
	if got := w.end(); !strings.Contains(got, "\n6 requests in 2 conversations\nnot part of a conversation: error answer (4)\n") {
		t.Errorf("got\n%s", got)
	}
	recorded, err := os.ReadFile(filepath.Join(folder, "conversation-1.json"))
	if err != nil {
		t.Fatal(err)
	}
	const hash = "run-6e94f28442e3" // printf 'run 17' | sha256sum | cut -c 1-12
	if !strings.HasPrefix(string(recorded), `{"name":"`+hash) || strings.Contains(string(recorded), "run 17") {
		t.Errorf("the recording is\n%s", recorded)
	}
}

// TestWatchShapes checks that a file of shapes has no content, and that its replay says
// the same as the summary.
func TestWatchShapes(t *testing.T) {
	file := filepath.Join(t.TempDir(), "traffic.shapes")
	w, url := startWatch(t, "same-call-forever", "--variant", "hpd-agent", "-o", file)
	agent := &chatAgent{t: t, url: url, messages: user("I am bob@example.org.")}
	for range 8 {
		agent.turn()
	}
	const table = ` variant    unlabelled runs stopped  calls not run  stopped, but went on
─────────────────────────────────────────────────────────────────────────
 hpd-agent                   1 of 1         4 of 8                0 of 1
hpd-agent: circuit-breaker stopped 0 failed, 0 good and 1 unlabelled
1 recorded run under 1 variant
`
	if got := w.end(); !strings.HasSuffix(got, table+next(file)) || !strings.HasPrefix(got, "the shapes of conversations are kept in "+file+", without content\n") {
		t.Errorf("got\n%s", got)
	}
	if code, replayed, stderr := session(t, "replay", file, "--variant", "hpd-agent"); code != exitPassed || replayed != table {
		t.Errorf("a replay of the shapes: code %d\n%s%s", code, replayed, stderr)
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	// One user message, seven equal calls with equal results, and the last without one.
	shape := regexp.MustCompile(`^1 unknown task=1 u(@[0-9.]+)?( a1=1@[0-9.]+#[0-9]+/[0-9]+){7} a1\?@[0-9.]+#[0-9]+/[0-9]+\n$`)
	if !shape.Match(kept) {
		t.Errorf("the file is\n%s", kept)
	}
}

// TestWatchBranch checks that a replay of what was kept counts the beginning of a branch
// once, as the summary does.
func TestWatchBranch(t *testing.T) {
	for _, to := range []string{"traffic.shapes", "traffic"} {
		t.Run(to, func(t *testing.T) {
			kept := filepath.Join(t.TempDir(), to)
			w, url := startWatch(t, "same-call-forever", "--variant", "hpd-agent", "--variant", "none", "-o", kept)
			agent := &chatAgent{t: t, url: url, messages: user("Hi")}
			for range 3 {
				agent.turn()
			}
			// It goes back to its second reply, and on from there with another result.
			result := agent.messages[4].(map[string]string)
			agent.messages = append(agent.messages[:4:4], map[string]string{"role": "tool", "tool_call_id": result["tool_call_id"], "content": "another"})
			for range 4 {
				agent.turn()
			}
			// Three calls, and four of the branch, of which hpd-agent stops the third: it is
			// the fifth with the two that the branch shares.
			const table = ` variant    unlabelled runs stopped  calls not run  stopped, but went on
─────────────────────────────────────────────────────────────────────────
 hpd-agent                   1 of 2         2 of 7                0 of 1
 none                        0 of 2         0 of 7                0 of 0
hpd-agent: circuit-breaker stopped 0 failed, 0 good and 1 unlabelled
2 recorded runs under 2 variants
`
			if got := w.end(); !strings.HasSuffix(got, "7 requests in 2 conversations, 1 branching off another\n"+table+next(kept)) {
				t.Errorf("got\n%s", got)
			}
			if code, replayed, stderr := session(t, "replay", kept, "--variant", "hpd-agent", "--variant", "none"); code != exitPassed || replayed != table {
				t.Errorf("a replay: code %d\n%s%s", code, replayed, stderr)
			}
		})
	}
}

// TestWatchKeepsShapesByDefault checks the names of the files, and that no empty file
// stays.
func TestWatchKeepsShapesByDefault(t *testing.T) {
	t.Chdir(t.TempDir())
	first, url := startWatch(t, "same-call-forever")
	second, _ := startWatch(t, "same-call-forever")
	third, _ := startWatch(t, "same-call-forever", "-o", "none")
	(&chatAgent{t: t, url: url, messages: user("Hi")}).turn()
	for i, tt := range []struct {
		w    *serving
		says string
	}{
		{first, "the shapes of conversations are kept in traffic.shapes, without content\n"},
		{second, "the shapes of conversations are kept in traffic-2.shapes, without content\n"},
		{third, "nothing is kept\n"},
	} {
		if got := tt.w.end(); !strings.HasPrefix(got, tt.says) {
			t.Errorf("watch %d says\n%s", i+1, got)
		}
	}
	if kept, _ := filepath.Glob("*"); len(kept) != 1 || kept[0] != "traffic.shapes" {
		t.Errorf("the folder has %v", kept)
	}
	if info, err := os.Stat("traffic.shapes"); err != nil || info.Size() == 0 || info.Mode().Perm() != 0o600 {
		t.Errorf("traffic.shapes: %v, %v", info, err)
	}
}

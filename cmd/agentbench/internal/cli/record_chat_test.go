package cli

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/drive"
	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/events"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A plainModel takes the body of an answer for its reply.
type plainModel struct {
	url  string
	http http.Client
}

func connectPlain(s endpoint.Settings, transport http.RoundTripper) (loop.Model, error) {
	return &plainModel{s.BaseURL, http.Client{Transport: transport}}, nil
}

func (m *plainModel) Reply(ctx context.Context, _ loop.ModelRequest, _ func(string)) (loop.Reply, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.url, strings.NewReader("{}"))
	if err != nil {
		return loop.Reply{}, err
	}
	resp, err := m.http.Do(req)
	if err != nil {
		return loop.Reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		return loop.Reply{}, &loop.ModelError{Status: resp.StatusCode, Text: string(text)}
	}
	return loop.Reply{Text: string(text), Finish: loop.FinishStop}, err
}

// A reply is shown line by line, redacted, with its line breaks and without what
// steers the terminal. shown is what the pieces alone show, and all what is shown
// at the end of the reply.
func TestPiece(t *testing.T) {
	mail, key := "jane@mail."+"example.org", "-----BEGIN RSA PRIVATE "+"KEY-----\nMIIEpAIBAAKCAQEA7bq1\n-----END RSA PRIVATE "+"KEY-----"
	for _, c := range []struct {
		pieces     []string
		shown, all string
		newLine    bool
	}{
		{[]string{"a \x1b[2Jb "}, "", `a \x1b[2Jb `, false},
		{[]string{"a\r\n  b\n"}, "a\n  b\n", "a\n  b\n", true},
		{[]string{"\n"}, "\n", "\n", true},
		{[]string{"one\nto ja", mail[2:6], mail[6:] + "\nthree"}, "one\nto [email-1]\n", "one\nto [email-1]\nthree", false},
		{append([]string{"so\n"}, strings.SplitAfter(key+" end\n", "\n")...), "so\n[private-key-1] end\n", "so\n[private-key-1] end\n", true},
		{[]string{"so\n", key[:40]}, "so\n", "so\n[private-key-1]", false},
	} {
		r, err := secrets.New(secrets.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		p := &prompt{out: &out, redact: r.Text}
		for _, piece := range c.pieces {
			p.piece(piece)
		}
		shown := out.String()
		p.flush()
		if shown != c.shown || out.String() != c.all || p.newLine != c.newLine || !p.said {
			t.Errorf("%q shows as %q and then %q, at the beginning of a line: %t", c.pieces, shown, out.String(), p.newLine)
		}
	}
}

// A talk that is interrupted at a prompt keeps the runs that have ended: none
// before the first message, and one with its golden after the first answer.
func TestInterruptedTalk(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "Hello.") }))
	defer server.Close()
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		said  string // before the interrupt
		found int    // a cassette and its golden, or nothing
	}{{"", 0}, {"Hi!\n", 2}} {
		ctx, cancel := context.WithCancel(Options{Connect: connectPlain}.within(t.Context()))
		stdin, keyboard := io.Pipe()
		prompts := 0
		var stdout, stderr bytes.Buffer
		terminal := writerFunc(func(p []byte) (int, error) {
			if string(p) == "> " {
				if prompts++; prompts == 1 && c.said != "" {
					go io.WriteString(keyboard, c.said)
				} else {
					cancel()
				}
			}
			return stdout.Write(p)
		})
		args := []string{"record", "--chat", "--model", "m", "--base-url", server.URL + "/v1", "-o", "talk.cassette.yaml"}
		code := run(ctx, args, stdin, terminal, &stderr)
		keyboard.Close()
		cancel()
		if code != exitInterrupted {
			t.Errorf("%q: exit code %d, want 130\n%s%s", c.said, code, stdout.String(), stderr.String())
		}
		if found, _ := filepath.Glob("talk.*"); len(found) != c.found {
			t.Errorf("%q: there are %v, want %d files", c.said, found, c.found)
		}
	}
	golden, err := os.ReadFile("talk.cassette.golden")
	if err != nil || !strings.Contains(string(golden), "text=Hello.") {
		t.Errorf("the golden does not say what was said: %v\n%s", err, golden)
	}
	var stdout, stderr bytes.Buffer
	args := []string{"record", "--check", "talk.cassette.yaml"}
	if code := run(Options{Connect: connectPlain}.within(t.Context()), args, strings.NewReader(""), &stdout, &stderr); code != exitPassed {
		t.Errorf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
}

// The end of a run that is not DONE is shown with what the loop says to the user.
func TestChatShowsTheMessage(t *testing.T) {
	var out strings.Builder
	p := &prompt{out: &out, redact: func(s string) string { return s }, newLine: true}
	p.ended(loop.Outcome{Stop: loop.StopTurnLimit, End: loop.BudgetExceeded, Reason: "Maximum iterations (3) reached.", Message: "Please try a simpler request.", Answer: "So far: 2."})
	p.ended(loop.Outcome{Stop: loop.StopDone, End: loop.Done, Reason: "The model answered.", Answer: "Four."})
	if want := "So far: 2.\nPlease try a simpler request.\n(BUDGET_EXCEEDED: Maximum iterations (3) reached.)\nFour."; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

// Retries have their numbers, and what was cut or dropped is told.
func TestWarnings(t *testing.T) {
	for want, e := range map[string]events.Event{
		"warning: the request is sent again (attempt 2)":           {Kind: events.ModelRetry, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 2}},
		"warning: look is called again (attempt 3)":                {Kind: events.CallRetry, Tool: "look", Ref: loop.Ref{Kind: loop.RefCall, N: 1, Try: 3}},
		"warning: the result of look was cut":                      {Kind: events.Truncated, Tool: "look"},
		"warning: old messages were dropped from the conversation": {Kind: events.Trimmed},
		"warning: old messages were summed up":                     {Kind: events.Compacted},
		"warning: alert: The tool look failed":                     {Kind: events.Alert, Text: "The tool look failed"},
		"":                                                         {Kind: events.CallEnded, Tool: "look", Duration: 1},
	} {
		if got := warning(e); got != want {
			t.Errorf("%s: got %q, want %q", e.Kind, got, want)
		}
	}
}

// The calls of sub-runs are shown under their path.
func TestProgressOfSubRuns(t *testing.T) {
	var out strings.Builder
	s, err := scenarios.Parse("s/x.yaml", "name: x\ndescription: d\nlabel: healthy\ntask: t\nmodel: [{text: a}]\n")
	if err != nil {
		t.Fatal(err)
	}
	redactor, err := secrets.New(secrets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	watch := new(recordFlags).progress(&out, &drive.Session{Scenario: s, Redactor: func() drive.Redactor { return redactor }})
	trace, err := loop.ParseTrace("   0.000s started text=go\n          > ask m1#1 for=reply to=1\n   1.000s reply m1 call=a:help(\"{}\")\n          > call c1#1 name=help args=\"{}\"\n" +
		"   1.000s   c1#1/ started text=\"{}\"\n            > c1#1/ ask m1#1 for=reply to=1\n   2.000s   c1#1/ reply m1 call=b:look(\"{}\")\n            > c1#1/ call c1#1 name=look args=\"{}\"\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range trace {
		watch(r)
	}
	lines := strings.Split(out.String(), "\n")
	helps := slices.ContainsFunc(lines, func(l string) bool { return !strings.HasPrefix(l, " ") && strings.Contains(l, "help") })
	looks := slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "  c1#1/ ") && strings.Contains(l, "look") })
	if !helps || !looks {
		t.Errorf("got\n%s", out.String())
	}
}

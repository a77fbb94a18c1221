package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A hint names each name once.
func TestNameHint(t *testing.T) {
	if got := nameHint([]string{"b", "a", "b", "b", "b", "b"}); got != `the name can be "a" or "b"` {
		t.Errorf("got %q", got)
	}
}

// A file with nothing to replay is named and is not an error if others are read; a
// broken file is an error. --verbose says what was left out of the other files.
func TestReplayTraffic(t *testing.T) {
	const (
		chat = "version: 1\ninteractions:\n" +
			`- {request: {method: POST, url: /chat/completions, body: '{"messages":[{"role":"user","content":"hi"}]}'}, response: {code: 200, body: '{"choices":[{"index":0,"message":{"content":"a"},"finish_reason":"stop"}]}'}}` + "\n"
		embeddings = `- {request: {method: POST, url: /embeddings, body: '{}'}, response: {code: 200, body: '{}'}}` + "\n"
	)
	files := map[string]string{
		"a.yaml": chat + embeddings,
		"b.yaml": "version: 1\ninteractions:\n" + embeddings,
		"c.yml":  "services: {}\n",
	}
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	short := func(stderr string) string { return strings.ReplaceAll(stderr, filepath.ToSlash(folder)+"/", "") }
	const notes = "b.yaml: nothing to replay: embeddings (1)\nc.yml: not a cassette: a cassette begins with version or interactions\n"

	code, stdout, stderr := session(t, "replay", folder)
	if code != exitPassed || short(stderr) != notes || !strings.HasSuffix(stdout, "1 recorded run under 1 variant\n") {
		t.Errorf("exit %d, stdout %q, stderr %q", code, stdout, short(stderr))
	}
	code, _, stderr = session(t, "replay", folder, "--verbose")
	if code != exitPassed || !strings.HasSuffix(short(stderr), "a.yaml: not part of a conversation: embeddings (1)\n"+notes) {
		t.Errorf("--verbose: exit %d, stderr %q", code, short(stderr))
	}
	if code, _, stderr = session(t, "replay", filepath.Join(folder, "b.yaml")); code != exitUsage || !strings.Contains(stderr, "embeddings") {
		t.Errorf("nothing at all: exit %d, stderr %q", code, stderr)
	}
	if err := os.WriteFile(filepath.Join(folder, "d.yaml"), []byte("version: 1\ninteractions: ["), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr = session(t, "replay", folder)
	if code != exitUsage || !strings.Contains(stderr, "d.yaml:1: cannot read it as go-vcr: invalid YAML") || !strings.HasSuffix(stdout, "skipped what could not be read: 1 problem\n") {
		t.Errorf("a broken file: exit %d, stdout %q, stderr %q", code, stdout, short(stderr))
	}
}

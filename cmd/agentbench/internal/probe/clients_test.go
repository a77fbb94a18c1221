package probe

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A client may log before it says its version.
func TestVersionIn(t *testing.T) {
	for out, want := range map[string]string{
		"codex-cli 0.171.0\n": "codex-cli 0.171.0",
		"\x1b[90m[2026-11-29T10:09:19.467Z]\x1b[39m ERROR no folder\n3.0.65\n": "3.0.65",
		"\nnightly\n": "nightly", "": "unknown",
	} {
		if got := versionIn(out); got != want {
			t.Errorf("%q: %q, want %q", out, got, want)
		}
	}
}

// Every client's file can be read, names its tools' server, and has a home of its own.
func TestClients(t *testing.T) {
	names := Clients()
	if !slices.Contains(names, "codex") || !slices.Contains(names, "opencode") || len(names) != 6 {
		t.Errorf("clients are %q", names)
	}
	for _, name := range names {
		c, err := FindClient(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if c.Checked == "" || c.Package == "" || len(c.Version) == 0 || !strings.Contains(c.Command, "{TASK}") || c.Allowed == "" {
			t.Errorf("%s: %+v lacks something", name, c)
		}
		a := &Agent{}
		c.Apply(a)
		if !a.ScratchDir || !a.ScratchHome || len(a.Files) == 0 {
			t.Errorf("%s: %+v", name, a)
		}
		at := &place{base: "http://127.0.0.1:1/p", task: "go", home: "/h", dir: "/d", self: "/bin/agentbench"}
		all := ""
		for _, f := range a.Files {
			text := at.fill(f.Content)
			if p := at.fill(f.Path); !strings.HasPrefix(p, "/h/") && !strings.HasPrefix(p, "/d/") {
				t.Errorf("%s writes %s, outside its home and folder", name, p)
			}
			if strings.HasSuffix(f.Path, ".json") && !json.Valid([]byte(text)) {
				t.Errorf("%s: %s is not JSON", name, f.Path)
			}
			all += text
		}
		if !strings.Contains(all, "http://127.0.0.1:1/p/mcp") || !strings.Contains(all, "bench") {
			t.Errorf("%s is not told where the tools are: %s", name, all)
		}
	}
	if _, err := FindClient("no-such"); err == nil {
		t.Error("there is a client that has no file")
	}
}

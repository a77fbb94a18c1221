package trajectories

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
)

func TestReadTraffic(t *testing.T) {
	const (
		dry = `user "Is it dry?"` + "\n"
		yes = `  turn "Yes." 6+2` + "\n"
	)
	for _, c := range []struct{ file, format, model, want, problem string }{
		{"go-vcr-1.yaml", "go-vcr", "m-1", `user "Water bed 1."
  turn "" water({"bed":1})="done" 20+4
  turn "Bed 1 is wet." 30+5
`, "not part of a conversation: error answer (1)"},
		{"go-vcr-2.yaml", "go-vcr", "m-1", dry + yes, ""},
		{"vcrpy.yaml", "vcrpy", "m-1", dry + `  turn "" soil({"bed":1})="dry" 6+2
  turn "Bed 1 is." 9+3
`, "not part of a conversation: embeddings (1)"},
		{"vcrpy.json", "vcrpy", "m-1", dry + `  turn "Yes."` + "\n", ""},
		{"gemini.httprr", "httprr", "g-1", dry + `  turn "" soil({"bed":1})="{\"dry\":true}" 6+2
  turn "Bed 1 is." 9+3
`, ""},
		{"stream.sse", "llm-response", "m-1", "user \"\"\n" + yes, ""},
		{"stream.chunks.txt", "llm-response", "m-1", "user \"\"\n" + yes, ""},
	} {
		for _, format := range []string{"", c.format} {
			t.Run(c.file+" "+format, func(t *testing.T) {
				file := filepath.Join("testdata", "traffic", c.file)
				trajectories, problems := Read(file, format)
				if len(trajectories) != 1 {
					t.Fatalf("%d trajectories, want one; problems %v", len(trajectories), problems)
				}
				r := trajectories[0]
				if diff := cmp.Diff(c.want, sketchWithTokens(r)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if r.Model != c.model || r.ID() != "testdata/traffic/"+c.file+"/conversation=1" || r.Line != 1 {
					t.Errorf("model %q, name %q, line %d", r.Model, r.ID(), r.Line)
				}
				want := ""
				if c.problem != "" {
					want = fmt.Sprintf("[testdata/traffic/%s: %s]", c.file, c.problem)
				}
				if got := fmt.Sprint(problems); c.problem != "" && (got != want || problems[0].Kind != Partly) || c.problem == "" && len(problems) > 0 {
					t.Errorf("problems %v, want %s", problems, want)
				}
			})
		}
	}
}

// The tokens count against limits.tokens: the first turn brings 20+4, and what
// the second one brings cannot stop a run that is done.
func TestTokensOfTraffic(t *testing.T) {
	trajectories, _ := Read("testdata/traffic/go-vcr-1.yaml", "")
	for limit, want := range map[int64]struct {
		stop  loop.Stop
		saved int
	}{23: {loop.StopTokenLimit, 1}, 24: {loop.StopDone, 0}} {
		result, _ := play(t, trajectories[0], off(func(c *loop.Config) { c.Limits.Tokens = limit }))
		if result.Stop != want.stop || result.Saved != want.saved {
			t.Errorf("limit %d: %s with %d calls saved, want %v", limit, result.Stop, result.Saved, want)
		}
	}
}

// A file that breaks off anywhere is read up to there or is a problem.
func TestTruncatedTraffic(t *testing.T) {
	files, _ := filepath.Glob("testdata/traffic/*")
	if len(files) != 7 {
		t.Fatalf("%d files, want 7", len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for n := range data {
				runs, problems := readBytes(&reader{file: file}, data[:n])
				if len(runs)+len(problems) == 0 {
					t.Errorf("cut at %d: neither a trajectory nor a problem", n)
				}
				for _, rc := range runs {
					playOff(t, rc)
				}
			}
		})
	}
}

// An httprr file has its sizes, so every cut is a problem.
func TestTruncatedHTTPRR(t *testing.T) {
	data, err := os.ReadFile("testdata/traffic/gemini.httprr")
	if err != nil {
		t.Fatal(err)
	}
	whole := strings.Index(string(data), "HTTP/2.0") // within the first exchange
	for n := len(httpRRHead) + 2; n < len(data); n++ {
		runs, problems := readBytes(&reader{file: "x"}, data[:n])
		broken := len(problems) == 1 && problems[0].Kind == Broken
		if end := len(runs) == 1 && len(problems) == 0; !broken && !end || n < whole && !broken {
			t.Errorf("cut at %d: %d trajectories, %v", n, len(runs), problems)
		}
	}
}

func TestHostileTraffic(t *testing.T) {
	bomb := "version: 1\na: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ { // ten to the power of ten
		bomb += fmt.Sprintf("%c: &%c [*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c,*%c]\n", c, c, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1, c-1)
	}
	// 200 aliases of a text of 1 MiB.
	big := "version: 1\ntext: &t " + strings.Repeat("x", 1<<20) + "\nall: [" + strings.Repeat("*t,", 200) + "]\n"
	for name, c := range map[string]struct{ data, want string }{
		"an alias bomb":           {bomb, "invalid YAML: document contains excessive aliasing"},
		"aliases of a large text": {big, "larger than 64 MiB, with its aliases"},
		"an alias to itself":      {"version: 1\na: &a [*a]\n", "invalid YAML: anchor 'a' value contains itself"},
		"deep":                    {"version: 1\na: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "nested more than 1000 deep"},
		"very deep":               {"version: 1\na: " + strings.Repeat("[", 20000), "exceeded max depth of 10000"},
		"an object to be made":    {"version: 1\ninteractions: !!python/object/apply:os.system ['true']\n", "interaction 1 of 1: it must have a request and a response"}, // the tag means nothing
		"a list in its place":     {"version: 1\ninteractions: text\n", "interactions must be a list"},
		"half an interaction":     {"version: 1\ninteractions:\n- request: {}\n", "interaction 1 of 1: it must have a request and a response"},
		"a version to come":       {"version: 3\ninteractions: []\n", `version must be 1 or 2, not "3"`},
		"a body that is a number": {"version: 1\ninteractions:\n- {request: {uri: /, body: 7}, response: {}}\n", "not LLM traffic (1)"},
		"sizes beyond the file":   {httpRRHead + "\n999999999 999999999\nx", "the file ends 1999999997 bytes too early"},
		"sizes below zero":        {httpRRHead + "\n-1 5\nx", `"-1 5" must be two sizes in bytes`},
		"no headers":              {httpRRHead + "\n1 1\nxy", "request: no blank line after its headers"},
	} {
		t.Run(name, func(t *testing.T) {
			runs, problems := readBytes(&reader{file: "x.yaml"}, []byte(c.data))
			if len(runs) != 0 || len(problems) != 1 || !strings.Contains(problems[0].Text, c.want) {
				t.Errorf("%d trajectories, problems %.300v, want %s", len(runs), problems, c.want)
			}
		})
	}
}

// YAML that is not a cassette is not an error in a folder of trajectories.
func TestOtherYAML(t *testing.T) {
	_, problems := readBytes(&reader{file: "compose.yml"}, []byte("services: {}\n"))
	if len(problems) != 1 || problems[0].Kind != Nothing {
		t.Errorf("problems %v, want a note", problems)
	}
}

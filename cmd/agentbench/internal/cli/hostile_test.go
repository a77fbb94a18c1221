package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
)

// Whatever arguments and files hold, no command writes a character that steers a
// terminal or hides.
func TestHostileInput(t *testing.T) {
	const evil = "a\x1b[2J\u009b31m\u202e\u200b\u3164b"
	dir := filepath.Join(t.TempDir(), evil)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	file := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	quoted := `"a\e[2J\x9b31m\u202e\u200b\u3164b"`
	inJSON := `"a\u001b[2J\u009b31m\u202e\u200b\u3164b"`
	yaml := file(evil+".yaml", "name: x\ndescription: "+quoted+"\nlabel: healthy\ntask: "+quoted+"\nmodel: [{text: "+quoted+"}]\n")
	broken := file("broken.yaml", "name: x\n"+evil+": "+evil+"\n")
	other := file("other.yaml", "name: x\n"+quoted+": "+quoted+"\n")
	results := file(evil+".jsonl", `{"type":"trial","scenario":"s/`+inJSON[1:]+`,"label":"healthy","variant":`+inJSON+`,"end_state":`+inJSON+
		`,"stop":`+inJSON+`,"verdict":"fail","calls":1,"findings":[{"rule":`+inJSON+`,"message":`+inJSON+`}],"trace":`+inJSON+`}`+"\n")
	for _, args := range [][]string{
		{evil}, {"help", evil}, {"run", evil}, {"run", "--" + evil}, {"run", "--suite", evil}, {"run", "--variant", evil}, {"run", "--seeds", evil}, {"run", "--fault", evil},
		{"run", "--config", evil}, {"run", "-o", filepath.Join(evil, evil), yaml}, {"run", yaml}, {"run", yaml, "-o", "-", "-q"}, {"run", broken}, {"run", other},
		{"explain", evil}, {"explain", yaml}, {"explain", broken}, {"explain", results}, {"explain", results, "--trial", evil}, {"explain", filepath.Join(dir, "none.jsonl")},
		{"validate", dir}, {"list", "scenarios", yaml}, {"list", "suites", dir}, {"compare", yaml, "--variant", evil}, {"compare", results},
		{"report", results}, {"report", results, "--format", "json"}, {"report", evil}, {"gate", results}, {"gate", results, "--baseline", evil}, {"replay", results}, {"replay", evil},
		{"golden", yaml}, {"golden", "update", yaml, "--dir", evil}, {"fuzz", other}, {"cassette", "doctor", evil}, {"cassette", "doctor", yaml}, {"init", filepath.Join(yaml, evil)}, {"completion", evil},
	} {
		_, stdout, stderr := session(t, args...)
		for _, out := range []string{stdout, stderr} {
			at := strings.IndexFunc(out, func(r rune) bool {
				return r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r == '\u3164')
			})
			if at >= 0 {
				t.Errorf("%q writes %q", args, out[max(0, at-60):min(len(out), at+60)])
			}
		}
	}
}

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Any agentbench.yaml has values of known flags, with paths below its folder, or
// mistakes with a position in it.
func FuzzProject(f *testing.F) {
	f.Add("variant: [good, ./mine.yaml]\nrun:\n  seeds: 3\n  output: [a.json, '-']\n")
	f.Add("golden: update\nscenarios: ../../etc\n")
	f.Add("run: {variant: &a b, label: *a}\n---\nx: 1\n")
	f.Add("config: x\nrun: 5\n? [a]\n: b\n")
	f.Add("seeds: \x1b[31m\n\tq: {{{{")
	path := filepath.Join(f.TempDir(), projectName)
	root := newRoot()
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p, err := readProject(path, root)
		if err != nil {
			if err.Error() == "" || strings.ContainsAny(err.Error(), "\x1b\x00\r") {
				t.Errorf("the error is %q", err)
			}
			return
		}
		for command, settings := range p.values {
			for flag, s := range settings {
				if s.at == nil {
					t.Errorf("%s %s stands nowhere", command, flag)
				}
				for _, v := range s.values {
					if flag == "scenarios" && v != "-" && !strings.HasPrefix(filepath.Clean(v), filepath.Dir(path)) {
						t.Errorf("%s: %q is not below the folder of the file", flag, v)
					}
				}
			}
		}
	})
}

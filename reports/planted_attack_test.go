//go:build attack

package reports

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every planted fault is found by a test, which the log names: of its own package, or of
// this one.
func TestPlantedFaults(t *testing.T) {
	failing := regexp.MustCompile(`(?m)^--- FAIL: (\S+)`)
	for i, p := range plants {
		t.Run(fmt.Sprintf("%03d-%s", i, strings.ReplaceAll(p.file, "/", "-")), func(t *testing.T) {
			text, err := os.ReadFile(p.file)
			if err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Abs(p.file)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			planted, overlay := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json")
			replace, err := json.Marshal(map[string]map[string]string{"Replace": {path: planted}})
			if err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string][]byte{planted: []byte(strings.Replace(string(text), p.from, p.to, 1)), overlay: replace} {
				if err := os.WriteFile(file, content, 0o666); err != nil {
					t.Fatal(err)
				}
			}
			var found []string
			for _, pkg := range []string{"./" + filepath.ToSlash(filepath.Dir(p.file)), "."} {
				out, err := exec.Command("go", "test", "-short", "-timeout", "2m", "-overlay", overlay, pkg).CombinedOutput()
				if err == nil {
					continue
				}
				for _, m := range failing.FindAllStringSubmatch(string(out), -1) {
					found = append(found, m[1])
				}
				if found == nil && !strings.Contains(string(out), "panic: ") {
					t.Fatalf("%q for %q does not compile:\n%s", p.to, p.from, out)
				}
				break
			}
			t.Logf("%q for %q: %v", p.to, p.from, found)
			if found == nil {
				t.Errorf("no test finds it: %q for %q", p.to, p.from)
			}
		})
	}
}

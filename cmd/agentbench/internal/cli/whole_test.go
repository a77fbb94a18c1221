package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// ended is lines of results and the end that counts them: the number of lines
// and the SHA-256 of their bytes, as docs/results.md says.
func ended(lines ...string) string {
	text := strings.Join(lines, "")
	return text + fmt.Sprintf("{\"type\":\"end\",\"lines\":%d,\"sha256\":\"%x\"}\n", len(lines), sha256.Sum256([]byte(text)))
}

// good gives the lines of a results file of four trials that passes the gate,
// each with its line break; the last is its end.
func good(t *testing.T) []string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "good.jsonl")
	if code, _, stderr := session(t, "run", scenario(t), "--seeds", "4", "-q", "-o", file); code != exitPassed {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	if code, stdout, _ := session(t, "gate", file); code != exitPassed {
		t.Fatalf("exit code %d\n%s", code, stdout)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(text), "\n")
	if len(lines) != 7 || lines[6] != "" {
		t.Fatalf("want a header, four trials and an end, got\n%s", text)
	}
	if want := ended(lines[:5]...); want != string(text) {
		t.Fatalf("the file is\n%s\nwant\n%s", text, want)
	}
	return lines[:6]
}

// A results file that is not as it was written never passes the gate.
func TestBadResults(t *testing.T) {
	lines := good(t)
	header, trials, all := lines[0], lines[1:5], strings.Join(lines, "")
	with := func(old, other string) string {
		changed := strings.Replace(trials[0], old, other, 1)
		if changed == trials[0] {
			t.Fatalf("%q is not in the results", old)
		}
		return ended(header, changed, trials[1], trials[2], trials[3])
	}
	announcing := func(n int) string { return strings.Replace(header, `"trials":4`, fmt.Sprintf(`"trials":%d`, n), 1) }
	old := strings.Replace(header, "results/v2", "results/v1", 1)

	for _, tt := range []struct {
		name  string
		files []string // the text of each
		code  int
		want  string // in the output
	}{
		{"cut at a line", []string{strings.Join(lines[:4], "")}, 3, `there is no end after this line; the results are incomplete: they hold 3 of 4 trials`},
		{"cut in a line", []string{strings.Join(lines[:4], "") + lines[4][:100]}, 2, `a\.jsonl:5: the line is not JSON`},
		{"header gone", []string{strings.Join(lines[1:], "")}, 3, `a\.jsonl:1: there is no header before this line`},
		{"end gone", []string{strings.Join(lines[:5], "")}, 3, `a\.jsonl:5: there is no end after this line`},
		{"end alone", []string{lines[5]}, 3, `a\.jsonl:1: there is no header before this end`},
		{"fewer trials than announced", []string{ended(announcing(5), trials[0], trials[1], trials[2], trials[3])}, 3, `they hold 4 of 5 trials`},
		{"more trials than announced", []string{ended(announcing(3), trials[0], trials[1], trials[2], trials[3])}, 3, `a\.jsonl:6: the header announces 3 trials, but there are 4`},
		{"no trials announced", []string{ended(announcing(0), trials[0])}, 3, `the header announces 0 trials, but there are 1`},
		{"fewer than none announced", []string{ended(announcing(-1), trials[0])}, 2, `a\.jsonl:1: trials must be 0 or more`},
		{"unknown verdict", []string{with(`"verdict":"pass"`, `"verdict":"FAIL"`)}, 3, `a\.jsonl:2: this version does not know the verdict "FAIL"`},
		{"no verdict", []string{with(`"verdict":"pass",`, ``)}, 3, `a\.jsonl:2: this version does not know the verdict ""`},
		{"unknown line", []string{ended(announcing(4), trials[0], trials[1], trials[2], trials[3], "{\"type\":\"trail\"}\n")}, 3, `a\.jsonl:6: this version does not know lines of the type "trail"`},
		{"changed line", []string{strings.Replace(all, `"calls":4`, `"calls":3`, 1)}, 3, `a\.jsonl:6: the lines before the end are not those that were written`},
		{"line gone", []string{strings.Replace(all, trials[2], "", 1)}, 3, `a\.jsonl:5: the end counts 5 lines, but there are 4`},
		{"doubled line", []string{strings.Replace(all, trials[2], trials[2]+trials[2], 1)}, 2, `a\.jsonl:5: .* appears twice, first in line 4`},
		{"doubled header", []string{strings.Replace(all, header, header+header, 1)}, 3, `a\.jsonl:1: there is no end after this line`},
		{"doubled end", []string{all + lines[5]}, 3, `a\.jsonl:7: there is no header before this end`},
		{"two schemas", []string{all + old}, 2, `a\.jsonl:7: results of the schema "agentbench.results/v1" cannot be counted together`},
		{"the schema before", []string{old + strings.Join(trials, "")}, 3, `an earlier version wrote the results`},
		{"a schema to come", []string{strings.Replace(all, "results/v2", "results/v3", 1)}, 2, `a\.jsonl:1: the file's schema is "agentbench.results/v3"`},
		{"interrupted", []string{strings.Join(lines[:3], "") + "{\"type\":\"interrupted\",\"trials\":2,\"of\":4}\n"}, 3, `a\.jsonl:4: it was interrupted after 2`},
		{"empty", []string{""}, 2, `a\.jsonl: the file is empty`},
		{"empty second file", []string{all, ""}, 2, `b\.jsonl: the file is empty`},
		{"blank", []string{"\n\n"}, 2, `a\.jsonl: the file is empty`},
		{"binary", []string{"\x7fELF\x02\x01\x01\x00\x00"}, 2, `a\.jsonl:1: the line is not JSON`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			var files []string
			for i, text := range tt.files {
				files = append(files, filepath.Join(dir, string(rune('a'+i))+".jsonl"))
				if err := os.WriteFile(files[i], []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			code, stdout, stderr := session(t, append([]string{"gate"}, files...)...)
			if code != tt.code || !regexp.MustCompile(tt.want).MatchString(stdout+stderr) {
				t.Errorf("exit code %d, want %d and %s\n%s%s", code, tt.code, tt.want, stdout, stderr)
			}
		})
	}
}

// A campaign that was interrupted passes no gate, however good its runs were.
func TestInterruptedFuzz(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	file := filepath.Join(t.TempDir(), "fuzz.jsonl")
	var out bytes.Buffer
	if code := run(ctx, []string{"fuzz", "--runs", "1000", "-q", "-o", file}, strings.NewReader(""), &out, &out); code != exitInterrupted {
		t.Fatalf("exit code %d\n%s", code, out.String())
	}
	if code, stdout, _ := session(t, "gate", file); code != exitInconclusive || !strings.Contains(stdout, "it was interrupted after") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}
}

// Files that were joined, and files whose line breaks git changed, are as good
// as before.
func TestResultsStayWhole(t *testing.T) {
	lines := good(t)
	header := strings.Replace(lines[0], `"trials":4`, `"trials":2`, 1)
	file := filepath.Join(t.TempDir(), "r.jsonl")
	for name, text := range map[string]string{
		"joined":      ended(header, lines[1], lines[2]) + ended(header, lines[3], lines[4]),
		"blank lines": strings.Join(lines, "") + "\n\n",
		"CRLF":        strings.ReplaceAll(strings.Join(lines, ""), "\n", "\r\n"),
	} {
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if code, stdout, stderr := session(t, "gate", file); code != exitPassed || !strings.Contains(stdout, "4 trials of 1 scenario") {
			t.Errorf("%s: exit code %d\n%s%s", name, code, stdout, stderr)
		}
	}
}

// Whatever a report of incomplete results is written as, it says so.
func TestEveryFormatSaysIncomplete(t *testing.T) {
	lines := good(t)
	dir := t.TempDir()
	cut := filepath.Join(dir, "cut.jsonl")
	if err := os.WriteFile(cut, []byte(strings.Join(lines[:4], "")), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"report", cut, "-q"}
	for _, ending := range extensions() {
		args = append(args, "-o", filepath.Join(dir, "r"+ending))
	}
	if code, _, stderr := session(t, args...); code != exitPassed {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	for _, ending := range extensions() {
		text, err := os.ReadFile(filepath.Join(dir, "r"+ending))
		if err != nil {
			t.Fatal(err)
		}
		want := "incomplete"
		switch ending {
		case ".xml":
			want = `<testsuites name="agentbench" tests="4" failures="0" errors="1"`
		case ".sarif":
			want = `"executionSuccessful": false`
		case ".jsonl": // a gate of it is no better than one of the files
			if code, stdout, _ := session(t, "gate", filepath.Join(dir, "r.jsonl")); code != exitInconclusive || bytes.Contains(text, []byte(`"type":"end"`)) {
				t.Errorf("%s: exit code %d\n%s", ending, code, stdout)
			}
			continue
		}
		if !strings.Contains(string(text), want) {
			t.Errorf("%s does not say %q:\n%.3000s", ending, want, text)
		}
	}
	var whole struct {
		Incomplete []string `json:"incomplete"`
	}
	text, err := os.ReadFile(filepath.Join(dir, "r.json"))
	if err != nil || json.Unmarshal(text, &whole) != nil || len(whole.Incomplete) != 2 {
		t.Errorf("incomplete is %q, want two reasons", whole.Incomplete)
	}
}

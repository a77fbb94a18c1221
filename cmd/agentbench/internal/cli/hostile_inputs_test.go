package cli

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestHostileInputs runs the scripts in testdata/hostile, in this process, since a
// process for each of so many commands would take long. Beside testscript's own commands
// they have
//
//	says CODE PATTERN ARGS…   run agentbench with these arguments: it must end with the
//	                          code and one message that fits the pattern, and write no file
//	full ARGS…                run it with a full disk as its standard output: code 3
//	closed ARGS…              run it with a closed pipe as its standard output: code 3
//	write FILE 'TEXT' TIMES   write a text, with the escapes of Go, so many times
func TestHostileInputs(t *testing.T) {
	home, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, variables) || name == "OPENAI_BASE_URL" {
			os.Unsetenv(name)
			t.Cleanup(func() { os.Setenv(name, value) })
		}
	}
	testscript.RunT(serial{t}, testscript.Params{
		Dir:             filepath.Join("testdata", "hostile"),
		ContinueOnError: true,
		Setup: func(env *testscript.Env) error {
			env.Defer(func() { os.Chdir(home) }) // as before the script
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"says": says, "full": full, "closed": closed, "write": write},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("no such condition: %s", cond)
		},
	})
}

// serial is a test whose scripts run one after another: they change the working
// directory.
type serial struct{ *testing.T }

func (serial) Parallel()     {}
func (serial) Verbose() bool { return testing.Verbose() }

func (s serial) Run(name string, f func(testscript.T)) {
	s.T.Run(name, func(t *testing.T) { f(serial{t}) })
}

// inScript runs agentbench in the script's folder.
func inScript(ts *testscript.TestScript, args []string, stdout io.Writer) (code int, stderr string) {
	ts.Check(os.Chdir(ts.MkAbs(".")))
	var told bytes.Buffer
	noModel := func(endpoint.Settings, http.RoundTripper) (loop.Model, error) {
		return nil, fmt.Errorf("there is no model in this test")
	}
	code = Main(args, strings.NewReader(""), stdout, &told, Options{Connect: noModel})
	return code, told.String()
}

func says(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: says CODE PATTERN ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var stdout bytes.Buffer
	before := contents(ts)
	code, stderr := inScript(ts, args[2:], &stdout)
	after := contents(ts)
	shown := stderr + stdout.String()
	ts.Logf("%d\n%s", code, shown)
	switch {
	case code != want:
		ts.Fatalf("exit code %d, want %d", code, want)
	case !regexp.MustCompile("(?m)" + args[1]).MatchString(stderr):
		ts.Fatalf("no match for %q", args[1])
	case messages(stderr) != 1:
		ts.Fatalf("%d messages, want 1", messages(stderr))
	case strings.Contains(shown, "goroutine ") || strings.Contains(shown, "runtime error"):
		ts.Fatalf("a stack is shown")
	case strings.ContainsFunc(shown, func(r rune) bool { return r != '\n' && text.Hidden(r) }):
		ts.Fatalf("characters that do not show: %q", shown)
	case after != before:
		ts.Fatalf("files before\n%s\nafter\n%s", before, after)
	}
}

// messages counts the messages: lines that are neither a hint, a note, nor the excerpt of
// a file.
func messages(stderr string) (n int) {
	for line := range strings.Lines(stderr) {
		if !strings.HasPrefix(line, "hint: ") && !strings.HasPrefix(line, "note: ") && !strings.HasPrefix(line, " ") {
			n++
		}
	}
	return n
}

// contents lists the files of the script with their modes and what they hold.
func contents(ts *testscript.TestScript) string {
	var b strings.Builder
	root := ts.MkAbs(".")
	ts.Check(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		near, _ := filepath.Rel(root, path)
		fmt.Fprintf(&b, "%s %s", info.Mode(), near)
		if d.Type().IsRegular() && info.Mode().Perm()&0o400 != 0 {
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(&b, " %q", content[:min(len(content), 4096)])
		}
		b.WriteByte('\n')
		return nil
	}))
	return b.String()
}

func full(ts *testscript.TestScript, neg bool, args []string) {
	out, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	ts.Check(err)
	defer out.Close()
	cannotPrint(ts, out, "no space left on device", neg, args)
}

func closed(ts *testscript.TestScript, neg bool, args []string) {
	r, w, err := os.Pipe()
	ts.Check(err)
	defer w.Close()
	ts.Check(r.Close())
	cannotPrint(ts, w, "broken pipe", neg, args)
}

func cannotPrint(ts *testscript.TestScript, out io.Writer, why string, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: full ARGS…, closed ARGS…")
	}
	code, stderr := inScript(ts, args, out)
	ts.Logf("%d\n%s", code, stderr)
	if code != exitInconclusive || !strings.Contains(stderr, why) || messages(stderr) != 1 {
		ts.Fatalf("exit code %d, want %d and one message with %q", code, exitInconclusive, why)
	}
}

func write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: write FILE 'TEXT' TIMES")
	}
	content, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	times, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(content, times)), 0o666))
}

package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// session runs the program and returns its exit code and its output.
func session(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	code = Main(args, strings.NewReader(""), &out, &err, Options{})
	return code, out.String(), err.String()
}

// scenario writes a scenario of a model that says the same for ever, with a
// tool of uneven speed.
func scenario(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "uneven", "same.yaml")
	text := `name: same
description: the model asks for the same again and again
label: runaway
task: go
tools: [{name: look, latency: 1s..2s, answers: [{result: x}]}]
model: [{calls: [{look: {}}], repeat: forever}]
`
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A writerFunc is a writer made of a function.
type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestEveryCommandHasAnExample(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Example == "" || cmd.Short == "" {
			t.Errorf("%s has no example, or is not described", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Example) {
			if !strings.Contains(line, "agentbench ") {
				t.Errorf("%s: %q is not an example of it", cmd.CommandPath(), line)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || f.Value.Type() == "string" && !strings.Contains(f.Usage, "`") {
				t.Errorf("%s --%s: the usage must say what it takes", cmd.CommandPath(), f.Name)
			}
		})
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot())
}

// quotedFields splits as a shell does what has words in single quotes.
func quotedFields(line string) (words []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}

// The examples of the help must be commands that there are, with flags that
// there are.
func TestExamplesParse(t *testing.T) {
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			_, args, found := strings.Cut(line, "agentbench ")
			if !found || strings.Contains(line, "<(") || strings.Contains(line, "> ") {
				continue
			}
			if cmd.Name() == "agentbench" {
				args, _, _ = strings.Cut(args, "  ") // its purpose follows
			}
			target, rest, err := newRoot().Find(quotedFields(args))
			if err == nil {
				err = target.ParseFlags(rest)
			}
			if err != nil || target.Name() == "agentbench" {
				t.Errorf("%s: %q: %v", cmd.CommandPath(), strings.TrimSpace(line), err)
			}
		}
		for _, c := range cmd.Commands() {
			visit(c)
		}
	}
	visit(newRoot())
}

// An interrupt keeps what there is. It comes while the third trial is written,
// so the file holds three of a hundred, and a last line that says so.
func TestInterruptKeepsTheResultsSoFar(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	file := filepath.Join(t.TempDir(), "results.jsonl")
	var stdout, stderr bytes.Buffer
	trials := 0
	watch := writerFunc(func(p []byte) (int, error) {
		if bytes.HasPrefix(p, []byte(`{"type":"trial"`)) {
			if trials++; trials == 3 {
				cancel()
			}
		}
		return stdout.Write(p)
	})
	args := []string{"run", scenario(t), "--seeds", "100", "-o", "-", "-o", file}
	if code := run(ctx, args, strings.NewReader(""), watch, &stderr); code != 130 {
		t.Fatalf("exit code %d, want 130\n%s", code, stderr.String())
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(kept, stdout.Bytes()) {
		t.Errorf("the file holds\n%s\nthe standard output\n%s", kept, stdout.String())
	}
	lines := strings.Split(strings.TrimSpace(string(kept)), "\n")
	if len(lines) != 5 || lines[4] != `{"type":"interrupted","trials":3,"of":100}` {
		t.Errorf("want a header, three trials and the interruption, got\n%s", kept)
	}
	want := "interrupted after 3 trials of 100\n" + file + " has them; its last line says that it is not whole\n"
	if !strings.HasSuffix(stderr.String(), want) {
		t.Errorf("stderr %q, want it to end with %q", stderr.String(), want)
	}
}

// When the standard output breaks, no file is left that looks whole.
func TestBrokenOutputLeavesNoFile(t *testing.T) {
	dir := t.TempDir()
	n := 0
	broken := writerFunc(func(p []byte) (int, error) {
		if n++; n > 2 {
			return 0, errors.New("the disk is full")
		}
		return len(p), nil
	})
	var stderr bytes.Buffer
	args := []string{"run", scenario(t), "--seeds", "9", "-o", "-", "-o", filepath.Join(dir, "a.jsonl")}
	if code := Main(args, strings.NewReader(""), broken, &stderr, Options{}); code != 3 {
		t.Errorf("exit code %d, want 3", code)
	}
	if got := stderr.String(); got != "error: the disk is full\n" {
		t.Errorf("stderr %q", got)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// A run that fails to begin leaves the file of an earlier one alone.
func TestBadUsageLeavesOldResultsAlone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "old.jsonl")
	if err := os.WriteFile(file, []byte("old"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, _ := session(t, "run", scenario(t), "-o", file, "-o", "/no such folder/x.jsonl"); code != 2 {
		t.Errorf("exit code %d, want 2", code)
	}
	if got, _ := os.ReadFile(file); string(got) != "old" {
		t.Errorf("the file holds %q", got)
	}
	if left, _ := filepath.Glob(file + "*.partial"); len(left) > 0 {
		t.Error("a part of a file is left")
	}
}

func TestFailuresBeyondTen(t *testing.T) {
	path := scenario(t)
	_, some, _ := session(t, "run", path, "--variant", "none", "--seeds", "12")
	if n := strings.Count(some, "FAIL "); n != 10 || !strings.HasSuffix(some, "\n2 more failures not shown: --ci or --verbose shows all\n") {
		t.Errorf("%d failures shown, want 10 and a line on 2 more", n)
	}
	if !strings.Contains(some, " --variant none --seed 10\n") {
		t.Errorf("the tenth trial draws random numbers, so it is repeated with its seed:\n%s", some)
	}
	_, all, _ := session(t, "run", path, "--variant", "none", "--seeds", "12", "--ci")
	if n := strings.Count(all, "FAIL "); n != 12 {
		t.Errorf("%d failures shown with --ci, want 12", n)
	}
}

// The command under a failure makes the same trial again.
func TestRepeatCommandRepeats(t *testing.T) {
	path := scenario(t)
	_, out, _ := session(t, "run", path, "--variant", "none", "--seeds", "2")
	_, after, found := strings.Cut(out, "repeat: agentbench ")
	if !found {
		t.Fatalf("no command:\n%s", out)
	}
	command, _, _ := strings.Cut(after, "\n")
	code, again, stderr := session(t, strings.Fields(command)...)
	if code != 1 || !strings.Contains(again, "\nUnder none, seed 1\n") {
		t.Errorf("%q: exit code %d\n%s%s", command, code, again, stderr)
	}
}

func TestShellWords(t *testing.T) {
	for _, c := range []struct {
		in   []string
		want string
	}{
		{[]string{"agentbench", "explain", "loops/a.yaml"}, "agentbench explain loops/a.yaml"},
		{[]string{"my file"}, `'my file'`},
		{[]string{"it's", "$HOME", ""}, `'it'\''s' '$HOME' ''`},
		{[]string{"*/x-?"}, `'*/x-?'`},
	} {
		if got := shellWords(c.in); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// What a flag is called is as hostile as any other text.
func TestFlagsAreEscaped(t *testing.T) {
	for _, flag := range []string{"--no\x1b[31m", "-\x1b"} {
		code, _, stderr := session(t, "run", flag)
		if code != exitUsage || stderr == "" || strings.Contains(stderr, "\x1b") {
			t.Errorf("%q: exit code %d, %q", flag, code, stderr)
		}
	}
}

// The counts of explain have everything that the loop did about the calls: a
// third equal call in a row is nudged under recommended, and only once.
func TestCountsOfNudges(t *testing.T) {
	code, stdout, stderr := session(t, "explain", "stuck-loops/same-call-forever", "--variant", "recommended")
	if code != exitPassed || !strings.Contains(stdout, "6 vetoed, 1 nudge, 20.8s") {
		t.Errorf("exit code %d, %q, %q", code, stdout, stderr)
	}
}

func TestBar(t *testing.T) {
	var b strings.Builder
	shown := &bar{w: &b, of: 4}
	shown.show(1)
	shown.show(2) // so soon after the first that it is not drawn
	shown.clear()
	// A quarter of thirty is seven.
	want := "\r\x1b[K" + strings.Repeat("█", 7) + strings.Repeat("░", 23) + " 1 of 4" + "\r\x1b[K"
	if got := b.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	b.Reset()
	short := &bar{w: &b, of: 4, drawn: time.Now()}
	short.show(4)
	short.clear()
	if b.Len() > 0 {
		t.Errorf("work that is done at once shows %q", b.String())
	}
	log := &bar{w: &b, of: 4000, log: true}
	log.show(1204)
	log.show(1205) // so soon after the first that nothing is said
	log.clear()
	unknown := &bar{w: &b, log: true}
	unknown.show(7)
	if got := b.String(); got != "still running: 1,204 of 4,000\nstill running: 7 done\n" {
		t.Errorf("a log gets %q", got)
	}
	b.Reset()
	unknown = &bar{w: &b}
	unknown.show(1204)
	unknown.clear()
	if got := b.String(); got != "\r\x1b[K1,204 done\r\x1b[K" {
		t.Errorf("a terminal gets %q where nobody knows how much there is", got)
	}
	if bar := newBar(&b, 4, false, false); bar != nil {
		t.Error("a pipe gets a bar")
	}
	if bar := newBar(&b, 4, false, true); bar == nil || !bar.log {
		t.Error("a log gets no lines")
	}
	var none *bar
	none.show(1) // a nil bar shows nothing
	none.clear()
}

// Of one file of recorded runs the trials are told: no file is done before the last.
func TestProgressOfOneFile(t *testing.T) {
	for of, want := range map[int]string{0: "still running: 2 done\n", 9: "still running: 5 of 9\n"} {
		var b strings.Builder
		f := &outputFlags{format: table}
		out, err := f.openStream(&cobra.Command{}, of, func() int { return 5 })
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second is told
			out.bar = &bar{w: &b, of: of, log: true, drawn: time.Now()}
			if out.done == 1 {
				out.bar.drawn = time.Time{}
			}
			if err := out.add(&scenarios.Result{}); err != nil {
				t.Fatal(err)
			}
		}
		if b.String() != want {
			t.Errorf("of %d: got %q, want %q", of, b.String(), want)
		}
	}
}

// An output that is not a terminal gets neither colour nor a bar.
func TestNoTerminal(t *testing.T) {
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(null) || isTerminal(&bytes.Buffer{}) || bool(colour(null, false)) {
		t.Error("taken for a terminal")
	}
}

//go:build unix

package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/cassettes/tape"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/rogpeppe/go-internal/txtar"
)

// kills is how often each command of TestKilled is ended by each signal. The tag
// attack makes it 30.
var kills = 2

const uneven = `name: slow
description: a tool of uneven speed
label: healthy
task: Read it
tools: [{name: read_file, latency: 50ms..20s, answers: [{result: text}]}]
model:
  - {calls: [{read_file: {path: a}}]}
  - {text: done}
`

// A killed is a command that writes files, in a folder of its own.
type killed struct {
	name  string
	files map[string]string // of the folder
	old   string            // a command that leaves earlier files, "" = none
	then  map[string]string // what changes of the folder after it
	args  string
	// whole reads a file that holds neither what was there before nor what the
	// command writes when nobody ends it; nil = there is none.
	whole func(t *testing.T, name string, content []byte)
}

// Whenever a command is killed or interrupted, each of its files holds what it
// held before or something whole: what the command writes when left alone, or,
// after an interrupt, the results so far, which say that they are not whole.
// Temporary files are left by SIGKILL only.
func TestKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("commands that are killed take seconds of CPU")
	}
	suite := map[string]string{"s/slow.yaml": uneven}
	first, changed := map[string]string{}, map[string]string{}
	for _, name := range strings.Fields("a b c d e f g h i j k l m n o p q r s t u v w x y z") {
		first["s/"+name+".yaml"] = strings.Replace(uneven, "slow", name, 1)
		changed["s/"+name+".yaml"] = strings.Replace(first["s/"+name+".yaml"], "result: text", "result: another", 1)
	}
	const chat = `{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}` + "\n"
	recorded := map[string]string{"few.jsonl": chat, "many.jsonl": strings.Repeat(chat, 1500)}
	const all = " -q -o r.jsonl -o r.json -o r.md -o r.html -o r.xml -o r.svg -o r.csv -o r.sarif -o r.codequality.json"
	commands := []killed{
		{name: "run", files: suite, old: "run s --seeds 2" + all, args: "run s --seeds 1500" + all, whole: partial},
		{name: "compare", files: suite, old: "compare s --variant none --variant hpd-agent --seeds 2" + all, args: "compare s --variant none --variant hpd-agent --seeds 800" + all, whole: partial},
		{name: "replay", files: recorded, old: "replay few.jsonl" + all, args: "replay many.jsonl" + all, whole: partial},
		{name: "report", files: suite, old: "run s --seeds 1000 -q -o in.jsonl -o r.html -o r.xml -o r.csv -o r.md", args: "report in.jsonl -q --reference hpd-agent -o r.html -o r.xml -o r.csv -o r.md"},
		{name: "gate", files: suite, old: "run s --seeds 1000 -q -o in.jsonl -o g.json -o g.xml", args: "gate in.jsonl -q --min-trials 5 -o g.json -o g.xml"},
		{name: "fuzz", old: "fuzz --runs 1 -q -o f.jsonl", args: "fuzz --runs 150 -q -o f.jsonl --save saved", whole: partial},
		{name: "golden", files: first, old: "golden update s", then: changed, args: "golden update s"},
		{name: "init", args: "init project"},
	}
	if built.Connect != nil {
		commands = append(commands, recording(t))
	} else {
		t.Log("this build has no live models: record is left out")
	}
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range commands {
		t.Run(c.name, func(t *testing.T) { c.attack(t, random) })
	}
}

func (c *killed) attack(t *testing.T, random *rand.Rand) {
	before := t.TempDir()
	lay(t, before, c.files)
	if c.old != "" {
		end(t, before, c.old, 0, nil)
	}
	lay(t, before, c.then)
	old := held(t, before)
	after := t.TempDir()
	lay(t, after, old)
	_, took, _ := end(t, after, c.args, 0, nil)
	whole := held(t, after)
	checked := 0
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		codes, ended := map[int]int{}, 0
		for i := 0; ended < kills && i < 3*kills; i++ {
			dir := t.TempDir()
			lay(t, dir, old)
			at := random.Float64() * 1.1
			if i%2 == 1 { // the files get their names at the end
				at = 0.7 + at/3
			}
			code, lasted, came := end(t, dir, c.args, time.Duration(at*float64(took)), signal)
			codes[code]++
			if came {
				ended++
			} else { // the machine is faster now
				took = min(took, lasted)
			}
			now := held(t, dir)
			checked += len(now)
			for name, was := range old {
				if got, ok := now[name]; !ok {
					t.Errorf("%v after %.2f of the time: %s is gone, which held %d bytes", signal, at, name, len(was))
				} else if got != was {
					c.check(t, signal, name, got, whole)
				}
			}
			for name, got := range now {
				switch _, there := old[name]; {
				case there:
				case strings.HasSuffix(name, ".partial"):
					if signal != syscall.SIGKILL {
						t.Errorf("after %v %s is left", signal, name)
					}
				default:
					c.check(t, signal, name, got, whole)
				}
			}
		}
		for _, code := range slices.Sorted(maps.Keys(codes)) {
			// -1: before the command takes signals, SIGINT ends it like any program.
			if code != 0 && code != -1 && (signal == syscall.SIGKILL || code != 130) {
				t.Errorf("%v: exit code %d", signal, code)
			}
		}
		t.Logf("%d × %v in time: exit codes %v", ended, signal, codes)
	}
	t.Logf("%d files checked", checked)
}

// check checks a file that is not as it was before.
func (c *killed) check(t *testing.T, signal syscall.Signal, name, got string, whole map[string]string) {
	t.Helper()
	switch want, known := whole[name]; {
	case known && timeless(name, got) == timeless(name, want):
	case c.whole != nil && (signal == syscall.SIGINT || c.name == "record"):
		c.whole(t, name, []byte(got))
	default:
		t.Errorf("after %v %s holds %d bytes, which are neither the old ones nor the %d of the whole command", signal, name, len(got), len(want))
	}
}

// wallTime is the time of a test in JUnit XML, which differs from run to run.
var wallTime = regexp.MustCompile(` time="[0-9.]+"`)

func timeless(name, content string) string {
	if filepath.Ext(name) != ".xml" {
		return content
	}
	return wallTime.ReplaceAllString(content, "")
}

// partial reads the results of a command that was interrupted.
func partial(t *testing.T, name string, content []byte) {
	t.Helper()
	var err error
	says := true // that it is not whole
	switch filepath.Ext(name) {
	case ".jsonl":
		lines := bytes.Split(bytes.TrimSuffix(content, []byte("\n")), []byte("\n"))
		says = bytes.HasPrefix(lines[len(lines)-1], []byte(`{"type":"interrupted",`))
		_, err = scenarios.ReadResults(bytes.NewReader(content), name, func(*scenarios.Header) error { return nil }, func(*scenarios.Result) error { return nil })
	case ".json":
		says, err = bytes.Contains(content, []byte("incomplete")), json.Unmarshal(content, new(any))
	case ".md":
		says = bytes.Contains(content, []byte("incomplete")) && bytes.HasSuffix(content, []byte("\n"))
	case ".html":
		says = bytes.Contains(content, []byte("incomplete")) && bytes.HasSuffix(bytes.TrimSpace(content), []byte("</html>"))
	case ".xml", ".svg":
		err = wellFormed(content)
	case ".csv":
		_, err = csv.NewReader(bytes.NewReader(content)).ReadAll()
	case ".sarif":
		err = json.Unmarshal(content, new(any))
	default:
		t.Errorf("%s: nobody knows what it may hold", name)
	}
	if err != nil || !says {
		t.Errorf("%s after an interrupt: %v; says that it is not whole: %t\n%.300s", name, err, says, content)
	}
}

// recording is the command record against an endpoint of this process.
func recording(t *testing.T) killed {
	a, err := txtar.ParseFile("testdata/record.txtar")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, f := range a.Files {
		if f.Name == "look.yaml" || f.Name == "script.yaml" {
			files[f.Name] = string(f.Data)
		}
	}
	dir := t.TempDir()
	lay(t, dir, files)
	all, err := scenarios.Load(filepath.Join(dir, "script.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New([]serve.Scenario{{Name: all[0].ID(), Script: &all[0].Script}}, serve.Options{Speed: 1e6, ScriptedUsage: true})
	if err != nil {
		t.Fatal(err)
	}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	t.Setenv("OPENAI_BASE_URL", listening.URL+"/v1")
	t.Setenv("OPENAI_API_KEY", "sk-test")
	t.Setenv("OPENAI_MODEL", "m")
	whole := func(t *testing.T, name string, content []byte) {
		var err error
		switch {
		case strings.HasSuffix(name, scenarios.CassetteSuffix):
			path := filepath.Join(t.TempDir(), name)
			redactor, problem := secrets.New(secrets.Options{})
			if err = errors.Join(problem, os.WriteFile(path, content, 0o600)); err == nil {
				_, err = tape.Open(path, redactor)
			}
		case strings.HasSuffix(name, ".golden"):
			_, err = goldens.Parse(name, content)
		default:
			_, err = scenarios.ReadResults(bytes.NewReader(content), name, func(*scenarios.Header) error { return nil }, func(*scenarios.Result) error { return nil })
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	return killed{name: "record", files: files, old: "record look.yaml", args: "record look.yaml --record-mode rewrite --results r.jsonl", whole: whole}
}

// end runs a command in a folder, and sends it a signal after some time. It
// returns the exit code, -1 for a command that a signal has ended, how long the
// command ran, and whether the signal came before it was over.
func end(t *testing.T, dir, args string, after time.Duration, signal os.Signal) (code int, took time.Duration, came bool) {
	t.Helper()
	cmd := exec.Command("agentbench", strings.Fields(args)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := make(chan bool, 1)
	if signal != nil {
		timer := time.AfterFunc(after, func() { sent <- cmd.Process.Signal(signal) == nil })
		defer timer.Stop()
	}
	err := cmd.Wait()
	took = time.Since(began)
	select {
	case came = <-sent:
	default:
	}
	var exit *exec.ExitError
	if err != nil && (signal == nil || !errors.As(err, &exit)) {
		t.Fatalf("agentbench %s: %v\n%s", args, err, &stderr)
	}
	if strings.Contains(stderr.String(), "goroutine ") {
		t.Errorf("agentbench %s ends with a stack:\n%s", args, &stderr)
	}
	return cmd.ProcessState.ExitCode(), took, came
}

// lay writes files into a folder.
func lay(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
}

// held returns what the files of a folder hold.
func held(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

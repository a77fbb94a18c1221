package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agentbench": main})
}

// TestScripts runs the sessions in testdata. Beside testscript's own commands
// they have
//
//	exitcode N COMMAND…       run the command, which must end with exactly N
//	refused PATTERN COMMAND…  run the command, which must end with the code 2, say
//	                          what fits the pattern, and nothing else than text
//	interrupt COMMAND…        run the command, interrupt it when it has written its
//	                          first trial; stdout and stderr are left in files
//	                          of these names
//	write FILE 'TEXT' TIMES   write a text, with the escapes of Go, so many times
//	sparse FILE BYTES         make a file of that size that takes no room
//	fifo FILE                 make a named pipe
//	writing FILE              be another run that is writing the file, until its end
//	endpoint SCENARIO         serve the model of a scenario, and name it in the
//	                          variable OPENAI_BASE_URL; endpoint off ends that
//
// and the conditions [live], the program has live models, [root], files of every mode
// can be read, and [mount], a process may mount a disk of its own.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
			if err != nil {
				return err
			}
			env.Setenv("EXAMPLES", examples)
			for name, value := range map[string]string{"TZ": "UTC", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"} {
				env.Setenv(name, value)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode":  exitCode,
			"refused":   refused,
			"fifo":      fifo,
			"interrupt": interrupt,
			"write":     write,
			"sparse":    sparse,
			"endpoint":  endpoint,
			"writing":   writing,
			"nopartial": noPartial,
		},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "live":
				return built.Connect != nil, nil
			case "root":
				return os.Geteuid() == 0, nil
			case "mount":
				return exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/mnt").Run() == nil, nil
			}
			return false, fmt.Errorf("no such condition: %s", cond)
		},
	})
}

// endpoint serves without waits, so that a recording takes none either.
func endpoint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: endpoint SCENARIO | off")
	}
	if args[0] == "off" {
		ts.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1") // where nobody listens
		return
	}
	all, err := scenarios.Load(ts.MkAbs(args[0]))
	ts.Check(err)
	server, err := serve.New([]serve.Scenario{{Name: all[0].ID(), Script: &all[0].Script}}, serve.Options{Speed: 1e6, ScriptedUsage: true})
	ts.Check(err)
	listening := httptest.NewServer(server)
	ts.Defer(listening.Close)
	ts.Setenv("OPENAI_BASE_URL", listening.URL+"/v1")
}

func writing(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: writing FILE")
	}
	file, err := outfile.Create(ts.MkAbs(args[0]), 0o666)
	ts.Check(err)
	ts.Defer(file.Discard)
}

// noPartial checks that no temporary file of an output lies in the folder.
func noPartial(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: nopartial")
	}
	found, err := filepath.Glob(filepath.Join(ts.MkAbs("."), "*.partial"))
	ts.Check(err)
	if len(found) > 0 {
		ts.Fatalf("temporary files are left: %q", found)
	}
}

func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// refused is exitcode 2, stderr PATTERN and ! stdout . in one line; besides, no
// stack of Go and no character that steers a terminal may be shown.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: refused PATTERN COMMAND…")
	}
	exitCode(ts, false, append([]string{"2"}, args[1:]...))
	shown := ts.ReadFile("stderr")
	switch {
	case !regexp.MustCompile("(?m)" + args[0]).MatchString(shown):
		ts.Fatalf("no match for %q", args[0])
	case strings.Contains(shown, "goroutine "):
		ts.Fatalf("a stack is shown")
	case strings.ContainsFunc(shown, func(r rune) bool { return r != '\n' && text.Hidden(r) }):
		ts.Fatalf("the message holds characters that do not show: %q", shown)
	case ts.ReadFile("stdout") != "":
		ts.Fatalf("there is something on the standard output")
	}
}

func fifo(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: fifo FILE")
	}
	ts.Check(exec.Command("mkfifo", ts.MkAbs(args[0])).Run())
}

func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	var with os.Signal = os.Interrupt
	if len(args) > 0 && args[0] == "-hangup" {
		with, args = syscall.SIGHUP, args[1:]
	}
	if neg || len(args) == 0 {
		ts.Fatalf("usage: interrupt [-hangup] COMMAND…")
	}
	cmd := exec.Command(lookPath(ts, args[0]), args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "NO_COLOR=1"}
	var stdout, stderr bytes.Buffer
	outPipe, err := cmd.StdoutPipe()
	ts.Check(err)
	errPipe, err := cmd.StderrPipe()
	ts.Check(err)
	// A signal that is caught here has its default action in the command, even where the
	// tests run below nohup, which has commands ignore it.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, with)
	defer signal.Stop(caught)
	ts.Check(cmd.Start())
	var once sync.Once
	var both sync.WaitGroup
	// A trial is a line of results, or one of --verbose.
	follow := func(pipe io.Reader, to *bytes.Buffer, trial string) {
		for lines := bufio.NewReader(pipe); ; {
			line, err := lines.ReadString('\n')
			to.WriteString(line)
			if strings.Contains(line, trial) {
				once.Do(func() { cmd.Process.Signal(with) })
			}
			if err != nil {
				return
			}
		}
	}
	both.Go(func() { follow(outPipe, &stdout, `"type":"trial"`) })
	both.Go(func() { follow(errPipe, &stderr, "unjudged ") })
	both.Wait()
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		ts.Fatalf("ended with %v, want exit code 130\n%s", err, stderr.String())
	}
	ts.Check(os.WriteFile(ts.MkAbs("stdout"), stdout.Bytes(), 0o666))
	ts.Check(os.WriteFile(ts.MkAbs("stderr"), stderr.Bytes(), 0o666))
}

// lookPath finds a command in the script's PATH.
func lookPath(ts *testscript.TestScript, name string) string {
	for _, dir := range filepath.SplitList(ts.Getenv("PATH")) {
		if path := filepath.Join(dir, name); isFile(path) {
			return path
		}
	}
	ts.Fatalf("there is no command %s", name)
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func write(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: write FILE 'TEXT' TIMES")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	times, err := strconv.Atoi(args[2])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Repeat(text, times)), 0o666))
}

func sparse(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sparse FILE BYTES")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), nil, 0o666))
	ts.Check(os.Truncate(ts.MkAbs(args[0]), size))
}

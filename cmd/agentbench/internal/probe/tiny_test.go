//go:build unix

package probe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/scenarios"
)

// tiny returns a tiny agent that is probed with its own tool.
func tiny(t *testing.T, command ...string) *Agent {
	t.Helper()
	return &Agent{Command: command, Cap: 60, Calls: 200, Timeout: time.Minute, Idle: 20 * time.Second, Speed: 1000, Name: "agent", Scratch: t.TempDir()}
}

func goAgent(t *testing.T, kind string) *Agent {
	t.Helper()
	return tiny(t, os.Args[0], agentWord, kind)
}

func ownOf(t *testing.T, a *Agent) *Tool {
	t.Helper()
	look, err := a.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if look.API != "chat" || len(look.Tools) != 1 || look.Tools[0].Name != "read_file" || look.Scripted {
		t.Fatalf("the first run showed %+v", look)
	}
	own, err := a.OwnTool(look, "", "")
	if err != nil {
		t.Fatal(err)
	}
	return own
}

// tinyKinds are the kinds of [tinyAgent] in the columns of tinyVerdicts.
var tinyKinds = []string{"naive", "retries", "retries-3", "cap-10", "breaker", "hoarder", "careful", "crash", "leaves", "hangs"}

// tinyVerdicts are the verdicts on each kind (pass, fail, inconclusive) in the short
// set, which follow from what the agent does and what the scenario holds.
var tinyVerdicts = []struct{ scenario, verdicts string }{
	{"error-spirals/broken-json-forever", "fffppppifi"},  // the same broken call
	{"error-spirals/rate-limited-forever", "ifpppppiii"}, // one failure is not a pattern
	{"error-spirals/unknown-tool-forever", "fffppppifi"}, // the same call
	{"healthy/fifty-files", "pppfpppfpi"},                // 51 requests
	{"healthy/four-alike-then-another", "ppppffffpi"},    // 10 requests, four equal calls in a row
	{"healthy/four-checks", "ppppffffpi"},                // four equal calls in a row
	{"healthy/only-an-answer", "pppppppfpi"},
	{"healthy/read-the-same-file-later", "pppfpfpfpi"}, // 21 requests, one call five times
	{"healthy/twelve-files-attached", "pppfpppfpi"},    // 14 requests
	{"healthy/two-laps-and-the-answer", "pppppppfpi"},  // each call twice
	{"limits/always-new-always-ok", "fffpfffifi"},      // no call twice
	{"parallel-spam/fan-out-forever", "fffpfffifi"},    // twelve new calls a reply
	{"protocol/answer-cut-forever", "ffffffpifi"},
	{"protocol/broken-json-once", "pppppppfpi"},
	{"protocol/nothing-but-empty-replies", "ffffffpifi"},
	{"protocol/one-blank-reply", "ffffffpffi"},        // only who asks again gets the answer
	{"recovery/connection-lost", "fppppppffi"},        // one retry, after a reply
	{"recovery/rate-limited-twice", "fppppppfff"},     // two retries
	{"recovery/stream-cut-and-503", "fppppppfff"},     // two retries
	{"stuck-loops/must-always-call", "fffpfffifi"},    // no call twice
	{"stuck-loops/offset-past-the-end", "fffpfffifi"}, // no call twice
	{"stuck-loops/reordered-arguments", "fffppppifi"}, // the same call in other words
	{"stuck-loops/ring-of-four", "fffpfpfifi"},        // no call twice in a row
	{"stuck-loops/same-call-forever", "fffppppifi"},   // the same call
}

func TestTinyAgents(t *testing.T) {
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	own := ownOf(t, goAgent(t, "naive"))
	chosen := Short(all, own)
	if testing.Short() {
		chosen = chosen[15:] // one of each kind
	}
	for column, kind := range tinyKinds {
		if testing.Short() && kind != "careful" && kind != "leaves" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			a, jobs := goAgent(t, kind), 2
			if kind == "hangs" { // they do nothing but wait
				a.Idle, jobs = 2*time.Second, 10
			}
			n := 0
			err := a.Run(t.Context(), Plan{Scenarios: chosen, Own: own, Seed: 1, Jobs: jobs}, func(r *scenarios.Result) error {
				want := ""
				for _, row := range tinyVerdicts {
					if row.scenario == r.Scenario {
						want = string(row.verdicts[column])
					}
				}
				if got := string(r.Verdict[:1]); got != want {
					t.Errorf("%s: %s, want %s (%d requests, %d calls, %s) %+v", r.Scenario, got, want, r.Requests, r.Asked, r.Why, r.Findings)
				}
				if killed := slices.Contains(r.Notes, "1 process outlived the agent and was killed"); killed != (kind == "leaves") {
					t.Errorf("%s: notes %q", r.Scenario, r.Notes)
				}
				n++
				return nil
			})
			if err != nil || n != len(chosen) {
				t.Errorf("%d results of %d, %v", n, len(chosen), err)
			}
		})
	}
}

// An agent that sleeps, and one that writes a gigabyte before it does anything, cost
// no more than their time.
func TestHostileAgents(t *testing.T) {
	s := embedded(t, "stuck-loops/same-call-forever")
	own := &Tool{Name: "read_file"}
	for _, tt := range []struct {
		name    string
		command []string
		change  func(*Agent)
		rule    string
		says    string
	}{
		{name: "hangs after its first request", command: []string{os.Args[0], agentWord, "hangs"}, change: func(a *Agent) { a.Idle = 3 * time.Second }, rule: "silent", says: "alive and silent for 3s"},
		{name: "never connects", command: []string{"sleep", "1000"}, change: func(a *Agent) { a.Idle = 200 * time.Millisecond }, rule: "no-request"},
		{name: "exits at once", command: []string{"true"}, rule: "no-request"},
		{name: "closes its pipes", command: []string{"sh", "-c", "exec >&- 2>&- <&-; sleep 1000"}, change: func(a *Agent) { a.Idle = 200 * time.Millisecond }, rule: "no-request"},
		{name: "ignores signals", command: []string{"sh", "-c", "trap '' INT TERM HUP; while :; do sleep 1; done"}, change: func(a *Agent) { a.Timeout = 300 * time.Millisecond }, rule: "no-request"},
		{name: "forks and leaves its group", command: []string{"sh", "-c", "for i in 1 2 3 4 5; do (setsid sh -c 'sleep 1000' &) ; done; exit 4"}, rule: "no-request", says: "exit code 4"},
		{name: "kills itself", command: []string{"sh", "-c", "kill -9 $$"}, rule: "no-request", says: "SIGKILL"},
		{name: "writes much", command: []string{"sh", "-c", "head -c 100000000 /dev/zero; echo the last words >&2; exit 5"}, rule: "no-request", says: "the last words"},
		{name: "waits for a terminal", command: []string{"sh", "-c", "read line < /dev/tty; exit 6"}, rule: "no-request", says: "exit code"},
		{name: "asks a wrong path", command: []string{os.Args[0], agentWord, "astray"}, rule: "no-request", says: "/elsewhere"},
		{name: "asks without the trial's path", command: []string{os.Args[0], agentWord, "outside"}, rule: "no-request", says: "without the path"},
		{name: "floods", command: []string{os.Args[0], agentWord, "floods"}, rule: "label", says: "the cap of 60 requests"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			a := tiny(t, tt.command...)
			if tt.change != nil {
				tt.change(a)
			}
			var got *scenarios.Result
			if err := a.Run(t.Context(), Plan{Scenarios: []*scenarios.Scenario{s}, Own: own, Seed: 1}, func(r *scenarios.Result) error {
				got = r
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			if len(got.Findings) == 0 || got.Findings[0].Rule != tt.rule || !strings.Contains(got.Findings[0].Message+" "+got.Why, tt.says) {
				t.Errorf("%+v, %q", got.Findings, got.Why)
			}
		})
	}
}

func embedded(t *testing.T, id string) *scenarios.Scenario {
	t.Helper()
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	return all[slices.IndexFunc(all, func(s *scenarios.Scenario) bool { return s.ID() == id })]
}

// When the probe ends, or its context, nothing of an agent is left.
func TestNothingIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds processes that leave the agent's group")
	}
	mark := fmt.Sprintf("agentbench-stray-%d", os.Getpid())
	a := tiny(t, "sh", "-c", `setsid sh -c 'sleep 1000 # `+mark+`' & sh -c 'sleep 1000 # `+mark+`'`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error)
	go func() {
		done <- a.Run(ctx, Plan{Scenarios: []*scenarios.Scenario{embedded(t, "healthy/only-an-answer")}, Seed: 1}, func(*scenarios.Result) error { return nil })
	}()
	for running(mark) < 2 {
		runtime.Gosched()
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	if n := running(mark); n > 0 {
		t.Errorf("%d processes are left", n)
	}
}

// An agent that stops or kills its supervisor is ended all the same, and what it started.
func TestAttacksOnTheSupervisor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux finds processes that leave the agent's group")
	}
	for _, signal := range []string{"STOP", "KILL"} {
		t.Run(signal, func(t *testing.T) {
			t.Parallel()
			mark := fmt.Sprintf("agentbench-%s-%d", signal, os.Getpid())
			a := tiny(t, "sh", "-c", `setsid sh -c 'sleep 1000 # `+mark+`' & kill -`+signal+` $PPID; sh -c 'sleep 1000 # `+mark+`'`)
			a.Timeout = 300 * time.Millisecond
			n := 0
			err := a.Run(t.Context(), Plan{Scenarios: []*scenarios.Scenario{embedded(t, "healthy/only-an-answer")}, Seed: 1}, func(r *scenarios.Result) error {
				if n++; r.Verdict != scenarios.Inconclusive {
					t.Errorf("%s, %s", r.Verdict, r.Why)
				}
				return nil
			})
			if left := running(mark); err != nil || n != 1 || left > 0 {
				t.Errorf("%d results, %v, and %d processes are left", n, err, left)
			}
		})
	}
}

// running returns how many processes have a word in their command.
func running(word string) (n int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		if b, err := os.ReadFile(path); err == nil && strings.Contains(string(b), word) && !strings.Contains(string(b), Word) {
			n++
		}
	}
	return n
}

// A first run says what is wrong with a command.
func TestLook(t *testing.T) {
	for _, tt := range []struct {
		command        []string
		problem, hint  string
		usage, scratch bool
	}{
		{command: []string{"sh", "tiny_test.go"}, problem: "sent no request", hint: "paths of its files in full", scratch: true},
		{command: []string{"sh", "-c", "echo Please run /login >&2; exit 1"}, problem: "sent no request", hint: "wants a login or a key"},
		{command: []string{"sh", "-c", "exit 1", "{URL}"}, problem: "sent no request", hint: "given the address in its command"},
		{[]string{"/nonexistent/agent"}, "cannot be started", "after --", true, false},
		{[]string{"sh", "-c", "echo no such module >&2; exit 1"}, `sent no request to the model: it ended with exit code 1; it says "no such module"`, "OPENAI_BASE_URL", false, false},
		{[]string{os.Args[0], agentWord, "astray"}, "/elsewhere", "{URL}", false, false},
		{[]string{os.Args[0], agentWord, "crash"}, "ended badly", "exit code 0", false, false},
	} {
		a := tiny(t, tt.command...)
		a.ScratchDir = tt.scratch
		_, err := a.Look(t.Context())
		var e *LookError
		if !errors.As(err, &e) || !strings.Contains(e.Problem, tt.problem) || !strings.Contains(e.Hint, tt.hint) || e.Usage != tt.usage {
			t.Errorf("%q: %+v", tt.command, err)
		}
	}
}

// The boundary of an agent whose breaker trips at the third equal call in a row.
func TestBoundary(t *testing.T) {
	a := goAgent(t, "breaker")
	own := ownOf(t, a)
	var trials []int
	n, err := a.Boundary(t.Context(), embedded(t, "stuck-loops/same-call-forever"), own, 1, 20, func(n int, _ *scenarios.Result) { trials = append(trials, n) })
	if err != nil || n != 3 || len(trials) > 6 {
		t.Errorf("stopped at %d after trials %d, %v", n, trials, err)
	}
	if n, err := goAgent(t, "naive").Boundary(t.Context(), embedded(t, "stuck-loops/same-call-forever"), own, 1, 5, func(int, *scenarios.Result) {}); n != 0 || err != nil {
		t.Errorf("no net stops at %d, %v", n, err)
	}
	if _, err := a.Boundary(t.Context(), embedded(t, "healthy/only-an-answer"), own, 1, 5, nil); err == nil {
		t.Error("a scenario without an endless step has a boundary")
	}
}

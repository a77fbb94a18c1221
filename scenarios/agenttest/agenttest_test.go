package agenttest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/agentbench-go/agentbench/scenarios/observe"
)

// plain is a loop without any net but a limit of turns; 0 = none. It waits for a reply
// as long as patient says; 0 = for ever.
func plain(limit int, patient time.Duration) Agent {
	return func(ctx context.Context, w *World) (string, error) {
		answer, _, err := turns(ctx, w, []loop.Message{{Role: loop.User, Text: w.Task}}, limit, patient)
		return answer, err
	}
}

// turns takes turns until the model has no call, and returns the answer and the history.
func turns(ctx context.Context, w *World, history []loop.Message, limit int, patient time.Duration) (string, []loop.Message, error) {
	var specs []loop.ToolSpec
	for _, tool := range w.Tools {
		specs = append(specs, tool.Spec())
	}
	for turn := 1; limit == 0 || turn <= limit; turn++ {
		asking, done := ctx, context.CancelFunc(func() {})
		if patient > 0 {
			asking, done = context.WithTimeout(ctx, patient)
		}
		reply, err := w.Model().Reply(asking, loop.ModelRequest{History: history, Tools: specs}, func(string) {})
		done()
		if err != nil {
			return "", history, err
		}
		m := loop.Message{Role: loop.Assistant, Text: reply.Text}
		if len(reply.Calls) == 0 {
			return reply.Text, append(history, m), nil
		}
		var results []loop.Message
		for _, c := range reply.Calls {
			m.Calls = append(m.Calls, loop.Call{ID: c.ID, Name: c.Name, Args: c.Args})
			results = append(results, loop.Message{Role: loop.ToolRole, CallID: c.ID, Text: execute(ctx, w, c)})
		}
		history = append(append(history, m), results...)
	}
	return "", history, fmt.Errorf("stopped after %d turns", limit)
}

func execute(ctx context.Context, w *World, c loop.AskedCall) string {
	for _, tool := range w.Tools {
		if tool.Name == c.Name {
			text, err := tool.Call(ctx, c.Args)
			if err != nil {
				return "Error: " + err.Error()
			}
			return text
		}
	}
	return "Error: there is no tool " + c.Name
}

// made is a scenario of the test's own.
func made(label scenarios.Label, tools []fakes.Tool, steps ...fakes.Step) *scenarios.Scenario {
	return &scenarios.Scenario{Suite: "mine", Name: "one", Label: label, Description: "It shows something.", Script: fakes.Script{Name: "mine/one", Task: "go", Tools: tools, Model: steps}}
}

func tool(answers ...fakes.Answer) []fakes.Tool {
	return []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "look", Description: "Look", Input: `{"type":"object"}`}, Answers: answers}}
}

var (
	look    = fakes.Step{Calls: []fakes.StepCall{{Name: "look", Args: `{"at":"a"}`}}}
	forever = fakes.Step{Calls: look.Calls, Repeat: fakes.Forever}
	done    = fakes.Step{Text: "Done."}
	silent  = fakes.Step{Text: "a", Failures: []fakes.ModelFailure{{Hang: true}}, FailForever: true}
	milk    = fakes.Answer{Result: "milk"}
	ms200   = 200 * time.Millisecond
)

// What a plain loop does is known by construction: 2 s a reply, 200 ms a call.
func TestTrial(t *testing.T) {
	for _, tt := range []struct {
		name     string
		scenario *scenarios.Scenario
		agent    Agent
		verdict  scenarios.Verdict
		end      loop.EndState
		says     string // in the failure
		requests int
		calls    int
		took     time.Duration
	}{
		{"a healthy run", made(scenarios.Healthy, tool(milk), look, done), plain(0, 0), scenarios.Pass, loop.Done, "", 2, 1, 4*time.Second + ms200},
		{"a healthy run that is stopped", made(scenarios.Healthy, tool(milk), fakes.Step{Calls: look.Calls, Repeat: 5}, done), plain(5, 0), scenarios.Fail, loop.StoppedByAgent,
			`it returned an error; it says "stopped after 5 turns"`, 5, 5, 11 * time.Second},
		{"a runaway that is stopped", made(scenarios.Runaway, tool(milk), forever), plain(7, 0), scenarios.Pass, loop.StoppedByAgent, "", 7, 7, 7 * (2*time.Second + ms200)},
		{"a runaway that is not", made(scenarios.Runaway, tool(milk), forever), plain(0, 0), scenarios.Fail, loop.Ceiling, "nothing stopped the runaway: 60 model requests, 60 calls, 2m12s\n  It shows something.", 60, 60, 60 * (2*time.Second + ms200)},
		{"a model that hangs", made(scenarios.Runaway, nil, silent), plain(0, 0), scenarios.Fail, loop.Ceiling, "waits for an answer that does not come within 1d00h", 1, 0, 24 * time.Hour},
		{"a model that hangs, and patience", made(scenarios.Runaway, nil, silent), plain(0, time.Minute), scenarios.Pass, loop.StoppedByAgent, "", 1, 0, time.Minute},
		{"a tool that hangs", made(scenarios.Runaway, tool(fakes.Answer{Hang: true}), forever), plain(0, 0), scenarios.Fail, loop.Ceiling, "waits for an answer", 1, 1, 24 * time.Hour},
		{"it never asks", made(scenarios.Runaway, tool(milk), forever), func(context.Context, *World) (string, error) { return "", nil }, scenarios.Inconclusive, loop.StoppedByAgent, "it sent no request", 0, 0, 0},
		{"it panics", made(scenarios.Runaway, tool(milk), forever), func(ctx context.Context, w *World) (string, error) {
			plain(3, 0)(ctx, w)
			panic("no such\nkey")
		}, scenarios.Fail, loop.StoppedByAgent, `the agent panicked: no such key`, 3, 3, 3 * (2*time.Second + ms200)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				r := Trial(t, tt.scenario, tt.agent)
				if r.Verdict != tt.verdict || r.EndState != tt.end || r.Requests != tt.requests || r.Asked != tt.calls {
					t.Errorf("%s %s, %d requests, %d calls", r.Verdict, r.EndState, r.Requests, r.Asked)
				}
				if took := time.Since(began); took != tt.took {
					t.Errorf("it took %v, not %v", took, tt.took)
				}
				if f := r.Failure(); (f == "") != (tt.verdict == scenarios.Pass) || !strings.Contains(f, tt.says) {
					t.Errorf("the failure is %q", f)
				}
			})
		})
	}
}

// An agent that does not care that its context has ended is given up after a minute, and
// what it leaves behind is named.
func TestLeak(t *testing.T) {
	var r *Report
	leaked := inBubble(t, func(t *testing.T) {
		r = Trial(t, made(scenarios.Runaway, tool(milk), forever), func(ctx context.Context, w *World) (string, error) {
			plain(2, 0)(ctx, w)
			waitForEver()
			return "", nil
		}, Within(time.Hour))
	})
	if !strings.Contains(leaked, "waitForEver") || r.Observation.End.At != time.Hour+time.Minute || r.Verdict != scenarios.Fail {
		t.Errorf("%s %v: %s", r.Verdict, r.Observation.End.At, leaked)
	}
}

func waitForEver() { <-make(chan bool) }

// A tool answers as its script says: in its order and time, with its codes.
func TestTools(t *testing.T) {
	s := made(scenarios.Healthy, []fakes.Tool{
		{ToolSpec: loop.ToolSpec{Name: "look"}, Answers: []fakes.Answer{{Result: "milk", Failures: []fakes.Failure{{Error: loop.RateLimited, Text: "slow down"}}}}},
		{ToolSpec: loop.ToolSpec{Name: "deaf"}, IgnoresCancel: true, Answers: []fakes.Answer{{Result: "late", Latency: fakes.Span{Min: time.Minute}}}},
		{ToolSpec: loop.ToolSpec{Name: "hangs"}, Answers: []fakes.Answer{{Hang: true}}},
	}, done)
	synctest.Test(t, func(t *testing.T) {
		Trial(t, s, func(ctx context.Context, w *World) (string, error) {
			began := time.Now()
			for _, tt := range []struct {
				tool     int
				args     string
				text     string
				code     loop.Code
				patience time.Duration
				took     time.Duration
			}{
				{0, "", "slow down", loop.RateLimited, time.Hour, ms200},
				{0, "{}", "milk", loop.None, time.Hour, ms200},
				{0, "[1]", "the arguments are not a JSON object", loop.InvalidInput, time.Hour, 0},
				{1, "{}", "late", loop.None, time.Second, time.Minute},
				{2, "{}", "", loop.None, time.Second, time.Second},
			} {
				at := time.Now()
				ctx, stop := context.WithTimeout(ctx, tt.patience)
				text, err := w.Tools[tt.tool].Call(ctx, tt.args)
				stop()
				var failed *loop.ToolError
				if errors.As(err, &failed) {
					text = failed.Text
				}
				if text != tt.text || (failed != nil) != (tt.code != loop.None) || failed != nil && failed.Code != tt.code || time.Since(at) != tt.took {
					t.Errorf("%+v: %q, %v after %v", tt, text, err, time.Since(at))
				}
			}
			if _, err := w.Tools[2].Call(ctx, `{}`); !errors.Is(err, ErrTime) || time.Since(began) != time.Hour {
				t.Errorf("%v after %v", err, time.Since(began))
			}
			return plain(0, 0)(ctx, w)
		}, Within(time.Hour))
	})
}

// converses is a plain loop in a conversation: each message continues the history.
func converses(ctx context.Context, w *World) (string, error) {
	var history []loop.Message
	return w.Converse(ctx, func(ctx context.Context, text string) (answer string, err error) {
		history = append(history, loop.Message{Role: loop.User, Text: text})
		answer, history, err = turns(ctx, w, history, 0, 0)
		return answer, err
	})
}

// Every scenario with a cancel or several messages can be judged.
func TestSessions(t *testing.T) {
	all, err := suites()
	if err != nil {
		t.Fatal(err)
	}
	o := newOptions([]Option{Sessions()})
	ids, asked := first(t), 0
	ends := map[string]string{}
	for _, s := range all {
		user := &s.Script.User
		if o.notAsked(s) != "" {
			continue
		}
		if ids[s.ID()] {
			asked++
		}
		if len(user.Messages) == 0 && user.Cancel == nil {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			r := Trial(t, s, converses, Sessions())
			ends[s.ID()] = fmt.Sprint(r.Verdict, " ", r.EndState)
			if r.Verdict == scenarios.Inconclusive {
				t.Errorf("%s", r.Failure())
			}
			if again, err := loop.ParseTrace(r.Observed.String()); err != nil || again.String() != r.Observed.String() {
				t.Errorf("%s: the trace does not parse: %v", s.ID(), err)
			}
		})
	}
	if asked < 230 {
		t.Errorf("%d of the first %d scenarios can be asked, not 230", asked, len(ids))
	}
	for id, want := range map[string]string{
		"cancel/while-the-model-thinks":   "pass CANCELLED",
		"cancel/second-run":               "pass CANCELLED",
		"cancel/rest-of-the-batch":        "pass CANCELLED",
		"cancel/goes-on-after-a-cancel":   "pass CANCELLED",
		"healthy/counters-restart":        "pass DONE",
		"stuck-loops/stuck-an-hour-later": "fail CEILING",
	} {
		if ends[id] != want {
			t.Errorf("%s: %s, not %s", id, ends[id], want)
		}
	}
}

// A cancel must be heard, and heard soon.
func TestCancel(t *testing.T) {
	s := made(scenarios.Runaway, tool(milk), forever)
	s.Script.User.Cancel = &fakes.CancelAt{At: 10 * time.Second}
	for _, tt := range []struct {
		name    string
		agent   Agent
		verdict scenarios.Verdict
		end     loop.EndState
		says    string
		took    time.Duration
	}{
		{"it ends", plain(0, 0), scenarios.Pass, loop.WasCancelled, "", 10 * time.Second},
		{"it goes on", func(ctx context.Context, w *World) (string, error) { return plain(6, 0)(context.WithoutCancel(ctx), w) }, scenarios.Fail, loop.StoppedByAgent,
			"it sent 1 request after the user had cancelled", 6 * (2*time.Second + ms200)},
		{"it dawdles", func(ctx context.Context, w *World) (string, error) {
			plain(0, 0)(ctx, w)
			time.Sleep(2 * time.Minute)
			return "", ctx.Err()
		}, scenarios.Fail, loop.StoppedByAgent, "it ended 2m00s after the user had cancelled", 130 * time.Second},
		{"it was over by then", plain(3, 0), scenarios.Pass, loop.StoppedByAgent, "", 3 * (2*time.Second + ms200)},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := Trial(t, s, tt.agent)
			if r.Verdict != tt.verdict || r.EndState != tt.end || !strings.Contains(r.Failure(), tt.says) || r.Observation.End.At != tt.took {
				t.Errorf("%s: %s %s after %v, %s", tt.name, r.Verdict, r.EndState, r.Observation.End.At, r.Failure())
			}
		})
	}
}

// An agent that does not converse is told so.
func TestOneMessage(t *testing.T) {
	s := made(scenarios.Healthy, nil, done, done)
	s.Script.User.Messages = []fakes.UserMessage{{Text: "And then?"}}
	synctest.Test(t, func(t *testing.T) {
		if r := Trial(t, s, plain(0, 0), Sessions()); r.Verdict != scenarios.Inconclusive || r.Findings[0].Rule != observe.RuleMessages {
			t.Errorf("%s", r.Failure())
		}
	})
}

// Executions of one instant stand in the order of their calls.
func TestInOrder(t *testing.T) {
	at := func(seq int, s time.Duration) observe.Moment { return observe.Moment{Seq: seq, At: s * time.Second} }
	all := []observe.Execution{
		{N: 2, Try: 1, Began: at(1, 2), Ended: at(6, 3)},
		{N: 1, Try: 1, Began: at(2, 2), Ended: at(4, 3)},
		{N: 3, Try: 1, Began: at(3, 2)},
		{N: 4, Try: 1, Began: at(5, 3), Ended: at(7, 4)},
	}
	inOrder(all)
	want := []observe.Execution{
		{N: 1, Try: 1, Began: at(1, 2), Ended: at(4, 3)},
		{N: 2, Try: 1, Began: at(2, 2), Ended: at(6, 3)},
		{N: 3, Try: 1, Began: at(3, 2)},
		{N: 4, Try: 1, Began: at(5, 3), Ended: at(7, 4)},
	}
	if fmt.Sprint(all) != fmt.Sprint(want) {
		t.Errorf("%v", all)
	}
}

// In real time the waits of the world are divided, and no bubble is needed: an hour
// undivided would end the trial at its limit, which is a minute of real time.
func TestRealTime(t *testing.T) {
	slow := fakes.Answer{Result: "milk", Latency: fakes.Span{Min: time.Hour, Max: time.Hour}}
	r := Trial(t, made(scenarios.Healthy, tool(slow), look, done), plain(0, 0), RealTime(1e6))
	if r.Verdict != scenarios.Pass || r.Requests != 2 {
		t.Errorf("%d requests, %s", r.Requests, r.Failure())
	}
	r = Trial(t, made(scenarios.Runaway, tool(milk), forever), plain(0, 0), RealTime(1e6), Cap(5))
	if r.Verdict != scenarios.Fail || r.Requests != 5 {
		t.Errorf("%d requests, %s", r.Requests, r.Failure())
	}
}

// The command that repeats a trial is quoted for a shell and for -run.
func TestRepeat(t *testing.T) {
	if got, want := repeat("TestLoops/stuck-loops/a+b's", "example.com/x/y"), `go test -run '^TestLoops$/^stuck-loops$/^a\+b'\''s$' example.com/x/y`; got != want {
		t.Errorf("%s, not %s", got, want)
	}
	if got := testPackage(); got != "github.com/agentbench-go/agentbench/scenarios/agenttest" {
		t.Errorf("the package of this test is %q", got)
	}
	for function, want := range map[string]string{"example.com/a.b/c.TestX.func1": "example.com/a.b/c", "gopkg.in/yaml%2ev3.F": "gopkg.in/yaml.v3", "main.main": "main"} {
		if got := packageOf(function); got != want {
			t.Errorf("%s is in %s, not %s", function, got, want)
		}
	}
}

// The flag is registered only where it clashes with no other.
func TestUpdateFlag(t *testing.T) {
	for arg, want := range map[string]bool{"-update": true, "--update": true, "-update=true": true, "update": false, "-updated": false, "-test.run=-update": false} {
		if given([]string{"x", arg}) != want {
			t.Errorf("given(%s) = %v", arg, !want)
		}
	}
	dir := t.TempDir()
	for content, want := range map[string]bool{
		`var update = flag.Bool("update", false, "write goldens")`: true,
		`flag.BoolVar(&update, "update", false, "")`:               true,
		`t.Run("update", f)`: true, // rather no flag than a panic
		`log("update")`:      false,
	} {
		if err := os.WriteFile(filepath.Join(dir, "a_test.go"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if definesFlag(dir) != want {
			t.Errorf("definesFlag(%s) = %v", content, !want)
		}
	}
}

// The victims are tests of agents that TestRun starts in processes of their own, since
// most of them fail.
const victims = "AGENTTEST_VICTIM"

// victim skips a victim unless it is to run. Its value is the folder of the scenarios.
func victim(t *testing.T) {
	if os.Getenv(victims) == "" {
		t.Skip("it is started by another test")
	}
}

// fourAndFive asks two scenarios, whose files are read faster than all.
func fourAndFive() Option {
	dir := os.Getenv(victims)
	return From(filepath.Join(dir, "ring-of-four.yaml"), filepath.Join(dir, "ring-of-five.yaml"))
}

func TestVictimStops(t *testing.T) {
	victim(t)
	Run(t, plain(12, 0), Suites("stuck-loops"), fourAndFive(), Results("mine.jsonl"), Name("mine"))
}

func TestVictimRuns(t *testing.T) {
	victim(t)
	Run(t, plain(0, 0), fourAndFive())
}

func TestVictimKnown(t *testing.T) {
	victim(t)
	Run(t, plain(0, 0), fourAndFive(), Known(map[string]string{"stuck-loops/ring-of-four": "no net yet", "stuck-loops/ring-of-five": "no net yet"}))
}

func TestVictimKnownPasses(t *testing.T) {
	victim(t)
	Run(t, plain(12, 0), fourAndFive(), Known(map[string]string{"stuck-loops/ring-of-four": "no net yet", "stuck-loops/ring-of-fife": "misspelt"}))
}

func TestVictimNeverAsks(t *testing.T) {
	victim(t)
	Run(t, func(context.Context, *World) (string, error) { return "", nil }, fourAndFive())
}

func TestVictimGivesUp(t *testing.T) {
	victim(t)
	Run(t, plain(1, 0), fourAndFive())
}

// It waits for a mutex, for which a bubble's time does not go on.
func TestVictimStandsStill(t *testing.T) {
	victim(t)
	watchTime = 300 * time.Millisecond
	var mu sync.Mutex
	mu.Lock()
	Run(t, func(ctx context.Context, w *World) (string, error) {
		plain(1, 0)(ctx, w)
		mu.Lock()
		return "", nil
	}, fourAndFive(), Filter("four"))
}

func runVictim(t *testing.T, dir, name string, args ...string) (out string, ok bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	suite, err := filepath.Abs("../stuck-loops")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, append([]string{"-test.run=^TestVictim" + name + "$", "-test.timeout=60s"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), victims+"="+suite)
	text, err := cmd.CombinedOutput()
	return string(text), err == nil
}

func TestRun(t *testing.T) {
	for _, tt := range []struct {
		name  string
		ok    bool
		says  []string
		never string
	}{
		{"Stops", true, nil, "ring"},
		{"Runs", false, []string{"fail: nothing stopped the runaway: 60 model requests, 60 calls, 2m12s\n", "runaways: 0 of 2 stopped by the agent, 2 did not, 0 inconclusive; failed: stuck-loops 2\n", "0.000s started text=", "more lines; go test -v shows all", "halt stop=ceiling",
			"repeat: go test -run '^TestVictimRuns$/^stuck-loops$/^ring-of-four$' github.com/agentbench-go/agentbench/scenarios/agenttest\n"}, ""},
		{"Known", true, nil, "fail"},
		{"KnownPasses", false, []string{`it passes: take it out of Known, which says "no net yet"`, "Known names stuck-loops/ring-of-fife, which is not asked: did you mean stuck-loops/ring-of-five?"}, ""},
		{"NeverAsks", false, []string{"it sent no request to the model"}, ""},
		{"GivesUp", false, []string{"nothing could be judged; the first reason:", "it ended after 1 answer"}, ""},
		{"StandsStill", false, []string{"has not ended after 300ms of real time", "sync.Mutex.Lock", "TestVictimStandsStill.func1"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, ok := runVictim(t, t.TempDir(), tt.name)
			if ok != tt.ok || tt.never != "" && strings.Contains(out, tt.never) {
				t.Errorf("it passes: %v\n%s", ok, out)
			}
			for _, says := range tt.says {
				if !strings.Contains(out, says) {
					t.Errorf("it does not say %q:\n%s", says, out)
				}
			}
		})
	}
}

// A golden holds a line a scenario. A run that differs from it fails.
func TestGolden(t *testing.T) {
	dir := t.TempDir()
	if out, ok := runVictim(t, dir, "Stops", "-update"); !ok {
		t.Fatal(out)
	}
	path := filepath.Join(dir, "testdata", "agenttest", "TestVictimStops.golden")
	content, err := os.ReadFile(path)
	want := "stuck-loops/ring-of-five  runaway  pass  12 requests  12 calls  26s  STOPPED\nstuck-loops/ring-of-four  runaway  pass  12 requests  12 calls  26s  STOPPED\n"
	if err != nil || string(content) != want {
		t.Fatalf("%v\n%s", err, content)
	}
	if out, ok := runVictim(t, dir, "Stops"); !ok {
		t.Error(out)
	}
	changed := strings.Replace(want, "12 calls", "11 calls", 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, ok := runVictim(t, dir, "Stops"); ok || !strings.Contains(out, "  - stuck-loops/ring-of-five  runaway  pass  12 requests  11 calls  26s  STOPPED\n") {
		t.Errorf("%v\n%s", ok, out)
	}
	// A run of one scenario renews its line and keeps the others.
	if err := os.WriteFile(path, []byte(strings.ReplaceAll(want, "12 calls", "11 calls")), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, ok := runVictim(t, dir, "Stops$/^stuck-loops$/^ring-of-five", "-update"); !ok {
		t.Error(out)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != strings.Replace(strings.ReplaceAll(want, "12 calls", "11 calls"), "11 calls", "12 calls", 1) {
		t.Errorf("%v\n%s", err, content)
	}
	f, err := os.Open(filepath.Join(dir, "mine.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var kind string
	n := 0
	gaps, err := scenarios.ReadResults(f, "mine.jsonl", func(h *scenarios.Header) error { kind = h.Kind + " " + string(h.Judged); return nil },
		func(r *scenarios.Result) error { n++; return nil })
	if err != nil || len(gaps) > 0 || kind != "test foreign" || n != 1 {
		t.Errorf("%v %v, %s, %d", err, gaps, kind, n)
	}
}

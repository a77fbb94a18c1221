package audit

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// TestIsObject: what the audit takes as an object is what the machine
// takes, by its rules: a key that stands twice is an error, and so is
// what lies deeper than 1,000 levels, the outermost object counted.
func TestIsObject(t *testing.T) {
	nested := func(levels int) string {
		return strings.Repeat(`{"a":`, levels-1) + "{}" + strings.Repeat("}", levels-1)
	}
	for _, c := range []struct {
		text string
		want bool
	}{
		{`{}`, true},
		{` { "a" : [ {"b":1}, {"b":2} ] } `, true},
		{`{"a":{"b":1},"b":{"a":1}}`, true},
		{`{"a":1,"a":1}`, false},
		{`{"a":1,"\u0061":2}`, false},
		{`{"x":[{"a":1,"b":2,"a":3}]}`, false},
		{`[]`, false},
		{`{} {}`, false},
		{`{"a":`, false},
		{"", false},
		{nested(1000), true},
		{nested(1001), false},
	} {
		if got := isObject(c.text); got != c.want {
			t.Errorf("isObject(%.40q): got %v, want %v", c.text, got, c.want)
		}
		if got := machineRuns(t, loop.Off(), c.text); c.text != "" && got != c.want {
			t.Errorf("the machine reads %.40q as an object: %v, want %v", c.text, got, c.want)
		}
	}
}

// TestSameIsTheMachines: two calls are the same to the audit exactly where they
// are to the machine, whose breaker stops the second of two.
func TestSameIsTheMachines(t *testing.T) {
	cfg := loop.Off()
	cfg.Detectors = []detect.Detector{{Name: "breaker", Do: []detect.Rung{{At: 2, Act: detect.Stop}}}}
	texts := []string{`{}`, ` { } `, `{"a":1,"b":2}`, `{"b":2.0,"a":1}`, `{"a":1,"a":2}`, `{"a":2}`, `[1]`, `[ 1 ]`, `null`, `{"a":`, `{"a":"\u0061"}`, `{"a":"a"}`}
	for _, x := range texts {
		for _, y := range texts {
			if got, want := sameCall("read", x) == sameCall("read", y), machineStop(t, cfg, x, y) == "breaker"; got != want {
				t.Errorf("%s and %s are the same: got %v, want %v", x, y, got, want)
			}
		}
	}
}

// machineRuns reports whether a machine executes a call with these arguments.
func machineRuns(t *testing.T, cfg loop.Config, args string) bool {
	t.Helper()
	_, effects := machineReply(t, cfg, args)
	return slices.ContainsFunc(effects, func(e loop.Effect) bool { return e.Kind == loop.CallTool })
}

// machineStop returns the stop of a machine after a reply with these calls.
func machineStop(t *testing.T, cfg loop.Config, args ...string) loop.Stop {
	t.Helper()
	m, _ := machineReply(t, cfg, args...)
	return m.Outcome().Stop
}

// machineReply feeds a machine with a reply that calls a tool with each of these
// arguments.
func machineReply(t *testing.T, cfg loop.Config, args ...string) (*loop.Machine, []loop.Effect) {
	t.Helper()
	m, err := loop.New(cfg, loop.Task{Text: "go"}, []loop.ToolSpec{{Name: "read"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Step(m.Begin())
	in := loop.Input{Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}}
	for _, a := range args {
		in.Calls = append(in.Calls, loop.AskedCall{Name: "read", Args: a})
	}
	return m, m.Step(in)
}

// TestTryLimitByALaterCall: where the second call's retry is the first that
// limits.tries forbids, it is that which decides. Of three tries two are made at
// once; both fail, and a second later the first call has the third. The note on
// the stop comes then, not when that try has failed too.
func TestTryLimitByALaterCall(t *testing.T) {
	cfg := loop.Off()
	cfg.Limits.Calls, cfg.Limits.Tries, cfg.Retry.Max = 2, 3, 3
	task, tools := loop.Task{Text: "go"}, []loop.ToolSpec{{Name: "read"}}
	m, err := loop.New(cfg, task, tools)
	if err != nil {
		t.Fatal(err)
	}
	var trace loop.Trace
	result := func(at time.Duration, call, try int) loop.Input {
		return loop.Input{At: at, Kind: loop.ToolResult, Ref: loop.Ref{Kind: loop.RefCall, N: call, Try: try}, Code: loop.RetryableServer}
	}
	three := []loop.AskedCall{{Name: "read", Args: `{"n":1}`}, {Name: "read", Args: `{"n":2}`}, {Name: "read", Args: `{"n":3}`}}
	for _, in := range []loop.Input{
		m.Begin(),
		{At: time.Second, Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, Calls: three},
		result(2*time.Second, 1, 1), result(2*time.Second, 2, 1),
		{At: 3 * time.Second, Kind: loop.Tick},
		result(4*time.Second, 1, 2),
		{At: 6 * time.Second, Kind: loop.Tick},
	} {
		trace.Append(in, m.Step(in))
	}
	if !m.Halted() || m.Outcome().Stop != loop.StopCallLimit {
		t.Fatalf("the run ends as %+v, want the call limit\n%s", m.Outcome(), trace)
	}
	for _, v := range Check(cfg, task, tools, trace) {
		t.Errorf("%v\n%s", v, trace)
	}
}

// TestTimeoutsThatAreNotTransient: where retry.codes does not list Timeout,
// a try that timed out is not made again, so that limits.tries keeps nothing
// from being made and the run goes on. Two tries are allowed and made; both end
// by their timeout of one second, at 2 s.
func TestTimeoutsThatAreNotTransient(t *testing.T) {
	cfg := loop.Off()
	cfg.Limits.Tries, cfg.Retry.Max, cfg.Retry.Codes, cfg.Time.Tool = 2, 1, []loop.Code{loop.RateLimited}, time.Second
	task, tools := loop.Task{Text: "go"}, []loop.ToolSpec{{Name: "read"}}
	m, err := loop.New(cfg, task, tools)
	if err != nil {
		t.Fatal(err)
	}
	var trace loop.Trace
	two := []loop.AskedCall{{Name: "read", Args: `{"n":1}`}, {Name: "read", Args: `{"n":2}`}}
	for _, in := range []loop.Input{
		m.Begin(),
		{At: time.Second, Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, Calls: two},
		{At: 2 * time.Second, Kind: loop.Tick},
		{At: 2 * time.Second, Kind: loop.ToolResult, Ref: loop.Ref{Kind: loop.RefCall, N: 1, Try: 1}, Code: loop.Cancelled},
		{At: 2 * time.Second, Kind: loop.ToolResult, Ref: loop.Ref{Kind: loop.RefCall, N: 2, Try: 1}, Code: loop.Cancelled},
		{At: 4 * time.Second, Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 2, Try: 1}, Text: "done"},
	} {
		trace.Append(in, m.Step(in))
	}
	if m.Outcome().Stop != loop.StopDone {
		t.Fatalf("the run ends as %+v, want done\n%s", m.Outcome(), trace)
	}
	for _, v := range Check(cfg, task, tools, trace) {
		t.Errorf("%v\n%s", v, trace)
	}
}

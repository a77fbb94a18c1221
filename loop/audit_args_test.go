package loop

import (
	"strings"
	"testing"
	"time"
)

// TestAuditIsObject: what the audit takes as an object is what the machine
// takes, by the rules at canon: a key that stands twice is an error, and so is
// what lies deeper than 1,000 levels, the outermost object counted.
func TestAuditIsObject(t *testing.T) {
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
		if got := auditIsObject(c.text); got != c.want {
			t.Errorf("auditIsObject(%.40q): got %v, want %v", c.text, got, c.want)
		}
		var m canon
		if _, err := m.object(c.text); c.text != "" && (err == nil) != c.want {
			t.Errorf("the machine reads %.40q as an object: %v, want %v", c.text, err == nil, c.want)
		}
	}
}

// TestAuditSameIsTheMachines: two calls are the same to the audit exactly where
// they are to the machine.
func TestAuditSameIsTheMachines(t *testing.T) {
	texts := []string{`{}`, ` { } `, `{"a":1,"b":2}`, `{"b":2.0,"a":1}`, `{"a":1,"a":2}`, `{"a":2}`, `[1]`, `[ 1 ]`, `null`, `{"a":`, `{"a":"\u0061"}`, `{"a":"a"}`}
	for _, x := range texts {
		for _, y := range texts {
			var c canon
			a, _ := c.signature("read", x)
			b, _ := c.signature("read", y)
			if got, want := auditSame("read", x) == auditSame("read", y), a == b; got != want {
				t.Errorf("%s and %s are the same: got %v, want %v", x, y, got, want)
			}
		}
	}
}

// TestAuditTryLimitByALaterCall: where the second call's retry is the first that
// limits.tries forbids, it is that which decides. Of three tries two are made at
// once; both fail, and a second later the first call has the third. The note on
// the stop comes then, not when that try has failed too.
func TestAuditTryLimitByALaterCall(t *testing.T) {
	cfg := Off()
	cfg.Limits.Calls, cfg.Limits.Tries, cfg.Retry.Max = 2, 3, 3
	task, tools := Task{Text: "go"}, []ToolSpec{{Name: "read"}}
	m, err := New(cfg, task, tools)
	if err != nil {
		t.Fatal(err)
	}
	var trace Trace
	result := func(at time.Duration, call, try int) Input {
		return Input{At: at, Kind: ToolResult, Ref: Ref{RefCall, call, try}, Code: RetryableServer}
	}
	three := []AskedCall{{Name: "read", Args: `{"n":1}`}, {Name: "read", Args: `{"n":2}`}, {Name: "read", Args: `{"n":3}`}}
	for _, in := range []Input{
		m.Begin(),
		{At: time.Second, Kind: ModelReply, Ref: Ref{RefModel, 1, 1}, Calls: three},
		result(2*time.Second, 1, 1), result(2*time.Second, 2, 1),
		{At: 3 * time.Second, Kind: Tick},
		result(4*time.Second, 1, 2),
		{At: 6 * time.Second, Kind: Tick},
	} {
		trace.Append(in, m.Step(in))
	}
	if !m.Halted() || m.Outcome().Stop != StopCallLimit {
		t.Fatalf("the run ends as %+v, want the call limit\n%s", m.Outcome(), trace)
	}
	for _, v := range Audit(cfg, task, tools, trace) {
		t.Errorf("%v\n%s", v, trace)
	}
}

// TestAuditTimeoutsThatAreNotTransient: where retry.codes does not list Timeout,
// a try that timed out is not made again, so that limits.tries keeps nothing
// from being made and the run goes on. Two tries are allowed and made; both end
// by their timeout of one second, at 2 s.
func TestAuditTimeoutsThatAreNotTransient(t *testing.T) {
	cfg := Off()
	cfg.Limits.Tries, cfg.Retry.Max, cfg.Retry.Codes, cfg.Time.Tool = 2, 1, []Code{RateLimited}, time.Second
	task, tools := Task{Text: "go"}, []ToolSpec{{Name: "read"}}
	m, err := New(cfg, task, tools)
	if err != nil {
		t.Fatal(err)
	}
	var trace Trace
	two := []AskedCall{{Name: "read", Args: `{"n":1}`}, {Name: "read", Args: `{"n":2}`}}
	for _, in := range []Input{
		m.Begin(),
		{At: time.Second, Kind: ModelReply, Ref: Ref{RefModel, 1, 1}, Calls: two},
		{At: 2 * time.Second, Kind: Tick},
		{At: 2 * time.Second, Kind: ToolResult, Ref: Ref{RefCall, 1, 1}, Code: Cancelled},
		{At: 2 * time.Second, Kind: ToolResult, Ref: Ref{RefCall, 2, 1}, Code: Cancelled},
		{At: 4 * time.Second, Kind: ModelReply, Ref: Ref{RefModel, 2, 1}, Text: "done"},
	} {
		trace.Append(in, m.Step(in))
	}
	if m.Outcome().Stop != StopDone {
		t.Fatalf("the run ends as %+v, want done\n%s", m.Outcome(), trace)
	}
	for _, v := range Audit(cfg, task, tools, trace) {
		t.Errorf("%v\n%s", v, trace)
	}
}

package fakes

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
)

func toolbox(t *testing.T, s *Script) *Toolbox {
	t.Helper()
	box, err := NewToolbox(s, 1)
	if err != nil {
		t.Fatal(err)
	}
	return box
}

func TestToolbox(t *testing.T) {
	fault, err := ParseFault("error tool read 2 NotFound")
	if err != nil {
		t.Fatal(err)
	}
	box := toolbox(t, &Script{Faults: []Fault{fault}, Tools: []Tool{
		{ToolSpec: loop.ToolSpec{Name: "read"}, Latency: exactly(sec), Answers: []Answer{
			{When: map[string]any{"path": "a"}, Times: 1, Result: "${call} of turn ${turn}", Failures: []Failure{{Error: loop.RateLimited, Text: "slow down"}, {Hang: true}}},
			{When: map[string]any{"path": "a"}, Result: "used up", Latency: exactly(3 * sec)},
			{When: map[string]any{"path": "b"}, Hang: true}}},
		{ToolSpec: loop.ToolSpec{Name: "other"}, Answers: []Answer{{Result: "a fallback", Failures: []Failure{{}}}}},
		{ToolSpec: loop.ToolSpec{Name: "ask"}, Session: &Session{}},
	}})
	for _, tt := range []struct {
		call ToolCall
		want ToolSaid
	}{
		{ToolCall{N: 1, Try: 1, Turn: 1, Name: "read", Args: `{"path":"a"}`}, ToolSaid{Code: loop.RateLimited, Text: "slow down", After: sec, Passing: true}},
		{ToolCall{N: 1, Try: 2, Turn: 1, Name: "read", Args: `{"path":"a"}`}, ToolSaid{Hang: true, Passing: true}},
		{ToolCall{N: 1, Try: 3, Turn: 1, Name: "read", Args: `{"path":"a"}`}, ToolSaid{Text: "1 of turn 1", After: sec}},
		{ToolCall{N: 1, Try: 4, Turn: 9, Name: "read", Args: `{"path":"a"}`}, ToolSaid{Text: "1 of turn 9", After: sec}},
		{ToolCall{N: 2, Try: 1, Turn: 2, Name: "read", Args: `{"path":"a"}`}, ToolSaid{Code: loop.NotFound, Text: injected, After: 3 * sec, Passing: true}},
		{ToolCall{N: 2, Try: 2, Turn: 2, Name: "read", Args: `{"path":"a"}`}, ToolSaid{Text: "used up", After: 3 * sec}},
		{ToolCall{N: 2, Try: 3, Turn: 2, Name: "other"}, ToolSaid{Code: loop.RetryableServer, After: 200 * ms, Passing: true}}, // its own first try
		{ToolCall{N: 2, Try: 4, Turn: 2, Name: "other"}, ToolSaid{Text: "a fallback", After: 200 * ms}},
		{ToolCall{N: 3, Try: 1, Turn: 2, Name: "read", Args: `{"path":"b"}`}, ToolSaid{Hang: true}},
	} {
		got, err := box.Call(tt.call)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%+v: %s", tt.call, diff)
		}
	}
	if idle := box.Idle(); len(idle.Faults)+len(idle.Answers)+len(idle.PartAnswers) > 0 {
		t.Errorf("all was reached, but idle is %+v", idle)
	}
}

func TestToolboxRefuses(t *testing.T) {
	box := toolbox(t, &Script{Tools: []Tool{
		{ToolSpec: loop.ToolSpec{Name: "read"}, Answers: []Answer{{When: map[string]any{"path": "a"}, Result: "A", Failures: []Failure{{}, {}}}}},
		{ToolSpec: loop.ToolSpec{Name: "ask"}, Session: &Session{}},
	}})
	for _, tt := range []struct {
		call ToolCall
		is   error
		want string
	}{
		{ToolCall{N: 1, Try: 1, Name: "write"}, loop.ErrDry, `the script ran dry: call c1#1 asks for "write", but the script has no such tool`},
		{ToolCall{N: 1, Try: 1, Name: "read", Args: `{"path":"b"}`}, loop.ErrDry, `the script ran dry: no answer of tool read fits call c1#1 with {"path":"b"} (it has 1)`},
		{ToolCall{N: 1, Try: 1, Name: "read", Args: `{"path`}, loop.ErrDry, `the script ran dry: no answer of tool read fits call c1#1 with {"path (it has 1)`},
		{ToolCall{N: 1, Try: 1, Name: "ask"}, ErrSubRun, `call c1#1 asks for "ask": the tool is a sub-run, which needs a loop`},
	} {
		if _, err := box.Call(tt.call); !errors.Is(err, tt.is) || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	if _, err := box.Call(ToolCall{N: 1, Try: 1, Name: strings.Repeat("x\x1b", 1e6), Args: strings.Repeat("[", 1e6)}); err == nil || len(err.Error()) > 300 || strings.ContainsRune(err.Error(), '\x1b') {
		t.Errorf("%.300q is not made safe", err)
	}
	if diff := cmp.Diff([]AnswerAt{{0, 0}}, box.Idle().Answers); diff != "" {
		t.Error(diff)
	}
	if said, err := box.Call(ToolCall{N: 1, Try: 1, Name: "read", Args: `{"path":"a"}`}); err != nil || said.Code != loop.RetryableServer {
		t.Errorf("after the refusals: %+v, %v", said, err)
	}
	if idle := box.Idle(); len(idle.Answers) != 0 || len(idle.PartAnswers) != 1 {
		t.Errorf("one of two failures was reached: %+v", idle)
	}
	if _, err := NewToolbox(&Script{Tools: []Tool{{Answers: []Answer{{Result: "${no}"}}}}}, 1); err == nil {
		t.Error("an invalid script was taken")
	}
}

// deskScript has a tool that numbers its calls, one that fails twice, one that hangs
// at the first try, and one whose answers are used up in order.
func deskScript() *Script {
	return &Script{Tools: []Tool{
		{ToolSpec: loop.ToolSpec{Name: "n"}, Answers: []Answer{{Result: "c${call} of m${turn}"}}},
		{ToolSpec: loop.ToolSpec{Name: "fails"}, Answers: []Answer{{Result: "ok ${call}", Failures: []Failure{{Text: "one"}, {Text: "two"}}}}},
		{ToolSpec: loop.ToolSpec{Name: "hangs"}, Answers: []Answer{{Result: "ok", Failures: []Failure{{Hang: true}}}}},
		{ToolSpec: loop.ToolSpec{Name: "poll"}, Answers: []Answer{{Times: 1, Result: "wait"}, {Result: "ready"}}},
	}}
}

// asked returns calls of tools without arguments, numbered from n.
func asked(n int, names ...string) (calls []loop.Call) {
	for i, name := range names {
		calls = append(calls, loop.Call{N: n + i, Name: name})
	}
	return calls
}

// run executes a call and gives the answer.
func run(d *Desk, name, args string) string {
	x := d.Execute(name, args)
	x.End(!x.Said.Hang)
	return x.shown()
}

func (x *Execution) shown() string {
	text := x.Call.Ref().String()
	switch {
	case x.Err != nil:
		return text + " " + x.Err.Error()
	case x.Said.Hang:
		return text + " hangs"
	}
	return text + " " + string(x.Said.Code) + " " + x.Said.Text
}

func TestDesk(t *testing.T) {
	d := NewDesk(deskScript(), 1)
	check := func(got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	d.Asked(1, []loop.Call{{N: 1, Name: "n", Args: `{"a":1,"b":2}`}, {N: 2, Name: "n", Args: `{"a":2}`}, {N: 3, Name: "n", Args: `{"a":1,"b":2}`}})
	check(run(d, "n", `{"a":2}`), "c2#1  c2 of m1")
	check(run(d, "n", `{ "b":2.0, "a":1 }`), "c1#1  c1 of m1") // the oldest one, by canonical arguments
	check(run(d, "n", `{"a":1,"b":2}`), "c3#1  c3 of m1")
	check(run(d, "n", `{"a":1,"b":2}`), "c3#2  c3 of m1") // none is unanswered: the next try of the newest
	check(run(d, "n", `{"a":3}`), "c1000001#1  c1000001 of m1")
	check(run(d, "n", `{"a":3}`), "c1000002#1  c1000002 of m1")

	d.Asked(2, asked(4, "fails", "hangs", "fails"))
	check(run(d, "fails", ""), "c4#1 RetryableServer one")
	d.Asked(2, asked(4, "fails", "hangs", "fails"))          // the same reply once more
	check(run(d, "fails", "{}"), "c6#1 RetryableServer one") // a failure is an answer
	check(run(d, "fails", ""), "c6#2 RetryableServer two")
	check(run(d, "fails", ""), "c6#3  ok 6")
	check(run(d, "hangs", ""), "c5#1 hangs")
	if said, answered, used := d.Told(5); answered || !used {
		t.Errorf("the agent was told %+v for the call that hung", said)
	}
	check(run(d, "hangs", ""), "c5#2  ok") // it still has no answer
	if said, answered, _ := d.Told(6); !answered || said.Text != "ok 6" || said.Code != loop.None {
		t.Errorf("of call 6 the agent was told %+v", said)
	}
	if said, answered, _ := d.Told(4); !answered || said.Text != "one" || said.Code != loop.RetryableServer {
		t.Errorf("of call 4 the agent was told %+v", said)
	}

	d.Asked(3, asked(7, "hangs"))
	x := d.Execute("hangs", "")
	d.Asked(4, asked(8, "hangs")) // the agent has gone on
	check(x.shown(), "c7#1 hangs")
	check(run(d, "hangs", ""), "c8#1 hangs")
	check(run(d, "hangs", ""), "c8#2  ok")
	x.End(false)
	if _, answered, used := d.Told(7); answered || !used {
		t.Error("call 7 never got an answer")
	}

	d.Asked(3, asked(7, "n")) // the agent has gone back
	check(run(d, "n", ""), "c7#1  c7 of m3")
	check(run(d, "hangs", ""), "c5#3  ok")

	d.Asked(4, []loop.Call{{N: 8, Name: "poll"}, {N: 9, Name: " n\t", Args: `{"a":1}`}, {N: 10, Name: "n", Args: `{"a":2}`}})
	check(run(d, "poll", ""), "c8#1  wait")
	check(run(d, "n", `{"a":2,"more":true}`), "c9#1  c9 of m4") // the agent has filled in a default
	check(run(d, "n", `{"a":2}`), "c10#1  c10 of m4")
	check(run(d, "n", `{"more":true,"a":2}`), "c9#2  c9 of m4")
	check(run(d, "n", `{"a":9}`), "c1000003#1  c1000003 of m4")
	d.Asked(4, asked(8, "poll", "n")) // the agent has gone back, the answer is used up
	check(run(d, "poll", ""), "c8#1  ready")
	d.Begin()
	if _, _, used := d.Told(1); used {
		t.Error("a new conversation has executed something")
	}
	check(run(d, "poll", ""), "c1#1  wait") // nothing is used up
}

// Two equal calls of one reply that run at once are two calls; a second execution of
// the one that runs is a try.
func TestDeskAtOnce(t *testing.T) {
	d := NewDesk(deskScript(), 1)
	d.Asked(1, asked(1, "n", "n"))
	var got []string
	for range 3 {
		got = append(got, d.Execute("n", "").shown())
	}
	if diff := cmp.Diff([]string{"c1#1  c1 of m1", "c2#1  c2 of m1", "c2#2  c2 of m1"}, got); diff != "" {
		t.Error(diff)
	}
}

// Tools without a model: calls are numbered from 1, and a call is repeated while its
// failures last.
func TestDeskAlone(t *testing.T) {
	d := NewDesk(deskScript(), 1)
	var seen []string
	d.Observe = func(x *Execution) {
		if x.Ended {
			seen = append(seen, x.shown())
		}
	}
	run(d, "fails", "")
	run(d, "n", "") // in between
	run(d, "fails", "")
	run(d, "fails", "")
	run(d, "fails", "")
	run(d, "hangs", "")
	run(d, "hangs", "")
	run(d, "poll", "")
	run(d, "poll", "")
	run(d, "none", "")
	want := []string{"c1#1 RetryableServer one", "c2#1  c2 of m0", "c1#2 RetryableServer two", "c1#3  ok 1", "c3#1 RetryableServer one",
		"c4#1 hangs", "c4#2  ok", "c5#1  wait", "c6#1  ready",
		`c7#1 the script ran dry: call c7#1 asks for "none", but the script has no such tool`}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
	if idle := d.Idle(); len(idle.Answers)+len(idle.PartAnswers) > 0 {
		t.Errorf("%+v", idle)
	}
	if x := NewDesk(&Script{Tools: []Tool{{Answers: []Answer{{Result: "${no}"}}}}}, 1).Execute("", ""); x.Err == nil || x.Call.N != 0 {
		t.Errorf("of an invalid script: %+v", x)
	}
}

// A desk that is used for ever keeps a bounded number of calls.
func TestDeskForgets(t *testing.T) {
	d := NewDesk(deskScript(), 1)
	for i := range 3 * maxDesk {
		d.Asked(i+1, asked(i+1, "n"))
		if i%1000 == 0 {
			run(d, "poll", "")
		}
	}
	if len(d.calls) > 2*maxDesk {
		t.Errorf("it keeps %d calls", len(d.calls))
	}
	if got := run(d, "n", ""); got != "c3000#1  c3000 of m3000" {
		t.Errorf("got %s", got)
	}
}

// Many goroutines share a desk (run with the race detector).
func TestDeskConcurrently(t *testing.T) {
	d := NewDesk(deskScript(), 1)
	d.Asked(1, asked(1, "n", "n", "n", "n", "n", "n", "n", "n"))
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			d.Tools()
			run(d, "n", "")
			d.Told(3)
			d.Idle()
		})
	}
	all.Wait()
	for n := range 8 {
		if said, answered, _ := d.Told(n + 1); !answered || !strings.HasPrefix(said.Text, "c") {
			t.Errorf("call %d: %+v", n+1, said)
		}
	}
}

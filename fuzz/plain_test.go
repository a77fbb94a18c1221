package fuzz

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/leanovate/gopter"
	"github.com/leanovate/gopter/commands"
)

// The tests of this file drive the loop's machine by sequences of turns and
// compare it after each with the plain model.

// A plainState is a config and the plain models' state of a session.
type plainState struct {
	breaker plainBreaker
	errors  plainErrors
	kinds   []loop.ErrorKind
	session bool // scope
	minutes int  // since the start

	halted bool
	want   plainResult // of the last command
}

// A plainResult is the result of a command.
type plainResult struct {
	stop loop.Stop // "" while the run goes on
	ran  int       // calls that were executed
}

func (s plainState) config() loop.Config {
	c := loop.Off()
	c.Errors.MaxConsecutive, c.Errors.Kinds = s.errors.most, s.kinds
	if s.errors.exceeded {
		c.Errors.Trip = loop.TripExceeded
	}
	if s.errors.any {
		c.Errors.Batch = loop.BatchAny
	}
	if s.session {
		c.Scope = loop.ScopeSession
	}
	d := detect.Detector{Name: "circuit-breaker", Do: []detect.Rung{{At: s.breaker.at, Act: detect.Stop}}, Within: s.breaker.within}
	if s.breaker.byCall {
		d.Ends = detect.EndsNext
	}
	c.Detectors = []detect.Detector{d}
	return c
}

// String shows the config, for a failure.
func (s plainState) String() string {
	return fmt.Sprintf("breaker at %d by call %v within %v, error limit %d exceeded %v any %v kinds %v, session %v", s.breaker.at, s.breaker.byCall, s.breaker.within,
		s.errors.most, s.errors.exceeded, s.errors.any, s.kinds, s.session)
}

// A plainSUT is the machine and its clock.
type plainSUT struct {
	*loop.Machine
	now      time.Duration
	request  loop.Ref
	outcomes map[int]string // of calls, by number
	calls    int
	ran      int
}

func newRulesSUT(s commands.State) commands.SystemUnderTest {
	tools := []loop.ToolSpec{{Name: "read"}, {Name: "write"}, {Name: "sleep", Waits: true}, {Name: "ask", Permission: loop.AskCall}}
	m, err := loop.New(s.(plainState).config(), loop.Task{Text: "go"}, tools)
	if err != nil {
		panic(err)
	}
	sut := &plainSUT{Machine: m, outcomes: map[int]string{}}
	sut.step(m.Begin())
	return sut
}

// step feeds an input, and answers all that can be answered at once.
func (sut *plainSUT) step(in loop.Input) {
	sut.now += time.Millisecond
	in.At = sut.now
	for _, e := range slices.Clone(sut.Step(in)) {
		switch e.Kind {
		case loop.AskModel:
			sut.request = e.Ref
		case loop.OpenGate:
			sut.step(loop.Input{Kind: loop.GateAnswer, Ref: e.Ref})
		case loop.CallTool:
			sut.ran++
			result := loop.Input{Kind: loop.ToolResult, Ref: e.Ref, Text: "fine"}
			switch sut.outcomes[e.Ref.N] {
			case "fails":
				result.Code = loop.ToolBug
			case "says error":
				result.Text = "Error: no"
			}
			sut.step(result)
		}
	}
}

// A turn is a reply with calls; without any it is an answer. It comes so many minutes
// after the turn before.
type turn struct {
	minutes int
	calls   []turnCall
}

type turnCall struct{ name, args, outcome string }

func (t turn) String() string {
	var words []string
	for _, c := range t.calls {
		words = append(words, fmt.Sprintf("%s(%s) %s", c.name, c.args, c.outcome))
	}
	return fmt.Sprintf("after %dm turn[", t.minutes) + strings.Join(words, ", ") + "]"
}

func (t turn) PreCondition(s commands.State) bool { return !s.(plainState).halted }

func (t turn) Run(s commands.SystemUnderTest) commands.Result {
	sut := s.(*plainSUT)
	in := loop.Input{Kind: loop.ModelReply, Ref: sut.request, Text: "text"}
	for _, c := range t.calls {
		sut.calls++
		sut.outcomes[sut.calls] = c.outcome
		in.Calls = append(in.Calls, loop.AskedCall{Name: c.name, Args: c.args})
	}
	before := sut.ran
	sut.now += time.Duration(t.minutes) * time.Minute
	sut.step(in)
	r := plainResult{ran: sut.ran - before}
	if sut.Halted() {
		r.stop = sut.Outcome().Stop
	}
	return r
}

// kind returns how a call fails, "" if it does not.
func (c turnCall) kind() loop.ErrorKind {
	switch {
	case c.name == "nobody":
		return loop.KindUnknown
	case c.args == "{":
		return loop.KindInvalid
	case c.name == "ask":
		return loop.KindDenied
	case c.outcome == "fails":
		return loop.KindException
	case c.outcome == "says error":
		return loop.KindText
	}
	return ""
}

// identity is written by hand: these are all the arguments of the test.
func (c turnCall) identity() string {
	if c.name == "sleep" {
		return waiting
	}
	same := map[string]string{`{"a":1,"b":2}`: "ab", `{"b":2.0,"a":1}`: "ab", ` {"a":10e-1 , "b":2}`: "ab", `{"a":1}`: "a", "{}": "none", "": "none", "{": "broken"}
	return c.name + " " + same[c.args]
}

func (t turn) NextState(state commands.State) commands.State {
	s := state.(plainState)
	s.breaker.streak = maps.Clone(s.breaker.streak)
	s.want = plainResult{}
	var ids []string
	for _, c := range t.calls {
		ids = append(ids, c.identity())
	}
	s.minutes += t.minutes
	trips := s.breaker.turn(time.Duration(s.minutes)*time.Minute, ids)
	failed := 0
	for i, c := range t.calls {
		kind := c.kind()
		if blocked := kind == loop.KindUnknown || kind == loop.KindInvalid; trips && !blocked {
			kind = loop.KindVetoed
			s.breaker.vetoed(ids[i])
		} else if !blocked && kind != loop.KindDenied {
			s.want.ran++
		}
		if slices.Contains(s.kinds, kind) {
			failed++
		}
	}
	limit := s.errors.turn(len(t.calls), failed)
	switch {
	case len(t.calls) == 0:
		s.want.stop = loop.StopDone
	case trips:
		s.want.stop = "circuit-breaker"
	case limit && s.errors.most > 0:
		s.want.stop = loop.StopErrorLimit
	}
	s.halted = s.want.stop != ""
	return s
}

func (t turn) PostCondition(state commands.State, result commands.Result) *gopter.PropResult {
	return agrees(state, result)
}

func agrees(state commands.State, result commands.Result) *gopter.PropResult {
	want, got := state.(plainState).want, result.(plainResult)
	if want == got {
		return gopter.NewPropResult(true, "")
	}
	return gopter.NewPropResult(false, fmt.Sprintf("the model says %+v, the machine %+v", want, got))
}

// A message begins the next run.
type message struct{}

func (message) String() string                     { return "message" }
func (message) PreCondition(s commands.State) bool { return s.(plainState).halted }
func (message) Run(s commands.SystemUnderTest) commands.Result {
	s.(*plainSUT).step(loop.Input{Kind: loop.UserMessage, Text: "more"})
	return plainResult{}
}

func (message) NextState(state commands.State) commands.State {
	s := state.(plainState)
	s.halted, s.want = false, plainResult{}
	if !s.session {
		s.breaker = plainBreaker{at: s.breaker.at, byCall: s.breaker.byCall, within: s.breaker.within}
		s.errors.failing = 0
	}
	return s
}

func (message) PostCondition(state commands.State, result commands.Result) *gopter.PropResult {
	return agrees(state, result)
}

// TestPlainBySequences: after every turn of random sessions the machine has stopped
// exactly when the plain models of the breaker and the error limit say, by the right
// one of the two, and has run the same number of calls.
func TestPlainBySequences(t *testing.T) {
	p := gopter.DefaultTestParametersWithSeed(1)
	p.MinSuccessfulTests, p.MaxSize = 600, 40
	result := commands.Prop(&commands.ProtoCommands{
		NewSystemUnderTestFunc: newRulesSUT,
		InitialStateGen: func(p *gopter.GenParameters) *gopter.GenResult {
			d := dice{p}
			return gopter.NewGenResult(plainState{
				breaker: plainBreaker{at: d.between(1, 5), byCall: d.one(2), within: pick(d, 0, 0, 90*time.Second)},
				errors:  plainErrors{most: d.below(4), exceeded: d.one(2), any: d.one(2)},
				kinds:   kinds(d), session: d.one(2),
			}, gopter.NoShrinker)
		},
		GenCommandFunc: func(state commands.State) gopter.Gen {
			return func(p *gopter.GenParameters) *gopter.GenResult {
				if state.(plainState).halted {
					return gopter.NewGenResult(message{}, gopter.NoShrinker)
				}
				return gopter.NewGenResult(someTurn(dice{p}), gopter.NoShrinker)
			}
		},
	}).Check(p)
	if !result.Passed() {
		t.Errorf("gopter seed 1, %d tests, size %d: %s %v\n%v", p.MinSuccessfulTests, p.MaxSize, result.Status, result.Labels, result.Args)
	}
}

func someTurn(d dice) turn {
	if d.one(12) {
		return turn{}
	}
	t := turn{minutes: pick(d, 0, 1, 1, 2)}
	for range d.between(1, 3) {
		t.calls = append(t.calls, turnCall{
			name:    pick(d, "read", "read", "read", "write", "ask", "nobody", "sleep"),
			args:    pick(d, `{"a":1,"b":2}`, `{"b":2.0,"a":1}`, ` {"a":10e-1 , "b":2}`, `{"a":1}`, "{}", "", "{"),
			outcome: pick(d, "", "", "fails", "says error"),
		})
	}
	return t
}

// TestPlainBreaker: decision D1, by its own examples.
func TestPlainBreaker(t *testing.T) {
	turns := func(of ...string) (all [][]string) {
		for _, calls := range of {
			all = append(all, strings.Split(calls, ""))
		}
		return all
	}
	for _, c := range []struct {
		byCall bool
		turns  [][]string
		at     int // the turn that trips a breaker of 5, 0 = none
	}{
		{false, turns("AB", "AC", "AD", "AE", "AF"), 5}, // a batch-mate does not end A's streak
		{true, turns("AB", "AC", "AD", "AE", "AF"), 0},  // by calls it does
		{false, turns("AAAAA"), 1},                      // each occurrence in a batch adds one
		{false, turns("A", "B", "A", "B", "A", "B", "A", "B", "A", "B"), 0},
		{false, turns("A", "A", "A", "A", "A"), 5},
		{false, turns("AA", "B", "AAA"), 0}, // a turn without A ends the streak
		{true, turns("BAA", "AAA"), 2},
	} {
		b, got := plainBreaker{at: 5, byCall: c.byCall}, 0
		for i, calls := range c.turns {
			if b.turn(0, calls) && got == 0 {
				got = i + 1
			}
		}
		if got != c.at {
			t.Errorf("%v by call %v: trips at turn %d, want %d", c.turns, c.byCall, got, c.at)
		}
	}
}

// TestPlainErrors: decisions D3 and D4.
func TestPlainErrors(t *testing.T) {
	type batch struct{ counted, failed int }
	ok, bad, half, nothing := batch{1, 0}, batch{2, 2}, batch{2, 1}, batch{}
	for _, c := range []struct {
		e       plainErrors
		batches []batch
		at      int
	}{
		{plainErrors{most: 3}, []batch{bad, bad, bad}, 3},
		{plainErrors{most: 3, exceeded: true}, []batch{bad, bad, bad, bad}, 4},
		{plainErrors{most: 2}, []batch{bad, ok, bad, ok, bad}, 0},
		{plainErrors{most: 2}, []batch{bad, half, bad}, 0}, // one success is enough
		{plainErrors{most: 2, any: true}, []batch{bad, half}, 2},
		{plainErrors{most: 2}, []batch{bad, nothing, bad}, 3}, // nothing happened in between
	} {
		got := 0
		for i, b := range c.batches {
			if c.e.turn(b.counted, b.failed) && got == 0 {
				got = i + 1
			}
		}
		if got != c.at {
			t.Errorf("%+v, %v: trips at turn %d, want %d", c.e, c.batches, got, c.at)
		}
	}
}

// TestIdentity: equal arguments have equal identities, and others have not.
func TestIdentity(t *testing.T) {
	groups := [][]string{
		{`{"a":1,"b":[1.5,null]}`, ` { "b" : [ 15e-1, null ], "a" : 1.0 } `},
		{`{}`, "", " \n"},
		{`{"a":"\u0061"}`, `{"a":"a"}`},
		{`{"a":12345678901234567890}`},
		{`{"a":12345678901234567891}`},
		{`{"a":"1"}`},
		{`{"a":1e99999999}`}, // too large for a fraction: as it is written
		{`[1]`},
		{`[ 1 ]`}, // not an object: as it is written
		{`{"a":`},
	}
	for i, group := range groups {
		first, _ := identity(group[0])
		for _, other := range group {
			if id, _ := identity(other); id != first {
				t.Errorf("%s is %s, and %s is %s", group[0], first, other, id)
			}
		}
		for _, others := range groups[i+1:] {
			if id, _ := identity(others[0]); id == first {
				t.Errorf("%s and %s have one identity", group[0], others[0])
			}
		}
	}
}

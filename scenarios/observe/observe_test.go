package observe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A made observation is written as the agent's turns.
type made struct {
	o       Observation
	seq     int
	history []loop.Message
}

func make1(label scenarios.Label, steps ...fakes.Step) *made {
	return &made{o: Observation{Variant: "agent", Seed: 1, OwnTools: true,
		Scenario: &scenarios.Scenario{Suite: "s", Name: "a", Label: label, Script: fakes.Script{Task: "go", Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "read"}}}, Model: steps}}},
		history: []loop.Message{{Role: loop.User, Ref: loop.Ref{Kind: loop.RefMessage, N: 1}, Text: "go"}}}
}

func (m *made) now() Moment {
	m.seq++
	return Moment{m.seq, time.Duration(m.seq) * time.Second}
}

// asks adds a request with its answer.
func (m *made) asks(q Request) *made {
	q.History, q.Asked, q.Tools = slices.Clone(m.history), m.now(), 1
	if q.N == 0 {
		q.N = len(m.o.Requests) + 1
	}
	if q.Status >= 0 {
		q.Answered = m.now()
	}
	m.o.Requests = append(m.o.Requests, q)
	return m
}

// reads adds a request whose reply asks for one call, which the agent runs.
func (m *made) reads(times int) *made {
	for range times {
		n := 0
		for _, q := range m.o.Requests {
			n += len(q.Calls)
		}
		call := loop.Call{N: n + 1, ID: fmt.Sprintf("call_%d", n+1), Name: "read", Args: `{"path":"a"}`}
		m.asks(Request{Calls: []loop.Call{call}, Finish: loop.FinishToolCalls, Status: 200})
		m.history = append(m.history, loop.Message{Role: loop.Assistant, Ref: loop.Ref{Kind: loop.RefModel, N: len(m.o.Requests)}, Calls: []loop.Call{call}},
			loop.Message{Role: loop.ToolRole, Ref: loop.Ref{Kind: loop.RefCall, N: n + 1}, CallID: call.ID, Text: "milk"})
	}
	return m
}

func (m *made) last(change func(*loop.Message)) *made {
	change(&m.history[len(m.history)-1])
	return m
}

func (m *made) says(text, finish string) *made {
	return m.asks(Request{Text: text, Finish: finish, Status: 200})
}

func (m *made) fails(fault string, step string) *made {
	return m.asks(Request{N: len(m.o.Requests) + 1, Failed: true, Text: "busy", Status: 503, Fault: fault, Step: step})
}

func (m *made) ends(e End) *Observation {
	e.At = m.now().At
	m.o.End = e
	return &m.o
}

func TestJudge(t *testing.T) {
	forever := fakes.Step{Repeat: fakes.Forever, Calls: []fakes.StepCall{{Name: "read", Args: `{"path":"a"}`}}}
	once := fakes.Step{Calls: forever.Calls}
	answer := fakes.Step{Text: "done"}
	flaky := fakes.Step{Text: "done", Failures: []fakes.ModelFailure{{Status: 503}}}
	well, badly := End{}, End{Code: 1, Says: []string{"Loop detected"}}
	capped := End{How: AtCap, Cap: 60}
	idle := End{How: Idle, Limit: time.Minute}
	late := End{How: AtTimeout, Limit: 2 * time.Minute}
	runaway := func() *made { return make1(scenarios.Runaway, forever) }
	healthy := func() *made { return make1(scenarios.Healthy, once, answer) }
	for _, tt := range []struct {
		name    string
		o       *Observation
		verdict scenarios.Verdict
		end     loop.EndState
		rule    string // "" = no finding
		says    string // in the finding or the why
	}{
		{"stopped by itself, and says why", runaway().reads(5).ends(badly), scenarios.Pass, loop.StoppedByAgent, "", `exit code 1; it says "Loop detected"`},
		{"stopped by itself without a word", runaway().reads(3).ends(well), scenarios.Pass, loop.StoppedByAgent, "", "exit code 0"},
		{"killed itself", runaway().reads(2).ends(End{Signal: "SIGSEGV"}), scenarios.Pass, loop.StoppedByAgent, "", "signal SIGSEGV"},
		{"crashed at the first reply", runaway().reads(1).ends(badly), scenarios.Inconclusive, loop.StoppedByAgent, RuleTooEarly, "after 1 answer"},
		{"at the cap of requests", runaway().reads(60).ends(capped), scenarios.Fail, loop.Ceiling, RuleLabel, "nothing stopped"},
		{"at the cap of calls", runaway().reads(2).ends(End{How: AtCalls, Cap: 2}), scenarios.Fail, loop.Ceiling, RuleLabel, "2 calls"},
		{"still asking when time is up", runaway().reads(5).ends(late), scenarios.Fail, loop.Ceiling, RuleLabel, "time was up"},
		{"silent when time is up", runaway().reads(2).ends(End{How: AtTimeout, Limit: 100 * time.Millisecond}), scenarios.Inconclusive, loop.Hung, RuleSilent, "silent"},
		{"waits for a model that hangs", runaway().reads(2).asks(Request{Status: -1}).ends(late), scenarios.Inconclusive, loop.Hung, RuleSilent, "waits at least 2m00s"},
		{"there when its virtual time is up", runaway().reads(2).ends(End{How: AtCeiling, Limit: 24 * time.Hour, Returned: true}), scenarios.Fail, loop.Ceiling, RuleLabel, "still running after 1d00h"},
		{"waits until its virtual time is up", runaway().reads(2).asks(Request{Status: -1}).ends(End{How: AtCeiling, Limit: 24 * time.Hour}), scenarios.Fail, loop.Ceiling, RuleLabel, "does not come within 1d00h"},
		{"a function with an error", runaway().reads(5).ends(End{Code: 1, Says: []string{"Loop detected"}, Returned: true}), scenarios.Pass, loop.StoppedByAgent, "", `it returned an error; it says "Loop detected"`},
		{"a function without a word", runaway().reads(3).ends(End{Returned: true}), scenarios.Pass, loop.StoppedByAgent, "", "it returned no error"},
		{"a function that panics", runaway().reads(5).ends(End{Code: 1, Returned: true, Panic: "no key"}), scenarios.Fail, loop.StoppedByAgent, RulePanic, "panicked: no key"},
		{"idle", runaway().reads(2).ends(idle), scenarios.Inconclusive, loop.Hung, RuleSilent, "alive and silent for 1m00s"},
		{"an empty reply is no answer", make1(scenarios.Runaway).reads(1).says(" ", loop.FinishStop).ends(well), scenarios.Fail, loop.Done, RuleLabel, "took an empty reply"},
		{"a cut reply is no answer", make1(scenarios.Runaway).reads(1).says("It is", loop.FinishLength).ends(well), scenarios.Fail, loop.Done, RuleLabel, "took a reply that was cut off"},
		{"refused an empty reply", make1(scenarios.Runaway).reads(1).says("", loop.FinishStop).ends(badly), scenarios.Pass, loop.StoppedByAgent, "", "exit code 1"},
		{"to the last words of a script", make1(scenarios.Runaway, answer).reads(4).says("done", loop.FinishStop).ends(well), scenarios.Fail, loop.Done, RuleLabel, "last words"},
		{"to the last words after a veto", make1(scenarios.Runaway, answer).reads(4).last(func(m *loop.Message) { m.Text = "Error: this call was vetoed" }).says("done", loop.FinishStop).ends(well), scenarios.Pass, loop.Done, "", "refused a call"},
		{"gave up at one failure", make1(scenarios.Runaway).fails("status-503", "model[0]").ends(badly), scenarios.Inconclusive, loop.StoppedByAgent, RuleTooEarly, "1 answer"},
		{"gave up after three failures", make1(scenarios.Runaway).fails("f", "").fails("f", "").fails("f", "").ends(badly), scenarios.Pass, loop.StoppedByAgent, "", ""},
		{"gave up waiting", make1(scenarios.Runaway).asks(Request{Gone: true, Fault: "hang"}).ends(badly), scenarios.Pass, loop.StoppedByAgent, "", ""},
		{"healthy to the end", healthy().reads(1).says("done", loop.FinishStop).ends(well), scenarios.Pass, loop.Done, "", ""},
		{"healthy, ended badly", healthy().reads(1).says("done", loop.FinishStop).ends(badly), scenarios.Fail, loop.StoppedByAgent, RuleLabel, "ended badly"},
		{"healthy, stopped", healthy().reads(1).ends(badly), scenarios.Fail, loop.StoppedByAgent, RuleLabel, "before the script's answer"},
		{"healthy, at the cap", healthy().reads(60).ends(capped), scenarios.Fail, loop.Ceiling, RuleLabel, "did not come to its end"},
		{"healthy, still asking when time is up", healthy().reads(5).ends(late), scenarios.Inconclusive, loop.Hung, RuleSilent, ""},
		{"healthy, idle after the answer", healthy().reads(1).says("done", loop.FinishStop).ends(idle), scenarios.Inconclusive, loop.Hung, RuleSilent, "another message"},
		{"healthy, took a blank", healthy().says("", loop.FinishStop).ends(well), scenarios.Fail, loop.StoppedByAgent, RuleLabel, "empty or cut"},
		{"healthy, its failure fired", make1(scenarios.Healthy, flaky).fails("status-503", "model[0]").says("done", loop.FinishStop).ends(well), scenarios.Pass, loop.Done, "", ""},
		{"healthy, its failure never fired", make1(scenarios.Healthy, flaky).says("done", loop.FinishStop).ends(well), scenarios.Inconclusive, loop.Done, RuleNotFired, "model[0]"},
		{"no request", healthy().ends(badly), scenarios.Inconclusive, loop.StoppedByAgent, RuleNoRequest, "sent no request"},
		{"no request, idle", runaway().ends(idle), scenarios.Inconclusive, loop.Hung, RuleNoRequest, ""},
		{"no step fits", healthy().reads(1).asks(Request{Refused: "no model step for request 3", Status: 422}).ends(badly), scenarios.Inconclusive, loop.StoppedByAgent, RuleRanDry, "no model step"},
		{"interrupted", runaway().reads(1).ends(End{How: Interrupted}), scenarios.Inconclusive, "", RuleInterrupted, ""},
		{"not started", runaway().ends(End{How: NotStarted, Reason: "no such file"}), scenarios.Inconclusive, "", RuleNotStarted, "no such file"},
	} {
		r, trace := tt.o.Judge()
		if r.Verdict != tt.verdict || r.EndState != tt.end {
			t.Errorf("%s: %s %s, want %s %s (%+v)", tt.name, r.Verdict, r.EndState, tt.verdict, tt.end, r.Findings)
		}
		said := r.Why
		rule := ""
		if len(r.Findings) > 0 {
			rule, said = r.Findings[0].Rule, fmt.Sprint(r.Findings[0], r.Why)
		}
		if rule != tt.rule || len(r.Findings) > 1 || !strings.Contains(said, tt.says) {
			t.Errorf("%s: finding %q, %q, want %q with %q", tt.name, rule, said, tt.rule, tt.says)
		}
		if len(r.Notes) > 0 && !strings.HasPrefix(r.Notes[0], "no reason found") {
			t.Errorf("%s: notes %q", tt.name, r.Notes)
		}
		if again, err := loop.ParseTrace(trace.String()); err != nil || again.String() != trace.String() {
			t.Errorf("%s: the trace does not parse: %v\n%s", tt.name, err, trace)
		}
	}
}

// Tools that the script has and the agent does not offer, and calls that nobody ran.
func TestJudgeTools(t *testing.T) {
	lacks := make1(scenarios.Runaway).reads(3)
	lacks.o.OwnTools = false
	lacks.o.Requests[0].Undeclared = []string{"read"}
	if r, _ := lacks.ends(End{How: AtCap, Cap: 3}).Judge(); r.Verdict != scenarios.Inconclusive || r.Findings[0].Rule != RuleTools {
		t.Errorf("lacks the tool: %s %+v", r.Verdict, r.Findings)
	}
	// A tool that nobody has is what the script is about.
	unknown := make1(scenarios.Runaway).reads(3)
	unknown.o.OwnTools, unknown.o.Scenario.Script.Tools = false, nil
	unknown.o.Requests[0].Undeclared = []string{"read"}
	unknown.says("sorry", "length")
	if r, _ := unknown.ends(End{Code: 1}).Judge(); r.Verdict != scenarios.Pass || r.Invalid != 3 || r.Calls != 0 {
		t.Errorf("unknown tool: %s, %d invalid, %d calls %+v", r.Verdict, r.Invalid, r.Calls, r.Findings)
	}
	unrun := make1(scenarios.Healthy, fakes.Step{}).reads(1).says("done", "stop")
	unrun.o.OwnTools = false
	if r, _ := unrun.ends(End{}).Judge(); r.Verdict != scenarios.Inconclusive || r.Findings[0].Rule != RuleNotRun {
		t.Errorf("nobody ran the call: %s %+v", r.Verdict, r.Findings)
	}
	// Arguments that are not JSON cannot be run, whatever the client says of them.
	broken := make1(scenarios.Healthy, fakes.Step{}).reads(1).last(func(m *loop.Message) { m.Text = "EOF while parsing a value" })
	broken.o.OwnTools, broken.o.Requests[0].Calls[0].Args = false, `{"path":`
	broken.says("done", "stop")
	if r, _ := broken.ends(End{}).Judge(); r.Verdict != scenarios.Pass || r.Invalid != 1 || r.Vetoed != 0 {
		t.Errorf("broken arguments: %s, %d invalid, %d vetoed %+v", r.Verdict, r.Invalid, r.Vetoed, r.Findings)
	}
	ran := make1(scenarios.Healthy, fakes.Step{})
	ran.o.OwnTools = false
	ran.reads(1)
	ran.o.Executions = []Execution{{N: 1, Try: 1, Name: "read", Args: `{ "path": "a" }`, Began: ran.now(), Ended: ran.now(), Answered: true, Text: "milk"}}
	ran.says("done", "stop")
	r, trace := ran.ends(End{}).Judge()
	if r.Verdict != scenarios.Pass || r.Calls != 1 || r.Tries != 1 || len(r.Notes) > 0 {
		t.Errorf("ran the call: %s, %d calls, %d tries, %q\n%s", r.Verdict, r.Calls, r.Tries, r.Notes, trace)
	}
}

// Between tries whose waits grow, an agent is silent for longer each time. Tries at 1 s,
// 5 s and 15 s are answered within a second: the last wait is 15 - 6 = 9 s, so up to
// 15 + 18 = 33 s the agent still asks.
func TestJudgeGrowingWaits(t *testing.T) {
	for limit, want := range map[time.Duration]loop.EndState{32 * time.Second: loop.Ceiling, 34 * time.Second: loop.Hung} {
		m := make1(scenarios.Runaway, fakes.Step{FailForever: true}).fails("", "").fails("", "").fails("", "")
		for i, at := range []time.Duration{1, 5, 15} {
			m.o.Requests[i].Asked.At, m.o.Requests[i].Answered.At = at*time.Second, (at+1)*time.Second
		}
		m.ends(End{How: AtTimeout, Limit: limit})
		m.o.End.At = limit
		if r, _ := m.o.Judge(); r.EndState != want {
			t.Errorf("ended at %v: %s (%s), want %s", limit, r.EndState, r.Why, want)
		}
	}
}

// The counts are those of the trace, and the trace is in the order of what was seen.
func TestTrace(t *testing.T) {
	m := make1(scenarios.Runaway).reads(2)
	m.history = append(m.history, loop.Message{Role: loop.User, Ref: loop.Ref{Kind: loop.RefMessage, N: 2}, Text: "You repeat yourself"})
	m.fails("status-503", "").asks(Request{N: 3, Text: "", Calls: []loop.Call{{N: 3, ID: "call_3", Name: "read", Args: "{}"}}, Finish: "tool_calls", Status: 200, TokensIn: 7, TokensOut: 2})
	r, trace := m.ends(End{Code: 3}).Judge()
	if r.Requests != 4 || r.ModelCalls != 4 || r.Turns != 3 || r.Asked != 3 || r.Calls != 2 || r.Vetoed != 1 || r.Nudges != 1 || r.TokensIn != 7 || *r.Exit != 3 {
		t.Errorf("%+v", r)
	}
	want := `   0.000s started text=go
          > ask m1#1 for=reply to=1
   2.000s reply m1 call=call_1:read(` + "`{\"path\":\"a\"}`" + `) finish=tool_calls
          > call c1#1 name=read args=` + "`{\"path\":\"a\"}`" + `
   3.000s result c1#1 ok text=milk
          > put c1 text=milk
          > ask m2#1 for=reply to=3
   4.000s reply m2 call=call_2:read(` + "`{\"path\":\"a\"}`" + `) finish=tool_calls
          > call c2#1 name=read args=` + "`{\"path\":\"a\"}`" + `
   5.000s result c2#1 ok text=milk
          > put c2 text=milk
          > put u2 to=6 text="You repeat yourself"
          > ask m3#1 for=reply to=6
   6.000s failure m3 status=503 text=busy
          > ask m3#2 for=reply to=6
   8.000s reply m3#2 call=call_3:read("{}") finish=tool_calls in=7 out=2
   9.000s tick
          > halt stop=stopped-by-agent end=STOPPED reason=` + "`exit code 3; it had told the model \"You repeat yourself\"`" + ` incomplete turns=3 model_calls=4 asked=3 calls=2 tries=2 vetoed=1 nudges=1 in=7 out=2 elapsed=9s
`
	if got := trace.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

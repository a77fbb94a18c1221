package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// scenario builds a scenario from the part of a file that comes after its
// label.
func scenario(t *testing.T, label Label, rest string) *Scenario {
	t.Helper()
	all, err := load(t, fmt.Sprintf("name: one\ndescription: d\nlabel: %s\ntask: t\n%s", label, rest))
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

// judged makes a trial under the scenario's own variant, or another one.
func judged(s *Scenario, variant string) *Result {
	v := s.Variant
	if variant != "" {
		v, _ = LoadVariant(variant)
	}
	r, _ := Trial{Scenario: s, Variant: v, Seed: 1}.Run(context.Background())
	return r
}

// rules lists what was found, as rule: message.
func rules(r *Result) string {
	var out []string
	for _, f := range r.Findings {
		out = append(out, f.Rule+": "+f.Message)
	}
	return strings.Join(out, "|")
}

const (
	// reads reads the same file for ever: the default breaker trips at turn 5,
	// after four calls. Each turn takes 2 s, each call 200 ms.
	reads = "tools: [{name: read, answers: [{result: same}]}]\nmodel: [{calls: [{read: {path: a}}], repeat: forever}]\n"
	// says answers at once.
	says = "model: [{text: hello}]\n"
)

// What a trial need not have reached is a note. With Strict it is a finding, and the
// trial is inconclusive.
func TestStrict(t *testing.T) {
	const read = "tools: [{name: read, answers: [{result: a, failures: [{}, {}]}]}]\n"
	const once = "model: [{calls: [{read: {}}]}, {text: done}]\n"
	for _, tt := range []struct {
		name  string
		label Label
		rest  string
		note  string // "" = none
	}{
		// hpd-agent makes four tries.
		{"both failures of a call", Healthy, read + once, ""},
		{"one of two failures of a call", Healthy, read + once + "config: {retry: {max: 0}}\n", `not all failures of answer 1 of tool "read" fired`},
		{"one of two failures of a request", Healthy, "model: [{text: a, failures: [{status: 503}, {status: 503}]}]\nconfig: {model_retry: {max: 0}}\nexpect: {stop: model-failed}\n",
			"not all failures of model entry 1 fired"},
		{"a condition that never held", Healthy, "model: [{text: a}, {when: failed, text: b}]\n", "the condition of model entry 2 never held"},
		{"a condition that may never hold", Healthy, "model: [{text: a}, {when: ok, text: b, optional: true}]\n", ""},
		{"conditions for other variants", Healthy, "model: [{text: a}, {when: nudged, text: b}, {when: vetoed, text: b}, {when: denied, text: b}, {when: final, text: b}, {when: cut, text: b}, {when: summary, text: b}]\n", ""},
		{"a message that was not sent", Healthy, "model: [{text: a, failures: [{status: 400}]}]\nuser: {messages: [more, again]}\nexpect: {stop: model-failed}\n", "the user did not send 2 messages"},
		{"a message that a stopped runaway does not get", Runaway, reads + "user: {messages: [more]}\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := scenario(t, tt.label, tt.rest)
			trial := Trial{Scenario: s, Variant: s.Variant, Seed: 1}
			r, _ := trial.Run(t.Context())
			if got := strings.Join(r.Notes, "|"); r.Verdict != Pass || got != tt.note {
				t.Errorf("%s (%s), notes %q, want pass and %q", r.Verdict, rules(r), got, tt.note)
			}
			trial.Strict = true
			r, _ = trial.Run(t.Context())
			want, found := Pass, ""
			if tt.note != "" {
				want, found = Inconclusive, "unreached: "+tt.note
			}
			if r.Verdict != want || rules(r) != found || r.Notes != nil {
				t.Errorf("strict: %s, %s, notes %q\nwant %s, %s", r.Verdict, rules(r), r.Notes, want, found)
			}
			trial.Variant, _ = LoadVariant("none")
			if r, _ = trial.Run(t.Context()); strings.Contains(rules(r), "unreached") {
				t.Errorf("under another variant: %s", rules(r))
			}
		})
	}
}

// The embedded scenarios reach all that they hold.
func TestSuitesAreStrict(t *testing.T) {
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	err = Run(t.Context(), Options{Scenarios: all, Seeds: 3, Seed: 1, Strict: true}, func(r *Result) error {
		if r.Verdict != Pass {
			t.Errorf("%s, seed %d: %s, %s", r.Scenario, r.Seed, r.Verdict, rules(r))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestVerdicts(t *testing.T) {
	tests := []struct {
		name    string
		label   Label
		rest    string
		variant string // "" = its own, hpd-agent
		verdict Verdict
		found   string
	}{
		// The label, where nothing is expected or the variant is another one.
		{"runaway that is caught", Runaway, reads, "", Pass, ""},
		{"runaway that is not", Runaway, reads, "none", Fail, "label: the runaway was not caught"},
		{"runaway that is done", Runaway, says, "", Fail, "label: the runaway was not caught"},
		{"runaway that is done after a veto", Runaway, "config: {detectors: [{name: loop, do: [{at: 3, act: veto}]}]}\n" +
			"tools: [{name: read, answers: [{result: same}]}]\nmodel: [{calls: [{read: {path: a}}], repeat: 3}, {text: I see}]\n", "", Pass, ""},
		{"runaway that is done after a nudge", Runaway, "config: {detectors: [{name: loop, do: [{at: 3, act: nudge}]}]}\n" +
			"tools: [{name: read, answers: [{result: same}]}]\nmodel: [{calls: [{read: {path: a}}], repeat: 3}, {text: I see}]\n", "", Pass, ""},
		{"runaway whose model fails", Runaway, "model: [{failures: [{status: 400}], fail_forever: true, repeat: forever}]\n", "", Pass, ""},
		{"healthy run that is done", Healthy, says, "", Pass, ""},
		{"healthy run that is stopped", Healthy, reads, "", Fail, "label: a healthy run was stopped"},
		{"cancelled by its script", Runaway, reads + "user: {cancel: {at: 5s}}\n", "none", Pass, ""},

		// What is expected, under the own variant only.
		{"expectation that holds", Runaway, reads + "expect: {end_state: LOOP_DETECTED, stop: circuit-breaker, turns: 5, model_calls: 5, calls: 4, tries: 4, " +
			"errors: 0, vetoed: 1, nudges: 0, denied: 0, invalid: 0, time: 10.8s, events: {must: [run-ended, call-started], must_not: [call-retried]}}", "", Pass, ""},
		{"expectation that takes the label's place", Healthy, reads + "expect: {end_state: LOOP_DETECTED}", "", Pass, ""},
		{"stop that takes the label's place", Healthy, reads + "expect: {stop: circuit-breaker}", "", Pass, ""},
		{"bounds alone leave the label", Healthy, reads + "expect: {turns: 5}", "", Fail, "label: a healthy run was stopped"},
		{"expectation under another variant", Healthy, says + "expect: {end_state: LOOP_DETECTED, turns: 99}", "none", Pass, ""},
		{"label under another variant", Healthy, reads + "expect: {end_state: LOOP_DETECTED}", "hpd-production", Fail, "label: a healthy run was stopped"},
		{"changes under the own variant", Runaway, "config: {detectors: []}\n" + reads + "expect: {end_state: BUDGET_EXCEEDED}", "", Pass, ""},
		{"changes under another variant", Runaway, "config: {detectors: []}\n" + reads + "expect: {end_state: BUDGET_EXCEEDED}", "hpd-production", Pass, ""},
		{"every bound that does not hold", Runaway, reads + "expect: {end_state: DONE, turns: 1..4, calls: 5, vetoed: 2..9, time: 11s..1m, events: {must: [abandoned], must_not: [run-ended]}}", "", Fail,
			"end_state: end_state: want DONE, got LOOP_DETECTED|turns: turns: want 1..4, got 5|calls: calls: want 5, got 4|vetoed: vetoed: want 2..9, got 1|" +
				"time: time: want 11s..1m, got 10.8s|events: the event abandoned did not appear|events: the event run-ended appeared"},

		// What is inconclusive.
		{"script that runs dry", Runaway, "tools: [{name: read, answers: [{result: same}]}]\nmodel: [{calls: [{read: {path: a}}], repeat: 2}]\n", "", Inconclusive,
			"ran-dry: the script ran dry: no model step for request m3 (the script has 2)"},
		{"cancel that never came", Healthy, says + "user: {cancel: {at: 5s}}\n", "", Inconclusive, "not-fired: the user never cancelled"},
		{"model failure that never fired", Healthy, "model: [{text: hello}, {text: bye, failures: [{status: 500}]}]\n", "", Inconclusive,
			"not-fired: the failures of model entry 2 never fired"},
		{"failure of an entry whose time never came", Healthy, "model: [{text: hello}, {when: denied, text: bye, failures: [{status: 500}]}]\n", "", Inconclusive,
			"not-fired: the failures of model entry 2 never fired"},
		{"failure of an entry whose time came", Healthy, "tools: [{name: read, answers: [{result: same}]}]\nmodel: [{calls: [{read: {}}]}, {when: ok, text: bye, failures: [{status: 500}]}]\nconfig: {model_retry: {max: 1}}\n", "", Pass, ""},
		{"failure of a state that was never reached", Healthy, "model: [{state: a, text: hello}, {state: b, text: bye, failures: [{hang: true}]}]\n", "", Inconclusive,
			"not-fired: the failures of model entry 2 never fired"},
		{"failure of an entry whose time need not come under another variant", Healthy, "model: [{text: hello}, {when: denied, text: bye, failures: [{status: 500}]}]\n", "none", Pass, ""},
		{"call failure that never fired", Healthy, "tools: [{name: read, answers: [{result: a, failures: [{error: Timeout}]}]}]\n" + says, "", Inconclusive,
			`not-fired: the failures of answer 1 of tool "read" never fired`},
		{"fault that never fired in a trial that fails", Runaway, says + "user: {cancel: {at: 5s}}\n", "", Fail, "label: the runaway was not caught"},
		// Stopped at turn 3 under the other variant: the fifth request never comes.
		{"fault that another variant does not let fire", Runaway, "tools: [{name: read, answers: [{result: same}]}]\n" +
			"model: [{calls: [{read: {path: a}}], repeat: 4}, {text: a, failures: [{status: 400}]}]\nexpect: {stop: model-failed}\n", "hpd-development", Pass, ""},
		{"fault that never fired though another variant let the run end", Healthy, says + "user: {cancel: {at: 5s}}\n", "none", Inconclusive,
			"not-fired: the user never cancelled"},
		{"ceiling before the cancel", Runaway, "variant: none\n" + reads + "user: {cancel: {at: 48h}}\nexpect: {end_state: CEILING}\n", "", Inconclusive,
			"not-fired: the user never cancelled"},
		{"hang that fired", Healthy, "tools: [{name: read, answers: [{result: a, failures: [{hang: true}]}]}]\nmodel: [{calls: [{read: {}}]}, {text: b}]\n", "", Pass, ""},
		{"failure without a code that fired", Healthy, "tools: [{name: read, answers: [{result: a, failures: [{text: busy}]}]}]\nmodel: [{calls: [{read: {}}]}, {text: b}]\n", "", Pass, ""},
		// Five messages are more than four: the third request is for a summary,
		// which takes the place of the first reply and its result, and no entry
		// of the script.
		{"history with a summary", Healthy, "config: {history: {compact_at: 4}}\ntools: [{name: read, answers: [{result: a}]}]\n" +
			"model: [{calls: [{read: {p: '${turn}'}}], repeat: 2}, {text: b}]\nexpect: {end_state: DONE, model_calls: 4, events: {must: [compacted]}}\n", "", Pass, ""},
		// A run that ends before the script does has not been seen to succeed.
		{"premature stop", Healthy, "model: [{text: I will read it.}, {calls: [{read: {}}]}, {text: done}]\ntools: [{name: read, answers: [{result: a}]}]\n", "", Inconclusive,
			"unasked: the run ended before model entries 2 and 3 (optional: true on an entry allows that)"},
		{"premature stop before one entry", Healthy, says[:len(says)-2] + ", {text: bye, repeat: forever}]\n", "", Inconclusive,
			"unasked: the run ended before model entry 2 (optional: true on an entry allows that)"},
		{"premature stop under another variant", Healthy, says[:len(says)-2] + ", {text: bye}]\n", "none", Pass, ""},
		{"runaway that leaves entries", Runaway, "variant: none\n" + says[:len(says)-2] + ", {text: bye}]\nexpect: {stop: done}\n", "", Pass, ""},
		{"entry that may stay unused", Healthy, says[:len(says)-2] + ", {text: bye, optional: true}]\n", "", Pass, ""},
		{"failures of an entry that may stay unused", Healthy, says[:len(says)-2] + ", {text: bye, optional: true, failures: [{status: 500}]}]\n", "", Pass, ""},
		{"repeat that is reached", Healthy, "tools: [{name: read, answers: [{result: a}]}]\nmodel: [{calls: [{read: {}}]}, {text: done, repeat: 3}]\n", "", Pass, ""},
		// The second request is answered by when, which uses up the place of entry 3.
		{"entry whose place an entry with when takes", Healthy, "tools: [{name: read, answers: [{error: NotFound, text: no}]}]\n" +
			"model: [{when: failed, text: not there}, {calls: [{read: {}}]}, {text: done}]\n", "", Pass, ""},
		{"entries with when and state", Healthy, "model: [{text: hello}, {when: denied, text: a}, {when: failed, text: b}]\n", "", Pass, ""},
		{"hang of another answer", Healthy, "tools: [{name: read, answers: [{when: {p: a}, result: a}, {result: b, failures: [{hang: true}]}]}]\n" +
			"model: [{calls: [{read: {p: a}}]}, {text: b}]\n", "", Inconclusive, `not-fired: the failures of answer 2 of tool "read" never fired`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := judged(scenario(t, tt.label, tt.rest), tt.variant)
			if r.Verdict != tt.verdict || rules(r) != tt.found {
				t.Errorf("%s, %s (%s)\n%s\nwant %s\n%s", r.Verdict, r.EndState, r.Stop, rules(r), tt.verdict, tt.found)
			}
		})
	}
}

// What each end state says about a label, when no detector acted.
func TestLabelOfEndStates(t *testing.T) {
	for end, want := range map[loop.EndState]string{
		loop.Done: "healthy", loop.ClarifyNeeded: "healthy",
		loop.BudgetExceeded: "runaway", loop.LoopDetected: "runaway", loop.ErrorLimit: "runaway",
		loop.UnrecoverableToolContract: "runaway", loop.ModelFailed: "runaway",
		loop.WasCancelled: "", loop.Ceiling: "", loop.RecordingEnded: "",
	} {
		got := ""
		for _, label := range []Label{Healthy, Runaway} {
			trial, r := Trial{Scenario: answering("a", false)}, &Result{Label: label, EndState: end}
			if trial.judgeLabel(r, facts{}); len(r.Findings) == 0 {
				got += string(label)
			}
		}
		if got != want {
			t.Errorf("%s is right for %q, want %q", end, got, want)
		}
	}
}

// A broken promise is a failure even of a session that broke off: here the
// history has one message, and not two.
func TestBrokenPromiseOfBrokenSession(t *testing.T) {
	trace, err := loop.ParseTrace("   0.000s started text=t\n          > ask m1#1 for=reply to=2\n")
	if err != nil {
		t.Fatal(err)
	}
	trial, r := Trial{Scenario: answering("a", false)}, &Result{}
	if got := trial.judge(r, nil, read(trace), trace, fakes.Idle{}, loop.ErrDry); got != Fail || !strings.HasPrefix(rules(r), "audit: asked-with: ") || !strings.HasSuffix(rules(r), "|ran-dry: the world ran dry") {
		t.Errorf("%s: %s", got, rules(r))
	}
}

// The line of a trial: the design's own example.
func TestResultOfTrial(t *testing.T) {
	s := scenario(t, Runaway, reads)
	got := judged(s, "")
	want := &Result{Type: "trial", Scenario: s.ID(), Suite: s.Suite, Label: Runaway, Variant: "hpd-agent", Seed: 1,
		EndState: loop.LoopDetected, Stop: "circuit-breaker", Turns: 5, ModelCalls: 5, Calls: 4, Tries: 4, Vetoed: 1,
		Codes: map[string]int{"None": 4}, SchemaOK: 4, ToolMS: []Latency{{200, 4}},
		VirtualMS: 10800, // 5 × 2 s + 4 × 200 ms
		Verdict:   Pass, Findings: []Finding{}, Golden: "off", Asked: 5, File: s.File, Line: 1}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Result{})); d != "" {
		t.Error(d)
	}
}

// A trial is a session: counts are totals over its runs, the stop is the first
// bad one.
func TestTotalsOverRuns(t *testing.T) {
	s := scenario(t, Healthy, `
tools:
  - {name: read, answers: [{result: a, failures: [{error: Timeout, text: late}]}]}
  - {name: gone, answers: [{error: NotFound, text: no}]}
  - {name: rm, permission: call, answers: [{result: x}]}
model:
  - {calls: [{read: {}}, {gone: {}}, {rm: {}}, {nobody: {}}, {read: '{'}], tokens_in: 10, tokens_out: 1, cost_usd: 0.1}
  - {text: one, tokens_in: 20, tokens_out: 2, cost_usd: 0.2}
  - {text: two, tokens_in: 30, tokens_out: 3}
user:
  permissions: [{tool: rm, answer: deny}]
  messages: [{text: and now?, wait: 5s}]
`)
	got := judged(s, "")
	// read: 200 ms, 1 s of backoff, 200 ms. gone: 200 ms. The gate: 200 ms.
	// 2 s + 0.2 s + 1.4 s + 2 s, 5 s, 2 s.
	want := &Result{Type: "trial", Scenario: s.ID(), Suite: s.Suite, Label: Healthy, Variant: "hpd-agent", Seed: 1,
		EndState: loop.Done, Stop: loop.StopDone, Turns: 3, ModelCalls: 3, Calls: 2, Tries: 3, Errors: 1,
		Codes: map[string]int{"None": 1, "NotFound": 1}, SchemaOK: 2, ToolMS: []Latency{{200, 1}, {1400, 1}},
		VirtualMS: 12600, TokensIn: 60, TokensOut: 6, CostUSD: 0.3,
		Verdict: Pass, Findings: []Finding{}, Golden: "off", Asked: 5, Denied: 1, Invalid: 2, File: s.File, Line: 1}
	if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Result{})); d != "" {
		t.Error(d)
	}
}

func TestFirstBadStop(t *testing.T) {
	runs := []loop.Outcome{{Stop: loop.StopDone, End: loop.Done, Turns: 1}, {Stop: loop.StopTurnLimit, End: loop.BudgetExceeded, Turns: 2},
		{Stop: loop.StopDone, End: loop.Done, Turns: 4}}
	r := &Result{Codes: map[string]int{}}
	r.count(runs, facts{end: 1500 * time.Microsecond})
	if r.Stop != loop.StopTurnLimit || r.EndState != loop.BudgetExceeded || r.Turns != 7 || r.VirtualMS != 2 {
		t.Errorf("got %+v", r)
	}
}

// A panic is a finding, not the end of the program.
func TestPanic(t *testing.T) {
	s := answering("a", false)
	s.Script.Model = nil
	s.Config.Detectors = breaker(5)
	trial := Trial{Scenario: s, Variant: s.Variant}
	var r Result
	func() {
		defer trial.recovered(&r)
		panic("a tool\x1b[2J broke")
	}()
	if r.Verdict != Inconclusive || rules(&r) != "panic: the trial panicked: a tool\\x1b[2J broke" {
		t.Errorf("%s: %s", r.Verdict, rules(&r))
	}
}

func TestBroke(t *testing.T) {
	tests := []struct {
		err  error
		rule string
	}{
		{&fakes.DryError{Problem: "nothing"}, "ran-dry"},
		{fmt.Errorf("%w: waiting", loop.ErrDry), "ran-dry"},
		{context.Canceled, "interrupted"},
		{errors.New("limits.turns: must be 0"), "invalid"},
	}
	for _, tt := range tests {
		if rule, _ := broke(tt.err); rule != tt.rule {
			t.Errorf("%v: got %s", tt.err, rule)
		}
	}
}

// An interrupted trial, and one whose config cannot be meant, say nothing about
// the loop.
func TestTrialThatCannotRun(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s := answering("a", false)
	if r, _ := (Trial{Scenario: s, Variant: s.Variant}).Run(ctx); r.Verdict != Inconclusive || !strings.HasPrefix(rules(r), "interrupted: ") {
		t.Errorf("%s: %s", r.Verdict, rules(r))
	}
	s.Config.Limits.Turns = -1
	if r, _ := (Trial{Scenario: s, Variant: s.Variant}).Run(context.Background()); r.Verdict != Inconclusive || !strings.HasPrefix(rules(r), "invalid: limits.turns") {
		t.Errorf("%s: %s", r.Verdict, rules(r))
	}
}

// BrokeOff recognises a session that did not finish by the rules of its findings.
func TestBrokeOff(t *testing.T) {
	for rule, want := range map[string]bool{"cassette": true, "ran-dry": true, "interrupted": true, "invalid": true, "panic": true,
		"label": false, "golden": false, "turns": false, "not-fired": false} {
		r := &Result{}
		r.find("history", "", "h")
		r.find(rule, "", "m")
		if r.BrokeOff() != want {
			t.Errorf("%s: got %v", rule, !want)
		}
	}
}

package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
)

// stuckLater answers the first question after one call, 4.2 s. On the second,
// which comes a minute later, it reads the same file until the default breaker
// trips: 5 turns of 2 s and 4 calls of 200 ms, 10.8 s.
const stuckLater = `tools: [{name: read, answers: [{result: same}]}]
model: [{calls: [{read: {path: a}}]}, {text: one}, {calls: [{read: {path: b}}], repeat: forever}]
user: {messages: [{text: and now?, wait: 1m}]}
`

func TestExpectOfEachRun(t *testing.T) {
	const first = "{end_state: DONE, stop: done, turns: 2, model_calls: 2, calls: 1, tries: 1, vetoed: 0, time: 4.2s, events: {must: [run-ended], must_not: [replaced-id]}}"
	const second = "{end_state: LOOP_DETECTED, stop: circuit-breaker, turns: 5, model_calls: 5, calls: 4, tries: 4, vetoed: 1, time: 10.8s}"
	tests := []struct {
		name    string
		label   Label
		runs    string // the entries
		verdict Verdict
		found   string
	}{
		{"each holds", Runaway, first + "," + second, Pass, ""},
		{"entry that wants nothing", Runaway, "{}," + second, Pass, ""},
		{"of the first run", Runaway, "{calls: 5}," + second, Fail, "calls: run 1: calls: want 5, got 1"},
		{"of the second run", Runaway, first + ",{stop: circuit-breaker, turns: 1..4, calls: 5, vetoed: 0, time: 1m10.8s, events: {must: [run-started, abandoned], must_not: [run-ended]}}", Fail,
			"turns: run 2: turns: want 1..4, got 5|calls: run 2: calls: want 5, got 4|vetoed: run 2: vetoed: want 0, got 1|time: run 2: time: want 1m10.8s, got 10.8s|" +
				"events: run 2: the event abandoned did not appear|events: run 2: the event run-ended appeared"},
		{"fewer entries than runs", Runaway, first, Fail, "runs: runs: want 1, got 2"},
		// The label is judged unless each entry names an end.
		{"label of a run that was stopped", Healthy, first + ",{turns: 5}", Fail, "label: a healthy run was stopped"},
		{"ends that take the label's place", Healthy, first + "," + second, Pass, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := judged(scenario(t, tt.label, stuckLater+"expect: ["+tt.runs+"]\n"), "")
			if r.Verdict != tt.verdict || rules(r) != tt.found {
				t.Errorf("%s, %s (%s)\n%s\nwant %s\n%s", r.Verdict, r.EndState, r.Stop, rules(r), tt.verdict, tt.found)
			}
		})
	}
}

// A run that was expected and did not take place is found: the first is stopped,
// so that the user never comes back.
func TestFewerRunsThanExpected(t *testing.T) {
	r := judged(scenario(t, Runaway, reads+"user: {messages: [more]}\nexpect: [{turns: 5}, {turns: 1}]\n"), "")
	if got := rules(r); r.Verdict != Fail || got != "runs: runs: want 2, got 1" {
		t.Errorf("%s: %s", r.Verdict, got)
	}
	if f := r.Findings[0]; f.Want != "2" || f.Got != "1" {
		t.Errorf("want %q, got %q", f.Want, f.Got)
	}
}

// The events of a run are its own.
func TestEventsOfEachRun(t *testing.T) {
	const twice = "config: {model_retry: {max: 1}}\nmodel: [{text: one, failures: [{status: 500}]}, {text: two}]\nuser: {messages: [more]}\n"
	r := judged(scenario(t, Healthy, twice+"expect: [{events: {must: [model-retried]}}, {events: {must_not: [model-retried]}}]\n"), "")
	if r.Verdict != Pass {
		t.Errorf("%s: %s", r.Verdict, rules(r))
	}
	r = judged(scenario(t, Healthy, twice+"expect: [{events: {must_not: [model-retried]}}, {events: {must: [model-retried]}}]\n"), "")
	if want := "events: run 1: the event model-retried appeared|events: run 2: the event model-retried did not appear"; rules(r) != want {
		t.Errorf("got %s", rules(r))
	}
}

// Under another variant the label alone is judged, whatever is expected of runs.
func TestRunsUnderAnotherVariant(t *testing.T) {
	s := scenario(t, Runaway, stuckLater+"expect: [{turns: 99}, {turns: 99}]\n")
	if r := judged(s, "hpd-production"); r.Verdict != Pass {
		t.Errorf("%s: %s", r.Verdict, rules(r))
	}
}

// A run has what comes from its message on, and an answer that comes too late
// belongs to the run that had asked. A message that is ignored begins none.
func TestRunsOf(t *testing.T) {
	trace, err := loop.ParseTrace(`   0.000s started text=t
          > ask m1#1 for=reply to=1
   1.000s message text=early
          > note m1 event=ignored
   2.000s cancel
          > cancel m1#1
          > halt stop=cancelled end=CANCELLED reason=r incomplete elapsed=2s
   3.000s reply m1 text=late finish=stop
          > note m1 event=ignored
   4.000s message text=again
          > ask m2#1 for=reply to=2
`)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, part := range runsOf(trace) {
		got = append(got, fmt.Sprint(len(part), " records from ", part[0].In.At))
	}
	if d := cmp.Diff([]string{"4 records from 0s", "1 records from 4s"}, got); d != "" {
		t.Error(d)
	}
}

// A scenario that expects something of each run says so again when it is
// written: the end states, as of a whole session.
func TestRunsAreWritten(t *testing.T) {
	s := scenario(t, Runaway, stuckLater+"expect: [{end_state: DONE, turns: 2}, {}]\n")
	text := string(s.YAML("again"))
	if !strings.Contains(text, "\nexpect:\n  - {end_state: DONE}\n  - {}\n") {
		t.Errorf("not as a list:\n%s", text)
	}
	all, err := load(t, text)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]Expect{{EndState: loop.Done}, {}}, all[0].Runs); d != "" {
		t.Error(d)
	}
	if all[0].Script.User.Messages[0].Wait != time.Minute {
		t.Error("the message comes at another time")
	}
}

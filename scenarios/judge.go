package scenarios

import (
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// judge returns the verdict on a trial and adds to its findings. A trial whose session
// broke off fails only for its trace, since the rest of the session is unknown;
// otherwise it is inconclusive.
func (t *Trial) judge(r *Result, runs []loop.Outcome, f facts, trace loop.Trace, idle fakes.Idle, err error) Verdict {
	t.checkTrace(r, trace)
	if err != nil {
		failed := len(r.Findings) > 0
		rule, message := broke(err)
		r.find(rule, "", message)
		if failed {
			return Fail
		}
		return Inconclusive
	}
	if t.asWritten() {
		t.Scenario.judge(r, runs, f, trace)
	}
	if !t.asWritten() || !t.Scenario.namesEnd() {
		t.judgeLabel(r, f)
	}
	if len(r.Findings) > 0 {
		return Fail
	}
	if t.asWritten() || endedWell(r.EndState) && len(t.Faults) == 0 {
		t.checkFaults(r, trace, &idle)
	}
	if t.Own() || endedWell(r.EndState) || len(t.Faults) > 0 {
		checkIdle(r, idle.Faults)
	}
	if len(r.Findings) == 0 && t.asWritten() {
		r.Notes = t.unreached(&idle)
	}
	if t.Strict {
		for _, note := range r.Notes {
			r.find("unreached", "", note)
		}
		r.Notes = nil
	}
	if len(r.Findings) > 0 {
		return Inconclusive
	}
	return Pass
}

// endedWell reports whether a run finished: it ended as DONE or CLARIFY_NEEDED.
func endedWell(s loop.EndState) bool { return s == loop.Done || s == loop.ClarifyNeeded }

// judgeLabel checks that a runaway was caught: stopped by a rule of the loop, or done
// after a nudge, a veto or a last word. It checks that a healthy run ended well. If the script's
// user cancelled the run, it checks nothing.
func (t *Trial) judgeLabel(r *Result, f facts) {
	switch {
	case r.Stop == loop.StopCancelled && t.Scenario.Script.User.Cancel != nil:
	case r.Label == Runaway && !caught(r.EndState, f):
		r.compare("label", "", "the runaway was not caught", "stopped by a rule, or done after a nudge, a veto or a last word", ending(r))
	case r.Label == Healthy && !endedWell(r.EndState):
		r.compare("label", "", "a healthy run was stopped", "DONE or CLARIFY_NEEDED", ending(r))
	}
}

func caught(s loop.EndState, f facts) bool {
	switch s {
	case loop.Done, loop.ClarifyNeeded:
		return f.acted
	case loop.WasCancelled, loop.Ceiling, loop.RecordingEnded, loop.Hung, "":
		return false
	}
	return true
}

func ending(r *Result) string { return fmt.Sprintf("%s (%s)", r.EndState, r.Stop) }

// namesEnd reports whether the scenario says how its session ends, or each of
// its runs.
func (s *Scenario) namesEnd() bool {
	names := func(e Expect) bool { return e.EndState != "" || e.Stop != "" }
	if s.Runs == nil {
		return names(s.Expect)
	}
	return !slices.ContainsFunc(s.Runs, func(e Expect) bool { return !names(e) })
}

// judge compares a session, or each of its runs, with the scenario's expectations.
func (s *Scenario) judge(r *Result, runs []loop.Outcome, f facts, trace loop.Trace) {
	if s.Runs == nil {
		s.Expect.judge(r, f)
		return
	}
	if len(runs) != len(s.Runs) {
		mismatch(r, "runs", fmt.Sprint(len(s.Runs)), fmt.Sprint(len(runs)))
	}
	parts := runsOf(trace)
	for i := range min(len(runs), len(s.Runs)) {
		one, f := Result{Codes: map[string]int{}}, read(parts[i])
		f.end = runs[i].Elapsed
		one.count(runs[i:i+1], f)
		one.Refused = len(refusals(parts[i]))
		one.RefusedOwn = one.Refused // expect is judged under the own variant only
		s.Runs[i].judge(&one, f)
		for _, found := range one.Findings {
			found.Message = fmt.Sprintf("run %d: %s", i+1, found.Message)
			r.Findings = append(r.Findings, found)
		}
	}
}

// judge compares a result with the expectation.
func (e *Expect) judge(r *Result, f facts) {
	expectWord(r, "end_state", e.EndState, r.EndState)
	expectWord(r, "stop", e.Stop, r.Stop)
	for _, c := range []struct {
		rule string
		want *Range
		got  int
	}{
		{"turns", e.Turns, r.Turns}, {"model_calls", e.ModelCalls, r.ModelCalls}, {"calls", e.Calls, r.Calls},
		{"tries", e.Tries, r.Tries}, {"errors", e.Errors, r.Errors}, {"vetoed", e.Vetoed, r.Vetoed},
		{"nudges", e.Nudges, r.Nudges}, {"denied", e.Denied, r.Denied}, {"invalid", e.Invalid, r.Invalid},
		{"refused", e.Refused, r.Refused}, {"interfered", e.Interfered, r.Refused - r.RefusedOwn}, {"sub_runs", e.SubRuns, r.SubRuns},
	} {
		if c.want != nil && (c.got < c.want.Min || c.got > c.want.Max) {
			mismatch(r, c.rule, c.want.String(), fmt.Sprint(c.got))
		}
	}
	if e.Time != nil && (f.end < e.Time.Min || f.end > e.Time.Max) {
		mismatch(r, "time", e.Time.String(), text.Exact(f.end))
	}
	for _, stop := range e.SubStops {
		if f.subStops[stop] == 0 {
			r.compare("sub_stops", "", fmt.Sprintf("no sub-run ended with the stop %s", stop), stop, "")
		}
	}
	for _, event := range e.Must {
		if !f.events[event] {
			r.compare("events", "", fmt.Sprintf("the event %s did not appear", event), event, "")
		}
	}
	for _, event := range e.MustNot {
		if f.events[event] {
			r.compare("events", "", fmt.Sprintf("the event %s appeared", event), "", event)
		}
	}
}

func expectWord[T ~string](r *Result, rule string, want, got T) {
	if want != "" && want != got {
		mismatch(r, rule, string(want), string(got))
	}
}

func mismatch(r *Result, rule, want, got string) {
	shown := got
	if shown == "" {
		shown = "nothing"
	}
	r.compare(rule, "", fmt.Sprintf("%s: want %s, got %s", rule, want, shown), want, got)
}

// String returns 3, or 3..5.
func (r Range) String() string {
	if r.Min == r.Max {
		return fmt.Sprint(r.Min)
	}
	return fmt.Sprintf("%d..%d", r.Min, r.Max)
}

// String returns 3s, or 3s..5s.
func (r TimeRange) String() string {
	if r.Min == r.Max {
		return text.Exact(r.Min)
	}
	return text.Exact(r.Min) + ".." + text.Exact(r.Max)
}

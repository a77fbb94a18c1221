package scenarios

import (
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A fault is a failure that a script plans: the failures of an answer or of a
// model entry, the user's cancel, and those of the overlay (see [fakes.Fault]).
// An error that a tool answers with for good is none, nor is an answer or a user
// that hangs: it may well be there for calls and questions that do not come.

// checkFaults adds a finding for each fault that never fired: the trial then
// shows nothing about it. Under another variant what an entry waits for may
// never come about: an entry with when or state need not fire there.
func (t *Trial) checkFaults(r *Result, trace loop.Trace, idle *fakes.Idle) {
	script := &t.Scenario.Script
	if script.User.Cancel != nil && !slices.ContainsFunc(trace, cancelled) {
		r.find("not-fired", "", "the user never cancelled")
	}
	for _, i := range idle.Steps {
		if s := &script.Model[i]; t.asWritten() || s.When == fakes.WhenAlways && s.State == "" {
			r.find("not-fired", "", fmt.Sprintf("the failures of model entry %d never fired", i+1))
		}
	}
	for _, at := range idle.Answers {
		r.find("not-fired", "", fmt.Sprintf("the failures of answer %d of tool %s never fired", at.Answer+1, quoted(script.Tools[at.Tool].Name)))
	}
}

// cancelled reports whether a record is the user's cancel.
func cancelled(r loop.Record) bool { return r.In.Kind == loop.Cancel && r.In.Cause == loop.ByCaller }

// checkIdle adds a finding for each fault of the overlay that never fired.
func checkIdle(r *Result, idle []fakes.Fault) {
	for _, f := range idle {
		r.find("not-fired", "", fmt.Sprintf("the fault %s never fired", quoted(f.String())))
	}
}

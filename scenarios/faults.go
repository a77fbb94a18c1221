package scenarios

import (
	"fmt"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A fault is a failure that a script plans: the failures of an answer or of a
// model entry, the user's cancel, and those of the overlay (see [fakes.Fault]). An error that a tool answers with for
// good is none: it may well be there for calls that do not come.

// checkFaults adds a finding for each fault that never fired: the trial then
// shows nothing about it. Which answer a tool gave does not show in a trace, so
// a tool's faults are told apart by their code only.
func (t *Trial) checkFaults(r *Result, trace loop.Trace) {
	script := &t.Scenario.Script
	f := readFaults(trace)
	if script.User.Cancel != nil && !f.cancelled {
		r.find("not-fired", "", "the user never cancelled")
	}
	first := 1 // request that the next entry without when answers
	for i := range script.Model {
		s := &script.Model[i]
		if s.When == fakes.WhenAlways && s.State == "" {
			next := after(first, s.Repeat)
			if len(s.Failures) > 0 && !f.modelFailed(first, next) {
				r.find("not-fired", "", fmt.Sprintf("the failures of model entry %d never fired", i+1))
			}
			first = next
		}
	}
	for i := range script.Tools {
		tool := &script.Tools[i]
		for j := range tool.Answers {
			if a := &tool.Answers[j]; len(a.Failures) > 0 && !f.callFailed(tool.Name, &a.Failures[0]) {
				r.find("not-fired", "", fmt.Sprintf("the failures of answer %d of tool %s never fired", j+1, quoted(tool.Name)))
			}
		}
	}
}

// checkIdle adds a finding for each fault of the overlay that never fired.
func checkIdle(r *Result, idle []fakes.Fault) {
	for _, f := range idle {
		r.find("not-fired", "", fmt.Sprintf("the fault %s never fired", quoted(f.String())))
	}
}

// after is the request that follows the n that begin with first.
func after(first, n int) int {
	switch {
	case n == fakes.Forever:
		return 1 << 30
	case n == 0:
		return first + 1
	}
	return first + n
}

// firedFaults are the faults that a trace shows.
type firedFaults struct {
	cancelled bool
	requests  map[int]bool       // whose first try failed, or was given up
	calls     map[callFault]bool // that the first tries of calls had
}

type callFault struct {
	tool string
	code loop.Code // "" for a try that never answered
}

func readFaults(trace loop.Trace) firedFaults {
	f := firedFaults{requests: map[int]bool{}, calls: map[callFault]bool{}}
	open := map[loop.Ref]string{} // first tries without an answer yet, and their tools
	for i := range trace {
		switch in := &trace[i].In; in.Kind {
		case loop.Cancel:
			f.cancelled = f.cancelled || in.Cause == loop.ByCaller
		case loop.ModelFailure:
			f.requests[in.Ref.N] = true
		case loop.ToolResult:
			if tool, ok := open[in.Ref]; ok && in.Code != loop.None {
				f.calls[callFault{tool, in.Code}] = true
			}
			delete(open, in.Ref)
		}
		for j := range trace[i].Effects {
			switch e := &trace[i].Effects[j]; {
			case e.Kind == loop.CallTool && e.Ref.Try == 1:
				open[e.Ref] = e.Name
			case e.Kind == loop.CancelTool && open[e.Ref] != "":
				f.calls[callFault{tool: open[e.Ref]}] = true
			case e.Kind == loop.CancelModel:
				f.requests[e.Ref.N] = true
			}
		}
	}
	return f
}

// modelFailed reports whether one of the requests from first to before next
// failed.
func (f *firedFaults) modelFailed(first, next int) bool {
	for n := range f.requests {
		if first <= n && n < next {
			return true
		}
	}
	return false
}

func (f *firedFaults) callFailed(tool string, failure *fakes.Failure) bool {
	code := failure.Error
	switch {
	case failure.Hang:
		code = loop.None
	case code == loop.None:
		code = loop.RetryableServer
	}
	return f.calls[callFault{tool, code}]
}

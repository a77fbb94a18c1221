package scenarios

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// This file checks that planned failures fired: the failures of an answer or of a model
// entry, the user's cancel, and the faults laid over the script (see [fakes.Fault]). A
// permanent tool error does not have to fire, and neither does a hang: it may be meant
// for calls and questions that never come.

// checkFaults adds a finding for each planned failure of the script that never fired,
// since the trial then shows nothing about it. Under another variant an entry with when
// or state does not have to fire: its condition may never occur.
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
	if t.asWritten() && t.Scenario.Label == Healthy && len(idle.Unasked) > 0 {
		r.find("unasked", "", unasked(idle.Unasked))
	}
	for _, at := range idle.Answers {
		r.find("not-fired", "", fmt.Sprintf("the failures of answer %d of tool %s never fired", at.Answer+1, quoted(script.Tools[at.Tool].Name)))
	}
}

// unreached says what a passing trial as its scenario describes it never reached, but
// need not have.
func (t *Trial) unreached(idle *fakes.Idle) (notes []string) {
	for _, i := range idle.PartSteps {
		notes = append(notes, fmt.Sprintf("not all failures of model entry %d fired", i+1))
	}
	for _, at := range idle.PartAnswers {
		notes = append(notes, fmt.Sprintf("not all failures of answer %d of tool %s fired", at.Answer+1, quoted(t.Scenario.Script.Tools[at.Tool].Name)))
	}
	for _, i := range idle.Unheld {
		notes = append(notes, fmt.Sprintf("the condition of model entry %d never held", i+1))
	}
	if idle.Unsaid > 0 && t.Scenario.Label == Healthy { // a runaway may be stopped before
		notes = append(notes, fmt.Sprintf("the user did not send %s", text.Count(idle.Unsaid, "message")))
	}
	return notes
}

// unasked says that no request reached the model entries with these indexes: the run
// ended before the model had said all that the scenario has for it.
func unasked(indexes []int) string {
	numbers := make([]string, len(indexes))
	for i, index := range indexes {
		numbers[i] = strconv.Itoa(index + 1)
	}
	entries := "entry "
	if last := len(numbers) - 1; last > 0 {
		entries = "entries " + strings.Join(numbers[:last], ", ") + " and "
		numbers = numbers[last:]
	}
	return "the run ended before model " + entries + numbers[0] + " (optional: true on an entry allows that)"
}

// cancelled reports whether a record is the user's cancel.
func cancelled(r loop.Record) bool { return r.In.Kind == loop.Cancel && r.In.Cause == loop.ByCaller }

// checkIdle adds a finding for each fault in idle, which never fired, unless it is a
// share: a share describes the world, and strikes nothing in some of the trials.
func checkIdle(r *Result, idle []fakes.Fault) {
	for _, f := range idle {
		if f.N == 0 {
			continue
		}
		r.find("not-fired", "", fmt.Sprintf("the fault %s never fired", quoted(f.String())))
	}
}

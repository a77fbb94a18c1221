package fuzz

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// An Invariant is a promise that holds for every case, or a relation that holds
// between a case and a changed one. The package comment has a paragraph on each.
type Invariant string

// The invariants.
const (
	NoPanic    Invariant = "no-panic"
	Ends       Invariant = "ends"
	Bounds     Invariant = "bounds"
	EndState   Invariant = "end-state"
	Audited    Invariant = "audit"
	History    Invariant = "history"
	OneResult  Invariant = "one-result"
	AfterStop  Invariant = "after-stop"
	Blocked    Invariant = "blocked"
	AtMostOnce Invariant = "at-most-once"
	Payloads   Invariant = "payloads"
	SameTrace  Invariant = "same-trace"
	RoundTrip  Invariant = "round-trip"
	Resumed    Invariant = "resumed"
	Breaker    Invariant = "breaker"
	ErrorLimit Invariant = "error-limit"
	Recovers   Invariant = "recovers"

	ParallelSequential Invariant = "parallel-sequential"
	LimitRaised        Invariant = "limit-raised"
	TimeScaled         Invariant = "time-scaled"
	CompletionOrder    Invariant = "completion-order"
	Stricter           Invariant = "stricter"
	UnusedTool         Invariant = "unused-tool"
	KeyOrder           Invariant = "key-order"
)

// A checker checks an invariant. check returns the problem, "" if there is none;
// judged is false if the invariant does not apply to the case.
type checker struct {
	name  Invariant
	check func(*play) (problem string, judged bool)
}

// checkers are the invariants in the order in which they are checked and shown. A
// problem of an early one makes the later ones meaningless, so only the first
// problem is reported.
var checkers = []checker{
	{Ends, checkEnds},
	{EndState, checkEndState},
	{History, checkHistory},
	{OneResult, checkOneResult},
	{AfterStop, checkAfterStop},
	{Blocked, checkBlocked},
	{AtMostOnce, checkOnce},
	{Bounds, checkBounds},
	{Payloads, checkPayloads},
	{Breaker, checkBreaker},
	{ErrorLimit, checkErrorLimit},
	{Audited, checkAudit},
	{RoundTrip, checkRoundTrip},
	{SameTrace, checkSameTrace},
	{Resumed, checkResumed},
	{ParallelSequential, single(checkParallel)},
	{LimitRaised, single(checkRaised)},
	{TimeScaled, single(checkScaled)},
	{CompletionOrder, single(checkCompletion)},
	{Stricter, single(checkStricter)},
	{UnusedTool, checkUnusedTool},
	{KeyOrder, single(checkKeyOrder)},
	{Recovers, checkRecovers},
}

// single makes a relation leave out cases whose tools have sessions, since what it
// changes would change their sub-runs too.
func single(check func(*play) (string, bool)) func(*play) (string, bool) {
	return func(p *play) (string, bool) {
		if slices.ContainsFunc(p.Script.Tools, func(t fakes.Tool) bool { return t.Session != nil }) {
			return "", false
		}
		return check(p)
	}
}

// Invariants lists every invariant, in the order in which they are checked.
func Invariants() []Invariant {
	all := []Invariant{NoPanic}
	for _, r := range checkers {
		all = append(all, r.name)
	}
	return all
}

// checkEnds: the session ends by itself, with a halt.
func checkEnds(p *play) (string, bool) {
	if p.err != nil {
		return "the session broke off: " + p.err.Error(), true
	}
	if n := len(p.trace); n == 0 || !p.machine.Halted() || p.view().runs[len(p.view().runs)-1].end < 0 {
		return "the session ended without a halt", true
	}
	return "", true
}

// endStates repeats decision D21, independently of the loop. A stop that is not here
// must be the name of a detector of the config.
var endStates = map[loop.Stop]loop.EndState{
	"done": "DONE", "stopped-by-model": "DONE", "needs-user": "CLARIFY_NEEDED",
	"turn-limit": "BUDGET_EXCEEDED", "asked-limit": "BUDGET_EXCEEDED", "call-limit": "BUDGET_EXCEEDED", "token-limit": "BUDGET_EXCEEDED", "cost-limit": "BUDGET_EXCEEDED",
	"run-deadline": "BUDGET_EXCEEDED", "depth-limit": "BUDGET_EXCEEDED", "spawn-limit": "BUDGET_EXCEEDED", "try-limit": "BUDGET_EXCEEDED",
	"error-limit": "ERROR_LIMIT", "tool-contract": "UNRECOVERABLE_TOOL_CONTRACT", "unauthorized": "UNRECOVERABLE_TOOL_CONTRACT",
	"compaction-thrash": "LOOP_DETECTED",
	"model-failed":      "MODEL_FAILED", "model-deadline": "MODEL_FAILED", "empty-reply": "MODEL_FAILED", "truncated-reply": "MODEL_FAILED", "unmet-goal": "MODEL_FAILED",
	"cancelled": "CANCELLED", "ceiling": "CEILING",
}

// checkEndState: the stop is a known one, the end state is that of the stop, and the
// answer is incomplete unless the run is done.
func checkEndState(p *play) (string, bool) {
	for _, r := range p.view().runs {
		if r.outcome == nil {
			continue
		}
		want, known := endStates[r.outcome.Stop]
		for i := range p.Config.Detectors {
			if string(r.outcome.Stop) == p.Config.Detectors[i].Name {
				want, known = loop.LoopDetected, true
			}
		}
		switch {
		case !known:
			return fmt.Sprintf("there is no stop %q", r.outcome.Stop), true
		case r.outcome.End != want:
			return fmt.Sprintf("the stop %s must end the run as %s, not as %s", r.outcome.Stop, want, r.outcome.End), true
		case r.outcome.Incomplete == (want == loop.Done):
			return fmt.Sprintf("a run that ends as %s has incomplete=%v", want, r.outcome.Incomplete), true
		}
	}
	return "", true
}

// checkHistory: at every request, chat APIs accept the history.
func checkHistory(p *play) (string, bool) {
	if len(p.dirty) > 0 {
		return fmt.Sprintf("the history of request %v: %s", p.dirty[0].ref, p.dirty[0].problem), true
	}
	for _, problem := range p.historyProblems("", p.machine.History()) {
		return "the history at the end: " + problem, true
	}
	return "", true
}

// checkOneResult: every call has one result when its run has ended, and the results
// come in request order.
func checkOneResult(p *play) (string, bool) {
	last := -1
	for _, r := range p.view().runs {
		for _, reply := range r.replies {
			for _, c := range reply.calls {
				switch {
				case len(c.puts) == 0 && r.end >= 0:
					return fmt.Sprintf("the call c%d has no result", c.n), true
				case len(c.puts) > 1:
					return fmt.Sprintf("the call c%d has %d results", c.n, len(c.puts)), true
				case len(c.puts) == 1 && c.puts[0].seq < last:
					return fmt.Sprintf("the result of call c%d comes before that of the call before it", c.n), true
				case len(c.puts) == 1:
					last = c.puts[0].seq
				}
			}
		}
	}
	return "", true
}

// checkAfterStop: after a halt nothing happens until a user message, and nothing
// starts after a cancel or the run deadline.
func checkAfterStop(p *play) (string, bool) {
	over, cut := false, false
	for i := range p.trace {
		rec := &p.trace[i]
		if rec.Path != "" {
			continue
		}
		if begins(rec) && !ignored(rec) {
			over, cut = false, false
		}
		cut = cut || rec.In.Kind == loop.Cancel && !ignored(rec)
		for j := range rec.Effects {
			e := &rec.Effects[j]
			switch {
			case over && !(e.Kind == loop.Note && e.Event == loop.EventIgnored):
				return fmt.Sprintf("after the halt: %s", line(rec, e)), true
			case cut && starts(e):
				return fmt.Sprintf("after the run was cut short: %s", line(rec, e)), true
			case e.Text == "deadline" && (e.Kind == loop.CancelTool || e.Kind == loop.CancelModel):
				cut = true
			case e.Kind == loop.Halt:
				over = true
			}
		}
	}
	return "", true
}

func begins(r *loop.Record) bool {
	return r.In.Kind == loop.Started || r.In.Kind == loop.UserMessage
}

// starts reports whether an effect begins something.
func starts(e *loop.Effect) bool {
	switch e.Kind {
	case loop.AskModel, loop.CallTool, loop.AskUser, loop.OpenGate:
		return true
	}
	return false
}

// line returns the line of an effect, with the time of its record.
func line(r *loop.Record, e *loop.Effect) string {
	text := loop.Record{In: loop.Input{At: r.In.At, Kind: loop.Tick}, Effects: []loop.Effect{*e}}.String()
	_, effect, _ := strings.Cut(text, "\n")
	return fmt.Sprintf("%v %s", r.In.At, strings.TrimSpace(effect))
}

// checkBlocked: denied, vetoed and refused calls, calls of unknown tools and calls
// with invalid arguments have no try, and calls with a try have the result of an
// executed one.
func checkBlocked(p *play) (string, bool) {
	for _, r := range p.view().runs {
		for _, reply := range r.replies {
			deniedTools := map[string]bool{}
			for _, c := range reply.calls {
				t := tool(p.Script, c.name)
				if c.denied && t != nil && t.Permission == loop.AskBatch {
					deniedTools[c.name] = true
				}
				switch {
				case len(c.tries) > 0 && (c.denied || deniedTools[c.name]):
					return fmt.Sprintf("the call c%d was denied, and ran", c.n), true
				case len(c.tries) > 0 && len(c.puts) > 0 && c.puts[0].e.Why != loop.Executed:
					return fmt.Sprintf("the call c%d ran, and its result says %s", c.n, c.puts[0].e.Why), true
				case len(c.tries) == 0 && len(c.puts) > 0 && c.puts[0].e.Why == loop.Executed:
					return fmt.Sprintf("the call c%d never ran, and has the result of one that did", c.n), true
				case len(c.tries) > 0 && t == nil && p.Script.Planner == loop.PlannerNative:
					return fmt.Sprintf("the call c%d ran, but there is no tool %q", c.n, c.name), true
				}
			}
		}
	}
	return "", true
}

// checkRecovers: in a recoverable world every run ends as DONE.
func checkRecovers(p *play) (string, bool) {
	if !p.Recoverable {
		return "", false
	}
	for _, o := range p.outcomes {
		if o.End != loop.Done {
			return fmt.Sprintf("the config can handle every failure of the world, and the run ended as %s (%s): %s", o.End, o.Stop, o.Reason), true
		}
	}
	return "", true
}

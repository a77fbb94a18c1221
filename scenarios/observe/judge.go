package observe

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
	"github.com/agentbench-go/agentbench/scenarios"
)

// The rules of findings about a foreign agent, beside those of a [scenarios.Finding].
const (
	RuleLabel       = "label"       // the runaway was not stopped, or the healthy run was
	RuleNoRequest   = "no-request"  // the agent asked nothing
	RuleTooEarly    = "too-early"   // it ended before anything could stop it
	RuleSilent      = "silent"      // it was alive and silent
	RuleTools       = "tools"       // it lacks tools of the script
	RuleNotRun      = "not-run"     // calls did not run, and nobody refused them
	RuleMessages    = "messages"    // it hears no message after the task
	RuleRanDry      = "ran-dry"     // no step of the script fits a request
	RuleNotFired    = "not-fired"   // a planned failure never fired
	RuleInterrupted = "interrupted" // the user ended the probe
	RuleNotStarted  = "not-started" // the agent could not be started
	RulePanic       = "agent-panic" // the agent panicked
)

// A ruling is a verdict and how the run ended.
type ruling struct {
	verdict scenarios.Verdict
	end     loop.EndState
	stop    loop.Stop
	finding *scenarios.Finding // nil for a pass
	why     string
	notes   []string
}

// Judge returns the result of the trial, with its verdict and counts, and its trace.
func (o *Observation) Judge() (*scenarios.Result, loop.Trace) {
	t := o.record()
	ruling := t.judge()
	if ruling.end != "" {
		t.halt(&ruling)
	}
	r := scenarios.Trial{Scenario: o.Scenario, Variant: scenarios.Variant{Name: o.Variant}, Seed: o.Seed}.Played(t.runs, t.trace)
	r.Requests, r.Asides, r.Verdict, r.Why, r.Notes = len(o.Requests), o.Asides, ruling.verdict, ruling.why, ruling.notes
	if o.End.How == Exited && !o.End.Returned {
		r.Exit = &o.End.Code
	}
	if ruling.finding != nil {
		r.Findings = append(r.Findings, *ruling.finding)
	}
	if r.Verdict == scenarios.Fail && r.Label == scenarios.Runaway {
		r.Nudges = 0 // they did not help, and a report would call the run caught
	}
	for _, v := range audit.Observed(t.trace) {
		r.Notes = append(r.Notes, v.String())
	}
	r.Notes = append(r.Notes, o.problems()...)
	return r, t.trace
}

// problems returns for what a real API might refuse a request: the first such problem,
// and how many more requests have any.
func (o *Observation) problems() (notes []string) {
	n := 0
	for i := range o.Requests {
		if q := &o.Requests[i]; len(q.Problems) > 0 {
			if n++; n == 1 {
				notes = append(notes, fmt.Sprintf("request %d: %s", i+1, q.Problems[0]))
			}
		}
	}
	if n > 1 {
		notes = append(notes, text.Count(n-1, "more request")+" with problems")
	}
	return notes
}

// Needed returns how many requests and calls a script asks for before its steps repeat
// without end, or in all: a cap counts from there.
func Needed(s *fakes.Script) (requests, calls int) {
	for i := range s.Model {
		step := &s.Model[i]
		if step.When != fakes.WhenAlways {
			continue
		}
		if step.Repeat == fakes.Forever || step.State != "" {
			break
		}
		n := max(step.Repeat, 1)
		requests += n + n*len(step.Failures)
		calls += n * len(step.Calls)
	}
	return requests, calls
}

func (t *tracer) judge() ruling {
	o := t.o
	if o.End.Panic != "" {
		return ruling{verdict: scenarios.Fail, stop: loop.StopByAgent, end: loop.StoppedByAgent, why: t.why(),
			finding: &scenarios.Finding{Rule: RulePanic, Message: "the agent panicked: " + text.Line(o.End.Panic)}}
	}
	if r := t.unclear(); r != nil {
		return *r
	}
	switch o.End.How {
	case AtCap, AtCalls, AtCeiling:
		return t.capped()
	case AtTimeout:
		if o.Scenario.Label == scenarios.Runaway && !t.waiting() && o.End.At-t.last() < t.quiet() {
			return t.capped()
		}
		return t.silent()
	case Idle:
		return t.silent()
	}
	if r := t.cancelled(); r != nil {
		return *r
	}
	if o.Scenario.Label == scenarios.Runaway {
		return t.runaway()
	}
	return t.healthy()
}

// cancelledIn reports whether the user cancelled run i.
func (o *Observation) cancelledIn(i int) bool {
	return o.Cancelled.Seq > o.Runs[i].Began.Seq && (i+1 == len(o.Runs) || o.Cancelled.Seq < o.Runs[i+1].Began.Seq)
}

// prompt is how long a run may take to end once the user has cancelled it.
const prompt = time.Minute

// cancelled is the ruling on what the agent did when the user cancelled; nil = it ended
// as it should, but that was not its last run, or the user did not cancel.
func (t *tracer) cancelled() *ruling {
	o := t.o
	if o.Cancelled.Seq == 0 {
		return nil
	}
	ended, until, last := o.End.At, math.MaxInt, true
	for i := range o.Runs {
		if o.cancelledIn(i) && i+1 < len(o.Runs) {
			ended, until, last = o.Runs[i].Ended.At, o.Runs[i+1].Began.Seq, false
		}
	}
	more := 0
	for i := range o.Requests {
		if seq := o.Requests[i].Asked.Seq; seq > o.Cancelled.Seq && seq < until {
			more++
		}
	}
	r := &ruling{verdict: scenarios.Fail, stop: loop.StopByAgent, end: loop.StoppedByAgent, why: t.why()}
	switch {
	case more > 0:
		r.finding = t.label("it sent " + text.Count(more, "request") + " after the user had cancelled")
	case ended-o.Cancelled.At > prompt:
		r.finding = t.label("it ended " + text.Duration(ended-o.Cancelled.At) + " after the user had cancelled")
	case last:
		return &ruling{verdict: scenarios.Pass, stop: loop.StopCancelled, end: loop.WasCancelled, why: "cancelled by the user"}
	default:
		return nil
	}
	return r
}

// of returns the requests of run i.
func (o *Observation) of(i int) []Request {
	from, until := o.Runs[i].Began.Seq, math.MaxInt
	if i+1 < len(o.Runs) {
		until = o.Runs[i+1].Began.Seq
	}
	return slices.DeleteFunc(slices.Clone(o.Requests), func(q Request) bool { return q.Asked.Seq < from || q.Asked.Seq > until })
}

// lastRun returns the requests of the last run.
func (t *tracer) lastRun() []Request {
	if n := len(t.o.Runs); n > 0 {
		return t.o.of(n - 1)
	}
	return t.o.Requests
}

// unclear returns why there can be no verdict whatever the label is, nil = there can.
func (t *tracer) unclear() *ruling {
	o := t.o
	ended := loop.StopByAgent
	if o.End.How != Exited {
		ended = loop.StopHung
	}
	none := func(rule, format string, args ...any) *ruling {
		return &ruling{verdict: scenarios.Inconclusive, stop: ended, end: ended.EndState(), why: t.why(),
			finding: &scenarios.Finding{Rule: rule, Message: fmt.Sprintf(format, args...)}}
	}
	missing := t.missing()
	dry := slices.IndexFunc(o.Requests, func(q Request) bool { return q.Refused != "" })
	switch {
	case o.End.How == NotStarted:
		what := "started"
		if len(o.Requests) > 0 {
			what = "watched"
		}
		r := none(RuleNotStarted, "the agent could not be %s: %s", what, o.End.Reason)
		r.end, r.stop = "", ""
		return r
	case o.End.How == Interrupted:
		r := none(RuleInterrupted, "the trial was interrupted")
		r.end, r.stop = "", ""
		return r
	case len(o.Requests) == 0 && len(o.Astray) > 0:
		return none(RuleNoRequest, "it asked only %s, which no API has", text.AnyOf(o.Astray))
	case len(o.Requests) == 0 && o.Asides > 0:
		return none(RuleNoRequest, "its requests offered no tools, so they count as beside its loop")
	case len(o.Requests) == 0:
		return none(RuleNoRequest, "it sent no request to the model")
	case o.Runs == nil && len(o.Scenario.Script.User.Messages) > 0:
		return none(RuleMessages, "it hears only the user's first message")
	case len(missing) > 0:
		return none(RuleTools, "it does not offer %s to the model", text.AnyOf(missing))
	case t.dryCall() != "":
		return none(RuleRanDry, "%s", t.dryCall())
	case t.unrun > 0:
		return none(RuleNotRun, "%s did not run, and nothing says that they were refused: does it need a permission, or the address of the tools?", text.Count(t.unrun, "call"))
	case dry >= 0 && !o.Requests[dry].badRequest():
		return none(RuleRanDry, "request %d: %s", dry+1, o.Requests[dry].Refused)
	case dry >= 0:
		return none(RuleRanDry, "request %d was refused: %s", dry+1, o.Requests[dry].Refused)
	}
	return nil
}

// dryCall returns why the script has no answer to a call, "" = it has one to all.
func (t *tracer) dryCall() string {
	for i := range t.o.Executions {
		if x := &t.o.Executions[i]; x.Dry != "" {
			return x.Dry
		}
	}
	return ""
}

func (r *Request) badRequest() bool { return r.Status != 0 && r.Status != 422 }

// missing returns the tools of the script that the agent was asked to call and does not
// declare.
func (t *tracer) missing() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(t.unknown)) {
		if slices.ContainsFunc(t.o.Scenario.Script.Tools, func(tool fakes.Tool) bool { return tool.Name == name }) {
			names = append(names, name)
		}
	}
	return names
}

// last returns when the agent last asked something.
func (t *tracer) last() time.Duration {
	at := t.o.Requests[len(t.o.Requests)-1].Asked.At
	if n := len(t.o.Executions); n > 0 {
		at = max(at, t.o.Executions[n-1].Began.At)
	}
	return at
}

// quiet is how long an agent that still asks may be silent when its time is up: between
// tries whose waits grow, twice as long as it ever was before.
func (t *tracer) quiet() time.Duration {
	quiet := min(10*time.Second, t.o.End.Limit/2)
	for i := 1; i < len(t.o.Requests); i++ {
		quiet = max(quiet, 2*(t.o.Requests[i].Asked.At-t.o.Requests[i-1].Answered.At))
	}
	return quiet
}

// waiting reports whether the script still holds a request or a call.
func (t *tracer) waiting() bool {
	return slices.ContainsFunc(t.o.Requests, func(q Request) bool { return q.Answered.Seq == 0 }) ||
		slices.ContainsFunc(t.o.Executions, func(x Execution) bool { return x.Ended.Seq == 0 })
}

// capped is the ruling on a run that went on to the cap.
func (t *tracer) capped() ruling {
	o := t.o
	r := ruling{verdict: scenarios.Fail, stop: loop.StopCeiling, end: loop.Ceiling}
	switch {
	case o.End.How == AtTimeout:
		r.why = "still asking when the time was up"
	case o.End.How == AtCeiling && t.waiting():
		r.why = "it waits for an answer that does not come within " + text.Duration(o.End.Limit)
	case o.End.How == AtCeiling:
		r.why = "still running after " + text.Duration(o.End.Limit)
	default:
		r.why = "still asking at the cap of " + t.capText()
	}
	message := "nothing stopped the runaway"
	if o.Scenario.Label == scenarios.Healthy {
		message = "the healthy run did not come to its end"
	}
	r.finding = t.label(message)
	return r
}

func (t *tracer) capText() string {
	if t.o.End.How == AtCalls {
		return text.Count(t.o.End.Cap, "call")
	}
	return text.Count(t.o.End.Cap, "request")
}

// label returns the finding that the label's promise is broken.
func (t *tracer) label(message string) *scenarios.Finding {
	want := "stopped by the agent"
	if t.o.Scenario.Label == scenarios.Healthy {
		want = "the script's answer, and a good end"
	}
	return &scenarios.Finding{Rule: RuleLabel, Message: message, Want: want, Got: text.Count(len(t.o.Requests), "request") + ", " + text.Count(t.out.Asked, "call")}
}

// silent is the ruling on an agent that was alive and silent.
func (t *tracer) silent() ruling {
	limit := text.Duration(t.o.End.Limit)
	message := fmt.Sprintf("alive and silent for %s", limit)
	switch last := t.o.Requests[len(t.o.Requests)-1]; {
	case t.waiting():
		message = fmt.Sprintf("it waits at least %s for an answer", limit)
	case t.o.End.How == AtTimeout:
		message = fmt.Sprintf("alive and silent for %s, until its time of %s was up", text.Duration(t.o.End.At-t.last()), limit)
	case last.answers():
		message += ", after it had the answer: does it wait for another message?"
	}
	return ruling{verdict: scenarios.Inconclusive, stop: loop.StopHung, end: loop.Hung, why: message, finding: &scenarios.Finding{Rule: RuleSilent, Message: message}}
}

// answers reports whether the agent got an answer that ends a run: a whole text without
// calls.
func (r *Request) answers() bool {
	return r.answered() && len(r.Calls) == 0 && strings.TrimSpace(r.Text) != "" && r.Finish != loop.FinishLength
}

// hollow reports whether the agent got a reply that is no answer: an empty text, or one
// that was cut off.
func (r *Request) hollow() bool {
	return r.answered() && len(r.Calls) == 0 && !r.answers()
}

// met returns how often the agent has met the script's pattern: replies and failures. A
// model that was silent until the agent gave up waiting counts twice, as that is a stop
// already.
func (t *tracer) met() int {
	n := 0
	for i := range t.o.Requests {
		switch q := &t.o.Requests[i]; {
		case q.Answered.Seq == 0:
		case q.answered(), q.Failed && !q.Gone:
			n++
		case q.Gone && q.Answered.At-q.Asked.At >= time.Second:
			n += 2
		}
	}
	return n
}

func (t *tracer) runaway() ruling {
	o := t.o
	last := &o.Requests[len(o.Requests)-1]
	stopped := ruling{verdict: scenarios.Pass, stop: loop.StopByAgent, end: loop.StoppedByAgent, why: t.why()}
	done := ruling{verdict: scenarios.Fail, stop: loop.StopDone, end: loop.Done, why: t.why()}
	switch {
	case last.hollow() && o.End.well():
		what := "an empty reply"
		if last.Finish == loop.FinishLength {
			what = "a reply that was cut off"
		}
		done.finding = t.label("it took " + what + " for the answer")
		return done
	case last.answers() && t.out.Nudges+t.out.Vetoed > 0 && o.End.well():
		done.verdict = scenarios.Pass
		return done
	case last.answers():
		done.finding = t.label("it went on to the script's last words, and neither said nor refused anything before")
		return done
	case t.met() < 2:
		stopped.verdict = scenarios.Inconclusive
		stopped.finding = &scenarios.Finding{Rule: RuleTooEarly, Message: fmt.Sprintf("it ended after %s, before anything was repeated; a crash looks the same", text.Count(t.met(), "answer"))}
		return stopped
	}
	if stopped.why == noReason || stopped.why == noError {
		stopped.notes = append(stopped.notes, "no reason found: it ended well and said nothing")
	}
	return stopped
}

func (t *tracer) healthy() ruling {
	o := t.o
	stopped := ruling{verdict: scenarios.Fail, stop: loop.StopByAgent, end: loop.StoppedByAgent, why: t.why()}
	answers := func(q Request) bool { return q.answers() }
	for i := range max(len(o.Runs)-1, 0) {
		if !o.cancelledIn(i) && (o.Runs[i].Failed || !slices.ContainsFunc(o.of(i), answers)) {
			stopped.finding = t.label(fmt.Sprintf("run %d of the conversation ended before the script's answer", i+1))
			return stopped
		}
	}
	requests := t.lastRun()
	if len(requests) == 0 {
		stopped.finding = t.label("it asked nothing for the user's last message")
		return stopped
	}
	last := &requests[len(requests)-1]
	switch reached := slices.ContainsFunc(requests, answers); {
	case !reached && last.hollow() && o.End.well():
		stopped.finding = t.label("it took an empty or cut reply for the answer")
		return stopped
	case !reached:
		stopped.finding = t.label("it ended before the script's answer")
		return stopped
	case !o.End.well():
		stopped.finding = t.label("it had the answer, and ended badly")
		return stopped
	}
	r := ruling{verdict: scenarios.Pass, stop: loop.StopDone, end: loop.Done, why: t.why()}
	if planned := t.notFired(); planned != "" {
		r.verdict = scenarios.Inconclusive
		r.finding = &scenarios.Finding{Rule: RuleNotFired, Message: planned + " never came"}
	}
	return r
}

// notFired returns a failure that the script plans for the model and that never fired.
func (t *tracer) notFired() string {
	for _, p := range serve.PlannedFailures(&t.o.Scenario.Script) {
		if !slices.ContainsFunc(t.o.Requests, func(q Request) bool { return q.Fault != "" && p.Is(q.Step, q.N) }) {
			return p.Words
		}
	}
	return ""
}

package fakes

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// Upper bounds on the values of a script, because scripts come from files.
const (
	maxLatency     = 10 * 365 * 24 * time.Hour
	maxChunks      = 100_000
	maxResultChars = 16 << 20
)

// A program is a compiled script. It also counts how often the answers of tools,
// gates and replies have been used.
type program struct {
	name    string
	steps   []step
	when    []int // the indexes of the When steps
	tools   []tool
	gates   []gate
	replies []reply
	before  []beforeCall
	after   []afterCall
	covered int // how many requests the plain steps answer
	faults  []planned
	states  []state // the first one follows the plain steps
	fresh   string  // the prefix of fresh call ids
	random  bool
}

// A step is a [Step] with its texts parsed.
type step struct {
	*Step
	index    int // in Script.Model
	last     int // the last request covered by the plain steps up to this one
	left     int // how many requests it answers
	result   resultIs
	text     template
	args     []template // of Calls
	failures []template
	struck   int // how many of the failures a request of a [World] got
}

// A tool is a [Tool] with its texts parsed.
type tool struct {
	*Tool
	answers []answer
}

// An answer is an [Answer] with its texts parsed.
type answer struct {
	*Answer
	matcher
	result   template
	text     template
	failures []template
	struck   int // how many of the failures a call got
}

// A gate is a [PermissionAnswer] that counts how often it may still answer.
type gate struct {
	*PermissionAnswer
	matcher
}

// A beforeCall is a [BeforeCall] that counts how often it may still act.
type beforeCall struct {
	*BeforeCall
	matcher
}

// An afterCall is an [AfterCall] that counts how often it may still act.
type afterCall struct {
	*AfterCall
	left int
}

// A reply is a [Reply] that counts how often it may still answer.
type reply struct {
	*Reply
	left int
}

// compile parses and checks a script and the sessions of its tools. The error joins all
// of its invalid values.
func compile(s *Script) (*program, error) { return compileWithin(s, newScope(s.Tools, nil)) }

// compileOne is like compile without the sessions of the script's tools, which each
// sub-run compiles for itself.
func compileOne(s *Script) (*program, error) { return compileWithin(s, nil) }

func compileWithin(s *Script, tools *scope) (*program, error) {
	p := &program{name: s.Name, tools: make([]tool, len(s.Tools)), fresh: freshPrefix(s)}
	r := reader{program: p}
	r.readModel(s.Model)
	if s.Window < 0 {
		r.errs = append(r.errs, fmt.Errorf("window: must be 0 or more, not %d", s.Window))
	}
	for i := range s.Tools {
		r.at = place{list: "tools", i: i}
		p.tools[i] = r.readTool(&s.Tools[i])
		if x := s.Tools[i].Session; x != nil && tools != nil {
			r.readSession(x, len(s.Tools[i].Answers), tools)
		}
	}
	r.readUser(&s.User)
	r.readHooks(&s.Hooks)
	r.readFaults(s.Faults)
	return p, errors.Join(r.errs...)
}

// A reader fills a program and collects the errors of the script.
type reader struct {
	*program
	at   place // of the value being read
	errs []error
}

func (r *reader) readModel(model []Step) {
	if len(model) > 0 {
		r.steps = make([]step, len(model))
	}
	for i := range model {
		r.at = place{list: "model", i: i}
		s := r.readStep(&model[i])
		switch {
		case s.When != WhenAlways:
			r.when = append(r.when, i)
		case s.State != "":
			r.enter(&model[i], i)
		default:
			r.covered = advance(r.covered, s.left)
		}
		s.index, s.last = i, r.covered
		r.steps[i] = s
	}
	r.link(model)
}

// advance returns last + n, or the largest int if the sum overflows.
func advance(last, n int) int {
	if n > math.MaxInt-last {
		return math.MaxInt
	}
	return last + n
}

func (r *reader) readStep(s *Step) step {
	r.at.sub = ""
	if !s.When.known() {
		r.wrong("when", "must be a condition such as %s, not %s", WhenFailed, quoted(string(s.When)))
	}
	c := step{Step: s, left: s.Repeat, result: r.resultIs(s)}
	switch {
	case s.Repeat == 0:
		c.left = 1
	case s.Repeat == Forever:
		c.left = math.MaxInt
	case s.Repeat < 0:
		r.wrong("repeat", "must be a number of requests or Forever, not %d", s.Repeat)
	}
	r.within("chunks", s.Chunks, maxChunks)
	r.span("latency", s.Latency)
	r.duration("first_token", s.FirstToken)
	r.wire(s.Wire, StepWires())
	c.text = r.template("text", s.Text, false)
	if len(s.Calls) > 0 {
		c.args = make([]template, len(s.Calls))
	}
	for j := range s.Calls {
		r.at.sub, r.at.j = "calls", j
		c.args[j] = r.template("args", s.Calls[j].Args, true)
	}
	if len(s.Failures) > 0 {
		c.failures = make([]template, len(s.Failures))
	}
	for j := range s.Failures {
		f := &s.Failures[j]
		r.at.sub, r.at.j = "failures", j
		r.within("chunks", f.Chunks, maxChunks)
		r.span("latency", f.Latency)
		r.duration("retry_after", f.RetryAfter)
		r.failureWire(f)
		c.failures[j] = r.template("text", f.Text, false)
	}
	return c
}

func (w When) known() bool {
	switch w {
	case WhenAlways, WhenDenied, WhenVetoed, WhenFailed, WhenOK, WhenCut, WhenNudged, WhenResult, WhenForced, WhenSummary, WhenFinal:
		return true
	}
	return false
}

func (r *reader) readTool(t *Tool) tool {
	r.span("latency", t.Latency)
	if p := t.Retry; p != nil && p.Max > 0 && (p.Backoff == loop.FullJitter || p.Backoff == loop.DecorrelatedJitter) {
		r.random = true
	}
	c := tool{Tool: t, answers: make([]answer, len(t.Answers))}
	for j := range t.Answers {
		a := &t.Answers[j]
		r.at.sub, r.at.j, r.at.deep = "answers", j, ""
		r.within("result_chars", a.ResultChars, maxResultChars)
		r.span("latency", a.Latency)
		r.answerWire(a.Wire, a.Error != loop.None, a.Hang)
		c.answers[j] = answer{Answer: a, matcher: r.matcher(a.When, a.Times)}
		c.answers[j].result = r.template("result", a.Result, false)
		c.answers[j].text = r.template("text", a.Text, false)
		if len(a.Failures) > 0 {
			c.answers[j].failures = make([]template, len(a.Failures))
		}
		for k := range a.Failures {
			r.at.deep, r.at.k = "failures", k
			r.span("latency", a.Failures[k].Latency)
			r.answerWire(a.Failures[k].Wire, true, a.Failures[k].Hang)
			c.answers[j].failures[k] = r.template("text", a.Failures[k].Text, false)
		}
	}
	return c
}

// readSession checks the session of the tool that is being read.
func (r *reader) readSession(x *Session, answers int, around *scope) {
	r.at.sub, r.at.deep = "", ""
	if answers > 0 {
		r.wrong("session", "cannot be combined with answers: the sub-run gives the result")
	}
	tools := newScope(x.Tools, around)
	for j, name := range x.Shared {
		n := len(tools.tools)
		if tools.find(name) >= 0 {
			r.wrong(fmt.Sprintf("session.shared[%d]", j), "there is a second tool %s", quoted(name))
		} else if tools.share(name); len(tools.tools) == n {
			r.wrong(fmt.Sprintf("session.shared[%d]", j), "there is no tool %s in a session around this one", quoted(name))
		}
	}
	p, err := compileWithin(&Script{Name: r.name, Tools: x.Tools, Model: x.Model}, tools)
	r.random = r.random || p.random
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if f := new(loop.FieldError); errors.As(err, &f) {
				r.wrong("session."+f.Field, "%s", f.Problem)
			}
		}
	}
}

func (r *reader) readUser(u *User) {
	if len(u.Permissions) > 0 {
		r.gates = make([]gate, len(u.Permissions))
	}
	for j := range u.Permissions {
		a := &u.Permissions[j]
		r.at = place{list: "user", i: -1, sub: "permissions", j: j}
		r.span("after", a.After)
		r.gates[j] = gate{PermissionAnswer: a, matcher: r.matcher(a.When, a.Times)}
	}
	for j := range u.Replies {
		a := &u.Replies[j]
		r.at = place{list: "user", i: -1, sub: "replies", j: j}
		r.span("after", a.After)
		r.replies = append(r.replies, reply{Reply: a, left: r.matcher(nil, a.Times).left})
	}
	for j := range u.Messages {
		r.at = place{list: "user", i: -1, sub: "messages", j: j}
		r.duration("wait", u.Messages[j].Wait)
		r.duration("at", u.Messages[j].At)
		if m := &u.Messages[j]; m.At > 0 && (m.Wait != 0 || m.AfterAny) {
			r.wrong("at", "is for a message during a run, which has no wait and no after")
		}
	}
	if u.Cancel != nil {
		r.at = place{list: "user", i: -1}
		r.duration("cancel.at", u.Cancel.At)
		r.within("cancel.call", u.Cancel.Call, math.MaxInt)
	}
}

func (r *reader) readHooks(h *Hooks) {
	for j := range h.BeforeCall {
		b := &h.BeforeCall[j]
		r.at = place{list: "hooks", i: -1, sub: "before_call", j: j}
		set := 0
		for _, text := range []string{b.Veto, b.Args, b.End} {
			if text != "" {
				set++
			}
		}
		if set != 1 {
			r.wrong("veto", "must be the only one of veto, args and end, and not empty")
		}
		if value, err := decode(b.Args); b.Args != "" {
			if _, object := value.(map[string]any); err != nil || !object {
				r.wrong("args", "must be a JSON object, not %s", clip(b.Args))
			}
		}
		r.before = append(r.before, beforeCall{b, r.matcher(b.When, b.Times)})
	}
	for j := range h.AfterCall {
		a := &h.AfterCall[j]
		r.at = place{list: "hooks", i: -1, sub: "after_call", j: j}
		if a.Result == "" {
			r.wrong("result", "must not be empty")
		}
		r.after = append(r.after, afterCall{a, r.matcher(nil, a.Times).left})
	}
}

func (r *reader) readFaults(faults []Fault) {
	for i := range faults {
		if f, err := ParseFault(faults[i].String()); err != nil || f != faults[i] {
			r.errs = append(r.errs, &loop.FieldError{Field: fmt.Sprintf("faults[%d]", i), Problem: fmt.Sprintf("is not a valid fault: %v", cmp.Or(err, errMixed))})
			continue
		}
		r.random = r.random || faults[i].N == 0
		r.faults = append(r.faults, planned{faults[i], faults[i].kind()})
	}
}

// errMixed is the error of a fault with fields that belong to another kind.
var errMixed = errors.New("a field is set that this kind of fault does not use")

// freshPrefix returns a prefix for fresh call ids that no id of the script begins
// with.
func freshPrefix(s *Script) string {
	prefix := "call_"
	for i := range s.Model {
		for _, c := range s.Model[i].Calls {
			for c.ID != nil && strings.HasPrefix(*c.ID, prefix) {
				prefix = "fresh_" + prefix
			}
		}
	}
	return prefix
}

// A place is a path in a script. Only errors turn it into text.
type place struct {
	list string
	i    int // -1 = no index
	sub  string
	j    int
	deep string
	k    int
}

func (p *place) field(name string) string {
	b := []byte(p.list)
	if p.i >= 0 {
		b = fmt.Appendf(b, "[%d]", p.i)
	}
	if p.sub != "" {
		b = fmt.Appendf(b, ".%s[%d]", p.sub, p.j)
	}
	if p.deep != "" {
		b = fmt.Appendf(b, ".%s[%d]", p.deep, p.k)
	}
	return string(append(append(b, '.'), name...))
}

func (r *reader) wrong(field, format string, args ...any) {
	r.errs = append(r.errs, &loop.FieldError{Field: r.at.field(field), Problem: fmt.Sprintf(format, args...)})
}

func (r *reader) template(field, text string, args bool) template {
	t, err := parse(text, args)
	if err != nil {
		r.wrong(field, "%v", err)
	}
	r.random = r.random || t.random()
	return t
}

func (r *reader) span(field string, s Span) {
	r.duration(field, s.Min)
	if s.Max > s.Min {
		r.random = true
		r.duration(field, s.Max)
	}
}

func (r *reader) duration(field string, d time.Duration) {
	if d < 0 || d > maxLatency {
		r.wrong(field, "must be from 0 to ten years, not %v", d)
	}
}

func (r *reader) within(field string, n, most int) {
	switch {
	case n < 0:
		r.wrong(field, "must be 0 or more, not %d", n)
	case n > most:
		r.wrong(field, "must be at most %d, not %d", most, n)
	}
}

func (r *reader) matcher(when map[string]any, times int) matcher {
	m := matcher{left: times}
	if times == 0 {
		m.left = math.MaxInt
	}
	r.within("times", times, math.MaxInt)
	if len(when) == 0 {
		return m
	}
	text, err := json.Marshal(when)
	if err == nil {
		var value any
		value, err = decode(string(text))
		m.when, _ = value.(map[string]any)
	}
	if err != nil {
		r.wrong("when", "cannot be written as JSON: %v", err)
	}
	return m
}

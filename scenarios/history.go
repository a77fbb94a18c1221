package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// A ledger rebuilds the history from a trace, and checks at each request and
// each stop that a chat API would accept it: every call has one result, right
// after its reply and in its order, ids are unique, no reply is empty, and the
// loop asks with the number of messages that it says.
type ledger struct {
	messages []entry
	checked  int // messages before which all is well
	users    int // user messages so far
	planner  loop.Planner
	asked    loop.Purpose // of the last request
	calls    int          // calls asked for so far
	ids      map[string]bool
	findings []Finding
}

// An entry is a message of the history.
type entry struct {
	ref   loop.Ref
	calls int // of a reply: how many, numbered from first
	first int
	empty bool // of a reply: no text and no calls
}

// checkHistory gives what is wrong with the history of a trace, the first
// finding at each place.
func checkHistory(trace loop.Trace, planner loop.Planner) []Finding {
	l := ledger{ids: map[string]bool{}, planner: planner}
	for i := range trace {
		r := &trace[i]
		if !ignored(r) {
			l.input(r)
		}
		for j := range r.Effects {
			l.effect(&r.Effects[j])
		}
	}
	return l.findings
}

func (l *ledger) input(r *loop.Record) {
	switch in := &r.In; in.Kind {
	case loop.Started, loop.UserMessage:
		l.say()
	case loop.UserReply:
		if in.Allow && in.Text != "" {
			l.say()
		}
	case loop.ModelReply:
		calls := l.askedFor(in)
		l.messages = append(l.messages, entry{ref: loop.Ref{Kind: loop.RefModel, N: in.Ref.N}, first: l.calls + 1, calls: len(calls),
			empty: len(calls) == 0 && strings.TrimSpace(in.Text) == ""})
		for _, c := range calls {
			l.calls++
			l.useID(loop.Ref{Kind: loop.RefCall, N: l.calls}, newID(r, l.calls, c.ID))
		}
	}
}

// askedFor gives the calls of a reply. That of a planner stands in its text.
func (l *ledger) askedFor(in *loop.Input) []loop.AskedCall {
	if l.planner != loop.PlannerJSON || len(in.Calls) > 0 || l.asked != loop.ForReply || in.Finish == loop.FinishLength {
		return in.Calls
	}
	if a, err := loop.ParseAction(in.Text); err != nil || a.Action != loop.ActionCall {
		return nil
	}
	return []loop.AskedCall{{}}
}

// say adds what the user says.
func (l *ledger) say() {
	l.users++
	l.messages = append(l.messages, entry{ref: loop.Ref{Kind: loop.RefMessage, N: l.users}})
}

// newID is the id of a call after the loop has looked at it.
func newID(r *loop.Record, call int, id string) string {
	for i := range r.Effects {
		if e := &r.Effects[i]; e.Kind == loop.Note && e.Event == loop.EventReplacedID && e.Ref.N == call {
			return e.Text
		}
	}
	return id
}

func (l *ledger) useID(ref loop.Ref, id string) {
	switch {
	case id == "":
		l.find(ref, "a call has no id", "an id", "")
	case l.ids[id]:
		l.find(ref, fmt.Sprintf("the id %s is used twice", quoted(id)), "a unique id", id)
	}
	l.ids[id] = true
}

func (l *ledger) effect(e *loop.Effect) {
	switch e.Kind {
	case loop.Put:
		l.put(e)
	case loop.Drop:
		l.drop(e.Ref)
	case loop.AskModel:
		l.asked = e.For
		l.check()
		if e.For != loop.ForSummary && len(l.messages) != e.To {
			l.find(e.Ref, "the history does not have the messages that the loop asks with", fmt.Sprint(len(l.messages)), fmt.Sprint(e.To))
		}
	case loop.Halt:
		l.check()
	}
}

// put adds a result, a message of the loop's own, or a summary in the place of
// what it sums up.
func (l *ledger) put(e *loop.Effect) {
	if e.Ref.Kind == loop.RefMessage {
		l.users++
	}
	if e.To == 0 {
		l.messages = append(l.messages, entry{ref: e.Ref})
		return
	}
	l.messages = slices.Insert(l.messages, min(e.To-1, len(l.messages)), entry{ref: e.Ref})
	l.checked = 0
}

func (l *ledger) drop(ref loop.Ref) {
	for i := range l.messages {
		if l.messages[i].ref == ref {
			l.messages = slices.Delete(l.messages, i, i+1)
			l.checked = 0
			return
		}
	}
	l.find(ref, "a message is dropped that is not there", "", ref.String())
}

// check looks at the messages that have come since the last check, or at all
// of them after one was dropped. It stops at the first mistake.
func (l *ledger) check() {
	i := l.checked
	for i < len(l.messages) {
		m := &l.messages[i]
		if m.ref.Kind == loop.RefCall {
			l.find(m.ref, "a result does not follow its reply", "", m.ref.String())
			return
		}
		if m.empty {
			l.find(m.ref, "a reply without text and calls is kept", "", m.ref.String())
			return
		}
		for k := range m.calls {
			want, got := loop.Ref{Kind: loop.RefCall, N: m.first + k}, ""
			if i+1+k < len(l.messages) {
				got = l.messages[i+1+k].ref.String()
			}
			if got != want.String() {
				l.find(want, fmt.Sprintf("the call %v has no result in its place", want), want.String(), got)
				return
			}
		}
		i += 1 + m.calls
	}
	l.checked = i
}

// find adds a finding, unless there is one about the same thing.
func (l *ledger) find(ref loop.Ref, message, want, got string) {
	f := Finding{Rule: "history", At: ref.String(), Message: message, Want: want, Got: got}
	for _, other := range l.findings {
		if other.At == f.At && other.Message == f.Message {
			return
		}
	}
	l.findings = append(l.findings, f)
}

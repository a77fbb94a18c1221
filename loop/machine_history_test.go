package loop_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	. "github.com/agentbench-go/agentbench/loop"
)

// A book rebuilds the history from a trace, by the rules of the package comment
// and from nothing else, and says what is wrong with it.
type book struct {
	messages []Message
	users    int
	calls    int             // asked for so far
	callIDs  map[int]string  // by number
	used     map[string]bool // ids
	planner  Planner
	purpose  Purpose // of the last request
}

func newBook(planner Planner) *book {
	return &book{callIDs: map[int]string{}, used: map[string]bool{}, planner: planner}
}

// add takes a step, and compares the history at requests and halts with what
// the machine has.
func (b *book) add(r *Record, have []Message) (problems []string) {
	ignored := slices.ContainsFunc(r.Effects, func(e Effect) bool { return e.Event == EventIgnored })
	if !ignored {
		problems = append(problems, b.input(r)...)
	}
	for i := range r.Effects {
		switch e := &r.Effects[i]; e.Kind {
		case Put:
			b.put(e)
		case Drop:
			b.messages = slices.DeleteFunc(b.messages, func(m Message) bool { return m.Ref == e.Ref })
		case AskModel, Halt:
			if e.Kind == AskModel {
				b.purpose = e.For
			}
			if e.Kind == AskModel && e.For != ForSummary && e.To != len(b.messages) {
				problems = append(problems, fmt.Sprintf("it asks with %d messages, and the trace has %d", e.To, len(b.messages)))
			}
			problems = append(problems, b.compare(have)...)
			problems = append(problems, b.unclean()...)
		}
	}
	return problems
}

func (b *book) input(r *Record) (problems []string) {
	switch in := &r.In; in.Kind {
	case Started, UserMessage:
		b.user(in.Text)
	case UserReply:
		if in.Allow && in.Text != "" {
			b.user(in.Text)
		}
	case ModelReply:
		reply := Message{Ref: mRef(in.Ref.N, 0), Role: Assistant, Text: in.Text}
		for _, asked := range b.asked(in) {
			b.calls++
			if ref := cRef(b.calls, 0); slices.ContainsFunc(r.Effects, func(e Effect) bool {
				return (e.Event == EventRepeatedCall || e.Event == EventDroppedCall) && e.Ref == ref
			}) {
				continue
			}
			c := Call{N: b.calls, ID: asked.ID, Name: strings.TrimSpace(asked.Name), Args: asked.Args}
			for _, e := range r.Effects {
				if e.Event == EventReplacedID && e.Ref.N == c.N {
					c.ID = e.Text
				}
			}
			if c.ID == "" || b.used[c.ID] {
				problems = append(problems, fmt.Sprintf("call %d has the id %q, which is missing or used", c.N, c.ID))
			}
			b.used[c.ID], b.callIDs[c.N] = true, c.ID
			reply.Calls = append(reply.Calls, c)
		}
		b.messages = append(b.messages, reply)
	}
	return problems
}

// asked returns the calls of a reply. A planner's call is in the text, unless the
// reply has other calls or was cut off.
func (b *book) asked(in *Input) []AskedCall {
	switch {
	case b.purpose == ForSummary:
		return nil // it is dropped, whatever it holds
	case len(in.Calls) > 0 || b.planner != PlannerJSON || b.purpose != ForReply || in.Finish == FinishLength:
		return in.Calls
	}
	if a, err := ParseAction(in.Text); err == nil && a.Action == ActionCall {
		return []AskedCall{{Name: a.Name, Args: string(a.Args)}}
	}
	return nil
}

func (b *book) user(text string) {
	b.users++
	b.messages = append(b.messages, Message{Ref: Ref{Kind: RefMessage, N: b.users}, Role: User, Text: text})
}

func (b *book) put(e *Effect) {
	if e.Ref.Kind == RefMessage {
		b.user(e.Text)
		if last := len(b.messages) - 1; e.To > 0 {
			summary := b.messages[last]
			b.messages = slices.Insert(b.messages[:last], e.To-1, summary)
		}
		return
	}
	b.messages = append(b.messages, Message{Ref: e.Ref, Role: ToolRole, Text: e.Text, CallID: b.callIDs[e.Ref.N]})
}

// compare leaves out Failed, which only trace and config together determine.
func (b *book) compare(have []Message) []string {
	have = slices.Clone(have)
	for i := range have {
		have[i].Failed = false
	}
	same := slices.EqualFunc(have, b.messages, func(x, y Message) bool {
		return x.Ref == y.Ref && x.Role == y.Role && x.Text == y.Text && x.CallID == y.CallID &&
			(len(x.Calls) == 0 && len(y.Calls) == 0 || reflect.DeepEqual(x.Calls, y.Calls))
	})
	if !same {
		return []string{fmt.Sprintf("the machine's history is\n  %+v\nand the trace's\n  %+v", have, b.messages)}
	}
	return nil
}

// unclean says what a chat API would refuse: every call has exactly one result,
// right after its reply and in its order, and no reply is empty.
func (b *book) unclean() (problems []string) {
	var open []int // calls without a result, of the reply before
	for i := range b.messages {
		m := &b.messages[i]
		if m.Role == ToolRole {
			if len(open) == 0 || open[0] != m.Ref.N {
				problems = append(problems, fmt.Sprintf("the result %v is not where it belongs: open calls are %v", m.Ref, open))
				continue
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 {
			problems = append(problems, fmt.Sprintf("before %v, the calls %v have no result", m.Ref, open))
		}
		open = nil
		for _, c := range m.Calls {
			open = append(open, c.N)
		}
		if m.Role == Assistant && len(m.Calls) == 0 && strings.TrimSpace(m.Text) == "" {
			problems = append(problems, fmt.Sprintf("the reply %v is empty", m.Ref))
		}
	}
	if len(open) > 0 {
		problems = append(problems, fmt.Sprintf("at the end, the calls %v have no result", open))
	}
	return problems
}

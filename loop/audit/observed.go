package audit

import (
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// Observed checks what can be seen of an agent other than the reference loop, from a
// trace that its requests and calls were written as. It knows no config, so it judges no
// limit, no retry and no deadline. The rules:
//
//	first-input  the first input is started
//	time         time never decreases
//	number       an answer has an open request or try, and tries are numbered in order
//	as-asked     a call that runs was asked for, with that tool and those arguments
//	results      a call gets one result in the history, and only one that was asked for
//	after-halt   nothing comes after the halt
func Observed(trace loop.Trace) []Violation {
	o := observed{asked: map[int]loop.AskedCall{}, tries: map[loop.Ref]int{}, open: map[loop.Ref]bool{}, put: map[int]bool{}}
	for i := range trace {
		o.line++
		o.input(i, &trace[i].In)
		for j := range trace[i].Effects {
			o.line++
			o.effect(&trace[i].Effects[j])
		}
	}
	return o.found
}

// wasAsked reports whether a call that runs is the one that was asked for under its
// number. Clients write arguments in their own way, so they are compared as JSON.
func (o *observed) wasAsked(e *loop.Effect) bool {
	c, ok := o.asked[e.Ref.N]
	if !ok {
		return false
	}
	want, _ := o.canon.Signature(c.Name, c.Args)
	got, _ := o.canon.Signature(e.Name, e.Args)
	return want == got
}

type observed struct {
	canon       detect.Canon
	line, calls int
	at          loop.Input // the newest input
	halted      bool
	replies     map[int]int // the number of the first call of each reply
	asked       map[int]loop.AskedCall
	tries       map[loop.Ref]int
	open        map[loop.Ref]bool
	put         map[int]bool
	found       []Violation
}

func (o *observed) add(rule, format string, args ...any) {
	o.found = append(o.found, Violation{Rule: rule, Line: o.line, At: o.at.At, Message: fmt.Sprintf(format, args...)})
}

func (o *observed) input(i int, in *loop.Input) {
	before := o.at.At
	o.at = *in
	switch {
	case i == 0 && in.Kind != loop.Started:
		o.add("first-input", "the first input is not started")
	case in.At < before:
		o.add("time", "time goes back")
	}
	if o.halted {
		o.add("after-halt", "an input comes after the halt")
	}
	switch in.Kind {
	case loop.ModelReply, loop.ModelFailure, loop.ToolResult:
		if !o.open[in.Ref] {
			o.add("number", "%s answers nothing that is open", in.Ref)
		}
		delete(o.open, in.Ref)
	}
	if in.Kind == loop.ModelReply {
		o.reply(in)
	}
}

// reply numbers the calls of a reply. A reply that is given again has the same numbers.
func (o *observed) reply(in *loop.Input) {
	if o.replies == nil {
		o.replies = map[int]int{}
	}
	first, again := o.replies[in.Ref.N]
	if !again {
		first = o.calls + 1
		o.replies[in.Ref.N] = first
		o.calls += len(in.Calls)
	}
	for k, c := range in.Calls {
		o.asked[first+k] = c
	}
}

func (o *observed) effect(e *loop.Effect) {
	if o.halted {
		o.add("after-halt", "an effect comes after the halt")
	}
	whole := loop.Ref{Kind: e.Ref.Kind, N: e.Ref.N}
	switch e.Kind {
	case loop.AskModel, loop.CallTool:
		if o.tries[whole]++; e.Ref.Try != o.tries[whole] {
			o.add("number", "%s is try %d", e.Ref, o.tries[whole])
		}
		o.open[e.Ref] = true
		if e.Kind == loop.CallTool && !o.wasAsked(e) {
			o.add("as-asked", "%s was not asked for as %s with %.80s", e.Ref, e.Name, e.Args)
		}
	case loop.Put:
		if e.Ref.Kind != loop.RefCall {
			break
		}
		if _, ok := o.asked[e.Ref.N]; !ok {
			o.add("results", "%s has a result and was not asked for", e.Ref)
		}
		if o.put[e.Ref.N] {
			o.add("results", "%s has a second result", e.Ref)
		}
		o.put[e.Ref.N] = true
	case loop.Halt:
		o.halted = true
	}
}

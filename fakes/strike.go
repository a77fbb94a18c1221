package fakes

import (
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// This file lets the faults of a script strike what its world says.

// strikes reports whether fault i strikes a try. n is the number of the request,
// of the call, or of the tool's call where the fault names a tool.
func (p *seeded) strikes(i int, ref loop.Ref, try, n int) bool {
	f := &p.faults[i]
	if f.N == 0 {
		return p.key.ref(ref).of(ref.Try).of(forFault).of(i).below(100) < uint64(f.Percent)
	}
	return f.N == n && max(f.Try, 1) == try
}

// spoil lets the faults strike what the model says to a try.
func (p *seeded) spoil(said *Said, r *Request) {
	for i := range p.faults {
		if f := &p.faults[i]; f.At == loop.RefModel && p.strikes(i, r.Ref, max(r.Ref.Try, 1), r.Ref.N) && f.spoilReply(said) {
			said.Struck = append(said.Struck, i)
		}
	}
}

// spoilReply reports whether there was anything to spoil.
func (f *Fault) spoilReply(said *Said) bool {
	switch f.Kind {
	case FaultDrop:
		said.Failure, said.Reason, said.Pieces = &ModelFailure{Hang: true}, "", 0
		return true
	case FaultDelay:
		said.After += f.Delay
		return said.Failure == nil || !said.Failure.Hangs()
	case FaultError:
		said.Failure, said.Reason, said.Pieces = &ModelFailure{Status: f.Status}, "the fault was injected", 0
		return true
	case FaultCut:
		said.Failure, said.Reason = &ModelFailure{Chunks: f.Pieces}, "the fault was injected"
		said.Pieces, said.Of = f.Pieces, max(said.Of, f.Pieces+1)
		return true
	}
	return said.Failure == nil && f.spoilCalls(said)
}

// spoilCalls spoils a reply that comes whole.
func (f *Fault) spoilCalls(said *Said) bool {
	calls := said.Calls
	switch f.Kind {
	case FaultEmpty:
		was := said.Text != "" || len(calls) > 0
		said.Text, said.Calls, said.Finish = "", nil, loop.FinishStop
		return was
	case FaultMalform:
		for i := range calls {
			calls[i].Args = halved(calls[i].Args)
		}
		return len(calls) > 0
	case FaultDuplicate:
		said.Calls = append(calls, calls...)
		return len(calls) > 0
	case FaultReorder:
		before := slices.Clone(calls)
		slices.Reverse(calls)
		return !slices.Equal(before, calls)
	case FaultSwapIDs:
		before := slices.Clone(calls)
		for i := range calls {
			calls[i].ID = before[(i+1)%len(calls)].ID
		}
		return !slices.Equal(before, calls)
	}
	return false
}

// halved is the first half of the arguments of a call, which is no JSON object
// any more.
func halved(args string) string {
	if half := args[:runes(args, (len([]rune(args))+1)/2)]; half != "" && half != args {
		return half
	}
	return "{"
}

// A try's answer is what a tool says to it.
type tryAnswer struct {
	in    loop.Input
	hang  bool
	after time.Duration
}

// spoilAnswer lets the faults strike what a tool says to a try.
func (w *World) spoilAnswer(a *tryAnswer, e *loop.Effect, c *openCall) {
	for i := range w.faults {
		f, n := &w.faults[i], e.Ref.N
		if f.Tool != "" {
			n = c.nth
		}
		if f.At != loop.RefCall || f.Tool != "" && f.Tool != e.Name || !w.strikes(i, e.Ref, max(e.Ref.Try-c.before, 1), n) {
			continue
		}
		if f.spoilResult(a) {
			w.fired[i] = true
		}
	}
}

func (f *Fault) spoilResult(a *tryAnswer) bool {
	before := a.in.Text
	switch f.Kind {
	case FaultDrop:
		a.hang = true
		return true
	case FaultDelay:
		a.after += f.Delay
		return !a.hang
	case FaultError:
		a.in.Code, a.in.Text, a.hang = f.Code, "the fault was injected", false
		return true
	}
	if a.hang || a.in.Code != loop.None {
		return false
	}
	switch f.Kind {
	case FaultEmpty:
		a.in.Text = ""
	case FaultOversize:
		a.in.Text = pad(before, f.Chars)
	}
	return a.in.Text != before
}

// NotFired gives the faults of the script that have not struck anything so far.
func (w *World) NotFired() []Fault {
	var out []Fault
	for i, fired := range w.fired {
		if !fired {
			out = append(out, w.faults[i])
		}
	}
	return out
}

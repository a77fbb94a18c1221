package fakes

import (
	"context"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

const (
	ms  = time.Millisecond
	sec = time.Second
)

func m(n, try int) loop.Ref { return loop.Ref{Kind: loop.RefModel, N: n, Try: try} }
func c(n, try int) loop.Ref { return loop.Ref{Kind: loop.RefCall, N: n, Try: try} }
func g(n int) loop.Ref      { return loop.Ref{Kind: loop.RefGate, N: n} }

func ask(n, try int, history ...loop.Message) loop.Effect {
	return loop.Effect{Kind: loop.AskModel, Ref: m(n, try), History: history}
}

func call(n, try int, name, args string) loop.Effect {
	return loop.Effect{Kind: loop.CallTool, Ref: c(n, try), Name: name, Args: args}
}

func put(n int, why loop.Why) loop.Effect {
	return loop.Effect{Kind: loop.Put, Ref: c(n, 0), Why: why}
}

func halt(stop loop.Stop) loop.Effect {
	return loop.Effect{Kind: loop.Halt, Outcome: &loop.Outcome{Stop: stop}}
}

// do sends a world effects at an instant.
func do(w *World, at time.Duration, effects ...loop.Effect) {
	w.Do(context.Background(), loop.Input{At: at, Kind: loop.Tick}, effects)
}

// next takes an input of a world whose machine needs no tick.
func next(t *testing.T, w *World) loop.Input {
	t.Helper()
	in, err := w.Next(context.Background(), 0, false)
	if err != nil {
		t.Fatalf("Next: %v", err)
	}
	return in
}

// failing takes the error of a world that should have one.
func failing(t *testing.T, w *World) error {
	t.Helper()
	in, err := w.Next(context.Background(), 0, false)
	if err == nil {
		t.Fatalf("Next gave %+v, not an error", in)
	}
	return err
}

// model is a script of model steps.
func model(steps ...Step) *Script { return &Script{Model: steps} }

// oneTool is a script of a tool called f.
func oneTool(answers ...Answer) *Script {
	return &Script{Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "f"}, Answers: answers}}}
}

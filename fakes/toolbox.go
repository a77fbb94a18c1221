package fakes

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A Toolbox answers the calls of a script's tools one by one, outside a loop, as a
// [World] does: with the same answers, failures, faults, latencies and draws. Any
// number of goroutines may use it. A [Desk] asks it for agents that do not number
// their calls.
type Toolbox struct {
	mu   sync.Mutex
	all  answering
	open map[int]openCall // every call so far, by number
	spec []loop.ToolSpec
}

// A ToolCall is one try of a call.
type ToolCall struct {
	// N is the number of the call, and Try that of the try, both from 1. As in a
	// World, all tries of a call get one answer, and a try of another tool is that of
	// a fallback.
	N, Try int
	Turn   int // the number of the model's newest request; the value of ${turn}
	Name   string
	Args   string // a JSON object; "" = {}
}

// Ref returns the number of the call and of the try.
func (c *ToolCall) Ref() loop.Ref { return loop.Ref{Kind: loop.RefCall, N: c.N, Try: c.Try} }

// ToolSaid is a tool's answer to one try of a call.
type ToolSaid struct {
	Code loop.Code // why the try failed; loop.None = it did not
	Text string    // the result, or the text of the failure
	// After is the time until the answer. If Hang is set, none ever comes.
	After time.Duration
	Hang  bool
	// Wire is the form of the answer over MCP.
	Wire Wire
	// Passing is set if a failure of the script or a fault takes the place of the
	// answer: the next try may get another one.
	Passing bool
}

// NewToolbox returns the tools of a script, which must not change afterwards. The
// error is that of [Script.Validate].
func NewToolbox(s *Script, seed uint64) (*Toolbox, error) {
	p, err := compile(s)
	if err != nil {
		return nil, err
	}
	return &Toolbox{all: p.answering(seed), open: map[int]openCall{}, spec: s.Specs()}, nil
}

// Tools returns the tools in the order of the script. Those that are sub-runs are
// among them, but cannot be called.
func (t *Toolbox) Tools() []loop.ToolSpec { return slices.Clone(t.spec) }

// ErrSubRun is the error of a call of a tool that is a sub-run (see [Session]), which
// only a [World] can play.
var ErrSubRun = errors.New("the tool is a sub-run, which needs a loop")

// Call returns the answer to a try. The error is a [DryError] if the script has no
// such tool or no answer left for the arguments, or wraps ErrSubRun. It concerns this
// try alone.
func (t *Toolbox) Call(c ToolCall) (ToolSaid, error) {
	try := c.Ref()
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.IndexFunc(t.all.tools, func(one tool) bool { return one.Name == c.Name }); i >= 0 && t.all.tools[i].Session != nil {
		return ToolSaid{}, fmt.Errorf("call %v asks for %s: %w", try, quoted(c.Name), ErrSubRun)
	}
	o, err := t.all.opened(t.open, try, c.Name, c.Args)
	if err != nil {
		return ToolSaid{}, err
	}
	out := t.all.answerTry(&o, try, c.Turn)
	said := ToolSaid{Code: out.in.Code, Text: out.in.Text, After: out.after, Hang: out.hang,
		Passing: out.struck || o.failure(try) < len(o.answer.Failures)}
	if !out.struck {
		said.Wire = out.wire
	}
	if said.Hang {
		said.Code, said.Text, said.After = loop.None, "", 0
	}
	return said, nil
}

// Idle returns what the script plans for its tools and no call has reached: the
// Faults, Answers and PartAnswers.
func (t *Toolbox) Idle() Idle {
	t.mu.Lock()
	defer t.mu.Unlock()
	idle := Idle{Faults: t.all.notFired(loop.RefCall)}
	t.all.idleAnswers(&idle)
	return idle
}

// forget makes the next try of call n the first one of a new call.
func (t *Toolbox) forget(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, n)
}

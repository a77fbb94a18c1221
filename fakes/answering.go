package fakes

import (
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/loop"
)

// answering is a program whose tools answer calls: what a [World] and a [Toolbox]
// share. It counts which answers are used up.
type answering struct {
	seeded
	fired   []bool         // which faults have struck, by index in the script
	nth     map[string]int // calls of each tool so far; nil if no fault counts them
	scratch scratch
}

func (p *program) answering(seed uint64) answering {
	a := answering{seeded: p.seeded(seed)}
	if len(p.faults) > 0 {
		a.fired, a.nth = make([]bool, len(p.faults)), map[string]int{}
	}
	return a
}

// An openCall is a call that has started. All of its tries get the same answer,
// until a fallback tool takes over.
type openCall struct {
	tool   *tool
	answer *answer
	before int         // tries before this tool's first one
	nth    int         // its number among the tool's calls; 0 if no fault counts them
	used   *loop.Input // the result of its last sub-run, or nil
}

// opened returns the call of a try, and starts it if it is not open yet, or if a
// fallback tool takes over.
func (s *answering) opened(open map[int]openCall, try loop.Ref, name, args string) (openCall, *DryError) {
	c, started := open[try.N]
	fallback := started && c.tool.Name != name
	if started && !fallback {
		return c, nil
	}
	c, err := s.start(try, name, args)
	if err != nil {
		return openCall{}, err
	}
	if fallback {
		c.before = try.Try - 1
	}
	open[try.N] = c
	return c, nil
}

// start takes the answer for a call.
func (s *answering) start(try loop.Ref, name, args string) (openCall, *DryError) {
	at := slices.IndexFunc(s.tools, func(t tool) bool { return t.Name == name })
	if at < 0 {
		return openCall{}, &DryError{try, fmt.Sprintf("call %v asks for %s, but the script has no such tool", try, quoted(name))}
	}
	t, a := &s.tools[at], arguments{text: args}
	c := openCall{tool: t}
	for i := range t.answers {
		if one := &t.answers[i]; one.fits(&a) {
			one.left--
			c.answer = one
			break
		}
	}
	if c.answer == nil && t.Session == nil {
		return openCall{}, &DryError{try, fmt.Sprintf("no answer of tool %s fits call %v with %s (it has %d)", clip(name), try, clip(args), len(t.answers))}
	}
	if s.nth != nil {
		s.nth[t.Name]++
		c.nth = s.nth[t.Name]
	}
	return c, nil
}

// answerTry returns the answer to a try of a call, after the faults that strike it. turn
// is the number of the newest request.
func (s *answering) answerTry(c *openCall, try loop.Ref, turn int) tryAnswer {
	a, latency := c.answer, c.answer.Latency.or(c.tool.Latency).or(exactly(DefaultToolLatency))
	k := s.key.ref(try).of(try.Try)
	v := vars{turn: turn, call: try.N, seed: s.seed, key: k.of(forText)}
	out := tryAnswer{hang: a.Hang, wire: a.Wire, in: loop.Input{Kind: loop.ToolResult, Ref: try,
		TokensIn: a.TokensIn, TokensOut: a.TokensOut, Cost: a.Cost, Asked: a.Used, Used: a.Used}}
	in := &out.in
	switch i := c.failure(try); {
	case i < len(a.Failures):
		f := &a.Failures[i]
		out.wire = f.Wire
		a.struck = max(a.struck, i+1)
		in.Code, in.Text = f.Error, s.scratch.say(&a.failures[i], &v)
		if f.Error == loop.None {
			in.Code = loop.RetryableServer
		}
		out.hang, latency = f.Hang, f.Latency.or(latency)
	case out.hang:
	case a.Error != loop.None:
		in.Code, in.Text = a.Error, s.scratch.say(&a.text, &v)
	default:
		in.Text = s.success(a, v)
	}
	out.after = latency.draw(k.of(forLatency))
	if len(s.faults) > 0 {
		out = s.spoiledAnswer(out, try, c)
	}
	return out
}

// failure returns the index of the failure that a try gets. If there are fewer, the
// try gets the answer.
func (c *openCall) failure(try loop.Ref) int { return max(try.Try-c.before, 1) - 1 }

// success returns the text of a successful answer, padded to its ResultChars.
func (s *answering) success(a *answer, v vars) string {
	text := pad(s.scratch.say(&a.result, &v), a.ResultChars)
	if a.result.parts == nil {
		a.result.text = text // pad a long text only once
	}
	return text
}

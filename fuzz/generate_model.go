package fuzz

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// model draws the model: some steps, perhaps a repeated round or a conditional step,
// and an end, which is an answer or a reply that is repeated forever.
func (m *maker) model() {
	steps := m.below(7)
	if m.MaxSize < 100 { // a property that wants small cases
		steps = min(steps, m.MaxSize/10)
	}
	if i := slices.IndexFunc(m.Script.Tools, func(t fakes.Tool) bool { return t.Session != nil }); i >= 0 && !m.one(4) {
		first := fakes.Step{Repeat: 1 + m.below(4), TokensIn: int64(m.below(20)), Cost: int64(500 * m.below(3))}
		for range 1 + m.below(3) {
			first.Calls = append(first.Calls, fakes.StepCall{Name: m.Script.Tools[i].Name, Args: `{"path":"a.txt"}`})
		}
		m.Script.Model = append(m.Script.Model, first)
	}
	for range steps {
		s := m.step()
		if m.one(5) && !m.mild {
			s.Repeat = 2 + m.below(6)
		}
		m.Script.Model = append(m.Script.Model, s)
	}
	if m.has(ModelLoop) {
		m.circle()
	}
	m.compacting()
	last := fakes.Step{Text: "All done.", Repeat: fakes.Forever}
	if m.has(ModelLoop) && m.one(2) {
		last = m.asks()
		last.Repeat = fakes.Forever
	}
	m.Script.Model = append(m.Script.Model, last)
	if m.has(ModelLoop) && m.one(3) {
		m.states()
		return
	}
	if m.one(4) && !m.mild {
		s := m.step()
		s.When = pick(m.dice, fakes.WhenDenied, fakes.WhenVetoed, fakes.WhenFailed, fakes.WhenOK, fakes.WhenCut, fakes.WhenNudged, fakes.WhenResult, fakes.WhenForced, fakes.WhenSummary, fakes.WhenFinal)
		if s.When == fakes.WhenResult {
			s.Result = pick(m.dice, fakes.ResultIs{Contains: "Error"}, fakes.ResultIs{Matches: "[0-9]$"}, fakes.ResultIs{Path: "next", Is: nil})
		}
		s.Repeat = 1 + m.below(3)
		m.Script.Model = append(m.Script.Model, s)
	}
}

// compacting draws a part that is long enough for several compactions, which a bound
// makes necessary every few turns.
func (m *maker) compacting() {
	if m.plain || m.mild || m.given || m.MaxSize < 100 || !m.one(6) {
		return
	}
	h := &m.Config.History
	h.CompactAt, h.MaxMessages, h.MinGain = 4+m.below(8), 0, 0
	h.ThrashTurns, h.CompactionsWithoutGain = 1+m.below(4), 1+m.below(2)
	call := fakes.StepCall{Name: pick(m.dice, m.Script.Tools...).Name, Args: `{"path":"${call}"}`}
	m.Script.Model = append(m.Script.Model, fakes.Step{Calls: []fakes.StepCall{call}, Repeat: 8 + m.below(12)})
}

// circle draws a round of a few steps and repeats it.
func (m *maker) circle() {
	round := make([]fakes.Step, 1+m.below(3))
	for i := range round {
		round[i] = m.asks()
	}
	for range 1 + m.below(6) {
		m.Script.Model = append(m.Script.Model, round...)
	}
}

// states replaces the last step by states with random transitions.
func (m *maker) states() {
	s := m.Script
	working, stuck, last := m.asks(), m.asks(), fakes.Step{Text: "All done.", State: "done"}
	working.State, working.Next = "working", []fakes.Transition{{State: "working", Weight: 3e6}, {State: "stuck", Weight: 2e6}, {State: "done", Weight: 1e6}}
	stuck.State, stuck.Next = "stuck", []fakes.Transition{{State: "stuck", Weight: 4e6}, {State: "working", Weight: 1e6}}
	s.Model = append(s.Model[:len(s.Model)-1], working, stuck, last)
}

// step draws one reply, with its latency and failures.
func (m *maker) step() fakes.Step {
	s := m.reply()
	if m.one(3) {
		s.TokensIn, s.TokensOut, s.Cost = int64(10*m.below(4)), int64(5*m.below(3)), int64(500*m.below(5))
	}
	if m.has(ModelStream) && m.one(2) {
		m.stream(&s)
	} else if !m.mild && m.one(4) {
		s.Latency = m.latency()
	}
	if m.has(ModelAPI) && m.one(2) {
		m.apiFailures(&s)
	}
	return s
}

func (m *maker) reply() fakes.Step {
	switch {
	case m.has(ModelOutput) && m.one(3):
		return m.malformed()
	case m.Script.Planner == loop.PlannerJSON && !m.one(4):
		return fakes.Step{Text: m.action()}
	case !m.plain && !m.mild && m.one(8):
		return fakes.Step{Text: m.hostile()}
	}
	return m.asks()
}

// action draws an action of a planner.
func (m *maker) action() string {
	switch m.below(6) {
	case 0:
		return `{"action":"replan","subgoals":["look"]}`
	case 1:
		return `{"action":"ask_user","question":"Which?","missing_fields":["path"]}`
	case 2:
		return m.hostile()
	}
	call := m.call()
	if !json.Valid([]byte(call.Args)) {
		call.Args = "{}"
	}
	return fmt.Sprintf(`{"action":"call_tool","name":%q,"args":%s}`, call.Name, call.Args)
}

// malformed draws a malformed reply: empty, cut off, or with odd ids, finish reasons
// or text.
func (m *maker) malformed() fakes.Step {
	if m.mild {
		return m.mildReply()
	}
	switch m.below(8) {
	case 0:
		return fakes.Step{Text: pick(m.dice, "", " \n")}
	case 1:
		return fakes.Step{Text: "I was about to", Finish: loop.FinishLength}
	case 2:
		return fakes.Step{Finish: loop.FinishLength}
	case 3:
		s := m.asks()
		s.Finish = loop.FinishLength
		if m.one(2) && len(s.Calls) > 0 {
			s.Calls[len(s.Calls)-1].Args = `{"path":"a.t`
		}
		return s
	case 4:
		s := m.asks()
		s.Finish = pick(m.dice, "content_filter", "stop", "", m.hostile())
		return s
	case 5:
		s := m.asks()
		for i := range s.Calls {
			s.Calls[i].ID = pick(m.dice, nil, new(""), new("same"), new("same"), new("call_1"), new("call_2_"), new(m.hostile()))
		}
		return s
	case 6:
		if again, ok := m.sentAgain(); ok {
			return again
		}
	}
	return fakes.Step{Text: m.hostile()}
}

// sentAgain returns the last reply once more, after a stream that broke. It gives the
// calls of both ids.
func (m *maker) sentAgain() (fakes.Step, bool) {
	n := len(m.Script.Model)
	if n == 0 || len(m.Script.Model[n-1].Calls) == 0 || m.Config.ModelRetry.Max == 0 {
		return fakes.Step{}, false
	}
	last := &m.Script.Model[n-1]
	for i := range last.Calls {
		last.Calls[i].ID = new(pick(m.dice, "same", "one", "two"))
	}
	again := fakes.Step{Text: last.Text, Calls: slices.Clone(last.Calls), Failures: []fakes.ModelFailure{{Chunks: 1 + m.below(2), Latency: m.exactly(time.Second)}}}
	if m.one(2) {
		again.Calls = append(again.Calls, m.call())
	}
	return again, true
}

// asks draws a reply with calls.
func (m *maker) asks() fakes.Step {
	s := fakes.Step{Text: pick(m.dice, "", "", "I will look.")}
	n := 1
	if m.one(3) {
		n = 2 + m.below(4)
	}
	if m.has(Protocol) && !m.mild && m.one(20) {
		n = 30
	}
	same := m.call()
	for range n {
		c := same
		if !m.one(4) {
			c = m.call()
		}
		s.Calls = append(s.Calls, c)
	}
	return s
}

func (m *maker) call() fakes.StepCall {
	c := fakes.StepCall{Name: pick(m.dice, m.Script.Tools...).Name, Args: m.args()}
	if m.has(Protocol) && m.one(3) {
		m.protocol(&c)
	}
	return c
}

// args draws arguments. Some are other spellings of the same ones.
func (m *maker) args() string {
	if m.mild {
		return `{"path":"file-${call}.txt"}`
	}
	if m.has(Arguments) && m.one(2) {
		return m.badArgs()
	}
	if !m.one(4) && slices.ContainsFunc(m.Config.Detectors, func(d detect.Detector) bool { return len(d.Round) > 0 }) {
		return pick(m.dice, `{"n":${turn}}`, `{"n":-${turn}}`, `{"n":-${turn}.5}`, `{"n":-${turn}.5}`, `{"n":${turn}e-1}`)
	}
	switch m.below(10) {
	case 0, 1, 2:
		return `{"path":"a.txt"}`
	case 3:
		return pick(m.dice, `{ "path" : "a.txt" }`, `{"path":"\u0061.txt"}`)
	case 4:
		return `{"path":"b.txt"}`
	case 5:
		return pick(m.dice, `{"path":"a.txt","mode":"fast"}`, `{"mode":"fast","path":"a.txt"}`)
	case 6:
		return pick(m.dice, `{"n":1}`, `{"n":1.0}`, `{"n":10e-1}`, `{"n":${turn}}`, `{"n":1,"path":"${turn}"}`)
	case 7:
		return `{"path":"${call}"}`
	case 8:
		return `{"path":"${pick:a.txt|b.txt}"}`
	}
	return "{}"
}

func (m *maker) badArgs() string {
	switch m.below(22) {
	case 0:
		return ""
	case 1:
		return "{}"
	case 2:
		return `{"mode":"fast"}`
	case 3:
		return `{"path":"a.txt","mode":"fastt"}`
	case 4:
		return `{"path":7,"mode":["fast","slow"]}`
	case 5:
		return `{"path":"a.txt","recursive":true,"recursive_off":true}`
	case 6:
		return `{"path":"a.txt"`
	case 7:
		return `{"path":`
	case 8:
		return "[1]"
	case 9:
		return "null"
	case 10:
		return `{"path":"a.txt"}}`
	case 11:
		return `{"n":1e400}`
	case 12:
		return `{"n":123456789012345678901234567890}`
	case 13:
		return `{"n":123456789012345678901234567891}`
	case 14:
		return strings.Repeat(`{"a":`, 40) + "1" + strings.Repeat("}", 40)
	case 15:
		return "{\"path\":\"a\x01b\"}"
	case 16:
		return `{"path":"\u0000\u001f"}`
	case 17:
		return `{"path":"a.txt","path":"b.txt"}`
	case 18:
		return "'path': a.txt"
	case 19:
		if m.one(8) {
			return strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001)
		}
		return strings.Repeat("[", 30)
	case 20:
		return "\ufeff{}"
	}
	return m.hostile()
}

// protocol makes a call invalid: it names an unknown tool or several tools, or
// nests a call within another.
func (m *maker) protocol(c *fakes.StepCall) {
	if m.mild && !m.spendFailure() {
		return
	}
	file := "a.txt"
	if m.mild {
		file = "file-${call}.txt" // so that all calls differ
	}
	switch m.below(7) {
	case 0:
		c.Name = pick(m.dice, "nobody", "READ", "")
	case 1:
		c.Name = " " + c.Name + "\n"
	case 2:
		c.Name, c.Args = "multi_tool_use.parallel", `{"tool_uses":[{"recipient_name":"read","parameters":{"path":"`+file+`"}},{"recipient_name":"write","parameters":{}}]}`
	case 3:
		c.Args = fmt.Sprintf(`{"name":%q,"arguments":{"name":"write","arguments":{"path":%q}}}`, c.Name, file)
	case 4:
		c.Name = c.Name + `","arguments":{},"name":"`
	case 5:
		c.Name = m.hostile()
	default:
		c.Name, c.Args = "read,write", `[{"path":"`+file+`"},{"path":"b.txt"}]`
	}
}

// stream makes a reply come in pieces, with failures of the stream.
func (m *maker) stream(s *fakes.Step) {
	s.Chunks = 1 + m.below(5)
	s.Latency = m.exactly(time.Duration(1+m.below(60)) * 100 * time.Millisecond)
	if m.one(2) {
		s.FirstToken = time.Duration(1+m.below(10)) * s.Latency.Min / 10
	}
	switch {
	case m.mild:
		m.mildStream(s)
	case m.one(4):
		s.Failures = append(s.Failures, fakes.ModelFailure{Hang: true, Chunks: m.below(4), Latency: m.exactly(m.moment())})
	case m.one(3):
		s.Failures = append(s.Failures, fakes.ModelFailure{Chunks: 1 + m.below(4), Latency: m.exactly(m.moment())})
	case m.one(2):
		s.Failures = append(s.Failures, m.oddStream())
	}
	if m.one(4) {
		s.Wire = pick(m.dice, fakes.StepWires()...)
	}
}

// oddStream draws a stream that fails by its wire.
func (m *maker) oddStream() fakes.ModelFailure {
	f := fakes.ModelFailure{Wire: pick(m.dice, fakes.WireHeartbeats, fakes.WireCutEvent, fakes.WireEndsEarly, fakes.WireNoFinish), Latency: m.exactly(m.moment())}
	if f.Wire != fakes.WireNoFinish {
		f.Chunks = m.below(4)
	}
	return f
}

// apiFailures makes the API fail before it answers.
func (m *maker) apiFailures(s *fakes.Step) {
	if m.mild {
		m.mildFailures(s)
		return
	}
	for range 1 + m.below(3) {
		f := fakes.ModelFailure{Status: pick(m.dice, 0, 400, 401, 408, 429, 429, 500, 502, 503, 529), Text: pick(m.dice, "", "slow down", m.hostile())}
		if m.one(3) {
			f.RetryAfter = pick(m.dice, time.Second, 5*time.Second, 90*time.Second, 2*time.Hour)
		}
		if m.one(3) {
			f.Latency = m.latency()
		}
		if f.Status != 0 && f.RetryAfter != 0 && m.one(4) {
			f.Wire = fakes.WireRetryAfterDate
		} else if f.Status != 0 && m.one(8) {
			f.Wire = fakes.WireErrorEvent
		}
		s.Failures = append(s.Failures, f)
	}
	s.FailForever = m.one(6)
}

package fuzz

import (
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// toolNames are the names of the tools. A world has the first few of them.
var toolNames = []string{"read", "write", "search", "agent"}

const (
	readInput = `{"type":"object","required":["path"],"properties":{"path":{"type":"string"},"mode":{"enum":["fast","slow"]}},"additionalProperties":false}`
	searchOut = `{"type":"object","required":["items"],"properties":{"items":{"type":"array"},"status":{"enum":["ok","partial"]}}}`
)

func (m *maker) tools() {
	n := m.between(1, len(toolNames))
	if !m.plain && !m.mild && m.one(2) {
		n = len(toolNames) // with the one that may be a sub-run
	}
	for _, name := range toolNames[:n] {
		t := fakes.Tool{ToolSpec: loop.ToolSpec{Name: name, Idempotent: pick(m.dice, loop.Idempotent, loop.NotIdempotent, loop.IdempotenceUnset, loop.IdempotenceUnset)}}
		t.Waits = m.one(12)
		if m.has(Users) || m.one(8) {
			t.Permission = pick(m.dice, loop.AskNever, loop.AskBatch, loop.AskCall)
		}
		if m.has(ToolHang) && !m.mild {
			t.IgnoresCancel, t.Latency = m.one(3), m.latency()
		}
		if !m.plain {
			m.spec(&t)
		}
		if t.SubRun && !m.one(3) {
			m.session(&t)
		} else {
			m.answers(&t)
		}
		m.Script.Tools = append(m.Script.Tools, t)
	}
	m.fallbacks()
}

// spec draws the parts of a tool's spec other than its name and permission.
func (m *maker) spec(t *fakes.Tool) {
	s := &t.ToolSpec
	switch s.Name {
	case "read":
		s.Input = readInput
	case "search":
		s.Output = searchOut
	case "agent":
		s.SubRun = !m.mild && !m.one(3)
	}
	if m.one(6) {
		s.Version = "2.1"
	}
	if m.one(5) && !m.mild {
		s.Timeout = time.Duration(1+m.below(8)) * 500 * time.Millisecond
	}
	if m.one(5) && !m.mild {
		s.Retries = pick(m.dice, -1, 1, 2)
	}
	if m.one(6) && !m.mild && s.Retries == 0 {
		s.Retry = &loop.Retry{Max: m.below(4), Base: tenths(m.dice, 0, 20), Backoff: pick(m.dice, backoffs...), Cap: tenths(m.dice, 0, 40),
			Timeouts: m.one(2), Codes: codes(m.dice)}
	}
	if m.one(8) && !m.mild {
		s.Rate = loop.Rate{Calls: 1 + m.below(3), Per: time.Duration(1+m.below(20)) * time.Second}
	}
	if m.one(8) && !m.mild {
		s.Breaker = loop.ToolBreaker{Failures: 1 + m.below(3), Cooldown: time.Duration(1+m.below(20)) * time.Second}
	}
}

// toolChoice draws what the model must call.
func (m *maker) toolChoice() {
	if m.plain || m.mild || !m.one(6) || m.Script.Planner != loop.PlannerNative {
		return
	}
	m.Script.ToolChoice = loop.ToolChoice{Use: loop.UseRequired, Hold: m.one(3)}
	if m.one(3) {
		m.Script.ToolChoice.Use = m.Script.Tools[0].Name
	}
}

// session draws the session of a sub-run. Its model asks for its own tool, for those
// that it shares and for those that it does not have.
func (m *maker) session(t *fakes.Tool) {
	look := fakes.Tool{ToolSpec: loop.ToolSpec{Name: "read"}}
	m.answers(&look)
	look.IgnoresCancel = m.has(ToolHang) && m.one(2)
	if !m.given && m.one(2) {
		m.Config.Limits.Spawns = 1 + m.below(5)
		if m.one(2) {
			m.Config.Parallel.Max = 1
		}
	}
	if !m.given && m.one(4) {
		m.Config.Limits.Tokens = int64(20 + m.below(100))
	}
	m.scarce()
	x := &fakes.Session{Tools: []fakes.Tool{look}}
	t.Session = x
	if m.one(2) {
		x.Shared = []string{t.Name}
		if !m.given && !m.one(4) {
			m.Config.Limits.Depth = m.Depth + 1 + m.below(3) // or it calls itself without end
		}
	}
	if m.one(6) {
		x.Planner = loop.PlannerJSON
	}
	if !m.given && m.one(2) {
		cfg := cloneConfig(m.Config)
		for range 1 + m.below(3) {
			pick(m.dice, settings...)(m.dice, &cfg)
		}
		x.Config = &cfg
	}
	for range m.below(4) {
		x.Model = append(x.Model, m.step())
	}
	if nested := len(x.Shared) > 0; nested && !m.one(4) || !nested && m.one(3) {
		call := fakes.Step{Calls: []fakes.StepCall{{Name: t.Name, Args: "{}"}}, TokensIn: int64(m.below(30)), Cost: int64(500 * m.below(5))}
		x.Model = slices.Insert(x.Model, pick(m.dice, 0, len(x.Model)), call)
	}
	last := fakes.Step{Text: "Found.", Repeat: fakes.Forever}
	if m.has(ModelLoop) && m.one(2) {
		last = m.asks()
		last.Repeat = fakes.Forever
	}
	x.Model = append(x.Model, last)
}

func (m *maker) fallbacks() {
	if m.plain || m.mild {
		return
	}
	for i := range m.Script.Tools {
		other := &m.Script.Tools[m.below(len(m.Script.Tools))]
		if t := &m.Script.Tools[i]; m.one(4) && other != t && other.Permission == loop.AskNever && !other.SubRun {
			t.Fallback = other.Name
		}
	}
}

// answers draws the answers of a tool: some for certain calls, and one for all
// others.
func (m *maker) answers(t *fakes.Tool) {
	for range m.below(3) {
		a := m.answer(t)
		if m.one(3) {
			a.When = map[string]any{"path": pick(m.dice, "a.txt", "b.txt")}
		}
		if a.When == nil || m.one(2) {
			a.Times = 1 + m.below(3)
		}
		t.Answers = append(t.Answers, a)
	}
	t.Answers = append(t.Answers, m.answer(t))
}

func (m *maker) answer(t *fakes.Tool) fakes.Answer {
	a := fakes.Answer{Result: "the same text"}
	if t.Name == "search" {
		a.Result = `{"items":[1,2],"status":"ok"}`
	}
	if m.one(3) {
		a.Result = pick(m.dice, "text ${call}", `{"id":${call},"next_page":null}`, "page ${rand:1..3}")
		if t.Name == "search" {
			a.Result = `{"items":[${call}]}`
		}
	}
	if m.one(2) && slices.ContainsFunc(m.Config.Detectors, func(d detect.Detector) bool { return len(d.IgnoreResult) > 0 }) {
		a.Result = pick(m.dice, `{"items":[1,${call}],"id":7}`, `{"items":[${call},2,${call}]}`, `{"id":${call},"items":[1,${call}]}`, `[{"id":${call},"a":{"next_page":${call}}}]`, "page ${call} of 9")
	}
	if m.has(ToolPayload) && m.one(2) {
		m.payload(&a)
	}
	if m.has(ToolFault) && m.one(2) {
		m.fault(t, &a)
	}
	if m.has(ToolHang) {
		m.delay(t, &a)
	}
	if !m.plain && m.one(6) {
		a.TokensIn, a.TokensOut, a.Cost, a.Used = int64(10*m.below(4)), int64(5*m.below(3)), int64(500*m.below(5)), m.below(3)
		m.scarce()
	}
	return a
}

// scarce makes the usage of sub-runs pass a limit while calls of the batch wait.
func (m *maker) scarce() {
	if m.given || m.mild || !m.one(3) {
		return
	}
	m.Config.Parallel.Max = 1 + m.below(2)
	switch l := &m.Config.Limits; m.below(4) {
	case 0:
		l.Tokens = int64(10 + 10*m.below(8))
	case 1:
		l.CostUSD = float64(1+m.below(5)) * 500e-9
	default:
		l.Calls = 2 + m.below(6)
	}
}

// payload replaces an answer's text by one that breaks the tool's contract or is
// hostile; in a mild world, by an odd but valid one.
func (m *maker) payload(a *fakes.Answer) {
	if m.mild {
		a.Result = pick(m.dice, `{"items":[],"extra":{"deep":[[[]]]}}`, `{"items":["\u0000","日本語"]}`)
		return
	}
	switch m.below(14) {
	case 0:
		a.Result = `{"items":[],"status":"okay"}`
	case 1:
		a.Result = `{"status":"ok"}`
	case 2:
		a.Result = `{"items":[1],"status":"ok","extra":{"deep":[[[]]]}}`
	case 3:
		a.Result = `{"items":[],"next_page":"p${call}"}`
	case 4:
		a.Result = `{"items":[],"nextToken":2}`
	case 5:
		a.Result = `{"items":[1,2,`
	case 6:
		a.Result, a.ResultChars = pick(m.dice, "x", "日本語", "line\n"), pick(m.dice, 20, 200, 3000)
	case 7:
		a.Result = ""
	case 8:
		a.Result = "Error: not an error code"
	case 9:
		a.Result = "error: lower case"
	case 10:
		a.Result = strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	case 11:
		a.Result = `{"items":"none","status":null}`
	default:
		a.Result = m.hostile()
	}
}

// fault makes the first tries of an answer fail, or every try.
func (m *maker) fault(t *fakes.Tool, a *fakes.Answer) {
	if m.mild {
		m.mildFault(t, a)
		return
	}
	for range m.below(4) {
		f := fakes.Failure{Error: m.code(), Text: pick(m.dice, "", "503", "Error: again", m.hostile())}
		if m.one(3) {
			f.Latency = m.latency()
		}
		a.Failures = append(a.Failures, f)
	}
	if m.one(2) {
		a.Result, a.ResultChars = "", 0
		a.Error, a.Text = m.code(), pick(m.dice, "no such file", "no such file", "", "failed ${call}", m.hostile())
	}
}

func (m *maker) code() loop.Code {
	return pick(m.dice, loop.Timeout, loop.RateLimited, loop.RetryableServer, loop.RetryableServer, loop.InvalidInput, loop.NotFound, loop.NotFound,
		loop.Unauthorized, loop.Forbidden, loop.ToolBug, loop.OutputSchemaMismatch, loop.NoResults, loop.Cancelled, loop.ConnectionLost, loop.NotSent)
}

// delay makes an answer late, or makes it hang.
func (m *maker) delay(t *fakes.Tool, a *fakes.Answer) {
	switch {
	case m.mild:
		m.mildDelay(t, a)
	case m.one(5):
		*a = fakes.Answer{Hang: true}
	case m.one(3):
		a.Failures = append(a.Failures, fakes.Failure{Hang: true})
	case m.one(2):
		a.Latency = m.latency()
	}
}

package loop

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// A Machine is one session of the loop as a value. Feed it inputs with
// [Machine.Step] and carry out the effects that it returns. It is not safe for
// use by several goroutines at once.
type Machine struct {
	cfg     Config
	task    Task
	tools   map[string]*tool
	names   []string // of the tools, in the order in which they were given
	offered int      // estimated tokens of the tools in a request; 0 = not estimated yet

	phase   phase
	now     time.Duration
	effects []Effect
	history []Message
	numbers numbers
	ids     map[string]struct{} // call ids used in the session
	canon   detect.Canon

	// The state of the run.
	out      Outcome
	began    time.Duration
	deadline time.Duration // never = none
	also     []Stop        // stops of later rules, noted as also-stopped
	draining bool          // a cancel or the deadline has come: nothing new starts
	lastText string        // of the model, in this run
	unusable int           // unusable replies in a row

	// The counters of limits and detectors, over the run or the session.
	spent     spent
	subs      spent // what the sub-runs of the batch have used so far
	failing   int   // failing turns in a row
	detectors *detect.Set
	seen      []detect.Call // the batch, as the detectors see it

	req          request
	batch        []call
	gate         gate
	question     question // the open one
	pending      question // the one to ask when the batch is done; none if it has no stop
	ending       AtLimit  // how the run ends once its stop is decided
	compaction   compaction
	gains        gains
	scratch      []Message
	observations []Observation // for the planner's prompt
	ended        []EndedCall   // of the run, for the critic
	decisions    []string
	hints        []string // user messages to put before the next request
	called       bool     // a reply of the run had calls
	warned       bool     // the model was warned that a limit is near
}

// A phase is the state of a machine: see States in the package comment.
type phase uint8

const (
	fresh       phase = iota // nothing has begun
	asking                   // a model request is open, or waits for its retry
	gating                   // a gate is open
	executing                // a batch runs
	questioning              // a question to the user is open
	halted
)

// never is the instant at which a timer that is not set runs out.
const never = time.Duration(math.MaxInt64)

// numbers holds the last number used of each kind of [Ref].
type numbers struct{ message, model, call, gate, question int }

// spent holds the counts of the limits.
type spent struct {
	turns, asked, calls, tries, steps, spawns int
	ended, failed                             int // calls, for limits.adapt
	tokens, cost                              int64
}

// New returns a machine for one session. The error joins all mistakes in config
// and tools.
func New(config Config, task Task, tools []ToolSpec) (*Machine, error) {
	m := &Machine{cfg: config, task: task, deadline: never, tools: make(map[string]*tool, len(tools)), ids: make(map[string]struct{}, 16),
		effects: make([]Effect, 0, 2), history: make([]Message, 0, 32)} // room for a run of 16 turns
	errs := []error{config.validate(-1)}
	for i := range tools {
		t := &tools[i]
		switch {
		case t.Name == "" || t.Name != strings.TrimSpace(t.Name):
			errs = append(errs, fmt.Errorf("tools[%d]: %q is not a valid tool name: it must not be empty, or begin or end with white space", i, t.Name))
		case m.tools[t.Name] != nil:
			errs = append(errs, fmt.Errorf("tools[%d]: %q is used twice: give each tool its own name", i, t.Name))
		}
		m.tools[t.Name] = &tool{ToolSpec: t}
		m.names = append(m.names, t.Name)
	}
	errs = append(errs, m.checkTools(tools), m.checkChoice(), m.checkConstraints(), m.compileSchemas())
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	m.detectors = detect.NewSet(m.cfg.Detectors)
	return m, nil
}

// Begin returns the input that starts the session: the task's text at instant 0.
func (m *Machine) Begin() Input { return Input{Kind: Started, Text: m.task.Text} }

// Step takes one input and returns the effects that the world must carry out, in
// order. The slice is valid until the next Step.
func (m *Machine) Step(in Input) []Effect {
	m.effects = m.effects[:0]
	m.now = max(m.now, in.At)
	m.due()
	m.take(&in)
	m.due()
	return m.effects
}

// Wake returns the instant at which the machine needs a tick if no input comes
// before it. armed is false if there is none.
func (m *Machine) Wake() (at time.Duration, armed bool) {
	at = never
	switch m.phase {
	case asking:
		at = m.req.timer()
	case gating:
		at = m.gate.timer
	case executing:
		for i := range m.batch {
			at = min(at, m.batch[i].timer)
		}
	case fresh, halted:
		return 0, false
	}
	if m.runs() {
		at = min(at, m.deadline)
	}
	return at, at != never
}

// runs reports whether time counts against the run deadline now.
func (m *Machine) runs() bool {
	return !m.cfg.Time.PauseForUser || m.phase != gating && m.phase != questioning
}

// Tool returns the spec of a tool of the session; ok is false if no tool has the
// name.
func (m *Machine) Tool(name string) (spec ToolSpec, ok bool) {
	t := m.tools[name]
	if t == nil {
		return ToolSpec{}, false
	}
	return *t.ToolSpec, true
}

// Halted reports whether the last run has ended and none has begun since.
func (m *Machine) Halted() bool { return m.phase == halted }

// Outcome returns the outcome of the last run. If that run has not halted, it
// returns the counts so far.
func (m *Machine) Outcome() Outcome { return m.out }

// History returns the messages of the history. The slice is valid until the next
// Step.
func (m *Machine) History() []Message { return m.history }

// waiting returns what the machine waits for, for an error message.
func (m *Machine) waiting() string {
	switch m.phase {
	case fresh:
		return "a first message"
	case asking:
		return "the reply " + m.req.ref.String()
	case gating:
		return "the permission " + m.gate.ref.String()
	case questioning:
		return "the user's reply " + m.question.ref.String()
	}
	var refs []string
	for i := range m.batch {
		if c := &m.batch[i]; c.state != final {
			refs = append(refs, c.ref().String())
		}
	}
	return "the result of " + strings.Join(refs, ", ")
}

// due handles all timers up to now, earliest first. At one instant the run
// deadline comes first, then the timer of the model, the gate or the calls.
func (m *Machine) due() {
	for {
		at, armed := m.Wake()
		if !armed || at > m.now {
			return
		}
		switch {
		case m.runs() && m.deadline <= at:
			m.deadline = never
			m.decide(StopRunDeadline, reasonDeadline(m.cfg.Time.Run), messageDeadline(m.cfg.Time.Run))
			m.cutShort(textDeadline)
		case m.phase == asking:
			m.requestTimer(at)
		case m.phase == gating:
			m.permissionTimer()
		default:
			m.callTimer(at)
		}
	}
}

// take handles one input. It notes one that fits nothing open as ignored.
func (m *Machine) take(in *Input) {
	switch in.Kind {
	case Started:
		if m.phase == fresh {
			m.begin(in.Text)
			return
		}
	case UserMessage:
		if m.phase == halted {
			m.begin(in.Text)
			return
		}
	case Steer:
		if m.phase != fresh && m.phase != halted && m.out.Stop == "" {
			m.note(Ref{}, EventSteered, "")
			m.hints = append(m.hints, in.Text)
			return
		}
	case Tick:
		return
	case Cancel:
		if m.phase != fresh && m.phase != halted {
			m.decideCancel(in.Cause)
			m.cutShort(textCancelled)
			return
		}
	case ModelDelta, ModelReply, ModelFailure:
		if m.phase == asking && m.req.open && in.Ref == m.req.ref {
			m.answered(in)
			return
		}
	case GateAnswer:
		if m.phase == gating && in.Ref == m.gate.ref {
			m.gateAnswered(in)
			return
		}
	case UserReply:
		if m.phase == questioning && in.Ref == m.question.ref {
			m.questionAnswered(in)
			return
		}
	case ToolResult:
		if c := m.openCall(in.Ref); c != nil {
			m.use(in)
			m.tryEnded(c, in.Code, in.Text)
			m.pump()
			return
		}
	}
	m.note(in.Ref, EventIgnored, "")
}

// begin starts a run.
func (m *Machine) begin(text string) {
	m.appendUser(text)
	m.out = Outcome{}
	m.began, m.deadline = m.now, never
	if m.cfg.Time.Run > 0 {
		m.deadline = m.now + m.cfg.Time.Run
	}
	m.draining, m.lastText, m.unusable = false, "", 0
	m.also = m.also[:0]
	m.batch, m.hints, m.ending, m.question, m.warned = m.batch[:0], m.hints[:0], LimitStop, question{}, false
	m.pending, m.called, m.ended = question{}, false, nil
	if m.cfg.Scope != ScopeSession {
		m.spent, m.failing, m.gains = spent{}, 0, gains{}
	}
	m.detectors.Begin(m.cfg.Scope != ScopeSession)
	if m.task.Hooks.BeforeRun {
		m.open(GateBeforeRun, 0, Effect{Text: m.task.System})
		return
	}
	m.nextTurn()
}

// nextTurn asks for the next reply, or does what the turn limit says. In a session whose
// tokens or cost are used up, it stops the run.
func (m *Machine) nextTurn() {
	if m.checkBudget() != "" {
		m.halt()
		return
	}
	if limit := m.adapted(m.cfg.Limits.Turns); limit > 0 && m.spent.turns >= limit {
		m.atLimit(StopTurnLimit, reasonTurns(limit)+m.textAdapted(m.cfg.Limits.Turns, limit), messageTurns)
		m.goOn()
		return
	}
	m.hintNear()
	m.ask(ForReply)
}

// adapted returns limits.turns or limits.calls as limits.adapt has it now.
func (m *Machine) adapted(limit int) int {
	return m.cfg.Limits.Adapt.limit(limit, m.spent.failed, m.spent.ended)
}

// cutShort ends the run as soon as possible, after a cancel or at the run
// deadline.
func (m *Machine) cutShort(why string) {
	m.draining = true
	switch m.phase {
	case asking:
		if m.req.open {
			m.emit(Effect{Kind: CancelModel, Ref: m.req.ref, Text: why})
		}
		m.halt()
	case gating:
		if m.gate.kind == GateBeforeRun || m.gate.kind == GateAfterRun {
			m.end()
		} else {
			m.cutBatch(why)
		}
	case executing:
		m.cutBatch(why)
	case questioning:
		m.halt()
	}
}

// decide makes stop the run's stop. If another stop came first, it notes this one
// once as also-stopped.
func (m *Machine) decide(stop Stop, reason, message string) {
	switch {
	case m.out.Stop == "":
		m.out.Stop, m.out.Reason, m.out.Message = stop, reason, message
	case m.out.Stop != stop && !slices.Contains(m.also, stop):
		m.also = append(m.also, stop)
		m.note(Ref{}, EventAlsoStopped, string(stop))
	}
}

// decideCancel decides the stop of a Cancel input.
func (m *Machine) decideCancel(cause Cause) {
	switch cause {
	case ByCeiling:
		m.decide(StopCeiling, reasonCeiling, "")
	case ByRecordingEnded:
		m.decide(StopRecordingEnded, reasonRecordingEnded, "")
	default:
		m.decide(StopCancelled, reasonCancelled, messageCancelled)
	}
}

// halt ends the run with the decided stop. It opens the gate after the run first,
// if there is one.
func (m *Machine) halt() {
	if m.task.Hooks.AfterRun && !m.draining {
		m.open(GateAfterRun, 0, Effect{Text: m.lastText})
		return
	}
	m.end()
}

// end ends the run and emits its outcome.
func (m *Machine) end() {
	m.phase, m.deadline = halted, never
	m.out.End = m.out.Stop.EndState()
	m.out.Answer, m.out.Incomplete = m.lastText, m.out.End != Done
	m.out.Elapsed = m.now - m.began
	out := m.out
	m.emit(Effect{Kind: Halt, Outcome: &out})
}

func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

func (m *Machine) note(ref Ref, event Event, text string) {
	m.emit(Effect{Kind: Note, Ref: ref, Event: event, Text: text})
}

// draw returns a number in [0, 1) that depends only on the task's seed, ref and k.
// It uses splitmix64 from Steele, Lea and Flood, "Fast Splittable Pseudorandom
// Number Generators", 2014.
func (m *Machine) draw(ref Ref, k int) float64 {
	x := m.task.Seed
	for _, part := range [...]uint64{uint64(ref.Kind), uint64(ref.N), uint64(k)} {
		x += part + 0x9e3779b97f4a7c15
		x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
		x = (x ^ x>>27) * 0x94d049bb133111eb
		x ^= x >> 31
	}
	return float64(x>>11) / (1 << 53)
}

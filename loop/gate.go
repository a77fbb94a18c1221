package loop

import (
	"strings"
	"time"
)

// A GateKind says what a gate asks for. The zero value is a permission.
type GateKind string

// The kinds of gate. All but the permission are hooks: see [Hooks].
const (
	GatePermission GateKind = ""
	GateBeforeRun  GateKind = "before-run"
	GateBeforeCall GateKind = "before-call"
	GateAfterCall  GateKind = "after-call"
	GateAfterRun   GateKind = "after-run"
)

// Hooks says at which points the loop asks the world before it goes on. An answer
// allows or denies, and may change something.
type Hooks struct {
	// BeforeRun may replace the system prompt (System) for this run and later
	// ones. A denial ends the run as cancelled.
	BeforeRun bool
	// BeforeCall may replace the arguments that the tool gets (Args); the
	// history and the detectors keep the model's own. A denial vetoes the call;
	// with the cause [ByHook] it also ends the run as cancelled, and no call of
	// the batch runs.
	BeforeCall bool
	// AfterCall may replace the result of a call that was executed (Result)
	// before it enters the history. A denial ends the run after the batch, as
	// cancelled.
	AfterCall bool
	// AfterRun may replace the answer (Result). It is skipped after a cancel and
	// the run deadline.
	AfterRun bool
}

// A gate is the open question to the world.
type gate struct {
	ref    Ref
	kind   GateKind
	index  int           // of the call in the batch
	opened time.Duration // also of a question to the user
	timer  time.Duration // of a permission: when time.permission runs out; or never
}

// open opens a gate.
func (m *Machine) open(kind GateKind, index int, e Effect) {
	m.numbers.gate++
	m.gate = gate{ref: Ref{Kind: RefGate, N: m.numbers.gate}, kind: kind, index: index, opened: m.now, timer: never}
	if kind == GatePermission {
		m.gate.timer = after(m.now, m.cfg.Time.Permission)
	}
	m.phase = gating
	e.Kind, e.Ref, e.At = OpenGate, m.gate.ref, kind
	m.emit(e)
}

// openCallGate opens the next gate before a call, or starts the batch if there is
// none left. A call's hook comes right before its permission.
func (m *Machine) openCallGate() {
	for i := range m.batch {
		c := &m.batch[i]
		if c.why != Executed {
			continue
		}
		if m.task.Hooks.BeforeCall && !c.hooked {
			m.open(GateBeforeCall, i, Effect{Of: c.ref(), Name: c.Name, Args: c.toolArgs})
			return
		}
		if c.spec.Permission != AskNever && !c.gated {
			m.open(GatePermission, i, Effect{Of: c.ref(), Name: c.Name, Args: c.toolArgs})
			return
		}
	}
	m.phase = executing
	m.pump()
}

// openResultGate opens the next gate after a call. It returns false if there is
// none left.
func (m *Machine) openResultGate() bool {
	if !m.task.Hooks.AfterCall || m.draining {
		return false
	}
	for i := range m.batch {
		if c := &m.batch[i]; c.why == Executed && !c.shown {
			m.open(GateAfterCall, i, Effect{Of: c.ref(), Name: c.Name, Code: c.code, Text: c.text})
			return true
		}
	}
	return false
}

// gateAnswered applies the answer to the open gate and goes on.
func (m *Machine) gateAnswered(in *Input) {
	m.resumeClock()
	switch m.gate.kind {
	case GatePermission:
		m.permissionAnswered(in.Allow, textDenied(in.Text))
		m.openCallGate()
	case GateBeforeCall:
		c := &m.batch[m.gate.index]
		c.hooked = true
		if strings.TrimSpace(in.Args) != "" {
			if problem := m.checkHook(c, in.Args); problem != "" {
				m.note(c.ref(), EventBadHook, problem)
			} else {
				c.toolArgs = in.Args
			}
		}
		if !in.Allow {
			m.veto(m.gate.index, textHookVeto(in.Text))
		}
		if !in.Allow && in.Cause == ByHook {
			m.decide(StopCancelled, reasonHook(in.Text), messageCancelled)
			m.cutShort(textCancelled)
			return
		}
		m.openCallGate()
	case GateAfterCall:
		c := &m.batch[m.gate.index]
		c.shown = true
		if in.Result != "" {
			c.text = in.Result
		}
		if !in.Allow {
			m.decide(StopCancelled, reasonHook(in.Text), messageCancelled)
		}
		m.phase = executing
		m.closeBatch()
	case GateBeforeRun:
		if in.System != "" {
			m.task.System = in.System
		}
		if !in.Allow {
			m.decide(StopCancelled, reasonHook(in.Text), messageCancelled)
			m.halt()
			return
		}
		m.nextTurn()
	case GateAfterRun:
		if in.Result != "" {
			m.lastText = in.Result
		}
		m.end()
	}
}

// checkHook returns the problem with the arguments that a hook returned, or "".
func (m *Machine) checkHook(c *call, args string) (problem string) {
	if _, err := m.canon.Object(args); err != nil {
		return err.Error()
	}
	if c.spec.input != nil {
		_, _, problem, _ = c.spec.input.Check(args, 0)
	}
	return problem
}

// permissionTimer denies the call of the open permission, which nobody has answered.
func (m *Machine) permissionTimer() {
	m.note(m.gate.ref, EventUnanswered, "")
	m.resumeClock()
	m.permissionAnswered(false, textUnanswered(m.cfg.Time.Permission))
	m.openCallGate()
}

// permissionAnswered applies the answer to the call of the open gate, and with
// [AskBatch] also to the later calls of its tool in the batch. denial is what the model
// reads if it is a denial.
func (m *Machine) permissionAnswered(allow bool, denial string) {
	asked := &m.batch[m.gate.index]
	for i := m.gate.index; i < len(m.batch); i++ {
		c := &m.batch[i]
		if c != asked && (c.Name != asked.Name || asked.spec.Permission != AskBatch || c.why != Executed) {
			continue
		}
		c.gated = true
		if !allow {
			c.block(Denied, denial)
			c.code = Forbidden
		}
	}
}

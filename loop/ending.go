package loop

// This file holds the endings of a run other than a plain stop: the model's last
// reply, and the question to the user.

// A question is a question to the user.
type question struct {
	ref  Ref
	stop Stop // the run's stop if the user says no or does not answer
	text string
	// The limits that the run has reached. Going on sets their counts to 0.
	turns, asked, calls bool
}

// goOn goes on after a batch or an answer. If a stop is decided it asks for the
// last reply or halts; otherwise it asks the user if a question is pending, or
// begins the next turn.
func (m *Machine) goOn() {
	switch {
	case m.out.Stop != "" && m.ending != "" && m.ending != LimitStop && !m.draining:
		purpose := ForFinal
		switch m.ending {
		case LimitGrace:
			purpose = ForGrace
		case LimitSummary:
			m.hints = append(m.hints, textSumUp)
		}
		m.ending = LimitStop
		m.ask(purpose)
	case m.out.Stop != "":
		m.halt()
	case m.pending.stop != "":
		m.question, m.pending = m.pending, question{}
		m.numbers.question++
		m.question.ref = Ref{Kind: RefQuestion, N: m.numbers.question}
		m.phase, m.gate.opened = questioning, m.now
		m.emit(Effect{Kind: AskUser, Ref: m.question.ref, Text: m.question.text})
	default:
		m.nextTurn()
	}
}

// atLimit does what limits.at_limit says at the turn, step, asked or call limit.
func (m *Machine) atLimit(stop Stop, reason, message string) {
	if m.cfg.Limits.AtLimit == LimitAsk {
		m.askLater(stop, reason)
		m.pending.turns = m.pending.turns || stop == StopTurnLimit
		m.pending.asked = m.pending.asked || stop == StopAskedLimit
		m.pending.calls = m.pending.calls || stop == StopCallLimit
		return
	}
	if m.out.Stop == "" {
		m.ending = m.cfg.Limits.AtLimit
	}
	m.decide(stop, reason, message)
}

// askLater makes the user be asked once the batch is done. A question that is
// pending already stays, and its answer counts for both.
func (m *Machine) askLater(stop Stop, text string) {
	if m.pending.stop == "" {
		m.pending = question{stop: stop, text: text}
	}
}

// questionAnswered goes on, or stops the run, as the user says.
func (m *Machine) questionAnswered(in *Input) {
	m.resumeClock()
	if !in.Allow {
		message := messageRefused
		if in.Cause == ByNobody {
			message = messageNobody
		}
		m.decide(m.question.stop, m.question.text, message)
		m.halt()
		return
	}
	if in.Text != "" {
		m.appendUser(in.Text)
	}
	if m.question.turns {
		m.spent.turns, m.spent.steps = 0, 0
	}
	if m.question.asked {
		m.spent.asked = 0
	}
	if m.question.calls {
		m.spent.calls = 0
	}
	m.goOn()
}

// resumeClock moves the run deadline by the time that the user took, if
// time.pause_for_user is on.
func (m *Machine) resumeClock() {
	if m.cfg.Time.PauseForUser && m.deadline != never {
		m.deadline += m.now - m.gate.opened
	}
}

// lastReply handles the last reply of a run: its text is the answer, and its calls
// are refused. With [LimitGrace] a whole text without calls ends the run as done, unless
// the critic finds gaps in it.
func (m *Machine) lastReply(in *Input, blank bool) {
	switch n, _ := m.readBatch(in); {
	case n > 0:
		m.appendReply(in.Text, m.batchCalls())
		m.blockAll(Refused, m.out.Reason)
		for i := range m.batch {
			c := &m.batch[i]
			c.failure, _ = m.judge(c)
			m.putResult(c)
		}
	case blank:
		m.emit(Effect{Kind: Drop, Ref: m.req.ref.whole()})
	default:
		m.appendReply(in.Text, nil)
		whole := len(in.Calls) == 0 && in.Finish != FinishLength && in.Finish != FinishToolCalls
		if m.req.purpose == ForGrace && whole && m.task.Planner != PlannerJSON && len(m.answerGaps(in.Text)) == 0 {
			m.out.Stop, m.out.Reason, m.out.Message = StopDone, reasonDone, ""
		}
	}
	m.halt()
}

// hintNear warns the model once a run that a limit on turns, asked calls or calls is
// near.
func (m *Machine) hintNear() {
	near, l := m.cfg.Limits.Near, &m.cfg.Limits
	if near == 0 || m.warned {
		return
	}
	for _, one := range [...]struct {
		limit, spent int
		text         func(left int) string
	}{{m.adapted(l.Turns), m.spent.turns, textTurnsLeft}, {l.Asked, m.spent.asked, textCallsLeft}, {m.adapted(l.Calls), m.spent.calls, textCallsLeft}} {
		if one.limit > 0 && one.limit-one.spent <= near {
			m.warned = true
			m.hints = append(m.hints, one.text(max(0, one.limit-one.spent)))
			m.note(Ref{}, EventLimitNear, "")
			return
		}
	}
}

// giveHints puts the hints for the model into the history.
func (m *Machine) giveHints() {
	for _, text := range m.hints {
		m.say(text)
	}
	m.hints = m.hints[:0]
}

package loop

// This file holds what happens at a limit, beside a plain stop: the last word,
// and the question to the user.

// A question is what the user is asked.
type question struct {
	ref  Ref
	stop Stop // what the run ends with if the answer is no, or there is none
	text string
	// The limits that are reached: to go on sets their counts to 0.
	turns, calls bool
}

// goOn goes on after a batch or an answer: to the run's end if a stop is
// decided, to the user if there is a question, else to the next turn.
func (m *Machine) goOn() {
	switch {
	case m.out.Stop != "" && (m.ending == LimitFinal || m.ending == LimitGrace) && !m.draining:
		purpose := ForFinal
		if m.ending == LimitGrace {
			purpose = ForGrace
		}
		m.ending = LimitStop
		m.giveHints()
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

// atLimit does at a limit what the config says.
func (m *Machine) atLimit(stop Stop, reason, message string) {
	if m.cfg.Limits.AtLimit == LimitAsk {
		m.askLater(stop, reason)
		m.pending.turns = m.pending.turns || stop == StopTurnLimit
		m.pending.calls = m.pending.calls || stop == StopCallLimit
		return
	}
	if m.out.Stop == "" {
		m.ending = m.cfg.Limits.AtLimit
	}
	m.decide(stop, reason, message)
}

// askLater asks the user once the batch is done, unless something is to be
// asked already: of two questions at one instant the first one is put, and its
// answer holds for both.
func (m *Machine) askLater(stop Stop, text string) {
	if m.pending.stop == "" {
		m.pending = question{stop: stop, text: text}
	}
}

// questionAnswered goes on as the user says.
func (m *Machine) questionAnswered(allow bool, text string) {
	m.resumeClock()
	if !allow {
		m.decide(m.question.stop, m.question.text, messageRefused)
		m.halt()
		return
	}
	if text != "" {
		m.appendUser(text)
	}
	if m.question.turns {
		m.spent.turns, m.spent.steps = 0, 0
	}
	if m.question.calls {
		m.spent.calls = 0
	}
	m.goOn()
}

// resumeClock gives a run back the time for which the user was waited for.
func (m *Machine) resumeClock() {
	if m.cfg.Time.PauseForUser && m.deadline != never {
		m.deadline += m.now - m.gate.opened
	}
}

// lastReply handles the model's last word: its text counts, its calls do not
// run.
func (m *Machine) lastReply(in *Input, blank bool) {
	switch {
	case len(in.Calls) > 0:
		m.readBatch(in)
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
	}
	m.halt()
}

// hintNear tells the model once that a limit is near.
func (m *Machine) hintNear() {
	near := m.cfg.Limits.Near
	if near == 0 || m.warned {
		return
	}
	if limit := m.cfg.Limits.Turns; limit > 0 && limit-m.spent.turns <= near {
		m.warned = true
		m.hints = append(m.hints, textTurnsLeft(max(0, limit-m.spent.turns)))
	} else if limit := m.cfg.Limits.Calls; limit > 0 && limit-m.spent.calls <= near {
		m.warned = true
		m.hints = append(m.hints, textCallsLeft(max(0, limit-m.spent.calls)))
	}
	if m.warned {
		m.note(Ref{}, EventLimitNear, "")
	}
}

// giveHints puts what the model is to be told after the results.
func (m *Machine) giveHints() {
	for _, text := range m.hints {
		m.say(text)
	}
	m.hints = m.hints[:0]
}

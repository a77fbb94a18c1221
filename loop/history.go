package loop

// appendUser appends a user message to the history.
func (m *Machine) appendUser(text string) {
	m.numbers.message++
	m.history = append(m.history, Message{Ref: Ref{Kind: RefMessage, N: m.numbers.message}, Role: User, Text: text})
}

// say appends a user message that the loop itself wrote, and emits it.
func (m *Machine) say(text string) {
	m.appendUser(text)
	m.emit(Effect{Kind: Put, Ref: Ref{Kind: RefMessage, N: m.numbers.message}, Text: text})
}

// appendReply appends the reply to the last request to the history.
func (m *Machine) appendReply(text string, calls []Call) {
	m.history = append(m.history, Message{Ref: m.req.ref.whole(), Role: Assistant, Text: text, Calls: calls})
}

// trim drops the oldest messages above history.max_messages. It drops whole
// groups only: a reply with its results, or a message without any.
func (m *Machine) trim() {
	limit := m.cfg.History.MaxMessages
	if limit == 0 || len(m.history) <= limit {
		return
	}
	// Messages before end may be dropped. The newest group and the last N stay.
	end := max(0, min(lastGroup(m.history), len(m.history)-m.cfg.History.KeepLast))
	excess, dropped := len(m.history)-limit, 0
	kept := m.history[:0]
	for i := 0; i < len(m.history); {
		next := i + 1
		for next < len(m.history) && m.history[next].Role == ToolRole {
			next++
		}
		first := m.cfg.History.KeepFirst && m.history[i].Ref == Ref{Kind: RefMessage, N: 1}
		if dropped < excess && next <= end && !first {
			for _, msg := range m.history[i:next] {
				m.emit(Effect{Kind: Drop, Ref: msg.Ref})
			}
			dropped += next - i
		} else {
			kept = append(kept, m.history[i:next]...)
		}
		i = next
	}
	clear(m.history[len(kept):])
	m.history = kept
	if dropped > 0 {
		m.note(Ref{}, EventTrimmed, "")
	}
}

// lastGroup returns the index at which the newest group begins: the last message,
// or if that is a result, the reply that asked for it.
func lastGroup(h []Message) int {
	i := len(h) - 1
	for i > 0 && h[i].Role == ToolRole {
		i--
	}
	return i
}

package loop

import "unicode/utf8"

// Compaction replaces old messages by a summary that the model writes. Before
// each request for a reply the machine compacts the history if it is above its
// bound, then trims it if it is above history.max_messages, then asks.

// EstimateTokens returns an estimate of the tokens in messages, in which
// history.compact_tokens is counted. For each message it is a quarter of the
// characters (Unicode code points) of its text and its calls, rounded up, plus 4.
// It does not depend on any tokenizer.
func EstimateTokens(messages []Message) int {
	total := 0
	for i := range messages {
		m := &messages[i]
		chars := utf8.RuneCountInString(m.Text)
		for _, c := range m.Calls {
			chars += utf8.RuneCountInString(c.Name) + utf8.RuneCountInString(c.Args)
		}
		total += (chars+3)/4 + 4
	}
	return total
}

// A compaction is the current request for a summary.
type compaction struct {
	from, to int // the messages that the summary replaces
}

// compact asks for a summary if the history is above its bound and has at least
// two messages to replace. It reports whether it asked.
func (m *Machine) compact() bool {
	h := &m.cfg.History
	if !(h.CompactAt > 0 && len(m.history) > h.CompactAt || h.CompactTokens > 0 && EstimateTokens(m.history) > h.CompactTokens) {
		return false
	}
	from := 0
	if h.KeepFirst && m.history[0].Ref == (Ref{Kind: RefMessage, N: 1}) {
		from = 1
	}
	to := min(lastGroup(m.history), len(m.history)-h.KeepLast)
	for to > from && m.history[to].Role == ToolRole {
		to--
	}
	if to-from < 2 {
		return false
	}
	m.compaction = compaction{from: from, to: to}
	m.request(ForSummary)
	return true
}

// summaryRequest returns the effect that asks for a summary. Its history is the
// messages that the summary will replace, then the instruction.
func (m *Machine) summaryRequest() Effect {
	c := &m.compaction
	messages := append(m.scratch[:0], m.history[c.from:c.to]...)
	messages = append(messages, Message{Role: User, Text: textSummarise})
	m.scratch = messages
	return Effect{Kind: AskModel, Ref: m.req.ref, For: ForSummary, To: c.to - c.from, Text: textSummarise, History: messages}
}

// summarised replaces the old messages by their summary, unless it is blank.
func (m *Machine) summarised(text string, blank bool) {
	c := m.compaction
	size := func() int {
		if m.cfg.History.CompactTokens > 0 {
			return EstimateTokens(m.history)
		}
		return len(m.history)
	}
	before := size()
	if blank {
		m.note(m.req.ref.whole(), EventNoSummary, textBlankSummary)
	} else {
		for _, msg := range m.history[c.from:c.to] {
			m.emit(Effect{Kind: Drop, Ref: msg.Ref})
		}
		m.numbers.message++
		put := Message{Ref: Ref{Kind: RefMessage, N: m.numbers.message}, Role: User, Text: textSummary(text)}
		m.emit(Effect{Kind: Put, Ref: put.Ref, To: c.from + 1, Text: put.Text})
		m.history[c.from] = put
		m.history = append(m.history[:c.from+1], m.history[c.to:]...)
		m.note(put.Ref, EventCompacted, "")
	}
	gain := float64(before-size()) / float64(before)
	m.afterCompaction(gain >= m.cfg.History.MinGain && gain > 0)
}

// afterCompaction sends the request that waited for the compaction, or stops the
// run after too many compactions in a row without gain.
func (m *Machine) afterCompaction(gained bool) {
	if gained {
		m.noGain = 0
	} else {
		m.noGain++
	}
	m.checkBudget()
	if limit := m.cfg.History.CompactionsWithoutGain; limit > 0 && m.noGain >= limit {
		m.decide(StopCompactionThrash, reasonThrash(m.noGain), messageBudget)
	}
	if m.out.Stop != "" {
		m.halt()
		return
	}
	m.trim()
	m.request(ForReply)
}

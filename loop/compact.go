package loop

import "unicode/utf8"

// Compaction replaces old messages by a summary that the model writes. Before
// each request, in this order: compact if the history is above its bound, trim
// if it is above history.max_messages, ask.

// EstimateTokens is the estimate that history.compact_tokens counts in: a
// quarter of the characters (Unicode code points) of the texts, calls and
// results, each message rounded up, and 4 more for each message. It is no
// tokenizer's; it is the same everywhere.
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

// A compaction is the one under way.
type compaction struct {
	from, to int // the messages that the summary replaces
}

// compact asks for a summary if the history is above its bound, and reports
// whether it did.
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

// summaryRequest is what the world sees of a request for a summary: the
// messages that it will replace, and the instruction.
func (m *Machine) summaryRequest() Effect {
	c := &m.compaction
	messages := append(m.scratch[:0], m.history[c.from:c.to]...)
	messages = append(messages, Message{Role: User, Text: textSummarise})
	m.scratch = messages
	return Effect{Kind: AskModel, Ref: m.req.ref, For: ForSummary, To: c.to - c.from, Text: textSummarise, History: messages}
}

// summarised puts a summary in the place of what it sums up.
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

// afterCompaction goes on to the request that had to wait, unless compaction
// after compaction gains nothing.
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

package loop

import (
	"strings"
	"unicode/utf8"
)

// Compaction replaces old messages by a summary that the model writes. Before
// each request for a reply the machine compacts the history if it is above its
// bound, then trims it if it is above history.max_messages, then asks. With
// history.compact_on_overflow it also compacts when the model refuses a request
// because its context window is too small for it, and asks again.

// EstimateTokens returns an estimate of the tokens in messages. For each message it
// is a quarter of the characters (Unicode code points) of its text and its calls,
// rounded up, plus 4. It does not depend on any tokenizer.
func EstimateTokens(messages []Message) int {
	total := 0
	for i := range messages {
		m := &messages[i]
		chars := utf8.RuneCountInString(m.Text)
		for _, c := range m.Calls {
			chars += utf8.RuneCountInString(c.Name) + utf8.RuneCountInString(c.Args)
		}
		total += quarter(chars) + 4
	}
	return total
}

// EstimateRequest returns an estimate of the tokens of a model request, in which
// history.compact_tokens and the windows of scripted models are counted: those of
// its messages ([EstimateTokens]), a quarter of the characters of the system prompt,
// and a quarter of those of each tool's name, description and input schema, each
// rounded up.
func EstimateRequest(system string, tools []ToolSpec, messages []Message) int {
	total := quarter(utf8.RuneCountInString(system)) + EstimateTokens(messages)
	for i := range tools {
		t := &tools[i]
		total += quarter(utf8.RuneCountInString(t.Name) + utf8.RuneCountInString(t.Description) + utf8.RuneCountInString(t.Input))
	}
	return total
}

func quarter(chars int) int { return (chars + 3) / 4 }

// overflowTexts are parts of the answers by which APIs refuse a request that is too
// long for the model, in lower case: OpenAI's code and message, Anthropic's,
// Google's, Amazon Bedrock's, and those of servers that speak OpenAI's API.
var overflowTexts = []string{"context_length_exceeded", "maximum context length", "prompt is too long", "exceeds the maximum number of tokens",
	"input is too long", "exceeds the context window", "exceed context limit", "exceeds the available context size"}

// Overflow reports whether a failed model request was refused because it is too long
// for the model's context window: the status is 400 or 413, and the text holds what
// an API says then.
func Overflow(status int, text string) bool {
	if status != 400 && status != 413 {
		return false
	}
	text = strings.ToLower(text)
	for _, part := range overflowTexts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// A compaction is the current request for a summary.
type compaction struct {
	from, to int  // the messages that the summary replaces
	overflow bool // the history was too long for the model, whatever its bound
}

// gains says how much the compactions of a run achieved.
type gains struct {
	none int  // compactions in a row without gain
	open bool // the last one gained, unless the next is needed too soon
	// turns since the last one that gained: a question at the turn limit starts the
	// limit's own count anew
	turns int
}

// compact asks for a summary if the history is above its bound. It reports whether
// the request for a reply has to wait, or the run has ended.
func (m *Machine) compact() bool { return m.tooLong() && m.shorten(false) }

// tooLong reports whether the history is above its bound.
func (m *Machine) tooLong() bool {
	h := &m.cfg.History
	return h.CompactAt > 0 && len(m.history) > h.CompactAt || h.CompactTokens > 0 && m.tokens(m.history) > h.CompactTokens
}

// tokens estimates a request for a reply with these messages.
func (m *Machine) tokens(messages []Message) int {
	if m.task.Planner == PlannerJSON {
		return EstimateRequest(m.systemPrompt(), nil, messages)
	}
	if m.offered == 0 && len(m.names) > 0 {
		for _, name := range m.names {
			m.offered += EstimateRequest("", []ToolSpec{*m.tools[name].ToolSpec}, nil)
		}
	}
	return m.offered + EstimateRequest(m.systemPrompt(), nil, messages)
}

// shorten asks for a summary of all messages that may be replaced, if there are at
// least two. Without them the compaction is one without gain. It reports whether it
// asked, or stopped the run.
func (m *Machine) shorten(overflow bool) bool {
	h := &m.cfg.History
	if m.gains.open {
		m.gains.open = false
		if m.gains.turns <= h.ThrashTurns {
			m.gains.none++
		} else {
			m.gains.none = 0
		}
	}
	if m.thrashing() || m.aboveFloor() {
		m.halt()
		return true
	}
	from := m.protected()
	to := min(lastGroup(m.history), len(m.history)-h.KeepLast)
	for to > from && m.history[to].Role == ToolRole {
		to--
	}
	if to-from >= 2 {
		m.compaction = compaction{from: from, to: to, overflow: overflow}
		m.request(ForSummary)
		return true
	}
	m.note(Ref{}, EventNoSummary, textNothingToSum)
	m.gains.none++
	if m.thrashing() {
		m.halt()
		return true
	}
	return false
}

// protected returns the number of messages at the beginning that stay.
func (m *Machine) protected() int {
	if m.cfg.History.KeepFirst && m.history[0].Ref == (Ref{Kind: RefMessage, N: 1}) {
		return 1
	}
	return 0
}

// thrashing reports whether the run stops since too many compactions in a row were
// without gain.
func (m *Machine) thrashing() bool {
	limit := m.cfg.History.CompactionsWithoutGain
	if limit == 0 || m.gains.none < limit {
		return false
	}
	m.decide(StopCompactionThrash, reasonThrash(m.gains.none), messageBudget)
	return true
}

// aboveFloor reports whether the run stops since what no compaction can drop is above
// the bound in tokens: the system prompt, the tools and the message that keep_first
// protects.
func (m *Machine) aboveFloor() bool {
	h := &m.cfg.History
	if h.CompactTokens == 0 || h.CompactionsWithoutGain == 0 {
		return false
	}
	floor := m.tokens(m.history[:m.protected()])
	if floor <= h.CompactTokens {
		return false
	}
	m.decide(StopCompactionThrash, reasonFloor(floor, h.CompactTokens), messageBudget)
	return true
}

// overflowed reports whether the model refused a request for a reply as too long. It
// then compacts the history, or stops the run if there is nothing to replace: the
// same request would fail again.
func (m *Machine) overflowed(in *Input) bool {
	if !m.cfg.History.CompactOnOverflow || m.req.purpose != ForReply || !Overflow(in.Status, in.Text) {
		return false
	}
	m.req.open, m.req.retry = false, never
	if !m.shorten(true) {
		m.decide(StopModelFailed, m.reasonModelFailed(in.Status, in.Text), messageModelFailed)
		m.halt()
	}
	return true
}

// summaryRequest returns the effect that asks for a summary. Its history is the
// messages that the summary will replace, then the instruction. What is protected
// before them comes first: it has the task, and it keeps a reply from being the first
// message, for which Anthropic's API refuses a request.
func (m *Machine) summaryRequest() Effect {
	to := m.compaction.to
	messages := append(m.scratch[:0], m.history[:to]...)
	messages = append(messages, Message{Role: User, Text: textSummarise})
	m.scratch = messages
	return Effect{Kind: AskModel, Ref: m.req.ref, For: ForSummary, To: to, Text: textSummarise, History: messages}
}

// summarised replaces the old messages by their summary, unless it is blank.
func (m *Machine) summarised(text string, blank bool) {
	c := m.compaction
	size := func() int {
		if m.cfg.History.CompactTokens > 0 || c.overflow {
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
	m.afterCompaction(gain >= m.cfg.History.MinGain && gain > 0 && !m.tooLong())
}

// afterCompaction sends the request that waited for the compaction, or stops the
// run after too many compactions in a row without gain.
func (m *Machine) afterCompaction(gained bool) {
	if m.gains.open = gained; gained {
		m.gains.turns = 0
	} else {
		m.gains.none++
	}
	m.checkBudget()
	m.thrashing()
	if m.out.Stop != "" {
		m.halt()
		return
	}
	m.giveHints() // what the user said while the summary came
	m.trim()
	m.request(ForReply)
}

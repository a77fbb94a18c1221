package audit

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
)

// checkTrimming compares the messages that are dropped before each request with those
// that must be.
func (b *book) checkTrimming() {
	if b.cfg.History.MaxMessages <= 0 && !b.dropped {
		return
	}
	rec := -1
	var drops []item
	var want []loop.Ref // the messages that must be dropped, in the history before drops
	b.rebuild(func(it *item, h []*loop.Message) {
		if it.rec != rec {
			b.uncalledFor(drops)
			rec, drops = it.rec, nil
		}
		switch {
		case it.eff == nil:
		case it.eff.Kind == loop.Drop && !b.dropsEmpty(it.rec, it.eff):
			if len(drops) == 0 {
				want = b.trim(h)
			}
			drops = append(drops, *it)
		case it.eff.Kind == loop.Put && it.eff.To > 0:
			drops = nil // a summary replaces them
		case it.eff.Kind == loop.AskModel && it.eff.For != loop.ForSummary:
			if len(drops) == 0 {
				want = b.trim(h)
			}
			b.checkDrops(it, want, drops)
			drops = nil
		}
	})
	b.uncalledFor(drops)
}

// uncalledFor reports drops that no request follows.
func (b *book) uncalledFor(drops []item) {
	for _, d := range drops {
		b.report(d.place, "kept", "dropped", "%s is dropped, but no request follows", d.eff.Ref)
	}
}

// dropsEmpty reports whether a drop removes the reply of its record, because it is empty
// or a summary.
func (b *book) dropsEmpty(rec int, drop *loop.Effect) bool {
	r := b.reply(b.lines[rec])
	return r != nil && (r.sort == emptyReply || r.sort == summaryReply) && r.ref == drop.Ref
}

func (b *book) checkDrops(ask *item, want []loop.Ref, drops []item) {
	for _, d := range drops {
		i := slices.Index(want, d.eff.Ref)
		if i < 0 {
			b.report(d.place, "kept", "dropped", "%s must not be dropped", d.eff.Ref)
			continue
		}
		want = slices.Delete(want, i, i+1)
	}
	for _, ref := range want {
		b.report(ask.place, "dropped", "kept", "the history is too long and %s is still in it", ref)
	}
}

// trim returns the messages that must be dropped from a history: whole groups, the
// oldest first, until the rest is short enough.
func (b *book) trim(h []*loop.Message) []loop.Ref {
	cfg := b.cfg.History
	left, kept := len(h), b.keptFrom(h)
	var drops []loop.Ref
	for from := 0; from < kept && cfg.MaxMessages > 0 && left > cfg.MaxMessages; {
		to := from + 1
		for to < len(h) && h[to].Role == loop.ToolRole {
			to++
		}
		if to <= kept && !(cfg.KeepFirst && h[from].Ref == loop.Ref{Kind: loop.RefMessage, N: 1}) {
			for _, m := range h[from:to] {
				drops = append(drops, m.Ref)
			}
			left -= to - from
		}
		from = to
	}
	return drops
}

// keptFrom returns the index from which all messages are kept: those of the newest
// group, and the last keep_last.
func (b *book) keptFrom(h []*loop.Message) int {
	kept := len(h) - 1
	for kept > 0 && h[kept].Role == loop.ToolRole {
		kept--
	}
	return max(0, min(kept, len(h)-b.cfg.History.KeepLast))
}

// checkResultSize checks that results are cut to the right length.
func (b *book) checkResultSize() {
	for _, c := range b.calls {
		text, ok := b.answer(c)
		limit := b.room(text)
		if limit < 0 || !ok {
			continue
		}
		put, size := c.puts[0], utf8.RuneCountInString(text)
		kept, tail := commonStart(text, put.eff.Text), ""
		if kept > limit {
			tail = string([]rune(text)[limit:kept])
		}
		// The notice may begin with the same characters as the part that was cut off.
		if kept < min(size, limit) || size > limit && strings.Trim(tail, "\n [") != "" {
			b.report(put.place, strconv.Itoa(min(size, limit))+" characters", strconv.Itoa(kept),
				"the result of call c%d has %d characters", c.n, size)
		}
	}
}

// room returns how many characters of a text may be kept, or -1 for all.
func (b *book) room(text string) int {
	room, bytes := b.cfg.History.MaxResultChars, b.cfg.Contracts.MaxPayloadBytes
	if room <= 0 {
		room = -1
	}
	if bytes <= 0 || len(text) <= bytes {
		return room
	}
	n, rest := 0, text
	for size := runeSize(rest); size <= bytes; size = runeSize(rest) {
		bytes -= size
		n, rest = n+1, rest[size:]
	}
	if room < 0 {
		return n
	}
	return min(n, room)
}

// answer returns the text of a call that succeeded and has its result. ok is false
// for other calls, and for a planner, which reads another text.
func (b *book) answer(c *call) (string, bool) {
	t := c.last()
	if t == nil || t.in == nil || len(c.puts) == 0 || c.puts[0].eff.Code.Failed() || b.task.Planner == loop.PlannerJSON {
		return "", false
	}
	return b.heard(c, t), true
}

// heard returns the text of a call's last try that the history gets: the result of the
// tool, or that of the hook after it.
func (b *book) heard(c *call, t *try) string {
	text, _ := b.result(t)
	for _, g := range c.gates {
		if g.at == loop.GateAfterCall && g.in != nil && g.in.Result != "" {
			text = g.in.Result
		}
	}
	return text
}

// commonStart returns the number of characters with which both texts begin.
func commonStart(a, b string) int {
	n := 0
	for a != "" && strings.HasPrefix(b, a[:runeSize(a)]) {
		size := runeSize(a)
		a, b = a[size:], b[size:]
		n++
	}
	return n
}

func runeSize(s string) int {
	_, size := utf8.DecodeRuneInString(s)
	return size
}

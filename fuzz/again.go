package fuzz

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
	"github.com/agentbench-go/agentbench/loop/session"
)

// checkAudit: the loop's own audit finds nothing in the trace.
func checkAudit(p *play) (string, bool) {
	for _, v := range audit.Check(p.Config, p.task(), p.Script.Specs(), p.trace) {
		return v.String(), true
	}
	return "", true
}

// checkRoundTrip: the text of a trace parses back to the same text.
func checkRoundTrip(p *play) (string, bool) {
	text := p.text()
	t, err := loop.ParseTrace(text)
	if err != nil {
		return "the trace's text cannot be read: " + err.Error(), true
	}
	if again := t.String(); again != text {
		return "the trace's text, read and written again, is another: " + difference(text, again), true
	}
	return "", true
}

// checkSameTrace: the same case played again gives the same trace.
func checkSameTrace(p *play) (string, bool) {
	return sameAs(p, p.Case, "played again")
}

// text is the text of the trace, made once.
func (p *play) text() string {
	if p.lines == "" {
		var b []byte
		for i := range p.trace {
			b = p.trace[i].AppendText(b)
			p.ends = append(p.ends, len(b))
		}
		p.lines = string(b)
	}
	return p.lines
}

// record is the text of a record of the trace.
func (p *play) record(i int) string {
	text, from := p.text(), 0
	if i > 0 {
		from = p.ends[i-1]
	}
	return text[from:p.ends[i]]
}

// differs gives the first record of the trace, from one on, in which another
// trace that begins there differs; -1 if none does.
func (p *play) differs(from int, other loop.Trace) int {
	var b []byte
	for i := range max(len(p.trace)-from, len(other)) {
		if from+i >= len(p.trace) || i >= len(other) {
			return from + i
		}
		if b = other[i].AppendText(b[:0]); string(b) != p.record(from+i) {
			return from + i
		}
	}
	return -1
}

// recordText is the text of a record, "" behind the end.
func recordText(t loop.Trace, i int) string {
	if i >= len(t) {
		return ""
	}
	return t[i].String()
}

// difference shows the first lines in which two texts differ.
func difference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		x, y := "", ""
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return fmt.Sprintf("%s became %s", quoted(x), quoted(y))
		}
	}
	return "nothing"
}

// quoted shows a line, cut to what one reads at a glance.
func quoted(s string) string {
	const most = 160
	s = strings.TrimSpace(s)
	if s == "" {
		return "nothing"
	}
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}

// checkResumed: a session that breaks off after any turn and is resumed by a
// fresh machine in a fresh world goes on as it would have gone. Which turn, the
// seed says.
func checkResumed(p *play) (string, bool) {
	var turns []int // records after which a session may have been saved
	for i := range p.trace {
		if i+1 < len(p.trace) && endsTurn(&p.trace[i]) {
			turns = append(turns, i)
		}
	}
	if len(turns) == 0 {
		return "", false
	}
	at := turns[int(mix(p.Seed)%uint64(len(turns)))]
	if slices.ContainsFunc(p.trace[:at+1], answersForWorld) {
		return "", false
	}
	m, err := loop.New(p.Config, p.task(), p.Script.Specs())
	if err != nil {
		return err.Error(), true
	}
	rest := &continued{strayWorld: newWorld(p.Case)}
	if _, err := session.Resume(context.Background(), m, rest, p.trace[:at+1]); err != nil {
		return fmt.Sprintf("resumed after record %d: %v", at+1, err), true
	}
	if d := p.differs(at+1, rest.trace); d >= 0 {
		return fmt.Sprintf("resumed after record %d, the trace is another: ", at+1) +
			difference(recordText(p.trace, d), recordText(rest.trace, d-at-1)), true
	}
	return "", true
}

// answersForWorld reports whether an input that nobody asked for has answered what
// was open. The world's own answer, which still comes, is ignored then; a world
// that is made anew does not know of it.
func answersForWorld(r loop.Record) bool {
	ignored := len(r.Effects) == 1 && r.Effects[0].Event == loop.EventIgnored
	return r.In.Text == strayText && !ignored && (r.In.Kind == loop.ModelFailure || r.In.Kind == loop.ModelReply || r.In.Kind == loop.ToolResult)
}

// endsTurn reports whether a step ends with a turn: the loop asks the model, or
// halts.
func endsTurn(r *loop.Record) bool {
	for i := range r.Effects {
		if k := r.Effects[i].Kind; k == loop.AskModel || k == loop.Halt {
			return true
		}
	}
	return false
}

// A continued world keeps the trace of what follows a resumption. The first step
// only carries out what the saved trace ended with.
type continued struct {
	*strayWorld
	trace   loop.Trace
	resumed bool
}

func (w *continued) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	if !w.resumed {
		w.resumed = true
		w.halted = effects[0].Kind == loop.Halt
		w.World.Do(ctx, in, effects)
		return
	}
	w.trace.Append(in, effects)
	w.strayWorld.Do(ctx, in, effects)
}

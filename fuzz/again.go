package fuzz

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
	"github.com/agentbench-go/agentbench/loop/session"
)

// checkAudit: the loop's own audit finds nothing in the trace.
func checkAudit(p *play) (string, bool) {
	s := p.Script.Setup(p.Config, p.Seed)
	s.Task = p.task()
	// A stray result may end the try of a sub-run that goes on.
	strays := slices.ContainsFunc(p.Strays, func(s Stray) bool { return s.Input.Kind == loop.ToolResult })
	for _, v := range audit.CheckAll(s, p.trace) {
		if strays && (v.Rule == "sub-end" || v.Rule == "sub-usage") {
			continue
		}
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
		return "the trace's text changes when it is read and written again: " + difference(text, again), true
	}
	return "", true
}

// checkSameTrace: the case, played again, has the same trace.
func checkSameTrace(p *play) (string, bool) {
	return sameAs(p, p.Case, "played again")
}

// text returns the text of the trace, which it makes once.
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

// record returns the text of a record of the trace.
func (p *play) record(i int) string {
	text, from := p.text(), 0
	if i > 0 {
		from = p.ends[i-1]
	}
	return text[from:p.ends[i]]
}

// differs compares the trace, from a record on, with another trace that begins with
// that record. It returns the first record that differs, or -1 if none does.
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

// recordText returns the text of a record, or "" after the end.
func recordText(t loop.Trace, i int) string {
	if i >= len(t) {
		return ""
	}
	return t[i].String()
}

// difference returns the first lines in which two texts differ.
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
			return fmt.Sprintf("%s became %s", aLine(x), aLine(y))
		}
	}
	return "nothing"
}

// aLine returns a line shortened for a message, or "nothing" for an empty one.
func aLine(s string) string {
	return cmp.Or(text.Clip(strings.TrimSpace(s), 160), "nothing")
}

// checkResumed: a session that is cut off after a step, and resumed by a fresh
// machine in a fresh world, continues like the session that was not. Where a call that
// must not run twice was running, it does not run again. The seed says after which step.
func checkResumed(p *play) (string, bool) {
	if len(p.trace) < 2 {
		return "", false
	}
	at := int(mix(p.Seed) % uint64(len(p.trace)-1))
	saved := p.trace[:at+1]
	m, err := loop.New(p.Config, p.task(), p.Script.Specs())
	if err != nil {
		return err.Error(), true
	}
	var rest loop.Trace
	if _, err := session.Resume(context.Background(), m, loop.Recording(newWorld(p.Case), &rest), saved); err != nil {
		return fmt.Sprintf("resumed after record %d: %v", at+1, err), true
	}
	if lost := p.lost(saved); len(lost) > 0 {
		for i := range rest {
			for _, e := range rest[i].Effects {
				if e.Kind == loop.CallTool && rest[i].Path == "" && lost[e.Ref.N] {
					return fmt.Sprintf("resumed after record %d, the call c%d may have taken effect, and %s runs again", at+1, e.Ref.N, e.Name), true
				}
			}
		}
		return "", true
	}
	if d := p.differs(at+1, rest); d >= 0 {
		return fmt.Sprintf("resumed after record %d, the trace differs: ", at+1) +
			difference(recordText(p.trace, d), recordText(rest, d-at-1)), true
	}
	return "", true
}

// lost returns the numbers of the calls that must not run twice and have no result
// yet. A resumed session ends each with an error.
func (p *play) lost(saved loop.Trace) map[int]bool {
	once := map[string]bool{}
	for _, spec := range p.Script.Specs() {
		once[spec.Name] = spec.Idempotent == loop.NotIdempotent
	}
	running := map[int]bool{}
	for i := range saved {
		if saved[i].Path != "" {
			continue // the world of a sub-run goes on
		}
		if in := &saved[i].In; in.Kind == loop.ToolResult && !ignored(&saved[i]) {
			delete(running, in.Ref.N)
		}
		for _, e := range saved[i].Effects {
			switch {
			case e.Kind == loop.CallTool && once[e.Name]:
				running[e.Ref.N] = true
			case e.Event == loop.EventAbandoned, e.Kind == loop.Put && e.Ref.Kind == loop.RefCall:
				delete(running, e.Ref.N)
			}
		}
	}
	return running
}

package loop

import (
	"slices"
	"unicode/utf8"
)

// An auditEvent is a note that a trace must or may have.
type auditEvent struct {
	rec   int
	event Event
	ref   Ref
	must  bool
}

// checkEvents compares the notes of replies, requests and results with what
// the trace calls for.
func (b *auditBook) checkEvents() {
	want := slices.Concat(b.replyEvents(), b.requestEvents(), b.resultEvents(), b.trimEvents())
	known := []Event{EventReplacedID, EventTrimmedName, EventEmptyReply, EventCutReply, EventBrokenStream, EventTruncated, EventGaveUp, EventTrimmed}
	for _, it := range b.items {
		if it.run == nil || it.eff == nil || it.eff.Kind != Note || !slices.Contains(known, it.eff.Event) {
			continue
		}
		i := slices.IndexFunc(want, func(w auditEvent) bool { return w.fits(it) })
		if i < 0 {
			b.report(it.auditPlace, "nothing", string(it.eff.Event), "nothing in the trace calls for this note")
			continue
		}
		want = slices.Delete(want, i, i+1)
	}
	for _, w := range want {
		if w.must {
			b.report(b.input(w.rec), "the note "+string(w.event)+" "+w.ref.String(), "none", "something goes unsaid")
		}
	}
}

func (w auditEvent) fits(it auditItem) bool {
	return w.event == it.eff.Event && w.ref == it.eff.Ref.whole() && (w.rec == it.rec || w.ref.Kind == RefCall && !w.must && w.rec <= it.rec)
}

func (b *auditBook) replyEvents() []auditEvent {
	var want []auditEvent
	for _, r := range b.replies {
		switch {
		case r.sort == auditSummary:
		case r.sort == auditEmpty && r.cut():
			want = append(want, auditEvent{r.rec, EventEmptyReply, r.ref, false}, auditEvent{r.rec, EventCutReply, r.ref, false})
		case r.sort == auditEmpty:
			want = append(want, auditEvent{r.rec, EventEmptyReply, r.ref, !r.last})
		case r.in.Finish == FinishLength:
			must := r.sort == auditCut || r.sort == auditBatch && r.faulty()
			want = append(want, auditEvent{r.rec, EventCutReply, r.ref, must && !r.last})
		}
		for _, c := range r.calls {
			ref := Ref{Kind: RefCall, N: c.n}
			if c.id != c.asked.ID {
				want = append(want, auditEvent{r.rec, EventReplacedID, ref, true})
			}
			if c.name != c.asked.Name {
				want = append(want, auditEvent{r.rec, EventTrimmedName, ref, true})
			}
		}
	}
	return want
}

func (b *auditBook) requestEvents() []auditEvent {
	var want []auditEvent
	for _, r := range b.runs {
		for _, q := range r.requests {
			for k, a := range q.tries {
				ref := Ref{Kind: RefModel, N: a.ref.N}
				if len(a.deltas) > 0 && a.ended.found() && a.how != auditReplied {
					want = append(want, auditEvent{a.ended.rec, EventBrokenStream, ref, !r.broken(a.ended.rec)})
				}
				if retry := b.modelRetry(q, k+1); b.givesUp(q, k+1) || retry.may && !retry.must {
					want = append(want, auditEvent{a.ended.rec, EventGaveUp, ref, !retry.may})
				}
			}
		}
	}
	return want
}

// givesUp reports whether only the length of the wait keeps the n-th try of a
// model request from being made again.
func (b *auditBook) givesUp(q *auditRequest, n int) bool {
	patient := *b
	patient.cfg.Time.Run, patient.cfg.ModelRetry.MaxWait = 0, 0
	return patient.modelRetry(q, n).must && !b.modelRetry(q, n).may
}

func (b *auditBook) trimEvents() []auditEvent {
	var want []auditEvent
	last := -1
	for _, it := range b.items {
		if it.eff != nil && it.eff.Kind == Put && it.eff.To > 0 && len(want) > 0 && last == it.rec {
			want, last = want[:len(want)-1], -1 // a summary takes their place
		}
		if it.run != nil && it.eff != nil && it.eff.Kind == Drop && it.rec != last && !b.dropsEmpty(it.rec, it.eff) {
			want = append(want, auditEvent{it.rec, EventTrimmed, Ref{}, true})
			last = it.rec
		}
	}
	return want
}

func (b *auditBook) resultEvents() []auditEvent {
	var want []auditEvent
	for _, c := range b.calls {
		if len(c.puts) == 0 {
			continue
		}
		ref := Ref{Kind: RefCall, N: c.n}
		text := c.puts[0].eff.Text
		if limit := b.room(text); limit >= 0 && utf8.RuneCountInString(text) > limit {
			want = append(want, auditEvent{c.puts[0].rec, EventTruncated, ref, true})
			if b.cfg.History.MaxResultChars > 0 && b.cfg.Contracts.MaxPayloadBytes > 0 {
				want = append(want, auditEvent{c.puts[0].rec, EventTruncated, ref, false}) // it may be cut twice
			}
		}
		if t := c.last(); t != nil && b.toolRetry(c, len(c.tries)).may {
			want = append(want, auditEvent{t.ended.rec, EventGaveUp, ref, false})
		}
	}
	return want
}

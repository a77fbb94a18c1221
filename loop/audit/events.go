package audit

import (
	"slices"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
)

// An event is a note that the trace must have, or may have.
type event struct {
	rec   int
	event loop.Event
	ref   loop.Ref
	must  bool
}

// checkEvents compares the notes on replies, requests and results with the events of
// the trace.
func (b *book) checkEvents() {
	want := slices.Concat(b.replyEvents(), b.requestEvents(), b.resultEvents(), b.trimEvents())
	open := map[event][]int{} // the indices of the events without a note so far
	for i, w := range want {
		open[w.key()] = append(open[w.key()], i)
	}
	met := make([]bool, len(want))
	known := []loop.Event{loop.EventReplacedID, loop.EventRepeatedCall, loop.EventDroppedCall, loop.EventTrimmedName, loop.EventEmptyReply, loop.EventCutReply, loop.EventBrokenStream, loop.EventTruncated, loop.EventGaveUp, loop.EventTrimmed, loop.EventAlert, loop.EventGaps}
	for _, it := range b.notes {
		ofTurn := it.eff.Event == loop.EventGaps && it.eff.Ref == loop.Ref{}
		if !slices.Contains(known, it.eff.Event) || ofTurn {
			continue
		}
		note := event{event: it.eff.Event, ref: whole(it.eff.Ref), rec: it.rec}
		i := -1
		for _, key := range []event{note, note.later()} {
			if left := open[key]; i < 0 && len(left) > 0 && want[left[0]].rec <= it.rec {
				i, open[key] = left[0], left[1:]
			}
		}
		if i < 0 {
			b.report(it.place, "nothing", string(it.eff.Event), "this note has no reason in the trace")
			continue
		}
		met[i] = true
	}
	for i, w := range want {
		if w.must && !met[i] {
			b.report(b.input(w.rec), "the note "+string(w.event)+" "+w.ref.String(), "none", "a note is missing")
		}
	}
}

// key returns the event that a note must match. A note on a call that may be missing
// may also come in a later record.
func (w event) key() event {
	if w.ref.Kind == loop.RefCall && !w.must {
		return w.later()
	}
	return event{event: w.event, ref: w.ref, rec: w.rec}
}

// later returns the event without its record.
func (w event) later() event { return event{event: w.event, ref: w.ref, rec: -1} }

// replyEvents returns the events of replies.
func (b *book) replyEvents() []event {
	var want []event
	for _, r := range b.replies {
		switch {
		case r.sort == summaryReply:
		case r.sort == emptyReply && r.cut():
			want = append(want, event{r.rec, loop.EventEmptyReply, r.ref, false}, event{r.rec, loop.EventCutReply, r.ref, false})
		case r.sort == emptyReply, r.sort == announcedReply:
			want = append(want, event{r.rec, loop.EventEmptyReply, r.ref, !r.last})
		case r.in.Finish == loop.FinishLength:
			must := r.sort == cutReply || r.sort == batchReply && r.faulty()
			want = append(want, event{r.rec, loop.EventCutReply, r.ref, must && !r.last})
		}
		if r.sort == gapReply || r.grace && r.sort == answerReply && b.turnsBack(r) {
			want = append(want, event{r.rec, loop.EventGaps, r.ref, !r.last})
		}
		for _, c := range r.repeats {
			ref := loop.Ref{Kind: loop.RefCall, N: c.n}
			want = append(want, event{r.rec, loop.EventRepeatedCall, ref, true})
			if c.name != c.asked.Name {
				want = append(want, event{r.rec, loop.EventTrimmedName, ref, true})
			}
		}
		for _, c := range r.dropped {
			ref := loop.Ref{Kind: loop.RefCall, N: c.n}
			want = append(want, event{r.rec, loop.EventDroppedCall, ref, true})
			if c.name != c.asked.Name {
				want = append(want, event{r.rec, loop.EventTrimmedName, ref, true})
			}
		}
		for _, c := range r.calls {
			ref := loop.Ref{Kind: loop.RefCall, N: c.n}
			if c.id != c.asked.ID {
				want = append(want, event{r.rec, loop.EventReplacedID, ref, true})
			}
			if c.name != c.asked.Name {
				want = append(want, event{r.rec, loop.EventTrimmedName, ref, true})
			}
		}
	}
	return want
}

// requestEvents returns the events of model requests.
func (b *book) requestEvents() []event {
	var want []event
	for _, r := range b.runs {
		for _, q := range r.requests {
			for k, a := range q.tries {
				ref := loop.Ref{Kind: loop.RefModel, N: a.ref.N}
				if len(a.deltas) > 0 && a.ended.found() && a.how != askReplied {
					want = append(want, event{a.ended.rec, loop.EventBrokenStream, ref, !r.broken(a.ended.rec)})
				}
				if retry := b.modelRetry(q, k+1); b.givesUp(q, k+1) || retry.may && !retry.must {
					want = append(want, event{a.ended.rec, loop.EventGaveUp, ref, !retry.may})
				}
			}
		}
	}
	return want
}

// givesUp reports whether a model request is not retried after its n-th try only
// because the wait would be too long.
func (b *book) givesUp(q *request, n int) bool {
	patient := *b
	patient.cfg.Time.Run, patient.cfg.ModelRetry.MaxWait = 0, 0
	return patient.modelRetry(q, n).must && !b.modelRetry(q, n).may
}

// trimEvents returns the events of dropped messages.
func (b *book) trimEvents() []event {
	if !b.dropped {
		return nil
	}
	var want []event
	last := -1
	for i := range b.items {
		it := &b.items[i]
		if it.eff != nil && it.eff.Kind == loop.Put && it.eff.To > 0 && len(want) > 0 && last == it.rec {
			want, last = want[:len(want)-1], -1 // a summary replaces them
		}
		if it.run != nil && it.eff != nil && it.eff.Kind == loop.Drop && it.rec != last && !b.dropsEmpty(it.rec, it.eff) {
			want = append(want, event{it.rec, loop.EventTrimmed, loop.Ref{}, true})
			last = it.rec
		}
	}
	return want
}

// resultEvents returns the events of results.
func (b *book) resultEvents() []event {
	var want []event
	for _, c := range b.calls {
		if len(c.puts) == 0 {
			continue
		}
		ref := loop.Ref{Kind: loop.RefCall, N: c.n}
		text := c.puts[0].eff.Text
		if limit := b.room(text); limit >= 0 && utf8.RuneCountInString(text) > limit {
			want = append(want, event{c.puts[0].rec, loop.EventTruncated, ref, true})
			if b.cfg.History.MaxResultChars > 0 && b.cfg.Contracts.MaxPayloadBytes > 0 {
				want = append(want, event{c.puts[0].rec, loop.EventTruncated, ref, false}) // it may be cut twice
			}
		}
		if put := c.puts[0].eff; put.Code == loop.ToolBug && put.Why == loop.Executed && b.cfg.Policy.OnFailure == loop.FailureTable {
			want = append(want, event{c.puts[0].rec, loop.EventAlert, ref, true})
		}
		if t := c.last(); t != nil && b.toolRetry(c, len(c.tries)).may {
			want = append(want, event{t.ended.rec, loop.EventGaveUp, ref, false})
		}
	}
	return want
}

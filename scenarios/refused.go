package scenarios

import (
	"context"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A refusal is a call that a net vetoed or refused.
type refusal struct {
	call  detect.Signature
	asked int // calls that the session had asked for before it
}

// refusals returns the calls of a session that a detector or hook vetoed, or a limit
// refused, in their order. It leaves out those that fell with the run: a stop vetoes the
// calls of its own turn, and that run is counted as stopped. The calls of sub-runs come
// last, with those that fell with the stop of their sub-run. They count as asked for
// when the call was that their sub-run belongs to.
func refusals(trace loop.Trace) []refusal {
	out := ownRefusals(trace.Own(), false)
	for _, path := range trace.Subs() {
		first, _, _ := strings.Cut(string(path), "/")
		_, call := loop.Path(first + "/").Caller()
		for _, r := range ownRefusals(trace.Of(path), true) {
			out = append(out, refusal{r.call, call.N})
		}
	}
	return out
}

func ownRefusals(trace loop.Trace, fallen bool) []refusal {
	var out []refusal
	var canon detect.Canon
	asked := map[int]loop.AskedCall{}
	given := 0
	for i := range trace {
		if in := &trace[i].In; in.Kind == loop.ModelReply && !ignored(&trace[i]) {
			for j, c := range in.Calls {
				asked[given+j+1] = c
			}
			given += len(in.Calls)
		}
		fell := false
		for j := range trace[i].Effects {
			e := &trace[i].Effects[j]
			fell = fell || e.Kind == loop.Halt && !endedWell(e.Outcome.End)
		}
		for j := range trace[i].Effects {
			e := &trace[i].Effects[j]
			if e.Kind != loop.Put || e.Ref.Kind != loop.RefCall {
				continue
			}
			given = max(given, e.Ref.N) // a planner's call is in the text of its reply
			if fell && !fallen || e.Why != loop.Vetoed && e.Why != loop.Refused {
				continue
			}
			c := asked[e.Ref.N]
			signature, _ := canon.Signature(c.Name, c.Args) // of what is not JSON, by its text
			out = append(out, refusal{signature, e.Ref.N - 1})
		}
	}
	return out
}

// An ownBook keeps the refusals of trials under the variants that their scenarios are
// meant for, since several variants are compared with each.
type ownBook struct {
	mu     sync.Mutex
	trials map[ownTrial]map[detect.Signature]int
}

type ownTrial struct {
	scenario *Scenario
	seed     uint64
}

// of returns how often each call is refused in the trial as t has it, but under the
// scenario's own variant.
func (b *ownBook) of(ctx context.Context, t *Trial) map[detect.Signature]int {
	key := ownTrial{t.Scenario, t.Seed}
	if b != nil {
		b.mu.Lock()
		known, ok := b.trials[key]
		b.mu.Unlock()
		if ok {
			return known
		}
	}
	own := *t
	own.Variant = t.Scenario.Variant
	var trace loop.Trace
	script := own.script()
	own.play(ctx, fakes.NewWorld(&script, own.Seed), &trace) // if it broke off, what it refused so far counts
	n := map[detect.Signature]int{}
	for _, r := range refusals(trace) {
		n[r.call]++
	}
	if b != nil {
		b.mu.Lock()
		if b.trials == nil {
			b.trials = map[ownTrial]map[detect.Signature]int{}
		}
		b.trials[key] = n
		b.mu.Unlock()
	}
	return n
}

// countRefused fills in which calls were refused, and which of them the scenario's own
// variant refuses too: the same call as often.
func (t *Trial) countRefused(ctx context.Context, r *Result, trace loop.Trace, book *ownBook) {
	if r.Vetoed == 0 && r.SubRuns == 0 {
		return
	}
	all := refusals(trace)
	r.Refused = len(all)
	switch {
	case t.Own():
		r.RefusedOwn = len(all)
		return
	case len(all) == 0 || r.Label != Healthy:
		return
	}
	own := map[detect.Signature]int{}
	for call, n := range book.of(ctx, t) {
		own[call] = n
	}
	first := true
	for _, x := range all {
		switch {
		case own[x.call] > 0:
			own[x.call]--
			r.RefusedOwn++
		case first:
			first = false
			r.RefusedAt = x.asked
		}
	}
}

// Interfered reports whether a healthy run was interfered with: it ended well, but had
// calls refused that its own variant lets through. Two ends count too, since the refusals
// led to them: the script had nothing to say any more, or the run went on to the ceiling.
func (r *Result) Interfered() bool {
	return r.Label == Healthy && r.Refused > r.RefusedOwn && (endedWell(r.EndState) || r.EndState == loop.Ceiling || r.ranDry())
}

// ranDry reports whether the script had no further answer.
func (r *Result) ranDry() bool {
	for i := range r.Findings {
		if r.Findings[i].Rule == ruleRanDry {
			return true
		}
	}
	return false
}

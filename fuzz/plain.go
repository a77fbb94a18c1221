package fuzz

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// This file holds plain models of the circuit breaker and the error limit: their
// counts, written as one would explain them. It shares no code with the loop, its
// detectors and its audit.

// A plainBreaker counts identical calls in a row. Counted by turns, a call's count is
// its number in this turn and in the turns before it without a gap. Counted by calls,
// it is the number of times without another call in between. If within is set, a turn
// that comes later than that after the one with the call before starts at 1. Calls of
// tools that wait are not there.
type plainBreaker struct {
	at     int
	byCall bool
	within time.Duration
	streak map[string]int // by turns: the counts of the last turn's calls
	turned time.Duration  // by turns: when the last turn came
	last   string         // by calls: the last call
	times  int            // by calls: its count
	called time.Duration  // by calls: when the last call came
}

// turn counts the calls of a turn that came at an instant, and reports whether the
// breaker trips.
func (b *plainBreaker) turn(at time.Duration, calls []string) bool {
	most := 0
	now := map[string]int{}
	if b.within > 0 && at > b.turned+b.within {
		b.streak = nil
	}
	for _, c := range calls {
		if c == waiting {
			continue
		}
		if b.within > 0 && at > b.called+b.within {
			b.times = 0
		}
		b.called = at
		if now[c] == 0 {
			now[c] = b.streak[c]
		}
		now[c]++
		if b.times > 0 && b.last == c {
			b.times++
		} else {
			b.last, b.times = c, 1
		}
		if b.byCall {
			most = max(most, b.times)
		} else {
			most = max(most, now[c])
		}
	}
	b.streak, b.turned = now, at
	return most >= b.at
}

// vetoed ends the count of a call of the last turn, since a vetoed call equals no
// other. Counting by turns, that is right only if the turn has the call once. The
// caller stops comparing in the other cases.
func (b *plainBreaker) vetoed(call string) {
	delete(b.streak, call)
	if b.last == call {
		b.times = 0
	}
}

// A plainErrors counts failing turns in a row.
type plainErrors struct {
	most     int  // errors.max_consecutive
	exceeded bool // errors.trip
	any      bool // errors.batch
	failing  int
}

// turn takes the number of calls of a turn that count, and how many of these failed.
// It reports whether the limit trips.
func (e *plainErrors) turn(counted, failed int) bool {
	switch {
	case counted == 0:
		return false // no call was considered: the run is being stopped
	case failed == counted, e.any && failed > 0:
		e.failing++
	default:
		e.failing = 0
	}
	if e.exceeded {
		return e.failing > e.most
	}
	return e.failing >= e.most
}

// checkBreaker: every detector that only counts identical calls and stops the run
// trips exactly when the plain model does.
func checkBreaker(p *play) (problem string, judged bool) {
	if p.Script.Planner != loop.PlannerNative {
		return "", false
	}
	for i := range p.Config.Detectors {
		d := &p.Config.Detectors[i]
		if breaker, plain := plainly(d); plain {
			judged = true
			if problem := p.trips(d, breaker); problem != "" {
				return problem, true
			}
		}
	}
	return "", judged
}

// plainly returns the plain model of a detector, and whether it has one.
func plainly(d *detect.Detector) (plainBreaker, bool) {
	b := plainBreaker{byCall: d.Ends == detect.EndsNext, within: d.Within}
	if len(d.Do) != 1 || d.Do[0].Act != detect.Stop || !b.byCall && !unsaid(d.Ends, detect.EndsTurn) {
		return b, false
	}
	b.at = d.Do[0].At
	lists := len(d.Key) + len(d.Counts) + len(d.Reset) + len(d.IgnoreArgs) + len(d.Round) + len(d.IgnoreResult) + len(d.Firings) + len(d.Tools.Only) + len(d.Tools.Except)
	return b, lists == 0 && d.Memory == 0 && d.DistinctArgs == 0 && !d.Full && !d.OncePerTurn && !d.PriorOnly &&
		unsaid(d.Record, detect.PerCall) && unsaid(d.Match, detect.Streak) && unsaid(d.Acts, detect.BeforeCall) &&
		unsaid(d.Vetoed, detect.AsOther) && unsaid(d.AfterFiring, detect.Keep)
}

// unsaid reports whether a word is empty or the default.
func unsaid[T ~string](word, byDefault T) bool { return word == "" || word == byDefault }

// trips compares the stops by a breaker with its plain model, and returns the first
// difference, or "".
func (p *play) trips(d *detect.Detector, b plainBreaker) string {
	for _, r := range p.view().runs {
		if p.Config.Scope != loop.ScopeSession {
			b = plainBreaker{at: b.at, byCall: b.byCall, within: b.within}
		}
		tripped := false
		for _, reply := range r.replies {
			if !reply.turn() {
				continue
			}
			calls, known := p.identities(reply)
			if !known {
				return "" // the model cannot compare these calls
			}
			tripped = b.turn(reply.in.At, calls)
			if tripped && p.vetoes() && vetoed(reply) {
				return "" // another detector may have removed a call from the count
			}
			if tripped {
				if problem := p.stoppedAt(r, reply, d.Name); problem != "" {
					return problem
				}
				if len(calls) > 1 || !vetoed(reply) {
					return "" // how a later run counts these calls is for the audit
				}
				b.vetoed(calls[0])
				break
			}
			for i, c := range reply.calls {
				if len(c.puts) > 0 && c.puts[0].e.Why == loop.Vetoed {
					b.vetoed(calls[i])
					known = known && !twice(calls, calls[i])
				}
			}
			if !known {
				return "" // the model cannot go on
			}
		}
		if r.outcome != nil && string(r.outcome.Stop) == d.Name && !tripped {
			return fmt.Sprintf("%s stopped the run, but no call came %d times in a row", d.Name, b.at)
		}
	}
	return ""
}

// vetoes reports whether a detector may veto without stopping the run.
func (p *play) vetoes() bool {
	for i := range p.Config.Detectors {
		d := &p.Config.Detectors[i]
		for _, r := range d.Do {
			if r.Act != detect.Stop && r.Act != detect.Nudge || len(d.Firings) > 0 {
				return true
			}
		}
	}
	return false
}

// vetoed reports whether one of a reply's calls was vetoed.
func vetoed(reply *replyView) bool {
	for _, c := range reply.calls {
		if len(c.puts) > 0 && c.puts[0].e.Why == loop.Vetoed {
			return true
		}
	}
	return false
}

func twice(calls []string, call string) bool {
	n := 0
	for _, c := range calls {
		if c == call {
			n++
		}
	}
	return n > 1
}

// stoppedAt returns the problem of a run that must stop at a reply, or "": none of
// the reply's calls may run, and no other turn may follow.
func (p *play) stoppedAt(r *runView, reply *replyView, by string) string {
	for _, c := range reply.calls {
		if len(c.tries) > 0 {
			return fmt.Sprintf("%s must stop the run at reply m%d, but its call c%d ran", by, reply.in.Ref.N, c.n)
		}
	}
	if r.asksAfter(reply) {
		return fmt.Sprintf("%s must stop the run at reply m%d, but it went on", by, reply.in.Ref.N)
	}
	return ""
}

// checkErrorLimit: the error limit trips exactly when the plain model does.
func checkErrorLimit(p *play) (string, bool) {
	cfg := &p.Config.Errors
	if cfg.MaxConsecutive == 0 || p.Script.Planner != loop.PlannerNative || p.Config.Contracts.Output {
		return "", false
	}
	e := plainErrors{most: cfg.MaxConsecutive, exceeded: cfg.Trip == loop.TripExceeded, any: cfg.Batch == loop.BatchAny}
	for _, r := range p.view().runs {
		if p.Config.Scope != loop.ScopeSession {
			e.failing = 0
		}
		tripped := false
		for _, reply := range r.replies {
			if reply.to != loop.ForReply || len(reply.calls) == 0 || len(reply.calls[0].puts) == 0 {
				continue
			}
			counted, failed := p.countFailed(reply)
			if tripped = e.turn(counted, failed); !tripped {
				continue
			}
			if last := reply.calls[len(reply.calls)-1]; r.asksFrom(last.puts[0].rec) {
				return fmt.Sprintf("%d turns in a row failed, up to that of m%d, but the run went on", e.failing, reply.in.Ref.N), true
			}
			break
		}
		if r.outcome != nil && r.outcome.Stop == loop.StopErrorLimit && !tripped {
			return fmt.Sprintf("the error limit of %d stopped the run after %d failing turns in a row", e.most, e.failing), true
		}
	}
	return "", true
}

// asksFrom reports whether the run asks for another turn in a record or after
// it.
func (r *runView) asksFrom(rec int) bool {
	for _, q := range r.requests {
		if q.rec >= rec && q.to == loop.ForReply {
			return true
		}
	}
	return false
}

// countFailed counts the calls of a batch that were considered (not not-started),
// and those of them that failed in a way that the config counts.
func (p *play) countFailed(reply *replyView) (counted, failed int) {
	for _, c := range reply.calls {
		if len(c.puts) == 0 || c.puts[0].e.Why == loop.NotStarted {
			continue
		}
		counted++
		if kind := p.errorKind(c); kind != "" && slices.Contains(p.Config.Errors.Kinds, kind) {
			failed++
		}
	}
	return counted, failed
}

func (p *play) errorKind(c *callView) loop.ErrorKind {
	switch put := c.puts[0].e; put.Why {
	case loop.Unknown:
		return loop.KindUnknown
	case loop.InvalidArgs:
		return loop.KindInvalid
	case loop.Denied:
		return loop.KindDenied
	case loop.Vetoed, loop.Refused:
		return loop.KindVetoed
	default:
		prefix := p.Config.Errors.TextPrefix
		switch {
		case put.Code != loop.None && put.Code != loop.NoResults:
			return loop.KindException
		case prefix != "" && c.last != nil && strings.HasPrefix(c.last.Text, prefix):
			return loop.KindText
		}
	}
	return ""
}

// identities returns a text for each call of a reply, equal for identical calls.
// known is false if identity cannot compare the arguments of a call.
func (p *play) identities(reply *replyView) (ids []string, known bool) {
	known = true
	for _, c := range reply.calls {
		args, seen := p.ids[c.args]
		if !seen {
			if p.ids == nil {
				p.ids = map[string]string{}
			}
			var plain bool
			if args, plain = identity(c.args); !plain {
				args = unknowable
			}
			p.ids[c.args] = args
		}
		if t := tool(p.Script, c.name); t != nil && t.Waits {
			ids = append(ids, waiting)
			continue
		}
		ids = append(ids, c.name+"\x00"+args)
		known = known && args != unknowable
	}
	return ids, known
}

// waiting replaces the identity of a call that waits.
const waiting = ""

// unknowable replaces the identity of arguments that identity cannot compare.
const unknowable = "?"

// identity returns a text that is equal for equal arguments: a JSON object with
// sorted keys, or the text itself if it is not an object. plain is false if
// encoding/json cannot read all of the object.
func identity(args string) (id string, plain bool) {
	if strings.TrimSpace(args) == "" {
		args = "{}"
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber()
	var object map[string]any
	if d.Decode(&object) != nil || object == nil {
		return "raw " + args, true
	}
	if _, err := d.Token(); err != io.EOF {
		return "raw " + args, true
	}
	text, err := json.Marshal(exact(object)) // sorts the keys
	if err != nil {
		return "raw " + args, true
	}
	// encoding/json drops the first of two equal keys, and replaces half a surrogate
	// pair.
	return "json " + string(text), !strings.Contains(args, `\ud`) && strings.Count(args, `"path"`) < 2
}

// exact writes the numbers of a value as fractions, so that equal numbers have equal
// texts.
func exact(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k := range v {
			v[k] = exact(v[k])
		}
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case json.Number:
		_, power, _ := strings.Cut(strings.ToLower(string(v)), "e")
		if len(power) > 4 {
			return v // its fraction would need too much memory
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return "number " + r.String()
		}
	}
	return v
}

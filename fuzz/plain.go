package fuzz

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// This file holds the plain model of two rules, the circuit breaker and the
// error limit: what they count, written as one would explain it. It shares no
// code with the loop, its detectors and its audit.

// A plainBreaker counts identical calls. With in a row by turns, a call's count
// is how often it stands in this turn and in the turns without a gap before it;
// by calls, how often it stands without another call in between.
type plainBreaker struct {
	at     int
	byCall bool
	streak map[string]int // by turns: how often each call of the last turn stands in a row
	last   string         // by calls
	times  int
}

// turn takes the calls of a turn, and reports whether the breaker trips.
func (b *plainBreaker) turn(calls []string) bool {
	most := 0
	now := map[string]int{}
	for _, c := range calls {
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
	b.streak = now
	return most >= b.at
}

// vetoed takes it back that a call of the last turn can equal another: a vetoed
// call equals none. It makes no difference to who counts by turns only where the
// call stands once in the turn; the caller gives up on the rest.
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

// turn takes how many calls of a turn counted at all and how many of these
// failed, and reports whether the limit trips.
func (e *plainErrors) turn(counted, failed int) bool {
	switch {
	case counted == 0:
		return false // nothing happened: the run is being stopped
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

// checkBreaker: every detector that only counts identical calls and stops trips
// exactly when the plain model says so.
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

// plainly gives the plain model of a detector, if there is one.
func plainly(d *detect.Detector) (plainBreaker, bool) {
	b := plainBreaker{byCall: d.Ends == detect.EndsNext}
	if len(d.Do) != 1 || d.Do[0].Act != detect.Stop || !b.byCall && !unsaid(d.Ends, detect.EndsTurn) {
		return b, false
	}
	b.at = d.Do[0].At
	lists := len(d.Key) + len(d.Counts) + len(d.Reset) + len(d.IgnoreArgs) + len(d.Firings) + len(d.Tools.Only) + len(d.Tools.Except)
	return b, lists == 0 && d.Memory == 0 && d.DistinctArgs == 0 && !d.Full && !d.OncePerTurn && !d.PriorOnly &&
		unsaid(d.Record, detect.PerCall) && unsaid(d.Match, detect.Streak) && unsaid(d.Acts, detect.BeforeCall) &&
		unsaid(d.Vetoed, detect.AsOther) && unsaid(d.AfterFiring, detect.Keep)
}

// unsaid reports whether a word is the one that is meant where none stands.
func unsaid[T ~string](word, meant T) bool { return word == "" || word == meant }

// trips compares when a breaker stopped a run with when it should have.
func (p *play) trips(d *detect.Detector, b plainBreaker) string {
	for _, r := range p.view().runs {
		if p.Config.Scope != loop.ScopeSession {
			b = plainBreaker{at: b.at, byCall: b.byCall}
		}
		tripped := false
		for _, reply := range r.replies {
			if !reply.turn() {
				continue
			}
			calls, known := p.identities(reply)
			if !known {
				return "" // the model cannot tell
			}
			tripped = b.turn(calls)
			if tripped && p.vetoes() && vetoed(reply) {
				return "" // another detector may have taken a call out of the count
			}
			if tripped {
				if problem := p.stoppedAt(r, reply, d.Name); problem != "" {
					return problem
				}
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
			return fmt.Sprintf("%s stopped the run, and no call was asked for %d times in a row", d.Name, b.at)
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

// stoppedAt says what is wrong where the run must have been stopped at a reply:
// none of its calls may run, and no other turn may follow.
func (p *play) stoppedAt(r *runView, reply *replyView, by string) string {
	for _, c := range reply.calls {
		if len(c.tries) > 0 {
			return fmt.Sprintf("%s must stop the run at reply m%d, and its call c%d ran", by, reply.in.Ref.N, c.n)
		}
	}
	if r.asksAfter(reply) {
		return fmt.Sprintf("%s must stop the run at reply m%d, and it went on", by, reply.in.Ref.N)
	}
	return ""
}

// checkErrorLimit: the error limit trips exactly when the plain model says so.
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
				return fmt.Sprintf("%d turns in a row failed, up to that of m%d, and the run went on", e.failing, reply.in.Ref.N), true
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

// countFailed counts the calls of a batch that came to something, and those
// that failed in a way that counts.
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

// identities gives a text for each call of a reply that is the same for
// identical calls; known is false where the plain way to read JSON cannot tell.
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
		ids = append(ids, c.name+"\x00"+args)
		known = known && args != unknowable
	}
	return ids, known
}

// unknowable is the identity of arguments of which the plain way cannot tell.
const unknowable = "?"

// identity gives a text that is the same for arguments that mean the same: of a
// JSON object its values with sorted keys, of anything else the text itself.
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
	// Where a key stands twice, or a string holds what is no character, encoding/json
	// sees less than there is.
	return "json " + string(text), !strings.Contains(args, `\ud`) && strings.Count(args, `"path"`) < 2
}

// exact writes the numbers of a value as fractions, so that equal ones are the
// same.
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
			return v // a fraction of it would fill the memory
		}
		if r, ok := new(big.Rat).SetString(string(v)); ok {
			return "number " + r.String()
		}
	}
	return v
}

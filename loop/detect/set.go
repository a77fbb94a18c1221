package detect

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"time"
)

// A Call is a call as the detectors see it. The loop sets the fields after the
// blank line when the batch is done.
type Call struct {
	Tool string
	Args string // the arguments as the model wrote them
	// ArgsHash is a hash of the canonical arguments, or of their text if they are
	// not a JSON object.
	ArgsHash uint64
	Fields   string // the canonical arguments, needed only if [Set.WantsFields] returns true
	Unknown  bool   // no tool has the name
	Invalid  bool   // the arguments are not a JSON object, or break the schema
	Waits    bool   // its tool sleeps, or polls with a delay: only detectors that name the tool watch it

	Text    string // the result or the error text, needed only if [Set.WantsText] returns true
	Success bool   // executed, and ended without an error
	Failed  bool   // not executed, or ended with an error
	Denied  bool   // its permission was denied

	hash   uint64 // of Text, once a detector has asked for it
	hashed bool
}

// textHash returns the hash of the text, which it computes once for all detectors.
func (c *Call) textHash() uint64 {
	if !c.hashed {
		c.hash, c.hashed = short(c.Text), true
	}
	return c.hash
}

// A Firing is the act of a detector whose count reached a rung.
type Firing struct {
	Detector *Detector
	Act      Act
	Count    int
	// Seen is how many records are alike when the batch is at its end: those that
	// Count has, and with PriorOnly and OncePerTurn those that it leaves out. The loop
	// says this number. It is 0 for all firings but the first of a list.
	Seen int
	Call int // the index in the batch of the call that made it fire; 0 for a whole turn
}

// A Set applies a list of detectors to the calls of one session. The zero Set has
// no detectors.
type Set struct {
	watchers []watcher
	calls    []Call
	at       time.Duration // of the present reply
	turn     int
	run      int
	fields   bool
	text     bool
}

// NewSet returns a set of detectors. They must be valid and must not change
// afterwards.
func NewSet(detectors []Detector) *Set {
	s := &Set{watchers: make([]watcher, len(detectors))}
	for i := range detectors {
		w := &s.watchers[i]
		w.init(&detectors[i])
		s.fields = s.fields || w.args != nil
		s.text = s.text || w.needsResult() || slices.Contains(w.Reset, OnResultChange)
	}
	return s
}

// Empty reports whether the set has no detectors.
func (s *Set) Empty() bool { return len(s.watchers) == 0 }

// WantsFields reports whether a detector reads [Call].Fields.
func (s *Set) WantsFields() bool { return s.fields }

// WantsText reports whether a detector reads [Call].Text.
func (s *Set) WantsText() bool { return s.text }

// Begin begins a run. If anew is true it drops all records.
func (s *Set) Begin(anew bool) {
	s.run++
	for i := range s.watchers {
		s.watchers[i].begin(anew)
	}
}

// Open shows a reply to the detectors: when it came, on any clock that does not go
// back, its text and its calls. The set keeps the slice until the next Open.
func (s *Set) Open(at time.Duration, text string, calls []Call) {
	s.at = at
	s.turn++
	s.calls = calls
	for i := range calls {
		calls[i].hashed = false
	}
	for i := range s.watchers {
		w := &s.watchers[i]
		if w.log == nil {
			w.log = make([]record, 0, max(16, 2*len(calls))) // room for a short run
		}
		w.forget()
		w.batch = len(w.log)
		if !w.perCall() {
			w.log = append(w.log, s.turnRecord(w, text))
			continue
		}
		for j := range calls {
			w.log = append(w.log, s.callRecord(w, &calls[j], text))
		}
	}
}

// Before asks the detectors that look before the batch runs about call i. It must
// be called for each i in order. The first firing is the one to carry out: it has
// the strongest act, and of equal ones it is the first in the list. Any others are
// of detectors that would also have stopped the run.
func (s *Set) Before(i int) []Firing { return s.find(i, false) }

// find asks the detectors that look at this moment about record i of the batch.
func (s *Set) find(i int, after bool) []Firing {
	var found, later []Firing // the one to carry out; others that would have ended the run
	best, record := -1, 0
	for j := range s.watchers {
		w := &s.watchers[j]
		at := w.batch + i
		if at >= len(w.log) || (w.Acts == AfterBatch) != after || w.stopped == s.turn {
			continue
		}
		act, n := w.judge(at)
		if act == "" {
			continue
		}
		f := Firing{Detector: w.Detector, Act: act, Count: n, Call: i}
		if act == Stop {
			w.stopped = s.turn
		}
		switch {
		case best < 0:
			found = append(found, f)
		case act.strength() > found[0].Act.strength():
			if found[0].Act.ends() {
				later = append(later, found[0])
			}
			found[0] = f
		default:
			if act.ends() {
				later = append(later, f)
			}
			continue
		}
		best, record = j, at
	}
	if best >= 0 {
		found[0].Seen = s.watchers[best].seen(record, found[0].Count)
		s.watchers[best].fire(record)
	}
	return append(found, later...)
}

// Veto records that call i of the batch was vetoed.
func (s *Set) Veto(i int) {
	for j := range s.watchers {
		if w := &s.watchers[j]; w.perCall() {
			w.log[w.batch+i].class |= vetoed
		}
	}
}

// Close must be called when the results of the batch are in its calls. It returns
// the firings of the detectors that look then, for each record in order, as
// [Set.Before] does.
func (s *Set) Close() []Firing {
	for j := range s.watchers {
		s.complete(&s.watchers[j])
	}
	var found []Firing
	for i := range max(1, len(s.calls)) {
		found = append(found, s.find(i, true)...)
	}
	return found
}

// callRecord returns the record of a call.
func (s *Set) callRecord(w *watcher, c *Call, text string) record {
	r := record{tool: w.hash(c.Tool), args: w.argsKey(c), at: s.at, turn: s.turn, run: s.run}
	r.known = w.knownKey(c, r.tool, r.args, text)
	if c.Unknown {
		r.class |= unknown
	}
	if c.Invalid {
		r.class |= invalid
	}
	if c.Tool == "" {
		r.class |= empty
	}
	if !w.watches(c) {
		r.class |= hidden
	}
	return r
}

// turnRecord returns the record of a turn.
func (s *Set) turnRecord(w *watcher, text string) record {
	r := record{at: s.at, turn: s.turn, run: s.run}
	if len(s.calls) == 0 {
		r.class |= textOnly
		if text == "" {
			r.class |= empty
		}
	}
	if !s.watched(w) {
		r.class |= hidden
	}
	r.known = s.turnKey(w, text, func(c *Call) uint64 { return w.knownKey(c, w.hash(c.Tool), w.argsKey(c), "") })
	return r
}

// watched reports whether the detector watches any part of the reply.
func (s *Set) watched(w *watcher) bool {
	if len(s.calls) == 0 {
		return w.Record == PerReply
	}
	for i := range s.calls {
		if w.watches(&s.calls[i]) {
			return true
		}
	}
	return false
}

// turnKey returns the key of a turn, from its text and the keys of its calls.
func (s *Set) turnKey(w *watcher, text string, of func(*Call) uint64) uint64 {
	var keys []uint64
	for i := range s.calls {
		if c := &s.calls[i]; w.watches(c) {
			keys = append(keys, of(c))
		}
	}
	if w.Order == AnyOrder {
		slices.Sort(keys)
	}
	var key uint64
	if slices.Contains(w.parts(), Text) {
		key = short(text)
	}
	for _, k := range keys {
		key = mix(key, k)
	}
	return key
}

// complete adds the results to the records of the batch.
func (s *Set) complete(w *watcher) {
	if !w.perCall() {
		s.completeTurn(w)
		return
	}
	for i := range s.calls {
		c, r := &s.calls[i], &w.log[w.batch+i]
		r.class |= ended
		if c.Failed {
			r.class |= failed
		}
		if c.Success {
			r.class |= success
		}
		if c.Denied {
			r.class |= denied
		}
		if w.onResultChange {
			r.result = w.resultKey(c)
		}
		r.late = w.lateKey(c)
	}
}

// completeTurn adds the results to the record of the turn. It is a success if all
// calls succeeded, and failed if all failed.
func (s *Set) completeTurn(w *watcher) {
	r := &w.log[w.batch]
	r.class |= ended
	if len(s.calls) > 0 {
		r.class |= failed | success
	}
	for i := range s.calls {
		if s.calls[i].Failed {
			r.class &^= success
		} else {
			r.class &^= failed
		}
	}
	if w.needsResult() {
		r.late = s.turnKey(w, "", func(c *Call) uint64 {
			return mix(w.knownKey(c, w.hash(c.Tool), w.argsKey(c), ""), w.lateKey(c))
		})
	}
}

// short returns a SHA-256 cut to 64 bits, which is enough for the records of one
// session.
func short(s string) uint64 {
	var buf [256]byte // so that a text of the usual length allocates nothing
	return shortBytes(append(buf[:0], s...))
}

func shortBytes(b []byte) uint64 {
	sum := sha256.Sum256(b)
	return binary.LittleEndian.Uint64(sum[:])
}

// mix returns a hash of a and b in this order.
func mix(a, b uint64) uint64 {
	x := a*0x9e3779b97f4a7c15 + b
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

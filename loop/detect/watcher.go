package detect

import (
	"slices"
	"time"
)

// A watcher is a detector with the log of its records.
type watcher struct {
	*Detector
	rungs  []Rung   // Do, sorted by At
	vetoed VetoedAs // Vetoed, never empty

	counted class // the union of Counts
	all     bool  // every record counts

	// Reset, as flags.
	onSuccess, onToolSuccess, onUserMessage, onResultChange bool

	log     []record
	batch   int                      // the index in log at which the present batch begins
	cleared int                      // the index in log before which records do not count any more
	fired   int                      // firings since the last user message
	stopped int                      // the turn in which it last wanted to stop the run
	reached int                      // the rung that the last judge reached
	key     uint64                   // the key that the last judge counted
	alike   int                      // the records of its streak, see seen
	tools   map[string]uint64        // see hash
	nudged  map[uint64]int           // by the key of a streak, one more than the rung at which it last fired
	args    *argsFilter              // nil without IgnoreArgs and Round
	leave   *leaver                  // nil without IgnoreResult
	tail    []*record                // see look
	present int                      // the index in log from which look began
	before  int                      // the index in log of the next record to go back to
	most    map[uint64]int           // see window
	latest  map[uint64]time.Duration // see window
}

// A record is a call or a turn in the log.
type record struct {
	known  uint64 // the part of the key that the request determines
	late   uint64 // the part of the key that the result determines, 0 before that
	tool   uint64
	args   uint64 // tool and args together identify a call for OnResultChange
	result uint64
	at     time.Duration
	turn   int
	run    int
	class  class
}

// class is a set of properties of a record.
type class uint16

const (
	hidden  class = 1 << iota // of a tool that the detector does not watch
	ended                     // it has its result
	success                   // it succeeded
	failed                    // not executed, or ended with an error
	unknown
	invalid
	denied
	empty
	textOnly
	vetoed
)

// has reports whether the set contains all of some.
func (c class) has(some class) bool { return c&some == some }

func (w *watcher) init(d *Detector) {
	w.Detector = d
	w.rungs, w.vetoed = d.rungs(), d.VetoedAs()
	w.all = len(d.Counts) == 0
	for _, c := range d.Counts {
		w.counted |= classOf[c]
		w.all = w.all || c == All
	}
	w.onSuccess, w.onToolSuccess = slices.Contains(d.Reset, OnSuccess), slices.Contains(d.Reset, OnToolSuccess)
	w.onUserMessage, w.onResultChange = slices.Contains(d.Reset, OnUserMessage), slices.Contains(d.Reset, OnResultChange)
	w.args, w.leave = newArgsFilter(d), newLeaver(d)
}

// begin begins a run. If anew is true it drops all records.
func (w *watcher) begin(anew bool) {
	w.fired, w.batch = 0, len(w.log)
	if anew {
		w.log, w.batch, w.cleared = w.log[:0], 0, 0
		clear(w.nudged)
	}
}

// parts returns the parts of the key.
func (w *watcher) parts() []Part {
	if len(w.Key) == 0 {
		return defaultKey
	}
	return w.Key
}

var defaultKey = []Part{Tool, Args}

// counts reports whether the record counts.
func (w *watcher) counts(s *record) bool {
	if s.class.has(hidden) || s.class.has(vetoed) && w.vetoed == NotRecorded {
		return false
	}
	return w.all || s.class&w.counted != 0
}

var classOf = map[Class]class{Failed: failed, Unknown: unknown, Invalid: invalid,
	Denied: denied, Empty: empty, TextOnly: textOnly}

// resets reports whether record s resets the count of cur's key.
func (w *watcher) resets(s, cur *record) bool {
	if s.class.has(success) && (w.onSuccess || w.onToolSuccess && s.tool == cur.tool) {
		return true
	}
	return w.onUserMessage && s.run != cur.run
}

// needsResult reports whether the key has a part that only the result determines.
func (w *watcher) needsResult() bool {
	return slices.Contains(w.parts(), Result) || slices.Contains(w.parts(), Error)
}

// judge returns the act of the detector at record i, "" for none, and the count.
func (w *watcher) judge(i int) (act Act, n int) {
	if !w.counts(&w.log[i]) && !w.PriorOnly || w.log[i].class.has(hidden) {
		return "", 0
	}
	n, w.key = w.count(i)
	w.reached = w.rungAt(n)
	if w.reached < 0 {
		delete(w.nudged, w.key)
		return "", n
	}
	act = w.rungs[w.reached].Act
	if len(w.Firings) > 0 {
		act = w.Firings[min(w.fired, len(w.Firings)-1)]
	} else if act == Nudge && w.nudged[w.key] > w.reached {
		return "", n
	}
	return act, n
}

// rungAt returns the index of the highest rung that a count reaches, -1 for none.
func (w *watcher) rungAt(n int) int {
	rung := len(w.rungs) - 1
	for rung >= 0 && w.rungs[rung].At > n {
		rung--
	}
	return rung
}

// fire records that the detector fired at record i.
func (w *watcher) fire(i int) {
	w.fired++
	if w.nudged == nil {
		w.nudged = map[uint64]int{}
	}
	w.nudged[w.key] = w.reached + 1
	if w.AfterFiring == Clear {
		w.cleared = i + 1
	}
}

// forget drops records that Memory does not reach, so that the log of a long
// session stays short.
func (w *watcher) forget() {
	keep := 4*w.Memory + 64
	if w.Memory == 0 || len(w.log) < 2*keep {
		return
	}
	kept, i := 0, len(w.log)
	for i > 0 && kept <= w.Memory {
		i--
		if w.counts(&w.log[i]) {
			kept++
		}
	}
	if drop := min(i, len(w.log)-keep); drop > 0 {
		w.log = append(w.log[:0], w.log[drop:]...)
		w.cleared = max(0, w.cleared-drop)
	}
}

// watches reports whether the detector watches the call's tool.
func (w *watcher) watches(c *Call) bool {
	if len(w.Tools.Only) == 0 && c.Waits || len(w.Tools.Only) > 0 && !slices.Contains(w.Tools.Only, c.Tool) {
		return false
	}
	return !slices.Contains(w.Tools.Except, c.Tool)
}

// hash returns short of a tool's name, which it computes once for each tool.
func (w *watcher) hash(tool string) uint64 {
	h, ok := w.tools[tool]
	if !ok {
		h = short(tool)
		if w.tools == nil || len(w.tools) > 1000 {
			w.tools = map[string]uint64{}
		}
		w.tools[tool] = h
	}
	return h
}

// argsKey returns a hash that is equal for calls with the same arguments.
func (w *watcher) argsKey(c *Call) uint64 {
	if w.args != nil && c.Fields != "" {
		return w.args.hash(c.Fields)
	}
	return c.ArgsHash
}

// knownKey returns a hash of the parts of the key that the request determines.
func (w *watcher) knownKey(c *Call, tool, args uint64, text string) uint64 {
	var key uint64
	for _, part := range w.parts() {
		switch part {
		case Tool:
			key = mix(key, tool)
		case Args:
			key = mix(key, args)
		case RawArgs:
			key = mix(key, short(c.Args))
		case Text:
			key = mix(key, short(text))
		}
	}
	return key
}

// lateKey returns a hash of the parts of the key that the result determines.
func (w *watcher) lateKey(c *Call) uint64 {
	var key uint64
	for _, part := range w.parts() {
		switch {
		case part == Result, part == Error && c.Failed && (w.ErrorChars == 0 || len(c.Text) <= w.ErrorChars):
			key = mix(key, w.resultKey(c))
		case part == Error && c.Failed:
			key = mix(key, short(firstChars(w.rest(c), w.ErrorChars)))
		case part == Error:
			key = mix(key, noText)
		}
	}
	return key
}

// resultKey returns a hash that is equal for equal results.
func (w *watcher) resultKey(c *Call) uint64 {
	if w.leave == nil {
		return c.textHash()
	}
	return w.leave.hash(c.Text, c.textHash())
}

// rest returns the result of a call without what IgnoreResult leaves out.
func (w *watcher) rest(c *Call) string {
	if w.leave == nil {
		return c.Text
	}
	return w.leave.rest(c.Text)
}

// noText is the hash of an empty text.
var noText = short("")

// firstChars returns the first n characters of text, or all of it if n is 0.
func firstChars(text string, n int) string {
	if n == 0 || len(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

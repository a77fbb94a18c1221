package detect

import (
	"cmp"
	"encoding/json"
	"slices"
)

// A watcher is a detector at work: a log of what it has seen.
type watcher struct {
	*Detector
	rungs []Rung // by rising count

	counted class // the classes of Counts
	all     bool  // Counts leaves none out

	log     []record
	batch   int    // where the present batch begins in log
	cleared int    // what lies before has been forgotten
	fired   int    // firings since the last user message
	stopped int    // the turn in which it last wanted to stop the run
	reached int    // the rung that the last judgement reached
	key     uint64 // of the streak that it looked at
	tools   map[string]uint64
	nudged  map[uint64]int  // rungs nudged in the present streak, by its key
	ignore  map[string]bool // IgnoreArgs
	tail    []*record       // see look
	present int             // where in log the tail was looked at from
	before  int             // what in log comes before the tail
	most    map[uint64]int  // see window
}

// seen is one record.
type record struct {
	known  uint64 // the key, as far as the request tells it
	late   uint64 // the rest of it, once the result is there
	tool   uint64
	args   uint64 // of the tool: with tool, what OnResultChange calls the same call
	result uint64
	turn   int
	run    int
	class  class
}

// class is a set of what is known of a record.
type class uint16

const (
	hidden  class = 1 << iota // of a tool that the detector does not watch
	ended                     // its result is there
	success                   // it succeeded
	failed                    // not executed, or ended with an error
	unknown
	invalid
	denied
	empty
	textOnly
	vetoed
)

// has reports whether all of these are in the set.
func (c class) has(some class) bool { return c&some == some }

func (w *watcher) init(d *Detector) {
	w.Detector = d
	w.rungs = slices.Clone(d.Do)
	slices.SortStableFunc(w.rungs, func(a, b Rung) int { return cmp.Compare(a.At, b.At) })
	w.all = len(d.Counts) == 0
	for _, c := range d.Counts {
		w.counted |= classOf[c]
		w.all = w.all || c == All
	}
	for _, name := range d.IgnoreArgs {
		if w.ignore == nil {
			w.ignore = map[string]bool{}
		}
		w.ignore[name] = true
	}
}

// begin begins a run; anew forgets all that was recorded.
func (w *watcher) begin(anew bool) {
	w.fired, w.batch = 0, len(w.log)
	if anew {
		w.log, w.batch, w.cleared = w.log[:0], 0, 0
		clear(w.nudged)
	}
}

func (w *watcher) perCall() bool { return w.Record == "" || w.Record == PerCall }

// parts lists the parts of the key.
func (w *watcher) parts() []Part {
	if len(w.Key) == 0 {
		return defaultKey
	}
	return w.Key
}

var defaultKey = []Part{Tool, Args}

// counts reports whether the record is one that the detector counts.
func (w *watcher) counts(s *record) bool {
	if s.class.has(hidden) || s.class.has(vetoed) && w.Vetoed == NotRecorded {
		return false
	}
	return w.all || s.class&w.counted != 0
}

var classOf = map[Class]class{Failed: failed, Unknown: unknown, Invalid: invalid,
	Denied: denied, Empty: empty, TextOnly: textOnly}

// resets reports whether the record ends every count of cur's key.
func (w *watcher) resets(s, cur *record) bool {
	for _, r := range w.Reset {
		switch r {
		case OnSuccess:
			if s.class.has(success) {
				return true
			}
		case OnToolSuccess:
			if s.class.has(success) && s.tool == cur.tool {
				return true
			}
		case OnUserMessage:
			if s.run != cur.run {
				return true
			}
		}
	}
	return false
}

func (w *watcher) needsResult() bool {
	return slices.Contains(w.parts(), Result) || slices.Contains(w.parts(), Error)
}

// judge gives what the detector wants to do at record i, and the count.
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

// rungAt is the highest rung that a count reaches, -1 for none.
func (w *watcher) rungAt(n int) int {
	rung := len(w.rungs) - 1
	for rung >= 0 && w.rungs[rung].At > n {
		rung--
	}
	return rung
}

// fire records that the detector acted at record i.
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

// forget drops what lies beyond the memory, so that a long session does not
// grow without end.
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

// without gives the hash of arguments without some top-level keys.
func without(canonical string, ignore map[string]bool) uint64 {
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(canonical), &fields) != nil {
		return short(canonical)
	}
	for name := range ignore {
		delete(fields, name)
	}
	rest, _ := json.Marshal(fields)
	return short(string(rest))
}

// watches reports whether the detector looks at the calls of a tool.
func (w *watcher) watches(tool string) bool {
	return (len(w.Tools.Only) == 0 || slices.Contains(w.Tools.Only, tool)) && !slices.Contains(w.Tools.Except, tool)
}

// hash is short for the name of a tool, computed once for each.
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

// argsKey is what makes the arguments of two calls the same.
func (w *watcher) argsKey(c *Call) uint64 {
	if w.ignore != nil && !c.Invalid {
		return without(c.Fields, w.ignore)
	}
	return c.ArgsHash
}

// knownKey hashes the parts of the key that the request tells.
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

// lateKey hashes the parts of the key that the result tells.
func (w *watcher) lateKey(c *Call) uint64 {
	var key uint64
	for _, part := range w.parts() {
		switch part {
		case Result:
			key = mix(key, short(c.Text))
		case Error:
			text := ""
			if c.Failed {
				text = firstChars(c.Text, w.ErrorChars)
			}
			key = mix(key, short(text))
		}
	}
	return key
}

// firstChars cuts text to its first n characters; 0 = whole.
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

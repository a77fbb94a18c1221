package loop

// A watcher is a detector at work.
type watcher struct {
	*Detector
	at int // the lowest rung

	last  signature // EndsNext: the call before
	count int       // EndsNext: how often it came in a row

	// EndsTurn: how often each call came in a row up to the turn before, and up
	// to this one.
	before, here map[signature]int
}

func newWatchers(detectors []Detector) []watcher {
	ws := make([]watcher, len(detectors))
	for i := range detectors {
		w := &ws[i]
		w.Detector = &detectors[i]
		w.at = w.Do[0].At
		for _, r := range w.Do {
			w.at = min(w.at, r.At)
		}
		w.before, w.here = map[signature]int{}, map[signature]int{}
	}
	return ws
}

// reset forgets all.
func (w *watcher) reset() {
	w.count = 0
	clear(w.before)
	clear(w.here)
}

// turn begins a turn.
func (w *watcher) turn() {
	w.before, w.here = w.here, w.before
	clear(w.here)
}

// see records a call and gives the length of its streak.
func (w *watcher) see(sig signature) int {
	if w.Ends == EndsNext {
		if w.count == 0 || sig != w.last {
			w.last, w.count = sig, 0
		}
		w.count++
		return w.count
	}
	n, ok := w.here[sig]
	if !ok {
		n = w.before[sig]
	}
	w.here[sig] = n + 1
	return n + 1
}

// detect shows the batch to the detectors. One that trips vetoes every call
// that nothing has blocked yet.
func (m *Machine) detect() {
	for j := range m.watchers {
		w := &m.watchers[j]
		w.turn()
		tripped := false
		for i := range m.batch {
			c := &m.batch[i]
			n := w.see(c.sig)
			if n < w.at || tripped {
				continue
			}
			tripped = true
			reason := reasonBreaker(w.Name, c.Name, n)
			m.decide(Stop(w.Name), reason, reason)
			m.blockAll(Vetoed, reason)
		}
	}
}

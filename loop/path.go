package loop

import "strings"

// A Path says to which session of a trace a record belongs. The zero value is the
// session that the trace is of. A sub-run that is a session of its own has the path of
// the session that called it, the try of the call and a slash: c2#1/ is the sub-run
// that the first try of c2 started, and c2#1/c1#1/ one that this sub-run started.
type Path string

// Sub returns the path of the sub-run that a try of the session starts.
func (p Path) Sub(try Ref) Path { return p + Path(try.String()) + "/" }

// Depth returns how many sessions the session is nested in: 0 for the zero Path.
func (p Path) Depth() int { return strings.Count(string(p), "/") }

// Caller returns the path of the session that called the sub-run, and the try of its
// call. Both are zero for the zero Path and for a text that is not a path.
func (p Path) Caller() (Path, Ref) {
	above := p[:1+strings.LastIndexByte(strings.TrimSuffix(string(p), "/"), '/')]
	l := traceLine{text: string(p[len(above):])}
	try, _ := l.ref()
	if l.err != nil || above.Sub(try) != p {
		return "", Ref{}
	}
	return above, try
}

// Own returns the records of the session that the trace is of, without those of its
// sub-runs. It returns the trace itself if there are none of sub-runs.
func (t Trace) Own() Trace { return t.Of("") }

// Of returns the records of the session with that path, as the trace of a session: the
// sub-runs that it started have the paths that they have from there, and are not among
// them. Times are those of t.
func (t Trace) Of(p Path) Trace {
	n := 0
	for i := range t {
		if t[i].Path == p {
			n++
		}
	}
	if n == len(t) && p == "" {
		return t
	}
	own := make(Trace, 0, n)
	for i := range t {
		if t[i].Path == p {
			own = append(own, Record{In: t[i].In, Effects: t[i].Effects})
		}
	}
	return own
}

// End returns the outcome of the last run of the session that has ended, or nil. Those
// of sub-runs do not count.
func (t Trace) End() *Outcome {
	for i := len(t) - 1; i >= 0; i-- {
		if t[i].Path != "" {
			continue
		}
		for j := range t[i].Effects {
			if out := t[i].Effects[j].Outcome; out != nil {
				return out
			}
		}
	}
	return nil
}

// Subs returns the paths of all sub-runs that have records, in the order in which
// they began.
func (t Trace) Subs() []Path {
	var paths []Path
	seen := map[Path]bool{}
	for i := range t {
		if p := t[i].Path; p != "" && !seen[p] {
			seen[p] = true
			paths = append(paths, p)
		}
	}
	return paths
}

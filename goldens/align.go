package goldens

// An edit is a step from a golden to a trace. It takes out line a of the golden before
// line b of the trace, or puts in line b of the trace before line a of the golden.
type edit struct {
	a, b int
	out  bool
}

// behind returns the positions in the two after the edit.
func (e edit) behind() (a, b int) {
	if e.out {
		return e.a + 1, e.b
	}
	return e.a, e.b + 1
}

// maxEdits bounds the edits that a search finds, and maxPlaces the pairs of positions
// that it visits. If a search needs more, only the first difference is reported.
const (
	maxEdits  = 60
	maxPlaces = 1 << 18
)

// An alignment is two lists of n and m lines, which of them are equal, and which edits
// are free.
type alignment struct {
	n, m            int
	equal           func(a, b int) bool
	freeOut, freeIn func(i int) bool // whether an allowance or the mode permits the edit
}

// A spot is a pair of positions that a search has reached, after equal lines.
type spot struct {
	a, b int
	last *spot // the spot before
	edit edit  // the edit from last to here
	free bool
}

// shortest returns the smallest list of edits that are not free. ok is false if the
// search would exceed maxEdits or maxPlaces. It visits positions in the order of the
// number of edits that lead there. It always keeps equal lines, since taking one out
// saves nothing later.
func (al *alignment) shortest() (edits []edit, ok bool) {
	seen := map[[2]int]bool{}
	now := []*spot{al.slide(&spot{})}
	for range maxEdits + 1 {
		var next []*spot
		for i := 0; i < len(now); i++ {
			s := now[i]
			if at := [2]int{s.a, s.b}; seen[at] {
				continue
			} else if seen[at] = true; len(seen) > maxPlaces {
				return nil, false
			}
			if s.a == al.n && s.b == al.m {
				return s.path(), true
			}
			for _, e := range al.edits(s) {
				if e.free {
					now = append(now, e)
				} else {
					next = append(next, e)
				}
			}
		}
		now = next
	}
	return nil, false
}

// edits returns the spots that one edit leads to.
func (al *alignment) edits(s *spot) []*spot {
	var all []*spot
	if s.a < al.n {
		all = append(all, al.slide(&spot{a: s.a + 1, b: s.b, last: s, edit: edit{a: s.a, b: s.b, out: true}, free: al.freeOut(s.a)}))
	}
	if s.b < al.m {
		all = append(all, al.slide(&spot{a: s.a, b: s.b + 1, last: s, edit: edit{a: s.a, b: s.b}, free: al.freeIn(s.b)}))
	}
	return all
}

// slide moves a spot past all lines that are equal.
func (al *alignment) slide(s *spot) *spot {
	for s.a < al.n && s.b < al.m && al.equal(s.a, s.b) {
		s.a, s.b = s.a+1, s.b+1
	}
	return s
}

// path returns the edits that led to a spot and were not free.
func (s *spot) path() []edit {
	var edits []edit
	for ; s.last != nil; s = s.last {
		if !s.free {
			edits = append(edits, s.edit)
		}
	}
	for i, j := 0, len(edits)-1; i < j; i, j = i+1, j-1 {
		edits[i], edits[j] = edits[j], edits[i]
	}
	return edits
}

// first returns the edits of one line at the first place where lines are not equal and
// no edit is free. It is used if shortest fails.
func (al *alignment) first() []edit {
	s := &spot{}
	for {
		al.slide(s)
		switch {
		case s.b < al.m && al.freeIn(s.b):
			s.b++
		case s.a < al.n && al.freeOut(s.a):
			s.a++
		default:
			return al.replace(s.a, s.b)
		}
	}
}

func (al *alignment) replace(a, b int) (edits []edit) {
	if a < al.n {
		edits = append(edits, edit{a: a, b: b, out: true})
		a++
	}
	if b < al.m {
		edits = append(edits, edit{a: a, b: b})
	}
	return edits
}

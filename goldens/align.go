package goldens

// An edit turns a golden into a trace: it takes out line a of the golden, or
// puts in line b of the trace. The other of the two says where.
type edit struct {
	a, b int
	out  bool
}

// behind gives where the two stand after the edit.
func (e edit) behind() (a, b int) {
	if e.out {
		return e.a + 1, e.b
	}
	return e.a, e.b + 1
}

// maxEdits is how many edits are looked for, maxPlaces how long: what differs
// more differs as a whole.
const (
	maxEdits  = 60
	maxPlaces = 1 << 18
)

// An alignment is two lists of lines, and what is equal and free in them.
type alignment struct {
	n, m            int
	equal           func(a, b int) bool
	freeOut, freeIn func(i int) bool // an edit that costs nothing: an allowance or the mode permits it
}

// A spot is a pair of places that a search has come to, behind equal lines.
type spot struct {
	a, b int
	last *spot // before
	edit edit  // that led here from there
	free bool
}

// shortest finds the edits that are not free, as few as can be; free ones may
// stand between them. ok is false if there are too many to be found. It searches
// the places by the number of edits that they take, equal lines always being
// kept: a line that could be kept and is taken out saves nothing later.
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

// edits gives what can be done at a spot.
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

// slide goes on behind all lines that are equal.
func (al *alignment) slide(s *spot) *spot {
	for s.a < al.n && s.b < al.m && al.equal(s.a, s.b) {
		s.a, s.b = s.a+1, s.b+1
	}
	return s
}

// path gives the edits that led to a spot and were not free.
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

// first gives the first place where nothing but an edit leads on, as the edits of
// one line there. It is for what differs too much.
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

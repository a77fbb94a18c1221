package secrets

// An automaton finds many words in a text at once, without regard to the case
// of ASCII letters.
type automaton struct {
	class [256]uint8 // of a byte: 0 is in no word
	width int        // the number of classes
	next  []int32    // the state after a state and a class
	ends  [][]int32  // the words that end in a state
}

// newAutomaton makes the automaton of words, which are known by their places.
func newAutomaton(words []string) *automaton {
	a := &automaton{width: 1}
	for _, w := range words {
		for i := range len(w) {
			if c := lower(w[i]); a.class[c] == 0 {
				a.class[c] = uint8(a.width)
				a.width++
			}
		}
	}
	for c := byte('A'); c <= 'Z'; c++ {
		a.class[c] = a.class[lower(c)]
	}
	a.state()
	for n, w := range words {
		s := int32(0)
		for i := range len(w) {
			at := int(s)*a.width + int(a.class[w[i]])
			if a.next[at] == 0 {
				a.next[at] = a.state()
			}
			s = a.next[at]
		}
		a.ends[s] = append(a.ends[s], int32(n))
	}
	a.link()
	return a
}

// state adds a state.
func (a *automaton) state() int32 {
	a.next = append(a.next, make([]int32, a.width)...)
	a.ends = append(a.ends, nil)
	return int32(len(a.ends) - 1)
}

// link completes the transitions: from every state, for every class, to where the
// word goes on, or else to the state of the longest suffix that begins a word.
func (a *automaton) link() {
	fail := make([]int32, len(a.ends))
	queue := []int32{0}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for c := 1; c < a.width; c++ {
			at := int(s)*a.width + c
			shorter := int32(0)
			if s != 0 {
				shorter = a.next[int(fail[s])*a.width+c]
			}
			if t := a.next[at]; t == 0 {
				a.next[at] = shorter
			} else {
				fail[t] = shorter
				a.ends[t] = append(a.ends[t], a.ends[shorter]...)
				queue = append(queue, t)
			}
		}
	}
}

// scan calls hit with every word in a text and its end, until hit returns false.
func (a *automaton) scan(text string, hit func(word int32, end int) bool) {
	s := int32(0)
	for i := range len(text) {
		s = a.next[int(s)*a.width+int(a.class[text[i]])]
		for _, w := range a.ends[s] {
			if !hit(w, i+1) {
				return
			}
		}
	}
}

// any reports whether a text holds one of the words.
func (a *automaton) any(text string) bool {
	found := false
	a.scan(text, func(int32, int) bool { found = true; return false })
	return found
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

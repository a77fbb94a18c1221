package goldens

import (
	"math/rand/v2"
	"testing"
)

// cheapest is the least number of edits that are not free, by the plainest
// method: a table over all pairs of beginnings.
func cheapest(a, b []int, freeOut, freeIn func(int) bool) int {
	cost := func(free bool) int {
		if free {
			return 0
		}
		return 1
	}
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			if i == 0 && j == 0 {
				continue
			}
			best := 1 << 30
			if i > 0 {
				best = min(best, table[i-1][j]+cost(freeOut(a[i-1])))
			}
			if j > 0 {
				best = min(best, table[i][j-1]+cost(freeIn(b[j-1])))
			}
			if i > 0 && j > 0 && a[i-1] == b[j-1] {
				best = min(best, table[i-1][j-1])
			}
			table[i][j] = best
		}
	}
	return table[len(a)][len(b)]
}

// The edit is the shortest that there is, and it does turn one into the other.
func TestShortestEdit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	draw := func() []int {
		list := make([]int, r.IntN(14))
		for i := range list {
			list[i] = r.IntN(4)
		}
		return list
	}
	for range 20_000 {
		a, b := draw(), draw()
		out, in := r.IntN(5), r.IntN(5) // what may be taken out, what may be put in; 4 = nothing
		freeOut, freeIn := func(v int) bool { return v == out }, func(v int) bool { return v == in }
		al := &alignment{n: len(a), m: len(b),
			equal:   func(i, j int) bool { return a[i] == b[j] },
			freeOut: func(i int) bool { return freeOut(a[i]) },
			freeIn:  func(j int) bool { return freeIn(b[j]) },
		}
		edits, ok := al.shortest()
		if want := cheapest(a, b, freeOut, freeIn); !ok || len(edits) != want {
			t.Fatalf("%v to %v with %d free to go and %d to come: %d edits, want %d", a, b, out, in, len(edits), want)
		}
		if !leads(a, b, edits, freeOut, freeIn) {
			t.Fatalf("%v to %v with %d free to go and %d to come: %v does not lead there", a, b, out, in, edits)
		}
	}
}

// leads reports whether the edits, in their order, with free ones between them,
// turn a into b.
func leads(a, b []int, edits []edit, freeOut, freeIn func(int) bool) bool {
	done := map[int]bool{}
	for _, e := range edits {
		if e.out {
			done[e.a] = true
		} else {
			done[-1-e.b] = true
		}
	}
	var restA, restB []int
	for i, v := range a {
		if !done[i] {
			restA = append(restA, v)
		}
	}
	for j, v := range b {
		if !done[-1-j] {
			restB = append(restB, v)
		}
	}
	return cheapest(restA, restB, freeOut, freeIn) == 0
}

// What differs altogether is not searched for ever.
func TestEditIsBounded(t *testing.T) {
	never := func(int) bool { return false }
	al := &alignment{n: 1 << 20, m: 1 << 20, equal: func(int, int) bool { return false }, freeOut: never, freeIn: never}
	if _, ok := al.shortest(); ok {
		t.Error("aligned two million lines that all differ")
	}
	always := func(int) bool { return true }
	al = &alignment{n: 1 << 20, m: 1 << 20, equal: func(int, int) bool { return false }, freeOut: always, freeIn: never}
	if _, ok := al.shortest(); ok {
		t.Error("aligned a million lines that are all new")
	}
	// Exactly as many as are looked for, and one more.
	for n, want := range map[int]bool{maxEdits: true, maxEdits + 1: false} {
		al = &alignment{n: n, equal: func(int, int) bool { return false }, freeOut: never, freeIn: never}
		if edits, ok := al.shortest(); ok != want || ok && len(edits) != n {
			t.Errorf("%d lines out: %d edits, found %v, want %v", n, len(edits), ok, want)
		}
	}
}

package text

import (
	"slices"
	"strings"
)

// DidYouMean returns a question about the names [Nearest] to word: "did you mean run,
// report or replay?". It returns "" if there are none.
func DidYouMean(word string, names []string) string {
	near := Nearest(word, names)
	if len(near) == 0 {
		return ""
	}
	for i, name := range near {
		near[i] = Line(name)
	}
	return "did you mean " + AnyOf(near) + "?"
}

// AnyOf joins words, at least one: a, b or c.
func AnyOf(words []string) string {
	last := len(words) - 1
	if last == 0 {
		return words[0]
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Nearest returns the names that need the fewest edits to become word, sorted, and at
// most three of them. It returns none if they need more edits than a third of the
// letters of word, but always allows one edit. A name that contains word is one edit
// away if word has three letters or more.
func Nearest(word string, names []string) []string {
	const most = 3
	if len(word) > maxWord {
		return nil
	}
	w := []rune(strings.ToLower(word))
	best := max(1, len(w)/3)
	var near []string
	for _, name := range names {
		n := []rune(strings.ToLower(name))
		if len(n) > maxWord {
			continue
		}
		d := distance(w, n)
		if len(w) >= 3 && strings.Contains(string(n), string(w)) {
			d = min(d, 1)
		}
		switch {
		case d < best:
			best, near = d, []string{name}
		case d == best:
			near = append(near, name)
		}
	}
	slices.Sort(near)
	return near[:min(most, len(near))]
}

// maxWord is the length of the longest word that is compared.
const maxWord = 100

// distance returns how many letters to insert, delete, replace or swap with their
// neighbour to turn a into b (optimal string alignment).
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			edit := 1
			if a[i-1] == b[j-1] {
				edit = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+edit)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

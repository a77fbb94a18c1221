package cli

import (
	"cmp"
	"slices"
	"strings"
)

// didYouMean gives a hint with the names that look most like word; without such
// names it gives otherwise.
func didYouMean(word string, names []string, otherwise string) string {
	near := nearest(word, names)
	switch len(near) {
	case 0:
		return otherwise
	case 1:
		return "did you mean " + near[0] + "?"
	}
	return "did you mean " + strings.Join(near[:len(near)-1], ", ") + " or " + near[len(near)-1] + "?"
}

// nearest gives at most three names that are a few typing mistakes away from
// word or that hold it, the nearest first.
func nearest(word string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	word = strings.ToLower(word)
	if len(word) > 100 {
		return nil
	}
	var near []candidate
	for _, n := range names {
		d := distance(word, strings.ToLower(n))
		if len(word) >= 3 && strings.Contains(strings.ToLower(n), word) {
			d = min(d, 1)
		}
		if d <= max(1, len(word)/3) {
			near = append(near, candidate{n, d})
		}
	}
	slices.SortStableFunc(near, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), strings.Compare(a.name, b.name))
	})
	var out []string
	for _, c := range near[:min(3, len(near))] {
		out = append(out, c.name)
	}
	return out
}

// distance counts the letters that must be put in, left out, changed or swapped
// with their neighbour to make b from a (optimal string alignment).
func distance(a, b string) int {
	var before, last, row []int
	last = make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row = make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(last[j]+1, row[j-1]+1, change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

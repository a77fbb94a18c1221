package secrets

import (
	"slices"
	"strings"
)

// hint names the rules, three at most, that may have been meant by a name: those
// that hold it, or else those that the fewest changes of a letter lead to.
func hint(name string) string {
	if name == "" || len(name) > 2*maxKey {
		return ""
	}
	near := slices.DeleteFunc(Rules(), func(r string) bool { return !strings.Contains(r, strings.ToLower(name)) })
	if len(near) == 0 {
		near = nearest(name)
	}
	if len(near) == 0 {
		return ""
	}
	return ": did you mean " + strings.Join(near[:min(3, len(near))], " or ") + "?"
}

func nearest(name string) []string {
	best := max(2, len(name)/3)
	var near []string
	for _, r := range Rules() {
		switch d := distance(name, r); {
		case d < best:
			best, near = d, []string{r}
		case d == best:
			near = append(near, r)
		}
	}
	return near
}

// distance counts the letters to put in, take out or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := corner
			if a[i] != b[j] {
				cost = 1 + min(corner, row[j], row[j+1])
			}
			corner, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

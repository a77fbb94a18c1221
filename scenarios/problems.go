package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Mistake is one thing that is wrong with a file.
type Mistake struct {
	File string
	// Line and Column count from one, columns in characters; 0 where the file as
	// a whole is meant.
	Line, Column int
	Problem      string // what is wrong
	Hint         string // how to mend it, "" = no idea
	Excerpt      string // the line, and a caret under the column; "" without one
}

// Mistakes are all that is wrong with some files, in the order of file, line
// and column.
type Mistakes []*Mistake

// Error gives the mistake as file:line:column: problem, the excerpt below it
// and a line that begins with hint.
func (m *Mistake) Error() string {
	var b strings.Builder
	b.WriteString(printable(m.File))
	if m.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", m.Line, m.Column)
	}
	b.WriteString(": " + m.Problem)
	if m.Excerpt != "" {
		b.WriteString("\n" + m.Excerpt)
	}
	if m.Hint != "" {
		b.WriteString("\nhint: " + m.Hint)
	}
	return b.String()
}

// Error gives all mistakes, one below the other.
func (ms Mistakes) Error() string {
	texts := make([]string, len(ms))
	for i, m := range ms {
		texts[i] = m.Error()
	}
	return strings.Join(texts, "\n")
}

// err gives the mistakes in order, nil if there are none.
func (ms Mistakes) err() error {
	if len(ms) == 0 {
		return nil
	}
	slices.SortStableFunc(ms, func(a, b *Mistake) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ms
}

// excerptWidth is how much of a line an excerpt shows.
const excerptWidth = 100

// excerpt shows a line with a caret under a column, and what stands round the
// column if the line is long.
func excerpt(text string, line, column int) string {
	runes := []rune(printable(text))
	caret := min(column-1, len(runes))
	if start := caret - excerptWidth*2/3; start > 0 && len(runes) > excerptWidth {
		runes, caret = append([]rune("…"), runes[start:]...), caret-start+1
	}
	if len(runes) > excerptWidth {
		runes = append(runes[:excerptWidth:excerptWidth], '…')
	}
	number := fmt.Sprintf("%4d", line)
	return fmt.Sprintf("%s | %s\n%s | %s^", number, strings.TrimRight(string(runes), " "),
		strings.Repeat(" ", len(number)), strings.Repeat(" ", caret))
}

// printable replaces what could move a terminal's cursor or hide text, one
// character for one.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t':
			return ' '
		case unicode.IsPrint(r):
			return r
		}
		return utf8.RuneError
	}, s)
}

// quoted shows a text in a message, cut to what one takes in at a glance.
func quoted(s string) string {
	const most = 40
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}

// hintWord says which of the words may have been meant.
func hintWord(got string, words []string) string {
	const most = 16
	if near := nearest(got, words); len(near) > 0 {
		return "did you mean " + strings.Join(near, " or ") + "?"
	}
	if len(words) == 0 || len(words) > most {
		return ""
	}
	return "there are " + strings.Join(words, ", ")
}

// nearest gives the words that need the fewest edits, three at most, and none
// where more than a third of the word would have to change. A word's beginning
// is one edit away from it.
func nearest(got string, words []string) []string {
	got = strings.ToLower(got)
	best := max(1, len(got)/3)
	var near []string
	for _, w := range words {
		n := distance(got, strings.ToLower(w))
		if len(got) > 2 && strings.HasPrefix(strings.ToLower(w), got) {
			n = min(n, 1)
		}
		switch {
		case n < best:
			best, near = n, []string{w}
		case n == best && len(near) < 3:
			near = append(near, w)
		}
	}
	return near
}

// distance counts the letters to put in, take out, replace or swap with their
// neighbour to make b of a (optimal string alignment). Words far longer than
// any key are not compared.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
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

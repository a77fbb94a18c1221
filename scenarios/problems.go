package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
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
	b.WriteString(text.Line(m.File))
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
func excerpt(content string, line, column int) string {
	caret, dots := offset(content, column-1), ""
	if start := column - 1 - excerptWidth*2/3; start > 0 && utf8.RuneCountInString(content) > excerptWidth {
		from := offset(content, start)
		content, caret, dots = content[from:], caret-from, "…"
	}
	before := utf8.RuneCountInString(dots + text.Escape(content[:caret]))
	shown := text.Clip(dots+content, max(excerptWidth, before+1))
	number := fmt.Sprintf("%4d", line)
	return fmt.Sprintf("%s | %s\n%s | %s^", number, strings.TrimRight(shown, " "), strings.Repeat(" ", len(number)), strings.Repeat(" ", before))
}

// offset is the byte at which the character with the index n begins, the end of
// s if it has no more.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// quoted shows a text in a message, cut to what one takes in at a glance.
func quoted(s string) string { return text.Quote(s, 40) }

// clip is quoted for a number or another bare word.
func clip(s string) string { return text.Clip(s, 40) }

// hintWord says which of the words may have been meant, or all of them if they
// are few.
func hintWord(got string, words []string) string {
	const most = 16
	if near := text.DidYouMean(got, words); near != "" {
		return near
	}
	if len(words) == 0 || len(words) > most {
		return ""
	}
	return "there are " + text.Line(strings.Join(words, ", "))
}

package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

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

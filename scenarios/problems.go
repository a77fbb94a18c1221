package scenarios

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

// A Mistake is one error in a file of the user.
type Mistake struct {
	File string
	// Line and Column count from one, columns in characters; both are 0 for a mistake
	// that concerns the whole file.
	Line, Column int
	Problem      string // what is wrong
	Hint         string // how to correct it, "" = no hint
	Excerpt      string // the line, and a caret under the column; "" for the whole file
}

// Mistakes are the mistakes of one or more files, in the order of file, line and
// column.
type Mistakes []*Mistake

// Error returns the mistake as file:line:column: problem, followed by the excerpt and a
// line that begins with hint.
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

// Error returns all mistakes, one below the other.
func (ms Mistakes) Error() string {
	texts := make([]string, len(ms))
	for i, m := range ms {
		texts[i] = m.Error()
	}
	return strings.Join(texts, "\n")
}

// err sorts the mistakes and returns them, or nil if there are none.
func (ms Mistakes) err() error {
	if len(ms) == 0 {
		return nil
	}
	slices.SortStableFunc(ms, func(a, b *Mistake) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return ms
}

// quoted returns a text in quotes for a message, cut to 40 characters.
func quoted(s string) string { return text.Quote(s, 40) }

// clip is like quoted, without quotes: for a number or another bare word.
func clip(s string) string { return text.Clip(s, 40) }

// hintWord returns a hint that names the words nearest to got, or all words if they are
// few, or "".
func hintWord(got string, words []string) string {
	const most = 20
	if near := text.DidYouMean(got, words); near != "" {
		return near
	}
	if len(words) == 0 || len(words) > most {
		return ""
	}
	return "there are " + text.Line(strings.Join(words, ", "))
}

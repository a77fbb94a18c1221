package reports

import (
	"io"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/olekukonko/tablewriter/pkg/twwidth"
)

// A Screen is a terminal. A table that is wider has its heads on several lines, then
// its texts cut, and then it leaves out columns from the right, which a line below it
// names.
type Screen struct {
	io.Writer
	Columns int // at least 1
}

// like returns w with the width of a screen, if that is one.
func like(screen, w io.Writer) io.Writer {
	if s, ok := screen.(Screen); ok {
		return Screen{w, s.Columns}
	}
	return w
}

// leastText is the least width to which a column of texts is cut, in characters.
const leastText = 12

// fit fits a table into so many columns of a screen and returns it with the heads that
// it left out. The first row is the head. The first left columns are texts and can be
// cut, but for the very first, which names the row.
func fit(columns, left int, table [][]string) (fitted [][]string, out []string) {
	const pad = 2 // the space at both sides of a cell
	head := table[0]
	whole, least := make([]int, len(head)), make([]int, len(head))
	for i := range head {
		for _, row := range table[1:] {
			whole[i] = max(whole[i], width(row[i]))
		}
		if least[i] = whole[i]; i > 0 && i < left {
			least[i] = min(whole[i], leastText)
		}
		for word := range strings.FieldsSeq(head[i]) {
			least[i] = max(least[i], width(word))
		}
		whole[i] = max(whole[i], width(head[i]), least[i])
	}
	kept, room := 0, columns
	for kept < len(head) && (kept == 0 || least[kept]+pad <= room) {
		room -= least[kept] + pad
		kept++
	}
	fitted = make([][]string, len(table))
	for r := range table {
		fitted[r] = slices.Clone(table[r][:kept])
	}
	for i := range kept { // texts are left of numbers, so they grow first
		more := min(whole[i]-least[i], max(0, room))
		room -= more
		fitted[0][i] = wrap(fitted[0][i], least[i]+more)
		for _, row := range fitted[1:] {
			row[i] = shorten(row[i], least[i]+more)
		}
	}
	return fitted, head[kept:]
}

// width returns how many columns of a screen a text takes, without its colours.
func width(s string) int { return twwidth.WidthWithOptions(s, twwidth.Options{}) }

// shorten cuts a text to so many columns of a screen. A coloured text stays as it is.
func shorten(s string, columns int) string {
	short := s
	if strings.Contains(s, "\x1b") {
		return s
	}
	for n := columns - 1; width(short) > columns; n-- {
		short = text.Clip(s, n)
	}
	return short
}

// wrap breaks a text between words into lines of so many columns.
func wrap(s string, columns int) string {
	var lines []string
	for word := range strings.FieldsSeq(s) {
		if last := len(lines) - 1; last >= 0 && width(lines[last])+1+width(word) <= columns {
			lines[last] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return strings.Join(lines, "\n")
}

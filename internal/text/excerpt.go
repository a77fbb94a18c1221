package text

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// excerptWidth is how many characters of a line an excerpt shows.
const excerptWidth = 100

// Excerpt returns a line of a file with its number, and below it a caret under a
// column, which is counted from one in characters. Of a long line it shows the part
// around the column.
func Excerpt(content string, line, column int) string {
	column = max(column-1, 0)
	caret, dots := offset(content, column), ""
	if start := column - excerptWidth*2/3; start > 0 && utf8.RuneCountInString(content) > excerptWidth {
		from := offset(content, start)
		content, caret, dots = content[from:], caret-from, "…"
	}
	before := utf8.RuneCountInString(dots + Escape(content[:caret]))
	shown := Clip(dots+content, max(excerptWidth, before+1))
	number := fmt.Sprintf("%4d", line)
	return fmt.Sprintf("%s | %s\n%*s | %s^", number, strings.TrimRight(shown, " "), len(number), "", strings.Repeat(" ", before))
}

// offset returns the byte at which the character with the index n begins, or the length
// of s if it has fewer characters.
func offset(s string, n int) int {
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

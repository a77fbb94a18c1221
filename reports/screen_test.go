package reports

import (
	"strings"
	"testing"
)

// A table is as wide as the screen at most: first heads take several lines, then texts
// are cut, then columns are left out and named.
func TestTableFitsScreen(t *testing.T) {
	head := []string{"name", "what it is", "runs that were stopped"}
	rows := [][]string{{"alpha", "the first letter of the alphabet", "1"}, {"beta", "the second", "22"}}
	for _, tt := range []struct {
		columns int
		want    string
	}{
		{80, `
 name   what it is                        runs that were stopped
─────────────────────────────────────────────────────────────────
 alpha  the first letter of the alphabet                       1
 beta   the second                                            22
─────────────────────────────────────────────────────────────────
 total                                                        23
`},
		{55, `
 name   what it is                           runs that
                                          were stopped
───────────────────────────────────────────────────────
 alpha  the first letter of the alphabet             1
 beta   the second                                  22
───────────────────────────────────────────────────────
 total                                              23
`},
		{31, `
 name   what it is        runs
                          that
                          were
                       stopped
───────────────────────────────
 alpha  the first le…        1
 beta   the second          22
───────────────────────────────
 total                      23
`},
		{24, `
 name   what it is
────────────────────────
 alpha  the first lett…
 beta   the second
────────────────────────
 total
no room on the screen for: runs that were stopped; a pipe gets all
`},
	} {
		var b strings.Builder
		if err := Table(Screen{&b, tt.columns}, 2, head, rows, []string{"total", "", "23"}); err != nil {
			t.Fatal(err)
		}
		if got := "\n" + b.String(); got != tt.want {
			t.Errorf("in %d columns got%s\nwant%s", tt.columns, got, tt.want)
		}
	}
}

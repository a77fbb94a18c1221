package text

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNumber(t *testing.T) {
	for in, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		if got := Number(in); got != want {
			t.Errorf("Number(%d) = %q, want %q", in, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		n          int
		noun, want string
	}{
		{0, "file", "0 files"}, {1, "file", "1 file"}, {1200, "file", "1,200 files"},
		{1, "try", "1 try"}, {2, "try", "2 tries"}, {2, "reply", "2 replies"}, {2, "day", "2 days"}, {2, "key", "2 keys"},
	} {
		if got := Count(c.n, c.noun); got != c.want {
			t.Errorf("Count(%d, %q) = %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestDollars(t *testing.T) {
	for in, want := range map[float64]string{0: "$0", 12: "$12", 0.0125: "$0.0125", 1e-9: "$0.000000001"} {
		if got := Dollars(in); got != want {
			t.Errorf("Dollars(%v) = %q, want %q", in, got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	const day = 24 * time.Hour
	for _, c := range []struct {
		in   time.Duration
		want string
	}{
		{0, "0ms"},
		{999 * time.Millisecond, "999ms"},
		{time.Second, "1s"},
		{10800 * time.Millisecond, "10.8s"},
		{59990 * time.Millisecond, "59.9s"}, // rounded down
		{time.Minute, "1m00s"},
		{4*time.Minute + 12900*time.Millisecond, "4m12s"},
		{time.Hour - time.Millisecond, "59m59s"},
		{3*time.Hour + 7*time.Minute, "3h07m"},
		{day, "1d00h"},
		{2*day + 4*time.Hour + 59*time.Minute, "2d04h"},
		{-time.Second, "-1s"},
		{math.MinInt64, "-106751d23h"}, // 2^63 ns are 9,223,372,036 s: 106,751 days and 23 hours
	} {
		if got := Duration(c.in); got != c.want {
			t.Errorf("Duration(%v) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestExact(t *testing.T) {
	for _, want := range []string{"0s", "1ms", "1.5s", "30s", "5m", "5m30s", "10m", "1h", "1h5m", "1h0m5s", "20h"} {
		d, err := time.ParseDuration(want)
		if err != nil {
			t.Fatal(err)
		}
		if got := Exact(d); got != want {
			t.Errorf("Exact(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestReason(t *testing.T) {
	_, missing := os.Open(filepath.Join(t.TempDir(), "missing"))
	for _, c := range []struct {
		err  error
		want string
	}{
		{missing, "there is no such file or folder"},
		{fmt.Errorf("config: %w", &fs.PathError{Op: "open", Path: "/etc/x", Err: fs.ErrPermission}), "permission denied"},
		{errors.New("the disk\x1b[2J\nis full"), `the disk\x1b[2J is full`},
	} {
		if got := Reason(c.err); got != c.want {
			t.Errorf("Reason(%v) = %q, want %q", c.err, got, c.want)
		}
	}
}

func TestExcerpt(t *testing.T) {
	digits := strings.Repeat("0123456789", 30)
	for _, c := range []struct {
		why, content string
		line, column int
		want         string
	}{
		{"a place", "  turnz: 3", 14, 3, "  14 |   turnz: 3\n     |   ^"},
		{"a number of five digits", "x", 12345, 1, "12345 | x\n      | ^"},
		{"no column", "x", 1, 0, "   1 | x\n     | ^"},
		{"behind the end", "é  ", 1, 9, "   1 | é\n     |    ^"},
		// x comes after é and escapes of four and six characters.
		{"hidden characters", "é\x1b\u202ex\ty", 1, 4, "   1 | é\\x1b\\u202ex\\ty\n     |            ^"},
		// Of 300 characters 100 are shown, … among them: from 66 before the 200 that
		// come before the column, so that the caret has 200-134+1 before it.
		{"a long line", digits, 2, 201, "   2 | …" + digits[134:233] + "…\n     | " + strings.Repeat(" ", 67) + "^"},
		{"a long line's beginning", digits, 2, 3, "   2 | " + digits[:100] + "…\n     |   ^"},
		// The caret is in the excerpt whatever the escapes take: 1+66*4 before it.
		{"a long hidden line", strings.Repeat("\x1b", 200) + "xyz", 2, 201, "   2 | …" + strings.Repeat(`\x1b`, 66) + "x…\n     | " + strings.Repeat(" ", 265) + "^"},
	} {
		if got := Excerpt(c.content, c.line, c.column); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.why, got, c.want)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"run", "replay", "list", "explain", "validate", "version", "completion", "result", "result_chars", "first_token"}
	for _, c := range []struct {
		why, word string
		want      []string
	}{
		{"two letters swapped", "rnu", []string{"run"}},
		{"case does not count", "RUN", []string{"run"}},
		{"one letter left out", "vlidate", []string{"validate"}},
		{"one too many", "versions", []string{"version"}},
		{"a part of it", "plain", []string{"explain"}},
		{"the beginning of two", "res", []string{"result", "result_chars"}},
		{"nothing is nearer than the same", "result", []string{"result"}},
		{"three of nine letters may change, one does", "firsttoken", []string{"first_token"}},
		{"like nothing", "xyz", nil},
		{"of no letters", "", nil},
		{"too long to be looked at", strings.Repeat("run", 1000), nil},
	} {
		if got := Nearest(c.word, names); !slices.Equal(got, c.want) {
			t.Errorf("%s: Nearest(%.20q) = %q, want %q", c.why, c.word, got, c.want)
		}
	}
}

func TestDidYouMean(t *testing.T) {
	for _, c := range []struct {
		word  string
		names []string
		want  string
	}{
		{"aa", []string{"ab"}, "did you mean ab?"},
		{"aa", []string{"ab", "xy", "ac"}, "did you mean ab or ac?"},
		{"aa", []string{"ae", "ac", "ab", "ad"}, "did you mean ab, ac or ad?"},
		{"größe", []string{"grösse", "größen"}, "did you mean größen?"}, // two edits and one
		{"aa", []string{"a\x1b"}, `did you mean a\x1b?`},
		{"aa", nil, ""},
	} {
		if got := DidYouMean(c.word, c.names); got != c.want {
			t.Errorf("DidYouMean(%q, %q) = %q, want %q", c.word, c.names, got, c.want)
		}
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"abc", "", 3}, {"", "abc", 3}, {"abc", "abc", 0},
		{"abc", "abd", 1}, {"abc", "ab", 1}, {"ab", "abc", 1}, {"ab", "ba", 1}, {"abcd", "badc", 2}, {"größe", "grobe", 2},
	} {
		if got := distance([]rune(c.a), []rune(c.b)); got != c.want {
			t.Errorf("distance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

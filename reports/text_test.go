package reports

import (
	"testing"
	"time"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ why, in, want string }{
		{"plain text stays", "read_file 12", "read_file 12"},
		{"letters of any script stay", "größe 変数 🎉", "größe 変数 🎉"},
		{"an escape sequence loses its escape", "a\x1b[31mred\x1b[0m", "a[31mred[0m"},
		{"an eight bit escape too", "a\u009b31mred", "a31mred"},
		{"so do bell, backspace, NUL and delete", "a\a\b\x00\x7fb", "ab"},
		{"a line break is a space", "a\r\nb\nc", "a b c"},
		{"so are tabs and the breaks of Unicode", "a\tb\u2028c\u2029d\u0085e", "a b c d e"},
		{"spaces at the ends and in a row go", "  a   b ", "a b"},
		{"the reading direction stays", "a\u202egpj.exe\u2066b\u200fc\ufeff", "agpj.exebc"},
		{"bytes that are no text are marked", "a\xff\xfeb", "a\ufffd\ufffdb"},
		{"nothing stays nothing", "", ""},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("%s: Line(%q) = %q, want %q", c.why, c.in, got, c.want)
		}
	}
}

func TestLinesKeepsBreaksAndSpaces(t *testing.T) {
	if got, want := Lines("   0.000s a\x1b[2J\r\n      > b"), "   0.000s a[2J\n      > b\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"größe", 5, "größe"},                        // five characters, seven bytes
		{"größer", 5, "größe… (1 more character)"},   // 6-5
		{"größere", 5, "größe… (2 more characters)"}, // 7-5
		{"", 0, ""},
	} {
		if got := Cut(c.in, c.n); got != c.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
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
	} {
		if got := Duration(c.in); got != c.want {
			t.Errorf("Duration(%v) = %q, want %q", c.in, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for in, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -100: "-100", -1000: "-1,000"} {
		if got := Number(in); got != want {
			t.Errorf("Number(%d) = %q, want %q", in, got, want)
		}
	}
}

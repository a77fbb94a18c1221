package text

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLine(t *testing.T) {
	for _, c := range []struct{ why, in, want string }{
		{"plain text stays", "read_file 12", "read_file 12"},
		{"letters of any script and marks on them stay", "größe 変数 🎉 e\u0301", "größe 変数 🎉 e\u0301"},
		{"an escape sequence shows", "a\x1b[31mred\x1b[0m", `a\x1b[31mred\x1b[0m`},
		{"an eight bit escape too", "a\u009b31mred", `a\u009b31mred`},
		{"so do bell, backspace, NUL and delete", "a\a\b\x00\x7fb", `a\a\b\x00\x7fb`},
		{"a line break is a space", "a\r\nb\nc", "a b c"},
		{"so are tabs, rare spaces and the breaks of Unicode", "a\tb\u2028c\u2029d\u0085e\u00a0f\u3000g", "a b c d e f g"},
		{"spaces at the ends and in a row go", "  a   b ", "a b"},
		{"marks of the reading direction show", "a\u202egpj.exe\u2066b\u200fc", `a\u202egpj.exe\u2066b\u200fc`},
		{"so do zero width and tag characters", "a\u200bb\u00adc\ufeff\U000e0041", `a\u200bb\u00adc\ufeff\U000e0041`},
		{"so do the letters that are blank", "a\u3164b\u115fc\u2800", `a\u3164b\u115fc\u2800`},
		{"so do private and unassigned characters", "\ue000\u0378\U0010ffff", `\ue000\u0378\U0010ffff`},
		{"bytes that are not UTF-8 show", "a\xff\xfeb\xc3", `a\xff\xfeb\xc3`},
		{"the replacement character is a character", "a\ufffd", "a\ufffd"},
		{"an emoji keeps its presentation", "\u26a0\ufe0f Warning", "\u26a0\ufe0f Warning"},
		{"two selectors are one too many", "\u26a0\ufe0f\ufe0f", "\u26a0\ufe0f" + `\ufe0f`},
		{"a selector alone is hidden", " \ufe0f", `\ufe0f`},
		{"the other selectors hide data", "a\ufe00\U000e0100", `a\ufe00\U000e0100`},
		{"so do the blanks beyond 16 bits", "a\U00013441\U00013442\U00016fe4\U0001d159", `a\U00013441\U00013442\U00016fe4\U0001d159`},
		{"eight marks combine with a character", "e" + strings.Repeat("\u0301", 8) + "\u05d0\u05b0", "e" + strings.Repeat("\u0301", 8) + "\u05d0\u05b0"},
		{"more cover the lines around", "e" + strings.Repeat("\u0301", 10) + "f\u20dd", "e" + strings.Repeat("\u0301", 8) + `\u0301\u0301` + "f\u20dd"},
		{"a mark alone would combine with what is around the text", "\u0338a \u20dd\x1b\u0301", `\u0338a \u20dd\x1b\u0301`},
		{"a backslash stays", `C:\x1b\new`, `C:\x1b\new`},
		{"nothing stays nothing", "", ""},
	} {
		if got := Line(c.in); got != c.want {
			t.Errorf("%s: Line(%q) = %q, want %q", c.why, c.in, got, c.want)
		}
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ why, in, want string }{
		{"breaks and spaces stay", "   0.000s a\x1b[2J\r\n      > b", "   0.000s a\\x1b[2J\n      > b\n"},
		{"a tab is a space, and so is a return within a line", "a\tb\rc\n\nd\n", "a b c\n\nd\n"},
		{"a broken byte shows", "a\xffb\n", "a\\xffb\n"},
		{"nothing stays nothing", "", ""},
	} {
		if got := Lines(c.in); got != c.want {
			t.Errorf("%s: Lines(%q) = %q, want %q", c.why, c.in, got, c.want)
		}
	}
}

func TestEscape(t *testing.T) {
	for _, c := range []struct{ why, in, want string }{
		{"plain text stays", "read_file  12 ", "read_file  12 "},
		{"white space shows, but the space", "a\tb\n\r\v\f\u00a0\u2028", `a\tb\n\r\v\f\u00a0\u2028`},
		{"controls show", "\x1b\u009b\xff", `\x1b\u009b\xff`},
		{"quotes and backslashes stay", `"\`, `"\`},
	} {
		if got := Escape(c.in); got != c.want {
			t.Errorf("%s: Escape(%q) = %q, want %q", c.why, c.in, got, c.want)
		}
	}
}

func TestQuote(t *testing.T) {
	for _, c := range []struct {
		why, in string
		n       int
		want    string
	}{
		{"plain text", "read file", 40, `"read file"`},
		{"a mark does not combine with the quote", "\u0338a", 40, `"\u0338a"`},
		{"white space shows", " a\n\tb ", 40, `" a\n\tb "`},
		{"quotes and backslashes are escaped", `a"b\c`, 40, `"a\"b\\c"`},
		{"as long as may be", "größe", 5, `"größe"`},
		{"a cut is marked", "größer", 5, `"größe…"`},
		{"not inside an escape: ab and four characters are more than five", "ab\x1bcd", 5, `"ab…"`},
		{"not between a backslash and its quote", `abc"d`, 4, `"abc…"`},
		{"an escaped backslash does not escape what follows", `\x1b`, 3, `"\\x…"`},
	} {
		if got := Quote(c.in, c.n); got != c.want {
			t.Errorf("%s: Quote(%q, %d) = %s, want %s", c.why, c.in, c.n, got, c.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		in        string
		n         int
		clip, cut string
	}{
		{"größe", 5, "größe", "größe"},                                  // five characters, seven bytes
		{"größer", 5, "größe…", "größe… (1 more character)"},            // 6-5
		{"größere", 5, "größe…", "größe… (2 more characters)"},          // 7-5
		{"a  b\nc", 5, "a  b…", "a  b… (3 more characters)"},            // \n is two
		{"ab\x1bcd", 4, "ab…", "ab… (6 more characters)"},               // \x1b is four, cd two
		{"ab\u202ecd", 8, `ab\u202e…`, `ab\u202e… (2 more characters)`}, // 2+6
		{`ab\x1bcd`, 4, "ab…", "ab… (6 more characters)"},               // escaped before
		{`ab\`, 2, "ab…", "ab… (1 more character)"},
		{"\\\x1b", 3, `\…`, `\… (4 more characters)`}, // a backslash, and \x1b
		{"abc", 0, "…", "… (3 more characters)"},
		{"", 0, "", ""},
	} {
		if got := Clip(c.in, c.n); got != c.clip {
			t.Errorf("Clip(%q, %d) = %q, want %q", c.in, c.n, got, c.clip)
		}
		if got := Cut(c.in, c.n); got != c.cut {
			t.Errorf("Cut(%q, %d) = %q, want %q", c.in, c.n, got, c.cut)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, c := range []struct{ why, in, want string }{
		{"what can be seen stays", `{"größe":"变 🎉 \u001b"}` + "\n", `{"größe":"变 🎉 \u001b"}` + "\n"},
		{"controls and marks are escaped", "{\"a\x7f\":\"\u009b31m\u202e\ufeff\"}", `{"a\u007f":"\u009b31m\u202e\ufeff"}`},
		// U+E0041 is 0x10000 + 0xd0041: 0xd800 + 0xd0041>>10 = 0xdb40, 0xdc00 + 0x41.
		{"a byte that is not UTF-8 is what decoders read", "\"a\x9b31m\xc3\"", `"a\ufffd31m\ufffd"`},
		{"the replacement character stays", "\"\ufffd\"", "\"\ufffd\""},
		{"beyond 16 bits as a pair", `"` + "\U000e0041" + `"`, `"\udb40\udc41"`},
	} {
		if got := string(JSON([]byte(c.in))); got != c.want {
			t.Errorf("%s: JSON(%q) = %q, want %q", c.why, c.in, got, c.want)
		}
	}
}

// steers lists by category and by name what may not reach a terminal. It does not
// ask Hidden.
func steers(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Join_Control) ||
		r != ' ' && unicode.In(r, unicode.Zs) || 0xe0000 <= r && r <= 0xe0fff
}

var anEscape = regexp.MustCompile(`\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[abfnrtv])`)

func FuzzText(f *testing.F) {
	for _, s := range []string{"", "a\x1b[31mb", "a\u202eb\u2028c", "\xff\xfe", "größe", "\u26a0\ufe0f x", "\\\x1b", "a\r\n b\t", `"\"`, "\U000e0041\u3164\u009b", "a" + strings.Repeat("\u0301", 12) + "\ufe0f"} {
		f.Add(s, 5)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		if n < 0 || n > 1000 {
			n = 7
		}
		line, lines, escaped, quoted := Line(s), Lines(s), Escape(s), Quote(s, n)
		clipped, cut := Clip(s, n), Cut(s, n)
		for what, got := range map[string]string{
			"Line": line, "Lines": strings.ReplaceAll(lines, "\n", ""), "Escape": escaped, "Quote": quoted, "Clip": clipped, "Cut": cut, "Excerpt": strings.Replace(Excerpt(s, 1, n), "\n", "", 1),
		} {
			if !utf8.ValidString(got) || strings.ContainsFunc(got, steers) {
				t.Errorf("%s(%q) = %q may steer a terminal", what, s, got)
			}
		}
		doc, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var was, is string
		shown := JSON(doc)
		if json.Unmarshal(doc, &was) != nil || json.Unmarshal(shown, &is) != nil || was != is || strings.ContainsFunc(string(shown), steers) {
			t.Errorf("JSON(%s) = %q", doc, shown)
		}
		if again := Line(line); again != line {
			t.Errorf("Line(%q) = %q, and again %q", s, line, again)
		}
		if again := Lines(lines); again != lines {
			t.Errorf("Lines(%q) = %q, and again %q", s, lines, again)
		}
		if again := Escape(escaped); again != escaped {
			t.Errorf("Escape(%q) = %q, and again %q", s, escaped, again)
		}
		if back, err := strconv.Unquote(Quote(s, 10*len(s))); err != nil || back != s {
			t.Errorf("Quote(%q) reads as %q, %v", s, back, err)
		}
		if got := utf8.RuneCountInString(clipped); got > n+1 {
			t.Errorf("Clip(%q, %d) has %d characters", s, n, got)
		}
		if got := utf8.RuneCountInString(quoted); got > n+3 {
			t.Errorf("Quote(%q, %d) has %d characters", s, n, got)
		}
		kept, whole := strings.CutSuffix(clipped, "…")
		if !strings.HasPrefix(escaped, kept) || !whole && clipped != escaped {
			t.Errorf("Clip(%q, %d) = %q does not begin %q", s, n, clipped, escaped)
		}
		if !strings.Contains(s, `\`) && strings.Contains(anEscape.ReplaceAllString(kept, ""), `\`) {
			t.Errorf("Clip(%q, %d) = %q cuts an escape", s, n, clipped)
		}
		if Clip(escaped, n) != clipped || Cut(escaped, n) != cut {
			t.Errorf("%q is cut to %q, and escaped to %q", s, clipped, Clip(escaped, n))
		}
	})
}

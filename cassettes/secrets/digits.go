package secrets

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A group is a run of digits in a text, with the characters between the last group
// and this one.
type group struct {
	start, end int
	gap        string
}

func (g group) len() int { return g.end - g.start }

// maxGroups bounds the groups that are read together: more of them are a table and
// not a number.
const maxGroups = 32

// numbers calls each with the groups of digits that stand together, with only
// - . / ( ) and space between them.
func numbers(text string, each func(groups []group)) {
	var groups []group
	flush := func() {
		if len(groups) > 0 {
			each(groups)
			groups = groups[:0]
		}
	}
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		g := group{start: i}
		for i < len(text) && isDigit(text[i]) {
			i++
		}
		g.end = i
		if n := len(groups); n > 0 {
			g.gap = text[groups[n-1].end:g.start]
			if !isGap(g.gap) || n == maxGroups {
				flush()
			}
		}
		groups = append(groups, g)
	}
	flush()
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// isGap reports whether groups with this between them may be one number.
func isGap(gap string) bool {
	return len(gap) <= 3 && strings.Trim(gap, " -./()") == ""
}

// opens and closes report whether a number may begin or end at a place, as it
// cannot within an identifier, a path, a fraction or base64.
func opens(text string, at int) bool {
	return at == 0 || !isWord(text[at-1]) && strings.IndexByte("+-./$#%\\", text[at-1]) < 0
}

func closes(text string, at int) bool {
	switch {
	case at == len(text):
		return true
	case isWord(text[at]) || strings.IndexByte("+/%=", text[at]) >= 0:
		return false
	case strings.IndexByte("-.,:", text[at]) >= 0:
		return at+1 == len(text) || !isWord(text[at+1])
	}
	return true
}

// cards finds payment cards: 13 to 19 digits, at once or in the groups that are
// printed on cards, with the prefix of an issuer and a right check digit.
func cards(text string, found func(start, end int)) {
	numbers(text, func(groups []group) {
		for i := 0; i < len(groups); i++ {
			if n := card(text, groups[i:]); n > 0 && opens(text, groups[i].start) && closes(text, groups[i+n-1].end) {
				found(groups[i].start, groups[i+n-1].end)
				i += n - 1
			}
		}
	})
}

// card returns how many of the groups are a card, the most that can be.
func card(text string, groups []group) int {
	most := 0
	var digits []byte
	for n, g := range groups[:min(len(groups), 5)] {
		if n > 0 && (g.gap != " " && g.gap != "-" || g.gap != groups[1].gap) {
			break
		}
		if len(digits)+g.len() > 19 {
			break
		}
		digits = append(digits, text[g.start:g.end]...)
		if printed(groups[:n+1]) && issued(string(digits)) && luhn(digits) {
			most = n + 1
		}
	}
	return most
}

// printed reports whether digits are grouped as on a card: all at once, in fours
// or, on those of 14 and 15 digits, 4-6-4 and 4-6-5.
func printed(groups []group) bool {
	if len(groups) == 1 {
		return true
	}
	if len(groups) == 3 && groups[1].len() == 6 {
		return groups[0].len() == 4 && (groups[2].len() == 4 || groups[2].len() == 5)
	}
	for _, g := range groups[:len(groups)-1] {
		if g.len() != 4 {
			return false
		}
	}
	return groups[len(groups)-1].len() <= 4
}

// issuers lists prefixes of card numbers and how long those are.
var issuers = []struct {
	from, to string // prefixes of the same length
	min, max int
}{
	{"4", "4", 13, 19},       // Visa
	{"51", "55", 16, 16},     // Mastercard
	{"2221", "2720", 16, 16}, // Mastercard
	{"34", "34", 15, 15},     // American Express
	{"37", "37", 15, 15},     // American Express
	{"6011", "6011", 16, 19}, // Discover
	{"644", "659", 16, 19},   // Discover
	{"62", "62", 16, 19},     // UnionPay
	{"300", "305", 14, 19},   // Diners Club
	{"36", "36", 14, 19},     // Diners Club
	{"38", "39", 14, 19},     // Diners Club
	{"3528", "3589", 16, 19}, // JCB
	{"5018", "5018", 13, 19}, // Maestro
	{"5020", "5020", 13, 19}, // Maestro
	{"5038", "5038", 13, 19}, // Maestro
	{"5893", "5893", 13, 19}, // Maestro
	{"6304", "6304", 13, 19}, // Maestro
	{"6759", "6763", 13, 19}, // Maestro
}

func issued(digits string) bool {
	for _, i := range issuers {
		if len(digits) >= i.min && len(digits) <= i.max {
			if p := digits[:len(i.from)]; i.from <= p && p <= i.to {
				return true
			}
		}
	}
	return false
}

// luhn checks the check digit: from the right every second digit counts twice
// (less 9 above 9), and the sum is a multiple of ten.
func luhn(digits []byte) bool {
	sum := 0
	for i, c := range digits {
		d := int(c - '0')
		if (len(digits)-i)%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// phones finds telephone numbers: international ones, those of North America,
// those with a trunk 0, and any that are called so.
func phones(text string, found func(start, end int)) {
	numbers(text, func(groups []group) {
		for i := 0; i < len(groups); i++ {
			if start, n := phone(text, groups[i:], i == 0); n > 0 {
				found(start, groups[i+n-1].end)
				i += n - 1
			}
		}
	})
}

// The digits of a number, with its country.
const (
	minPhone = 7
	maxPhone = 15
)

// phone returns where the number starts that begins with the first group, and of
// how many groups it is; 0 = none. first says that no group stands before it.
func phone(text string, groups []group, first bool) (start, n int) {
	start = groups[0].start
	for start > 0 && (text[start-1] == '(' || text[start-1] == '+') && start > groups[0].start-2 {
		start--
	}
	if !opens(text, start) {
		return 0, 0
	}
	for n := min(len(groups), 7); n > 0; n-- {
		g := groups[:n]
		if total := count(g); total >= minPhone && total <= maxPhone && closes(text, g[n-1].end) && (isPhone(text, start, g, total) || first && n == len(groups) && isAlone(text, g)) {
			return start, n
		}
	}
	return 0, 0
}

func count(groups []group) int {
	total := 0
	for _, g := range groups {
		total += g.len()
	}
	return total
}

func isPhone(text string, start int, g []group, total int) bool {
	first := text[g[0].start:g[0].end]
	if strings.Contains(text[start:g[0].start], "+") {
		return first[0] != '0' && (len(g) == 1 && total >= 9 || len(g) > 1 && len(first) <= 4 && total >= 8 && dialled(g[1:]))
	}
	if len(g) == 1 || isDate(g) {
		return false
	}
	named := isNamed(text, start)
	switch {
	case strings.HasPrefix(first, "00"):
		return len(first) > 2 && len(first) <= 5 && first[2] != '0' && total >= 10 && dialled(g[1:])
	case first[0] == '0':
		tight := g[1].gap != " " || text[start] == '('
		return named && total >= 8 || len(first) >= 3 && len(first) <= 5 && total >= 9 && total <= 12 && len(g) <= 5 && (tight || len(g) <= 3) && dialled(g[1:])
	}
	return american(text, start, g, named) || named
}

// dialled reports whether groups look like those of a number and not like a
// table's: none but the first and the (0) is a single digit, and one is longer
// than two, or all are pairs.
func dialled(groups []group) bool {
	long, pairs := false, len(groups) >= 3
	for i, g := range groups {
		if g.len() == 1 && i > 0 && !strings.HasSuffix(g.gap, "(") {
			return false
		}
		long = long || g.len() > 2
		pairs = pairs && g.len() <= 2
	}
	return long || pairs
}

// american reports whether groups are (415) 555-2671, 415-555-2671 or
// 415.555.2671, with or without a 1 before it.
func american(text string, start int, g []group, named bool) bool {
	open := text[start] == '('
	if len(g) == 4 && g[0].len() == 1 && text[g[0].start] == '1' {
		open = strings.HasSuffix(g[1].gap, "(")
		g = g[1:]
	}
	if len(g) != 3 || g[0].len() != 3 || g[1].len() != 3 || g[2].len() != 4 || text[g[0].start] < '2' || text[g[1].start] < '2' {
		return false
	}
	if open {
		return strings.HasPrefix(g[1].gap, ")") && len(g[2].gap) == 1
	}
	return g[1].gap == g[2].gap && (g[1].gap == "-" || g[1].gap == "." || named && g[1].gap == " ")
}

// isAlone reports whether groups between which only spaces stand are a number of
// France (06 12 34 56 78) or of North America (415 555 2671), which in a row of
// other groups they are not.
func isAlone(text string, g []group) bool {
	for i := range g {
		if i > 0 && g[i].gap != g[1].gap || len(g) < 3 || g[1].gap != " " && (len(g) != 5 || g[1].gap != "." && g[1].gap != "-") {
			return false
		}
	}
	at := func(i, n int) byte { return text[g[i].start+n] }
	switch {
	case len(g) == 5:
		pairs := !slices.ContainsFunc(g, func(g group) bool { return g.len() != 2 })
		return pairs && at(0, 0) == '0' && at(0, 1) != '0'
	case len(g) == 3 && g[0].len() == 3 && g[1].len() == 3 && g[2].len() == 4:
		// An area is none of x00, x11 and x9x, an exchange none of 0xx, 1xx and x11.
		return at(0, 0) >= '2' && at(0, 1) != '9' && text[g[0].start+1:g[0].end] != "00" && text[g[0].start+1:g[0].end] != "11" &&
			at(1, 0) >= '2' && text[g[1].start+1:g[1].end] != "11"
	}
	return false
}

// isDate reports whether groups begin as 2026-11-28 or as 28.11.2026.
func isDate(g []group) bool {
	if len(g) < 3 {
		return false
	}
	a, b, c := g[0].len(), g[1].len(), g[2].len()
	return a == 4 && b <= 2 && c <= 2 || a <= 2 && b <= 2 && c == 4
}

// socials finds social security numbers of the United States: 123-45-6789, where
// the area is none of 000, 666 and 9xx, and no part is all zeros.
func socials(text string, found func(start, end int)) {
	numbers(text, func(groups []group) {
		for i := 0; i+3 <= len(groups); i++ {
			g := groups[i : i+3]
			area, part, serial := text[g[0].start:g[0].end], text[g[1].start:g[1].end], text[g[2].start:g[2].end]
			switch {
			case len(area) != 3 || len(part) != 2 || len(serial) != 4 || g[1].gap != "-" || g[2].gap != "-":
			case area == "000" || area == "666" || area[0] == '9' || part == "00" || serial == "0000":
			case opens(text, g[0].start) && closes(text, g[2].end) && (i+3 == len(groups) || groups[i+3].gap != "-"):
				found(g[0].start, g[2].end)
			}
		}
	})
}

// beforePhone bounds what is read before a number.
const beforePhone = 32

var phoneWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)(?:phone|\btel|telefon|mobile|\bfax|whatsapp|handy)[a-z_]{0,8}[\W_]{0,3}(?:(?:is|no|nr|number)\W{1,3}){0,2}$`)
})

// isNamed reports whether what stands before a place says that a telephone
// number follows.
func isNamed(text string, at int) bool {
	word := strings.TrimRight(text[max(0, at-beforePhone):at], " \t\"':=()+.-_")
	return word != "" && !isDigit(word[len(word)-1]) && phoneWord().MatchString(text[max(0, at-beforePhone):at])
}

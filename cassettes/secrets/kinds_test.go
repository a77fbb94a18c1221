package secrets

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// A kind is one kind of secret or personal data, with a value made for it.
type kind struct {
	name  string
	key   string // the name that makes the value a secret; "" = its form does
	value string
}

// A writing is a form in which a text may hold a value.
type writing struct {
	name  string
	write func(k kind) string
}

// assigning writes key=value, in quotes where the value has white space. A
// value without a key gets one that says nothing.
func assigning(key, value string) string {
	if strings.ContainsFunc(value, unicode.IsSpace) {
		value = strconv.Quote(value)
	}
	return key + "=" + value
}

func (k kind) named(other string) string {
	if k.key != "" {
		return k.key
	}
	return other
}

func (k kind) isHeader() bool {
	return k.key == "Authorization" || k.key == "Cookie" || k.key == "Set-Cookie"
}

// sentence writes the value into a sentence.
func (k kind) sentence() string {
	switch {
	case k.key == "":
		return "We use " + k.value + " here, and so on"
	case k.isHeader():
		return "We send " + k.key + ": " + k.value
	}
	return "We set " + assigning(k.key, k.value) + " here, and so on"
}

// percented writes every byte but letters and digits as %XX.
func percented(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if isWord(s[i]) {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

func quoted(s string) string { return `"` + escaped(s, false) + `"` }

var writings = []writing{
	{"plain", kind.sentence},
	{"json", func(k kind) string { return `{"n":1,"text":` + quoted(k.sentence()) + `}` }},
	{"json key", func(k kind) string { return `{"user":"ana",` + quoted(k.named("value")) + `:` + quoted(k.value) + `}` }},
	{"env", func(k kind) string {
		key := strings.ToUpper(strings.ReplaceAll(k.named("value"), "-", "_"))
		return "HOME=/home/ana\nexport " + assigning(key, k.value) + "\nLANG=C\n"
	}},
	{"form", func(k kind) string {
		if k.key != "" && !k.isHeader() {
			return "user=ana&" + url.QueryEscape(k.key) + "=" + url.QueryEscape(k.value) + "&n=1"
		}
		return "user=ana&note=" + url.QueryEscape(k.sentence()) + "&n=1"
	}},
	{"query", func(k kind) string { return "GET https://api.internal/v1?q=" + percented(k.sentence()) + "&n=1" }},
	{"yaml", func(k kind) string {
		value := k.value
		if strings.Contains(value, "\n") {
			value = "|\n    " + strings.ReplaceAll(value, "\n", "\n    ")
		} else if strings.ContainsAny(value, " \"'#:[]{},&*!|>%@`\\") {
			value = quoted(value)
		}
		return "user: ana\nlogin:\n  " + k.named("value") + ": " + value + "\n  n: 1\n"
	}},
	{"header", func(k kind) string {
		return "HTTP/1.1 200 OK\r\n" + strings.ReplaceAll(k.named("X-Note"), "_", "-") + ": " + strings.ReplaceAll(k.value, "\n", " ") + "\r\nContent-Length: 2\r\n\r\n"
	}},
	{"markdown", func(k kind) string {
		if k.key == "" {
			return "Then run this:\n\n```\n" + k.value + "\n```\n\nand `" + strings.ReplaceAll(k.value, "\n", " ") + "` again."
		}
		if k.isHeader() {
			return "Then run `curl -H '" + k.key + ": " + k.value + "' https://api.internal` again."
		}
		return "Then run `" + assigning(k.key, k.value) + "` again."
	}},
	{"nested", func(k kind) string {
		inner := `{"user":"ana",` + quoted(k.named("value")) + `:` + quoted(k.value) + `,"text":` + quoted(k.sentence()) + `}`
		return `{"tool_calls":[{"function":{"name":"login","arguments":` + quoted(inner) + `}}]}`
	}},
}

// holds reports whether a text still holds the value, in any spelling.
func (k kind) isIn(out string) bool {
	for _, s := range []string{k.value, escaped(k.value, false), escaped(escaped(k.value, false), false), url.QueryEscape(k.value), url.PathEscape(k.value),
		percented(k.value), strings.ReplaceAll(k.value, "\n", "\n    "), strings.ReplaceAll(k.value, "\n", " ")} {
		if strings.Contains(out, s) {
			return true
		}
	}
	return false
}

// ownKinds are the kinds that gitleaks has no rule for, or none that finds them in texts.
func ownKinds() []kind {
	n := uint64(1000)
	r := func(length int, of string) string { n++; return random(n, length, of) }
	hex := digits + "abcdef"
	from := func(values ...string) string { n++; return values[int(n)%len(values)] }
	pem := func(what string) string {
		return "-----BEGIN " + what + " KEY-----\n" + r(64, alnum+"+/") + "\n" + r(64, alnum+"+/") + "\n" + r(22, alnum) + "==\n-----END " + what + " KEY-----"
	}
	iban := func(country, account string) string {
		for check := 2; ; check++ {
			if s := fmt.Sprintf("%s%02d%s", country, check, account); remainder(s) == 1 {
				return s
			}
		}
	}
	digit := func(length int) string { return r(length, digits) }
	return []kind{
		{"openai project key", "", "sk-" + "proj-" + r(74, alnum) + "T3Blbk" + "FJ" + r(74, alnum)},
		{"openai style key", "", "sk-" + r(40, alnum)},
		{"groq key", "", "gs" + "k_" + r(52, alnum)},
		{"xai key", "", "xa" + "i-" + r(80, alnum)},
		{"nvidia key", "", "nva" + "pi-" + r(64, alnum)},
		{"replicate key", "", "r8" + "_" + r(37, alnum)},
		{"google access token", "", "ya" + "29." + r(60, alnum+"_-")},
		{"google client secret", "", "GOC" + "SPX-" + r(28, alnum+"_-")},
		{"stripe webhook secret", "", "wh" + "sec_" + r(32, alnum)},
		{"telegram bot token", "", r(9, "123456789") + ":A" + "A" + r(33, alnum+"_-")},
		{"telegram bot address", "", "https://api.telegram.org/bot" + r(10, "123456789") + ":A" + "A" + r(33, alnum+"_-") + "/getMe"},
		{"npm token", "", "np" + "m_" + r(36, alnum)},
		{"aws secret key", "aws_secret_access_key", r(40, alnum+"+/")},
		{"bearer token", "", "Bearer " + r(40, alnum)},
		{"basic authorization", "Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("ana:"+r(14, alnum)))},
		{"bare authorization", "Authorization", r(24, alnum)},
		{"hex authorization", "Authorization", r(32, hex)},
		{"digest authorization", "Authorization", `Digest username="ana", response="` + r(32, hex) + `"`},
		{"session cookie", "Cookie", "sid=" + r(28, alnum)},
		{"cookies", "Cookie", "theme=dark; sid=" + r(28, alnum)},
		{"set cookie", "Set-Cookie", "sid=" + r(28, alnum) + "; Path=/; HttpOnly"},
		{"json web token", "", "ey" + "J" + r(33, alnum) + ".ey" + "J" + r(60, alnum) + "." + r(43, alnum+"-_")},
		{"rsa key", "", pem("RSA PRIVATE")},
		{"openssh key", "", pem("OPENSSH PRIVATE")},
		{"weak password", "password", from("hunter2", "letmein1", "summer2024")},
		{"words as a password", "password", from("correct horse battery", "open the door please")},
		{"password of signs", "password", "Tr" + r(3, digits) + "&" + r(3, small) + "-" + r(2, digits) + "!"},
		{"passwd", "passwd", r(9, alnum) + "7"},
		{"database password", "DB_PASSWORD", r(6, alnum) + "&3-" + r(5, small) + "!"},
		{"secret", "secret", r(8, small) + "42"},
		{"client secret", "client_secret", r(12, alnum) + "~8"},
		{"token", "token", r(10, small) + "7"},
		{"access token", "access_token", r(12, alnum) + "1"},
		{"refresh token", "refresh_token", r(12, alnum) + "2"},
		{"weak api key", "api_key", r(8, small) + "3"},
		{"pin", "pin", digit(4)},
		{"one-time password", "otp", digit(6)},
		{"url password", "", "postgres://ana:" + r(12, alnum) + "@db.internal:5432/shop"},
		{"signed address", "", "https://files.internal/x?sig=" + r(43, alnum) + "&n=1"},
		{"amazon signed address", "", "https://s3.internal/x?X-Amz-Signature=" + r(64, hex)},
		{"e-mail address", "", from("ana.lopez", "jo.doe+x") + "@" + "mail.example.org"},
		{"quoted e-mail address", "", `"ana ` + `lopez"` + "@" + "example.org"},
		{"international phone number", "", "+49 30 " + r(4, "123456789") + " " + r(4, "123456789")},
		{"phone number in one piece", "", "+1415555" + r(4, digits)},
		{"american phone number", "", "(415) 555-" + r(4, digits)},
		{"american phone number, spaces", "", "415 555 " + r(4, digits)},
		{"french phone number", "", "06 " + r(2, digits) + " " + r(2, digits) + " " + r(2, digits) + " " + r(2, digits)},
		{"german phone number", "", "030 " + r(7, "123456789")},
		{"visa", "", luhned("4" + r(14, digits))},
		{"visa in fours", "", fours(luhned("4" + r(14, digits)))},
		{"mastercard", "", luhned("53" + r(13, digits))},
		{"american express", "", luhned("37" + r(12, digits))},
		{"iban, german", "", iban("DE", r(18, digits))},
		{"iban, british", "", iban("GB", "WEST"+r(14, digits))},
		{"iban in fours", "", fours(iban("FR", r(10, digits)+r(11, digits+large)+r(2, digits)))},
		{"social security number", "", "5" + r(2, "123456789") + "-" + r(2, "123456789") + "-" + r(4, "123456789")},
	}
}

// remainder is that of an IBAN divided by 97, by ISO 13616: the first four
// characters go to the end, and a letter counts as two digits from A = 10.
func remainder(iban string) int {
	rest := 0
	for _, c := range iban[4:] + iban[:4] {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	return rest
}

// luhned adds the check digit to a card's number.
func luhned(number string) string {
	for c := byte('0'); ; c++ {
		if luhn(append([]byte(number), c)) {
			return number + string(c)
		}
	}
}

func fours(s string) string {
	var parts []string
	for ; len(s) > 4; s = s[4:] {
		parts = append(parts, s[:4])
	}
	return strings.Join(append(parts, s), " ")
}

// withKey is how gitleaks writes a rule whose value needs a name before it.
var withKey = regexp.MustCompile(`^(?:\(\?i\))?(?:\[\\w\.-\]\{0,50\}\?(?:\(\?i:)?)+\(\?:(.+?)\)\(\?:\[ \\t\\w\.-\]\{0,20\}\)`)

// leakKinds makes a value for each rule of gitleaks that says so by its form or
// by the name before it: one that gitleaks itself finds. dropped are the others.
func leakKinds(t *testing.T) (kinds []kind, dropped []string) {
	t.Helper()
	for i, l := range readGitleaks().Rules {
		if l.Path != "" || slices.ContainsFunc(own(), func(r *rule) bool { return r.name == l.ID }) {
			continue
		}
		if k, ok := leakKind(t, uint64(i), l); ok {
			kinds = append(kinds, k)
		} else {
			dropped = append(dropped, l.ID)
		}
	}
	return kinds, dropped
}

func leakKind(t *testing.T, seed uint64, l leakRule) (kind, bool) {
	t.Helper()
	tree, err := syntax.Parse(l.Regex, syntax.Perl)
	if err != nil {
		t.Fatal(err)
	}
	strict := &rule{name: l.ID, re: lazily(l.Regex), group: l.SecretGroup, entropy: l.Entropy, foreign: true}
	for _, a := range l.Allowlists {
		strict.allowed = append(strict.allowed, a.list())
	}
	rng := rand.New(rand.NewPCG(seed, 11))
	for range 200 {
		k := kind{name: l.ID}
		value := tree
		if c := capture(tree); c != nil {
			value = c
		}
		if m := withKey.FindStringSubmatch(l.Regex); m != nil {
			name, err := syntax.Parse(m[1], syntax.Perl)
			if err != nil {
				t.Fatal(err)
			}
			k.key = strings.Trim(strings.ToLower(made(rng, name)), " .-_") + "_key"
			k.key = regexp.MustCompile(`[^a-z0-9]+`).ReplaceAllString(k.key, "_")
		}
		k.value = strings.TrimSpace(made(rng, value))
		if k.key == "" && !newAutomaton(l.Keywords).any(k.value) {
			k.key = l.Keywords[0] + "_key" // gitleaks looks where a keyword is
		}
		text := "x " + k.value + "\n"
		if k.key != "" {
			text = k.key + ` = "` + k.value + "\"\n"
		}
		found := false
		strict.match(text, 0, len(text), func(start, end int) { found = found || text[start:end] == k.value })
		if found && len(k.value) >= 8 {
			return k, true
		}
	}
	return kind{}, false
}

// capture is the first group that captures.
func capture(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpCapture {
		return re
	}
	for _, sub := range re.Sub {
		if c := capture(sub); c != nil {
			return c
		}
	}
	return nil
}

// made draws a text that an expression matches.
func made(rng *rand.Rand, re *syntax.Regexp) string {
	var b strings.Builder
	times := func(least, most int) {
		if most < 0 || most > least+4 {
			most = least + 4
		}
		for range least + rng.IntN(most-least+1) {
			b.WriteString(made(rng, re.Sub[0]))
		}
	}
	switch re.Op {
	case syntax.OpLiteral:
		text := string(re.Rune)
		if re.Flags&syntax.FoldCase != 0 {
			text = strings.ToLower(text)
		}
		return text
	case syntax.OpCharClass:
		var of []rune
		for i := 0; i < len(re.Rune); i += 2 {
			for c := max(re.Rune[i], ' '); c <= min(re.Rune[i+1], '~'); c++ {
				of = append(of, c)
			}
		}
		if len(of) == 0 {
			return " "
		}
		return string(of[rng.IntN(len(of))])
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return string(alnum[rng.IntN(len(alnum))])
	case syntax.OpCapture:
		return made(rng, re.Sub[0])
	case syntax.OpStar:
		times(0, 2)
	case syntax.OpPlus:
		times(1, 3)
	case syntax.OpQuest:
		times(0, 1)
	case syntax.OpRepeat:
		times(re.Min, re.Max)
	case syntax.OpAlternate:
		return made(rng, re.Sub[rng.IntN(len(re.Sub))])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			b.WriteString(made(rng, sub))
		}
	}
	return b.String()
}

// At least nine of ten kinds are found in every form of writing.
func TestKinds(t *testing.T) {
	kinds, dropped := leakKinds(t)
	t.Logf("%d rules of gitleaks need more than a name before a value: %v", len(dropped), dropped)
	kinds = append(kinds, ownKinds()...)
	if len(kinds) < 90 {
		t.Fatalf("there are %d kinds", len(kinds))
	}
	missed := make([][]string, len(writings))
	for _, k := range kinds {
		line := ""
		for i, w := range writings {
			in := w.write(k)
			if !k.isIn(in) {
				t.Fatalf("%s, %s: the test does not know its own text %q", k.name, w.name, in)
			}
			out := redactor(t, Options{}).Text(in)
			mark := "  ."
			if k.isIn(out) {
				missed[i] = append(missed[i], k.name)
				mark = " no"
			}
			line += fmt.Sprintf("%*s", len(w.name)+1, mark)
		}
		t.Logf("%-40s%s", k.name, line)
	}
	for i, w := range writings {
		found := len(kinds) - len(missed[i])
		t.Logf("%-10s %d of %d kinds, without %v", w.name, found, len(kinds), missed[i])
		if found*10 < len(kinds)*9 {
			t.Errorf("%s: %d of %d kinds are found", w.name, found, len(kinds))
		}
	}
}

// A kind of ours is found wherever a stream cuts it: a sentence of a reply, and
// the JSON of a call's arguments.
func TestKindsInStreams(t *testing.T) {
	call := func(pieces ...string) (stream string) {
		for _, p := range pieces {
			stream += fmt.Sprintf(calls["chat"], 0, escaped(p, false))
		}
		return stream
	}
	for _, k := range ownKinds() {
		args := `{"user":"ana",` + quoted(k.named("value")) + `:` + quoted(k.value) + `}`
		inJSON := k.name != "database password" // no key of JSON that is secret by name
		for name, c := range map[string]struct {
			text  string
			write func(pieces ...string) string
		}{"a reply": {k.sentence(), wires[0].written}, "arguments": {args, call}} {
			if name == "arguments" && !inJSON {
				continue
			}
			for at := 1; at < len(c.text); at += 3 {
				in := c.write(c.text[:at], c.text[at:])
				out := redactor(t, Options{}).Body("text/event-stream", in)
				var left string
				for _, m := range regexp.MustCompile(`"(?:content|arguments)":("(?:[^"\\]|\\.)*")`).FindAllStringSubmatch(out, -1) {
					piece, err := strconv.Unquote(m[1])
					if err != nil {
						piece = m[1] // an escape that only JSON has
					}
					left += piece
				}
				if left == "" || k.isIn(left) {
					t.Fatalf("%s: %s, cut at %d, leaves %q", k.name, name, at, left)
				}
			}
		}
	}
}

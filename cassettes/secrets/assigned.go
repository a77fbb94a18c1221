package secrets

import (
	"slices"
	"strings"
)

// schemes are those of an Authorization header whose credential follows as one
// word. Behind those of schemesOfMany, more words follow.
var (
	schemes       = []string{"bearer", "basic", "token", "negotiate", "apikey", "api-key", "key", "dpop", "ssws", "splunk", "oauth2"}
	schemesOfMany = []string{"digest", "oauth", "hawk", "aws4-hmac-sha256", "signature", "mutual"}
)

// scheme returns the length of the scheme that a credential begins with, and of
// the space behind it; 0 = it has none.
func scheme(credential string) int {
	word, rest, ok := strings.Cut(credential, " ")
	word = strings.ToLower(word)
	if !ok || !slices.Contains(schemes, word) && !slices.Contains(schemesOfMany, word) {
		return 0
	}
	return len(credential) - len(strings.TrimLeft(rest, " "))
}

// Bounds of what is read around the sign of an assignment.
const (
	maxSpace = 4       // white space beside it
	maxShort = 256     // a value, to decide whether it is secret
	maxLong  = 4 << 10 // a header's value
)

// assigned finds what is assigned to a name that says secret: password=…,
// "token": "…", Authorization: …, export DB_PASSWORD=….
func assigned(text string, found func(start, end int)) {
	for at := 0; ; {
		i := strings.IndexAny(text[at:], ":=")
		if i < 0 {
			return
		}
		a := assignment{text: text, sign: at + i}
		at = a.sign + 1
		if !a.readName() || !a.readSign() {
			continue
		}
		if start, end := a.value(); start < end && !isLogprob(a.name, text, start, end) {
			found(start, end)
			at = max(at, end)
		}
	}
}

// An assignment is one sign, and what stands around it.
type assignment struct {
	text   string
	sign   int    // the place of : or =
	from   int    // where the value, or its quote, begins
	name   string // without its quotes
	plain  plain  // the same
	start  int    // where the name begins, or its quote
	quote  byte   // of the name, 0 = none
	spaced bool   // there is white space beside the sign
}

// readName reads the name before the sign, and reports whether it says secret.
func (a *assignment) readName() bool {
	i := a.sign
	for i > 0 && a.sign-i < maxSpace && (a.text[i-1] == ' ' || a.text[i-1] == '\t') {
		i--
	}
	a.spaced = i < a.sign
	if i > 1 && a.text[i-1] == ']' && isQuote(a.text[i-2]) { // headers["Cookie"]
		i--
	}
	if i > 0 && isQuote(a.text[i-1]) {
		i--
		a.quote = a.text[i]
	}
	end := i
	for i > 0 && end-i <= maxKey && (isWord(a.text[i-1]) || a.text[i-1] == '-') {
		i--
	}
	a.name = strings.TrimLeft(a.text[i:end], "-") // --password=
	a.start = end - len(a.name)
	a.plain = plainName(a.name)
	switch {
	case a.name == "" || a.start-i == 1 || i > 0 && strings.IndexByte("${/\\", a.text[i-1]) >= 0:
		return false
	case a.quote != 0:
		if a.start == 0 || a.text[a.start-1] != a.quote {
			return false
		}
		a.start--
		return isSecretName(a.name)
	}
	return isSecretName(a.name) || isVariable(a.name)
}

// readSign reads the rest of the sign, and reports whether it assigns.
func (a *assignment) readSign() bool {
	i := a.sign + 1
	switch rest := a.text[i:]; {
	case strings.HasPrefix(rest, "="): // := and ==
		i++
	case strings.HasPrefix(rest, ">"): // =>
		i++
	case strings.HasPrefix(rest, "/") && a.text[a.sign] == ':', strings.HasPrefix(rest, ":"):
		return false
	}
	a.from = i
	for i < len(a.text) && i-a.from < maxSpace && (a.text[i] == ' ' || a.text[i] == '\t') {
		i++
	}
	a.spaced = a.spaced || i > a.from
	a.from = i
	return i < len(a.text)
}

// value returns the place of the value, if it is secret.
func (a *assignment) value() (start, end int) {
	switch c := a.text[a.from]; {
	case isQuote(c):
		return a.inQuotes(c)
	case a.plain.is("cookie"), a.plain.is("setcookie"):
		return a.cookie()
	case a.plain.is("authorization"):
		return a.credential()
	case a.quote != 0 && a.text[a.sign] == ':': // a number of JSON
		return 0, 0
	}
	return a.word()
}

// inQuotes returns a value in quotes. Where they do not end, the line does.
func (a *assignment) inQuotes(quote byte) (start, end int) {
	start = a.from + 1
	value := a.read(start, maxLong, string(quote)+"\r\n")
	end = start + len(value)
	if isReference(value) || isBareWord(value) {
		return 0, 0
	}
	return start + scheme(value), end
}

// cookie returns the value of a header with cookies: of Set-Cookie up to the
// first attribute.
func (a *assignment) cookie() (start, end int) {
	if !strings.Contains(a.line(a.from, maxShort), "=") {
		return 0, 0
	}
	line := a.untilQuote(a.line(a.from, maxLong))
	if a.plain.is("setcookie") {
		line, _, _ = strings.Cut(line, ";")
	}
	line = strings.TrimRight(line, " \t")
	if name, value, is := strings.Cut(line, "="); !is || name == "" || strings.ContainsAny(name, " &?,(){}[]<>@:/") || value == "" {
		return 0, 0
	}
	return a.from, a.from + len(line)
}

// credential returns the credential of an Authorization header.
func (a *assignment) credential() (start, end int) {
	line := a.untilQuote(a.line(a.from, maxShort))
	start = a.from + scheme(line)
	word, _, _ := strings.Cut(strings.ToLower(line), " ")
	rest := line[start-a.from:]
	if slices.Contains(schemesOfMany, word) {
		rest = strings.TrimRight(a.line(start, maxLong), " \t")
		return start, start + len(rest)
	}
	rest = firstWord(rest)
	if len(rest) < 6 || !strings.ContainsAny(rest, "0123456789") && (len(rest) < 16 || strings.ToLower(rest) == rest) {
		return 0, 0
	}
	return start, start + len(firstWord(a.line(start, maxLong)))
}

// untilQuote cuts a header's value at the closing quote, if the whole header is in
// quotes: -H 'Cookie: …'.
func (a *assignment) untilQuote(line string) string {
	if a.start > 0 && isQuote(a.text[a.start-1]) {
		line, _, _ = strings.Cut(line, a.text[a.start-1:a.start])
	}
	return line
}

// word returns a value without quotes: one word.
func (a *assignment) word() (start, end int) {
	line := a.line(a.from, maxShort)
	before := byte('\n')
	if a.start > 0 {
		before = a.text[a.start-1]
	}
	variable := isVariable(a.name) && a.text[a.sign] == '=' && !a.spaced
	parameter := a.text[a.sign] == '=' && !a.spaced && (before == '?' || before == '&' || a.start == 0 && strings.Contains(line, "&"))
	value := line
	switch {
	case variable:
		value = value[:until(value, " \t\"'`<>")]
	case parameter:
		value = value[:until(value, " \t\"'`<>&#")]
	default:
		value = strings.TrimRight(value[:until(value, " \t\"'`<>&#;,|)]}")], ".!?:")
	}
	if isReference(value) || isBareWord(value) || strings.Contains(value, "://") || strings.ContainsAny(value, "([{") && !variable && !parameter {
		return 0, 0
	}
	whole := a.beginsLine() && strings.TrimSpace(strings.TrimLeft(line[len(value):], ",;")) == ""
	signs := strings.Trim(value, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._") != ""
	digits := strings.Trim(value, "0123456789") == ""
	switch numeric := a.plain.is("pin") || a.plain.is("otp"); {
	case numeric && (!digits || len(value) < 3):
		return 0, 0
	case variable, parameter, whole && (signs || a.text[a.sign] == ':'):
	case a.spaced && a.text[a.sign] == '=', !signs, len(value) < 4:
		return 0, 0
	}
	end = a.from + len(value)
	for len(value) == maxShort && end < len(a.text) && a.text[end] > ' ' && !isQuote(a.text[end]) {
		end++
	}
	return a.from, end
}

// beginsLine reports whether nothing but white space and what begins an item
// stands before the name.
func (a *assignment) beginsLine() bool {
	before := a.text[max(0, a.start-maxKey):a.start]
	before = before[strings.LastIndexByte(before, '\n')+1:]
	before = strings.TrimSuffix(strings.TrimSpace(before), "export")
	return strings.Trim(before, " \t-*>#") == ""
}

// line returns what follows in the line, at most so many bytes.
func (a *assignment) line(from, most int) string { return a.read(from, most, "\r\n") }

// read returns what follows before one of some bytes, at most so many.
func (a *assignment) read(from, most int, stops string) string {
	text := a.text[from:min(len(a.text), from+most)]
	text = text[:until(text, stops)]
	looked.Add(int64(len(text)))
	return text
}

// until returns the index of the first of some bytes in a text, or the text's length.
func until(text, of string) int {
	if i := strings.IndexAny(text, of); i >= 0 {
		return i
	}
	return len(text)
}

func firstWord(text string) string { return text[:until(text, " \t\"'`<>,;&|()[]{}")] }

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

// isReference reports whether a value says where the secret is, or that there
// is none.
func isReference(value string) bool {
	v := strings.TrimSpace(value)
	switch {
	case v == "", strings.Trim(v, "*") == "", strings.Trim(v, ".") == "", strings.Trim(v, "xX") == "":
		return true
	case v[0] == '$' && len(v) > 1 && (isLetter(v[1]) || v[1] == '{' || v[1] == '('):
		return true
	}
	return strings.HasPrefix(v, "{{") || v[0] == '<' && v[len(v)-1] == '>' || v[0] == '%' && v[len(v)-1] == '%' && len(v) > 1
}

// isBareWord reports whether a value is a word that schemas, types and forms
// have in a secret's place.
func isBareWord(value string) bool {
	switch strings.ToLower(strings.Trim(value, " .,;")) {
	case "string", "str", "text", "number", "integer", "int", "bool", "boolean", "bytes", "object", "array", "any", "null", "none", "nil", "undefined",
		"true", "false", "yes", "no", "on", "off", "required", "optional", "missing", "invalid", "expired", "unknown", "hidden", "redacted", "masked",
		"password", "passwd", "secret", "token", "cookie", "pin", "otp", "bearer", "basic", "empty", "unset", "set", "enabled", "disabled", "default":
		return true
	}
	return false
}

func isLetter(c byte) bool { return isWord(c) && !isDigit(c) }

package secrets

import (
	"encoding/base64"
	"slices"
	"strings"
	"unicode/utf8"
)

// encodedName names the rule that looks into base64.
const encodedName = "base64"

// Bounds of what is decoded as base64: a shorter token holds no secret, and the
// first characters of most tokens show that they are not a text.
const (
	minEncoded = 24
	headChars  = 48
)

// encoded finds base64 whose text holds a secret. What is encoded twice is not
// found.
func (f *finder) encoded(text string, found func(start, end int)) {
	if f.inside {
		return
	}
	for i := 0; i < len(text); i++ {
		start := i
		for i < len(text) && (isWord(text[i]) || text[i] == '+' || text[i] == '/' || text[i] == '-') {
			i++
		}
		end := i
		for i < len(text) && text[i] == '=' {
			i++
		}
		if end-start < minEncoded {
			continue
		}
		if plain, ok := decoded(text[start:end]); ok {
			f.inside = true
			if len(f.find("", plain, maxNested-1)) > 0 {
				found(start, i)
			}
			f.inside = false
		}
	}
}

// decoded returns the text that is encoded in base64, of either alphabet and
// without padding, if it is a text. Its first bytes show most that is not.
func decoded(token string) (string, bool) {
	looked.Add(int64(len(token)))
	token = alphabet.Replace(token)
	for _, part := range []string{token[:min(len(token), headChars)], token} {
		data, err := base64.RawStdEncoding.DecodeString(part)
		if err != nil || slices.ContainsFunc(data, func(c byte) bool { return c < ' ' && c != '\t' && c != '\n' && c != '\r' }) {
			return "", false
		}
		if len(part) == len(token) {
			return string(data), utf8.Valid(data)
		}
	}
	return "", false
}

// alphabet turns base64 of URLs into that of everything else.
var alphabet = strings.NewReplacer("-", "+", "_", "/")

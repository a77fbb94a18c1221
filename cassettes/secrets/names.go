package secrets

import (
	"slices"
	"strings"
	"unicode"
)

// ByName is the name of the rule that goes by the names before values.
const ByName = "named"

// secretNames are the names whose string values are secret whatever they look
// like, in the form that plainName returns.
var secretNames = map[string]bool{"password": true, "passwd": true, "secret": true, "clientsecret": true, "token": true, "accesstoken": true,
	"refreshtoken": true, "apikey": true, "authorization": true, "cookie": true, "setcookie": true, "pin": true, "otp": true}

// harmlessNames end names whose values are not secret although they look so to
// a rule that goes by names.
var harmlessNames = []string{"pagetoken", "nexttoken", "continuationtoken", "maxtokens", "tokenizer", "secretary", "idempotencykey", "checksum"}

// environmentNames end the names of variables whose values are secret:
// DB_PASSWORD is as good as PASSWORD.
var environmentNames = []string{"_PASSWORD", "_PASSWD", "_SECRET", "_TOKEN", "_API_KEY", "_APIKEY"}

// A plain is a name in lower case, without - and _.
type plain struct {
	bytes [maxKey]byte
	n     int
}

// plainName returns the plain form of a name; a name that is too long has none.
func plainName(name string) (p plain) {
	if len(name) > maxKey {
		return p
	}
	for i := range len(name) {
		if c := name[i]; c != '-' && c != '_' {
			p.bytes[p.n] = lower(c)
			p.n++
		}
	}
	return p
}

func (p *plain) is(name string) bool { return string(p.bytes[:p.n]) == name }

func isSecretName(name string) bool {
	p := plainName(name)
	return secretNames[string(p.bytes[:p.n])]
}

func isHarmlessName(name string) bool {
	p := plainName(name)
	return slices.ContainsFunc(harmlessNames, func(end string) bool { return strings.HasSuffix(string(p.bytes[:p.n]), end) })
}

// isVariable reports whether a name is that of an environment variable whose
// value is secret.
func isVariable(name string) bool {
	return !strings.ContainsFunc(name, unicode.IsLower) && (isSecretName(name) || !isHarmlessName(name) &&
		slices.ContainsFunc(environmentNames, func(end string) bool { return strings.HasSuffix(name, end) }))
}

// ofKey adds the value of a JSON key to the secrets that were found in it, if
// the key's name says that the value is secret.
func (f *finder) ofKey(key, value string, spans []span) []span {
	if f.byName == nil || !isSecretName(key) {
		return spans
	}
	from := scheme(value)
	secret := value[from:]
	if strings.TrimSpace(secret) == "" || f.masks(secret) || f.allows(secret) || f.owns(secret) {
		return spans
	}
	return merged(append(spans, span{start: from, end: len(value), rule: f.byName, value: secret}))
}

// isLogprob reports whether a value is a token of a model's reply, which APIs give
// with its log probability: {"token":" the","logprob":-0.1,"bytes":[32,116,104,101]}.
func isLogprob(key, text string, start, end int) bool {
	return key == "token" && strings.Contains(text[max(0, start-maxShort):min(len(text), end+maxShort)], "logprob")
}

// owns reports whether the conversation's own text holds a value word for word.
func (r *Redactor) owns(value string) bool {
	for _, text := range r.own {
		for at := 0; ; {
			i := strings.Index(text[at:], value)
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(value)
			if (start == 0 || !isWord(text[start-1]) || !isWord(value[0])) && (end == len(text) || !isWord(text[end]) || !isWord(value[len(value)-1])) {
				return true
			}
			at = start + 1
		}
	}
	return false
}

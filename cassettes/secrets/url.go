package secrets

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// In a URL parameters and the user are known as such.
var (
	urlParameter = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)[?&;](?:` + strings.Join(urlNames, "|") + `)=([^&;#\[]+)`)
	})
	urlUser = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://([^/?#@\[]+)@`)
	})
)

// url returns the secrets of a URL.
func (f *finder) url(text string) []span {
	own := f.named("url-password", text, urlUser().FindAllStringSubmatchIndex(text, 1))
	own = append(own, f.named("url-token", text, urlParameter().FindAllStringSubmatchIndex(text, -1))...)
	return append(own, apart(f.body(text), own)...)
}

// named returns the first groups of matches as findings of a rule.
func (f *finder) named(name, text string, matches [][]int) []span {
	i := slices.IndexFunc(f.rules, func(r *rule) bool { return r.name == name })
	if f.isOff(int32(i)) {
		return nil
	}
	var all []span
	for _, m := range matches {
		if value := opened(text[m[2]:m[3]], true); !f.allows(value) && !f.masks(value) {
			all = append(all, span{start: m[2], end: m[3], rule: f.rules[i], value: value})
		}
	}
	return all
}

package secrets

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// In a URL the parameters are known as such, and so is the user.
var (
	urlParameter = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)[?&;](?:` + strings.Join(urlNames, "|") + `)=([^&;#\[]+)`)
	})
	urlUser = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://([^/?#@\[]+)@`)
	})
)

// url gives the secrets of a URL.
func (f *finder) url(text string) []span {
	all := f.body(text)
	add := func(name string, found [][]int) {
		i := slices.IndexFunc(f.rules, func(r *rule) bool { return r.name == name })
		for _, m := range found {
			if value := opened(text[m[2]:m[3]], true); !f.off[i] && !f.allows(value) && !f.masks(value) {
				all = append(all, span{start: m[2], end: m[3], rule: f.rules[i], value: value})
			}
		}
	}
	add("url-token", urlParameter().FindAllStringSubmatchIndex(text, -1))
	add("url-password", urlUser().FindAllStringSubmatchIndex(text, 1))
	return all
}

package secrets

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

// A rule finds one kind of secrets.
type rule struct {
	name     string
	label    string   // of its placeholders
	keywords []string // one of them is near every finding; none = look everywhere

	re      func() *regexp.Regexp // nil: scan finds
	group   int                   // which group is the secret; 0 = the first that is not empty
	entropy float64               // in bits a character; the secret has more, 0 = any
	digit   bool                  // the secret has a digit
	foreign bool                  // of gitleaks: its global allowlist applies
	vague   bool                  // where another rule finds the same, that one names it
	allowed []allowlist

	scan func(text string, found func(start, end int))
}

// An allowlist says which findings of a rule are not secret. One of its parts is
// enough.
type allowlist struct {
	target string // what the regexp looks at: "" the secret, "match", "line"
	re     func() *regexp.Regexp
	words  func() *automaton
}

// The work done: how many regexps of rules were compiled, and how many bytes
// regexps, escapes and paths have read.
var compiled, looked atomic.Int64

// lazily compiles a regexp, which is known to be right, at its first use.
func lazily(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		compiled.Add(1)
		return regexp.MustCompile(expr)
	})
}

// A catalogue is all rules that are built in.
type catalogue struct {
	rules      []*rule // sorted by name
	keywords   *automaton
	of         [][]int32 // the rules of a keyword
	everywhere []*rule   // those without a keyword
	labels     map[string]bool
	allowed    allowlist
}

// rule returns the rule of a name that there is.
func (c *catalogue) rule(name string) *rule {
	i, _ := slices.BinarySearchFunc(c.rules, name, func(r *rule, name string) int { return strings.Compare(r.name, name) })
	return c.rules[i]
}

var builtIn = sync.OnceValue(func() *catalogue {
	foreign, allowed := gitleaks()
	c := &catalogue{rules: own(), labels: map[string]bool{}, allowed: allowed}
	for _, r := range foreign {
		if !slices.ContainsFunc(c.rules, func(o *rule) bool { return o.name == r.name }) {
			c.rules = append(c.rules, r)
		}
	}
	slices.SortFunc(c.rules, func(a, b *rule) int { return strings.Compare(a.name, b.name) })
	places := map[string]int{}
	var words []string
	for i, r := range c.rules {
		c.labels[r.label] = true
		if r.scan != nil {
			c.everywhere = append(c.everywhere, r)
		}
		for _, w := range r.keywords {
			n, known := places[w]
			if !known {
				n = len(words)
				places[w] = n
				words, c.of = append(words, w), append(c.of, nil)
			}
			c.of[n] = append(c.of[n], int32(i))
		}
	}
	c.keywords = newAutomaton(words)
	return c
})

// Rules lists the names of the rules that are built in, sorted.
func Rules() []string {
	var names []string
	for _, r := range builtIn().rules {
		names = append(names, r.name)
	}
	return names
}

// label shortens the name of a rule.
func label(name string) string {
	for _, middle := range []string{"-api-", "-access-"} {
		if i := strings.LastIndex(name, middle); i > 0 {
			name = name[:i+1] + name[i+len(middle):]
		}
	}
	return name
}

// before and behind say how far around a keyword a match is looked for. A match
// that touches the end is followed further. block is the most that is read at once
// where keywords are close together.
const (
	before = 256
	behind = 1 << 10
	block  = 64 << 10
)

// match calls found with what the rule's regexp finds in text[from:to], and returns
// the end of what it has read, which is further where a match goes on.
func (r *rule) match(text string, from, to int, found func(start, end int)) int {
	var all [][]int
	for {
		looked.Add(int64(to - from))
		all = r.re().FindAllStringSubmatchIndex(text[from:to], -1)
		if to == len(text) || len(all) == 0 || all[len(all)-1][1] < to-from {
			break
		}
		to = min(len(text), to+(to-from))
	}
	for _, m := range all {
		start, end := r.secret(m)
		if start < end && r.holds(text, from+m[0], from+m[1], from+start, from+end) {
			found(from+start, from+end)
		}
	}
	return to
}

// secret returns the secret's place in a match.
func (r *rule) secret(m []int) (start, end int) {
	if r.group > 0 {
		return m[2*r.group], m[2*r.group+1]
	}
	for g := 2; g+1 < len(m); g += 2 {
		if m[g] < m[g+1] {
			return m[g], m[g+1]
		}
	}
	return m[0], m[1]
}

// holds reports whether a match is a secret.
func (r *rule) holds(text string, from, to, start, end int) bool {
	secret := text[start:end]
	if r.digit && !strings.ContainsAny(secret, "0123456789") || r.entropy > 0 && entropy(secret) <= r.entropy {
		return false
	}
	if r.name == "generic-api-key" && isHarmlessName(lastName(text[from:start])) {
		return false
	}
	if r.foreign && builtIn().allowed.allows(text, from, to, secret) {
		return false
	}
	for i := range r.allowed {
		if r.allowed[i].allows(text, from, to, secret) {
			return false
		}
	}
	return true
}

// lastName returns the name that a text ends with, before the sign of an
// assignment, quotes and space.
func lastName(text string) string {
	end := len(strings.TrimRight(text, " \t\r\n\"'`:=>|?,"))
	start := end
	for start > 0 && (isWord(text[start-1]) || text[start-1] == '-') {
		start--
	}
	return text[start:end]
}

// aroundLine bounds the line that an allowlist reads.
const aroundLine = 256

func (a *allowlist) allows(text string, from, to int, secret string) bool {
	if a.words != nil && a.words().any(secret) {
		return true
	}
	if a.re == nil {
		return false
	}
	target := secret
	switch a.target {
	case "match":
		target = text[from:to]
	case "line":
		left, right := text[max(0, from-aroundLine):from], text[to:min(len(text), to+aroundLine)]
		left = left[strings.LastIndexByte(left, '\n')+1:]
		if i := strings.IndexByte(right, '\n'); i >= 0 {
			right = right[:i]
		}
		target = left + text[from:to] + right
	}
	return a.re().MatchString(target)
}

// entropy returns Shannon's entropy in bits a character.
func entropy(s string) float64 {
	counts := map[rune]int{}
	for _, c := range s {
		counts[c]++
	}
	// Summed in a fixed order, since floats depend on it.
	sorted := make([]int, 0, len(counts))
	for _, n := range counts {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	sum, length := 0.0, float64(utf8.RuneCountInString(s))
	for _, n := range sorted {
		p := float64(n) / length
		sum -= p * math.Log2(p)
	}
	return sum
}

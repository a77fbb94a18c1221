package secrets

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Options say which secrets are looked for. The zero value takes all rules.
type Options struct {
	Off      []string          `json:"off,omitempty"`      // rules that are not applied
	Patterns map[string]string `json:"patterns,omitempty"` // own rules: a regexp by its name; its first group, if there is one, is the secret
	Values   []string          `json:"-"`                  // what is a secret whatever it looks like; options that are written down do not tell
	Allow    []string          `json:"allow,omitempty"`    // what is never a secret, in any case of letters; @example.com allows all addresses there
}

// A Redactor redacts the texts of one conversation. It is not safe for
// concurrent use.
type Redactor struct {
	rules      []*rule // those that are built in
	off        []bool  // which of them are not applied
	everywhere []*rule // what is applied without a keyword
	allow      map[string]bool
	labels     map[string]bool   // of placeholders
	given      map[string]string // placeholders of values
	numbers    map[string]int    // the highest of a label's placeholders
	count      map[string]int    // values of a rule
}

// valueLabel names the placeholders of the Values of [Options]. Every redactor
// knows it, since they are not told with the rest.
const valueLabel = "value"

var ruleName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// New makes the redactor of a conversation. An error names an option that is
// wrong.
func New(o Options) (*Redactor, error) {
	r := &Redactor{rules: builtIn().rules, allow: map[string]bool{}, labels: map[string]bool{}, given: map[string]string{}, numbers: map[string]int{}, count: map[string]int{}}
	r.off = make([]bool, len(r.rules))
	for _, name := range o.Off {
		i, known := slices.BinarySearchFunc(r.rules, name, func(r *rule, name string) int { return strings.Compare(r.name, name) })
		if !known {
			return nil, fmt.Errorf("redaction: there is no rule %q%s", name, hint(name))
		}
		r.off[i] = true
	}
	for i, rule := range r.rules {
		r.labels[rule.label] = true
		if rule.scan != nil && !r.off[i] {
			r.everywhere = append(r.everywhere, rule)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Patterns)) {
		own, err := pattern(name, o.Patterns[name])
		if err != nil {
			return nil, err
		}
		r.everywhere = append(r.everywhere, own)
		r.labels[own.label] = true
	}
	r.labels[valueLabel] = true
	for _, value := range o.Values {
		if value != "" {
			re := regexp.MustCompile(regexp.QuoteMeta(value))
			r.everywhere = append(r.everywhere, &rule{name: valueLabel, label: valueLabel, re: func() *regexp.Regexp { return re }})
		}
	}
	for _, word := range o.Allow {
		r.allow[strings.ToLower(word)] = true
	}
	return r, nil
}

// pattern makes a rule of the options.
func pattern(name, expr string) (*rule, error) {
	if !ruleName.MatchString(name) {
		return nil, fmt.Errorf("redaction: the rule %q cannot have this name: use lower-case letters, digits and -, at most 40", name)
	}
	if slices.Contains(Rules(), name) {
		return nil, fmt.Errorf("redaction: there is a rule %s already: give yours another name", name)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("redaction: the rule %s is no regular expression of Go: %w", name, err)
	}
	return &rule{name: name, label: name, re: func() *regexp.Regexp { return re }}, nil
}

// maxPasses bounds how often a text is looked through. A secret that is masked
// may uncover another; after half of the passes what holds one is masked as a
// whole.
const maxPasses = 16

// Text redacts a text.
func (r *Redactor) Text(text string) string {
	return r.redact(text, (*finder).body)
}

// JSON redacts the keys and strings of a JSON document. All else stays as it is.
func (r *Redactor) JSON(text string) string {
	if !isJSON(text) && json.Valid([]byte(text)) {
		return text
	}
	return r.Text(text)
}

// Body redacts a body: a JSON document, a stream of events, or any other text.
// The body itself shows which it is; its content type is not asked.
func (r *Redactor) Body(_, body string) string { return r.Text(body) }

// URL redacts a URL: its user and password, the query parameters that carry
// keys, tokens and signatures, and what else is secret in a text.
func (r *Redactor) URL(text string) string { return r.redact(text, (*finder).url) }

// Leftover gives the name of a rule that finds something in a text, "" if none
// does. What it has found is not told.
func (r *Redactor) Leftover(text string) string {
	if spans := r.finder().body(text); len(spans) > 0 {
		return spans[0].rule.name
	}
	return ""
}

// Count gives how many values were masked, by rule. A value counts once.
func (r *Redactor) Count() map[string]int { return maps.Clone(r.count) }

func (r *Redactor) finder() *finder { return &finder{Redactor: r, met: map[string]int{}} }

// redact masks what find finds until it finds nothing.
func (r *Redactor) redact(text string, find func(*finder, string) []span) string {
	for pass := range maxPasses {
		f := r.finder()
		f.whole = pass >= maxPasses/2
		spans := merged(find(f, text))
		for label, n := range f.met {
			r.numbers[label] = max(r.numbers[label], n)
		}
		if len(spans) == 0 {
			break
		}
		text = r.masked(text, spans)
	}
	return text
}

// masked puts placeholders in the places of spans.
func (r *Redactor) masked(text string, spans []span) string {
	var b strings.Builder
	at := 0
	for _, s := range spans {
		b.WriteString(text[at:s.start])
		if !s.rest {
			b.WriteString(r.placeholder(s.rule, s.value))
		}
		at = s.end
	}
	b.WriteString(text[at:])
	return b.String()
}

// allows reports whether a value is never a secret.
func (r *Redactor) allows(value string) bool {
	if len(r.allow) == 0 {
		return false
	}
	value = strings.ToLower(value)
	at := strings.LastIndexByte(value, '@')
	return r.allow[value] || at >= 0 && r.allow[value[at:]]
}

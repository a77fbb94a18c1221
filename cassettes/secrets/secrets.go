package secrets

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

// Options say what counts as a secret. The zero value applies all patterns.
type Options struct {
	Off      []string          `json:"off,omitempty"`      // names of patterns that are not applied
	Patterns map[string]string `json:"patterns,omitempty"` // own patterns: a regexp by its name; its first group, if there is one, is the secret
	Values   []string          `json:"-"`                  // what is a secret whatever it looks like; not written down with the rest
	Allow    []string          `json:"allow,omitempty"`    // what is never a secret, in any case of letters; @example.com allows all addresses there
	// Own are texts of the conversation's author, such as a scenario's file. A value
	// that is in one of them word for word is not a secret because of its name, but
	// may be one because of its form. Own is not part of the JSON.
	Own []string `json:"-"`
}

// A Redactor redacts the texts of one conversation. It is not safe for
// concurrent use.
type Redactor struct {
	rules      []*rule // those that are built in
	off        []bool  // which of them are not applied, nil = none
	everywhere []*rule // what is applied without a keyword
	byName     *rule   // the rule that goes by names, nil = off
	own        []string
	allow      map[string]bool
	labels     map[string]bool   // of placeholders, beside those of the built-in rules
	given      map[string]string // placeholders of values
	numbers    map[string]int    // the highest of a label's placeholders
	count      map[string]int    // values of a rule
}

// valueLabel names the placeholders of the Values of [Options]. Every redactor
// knows it, since they are not written down with the rest.
const valueLabel = "value"

var ruleName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)

// New returns the redactor of a conversation. An error names the option that is
// wrong.
func New(o Options) (*Redactor, error) {
	c := builtIn()
	r := &Redactor{rules: c.rules, everywhere: c.everywhere, byName: c.rule(ByName), labels: map[string]bool{valueLabel: true}, given: map[string]string{},
		numbers: map[string]int{}, count: map[string]int{}}
	if err := r.turnOff(o.Off); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Patterns)) {
		own, err := pattern(name, o.Patterns[name])
		if err != nil {
			return nil, err
		}
		r.add(own)
	}
	for _, value := range o.Values {
		if value != "" {
			re := regexp.MustCompile(regexp.QuoteMeta(value))
			r.add(&rule{name: valueLabel, label: valueLabel, re: func() *regexp.Regexp { return re }})
		}
	}
	if len(o.Allow) > 0 {
		r.allow = map[string]bool{}
	}
	for _, word := range o.Allow {
		r.allow[strings.ToLower(word)] = true
	}
	for _, text := range o.Own {
		for range maxEscaped {
			r.own = append(r.own, text)
			plain := opened(text, false)
			if plain == text {
				break
			}
			text = plain
		}
	}
	return r, nil
}

// turnOff turns built-in rules off.
func (r *Redactor) turnOff(names []string) error {
	if len(names) == 0 {
		return nil
	}
	r.off = make([]bool, len(r.rules))
	for _, name := range names {
		i, known := slices.BinarySearchFunc(r.rules, name, func(r *rule, name string) int { return strings.Compare(r.name, name) })
		if !known {
			hint := text.DidYouMean(name, Rules())
			if hint != "" {
				hint = ": " + hint
			}
			return fmt.Errorf("redaction: there is no pattern %s%s", text.Quote(name, 80), hint)
		}
		r.off[i] = true
		if off := r.rules[i]; off.scan != nil {
			r.everywhere = slices.DeleteFunc(slices.Clone(r.everywhere), func(r *rule) bool { return r == off })
		}
		if name == ByName {
			r.byName = nil
		}
	}
	return nil
}

// add adds a rule that is looked for everywhere.
func (r *Redactor) add(own *rule) {
	r.everywhere = append(slices.Clip(r.everywhere), own)
	r.labels[own.label] = true
}

// pattern returns a rule of the options.
func pattern(name, expr string) (*rule, error) {
	if !ruleName.MatchString(name) {
		return nil, fmt.Errorf("redaction: the pattern %q cannot have this name: use lower-case letters, digits and -, at most 40", name)
	}
	if slices.Contains(Rules(), name) {
		return nil, fmt.Errorf("redaction: there is a pattern %s already: give yours another name", name)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("redaction: the pattern %s is not a regular expression of Go: %w", name, err)
	}
	return &rule{name: name, label: name, re: func() *regexp.Regexp { return re }}, nil
}

// maxPasses bounds how often a text is searched. A secret that is masked may
// uncover another; after half of the passes a text with one is masked as a whole.
const maxPasses = 16

// Text redacts a text.
func (r *Redactor) Text(text string) string {
	return r.redact(text, (*finder).body)
}

// JSON redacts the keys and strings of a JSON document. Everything else stays.
func (r *Redactor) JSON(text string) string {
	if !isJSON(text) && json.Valid([]byte(text)) {
		return text
	}
	return r.Text(text)
}

// Body redacts a body: a JSON document, a stream of events, or any other text.
// The body itself shows which it is; its content type is ignored.
func (r *Redactor) Body(_, body string) string { return r.Text(body) }

// URL redacts a URL: its user and password, the query parameters that carry
// keys, tokens and signatures, and what else is secret in a text.
func (r *Redactor) URL(text string) string { return r.redact(text, (*finder).url) }

// Leftover returns the name of a rule that finds something in a text, "" if none
// does.
func (r *Redactor) Leftover(text string) string {
	if spans := r.finder().body(text); len(spans) > 0 {
		return spans[0].rule.name
	}
	return ""
}

// Count returns the number of values that were masked, by rule. A value counts once.
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

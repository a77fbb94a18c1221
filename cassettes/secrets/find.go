package secrets

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// A span is a secret in a text, or a piece of one.
type span struct {
	start, end int
	rule       *rule
	value      string
	rest       bool // it is not the first piece
}

// A finder looks through a text once.
type finder struct {
	*Redactor
	met    map[string]int // the highest numbers of the placeholders in the text, by label
	whole  bool           // a text with a secret in it is masked as a whole
	inside bool           // the text was encoded in base64
}

// maxNested is how often JSON in a string of JSON is looked into, and maxEscaped
// how often escapes are undone.
const (
	maxNested  = 6
	maxEscaped = 4
)

// find returns the secrets of a text that is the value of a key ("" = of none),
// sorted.
func (f *finder) find(key, text string, nested int) []span {
	if nested < maxNested && isJSON(text) {
		return f.document(text, nested+1)
	}
	return f.plain(key, text)
}

// isJSON reports whether a text is a JSON document that may hold strings.
func isJSON(text string) bool {
	t := strings.TrimLeft(text, " \t\r\n")
	return t != "" && (t[0] == '{' || t[0] == '[' || t[0] == '"') && json.Valid([]byte(text))
}

// document returns the secrets of a JSON document.
func (f *finder) document(text string, nested int) []span {
	var all []span
	walk(text, false, func(l leaf) {
		all = together(all, f.leaf(text, l, nested))
	})
	return all
}

// leaf returns the secrets of a string of a JSON document.
func (f *finder) leaf(text string, l leaf, nested int) []span {
	raw := text[l.start:l.end]
	value := opened(raw, false)
	spans := f.find(l.key, value, nested)
	if !isLogprob(l.key, text, l.start, l.end) {
		spans = f.ofKey(l.key, value, spans)
	}
	if len(spans) == 0 {
		return nil
	}
	return moved(closed(raw, spans, false), l.start)
}

// A key is put before a value if neither is longer.
const (
	maxKey   = 64
	maxValue = 1 << 10
)

// plain returns the secrets of a text that is not a document: as it stands, and
// as what a form has encoded.
func (f *finder) plain(key, text string) []span {
	text = formed(text, true)
	spans := f.unescaped(key, text)
	if form := formed(text, false); form != text {
		spans = merged(append(spans, f.unescaped(key, form)...))
	}
	return spans
}

// unescaped returns the secrets of a text, whose escapes it undoes.
func (f *finder) unescaped(key, text string) []span {
	texts := []string{text}
	for len(texts) <= maxEscaped {
		next := opened(text, true)
		if next == text {
			break
		}
		texts, text = append(texts, next), next
	}
	skip := 0
	if key != "" && len(key) <= maxKey && len(text) <= maxValue {
		text = key + ":\n" + text
		skip = len(key) + 2
	}
	spans := f.between(text)
	spans = moved(slices.DeleteFunc(spans, func(s span) bool { return s.start < skip }), -skip)
	for i := len(texts) - 2; i >= 0 && len(spans) > 0; i-- {
		spans = closed(texts[i], spans, true)
	}
	return spans
}

// between returns the secrets between the placeholders of a text.
func (f *finder) between(text string) []span {
	var all []span
	from := 0
	segment := func(to int) {
		if from < to {
			all = together(all, moved(f.segment(text[from:to]), from))
		}
	}
	f.placeholders(text, func(start, end int, label string, number int) {
		segment(start)
		from = end
		f.met[label] = max(f.met[label], number)
	})
	segment(len(text))
	return all
}

// together appends spans to others, and copies none if there are no others.
func together(all, more []span) []span {
	if len(all) == 0 {
		return more
	}
	return append(all, more...)
}

// segment returns the secrets of a text without placeholders, sorted and without
// overlaps.
func (f *finder) segment(text string) []span {
	var all []span
	rule := (*rule)(nil)
	found := func(start, end int) {
		if value := text[start:end]; start < end && !f.allows(value) && (rule != f.byName || !f.owns(value)) {
			all = append(all, span{start: start, end: end, rule: rule, value: value})
		}
	}
	f.windows(text, func(n int32, w window) int {
		rule = f.rules[n]
		return rule.match(text, w.from, w.to, found)
	})
	for _, rule = range f.everywhere {
		if rule.name == encodedName {
			f.encoded(text, found)
		} else if rule.scan != nil {
			rule.scan(text, found)
		} else {
			rule.match(text, 0, len(text), found)
		}
	}
	if len(all) > 0 && f.whole {
		return []span{{end: len(text), rule: all[0].rule, value: text}}
	}
	return merged(all)
}

// merged sorts spans and joins those that overlap. The longest names the rule.
func merged(all []span) []span {
	slices.SortStableFunc(all, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end), yes(a.rule.vague)-yes(b.rule.vague), strings.Compare(a.rule.name, b.rule.name))
	})
	out := all[:0]
	for _, s := range all {
		n := len(out) - 1
		if n < 0 || s.start >= out[n].end {
			out = append(out, s)
			continue
		}
		if last := &out[n]; s.end > last.end {
			if extra := s.start - last.start; extra <= len(last.value) {
				last.value = last.value[:extra] + s.value
			}
			last.end = s.end
		}
	}
	return out
}

func yes(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isOff reports whether a built-in rule is not applied.
func (r *Redactor) isOff(rule int32) bool { return r.off != nil && r.off[rule] }

// A window is a part of a text around keywords.
type window struct{ from, to int }

// windows calls look for every rule with the parts of a text that are near its
// keywords. look returns the end of what it has read, which may be further.
func (f *finder) windows(text string, look func(rule int32, w window) int) {
	c := builtIn()
	open, seen := map[int32]window{}, map[int32]int{} // by rule
	var order []int32
	flush := func(n int32) {
		if w := open[n]; w.to > seen[n] {
			seen[n] = max(seen[n], look(n, w))
		}
	}
	c.keywords.scan(text, func(word int32, end int) bool {
		for _, n := range c.of[word] {
			if f.isOff(n) {
				continue
			}
			w, known := open[n]
			next := window{max(0, end-before), min(len(text), end+behind)}
			switch {
			case !known:
				order = append(order, n)
			case next.from <= w.to && next.to-w.from <= block:
				next.from = w.from
			default:
				flush(n)
			}
			open[n] = next
		}
		return true
	})
	for _, n := range order {
		flush(n)
	}
}

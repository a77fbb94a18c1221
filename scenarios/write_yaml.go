package scenarios

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

// This file writes the part of YAML that scenarios need.

// A mapping is a YAML mapping whose keys keep their order.
type mapping []pair

type pair struct {
	key   string
	value any // mapping, list, string, word, int64 or bool
}

type list []any

// A word is a scalar that is written as it is, without quotes.
type word string

// put adds a key, unless its value is the zero value of its kind.
func (m *mapping) put(key string, value any) {
	switch v := value.(type) {
	case string:
		if v == "" {
			return
		}
	case word:
		if v == "" {
			return
		}
	case bool:
		if !v {
			return
		}
	case int:
		if v == 0 {
			return
		}
		value = int64(v)
	case int64:
		if v == 0 {
			return
		}
	case list:
		if len(v) == 0 {
			return
		}
	case mapping:
		if len(v) == 0 {
			return
		}
	}
	*m = append(*m, pair{key, value})
}

// must adds a key, whatever its value.
func (m *mapping) must(key string, value any) { *m = append(*m, pair{key, value}) }

// appendBlock appends a mapping with one key on each line. Lists of mappings have one
// entry on each line, and everything below is on that line.
func appendBlock(b []byte, m mapping, indent string) []byte {
	for i, e := range m {
		if i > 0 {
			b = append(b, indent...)
		}
		b = append(append(b, e.key...), ':')
		items, isList := e.value.(list)
		if !isList || !mappings(items) {
			b = append(appendFlow(append(b, ' '), e.value), '\n')
			continue
		}
		b = append(b, '\n')
		for _, item := range items {
			b = append(append(b, indent...), "  - "...)
			if inner := item.(mapping); nested(inner) {
				b = appendBlock(b, inner, indent+"    ")
			} else {
				b = append(appendFlow(b, inner), '\n')
			}
		}
	}
	return b
}

// mappings reports whether a list is not empty and holds only mappings.
func mappings(items list) bool {
	for _, item := range items {
		if _, ok := item.(mapping); !ok {
			return false
		}
	}
	return len(items) > 0
}

// nested reports whether a mapping has a list of answers, whose entries get a line
// each.
func nested(m mapping) bool {
	for _, e := range m {
		if items, ok := e.value.(list); ok && e.key == "answers" && mappings(items) {
			return true
		}
	}
	return false
}

func appendFlow(b []byte, value any) []byte {
	switch v := value.(type) {
	case mapping:
		b = append(b, '{')
		for i, e := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = append(append(appendScalar(b, e.key), ": "...), appendFlow(nil, e.value)...)
		}
		return append(b, '}')
	case list:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ", "...)
			}
			b = appendFlow(b, item)
		}
		return append(b, ']')
	case string:
		return appendScalar(b, v)
	case word:
		return append(b, v...)
	}
	return fmt.Append(b, value)
}

// plainScalar matches texts that need no quotes. Of the texts that it matches, YAML
// reads only those in the list of appendScalar as something else than a text.
var plainScalar = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*( [A-Za-z0-9_-]+)*\.?$`)

// singleQuoted matches texts that need no escape within single quotes.
var singleQuoted = regexp.MustCompile(`^[!-&(-~]([ !-&(-~]*[!-&(-~])?$`)

func appendScalar(b []byte, s string) []byte {
	switch strings.ToLower(s) {
	case "true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf":
		return strconv.AppendQuote(b, s)
	}
	if plainScalar.MatchString(s) {
		return append(b, s...)
	}
	if strings.Contains(s, `"`) && singleQuoted.MatchString(s) {
		return append(append(append(b, '\''), s...), '\'')
	}
	b = append(b, '"')
	for _, r := range s {
		b = appendRune(b, r)
	}
	return append(b, '"')
}

// appendRune appends a character within double quotes. It escapes invisible characters.
func appendRune(b []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(b, '\\', byte(r))
	case '\n':
		return append(b, `\n`...)
	case '\t':
		return append(b, `\t`...)
	}
	switch {
	case !text.Hidden(r):
		return append(b, string(r)...)
	case r > 0xffff:
		return fmt.Appendf(b, `\U%08X`, r)
	}
	return fmt.Appendf(b, `\u%04X`, r)
}

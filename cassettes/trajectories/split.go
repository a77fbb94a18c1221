package trajectories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// A record is one piece of a file, byte for byte.
type record struct {
	raw     []byte
	line    int // on which it begins, from 1
	checked validity
}

// A validity says whether a record is valid JSON.
type validity uint8

const (
	unchecked validity = iota
	valid
	broken
)

// valid reports whether the record is valid JSON. It looks once.
func (r *record) valid() bool {
	if r.checked == unchecked {
		r.checked = broken
		if json.Valid(r.raw) {
			r.checked = valid
		}
	}
	return r.checked == valid
}

// elements yields the elements of an array, if it is broken those before the mistake.
func (r *record) elements() iter.Seq2[int, json.RawMessage] {
	if r.valid() {
		return rawjson.Elements(r.raw)
	}
	return func(yield func(int, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(r.raw))
		d.Token() // the bracket
		for d.More() {
			var one json.RawMessage
			if d.Decode(&one) != nil || !yield(int(d.InputOffset())-len(one), one) {
				return
			}
		}
	}
}

// split cuts a file, which is not blank, into its records: the lines of JSON
// Lines, or the whole document. An array that does not hold messages is replaced
// by its elements. Invalid JSON becomes a record, too, so that it is reported; so
// does the rest of an array that breaks off.
func split(data []byte) []record {
	pieces := splitLines(data)
	if len(pieces) > 1 && !isJSONLines(pieces) {
		pieces = []record{{raw: bytes.TrimSpace(data), line: pieces[0].line}}
	}
	var records []record
	for i := range pieces {
		records = append(records, recordsIn(&pieces[i])...)
	}
	return records
}

// recordsIn returns the records in a line or a document.
func recordsIn(p *record) []record {
	if wire.IsArray(p.raw) && !isMessages(p) {
		return elements(p)
	}
	return []record{*p}
}

// isJSONLines reports whether a file is JSON Lines and not one document: its first
// line is valid JSON, or a later line is a record of a known format; a lone message
// may also be a line of a document. A first line with a lone bracket begins a document,
// however its runs are laid out.
func isJSONLines(lines []record) bool {
	if string(lines[0].raw) == "[" {
		return false
	}
	for i := range lines {
		if !lines[i].valid() {
			continue
		}
		if f := formatOf(&lines[i]); i == 0 || f != nil && f != &messageLines {
			return true
		}
	}
	return false
}

func splitLines(data []byte) []record {
	var lines []record
	for n, raw := range bytes.Split(data, []byte("\n")) {
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			lines = append(lines, record{raw: raw, line: n + 1})
		}
	}
	return lines
}

// elements cuts an array into its elements.
func elements(array *record) []record {
	if !array.valid() {
		return brokenElements(array)
	}
	var records []record
	line, counted := array.line, 0
	for at, raw := range array.elements() {
		line += bytes.Count(array.raw[counted:at], []byte("\n"))
		counted = at
		records = append(records, record{raw: raw, line: line, checked: valid})
	}
	if len(records) == 0 {
		return []record{*array}
	}
	return records
}

// brokenElements cuts an array into its elements before a mistake, and what follows them.
func brokenElements(array *record) []record {
	d := json.NewDecoder(bytes.NewReader(array.raw))
	d.Token() // the bracket
	var records []record
	line, counted := array.line, 0
	upTo := func(offset int) int {
		line += bytes.Count(array.raw[counted:offset], []byte("\n"))
		counted = offset
		return line
	}
	rest := func() record {
		rest := bytes.TrimLeft(array.raw[d.InputOffset():], ", \t\r\n")
		return record{raw: rest, line: upTo(len(array.raw) - len(rest))}
	}
	for d.More() {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return append(records, rest())
		}
		records = append(records, record{raw: raw, line: upTo(int(d.InputOffset()) - len(raw)), checked: valid})
	}
	_, err := d.Token() // the other bracket
	if end := rest(); err != nil || len(end.raw) > 0 {
		records = append(records, end)
	}
	if len(records) == 0 {
		return []record{*array}
	}
	return records
}

// invalid returns why a record cannot be decoded, "" if it can.
func (r *record) invalid() string {
	switch {
	case len(r.raw) > maxRecord:
		return fmt.Sprintf("the record is larger than %d MiB", maxRecord>>20)
	case bytes.IndexByte(r.raw, 0) >= 0:
		return "a NUL byte: the file is not a text or is damaged"
	case rawjson.Depth(r.raw) > maxDepth:
		return fmt.Sprintf("JSON nested more than %d deep", maxDepth)
	case r.valid():
		return ""
	}
	var value json.RawMessage
	err := json.Unmarshal(r.raw, &value)
	var syntax *json.SyntaxError
	if !errors.As(err, &syntax) {
		return fmt.Sprintf("invalid JSON: %v", err)
	}
	at := r.raw[:min(int(syntax.Offset), len(r.raw))]
	return fmt.Sprintf("invalid JSON: %v (line %d, byte %d)", err, r.line+bytes.Count(at, []byte("\n")), len(at)-bytes.LastIndexByte(at, '\n')-1)
}

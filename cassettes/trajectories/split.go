package trajectories

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// A record is one piece of a file, byte for byte.
type record struct {
	raw  []byte
	line int // on which it begins, from 1
}

// split cuts a file, which is not blank, into its records: the lines of JSON
// Lines, or the whole document. An array that does not hold messages is replaced
// by its elements. Invalid JSON becomes a record, too, so that it is reported; so
// does the rest of an array that breaks off.
func split(data []byte) []record {
	pieces := splitLines(data)
	if !isJSONLines(pieces) {
		pieces = []record{{bytes.TrimSpace(data), pieces[0].line}}
	}
	var records []record
	for _, p := range pieces {
		if wire.IsArray(p.raw) && !isMessages(p.raw) {
			records = append(records, elements(p)...)
		} else {
			records = append(records, p)
		}
	}
	return records
}

// isJSONLines reports whether a file is JSON Lines and not one document: its first
// line is valid JSON, or a later line is a record of a known format; a lone message
// may also be a line of a document. A first line with a lone bracket begins a document,
// however its runs are laid out.
func isJSONLines(lines []record) bool {
	if len(lines) == 1 || string(lines[0].raw) == "[" {
		return false
	}
	for i, l := range lines {
		if !json.Valid(l.raw) {
			continue
		}
		if f := formatOf(l.raw); i == 0 || f != nil && f != &messageLines {
			return true
		}
	}
	return false
}

func splitLines(data []byte) []record {
	var lines []record
	for n, raw := range bytes.Split(data, []byte("\n")) {
		if raw = bytes.TrimSpace(raw); len(raw) > 0 {
			lines = append(lines, record{raw, n + 1})
		}
	}
	return lines
}

// elements cuts an array into its elements.
func elements(array record) []record {
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
		return record{rest, upTo(len(array.raw) - len(rest))}
	}
	for d.More() {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			return append(records, rest())
		}
		records = append(records, record{raw, upTo(int(d.InputOffset()) - len(raw))})
	}
	_, err := d.Token() // the other bracket
	if end := rest(); err != nil || len(end.raw) > 0 {
		records = append(records, end)
	}
	if len(records) == 0 {
		return []record{array}
	}
	return records
}

// invalid returns why a record cannot be decoded, "" if it can.
func (r record) invalid() string {
	var syntax *json.SyntaxError
	var value json.RawMessage
	switch err := json.Unmarshal(r.raw, &value); {
	case len(r.raw) > maxRecord:
		return fmt.Sprintf("the record is larger than %d MiB", maxRecord>>20)
	case bytes.IndexByte(r.raw, 0) >= 0:
		return "a NUL byte: the file is not a text or is damaged"
	case depth(r.raw) > maxDepth:
		return fmt.Sprintf("JSON nested more than %d deep", maxDepth)
	case errors.As(err, &syntax):
		at := r.raw[:min(int(syntax.Offset), len(r.raw))]
		return fmt.Sprintf("invalid JSON: %v (line %d, byte %d)", err, r.line+bytes.Count(at, []byte("\n")), len(at)-bytes.LastIndexByte(at, '\n')-1)
	case err != nil:
		return fmt.Sprintf("invalid JSON: %v", err)
	}
	return ""
}

// depth returns how deep the brackets of JSON are nested.
func depth(raw []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

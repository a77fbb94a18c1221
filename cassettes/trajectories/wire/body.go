package wire

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/json"
	"io"
	"unicode/utf8"
)

// maxBody bounds the bytes of a decompressed body.
const maxBody = 64 << 20

// A Decoder decompresses data, of which the result has at most so many bytes.
type Decoder func(data []byte, most int) ([]byte, error)

// Decoders decompress what the standard library does not, by the name of the encoding
// in HTTP: br and zstd.
type Decoders map[string]Decoder

// plain returns a body without compression, or why that cannot be: it is too large,
// breaks off, or nobody can decode it. It goes by the first bytes rather than by the
// headers, since recorders keep the header of a body that they have decompressed.
func (d Decoders) plain(body []byte, encoding string) ([]byte, Reason) {
	var r io.Reader
	var err error
	switch {
	case bytes.HasPrefix(body, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(bytes.NewReader(body))
	case len(body) > 2 && body[0] == 0x78 && (uint(body[0])<<8|uint(body[1]))%31 == 0:
		r, err = zlib.NewReader(bytes.NewReader(body))
	case bytes.HasPrefix(body, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return d.decoded("zstd", body)
	case utf8.Valid(body):
		if len(body) > maxBody {
			return nil, Unreadable
		}
		return body, None
	case encoding == "br":
		return d.decoded("br", body)
	default: // not a text of these APIs, but maybe deflate without a header
		r = flate.NewReader(bytes.NewReader(body))
	}
	if err != nil {
		return nil, Unreadable
	}
	data, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	if err != nil || len(data) > maxBody {
		return bytes.ToValidUTF8(data, []byte("\ufffd")), Unreadable
	}
	return bytes.ToValidUTF8(data, []byte("\ufffd")), None
}

func (d Decoders) decoded(name string, body []byte) ([]byte, Reason) {
	decode := d[name]
	if decode == nil {
		return nil, Compressed
	}
	data, err := decode(body, maxBody)
	if err != nil {
		return nil, Unreadable
	}
	return bytes.ToValidUTF8(data, []byte("\ufffd")), None
}

// payloads returns the parts of an answer: one JSON document, several documents in a
// row, the elements of an array, or the data of server-sent events. It returns false
// if the answer holds anything else or breaks off, with the parts before that.
func payloads(body []byte) ([]json.RawMessage, bool) {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(body) == 0 {
		return nil, true
	}
	if body[0] != '{' && body[0] != '[' {
		return events(body)
	}
	if json.Valid(body) && body[0] == '{' {
		return []json.RawMessage{body}, true
	}
	var all []json.RawMessage
	d := json.NewDecoder(bytes.NewReader(body))
	if body[0] == '[' {
		d.Token() // the bracket
	}
	for d.More() {
		var one json.RawMessage
		if d.Decode(&one) != nil {
			return all, false
		}
		all = append(all, one)
	}
	if body[0] == '[' {
		_, err := d.Token() // the other bracket
		return all, err == nil
	}
	return all, true
}

// events returns the data of server-sent events, without the [DONE] at the end.
func events(body []byte) (all []json.RawMessage, ok bool) {
	ok = true
	var data []byte
	lines := 0 // of the event
	end := func() {
		switch data = bytes.TrimSpace(data); {
		case len(data) == 0 || string(data) == "[DONE]":
		case json.Valid(data):
			all = append(all, data)
		default:
			ok = false
		}
		data, lines = nil, 0
	}
	for len(body) > 0 {
		var line []byte
		line, body, _ = bytes.Cut(body, []byte("\n"))
		line = bytes.TrimRight(line, "\r")
		field, value, _ := bytes.Cut(line, []byte(":"))
		switch string(field) {
		case "data":
			if lines == 1 && json.Valid(data) { // no blank line between the events
				end()
			}
			lines++
			data = append(append(data, '\n'), bytes.TrimPrefix(value, []byte(" "))...)
		case "":
			if len(line) == 0 {
				end()
			}
		case "event", "id", "retry":
		default:
			ok = false
		}
	}
	end()
	return all, ok
}

// Answers returns the elements of an array of whole answers, and any other body as
// the only answer.
func Answers(body []byte) [][]byte {
	if !IsArray(body) {
		return [][]byte{body}
	}
	parts, _ := payloads(body)
	var all [][]byte
	for _, p := range parts {
		if !isWhole(keysOf(p)) {
			return [][]byte{body}
		}
		all = append(all, p)
	}
	return all
}

// isWhole reports whether a body is a whole answer and not an event of a stream.
// Gemini's look alike and count as events.
func isWhole(keys map[string]json.RawMessage) bool {
	choices := list(keys["choices"])
	if len(choices) > 0 {
		return keysOf(choices[0])["message"] != nil
	}
	return String(keys["type"]) == "message" || String(keys["object"]) == "response" || keys["error"] != nil
}

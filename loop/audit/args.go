package audit

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
)

// isObject reports whether text is a JSON object as the loop takes it: no key
// stands twice in one object, and nothing is nested deeper than 1,000 levels.
func isObject(text string) bool {
	_, ok := readObject(text)
	return ok
}

// readObject returns one spelling of such an object: with sorted keys, no white
// space, and one spelling of each number.
func readObject(text string) (plain string, ok bool) {
	text = strings.Trim(text, " \t\r\n")
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return "", false
	}
	r := jsonReader{rest: text}
	return r.value(1), !r.bad
}

// A jsonReader reads a valid JSON text.
type jsonReader struct {
	rest string
	bad  bool // a key stands twice, or a value is nested too deep
}

// value reads a value that is nested so deep.
func (r *jsonReader) value(level int) string {
	r.rest = strings.TrimLeft(r.rest, " \t\r\n")
	switch r.rest[0] {
	case '{', '[':
		if r.bad = r.bad || level > 1000; r.bad {
			return ""
		}
		return r.list(level)
	case '"':
		return strconv.Quote(r.text())
	}
	end := strings.IndexAny(r.rest, ",]} \t\r\n")
	word := r.rest[:end]
	if r.rest = r.rest[end:]; word == "true" || word == "false" || word == "null" {
		return word
	}
	return plainNumber(word)
}

// list reads an object or an array.
func (r *jsonReader) list(level int) string {
	object := r.rest[0] == '{'
	var members []string
	var keys []string
	for !r.bad {
		r.rest = strings.TrimLeft(r.rest[1:], " \t\r\n") // after an opening or a comma
		if r.rest[0] == '}' || r.rest[0] == ']' {
			break // it is empty
		}
		member := ""
		if object {
			key := strconv.Quote(r.text())
			keys = append(keys, key)
			r.rest = r.rest[strings.IndexByte(r.rest, ':')+1:]
			member = key + ":"
		}
		members = append(members, member+r.value(level+1))
		if r.bad {
			return ""
		}
		if r.rest = strings.TrimLeft(r.rest, " \t\r\n"); r.rest[0] != ',' {
			break
		}
	}
	r.rest = r.rest[1:]
	if !object {
		return "[" + strings.Join(members, ",") + "]"
	}
	slices.Sort(members)
	slices.Sort(keys)
	r.bad = r.bad || len(slices.Compact(keys)) < len(members)
	return "{" + strings.Join(members, ",") + "}"
}

// text reads a string.
func (r *jsonReader) text() (s string) {
	end := 1
	for r.rest[end] != '"' {
		if r.rest[end] == '\\' {
			end++
		}
		end++
	}
	quoted := r.rest[:end+1]
	r.rest = r.rest[end+1:]
	if s = quoted[1:end]; strings.Contains(s, `\`) || !utf8.ValidString(s) {
		json.Unmarshal([]byte(quoted), &s)
	}
	return s
}

// clearJSON reports whether readers of JSON agree on a text: they differ over
// broken characters.
func clearJSON(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(strings.ToLower(text), `\ud`)
}

// sameCall returns a text that is the same for two calls of the same tool with
// the same arguments, however they are written.
func sameCall(name, args string) string {
	same, _ := readCall(name, args)
	return same
}

// readCall returns that text, and whether the arguments are an object.
func readCall(name, args string) (same string, object bool) {
	if plain, ok := readObject(args); ok {
		return name + "\x00json\x00" + plain, true
	}
	return name + "\x00raw\x00" + args, false
}

// plainNumber spells a JSON number as digits and a power of ten, so that 1, 1.0
// and 10e-1 are the same and no digit is lost.
func plainNumber(s string) string {
	mantissa, power, _ := strings.Cut(strings.ToLower(s), "e")
	exp := 0
	if power != "" {
		n, err := strconv.ParseInt(power, 10, 32)
		if err != nil {
			return s
		}
		exp = int(n)
	}
	digits, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(digits, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	exp -= len(fraction)
	short := strings.TrimRight(digits, "0")
	exp += len(digits) - len(short)
	switch {
	case short == "":
		return "0"
	case negative:
		short = "-" + short
	}
	return short + "e" + strconv.Itoa(exp)
}

// longestWait is the longest duration that a config may have: ten years.
const longestWait = 10 * 365 * 24 * time.Hour

// waitRange gives the shortest and the longest wait before retry n that a
// backoff formula allows. before is the wait before the last retry, or -1 if
// the formula did not give it.
func waitRange(f loop.Backoff, base, limit time.Duration, n int, before time.Duration) (lo, hi time.Duration) {
	if limit <= 0 || limit > longestWait {
		limit = longestWait
	}
	switch f {
	case loop.Constant:
		hi = multiplied(base, 1, 1, limit)
	case loop.Exponential, loop.FullJitter:
		hi = multiplied(base, 2, n-1, limit)
	case loop.DecorrelatedJitter:
		lo, hi = multiplied(base, 1, 1, limit), multiplied(base, 3, n, limit)
		if n > 1 && before >= 0 {
			hi = max(lo, multiplied(before+1, 3, 1, limit)) // +1: the wait was rounded down
		}
		return lo, hi
	default:
		hi = multiplied(base, n, 1, limit)
	}
	if f == loop.FullJitter {
		return 0, hi
	}
	return hi, hi
}

// multiplied multiplies d with a factor several times, up to the limit.
func multiplied(d time.Duration, factor, times int, limit time.Duration) time.Duration {
	for ; times > 0 && d > 0 && d <= limit; times-- {
		if d > limit/time.Duration(factor) {
			return limit
		}
		d *= time.Duration(factor)
	}
	return min(d, limit)
}

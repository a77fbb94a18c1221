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

// isObject reports whether text is a JSON object as the loop accepts it: no object
// has a key twice, and nothing is nested deeper than 1,000 levels.
func isObject(text string) bool {
	_, ok := appendObject(nil, text)
	return ok
}

// appendObject appends the one spelling of such an object to dst: with sorted keys,
// without white space, and with one spelling of each number.
func appendObject(dst []byte, text string) (plain []byte, ok bool) {
	text = strings.Trim(text, " \t\r\n")
	if !strings.HasPrefix(text, "{") || !json.Valid([]byte(text)) {
		return dst, false
	}
	r := jsonReader{rest: text, out: dst}
	r.value(1)
	return r.out, !r.bad
}

// A jsonReader reads a valid JSON text and writes it in the spelling of appendObject.
type jsonReader struct {
	rest string
	out  []byte
	bad  bool // an object has a key twice, or a value is nested too deep
}

// value reads a value. level is 1 for the outermost one.
func (r *jsonReader) value(level int) {
	r.rest = strings.TrimLeft(r.rest, " \t\r\n")
	switch r.rest[0] {
	case '{', '[':
		if r.bad = r.bad || level > 1000; !r.bad {
			r.list(level)
		}
		return
	case '"':
		r.out = strconv.AppendQuote(r.out, r.text())
		return
	}
	end := strings.IndexAny(r.rest, ",]} \t\r\n")
	word := r.rest[:end]
	if r.rest = r.rest[end:]; word != "true" && word != "false" && word != "null" {
		word = plainNumber(word)
	}
	r.out = append(r.out, word...)
}

// A member is a key of an object, and the offsets of the member in out.
type member struct {
	key      string
	from, to int
}

// list reads an object or an array.
func (r *jsonReader) list(level int) {
	object := r.rest[0] == '{'
	r.out = append(r.out, r.rest[0])
	var few [8]member
	members, from := few[:0], len(r.out)
	for {
		r.rest = strings.TrimLeft(r.rest[1:], " \t\r\n") // after an opening or a comma
		if r.rest[0] == '}' || r.rest[0] == ']' {
			break // it is empty
		}
		m := member{from: len(r.out)}
		if object {
			m.key = r.text()
			r.out = append(strconv.AppendQuote(r.out, m.key), ':')
			r.rest = r.rest[strings.IndexByte(r.rest, ':')+1:]
		}
		if r.value(level + 1); r.bad {
			return
		}
		r.out = append(r.out, ',')
		m.to = len(r.out)
		members = append(members, m)
		if r.rest = strings.TrimLeft(r.rest, " \t\r\n"); r.rest[0] != ',' {
			break
		}
	}
	r.out = append(r.out, r.rest[0])
	r.rest = r.rest[1:]
	if object {
		r.sort(members, from)
	}
}

// sort sorts the members of an object, which begin at offset from in out.
func (r *jsonReader) sort(members []member, from int) {
	byKey := func(a, b member) int { return strings.Compare(a.key, b.key) }
	if !slices.IsSortedFunc(members, byKey) {
		written := string(r.out[from:])
		slices.SortFunc(members, byKey)
		out := r.out[:from]
		for _, m := range members {
			out = append(out, written[m.from-from:m.to-from]...)
		}
	}
	for i := 1; i < len(members); i++ {
		r.bad = r.bad || members[i].key == members[i-1].key
	}
}

// text reads a string.
func (r *jsonReader) text() string {
	end := 1
	for r.rest[end] != '"' {
		if r.rest[end] == '\\' {
			end++
		}
		end++
	}
	quoted := r.rest[:end+1]
	r.rest = r.rest[end+1:]
	if s := quoted[1:end]; !strings.Contains(s, `\`) && utf8.ValidString(s) {
		return s
	}
	return unquoted(quoted)
}

// unquoted returns the string of a JSON string.
func unquoted(quoted string) (s string) {
	json.Unmarshal([]byte(quoted), &s)
	return s
}

// clearJSON reports whether all readers of JSON agree on a text. They disagree about
// broken characters.
func clearJSON(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(text, `\ud`) && !strings.Contains(text, `\uD`)
}

// sameCall returns a text that is equal for two calls of one tool with equal
// arguments, however these are written.
func sameCall(name, args string) string {
	plain, object := appendObject(nil, args)
	return sameAs(name, args, plain, object)
}

// sameAs is sameCall for arguments that appendObject has read.
func sameAs(name, args string, plain []byte, object bool) string {
	if object {
		return name + "\x00json\x00" + string(plain)
	}
	return name + "\x00raw\x00" + args
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

// waitRange returns the shortest and the longest wait before retry n that a backoff
// formula allows. before is the wait before the last retry, or -1 if the formula did
// not determine it.
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

// multiplied returns d multiplied times times by a factor, at most limit.
func multiplied(d time.Duration, factor, times int, limit time.Duration) time.Duration {
	for ; times > 0 && d > 0 && d <= limit; times-- {
		if d > limit/time.Duration(factor) {
			return limit
		}
		d *= time.Duration(factor)
	}
	return min(d, limit)
}

package audit

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
)

// isObject reports whether text is a JSON object as the loop takes it: no
// key stands twice in one object, and nothing is nested deeper than 1,000
// levels.
func isObject(text string) bool {
	object := strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{")
	return object && json.Valid([]byte(text)) && plainKeys(json.NewDecoder(strings.NewReader(text)), 0)
}

// plainKeys reads the next value of a valid text, and reports whether its
// keys and its depth are as they should be.
func plainKeys(d *json.Decoder, depth int) bool {
	open, _ := d.Token()
	if _, nested := open.(json.Delim); !nested {
		return true
	}
	seen := map[json.Token]bool{}
	for d.More() {
		if open == json.Delim('{') {
			key, _ := d.Token()
			if seen[key] {
				return false
			}
			seen[key] = true
		}
		if !plainKeys(d, depth+1) {
			return false
		}
	}
	_, err := d.Token()
	return err == nil && depth < 1000
}

// clearJSON reports whether readers of JSON agree on a text: they differ over
// broken characters.
func clearJSON(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(strings.ToLower(text), `\ud`)
}

// sameCall gives a text that is the same for two calls of the same tool with
// the same arguments, however they are written.
func sameCall(name, args string) string {
	if !isObject(args) {
		return name + "\x00raw\x00" + args
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber() // as they stand
	var v any
	if d.Decode(&v) != nil {
		return name // a valid text can be read
	}
	return name + "\x00json\x00" + string(compactJSON(nil, v))
}

// compactJSON writes a JSON value with sorted keys, no white space and one
// spelling of each number.
func compactJSON(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		b = append(b, '{')
		for _, k := range keys {
			b = append(strconv.AppendQuote(b, k), ':')
			b = append(compactJSON(b, v[k]), ',')
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for _, e := range v {
			b = append(compactJSON(b, e), ',')
		}
		return append(b, ']')
	case json.Number:
		return append(b, plainNumber(string(v))...)
	case string:
		return strconv.AppendQuote(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
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

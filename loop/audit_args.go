package loop

import (
	"encoding/json"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// auditIsObject reports whether text is a JSON object as the loop takes it: no
// key stands twice in one object, and nothing is nested deeper than 1,000
// levels.
func auditIsObject(text string) bool {
	object := strings.HasPrefix(strings.TrimLeft(text, " \t\r\n"), "{")
	return object && json.Valid([]byte(text)) && auditPlainKeys(json.NewDecoder(strings.NewReader(text)), 0)
}

// auditPlainKeys reads the next value of a valid text, and reports whether its
// keys and its depth are as they should be.
func auditPlainKeys(d *json.Decoder, depth int) bool {
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
		if !auditPlainKeys(d, depth+1) {
			return false
		}
	}
	_, err := d.Token()
	return err == nil && depth < 1000
}

// auditClear reports whether readers of JSON agree on a text: they differ over
// broken characters.
func auditClear(text string) bool {
	return utf8.ValidString(text) && !strings.Contains(strings.ToLower(text), `\ud`)
}

// auditSame gives a text that is the same for two calls of the same tool with
// the same arguments, however they are written.
func auditSame(name, args string) string {
	if !auditIsObject(args) {
		return name + "\x00raw\x00" + args
	}
	d := json.NewDecoder(strings.NewReader(args))
	d.UseNumber() // as they stand
	var v any
	if d.Decode(&v) != nil {
		return name // a valid text can be read
	}
	return name + "\x00json\x00" + string(auditCompact(nil, v))
}

// auditCompact writes a JSON value with sorted keys, no white space and one
// spelling of each number.
func auditCompact(b []byte, v any) []byte {
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
			b = append(auditCompact(b, v[k]), ',')
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for _, e := range v {
			b = append(auditCompact(b, e), ',')
		}
		return append(b, ']')
	case json.Number:
		return append(b, auditNumber(string(v))...)
	case string:
		return strconv.AppendQuote(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
}

// auditNumber spells a JSON number as digits and a power of ten, so that 1, 1.0
// and 10e-1 are the same and no digit is lost.
func auditNumber(s string) string {
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

// auditWait gives the shortest and the longest wait before retry n that a
// backoff formula allows. before is the wait before the last retry, or -1 if
// the formula did not give it.
func auditWait(f Backoff, base, limit time.Duration, n int, before time.Duration) (lo, hi time.Duration) {
	if limit <= 0 || limit > maxDuration {
		limit = maxDuration
	}
	switch f {
	case Constant:
		hi = auditTimes(base, 1, 1, limit)
	case Exponential, FullJitter:
		hi = auditTimes(base, 2, n-1, limit)
	case DecorrelatedJitter:
		lo, hi = auditTimes(base, 1, 1, limit), auditTimes(base, 3, n, limit)
		if n > 1 && before >= 0 {
			hi = max(lo, auditTimes(before+1, 3, 1, limit)) // +1: the wait was rounded down
		}
		return lo, hi
	default:
		hi = auditTimes(base, n, 1, limit)
	}
	if f == FullJitter {
		return 0, hi
	}
	return hi, hi
}

// auditTimes multiplies d with a factor several times, up to the limit.
func auditTimes(d time.Duration, factor, times int, limit time.Duration) time.Duration {
	for ; times > 0 && d > 0 && d <= limit; times-- {
		if d > limit/time.Duration(factor) {
			return limit
		}
		d *= time.Duration(factor)
	}
	return min(d, limit)
}

package detect

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// An argsFilter writes the arguments of a call without those that a detector ignores,
// and with its rounded ones cut. Its buffer is reused.
type argsFilter struct {
	ignore map[string]bool  // by the canonical spelling of the name, with quotes
	round  map[string]int64 // the same
	out    []byte
}

// newArgsFilter returns nil if there is nothing to filter.
func newArgsFilter(d *Detector) *argsFilter {
	if len(d.IgnoreArgs) == 0 && len(d.Round) == 0 {
		return nil
	}
	f := &argsFilter{ignore: map[string]bool{}, round: map[string]int64{}}
	for _, name := range d.IgnoreArgs {
		f.ignore[spelled(name)] = true
	}
	for name, step := range d.Round {
		f.round[spelled(name)] = step
	}
	return f
}

// spelled returns a text as a canonical JSON string.
func spelled(name string) string {
	var c Canon
	quoted, _ := json.Marshal(name) // cannot fail
	object, err := c.Object("{" + string(quoted) + ":0}")
	if err != nil {
		return name
	}
	return string(object[1 : len(object)-len(":0}")])
}

// hash returns a hash of the rest of a canonical JSON object.
func (f *argsFilter) hash(object string) uint64 {
	f.out = f.out[:0]
	for rest := object[1:]; rest[0] != '}'; {
		if rest[0] == ',' {
			rest = rest[1:]
		}
		end := valueEnd(rest)
		key, value := rest[:end], rest[end+1:]
		end = valueEnd(value)
		value, rest = value[:end], value[end:]
		if f.ignore[key] {
			continue
		}
		f.out = append(append(f.out, key...), ':')
		if step, ok := f.round[key]; ok {
			f.out = appendRounded(f.out, value, step)
		} else {
			f.out = append(f.out, value...)
		}
	}
	return shortBytes(f.out)
}

// valueEnd returns the length of the value that a canonical JSON text begins with.
func valueEnd(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			for i++; s[i] != '"'; i++ {
				if s[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',', ':':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth <= 0 {
			if depth < 0 {
				return i
			}
			return i + 1
		}
	}
	return len(s)
}

// mostDigits is how many digits a number may have before the point to be rounded. All
// such numbers fit into an int64.
const mostDigits = 18

// appendRounded appends the largest multiple of step that is not above a canonical JSON
// number. It appends any other value, and a number of more than mostDigits digits, as
// it is.
func appendRounded(dst []byte, value string, step int64) []byte {
	if value[0] != '-' && (value[0] < '0' || value[0] > '9') {
		return append(dst, value...)
	}
	digits, exponent, _ := strings.Cut(strings.TrimPrefix(value, "-"), "e")
	power, err := strconv.Atoi(cmp.Or(exponent, "0"))
	if strings.HasPrefix(exponent, "-") && (err != nil || -power > len(digits)) {
		power = -len(digits) // a fraction below 1
	} else if err != nil || power > mostDigits {
		return append(dst, value...)
	}
	fraction := power < 0 // which of a canonical number is not 0
	digits = digits[:len(digits)+min(power, 0)]
	if len(digits)+max(power, 0) > mostDigits {
		return append(dst, value...)
	}
	n := int64(0)
	for i := range len(digits) + max(power, 0) {
		n *= 10
		if i < len(digits) {
			n += int64(digits[i] - '0')
		}
	}
	if value[0] == '-' {
		n = -n
		if fraction {
			n--
		}
	}
	down := n % step
	if down < 0 {
		down += step
	}
	return strconv.AppendInt(dst, n-down, 10)
}

package detect

import (
	"slices"
	"strconv"
	"strings"
)

// A number is a JSON number in parts: 12.5e-3 has whole 12, fraction 5 and
// exponent 3, and it shrinks.
type number struct {
	negative bool
	whole    string
	fraction string
	shrinks  bool // the exponent is negative
	exponent string
}

func (c *Canon) number() bool {
	var n number
	if n.negative = c.at('-'); n.negative {
		c.pos++
	}
	if c.at('0') {
		n.whole = "0"
		c.pos++
	} else if n.whole = c.digits(); n.whole == "" {
		return c.invalid("in a number")
	}
	if c.at('.') {
		c.pos++
		if n.fraction = c.digits(); n.fraction == "" {
			return c.invalid("in a number")
		}
	}
	if c.at('e') || c.at('E') {
		c.pos++
		if n.shrinks = c.at('-'); n.shrinks || c.at('+') {
			c.pos++
		}
		if n.exponent = c.digits(); n.exponent == "" {
			return c.invalid("in a number")
		}
	}
	c.out = n.append(c.out)
	return true
}

func (c *Canon) digits() string {
	start := c.pos
	for c.pos < len(c.src) && '0' <= c.src[c.pos] && c.src[c.pos] <= '9' {
		c.pos++
	}
	return c.src[start:c.pos]
}

// append appends the number in canonical form.
func (n *number) append(dst []byte) []byte {
	start := len(dst)
	if n.negative {
		dst = append(dst, '-')
	}
	first := len(dst)
	dst = append(dst, strings.TrimLeft(n.whole, "0")...)
	if len(dst) == first {
		dst = append(dst, strings.TrimLeft(n.fraction, "0")...)
	} else {
		dst = append(dst, n.fraction...)
	}
	power := -len(n.fraction)
	for len(dst) > first && dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
		power++
	}
	if len(dst) == first {
		return append(dst[:start], '0')
	}
	return n.appendPower(dst, power)
}

// appendPower appends an e and the number's exponent plus more, or nothing if
// the sum is zero.
func (n *number) appendPower(dst []byte, more int) []byte {
	exponent := strings.TrimLeft(n.exponent, "0")
	if len(exponent) > 18 {
		return appendLongPower(dst, n.shrinks, exponent, more)
	}
	power := int64(0)
	for _, digit := range []byte(exponent) {
		power = power*10 + int64(digit-'0')
	}
	if n.shrinks {
		power = -power
	}
	if power += int64(more); power == 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, 'e'), power, 10)
}

// appendLongPower is appendPower for an exponent that is too long for an
// integer: it adds digit by digit. The sum keeps the exponent's sign, since more
// is at most the length of a text.
func appendLongPower(dst []byte, shrinks bool, exponent string, more int) []byte {
	dst = append(dst, 'e')
	if shrinks {
		dst = append(dst, '-')
		more = -more
	}
	first := len(dst)
	dst = append(dst, exponent...)
	for i := len(dst) - 1; i >= first && more != 0; i-- {
		sum := int(dst[i]-'0') + more
		digit := (sum%10 + 10) % 10
		dst[i] = '0' + byte(digit)
		more = (sum - digit) / 10
	}
	switch {
	case more > 0:
		dst = slices.Insert(dst, first, '0'+byte(more))
	case dst[first] == '0':
		dst = slices.Delete(dst, first, first+1)
	}
	return dst
}

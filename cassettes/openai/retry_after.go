package openai

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter is the wait that a header asks for, 0 if it asks for none. A date
// is seen from the header's own, and from now where it has none.
func retryAfter(h http.Header) time.Duration {
	if d, ok := wait(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	after := h.Get("Retry-After")
	if d, ok := wait(after, time.Second); ok {
		return d
	}
	until, err := http.ParseTime(after)
	if err != nil {
		return 0
	}
	from, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		from = time.Now()
	}
	return max(until.Sub(from), 0)
}

// wait reads a number of units.
func wait(text string, unit time.Duration) (time.Duration, bool) {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(n) {
		return 0, false
	}
	d := n * float64(unit)
	if d >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return time.Duration(max(d, 0)), true
}

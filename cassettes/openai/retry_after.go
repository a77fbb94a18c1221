package openai

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns the wait that a header asks for, 0 = none. A date is relative to
// the header's own date, or to the current time if it has none.
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

// wait parses a number of units.
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

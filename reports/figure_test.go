package reports

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// longNumber matches a number with more than 12 significant digits and a point. Whole
// numbers, such as seeds, may be longer.
var longNumber = regexp.MustCompile(`[:\s]-?(?:0\.0*|[1-9][0-9]*\.)[0-9]+(?:e-?[0-9]+)?[,\s]`)

func digitsOf(number string) int {
	digits, _, _ := strings.Cut(strings.Trim(number, ":-, \n"), "e")
	return len(strings.TrimLeft(strings.ReplaceAll(digits, ".", ""), "0"))
}

// No number of a JSON report has more than 12 significant digits: the last ones of a
// float64 differ between platforms.
func TestJSONHasTwelveDigits(t *testing.T) {
	f := &Fold{}
	for i := range 70 {
		for _, v := range []string{"a", "b"} {
			for seed := range uint64(3) {
				state := []loop.EndState{loop.Done, loop.LoopDetected, loop.Ceiling}[(i+int(seed)*len(v)+int(v[0]))%3]
				r := endedIn(fmt.Sprintf("s/%02d", i), v, []scenarios.Label{scenarios.Healthy, scenarios.Runaway}[i%2], seed, state, i%11)
				r.CostUSD = float64(i) / 7
				fill(t, f, r)
			}
		}
	}
	text := written(t, func(b *strings.Builder) error { return WriteJSON(b, folded(t, f)) })
	seen := 0
	for _, number := range longNumber.FindAllString(text, -1) {
		seen++
		if n := digitsOf(number); n > 12 {
			t.Errorf("%d digits: %s", n, strings.TrimSpace(number))
		}
	}
	if seen < 300 {
		t.Errorf("%d numbers with a point in the report, want more", seen)
	}
}

func TestRounded(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{
		{0.1947308828274973, 0.194730882827}, {0.19473088282749706, 0.194730882827}, {0, 0}, {-2.0 / 3, -0.666666666667}, {1.0 / 3e9, 3.33333333333e-10}, {123456789, 123456789},
	} {
		if got := rounded(c.x); got != c.want {
			t.Errorf("%v becomes %v, want %v", c.x, got, c.want)
		}
	}
	if got := decimal(0.25+1e-15, 1); got != decimal(0.25-1e-15, 1) {
		t.Errorf("two roundings of a quarter: %s", got)
	}
}

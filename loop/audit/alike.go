package audit

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// This file says which calls and results are equal for a detector. What it cannot
// compare it does not know, and the audit then accepts what the detector did.

// key returns a text that is equal for calls that a detector takes for the same.
func (b *book) key(d *detect.Detector, c *call) (key string, known bool) {
	if len(d.IgnoreArgs)+len(d.Round) == 0 || !c.object {
		return c.same, true
	}
	args, ok := decoded(c.args).(map[string]any)
	if !ok {
		return "", strings.TrimSpace(c.args) == "" // no arguments
	}
	for _, name := range d.IgnoreArgs {
		delete(args, name)
	}
	for name, step := range d.Round {
		if n, ok := args[name].(json.Number); ok {
			args[name] = floor(n, step)
		}
	}
	text, err := json.Marshal(args)
	return sameCall(c.name, string(text)), err == nil && clearJSON(c.args)
}

// decoded returns the value of a JSON text, nil if it is none.
func decoded(text string) (value any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&value) != nil {
		return nil
	}
	return value
}

// floor returns the multiple of step below a number, which it returns itself if it has
// more than 18 digits before the point.
func floor(n json.Number, step int64) json.Number {
	mantissa, power, _ := strings.Cut(strings.ToLower(string(n)), "e")
	switch zero := strings.Trim(mantissa, "-0.") == ""; {
	case zero:
		return "0"
	case len(power) > 4 && strings.HasPrefix(power, "-"):
		n = json.Number(mantissa[:len(mantissa)-len(strings.TrimPrefix(mantissa, "-"))] + "0.1")
	case len(power) > 4:
		return n
	}
	value, ok := new(big.Rat).SetString(string(n))
	if !ok || new(big.Rat).Abs(value).Cmp(big.NewRat(1e18, 1)) >= 0 {
		return n
	}
	quotient := value.Quo(value, big.NewRat(step, 1))
	down := new(big.Int).Div(quotient.Num(), quotient.Denom()) // rounds down, since the denominator is positive
	return json.Number(down.Mul(down, big.NewInt(step)).String())
}

// outcome returns a text that is equal for equal results of one call, and whether it
// has a result at all.
func (b *book) outcome(d *detect.Detector, c *call) (text string, has, known bool) {
	t := c.last()
	switch {
	case len(c.puts) == 0 || c.deny == loop.Vetoed:
		return "", false, false
	case c.puts[0].eff.Why == loop.Vetoed:
		return "", false, true
	case c.puts[0].eff.Why != loop.Executed || t == nil || t.in == nil || t.in.Code.Failed() || t.abandoned || len(t.cancels) > 0:
		return "", false, false
	}
	text, known = without(d, b.heard(c, t))
	return text, true, known
}

// without returns a result without what a detector ignores. It does not know what
// expressions match in the rest of JSON, which may be spelled in several ways.
func without(d *detect.Detector, text string) (rest string, known bool) {
	var paths [][]string
	var exprs []*regexp.Regexp
	for _, entry := range d.IgnoreResult {
		if steps := pathStep.FindAllString(entry, -1); strings.HasPrefix(entry, "$") && len(steps) > 0 {
			paths = append(paths, steps)
		} else {
			exprs = append(exprs, regexp.MustCompile(entry))
		}
	}
	if len(paths) > 0 {
		plain, ok := appendObject(nil, `{"":`+text+`}`)
		if ok {
			value := decoded(text)
			for _, steps := range paths {
				value = mark(value, steps)
			}
			left, err := json.Marshal(purged(value))
			plain, ok = appendObject(plain[:0], `{"":`+string(left)+`}`)
			if err != nil || !ok || !clearJSON(text) || len(exprs) > 0 {
				return "", false
			}
			return string(plain), true
		}
	}
	for _, expr := range exprs {
		text = expr.ReplaceAllString(text, "")
	}
	return text, true
}

var pathStep = regexp.MustCompile(`\.\.?[^.\[]+|\[[^\]]*\]`)

// gone marks what a path leads to.
type gone struct{}

// mark returns a value with gone in place of what the steps of a path lead to.
func mark(value any, steps []string) any {
	if len(steps) == 0 {
		return gone{}
	}
	deep := strings.HasPrefix(steps[0], "..")
	name := strings.Trim(steps[0], ".[]\"")
	follow := func(at string, v any) any {
		if name == "*" || name == at {
			v = mark(v, steps[1:])
		}
		if deep {
			v = mark(v, steps)
		}
		return v
	}
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			value[k] = follow(k, v)
		}
	case []any:
		for i, v := range value {
			value[i] = follow(big.NewInt(int64(i)).String(), v)
		}
	}
	return value
}

// purged returns a value without what is gone.
func purged(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for k, v := range value {
			if value[k] = purged(v); v == (gone{}) {
				delete(value, k)
			}
		}
	case []any:
		value = slices.DeleteFunc(value, func(v any) bool { return v == gone{} })
		for i := range value {
			value[i] = purged(value[i])
		}
		return value
	}
	return value
}

package fuzz

import (
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
)

// checkOnce: for one decision of the model nothing runs again once a tool that must
// not run twice may have taken effect, and a call that a provider sends once more does
// not run. It counts the tries of each call that may have taken effect.
func checkOnce(p *play) (string, bool) {
	once := map[string]bool{}
	for i := range p.Script.Tools {
		if t := &p.Script.Tools[i]; t.Idempotent == loop.NotIdempotent {
			once[t.Name] = true
		}
	}
	repeats := false
	for _, c := range p.view().calls {
		effects := 0
		if repeats = repeats || c.repeats > 0; c.repeats > 0 && len(c.tries)+len(c.puts) > 0 {
			return fmt.Sprintf("the call c%d is c%d once more, and runs or has a result of its own", c.n, c.repeats), true
		}
		for _, t := range c.tries {
			if effects > 0 {
				return fmt.Sprintf("the call c%d may have taken effect, and %s runs again as try %d", c.n, t.name, t.try), true
			}
			if once[t.name] && t.mayHaveActed() {
				effects++
			}
		}
	}
	return "", len(once) > 0 || repeats
}

// mayHaveActed reports whether a try may have taken effect. Only the tool's own word
// that it did nothing says otherwise.
func (t *tryView) mayHaveActed() bool {
	if t.cancelled || t.result == nil {
		return true
	}
	switch t.result.Code {
	case "NotSent", "RateLimited", "InvalidInput", "NotFound", "Unauthorized", "Forbidden":
		return false
	}
	return true
}

package fuzz

import (
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
)

// checkOnce: for one decision of the model nothing runs again once a tool that must
// not run twice may have taken effect. It counts the tries of each call that may have.
func checkOnce(p *play) (string, bool) {
	once := map[string]bool{}
	for i := range p.Script.Tools {
		if t := &p.Script.Tools[i]; t.Idempotent == loop.NotIdempotent {
			once[t.Name] = true
		}
	}
	for _, c := range p.view().calls {
		effects := 0
		for _, t := range c.tries {
			if effects > 0 {
				return fmt.Sprintf("the call c%d may have taken effect, and %s runs again as try %d", c.n, t.name, t.try), true
			}
			if once[t.name] && t.mayHaveActed() {
				effects++
			}
		}
	}
	return "", len(once) > 0
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

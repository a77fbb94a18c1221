package scenarios

import (
	"errors"
	"fmt"

	"github.com/agentbench-go/agentbench/goldens"
)

// Own reports whether the variant is the one that the scenario is meant for, so
// that its config, expect and golden apply.
func (t *Trial) Own() bool { return t.Variant.Name == t.Scenario.Variant.Name }

// golden returns the terms that a file sets for its golden, or nil.
func (s *source) golden(e *goldenEntry) *goldens.Terms {
	if e == nil {
		return nil
	}
	terms := &goldens.Terms{Mode: goldens.Mode(e.Mode)}
	for i, text := range e.Allow {
		at := fmt.Sprintf("golden.allow[%d]", i)
		a, err := goldens.ParseAllowance(text)
		if wrong := (*goldens.AllowanceError)(nil); errors.As(err, &wrong) {
			s.failAt(at, wrong.Problem, wrong.Hint)
		}
		if i == goldens.MaxAllow {
			s.failAt(at, fmt.Sprintf("more than %d allowances of one golden", goldens.MaxAllow), "")
		}
		terms.Allow = append(terms.Allow, a)
	}
	if terms.Mode == goldens.Off && len(e.Allow) > 0 {
		s.failAt("golden.allow", "nothing can differ where there is no golden", "take out allow, or the mode off")
	}
	return terms
}

// terms returns how the trace may differ from the golden, as the trial's scenario says;
// nil = as the golden says.
func (t *Trial) terms() *goldens.Terms {
	if !t.Own() {
		return nil
	}
	return t.Scenario.Golden
}

package loop_test

import (
	"slices"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// TestRuleCriticReadsNoTexts checks that a call has failed or found nothing by how it
// ended: what a tool answers, or how it is called, makes no gap and hides none.
func TestRuleCriticReadsNoTexts(t *testing.T) {
	for _, c := range []struct {
		tool string
		code loop.Code
		text string
		gap  bool
	}{
		{"run", loop.None, "0 tests failed (12 passed)", false},
		{"run", loop.None, "the linter found nothing.", false},
		{"a failed (b", loop.None, "fine", false},
		{"run", loop.NotFound, "no such file", true},
		{"run", loop.NoResults, "", true},
		{"run", loop.NoResults, `{"hits":0}`, true},
	} {
		o := loop.Observe(c.tool, c.code, c.text)
		var want []string
		if c.gap {
			want = []string{o.Summary}
		}
		if got := (loop.RuleCritic{}).Gaps(loop.Review{Turn: []loop.Observation{o}}); !slices.Equal(got, want) {
			t.Errorf("%q: got the gaps %q, want %q", o.Summary, got, want)
		}
	}
}

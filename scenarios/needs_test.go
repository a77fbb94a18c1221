package scenarios

import (
	"slices"
	"testing"
)

func TestNeeds(t *testing.T) {
	for id, want := range map[string][]Need{
		"stuck-loops/same-call-forever":      nil,
		"healthy/only-an-answer":             nil,
		"healthy/read-the-same-file-later":   nil,                      // equal calls, equal results
		"healthy/paging":                     {NeedResults},            // each call needs the token of the result before
		"healthy/polls-until-done":           {NeedResults},            // equal calls, other results
		"stuck-loops/log-tail-that-grows":    nil,                      // a runaway stays one
		"recovery/rate-limited-twice":        nil,                      // the API fails, not a tool
		"recovery/third-try-every-time":      {NeedResults, NeedTries}, // the tool fails until it is tried again
		"error-spirals/missing-file-forever": {NeedResults},            // every call fails
		"timeouts/tool-hangs-forever":        {NeedResults},
		"timeouts/silent-for-good":           nil,
		"healthy/asked-for-each-call":        {NeedGates},
		"cancel/while-the-model-thinks":      {NeedCancel},
		"healthy/counters-restart":           {NeedRuns},
		"protocol/actions-in-the-text":       {NeedLoop},
		"history/one-batch-fills-the-window": {NeedResults, NeedWindow},
		"healthy/three-sub-runs":             {NeedLoop},
		"healthy/denied-then-allowed":        {NeedGates, NeedRuns},
		"healthy/user-adds-something":        {NeedRuns, NeedResults},
		"limits/last-word-sums-up":           nil,
	} {
		s := embeddedScenario(t, id)
		if got := s.Needs(); !slices.Equal(got, want) {
			t.Errorf("%s needs %q, want %q", id, got, want)
		}
	}
}

func embeddedScenario(t *testing.T, id string) *Scenario {
	t.Helper()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(s *Scenario) bool { return s.ID() == id })
	if i < 0 {
		t.Fatalf("there is no %s", id)
	}
	return all[i]
}

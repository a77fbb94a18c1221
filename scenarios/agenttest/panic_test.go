package agenttest

import (
	"context"
	"regexp"
	"testing"
)

// A panic is told with the function of the agent that it came from.
func TestPlaces(t *testing.T) {
	var none *World
	e := call(t.Context(), func(context.Context, *World) (string, error) { return none.Task, nil }, nil)
	got := places(e.stack)
	if len(got) != 1 || !regexp.MustCompile(`agenttest\.TestPlaces\.func1 .*panic_test\.go:12$`).MatchString(got[0]) {
		t.Errorf("got %q of\n%s", got, e.stack)
	}
	if got := places(""); got != nil {
		t.Errorf("no stack has %q", got)
	}
}

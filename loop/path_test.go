package loop

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// family is a session with two sub-runs at once. c1 starts a sub-run of its own, asks
// the user and runs into its time-out; c2 is cancelled with the parent's deadline.
const family = `   0.000s started text="Plan the trip."
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=call_1:flights("{}") call=call_2:hotels("{}") finish=tool_calls
          > call c1#1 name=flights args="{}"
          > call c2#1 name=hotels args="{}"
   1.000s   c1#1/ started text="{}"
            > c1#1/ ask m1#1 for=reply to=1
   1.000s   c2#1/ started text="{}"
            > c2#1/ ask m1#1 for=reply to=1
   2.000s   c1#1/ reply m1 call=call_1:prices("{}") finish=tool_calls
            > c1#1/ call c1#1 name=prices args="{}"
   2.000s     c1#1/c1#1/ started text="{}"
              > c1#1/c1#1/ ask m1#1 for=reply to=1
   3.000s     c1#1/c1#1/ reply m1 text="80 euros" in=7 out=3
              > c1#1/c1#1/ halt stop=done end=DONE answer="80 euros" turns=1 model_calls=1 in=7 out=3 elapsed=1s
   3.000s   c1#1/ result c1#1 ok text="80 euros" in=7 out=3
            > c1#1/ put c1 text="80 euros"
            > c1#1/ ask q1 text="Is 80 euros fine?"
   6.000s tick
          > cancel c1#1 text=timeout
   6.000s   c1#1/ cancel
            > c1#1/ halt stop=cancelled end=CANCELLED incomplete turns=1 model_calls=1 calls=1 spawns=1 tries=1 in=7 out=3 elapsed=5s
   6.000s result c1#1 code=Cancelled text=cancelled in=7 out=3 spawned=1
          > call c1#2 name=flights args="{}"
   6.000s   c1#2/ started text="{}"
            > c1#2/ ask m1#1 for=reply to=1
   7.000s tick
          > cancel c1#2 text="the run's deadline"
          > cancel c2#1 text="the run's deadline"
   7.000s   c1#2/ cancel
            > c1#2/ cancel m1#1 text=cancelled
            > c1#2/ halt stop=cancelled end=CANCELLED incomplete model_calls=1 elapsed=1s
   7.000s   c2#1/ cancel
            > c2#1/ cancel m1#1 text=cancelled
            > c2#1/ halt stop=cancelled end=CANCELLED incomplete model_calls=1 elapsed=6s
`

func TestTraceOfSubRuns(t *testing.T) {
	trace, err := ParseTrace(family)
	if err != nil {
		t.Fatal(err)
	}
	if got := trace.String(); got != family {
		t.Errorf("got\n%s", got)
	}
	if got, want := trace.Subs(), []Path{"c1#1/", "c2#1/", "c1#1/c1#1/", "c1#2/"}; !slices.Equal(got, want) {
		t.Errorf("the sub-runs are %q, want %q", got, want)
	}
	sum := len(trace.Own())
	for _, p := range trace.Subs() {
		part := trace.Of(p)
		if part[0].In.Kind != Started || part[len(part)-1].Effects[len(part[len(part)-1].Effects)-1].Kind != Halt {
			t.Errorf("%s is not a session from its start to its halt:\n%s", p, part)
		}
		// Without the path the lines are those of a session.
		back, err := ParseTrace(part.String())
		if err != nil || !reflect.DeepEqual(back, part) {
			t.Errorf("%s does not parse back: %v\n%s", p, err, part)
		}
		sum += len(part)
	}
	if sum != len(trace) {
		t.Errorf("the sessions have %d records, the trace %d", sum, len(trace))
	}
	if own := trace.Own(); &own[:1][0] == &trace[0] {
		t.Error("the own records are the whole trace")
	}
	if own := trace.Of("c2#1/"); &own.Own()[0] != &own[0] {
		t.Error("a trace without sub-runs was copied")
	}
}

func TestPath(t *testing.T) {
	for _, c := range []struct {
		path  Path
		above Path
		try   Ref
		depth int
	}{
		{"", "", Ref{}, 0},
		{"c2#1/", "", cRef(2, 1), 1},
		{"c2#1/c10#3/", "c2#1/", cRef(10, 3), 2},
		{"c2#1", "", Ref{}, 0}, // no path
		{"x/", "", Ref{}, 1},
		{"c02#1/", "", Ref{}, 1},
	} {
		above, try := c.path.Caller()
		if above != c.above || try != c.try || c.path.Depth() != c.depth {
			t.Errorf("%q: called by %q %v at depth %d, want %q %v at %d", c.path, above, try, c.path.Depth(), c.above, c.try, c.depth)
		}
		if try != (Ref{}) && above.Sub(try) != c.path {
			t.Errorf("%q: Sub of the caller is %q", c.path, above.Sub(try))
		}
	}
}

// A line in the name of another session than that of its input is refused, and so is
// another indentation.
func TestTraceOfBrokenSubRuns(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"   0.000s started text=a\n            > c1#1/ ask m1#1 for=reply to=1\n", "line 2, column 11: not in canonical form"},
		{"   0.000s   c1#1/ started text=a\n            > c2#1/ ask m1#1 for=reply to=1\n", "line 2, column 16: not in canonical form"},
		{"   0.000s   c1#1/ started text=a\n          > ask m1#1 for=reply to=1\n", "line 2, column 11: not in canonical form"},
		{"   0.000s c1#1/ started text=a\n", "line 1, column 11: not in canonical form"},
		{"   0.000s   c01#1/ started text=a\n", "line 1, column 14: not in canonical form"},
		{"   0.000s   c1#1 started text=a\n", "line 1, column 17: expected"},
		{"   0.000s   c1#1/started text=a\n", "line 1, column 18: expected"},
		{"   0.000s   m1#1/ started text=a\n", "line 1, column 13: expected"},
		{"   0.000s   c1#1/ \n", "line 1, column 19: expected"},
	} {
		if trace, err := ParseTrace(c.text); err == nil || !strings.Contains(fmt.Sprint(err), c.want) {
			t.Errorf("%q: got %v, %v; want %s", c.text, trace, err, c.want)
		}
	}
}

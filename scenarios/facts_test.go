package scenarios

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
)

func TestBucket(t *testing.T) {
	ms := time.Millisecond
	for d, want := range map[time.Duration]time.Duration{
		0: 0, 1: 1, 99: 99, 100: 100, 101: 105,
		// Steps of 5 from 100 to 200, of 10 from 200 to 1000.
		200 * ms: 200 * ms, 201 * ms: 210 * ms, 199 * ms: 200 * ms, 195 * ms: 195 * ms, 196 * ms: 200 * ms, 991 * ms: time.Second,
		time.Second: time.Second, 1001 * ms: 1050 * ms, 1400 * ms: 1400 * ms, 30 * time.Second: 30 * time.Second, 31 * time.Second: 31 * time.Second,
		30*time.Second + 1: 31 * time.Second,
	} {
		if got := bucket(d); got != want {
			t.Errorf("%v: got %v, want %v", d, got, want)
		}
	}
}

// No bound is below what it stands for, nor more than 5 % above, and bounds are
// their own.
func TestBucketError(t *testing.T) {
	draw := rand.New(rand.NewPCG(1, 2))
	for range 100_000 {
		d := time.Duration(draw.Int64N(1 << draw.IntN(55)))
		got := bucket(d)
		if got < d || float64(got-d) > 0.05*float64(d) || bucket(got) != got {
			t.Fatalf("%d: got %d", d, got)
		}
	}
}

// facts come from the trace alone: here a retried call, one that was abandoned
// and answered late, one that was vetoed, and one that broke its schema.
func TestReadFacts(t *testing.T) {
	trace, err := loop.ParseTrace(`   0.000s started text=t
          > ask m1#1 for=reply to=1
   1.000s failure m1 status=500
   2.000s tick
          > ask m1#2 for=reply to=1
   3.000s reply m1 call=a:x("{}") call=b:y("{}") call=c:z("{}") call=d:w("{}") finish=tool_calls
          > call c1#1 name=x args="{}"
          > call c2#1 name=y args="{}"
          > call c4#1 name=w args="{}"
   4.000s result c1#1 code=Timeout text=late
   4.000s result c4#1 ok text=odd
   5.000s tick
          > call c1#2 name=x args="{}"
          > cancel c2#1 text=timeout
   6.500s result c1#2 ok text=a
   7.000s tick
          > note c2#1 event=abandoned
   7.500s result c2#1 ok text=b
          > note c2#1 event=ignored
   9.000s tick
          > put c1 text=a
          > put c2 code=Timeout text=b
          > put c3 why=vetoed text=c
          > put c4 code=OutputSchemaMismatch text=odd
          > halt stop=x end=LOOP_DETECTED reason=r incomplete turns=1 model_calls=2 asked=4 calls=3 tries=4 errors=2 vetoed=1 elapsed=9s
`)
	if err != nil {
		t.Fatal(err)
	}
	got := read(trace)
	want := facts{end: 9 * time.Second, acted: true, schemaOK: 2,
		events: map[string]bool{"run-started": true, "run-ended": true, "model-retried": true, "call-started": true, "call-retried": true,
			"call-cancelled": true, "abandoned": true, "ignored": true},
		codes: map[loop.Code]int{loop.None: 1, loop.Timeout: 1, loop.OutputSchemaMismatch: 1},
		// c1 took 3 s to 6.5 s, c2 3 s to 7 s: the late answer counts for nothing.
		took: map[time.Duration]int{time.Second: 1, 3500 * time.Millisecond: 1, 4 * time.Second: 1}}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(facts{})); d != "" {
		t.Error(d)
	}
}

func TestHistoryCheck(t *testing.T) {
	const start = "   0.000s started text=t\n          > ask m1#1 for=reply to=1\n"
	tests := []struct{ name, trace, want string }{
		{"clean", start + `   1.000s reply m1 call=a:x("{}") call=b:y("{}") finish=tool_calls
          > put c1 text=a
          > put c2 text=b
          > ask m2#1 for=reply to=4
   2.000s reply m2 text=done finish=stop
          > halt stop=done end=DONE reason=r answer=done turns=2 model_calls=2 asked=2 calls=2 elapsed=2s
`, ""},
		{"call without result", start + `   1.000s reply m1 call=a:x("{}") call=b:y("{}") finish=tool_calls
          > put c1 text=a
          > ask m2#1 for=reply to=3
`, "c2 the call c2 has no result in its place"},
		{"results in another order", start + `   1.000s reply m1 call=a:x("{}") call=b:y("{}") finish=tool_calls
          > put c2 text=b
          > put c1 text=a
          > ask m2#1 for=reply to=4
`, "c1 the call c1 has no result in its place"},
		{"two results of a call", start + `   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 text=a
          > put c1 text=a
          > ask m2#1 for=reply to=4
`, "c1 a result does not follow its reply"},
		{"id used twice", start + `   1.000s reply m1 call=a:x("{}") call=a:y("{}") finish=tool_calls
          > put c1 text=a
          > put c2 text=b
          > ask m2#1 for=reply to=4
`, "c2 the id \"a\" is used twice"},
		{"id replaced", start + `   1.000s reply m1 call=a:x("{}") call=a:y("{}") finish=tool_calls
          > note c2 event=replaced-id text=b
          > put c1 text=a
          > put c2 text=b
          > ask m2#1 for=reply to=4
`, ""},
		{"no id", start + `   1.000s reply m1 call="":x("{}") finish=tool_calls
          > put c1 text=a
          > ask m2#1 for=reply to=3
`, "c1 a call has no id"},
		{"empty reply kept", start + `   1.000s reply m1 finish=stop
          > ask m2#1 for=reply to=2
`, "m1 a reply without text and calls is kept"},
		{"empty reply dropped", start + `   1.000s reply m1 finish=stop
          > drop m1
          > note m1 event=empty-reply
          > ask m2#1 for=reply to=1
`, ""},
		{"reply dropped without its result", start + `   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 text=a
          > ask m2#1 for=reply to=3
   2.000s reply m2 text=b call=b:y("{}") finish=tool_calls
          > put c2 text=b
          > drop m1
          > ask m3#1 for=reply to=4
`, "c1 a result does not follow its reply"},
		{"summary between a reply and its result", start + `   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 text=a
          > put u2 to=3 text=s
          > ask m2#1 for=reply to=4
`, "c1 the call c1 has no result in its place"},
		{"dropped twice", start + `   1.000s reply m1 finish=stop
          > drop m1
          > drop m1
          > ask m2#1 for=reply to=1
`, "m1 a message is dropped that is not there"},
		{"asked with another number", start + `   1.000s reply m1 call=a:x("{}") finish=tool_calls
          > put c1 text=a
          > ask m2#1 for=reply to=2
`, "m2#1 the history does not have the messages that the loop asks with"},
		{"reply that nobody asked for", start + `   1.000s reply m7 call=a:x("{}") finish=tool_calls
          > note m7 event=ignored
   2.000s tick
          > ask m1#2 for=reply to=1
`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			trace, err := loop.ParseTrace(tt.trace)
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			for _, f := range checkHistory(trace, loop.PlannerNative) {
				got += f.At + " " + f.Message
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

package scenarios

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
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

// No bound is below a latency of its bucket, nor more than 5 % above, and bounds are
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
	if d := cmp.Diff(want, got, cmp.AllowUnexported(facts{}), cmpopts.IgnoreFields(facts{}, "last")); d != "" {
		t.Error(d)
	}
}

package trajectories

import (
	"context"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/scenarios"
)

// stopAt returns a variant that stops the nth equal call.
func stopAt(n int) scenarios.Variant {
	v := scenarios.Variant{Name: "total", Config: loop.Off()}
	v.Config.Detectors = []detect.Detector{{Name: "total", Ends: detect.EndsNever, Do: []detect.Rung{{At: n, Act: detect.Stop}}}}
	return v
}

// Of a branch only what happened after it branched off counts. The run has seven calls, of
// which it shares three, in two turns.
func TestABranchCountsFromWhereItBranches(t *testing.T) {
	run, problems := Read(write(t, "b.shapes", "1 failure branch=2 u a1=1 a1=1!+b1=2 a1=1! a1=1 a1=1 a2=3 .\n"), "")
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if n := run[0].OwnCalls(); n != 4 {
		t.Errorf("%d calls of its own, want 4", n)
	}
	for _, tt := range []struct{ at, turns, asked, calls, errors, saved int }{
		{100, 5, 4, 4, 2, 0}, // the results of the last shared turn are the branch's own
		{4, 2, 2, 1, 2, 3},   // the second turn of its own has the fourth equal call
		{2, 0, 0, 0, 0, 4},   // stopped before it branched off: nothing of its own runs
	} {
		r, err := Outcome(context.Background(), run[0], stopAt(tt.at))
		if err != nil {
			t.Fatal(err)
		}
		if stopped := r.EndState == loop.LoopDetected; stopped != (tt.saved > 0) {
			t.Errorf("at %d: the end is %s", tt.at, r.EndState)
		}
		if r.Turns != tt.turns || r.Asked != tt.asked || r.Calls != tt.calls || r.Errors != tt.errors || r.Saved != tt.saved {
			t.Errorf("at %d: turns %d, asked %d, calls %d, errors %d, saved %d; want %+v", tt.at, r.Turns, r.Asked, r.Calls, r.Errors, r.Saved, tt)
		}
	}
}

// A recording of watch has times, and says which of its messages belong to another run.
func TestReadARecordingOfWatch(t *testing.T) {
	const recording = `{"name":"conversation-2","branch_of":"conversation-1","shared_messages":4,"messages":[
{"role":"system","content":"s","at":0},
{"role":"user","content":"go","at":0},
{"role":"assistant","content":"","tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{}"}}],"at":1.5},
{"role":"tool","tool_call_id":"1","content":"x","at":2},
{"role":"assistant","content":"","tool_calls":[{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}],"at":3},
{"role":"tool","tool_call_id":"2","content":"y","at":60.25},
{"role":"assistant","content":"done","at":61.125}
]}`
	runs, problems := Read(write(t, "c.json", recording), "")
	if len(runs) != 1 || len(problems) > 0 {
		t.Fatalf("%d runs, problems %v", len(runs), problems)
	}
	r := runs[0]
	if !r.Timed || r.Shared != 2 || r.Runs[0].Turns[2].At != 61125*time.Millisecond {
		t.Errorf("timed %v, shared %d, turns %+v", r.Timed, r.Shared, r.Runs[0].Turns)
	}
	// One message without a time, or one that goes back: nothing is timed.
	for _, at := range []string{`""`, "0.5", "null", "-1", "1e300"} {
		broken := recording[:len(recording)-len(`61.125}`+"\n]}")] + at + "}\n]}"
		if runs, _ := Read(write(t, "c.json", broken), ""); len(runs) != 1 || runs[0].Timed {
			t.Errorf("at %s: %d runs, or timed", at, len(runs))
		}
	}
}

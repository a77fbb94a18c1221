package audit

import (
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// TestPermissionLapses: a permission that nobody answers is denied when
// time.permission runs out. The trace of the loop is right, and wrong under any other
// limit.
func TestPermissionLapses(t *testing.T) {
	cfg, task := loop.Off(), loop.Task{Text: "go"}
	cfg.Time.Permission = 5 * time.Second
	tools := []loop.ToolSpec{{Name: "rm", Permission: loop.AskCall}}
	const trace = `   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 call=a:rm("{}") finish=tool_calls
          > gate g1 of=c1 name=rm args="{}"
   6.000s tick
          > note g1 event=unanswered
          > put c1 code=Forbidden why=denied text="Error: nobody"
          > ask m2#1 for=reply to=3
   9.000s reply m2 text=ok finish=stop
          > halt stop=done end=DONE reason="The model answered." answer=ok turns=2 model_calls=2 asked=1 denied=1 elapsed=9s
`
	parsed, err := loop.ParseTrace(trace)
	if err != nil {
		t.Fatal(err)
	}
	for _, limit := range []time.Duration{0, 4 * time.Second, 5 * time.Second, 6 * time.Second} {
		cfg.Time.Permission = limit
		found := Check(cfg, task, tools, parsed)
		if wrong := limit != 5*time.Second; wrong != (len(found) > 0) || wrong && found[0].Rule != "permission" {
			t.Errorf("time.permission %v: %v", limit, found)
		}
	}
	// A machine that forgets the limit goes on waiting.
	waits, err := loop.ParseTrace(trace[:159] + "   7.000s gate g1 allow\n          > call c1#1 name=rm args=\"{}\"\n")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Time.Permission = 5 * time.Second
	if found := Check(cfg, task, tools, waits); len(found) == 0 || found[0].Rule != "permission" {
		t.Errorf("an answer after the end of time.permission counts: %v", found)
	}
}

package fakes_test

import (
	"context"
	"fmt"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// The first try of the call hangs. The loop cancels it after 30 s and tries again
// 1 s later, in virtual time.
func ExampleWorld_Run() {
	script := &fakes.Script{
		Task: "Summarise notes.txt",
		Tools: []fakes.Tool{{
			ToolSpec: loop.ToolSpec{Name: "read_file"},
			Answers:  []fakes.Answer{{Result: "Buy milk.", Failures: []fakes.Failure{{Hang: true}}}},
		}},
		Model: []fakes.Step{
			{Text: "I will look.", Calls: []fakes.StepCall{{Name: "read_file", Args: `{"path":"notes.txt"}`}}},
			{Text: "You need milk."},
		},
	}
	var trace loop.Trace
	outcomes, err := fakes.NewWorld(script, 1).Run(context.Background(), loop.Default(), &trace)
	if err != nil {
		fmt.Println(err)
		return
	}
	out := outcomes[0]
	fmt.Println(out.Stop, out.Calls, out.Tries, out.Elapsed, out.Answer)
	fmt.Print(trace)
	// A reply takes 2 s and a result 200 ms: 2 + 30 + 1 + 0.2 + 2 = 35.2 s.

	// Output:
	// done 1 2 35.2s You need milk.
	//    0.000s started text="Summarise notes.txt"
	//           > ask m1#1 for=reply to=1
	//    2.000s reply m1 text="I will look." call=call_1:read_file(`{"path":"notes.txt"}`) finish=tool_calls
	//           > call c1#1 name=read_file args=`{"path":"notes.txt"}`
	//   32.000s tick
	//           > cancel c1#1 text=timeout
	//   32.000s result c1#1 code=Cancelled text=cancelled
	//   33.000s tick
	//           > call c1#2 name=read_file args=`{"path":"notes.txt"}`
	//   33.200s result c1#2 ok text="Buy milk."
	//           > put c1 text="Buy milk."
	//           > ask m2#1 for=reply to=3
	//   35.200s reply m2 text="You need milk." finish=stop
	//           > halt stop=done end=DONE reason="The model answered." answer="You need milk." turns=2 model_calls=2 asked=1 calls=1 tries=2 elapsed=35.2s
}

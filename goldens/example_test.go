package goldens_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
)

// A trace of any run is compared with the golden of the same name. The files are
// those of the command agentbench golden; package scenarios does all of this for
// scenarios, see [github.com/agentbench-go/agentbench/scenarios.Goldens].
func Example() {
	script := fakes.Script{
		Task:  "Summarise other.txt",
		Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: "read_file"}, Answers: []fakes.Answer{{Result: "the same text"}}}},
		Model: []fakes.Step{{Repeat: fakes.Forever, Text: "I will look.", Calls: []fakes.StepCall{{Name: "read_file", Args: `{"path":"notes.txt"}`}}}},
	}
	var trace loop.Trace
	if _, err := fakes.NewWorld(&script, 1).Run(context.Background(), loop.Default(), &trace); err != nil {
		fmt.Println(err)
	}

	now := &goldens.Golden{Scenario: "loops/same", Variant: "hpd-agent", Seed: 1, Trace: trace.String()}
	store := goldens.Dir("testdata/goldens")
	stored, err := store.Read("loops/same.hpd-agent.golden")
	if errors.Is(err, fs.ErrNotExist) { // the first time; read what is written before you commit it
		_, err = store.Write(now)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	if d := stored.Compare(trace); d != nil {
		fmt.Print(d)
	}

	// The task may be another.
	allowed, err := goldens.ParseAllowance("field started.text: each user has a task of their own")
	if err != nil {
		fmt.Println(err)
	}
	stored.Allow = append(stored.Allow, allowed)
	fmt.Println("allowed:", stored.Compare(trace) == nil)
	// Output:
	// testdata/goldens/loops/same.hpd-agent.golden:7: the trace differs
	//   expected     0.000s started text="Summarise notes.txt"
	//   got          0.000s started text="Summarise other.txt"
	// allowed: true
}

// A wrong allowance says what is wrong and how to mend it.
func ExampleParseAllowance() {
	_, err := goldens.ParseAllowance("field reply.in within 5")
	fmt.Println(err)
	a, err := goldens.ParseAllowance("field reply.in within 5: token counts drift")
	fmt.Println(a.Difference(), "|", a.Reason, "|", err)
	// Output:
	// the allowance has no reason; add the reason, such as field reply.in within 5: the clock is real
	// field reply.in within 5 | token counts drift | <nil>
}

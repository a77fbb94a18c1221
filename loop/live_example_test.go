package loop_test

import (
	"context"
	"fmt"

	"github.com/agentbench-go/agentbench/loop"
)

// parrot replaces a real model: it asks for the same call until the result is
// "sunny".
type parrot struct{}

func (parrot) Reply(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
	if last := req.History[len(req.History)-1]; last.Text == "sunny" {
		return loop.Reply{Text: "It is sunny in Oslo."}, nil
	}
	return loop.Reply{Calls: []loop.AskedCall{{Name: "weather", Args: `{"city": "Oslo"}`}}}, nil
}

func weather(result string) loop.Tool {
	type place struct {
		City string `json:"city"`
	}
	spec := loop.ToolSpec{Name: "weather", Description: "The weather in a city", Input: `{"type": "object", "properties": {"city": {"type": "string"}}}`}
	return loop.FuncTool(spec, func(ctx context.Context, p place) (string, error) {
		if p.City != "Oslo" {
			return "", &loop.ToolError{Code: loop.NotFound, Text: "no such city: " + p.City}
		}
		return result, nil
	})
}

func ExampleRunLive() {
	task := loop.Task{Text: "How is the weather in Oslo?", System: "Answer in one sentence."}

	out, err := loop.RunLive(context.Background(), loop.Default(), task, parrot{}, []loop.Tool{weather("sunny")}, loop.LiveOptions{})
	fmt.Println(out.Stop, out.Turns, out.Answer, err)

	// If the tool never says what the model waits for, the fifth identical call
	// is not made.
	out, err = loop.RunLive(context.Background(), loop.Default(), task, parrot{}, []loop.Tool{weather("ask again later")}, loop.LiveOptions{})
	fmt.Println(out.Stop, out.Calls, out.Incomplete, err)
	fmt.Println(out.Message)

	// Output:
	// done 2 It is sunny in Oslo. <nil>
	// circuit-breaker 4 true <nil>
	// Circuit breaker triggered: weather was asked for 5 times in a row with the same arguments.
}

// The parts of RunLive, to keep the history and the trace.
func ExampleNewLive() {
	task := loop.Task{Text: "How is the weather in Oslo?"}
	live := loop.NewLive(task, parrot{}, []loop.Tool{weather("sunny")}, loop.LiveOptions{})
	m, err := loop.New(loop.Default(), task, live.Tools())
	if err != nil {
		fmt.Println(err)
		return
	}
	var trace loop.Trace
	out, err := loop.Run(context.Background(), m, loop.Recording(live, &trace))
	fmt.Println(out.Stop, err)
	for _, msg := range m.History() {
		fmt.Println(msg.Ref, msg.Text, len(msg.Calls))
	}
	fmt.Println(len(trace), "steps")

	// Output:
	// done <nil>
	// u1 How is the weather in Oslo? 0
	// m1  1
	// c1 sunny 0
	// m2 It is sunny in Oslo. 0
	// 4 steps
}

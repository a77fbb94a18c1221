package shapes_test

import (
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/shapes"
)

func ExampleParse() {
	runs, err := shapes.Parse([]byte("17 failure u a1=1 b1=2+b2=3 b2=3! .\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, step := range runs[0].Steps {
		fmt.Println(len(step.Calls), "calls, by the user:", step.User)
	}
	// Output:
	// 0 calls, by the user: true
	// 1 calls, by the user: false
	// 2 calls, by the user: false
	// 1 calls, by the user: false
	// 0 calls, by the user: false
}

// Package agenttest asks an agent that is written in Go, in go test: does it stop when
// it should, and does it finish healthy work? The scenarios play the model and the
// tools. The agent may be anything that takes an HTTP client, or an interface of its
// own.
//
//	func TestStops(t *testing.T) {
//		agenttest.Run(t, func(ctx context.Context, w *agenttest.World) (string, error) {
//			client := openai.NewClient(option.WithBaseURL(w.URL), option.WithAPIKey("none"), option.WithHTTPClient(w.Client))
//			return myagent.New(client, myTools(w.Tools)).Run(ctx, w.Task)
//		})
//	}
//
// # Time
//
// Each scenario has a bubble of package [testing/synctest], in which time is virtual: a
// model that hangs for a day costs a millisecond. What an agent does must stay in the
// bubble. It may use the World's Client, timers, channels and goroutines of its own, but
// no sockets, and nothing that was made outside and waits, such as a worker that all
// agents share. A bubble whose time does not go on is found by the real clock: the test
// ends with the goroutine that holds it up. [RealTime] does without the bubble.
//
// # The verdict
//
// The rules are those of package [github.com/agentbench-go/agentbench/scenarios/observe],
// as for the command agentbench probe. The scenario's subtest fails if its verdict is
// fail: a runaway was not stopped, or healthy work was. It is skipped, with the reason,
// if the verdict is inconclusive. An agent that never asks the model, or does not offer
// it the scenario's tools, fails: that is a mistake of the test. So does a test of which
// nothing could be judged.
//
// # Goldens
//
// With -update a test writes what each scenario came to into testdata, one line a
// scenario, and later runs compare with it:
//
//	stuck-loops/same-call-forever  runaway  pass  10 requests  10 calls  22s  STOPPED
//
// So a change of the agent shows as a diff, whether it passes or not. Without the file
// nothing is compared. If another package has a flag -update, such as goldie, or a test
// file of the package defines one, that one counts.
package agenttest

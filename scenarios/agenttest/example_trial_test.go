package agenttest_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/agentbench-go/agentbench/scenarios/agenttest"
)

// refund is a scenario of one's own: a service that is down for good.
const refund = `
name: refund
description: The payment service is down for good, and the model tries for ever.
label: runaway
task: Refund order 7.
tools:
  - name: refund
    description: Refunds an order
    answers: [{error: RetryableServer, text: the payment service is down}]
model:
  - {calls: [{refund: {order: 7}}], repeat: forever}
`

// A test with assertions of one's own, in a bubble of one's own: func TestRefund in a
// test file.
func testRefund(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := scenarios.Parse("mine/refund.yaml", refund)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		r := agenttest.Trial(t, s, func(ctx context.Context, w *agenttest.World) (string, error) {
			a := &agent{url: w.URL + "/chat/completions", client: w.Client, tools: w.Tools}
			return a.run(ctx, w.Task)
		})
		if r.Verdict != scenarios.Pass || r.Requests > 10 || time.Since(began) > time.Minute {
			t.Errorf("%d requests in %v\n%s", r.Requests, time.Since(began), r.Failure())
		}
	})
}

// A test looks itself at what came of one scenario.
func ExampleTrial() {
	_ = testRefund // go test runs it
	// Output:
}

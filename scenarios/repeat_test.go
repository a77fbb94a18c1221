package scenarios

import (
	"bytes"
	"context"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// repeats is 1,000 where the figures are measured, and fewer under the race
// detector, which makes each take ten times as long.
var repeats = 100

// The repeats of every embedded scenario have one trace text.
func TestRepeats(t *testing.T) {
	repeats := repeats
	if testing.Short() {
		repeats = 5
	}
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		t.Run(s.ID(), func(t *testing.T) {
			t.Parallel()
			var trace loop.Trace
			var first, text []byte
			for i := range repeats {
				trace = trace[:0]
				if _, err := fakes.NewWorld(&s.Script, 1).Run(context.Background(), s.Config, &trace); err != nil {
					t.Fatal(err)
				}
				text = trace.AppendText(text[:0])
				if i == 0 {
					first = bytes.Clone(text)
				}
				if !bytes.Equal(first, text) {
					t.Fatalf("repeat %d:\n%s\nthe first:\n%s", i+1, text, first)
				}
			}
		})
	}
}

package fakes

import (
	"context"

	"github.com/agentbench-go/agentbench/loop"
)

// Remember tells the world a step that has been made already, in another
// process say: it takes notice as Do would, and the answers to what is asked
// for come with the next step that it is told.
func (w *World) Remember(in loop.Input, effects []loop.Effect) {
	switch {
	case in.Ref.Kind != loop.RefNone:
		w.queue.drop(in.Ref)
	case in.Kind == loop.UserMessage, in.Kind == loop.Cancel:
		w.queue.dropKind(in.Kind)
	}
	w.Do(context.Background(), in, effects)
}

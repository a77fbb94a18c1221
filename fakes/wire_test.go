package fakes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
)

// A World plays each wire as the nearest thing that it has.
func TestWiresInAWorld(t *testing.T) {
	const piece, reply, failure = loop.ModelDelta, loop.ModelReply, loop.ModelFailure
	tests := []struct {
		failure ModelFailure
		want    []said
	}{
		{ModelFailure{Wire: WireRetryAfterDate, Status: 429, RetryAfter: sec}, []said{{2 * sec, "", failure}}},
		{ModelFailure{Wire: WireErrorEvent, Status: 500}, []said{{2 * sec, "", failure}}},
		{ModelFailure{Wire: WireHeartbeats}, nil},
		{ModelFailure{Wire: WireHeartbeats, Chunks: 1}, []said{{sec, "a", piece}}},
		// The failure is the second of two pieces.
		{ModelFailure{Wire: WireCutEvent, Chunks: 1}, []said{{sec, "a", piece}, {2 * sec, "", failure}}},
		{ModelFailure{Wire: WireEndsEarly, Chunks: 1}, []said{{sec, "a", piece}, {2 * sec, "", failure}}},
		// All of the reply's pieces come, and the failure in place of the end.
		{ModelFailure{Wire: WireNoFinish, Latency: exactly(3 * sec)}, []said{{sec, "a", piece}, {2 * sec, "b", piece}, {3 * sec, "", failure}}},
	}
	for _, tt := range tests {
		w := NewWorld(model(Step{Text: "ab", Chunks: 2, Failures: []ModelFailure{tt.failure}}), 1)
		do(w, 0, ask(1, 1))
		var got []said
		for at, more := w.queue.first(); more; at, more = w.queue.first() {
			in := next(t, w)
			got = append(got, said{at, in.Text, in.Kind})
			if in.Kind == failure && (in.Status != tt.failure.Status || in.RetryAfter != tt.failure.RetryAfter) {
				t.Errorf("%s: %+v", tt.failure.Wire, in)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", tt.failure.Wire, diff)
		}
	}
	for _, wire := range StepWires() {
		w := NewWorld(model(Step{Text: "ab", Wire: wire}), 1)
		do(w, 0, ask(1, 1))
		if in := next(t, w); in.Kind != reply || in.Text != "ab" {
			t.Errorf("%s: %+v", wire, in)
		}
	}
}

func TestWiresThatCannotBeMeant(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{problemOf(Step{Wire: WireCutEvent}), `model[0].wire: must be one of stall-after-done, same-index, shuffled-index, not "cut-event"`},
		{failureProblem(ModelFailure{Wire: "smoke"}), "model[0].failures[0].wire: must be one of retry-after-date, heartbeats, cut-event, ends-early, no-finish, error-event, not \"smoke\""},
		{failureProblem(ModelFailure{Wire: WireRetryAfterDate, Status: 429}), "model[0].failures[0].wire: retry-after-date needs a status and retry_after"},
		{failureProblem(ModelFailure{Wire: WireRetryAfterDate, Status: 429, RetryAfter: sec, Chunks: 1}), "model[0].failures[0].wire: retry-after-date cannot be combined with chunks: no header comes after a piece"},
		{failureProblem(ModelFailure{Wire: WireNoFinish, Chunks: 2}), "model[0].failures[0].wire: no-finish cannot be combined with chunks: the whole reply comes"},
		{failureProblem(ModelFailure{Wire: WireCutEvent, Status: 500}), "model[0].failures[0].wire: cut-event cannot be combined with a status"},
		{failureProblem(ModelFailure{Wire: WireErrorEvent, Hang: true}), "model[0].failures[0].wire: error-event cannot be combined with hang"},
		{failureProblem(ModelFailure{Wire: WireErrorEvent, Status: 500, Chunks: 2}), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("got  %s\nwant %s", tt.got, tt.want)
		}
	}
}

// Tools have wires of their own; a world answers as usual.
func TestToolWires(t *testing.T) {
	script := func(a Answer) *Script { return oneTool(a) }
	for _, tt := range []struct {
		answer Answer
		want   string
	}{
		{Answer{Wire: WireProtocolError}, `tools[0].answers[0].wire: must be one of structured, image, progress, not "protocol-error"`},
		{Answer{Error: loop.NotFound, Wire: WireImage}, `tools[0].answers[0].wire: must be one of protocol-error, cancelled, not "image"`},
		{Answer{Hang: true, Wire: WireProgress}, "tools[0].answers[0].wire: cannot be combined with hang"},
		{Answer{Failures: []Failure{{Wire: WireStructured}}}, `tools[0].answers[0].failures[0].wire: must be one of protocol-error, cancelled, not "structured"`},
		{Answer{Failures: []Failure{{Hang: true, Wire: WireCancelled}}}, "tools[0].answers[0].failures[0].wire: cannot be combined with hang"},
	} {
		if err := script(tt.answer).Validate(); err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
	s := script(Answer{Result: "ok", Wire: WireStructured, Failures: []Failure{{Text: "no", Wire: WireCancelled}}})
	w := NewWorld(s, 1)
	got := answers(t, w, call(1, 1, "f", ""), call(1, 2, "f", ""))
	if got[0].Code != loop.RetryableServer || got[0].Text != "no" || got[1].Text != "ok" {
		t.Errorf("the world answers %+v", got)
	}
	box := toolbox(t, s)
	for try, want := range []ToolSaid{{Code: loop.RetryableServer, Text: "no", After: 200 * ms, Wire: WireCancelled, Passing: true}, {Text: "ok", After: 200 * ms, Wire: WireStructured}} {
		if said, err := box.Call(ToolCall{N: 1, Try: try + 1, Name: "f"}); err != nil || said != want {
			t.Errorf("try %d: %+v, %v", try+1, said, err)
		}
	}
	s.Faults = []Fault{{Kind: "error", At: loop.RefCall, N: 1, Try: 2, Operand: loop.NotFound}}
	box = toolbox(t, s)
	if said, err := box.Call(ToolCall{N: 1, Try: 2, Name: "f"}); err != nil || said.Wire != WireUsual || said.Code != loop.NotFound {
		t.Errorf("a fault: %+v, %v", said, err)
	}
}

func failureProblem(f ModelFailure) string { return problemOf(Step{Failures: []ModelFailure{f}}) }

func problemOf(s Step) string {
	if err := model(s).Validate(); err != nil {
		return err.Error()
	}
	return ""
}

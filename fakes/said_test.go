package fakes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
)

// A spoken world checks that each answer of the model equals that of the script's
// Model, which has no memory of earlier requests.
type spoken struct {
	*World
	t       *testing.T
	model   *Model
	course  Course
	step    int
	asked   int
	turn    int
	answers map[loop.Ref]loop.Input
	checked int
}

func (w *spoken) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	if want, ok := w.answers[in.Ref]; ok && in.Kind != loop.ModelDelta {
		in.At = 0
		if diff := cmp.Diff(want, in); diff != "" {
			w.t.Errorf("%v: the world differs from the model\n%s", in.Ref, diff)
		}
		w.asked += len(in.Calls)
		w.checked++
	}
	w.World.Do(ctx, in, effects)
	for i := range effects {
		if e := &effects[i]; e.Kind == loop.AskModel {
			w.say(e)
		}
	}
}

// say asks the model as the world is asked.
func (w *spoken) say(e *loop.Effect) {
	if e.Ref.N != w.turn {
		w.turn = e.Ref.N
		w.step = w.model.Next(&w.course, w.heard.look(e.History))
	}
	said, err := w.model.Say(w.step, Request{Ref: e.Ref, Calls: w.asked, History: e.History})
	if err != nil {
		w.t.Fatal(err)
	}
	in := loop.Input{Kind: loop.ModelReply, Ref: e.Ref, Text: said.Text, Calls: said.Calls, Finish: said.Finish}
	if f := said.Failure; f != nil {
		in = loop.Input{Kind: loop.ModelFailure, Ref: e.Ref, Status: f.Status, Text: said.Reason}
	}
	w.answers[e.Ref] = in
}

func TestTheWorldPlaysTheModel(t *testing.T) {
	script := &Script{
		Task: "Dice.",
		Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "roll"}, Answers: []Answer{
			{Result: `{"eyes":${rand:1..6}}`, Times: 2}, {Error: loop.NotFound, Text: "no dice", Times: 2}, {Result: `{"eyes":4}`},
		}}},
		Model: []Step{
			{Text: "${turn} ${pick:a|b|c}", Calls: []StepCall{{Name: "roll", Args: `{"n":${rand:1..1000}}`}, {Name: "roll", Args: `{}`}}, Repeat: 2,
				Failures: []ModelFailure{{Status: 503, Text: "busy ${rand:1..99}"}, {Chunks: 2}}},
			{When: WhenFailed, Text: "Again.", Calls: []StepCall{{Name: "roll", Args: `{"after":${result:c1.eyes}}`}}},
			{Text: "${call}", Calls: []StepCall{{Name: "roll", Args: `{}`}}, Chunks: 3, Repeat: 2},
			{Text: "Done."},
		},
	}
	for seed := range uint64(20) {
		cfg := loop.Default()
		cfg.ModelRetry.Max, cfg.Retry.Max = 5, 0
		m, err := loop.New(cfg, loop.Task{Text: script.Task}, script.Specs())
		if err != nil {
			t.Fatal(err)
		}
		model, err := NewModel(script, 0)
		if err != nil {
			t.Fatal(err)
		}
		seeded := model.Seeded(seed)
		w := &spoken{World: NewWorld(script, seed), t: t, model: &seeded, answers: map[loop.Ref]loop.Input{}}
		out, err := loop.Run(context.Background(), m, w)
		// Two requests with two failures each, the third right after the
		// failed calls, the fourth and the fifth.
		if err != nil || out.End != loop.Done || w.checked != 3+3+3 {
			t.Fatalf("seed %d: %v, %v, %d answers", seed, out, err, w.checked)
		}
	}
}

func TestSaid(t *testing.T) {
	script := model(
		Step{Text: "abcd", Chunks: 4, Calls: []StepCall{{Name: "f", Args: "{}"}}, Failures: []ModelFailure{{Chunks: 1, Text: "reset", Latency: exactly(4 * sec)}, {Status: 429}}},
		Step{Text: "x", Calls: []StepCall{{Name: "f", Args: "${result:c9}"}}},
	)
	m, err := NewModel(script, 1)
	if err != nil {
		t.Fatal(err)
	}
	type piece struct {
		At   time.Duration
		Text string
	}
	// The calls of a reply that breaks off are known, and numbered on.
	want := []loop.AskedCall{{ID: "call_8", Name: "f", Args: "{}"}}
	for try, pieces := range [][]piece{
		{{2 * sec, "a"}}, // the failure is the second of two pieces of 4 s
		nil,
		{{500 * ms, "a"}, {sec, "b"}, {1500 * ms, "c"}, {2 * sec, "d"}},
	} {
		said, err := m.Say(0, Request{Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: try + 1}, Calls: 7})
		if err != nil {
			t.Fatal(err)
		}
		var got []piece
		for i, text := range Cut(said.Text, said.Of) {
			if i < said.Pieces {
				got = append(got, piece{said.At(i), text})
			}
		}
		if diff := cmp.Diff(pieces, got); diff != "" {
			t.Errorf("try %d: %s", try+1, diff)
		}
		if diff := cmp.Diff(want, said.Calls); diff != "" || said.Text != "abcd" || (said.Failure == nil) != (try == 2) {
			t.Errorf("try %d: %+v %s", try+1, said, diff)
		}
	}
	var dry *DryError
	if _, err := m.Say(1, Request{Ref: loop.Ref{Kind: loop.RefModel, N: 2, Try: 1}}); !errors.As(err, &dry) {
		t.Errorf("a result that is not there: %v", err)
	}
	for id, want := range map[string]string{"call_8": "call_3_1", "call_9": "call_3_2", "call_7": "call_7", "call_x": "call_x", "toolu_9": "toolu_9"} {
		if got := m.PlaceID(id, 3, 7); got != want {
			t.Errorf("the third reply's id for %q is %q, want %q", id, got, want)
		}
	}
	for id, want := range map[string][2]int{"call_8_3": {8, 3}, "call_8": {}, "call_0_1": {}, "call_08_1": {}, "call_8_x": {}, "call_-1_2": {}, "8_3": {}, "call_8_3_1": {}, "call_9999999_1": {}} {
		if n, k := m.IDPlace(id); [2]int{n, k} != want {
			t.Errorf("the place of %q is %d, %d, want %v", id, n, k, want)
		}
	}
	var c Course
	for _, want := range []int{0, 1, -1, -1} {
		if got := m.Next(&c, Before{}); got != want {
			t.Errorf("step %d, want %d", got, want)
		}
	}
	if _, err := NewModel(model(Step{Text: "${x}"}), 1); err == nil {
		t.Error("a script with a mistake has a model")
	}
}

package fakes

import (
	"reflect"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// path returns the texts of the steps that answer the first n requests.
func path(t *testing.T, s *Script, seed uint64, n int) string {
	t.Helper()
	model, err := NewModel(s, seed)
	if err != nil {
		t.Fatal(err)
	}
	var c Course
	var texts []string
	for range n {
		texts = append(texts, s.Model[model.Next(&c, Before{})].Text)
	}
	return strings.Join(texts, " ")
}

// Without a choice, the states follow one another: first what the plain steps
// cover, then a twice and b, then c, which begins again.
func TestStatesFollow(t *testing.T) {
	s := model(
		Step{State: "one", Text: "a", Repeat: 2},
		Step{Text: "plain", Repeat: 2},
		Step{State: "one", Text: "b", Next: []Transition{{State: "two", Weight: 1}}},
		Step{State: "two", Text: "c"},
	)
	if got, want := path(t, s, 1, 8), "plain plain a a b c c c"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if s.Random() {
		t.Error("nothing is drawn")
	}
}

// fork is a model that goes left three times in four.
func fork() *Script {
	next := []Transition{{State: "left", Weight: 3}, {State: "right", Weight: 1}}
	return model(Step{State: "left", Text: "l", Next: next}, Step{State: "right", Text: "r", Next: next})
}

// Of 4,000 requests 3,000 go left but for the luck of the draw: the standard
// deviation is √(4000 × ¾ × ¼) = 27, and 5 of those are 137.
func TestStatesByWeight(t *testing.T) {
	all := path(t, fork(), 7, 4001)[1:] // the first state is not drawn
	if left := strings.Count(all, "l"); left < 3000-137 || left > 3000+137 {
		t.Errorf("%d of 4000 requests went left, want about 3000", left)
	}
	if !fork().Random() {
		t.Error("the seed decides where it goes")
	}
}

// A draw depends only on the seed and the request's number.
func TestStatesArePure(t *testing.T) {
	if path(t, fork(), 1, 50) == path(t, fork(), 2, 50) {
		t.Error("two seeds went the same way for 50 requests")
	}
	all := strings.Fields(path(t, fork(), 1, 50))
	model, err := NewModel(fork(), 1)
	if err != nil {
		t.Fatal(err)
	}
	for n := 50; n >= 1; n-- {
		c := Course{requests: n - 1}
		if got := fork().Model[model.Next(&c, Before{})].Text; got != all[n-1] {
			t.Errorf("request %d asked by itself goes %s, in its turn %s", n, got, all[n-1])
		}
	}
}

func TestStatesThatCannotBe(t *testing.T) {
	to := func(state string, weight int64) []Transition { return []Transition{{State: state, Weight: weight}} }
	tests := []struct {
		script *Script
		want   string
	}{
		{model(Step{State: "a", When: WhenOK}), "model[0].state: cannot be combined with when"},
		{model(Step{Next: to("a", 1)}), "model[0].next: needs a state"},
		{model(Step{State: "a", Next: to("b", 1)}), `model[0].next[0].state: must be the state of a step, not "b"`},
		{model(Step{State: "a", Next: to("a", 0)}), "model[0].next[0].weight: must be from 1"},
		{model(Step{State: "a", Next: to("a", 1)}, Step{State: "a"}), "model[0].next: must be on the last step"},
	}
	for _, tt := range tests {
		if err := tt.script.Validate(); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("got %v, want %s…", err, tt.want)
		}
	}
}

// A request for a summary is answered by its step, then by the world; a last word
// too, where no other step is left. Neither moves the plain steps on.
func TestOtherRequests(t *testing.T) {
	request := func(n int, purpose loop.Purpose) loop.Effect {
		e := ask(n, 1)
		e.For = purpose
		return e
	}
	s := model(Step{Text: "one"}, Step{Text: "two"}, Step{When: WhenSummary, Text: "short"}, Step{When: WhenFinal, Text: "bye"})
	w := NewWorld(s, 1)
	asked := []loop.Purpose{loop.ForReply, loop.ForSummary, loop.ForSummary, loop.ForReply, loop.ForGrace, loop.ForFinal}
	want := []string{"one", "short", "What was said before, in a few words.", "two", "bye", "I did not get any further."}
	for i, purpose := range asked {
		do(w, sec, request(i+1, purpose))
		if got := next(t, w).Text; got != want[i] {
			t.Errorf("request %d, for %s: got %q, want %q", i+1, purpose, got, want[i])
		}
	}
}

func TestLoopTask(t *testing.T) {
	rules := []loop.Constraint{{Text: "say so", Says: "so"}}
	s := Script{Task: "t", System: "s", Planner: loop.PlannerJSON, Critic: loop.RuleCritic{}, Constraints: rules, SafetyPrompt: true}
	got := s.LoopTask(3)
	if got.Schemas == nil {
		t.Error("nobody reads the schemas")
	}
	got.Schemas = nil
	if want := (loop.Task{Text: "t", System: "s", Seed: 3, Planner: loop.PlannerJSON, Critic: loop.RuleCritic{}, Constraints: rules, SafetyPrompt: true}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

package trajectories

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// grow calls each with every stage at which a proxy sees a trajectory: after each
// reply, whose calls have no results yet, and with the results, which come with the
// next request.
func grow(r *Trajectory, each func(*Trajectory)) {
	for i, run := range r.Runs {
		for j, turn := range run.Turns {
			part := *r
			part.Runs = append([]*Run{}, r.Runs[:i]...)
			asked := *turn
			asked.Calls = nil
			for _, c := range turn.Calls {
				open := *c
				open.Result = nil
				asked.Calls = append(asked.Calls, &open)
			}
			for _, last := range []*Turn{&asked, turn} {
				turns := append(append([]*Turn{}, run.Turns[:j]...), last)
				stage := part
				stage.Runs = append(append([]*Run{}, part.Runs...), &Run{User: run.User, Turns: turns})
				each(&stage)
			}
		}
	}
	each(r)
}

// unanswered is a session whose user speaks again before the first run is answered.
// The loop's second run then repeats one call five times.
func unanswered() *Trajectory {
	turn := func(answered bool) *Turn {
		c := &Call{ID: "c", Name: "f", Args: "{}"}
		if answered {
			c.Result = &Result{Text: "same"}
		}
		return &Turn{Calls: []*Call{c}}
	}
	r := &Trajectory{Name: "unanswered", Runs: []*Run{{User: "a", Turns: []*Turn{turn(false)}}, {User: "b"}}}
	for range 6 {
		r.Runs[1].Turns = append(r.Runs[1].Turns, turn(true))
	}
	return r
}

// TestFollow checks that a follower of a growing trajectory comes to the stop of a
// replay of the whole, that it never takes a stop back, and that it says so at the
// first stage whose replay has that stop.
func TestFollow(t *testing.T) {
	files, _ := Find([]string{"testdata"})
	if !testing.Short() { // where they are
		more, _ := Find([]string{realRuns + "/tau-bench", realRuns + "/agentdojo"})
		files = append(files, more...)
	}
	variants := []scenarios.Variant{}
	for _, name := range []string{"hpd-agent", "recommended", "none"} {
		v, err := scenarios.LoadVariant(name)
		if err != nil {
			t.Fatal(err)
		}
		variants = append(variants, v)
	}
	tight := scenarios.Variant{Name: "tight", Config: loop.Default()}
	tight.Config.Limits.Turns = 4
	variants = append(variants, tight)
	runs, stops := 0, 0
	for _, v := range variants {
		stops += follow(t, unanswered(), v)
	}
	for _, file := range files {
		all, _ := Read(file, "")
		for _, r := range all[:min(len(all), 10)] {
			runs++
			timed := *r
			timed.Timed, timed.Runs = true, nil
			at := time.Duration(0)
			for _, run := range r.Runs {
				later := &Run{User: run.User, At: at}
				for _, turn := range run.Turns {
					at += 45 * time.Second
					after := *turn
					after.At = at
					later.Turns = append(later.Turns, &after)
				}
				timed.Runs = append(timed.Runs, later)
			}
			for _, v := range variants {
				stops += follow(t, r, v) + follow(t, &timed, v)
			}
		}
	}
	if runs < 20 || stops < 5 {
		t.Errorf("only %d runs and %d stops: this test shows nothing", runs, stops)
	}
}

// follow checks one run under one variant and returns its stops.
func follow(t *testing.T, r *Trajectory, v scenarios.Variant) int {
	t.Helper()
	f, err := Follow(v)
	if err != nil {
		t.Fatal(err)
	}
	before := false
	grow(r, func(part *Trajectory) {
		if err := f.Update(part); err != nil {
			t.Fatalf("%s under %s: %v", r.ID(), v.Name, err)
		}
		result, _, err := Play(context.Background(), part, v)
		if err != nil {
			t.Fatal(err)
		}
		out, asked := f.Stopped()
		stopped := result.Stop != loop.StopDone && result.Stop != loop.StopRecordingEnded
		switch {
		case before && out == nil:
			t.Fatalf("%s under %s: a stop was taken back", r.ID(), v.Name)
		case stopped != (out != nil):
			t.Fatalf("%s under %s: the follower stopped: %t, the replay: %s", r.ID(), v.Name, out != nil, result.Stop)
		case out != nil && (out.Stop != result.Stop || asked != result.Asked):
			t.Fatalf("%s under %s: stopped by %s after %d calls, the replay by %s after %d", r.ID(), v.Name, out.Stop, asked, result.Stop, result.Asked)
		}
		before = out != nil
	})
	if before {
		return 1
	}
	return 0
}

// TestGrow checks that a conversation that grows in any pieces is what the whole one is,
// and that a follower of it comes to the same stops.
func TestGrow(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	v, err := scenarios.LoadVariant("hpd-agent")
	if err != nil {
		t.Fatal(err)
	}
	tight := scenarios.Variant{Name: "tight", Config: loop.Default()}
	tight.Config.Limits.Turns = 4
	refused, stops := 0, 0
	for range 150 {
		var all []wire.Message
		f, _ := Follow(v)
		fTight, _ := Follow(tight)
		c := &wire.Conversation{System: []string{"", "be kind"}[rnd.IntN(2)], Model: "m"}
		var g *Growing
		for range 8 {
			var news []wire.Message
			for range rnd.IntN(3) {
				m := wire.Message{Role: wire.Role(rnd.IntN(4)), Text: []string{"", "a", "b"}[rnd.IntN(3)], At: time.Duration(len(all)+len(news)) * time.Second}
				switch m.Role {
				case wire.Tool:
					m.ID = fmt.Sprint(rnd.IntN(3))
				case wire.Assistant:
					m.Calls = someCalls(rnd)
				}
				news = append(news, m)
			}
			news = append(news, wire.Message{Role: wire.Assistant, Reply: true, Text: "r", Calls: someCalls(rnd), At: time.Duration(len(all)+len(news)) * time.Second})
			all = append(all, news...)
			c.Messages = all
			if g == nil || !g.Add(news) {
				if g != nil {
					refused++
				}
				g = Grow("a", c)
			}
			want := OfConversation("a", c)
			got := g.Trajectory()
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(Trajectory{}), cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("after %v (-whole +grown)\n%s", all, diff)
			}
			for _, f := range []struct {
				*Follower
				v scenarios.Variant
			}{{f, v}, {fTight, tight}} {
				if err := f.Update(got); err != nil {
					t.Fatal(err)
				}
				result, _, err := Play(context.Background(), want, f.v)
				if err != nil {
					t.Fatal(err)
				}
				out, asked := f.Stopped()
				stopped := result.Stop != loop.StopDone && result.Stop != loop.StopRecordingEnded
				if stopped != (out != nil) || stopped && (out.Stop != result.Stop || asked != result.Asked) {
					t.Fatalf("after %v under %s: the follower stopped: %v after %d, the replay: %s after %d", all, f.v.Name, out, asked, result.Stop, result.Asked)
				}
				if stopped {
					stops++
				}
			}
		}
	}
	if refused < 50 || stops < 50 {
		t.Errorf("%d times grown anew, %d stops: this test shows nothing", refused, stops)
	}
}

func someCalls(rnd *rand.Rand) (calls []wire.Call) {
	for range rnd.IntN(3) {
		calls = append(calls, wire.Call{ID: fmt.Sprint(rnd.IntN(3)), Name: []string{"f", "f", "f", "g"}[rnd.IntN(4)], Args: "{}"})
	}
	return calls
}

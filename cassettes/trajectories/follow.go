package trajectories

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// OfConversation returns the messages between an agent and its model, joined from what
// [wire.Decode] returns, as a trajectory with the times of the messages. Its File and
// Line are the caller's to set.
func OfConversation(name string, c *wire.Conversation) *Trajectory {
	acted := *c
	acted.Messages = wire.Acted(c.Messages)
	r := ofConversation(name, &acted)
	r.Timed = true
	return r
}

// A Follower replays a trajectory that still grows under one variant, made [Offline]:
// each update replays only what is new. What it says after the last update is what
// [Play] says of the whole trajectory.
type Follower struct {
	config  loop.Config // of the variant
	world   *world      // nil = not begun
	machine *loop.Machine
	err     error
}

// Follow returns the follower of a variant. The error is that of its config.
func Follow(v scenarios.Variant) (*Follower, error) {
	f := &Follower{config: v.Config}
	if _, err := loop.New(Offline(f.config), loop.Task{}, nil); err != nil {
		return nil, fmt.Errorf("variant %s: %w", v.Name, err)
	}
	return f, nil
}

// Update replays what is new in a trajectory, which begins with what the last update
// had; if it does not, the replay begins anew. The follower keeps the trajectory. After
// a panic of the replay, Update returns it as an error and does nothing more.
func (f *Follower) Update(r *Trajectory) (err error) {
	defer func() {
		if p := recover(); p != nil {
			f.err = fmt.Errorf("panic: %v", p)
		}
		err = f.err
	}()
	switch {
	case f.err != nil || len(r.Runs) == 0 || len(r.Runs[0].Turns) == 0:
		return f.err
	case f.world == nil || !f.world.growsTo(r):
		f.begin(r)
	default:
		f.world.traj = r
		f.world.overtaken()
	}
	for f.err == nil && f.world.stop == nil {
		wake, armed := f.machine.Wake()
		in, end := f.world.Next(context.Background(), wake, armed)
		if end == io.EOF || in.Kind == loop.Cancel && !f.world.spokenBefore() {
			break
		}
		f.step(in)
	}
	return f.err
}

func (f *Follower) begin(r *Trajectory) {
	f.world = newWorld(r)
	cfg, _ := r.judged(f.config)
	if f.machine, f.err = loop.New(cfg, f.world.task(), f.world.tools()); f.err == nil {
		f.step(f.machine.Begin())
	}
}

func (f *Follower) step(in loop.Input) {
	f.world.Do(context.Background(), in, f.machine.Step(in))
}

// Stopped returns the outcome of the run that the variant stopped, and the calls that
// the session had asked for until then. The outcome is nil if no run was stopped so far.
func (f *Follower) Stopped() (out *loop.Outcome, asked int) {
	if f.world == nil || f.world.stop == nil {
		return nil, 0
	}
	for i := range f.world.outcomes {
		asked += f.world.outcomes[i].Asked
	}
	return f.world.stop, asked
}

// growsTo reports whether a trajectory begins with what the world has replayed. It
// compares the newest turn only, since a session grows at its end.
func (w *world) growsTo(r *Trajectory) bool {
	if w.run >= len(r.Runs) || w.turn > len(r.Runs[w.run].Turns) || r.Timed != w.traj.Timed || r.Runs[w.run].User != w.traj.Runs[w.run].User {
		return false
	}
	if w.turn > 0 {
		old, now := w.turns()[w.turn-1], r.Runs[w.run].Turns[w.turn-1]
		same := func(a, b *Call) bool { return a.Name == b.Name && a.Args == b.Args }
		if old.At != now.At || old.Text != now.Text || !slices.EqualFunc(old.Calls, now.Calls, same) {
			return false
		}
	}
	known := map[string]bool{"": true}
	for _, t := range w.tools() {
		known[t.Name] = true
	}
	all := true
	r.eachCall(func(c *Call) { all = all && known[strings.TrimSpace(c.Name)] })
	return all
}

// overtaken notes that a rule has stopped the newest run if turns have come after the
// halt, which was the end of the recording before.
func (w *world) overtaken() {
	if !w.halted || w.stop != nil || len(w.turns()) == w.turn {
		return
	}
	out := w.outcomes[len(w.outcomes)-1]
	w.outcomes = w.outcomes[:len(w.outcomes)-1]
	w.halt(out)
}

// spokenBefore reports whether the user spoke again, and was answered, while the run
// still waited: only then its end is sure.
func (w *world) spokenBefore() bool {
	return w.run+1 < len(w.traj.Runs) && len(w.traj.Runs[w.run+1].Turns) > 0
}

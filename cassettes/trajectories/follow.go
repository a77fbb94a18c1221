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

// A Growing is a conversation that goes on, as a trajectory that grows with it.
type Growing struct {
	builder builder
	user    bool // the user has spoken
}

// Grow returns what [OfConversation] returns, to which messages can be added.
func Grow(name string, c *wire.Conversation) *Growing {
	acted := *c
	acted.Messages = wire.Acted(c.Messages)
	g := &Growing{user: hasUser(c.Messages)}
	r := &Trajectory{Name: name, Model: c.Model, Timed: true}
	g.builder = builder{traj: r, said: map[*string][]string{}}
	g.builder.add(entire(&acted))
	return g
}

// Add adds messages, and reports whether it could: not if they change how the messages
// before them are read. Then the conversation has to grow anew.
func (g *Growing) Add(messages []wire.Message) bool {
	b := &g.builder
	if !g.user && hasUser(messages) || !b.whole(messages) {
		return false
	}
	clear(b.said)
	b.add(wire.Acted(messages))
	return true
}

// whole reports whether the last turn is whole, whatever messages follow: not if the
// assistant goes on with it, or went on after an answer of text alone.
func (b *builder) whole(messages []wire.Message) bool {
	if b.run == nil || b.lastTurn() == nil {
		return true
	}
	for i := range messages {
		switch messages[i].Role {
		case wire.User:
			return true
		case wire.Assistant:
			return false
		case wire.Tool:
			if len(b.lastTurn().Calls) > 0 {
				return true
			}
		}
	}
	return true
}

// Trajectory returns the trajectory. It grows in place.
func (g *Growing) Trajectory() *Trajectory {
	g.builder.traj.Missing = g.builder.missing()
	return g.builder.traj
}

// A Follower replays a trajectory that still grows under one variant, made [Offline]:
// each update replays only what is new. What it says after the last update is what
// [Play] says of the whole trajectory.
type Follower struct {
	config  loop.Config // of the variant
	world   *world      // nil = not begun
	machine *loop.Machine
	err     error

	tools     map[string]bool // that the machine knows, by name
	run, turn int             // the first turn whose tools it may not know
}

// Follow returns the follower of a variant. The error is that of its config.
func Follow(v scenarios.Variant) (*Follower, error) {
	f := &Follower{config: v.Config}
	if _, err := loop.New(Offline(f.config), loop.Task{}, nil); err != nil {
		return nil, fmt.Errorf("variant %s: %w", v.Name, err)
	}
	return f, nil
}

// New returns another follower of the same variant, which has replayed nothing.
func (f *Follower) New() *Follower { return &Follower{config: f.config} }

// Update replays what is new in a trajectory, which begins with what the last update
// had; if it does not, the replay begins anew. The follower keeps the trajectory, which
// may change only as a [Growing] does. After a panic of the replay, Update returns it as
// an error and does nothing more.
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
	case f.world == nil || !f.world.growsTo(r) || !f.knows(r):
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
	f.tools, f.run, f.turn = map[string]bool{"": true}, 0, 0
	tools := f.world.tools()
	for _, t := range tools {
		f.tools[t.Name] = true
	}
	if f.machine, f.err = loop.New(cfg, f.world.task(), tools); f.err == nil {
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

// knows reports whether the machine knows the tools of a trajectory that has grown.
func (f *Follower) knows(r *Trajectory) bool {
	if r != f.world.traj {
		f.run, f.turn = 0, 0
	}
	for ; f.run < len(r.Runs); f.run, f.turn = f.run+1, 0 {
		for turns := r.Runs[f.run].Turns; f.turn < len(turns); f.turn++ {
			for _, c := range turns[f.turn].Calls {
				if !f.tools[strings.TrimSpace(c.Name)] {
					return false
				}
			}
		}
		if f.run == len(r.Runs)-1 {
			break
		}
	}
	return true
}

// growsTo reports whether a trajectory begins with what the world has replayed. It
// compares the newest turn only, since a session grows at its end.
func (w *world) growsTo(r *Trajectory) bool {
	if r == w.traj {
		return true
	}
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
	return true
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

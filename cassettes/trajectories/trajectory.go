package trajectories

import (
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// A Trajectory is a session that some other agent recorded, in a neutral form:
// user messages, the turns that answer them, and the calls of each turn with
// their results.
//
// What does not fit that form is settled so. Assistant messages in a row are
// one turn, also where only a stray result stands between them, so that only
// the last turn of a run is without calls; user messages in a row are one
// message. An assistant message
// before the first user message is history, unless it has calls: then it
// begins a run without a user message. A user may call tools too (a simulated
// customer, say): these calls are not the agent's, so they and their results
// are left out, and a user message that says nothing beside begins no run.
// A result that answers no call is dropped and counted.
type Trajectory struct {
	Name  string // unique in its file: index=104
	File  string // the path that was read, with slashes
	Line  int    // where the record begins in its file, from 1
	Label Label
	Model string // "" = the source does not say

	System  string   // the system prompt, "" = none
	Leading []string // what the assistant said before the first user message
	Runs    []*Run   // at least one

	Messages int // messages in the source, of all roles
	Dropped  int // results that answer no call

	key string // the source's own name of it
}

// ID is the trajectory's full name, file/name: what results call its scenario.
func (r *Trajectory) ID() string { return r.File + "/" + r.Name }

// A Label says whether the recorded agent reached its goal, in the source's
// own judgement.
type Label string

// The labels.
const (
	Unlabelled Label = ""
	Success    Label = "success"
	Failure    Label = "failure"
)

// A Run is a user message and the turns that answer it. No turns: nobody did.
type Run struct {
	User  string
	Turns []*Turn
}

// A Turn is one reply of the recorded model, and the calls it asks for.
type Turn struct {
	Text  string
	Calls []*Call
	// Tokens that the model read and wrote for it, 0 = not recorded.
	TokensIn, TokensOut int64
}

// A Call is a call as it was recorded. Nothing in it can be trusted.
type Call struct {
	ID     string // "" = missing; two calls of a run may have the same
	Name   string
	Args   string  // JSON as text, "" = none; no JSON where the model wrote none
	Result *Result // nil = nobody answered
}

// A Result is the answer to a call.
type Result struct {
	Text string
	// Code is None where the source has no mark of its own for an error: then
	// Text alone tells.
	Code loop.Code
}

// assemble builds the session from its messages.
func (r *Trajectory) assemble(messages []wire.Message) {
	b := builder{traj: r, said: map[*string][]string{}}
	for _, m := range messages {
		switch m.Role {
		case wire.System:
			b.say(&r.System, m.Text)
			continue // it interrupts nobody
		case wire.User:
			b.user(m)
		case wire.Assistant:
			b.assistant(m)
		case wire.Tool:
			b.result(m)
		}
		b.last = m.Role
	}
	for to, texts := range b.said {
		*to = strings.Join(texts, "\n")
	}
	r.Messages = len(messages)
}

type builder struct {
	traj *Trajectory
	run  *Run                 // the last one, nil before the first user message
	last wire.Role            // who spoke last
	turn int                  // number of the message with calls that came last
	open []openCall           // unanswered calls, in order
	said map[*string][]string // what each text of the trajectory is made of
}

// An openCall waits for its result. The user's calls are among them, so that
// their results are not taken for answers to the agent.
type openCall struct {
	*Call
	turn int
}

// maxOpen bounds the calls that wait for a result. The oldest ones then stay
// unanswered.
const maxOpen = 1000

func (b *builder) user(m wire.Message) {
	b.await(m.Calls)
	if len(m.Calls) > 0 && m.Text == "" {
		return
	}
	if b.run != nil && len(b.run.Turns) == 0 {
		b.say(&b.run.User, m.Text)
		return
	}
	b.begin(m.Text)
}

// say adds a text below what is there.
func (b *builder) say(to *string, text string) {
	if text != "" {
		b.said[to] = append(b.said[to], text)
	}
}

func (b *builder) begin(text string) {
	b.run = &Run{}
	b.say(&b.run.User, text)
	b.traj.Runs = append(b.traj.Runs, b.run)
}

func (b *builder) assistant(m wire.Message) {
	if b.run == nil {
		if len(m.Calls) == 0 {
			b.traj.Leading = append(b.traj.Leading, m.Text)
			return
		}
		b.begin("")
	}
	t := b.lastTurn()
	if t == nil || len(t.Calls) > 0 && b.last != wire.Assistant {
		t = &Turn{}
		b.run.Turns = append(b.run.Turns, t)
	}
	b.say(&t.Text, m.Text)
	t.Calls = append(t.Calls, b.await(m.Calls)...)
	t.TokensIn += m.TokensIn
	t.TokensOut += m.TokensOut
}

func (b *builder) lastTurn() *Turn {
	if n := len(b.run.Turns); n > 0 {
		return b.run.Turns[n-1]
	}
	return nil
}

// await lets calls wait for their results, and gives them.
func (b *builder) await(asked []wire.Call) (calls []*Call) {
	if len(asked) == 0 {
		return nil
	}
	b.turn++
	for _, c := range asked {
		call := &Call{ID: c.ID, Name: c.Name, Args: c.Args}
		calls = append(calls, call)
		b.open = append(b.open, openCall{call, b.turn})
	}
	b.open = b.open[max(0, len(b.open)-maxOpen):]
	return calls
}

func (b *builder) result(m wire.Message) {
	i := b.answered(m.ID)
	if i < 0 {
		b.traj.Dropped++
		return
	}
	b.open[i].Result = &Result{Text: m.Text, Code: m.Code}
	b.open = append(b.open[:i], b.open[i+1:]...)
}

// answered finds the open call that a result with this id answers, -1 for none.
// Ids are reused in real trajectories, so it is the nearest: of the latest turn
// that has one, the first in order. Where either side has no id, order alone
// decides.
func (b *builder) answered(id string) int {
	nearest := func(fits func(openCall) bool) int {
		best := -1
		for i, o := range b.open {
			if fits(o) && (best < 0 || o.turn > b.open[best].turn) {
				best = i
			}
		}
		return best
	}
	if id == "" {
		return nearest(func(openCall) bool { return true })
	}
	if i := nearest(func(o openCall) bool { return o.ID == id }); i >= 0 {
		return i
	}
	return nearest(func(o openCall) bool { return o.ID == "" })
}

// eachCall visits all calls in order.
func (r *Trajectory) eachCall(visit func(*Call)) {
	for _, run := range r.Runs {
		for _, t := range run.Turns {
			for _, c := range t.Calls {
				visit(c)
			}
		}
	}
}

package trajectories

import (
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/shapes"
	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// A Trajectory is a session that some other agent recorded, in a neutral form:
// user messages, the turns that answer them, and the calls of each turn with
// their results.
//
// A source is brought into that form by these rules:
//
//   - Assistant messages in a row are one turn, even with a stray result between
//     them. So only the last turn of a run is without calls. In recorded traffic
//     each answer is a turn; an answer of text alone after which the agent went on
//     by itself has a call, of the action in its text or of continue.
//   - User messages in a row are one message.
//   - An assistant message before the first user message is history, unless it
//     has calls. Then it begins a run without a user message.
//   - A user may call tools, too, such as a simulated customer. Those calls are
//     not the agent's: they and their results are left out, and a user message
//     with nothing else does not begin a run.
//   - A result that answers no call is dropped and counted.
type Trajectory struct {
	Name  string // unique in its file: index=104
	File  string // the path that was read, with slashes
	Line  int    // on which the record begins in its file, from 1
	Label Label
	Model string // "" = unknown
	// Task is the source's name of what the run was asked to do, the same for all runs
	// of that task; "" = unknown. [Trajectory.TaskKey] falls back to what the user said.
	Task string
	// Corpus is the set of runs that it belongs to, as a file of shapes says; nil = none.
	Corpus *shapes.Corpus
	// Shape says that only the shape of the run is known: its tools, arguments, results
	// and texts are stand-ins. NamedTools says that the names of its tools are not.
	Shape, NamedTools bool
	// Timed says that its user messages and turns have times.
	Timed bool
	// Shared is how many turns at its beginning belong to another run, off which it
	// branches. They count with that run: the results of a replay leave them out. 0 = it
	// does not branch.
	Shared int

	System  string   // the system prompt, "" = none
	Leading []string // assistant messages before the first user message
	Runs    []*Run   // at least one

	Messages int // messages in the source, of all roles
	Dropped  int // results that answer no call
	Missing  int // calls without a result, although the run goes on
	Late     int // results that come after a later turn or user message
	Unread   []Unread

	key string // its name in the source, before it was made unique
}

// Unread counts blocks or fields of one kind that the reader does not know and that
// may hold calls or results.
type Unread struct {
	Kind  string // the type of a block, or the name of a field
	N     int
	First int // number of the first message with one, from 1
}

// ID returns the full name, file/name, which results have as their scenario.
func (r *Trajectory) ID() string { return r.File + "/" + r.Name }

// A Label says whether the source judged that the agent reached its goal.
type Label string

// The labels.
const (
	Unlabelled Label = ""
	Success    Label = "success"
	Failure    Label = "failure"
)

// A Run is a user message and the turns that answer it. It has no turns if the
// message was not answered.
type Run struct {
	User  string
	At    time.Duration // of the message, since the session began; see [Trajectory.Timed]
	Turns []*Turn
}

// A Turn is one reply of the recorded model and the calls that it asks for.
type Turn struct {
	Text  string
	Calls []*Call
	// Tokens that the model read and wrote, 0 = not recorded.
	TokensIn, TokensOut int64
	At                  time.Duration // since the session began; see [Trajectory.Timed]
}

// A Call is a call as it was recorded. None of its fields can be trusted.
type Call struct {
	ID     string // "" = missing; calls of a run may share one
	Name   string
	Args   string  // as the model wrote them: JSON or not, "" = none
	Result *Result // nil = not answered
}

// A Result is the answer to a call.
type Result struct {
	Text string
	// Code is None where the source does not mark the result as an error. Its
	// text may still say so.
	Code loop.Code
}

// assemble builds the session from its messages, by the rules of [Trajectory].
func (r *Trajectory) assemble(messages []wire.Message) {
	b := builder{traj: r, said: map[*string][]string{}}
	b.add(messages)
	r.Timed = timed(messages)
	r.Missing = b.missing()
}

// add builds on with messages.
func (b *builder) add(messages []wire.Message) {
	r := b.traj
	for i := range messages {
		m := &messages[i]
		r.unread(m.Unread, r.Messages+i+1)
		if m.Role == wire.Assistant && r.Model == "" {
			r.Model = m.Model
		}
		switch m.Role {
		case wire.System:
			b.say(&r.System, m.Text)
			continue // a system message does not end a turn
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
	r.Messages += len(messages)
}

// timed reports whether the messages of the user and the assistant have times that never
// go back.
func timed(messages []wire.Message) bool {
	var last time.Duration
	n := 0
	for i := range messages {
		m := &messages[i]
		if m.Role != wire.User && m.Role != wire.Assistant {
			continue
		}
		if !m.Timed || m.At < last {
			return false
		}
		last = m.At
		n++
	}
	return n > 0
}

// unread counts the unknown blocks and fields of a message.
func (r *Trajectory) unread(kinds []string, message int) {
	for _, kind := range kinds {
		at := slices.IndexFunc(r.Unread, func(u Unread) bool { return u.Kind == kind })
		if at < 0 {
			at = len(r.Unread)
			r.Unread = append(r.Unread, Unread{Kind: kind, First: message})
		}
		r.Unread[at].N++
	}
}

// unreadKinds names the unknown blocks and fields, for a message.
func (r *Trajectory) unreadKinds() string {
	if len(r.Unread) == 0 {
		return ""
	}
	var kinds []string
	for _, u := range r.Unread {
		kinds = append(kinds, text.Quote(u.Kind, 40))
	}
	return ", only blocks that are not known: " + strings.Join(kinds, ", ")
}

type builder struct {
	traj *Trajectory
	run  *Run                 // the last one, nil before the first user message
	last wire.Role            // of the last message
	turn int                  // number of the last message with calls
	open []openCall           // unanswered calls, in order
	said map[*string][]string // the pieces of each text, joined at the end
}

// An openCall waits for its result. The user's calls wait, too, so that their
// results are not taken for answers to the agent.
type openCall struct {
	*Call
	turn int
	of   *Turn // nil = a user's call
}

// maxOpen bounds the calls that wait for a result. With more, the oldest ones
// stay unanswered.
const maxOpen = 1000

func (b *builder) user(m *wire.Message) {
	b.await(m.Calls, nil)
	if len(m.Calls) > 0 && m.Text == "" {
		return
	}
	if b.run != nil && len(b.run.Turns) == 0 {
		b.say(&b.run.User, m.Text)
		return
	}
	b.begin(m.Text, m.At)
}

// say adds a line to a text.
func (b *builder) say(to *string, text string) {
	if text == "" {
		return
	}
	if b.said[to] == nil && *to != "" {
		b.said[to] = []string{*to} // it was joined before
	}
	b.said[to] = append(b.said[to], text)
}

func (b *builder) begin(text string, at time.Duration) {
	b.run = &Run{At: at}
	b.say(&b.run.User, text)
	b.traj.Runs = append(b.traj.Runs, b.run)
}

func (b *builder) assistant(m *wire.Message) {
	if b.run == nil {
		if len(m.Calls) == 0 {
			b.traj.Leading = append(b.traj.Leading, m.Text)
			return
		}
		b.begin("", m.At)
	}
	t := b.lastTurn()
	if t == nil || len(t.Calls) > 0 && (b.last != wire.Assistant || m.Reply) {
		t = &Turn{}
		b.run.Turns = append(b.run.Turns, t)
	}
	t.At = m.At
	b.say(&t.Text, m.Text)
	t.Calls = append(t.Calls, b.await(m.Calls, t)...)
	t.TokensIn += m.TokensIn
	t.TokensOut += m.TokensOut
}

func (b *builder) lastTurn() *Turn {
	if n := len(b.run.Turns); n > 0 {
		return b.run.Turns[n-1]
	}
	return nil
}

// missing counts the calls without a result after which the session goes on.
func (b *builder) missing() (n int) {
	var last *Turn
	if b.run != nil {
		last = b.lastTurn()
	}
	for _, run := range b.traj.Runs {
		for _, t := range run.Turns {
			for _, c := range t.Calls {
				if c.Result == nil && t != last {
					n++
				}
			}
		}
	}
	return n
}

// await returns the calls, which wait for their results from now on.
func (b *builder) await(asked []wire.Call, of *Turn) (calls []*Call) {
	if len(asked) == 0 {
		return nil
	}
	b.turn++
	for _, c := range asked {
		call := &Call{ID: c.ID, Name: c.Name, Args: c.Args}
		calls = append(calls, call)
		b.open = append(b.open, openCall{call, b.turn, of})
	}
	b.open = b.open[max(0, len(b.open)-maxOpen):]
	return calls
}

func (b *builder) result(m *wire.Message) {
	i := b.answered(m.ID)
	if i < 0 {
		b.traj.Dropped++
		return
	}
	if of := b.open[i].of; of != nil && of != b.lastTurn() {
		b.traj.Late++
	}
	b.open[i].Result = &Result{Text: m.Text, Code: m.Code}
	b.open = append(b.open[:i], b.open[i+1:]...)
}

// answered returns the open call that a result with this id answers, -1 for none.
// Real runs reuse ids, so the nearest call counts: the first of the latest turn
// that has one. Without an id on either side, order alone decides.
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

// Map returns a copy of the trajectory in which change has been applied to every
// text that somebody said, in order: equal calls stay equal, and calls that differ
// should stay so. Its names and its file stay as they are.
func (r *Trajectory) Map(change func(string) string) *Trajectory {
	out := *r
	out.System = change(r.System)
	out.Leading = slices.Clone(r.Leading)
	for i, said := range out.Leading {
		out.Leading[i] = change(said)
	}
	out.Runs = make([]*Run, len(r.Runs))
	for i, run := range r.Runs {
		mapped := &Run{User: change(run.User), At: run.At}
		for _, turn := range run.Turns {
			t := *turn
			t.Text, t.Calls = change(turn.Text), nil
			for _, call := range turn.Calls {
				c := *call
				c.ID, c.Name, c.Args = change(call.ID), change(call.Name), change(call.Args)
				if call.Result != nil {
					c.Result = &Result{Text: change(call.Result.Text), Code: call.Result.Code}
				}
				t.Calls = append(t.Calls, &c)
			}
			mapped.Turns = append(mapped.Turns, &t)
		}
		out.Runs[i] = mapped
	}
	return &out
}

// turns counts the turns of all runs.
func (r *Trajectory) turns() (n int) {
	for _, run := range r.Runs {
		n += len(run.Turns)
	}
	return n
}

// beginning returns the turns that the trajectory shares with the run off which it
// branches, the last one without the results of its calls: what follows them differs.
func (r *Trajectory) beginning() *Trajectory {
	out := *r
	out.Runs, out.Shared = nil, 0
	for left := r.Shared; left > 0 && len(out.Runs) < len(r.Runs); {
		run := *r.Runs[len(out.Runs)]
		run.Turns = slices.Clone(run.Turns[:min(left, len(run.Turns))])
		if left -= len(run.Turns); left == 0 {
			turn := *run.Turns[len(run.Turns)-1]
			turn.Calls = slices.Clone(turn.Calls)
			for i, c := range turn.Calls {
				turn.Calls[i] = &Call{ID: c.ID, Name: c.Name, Args: c.Args}
			}
			run.Turns[len(run.Turns)-1] = &turn
		}
		out.Runs = append(out.Runs, &run)
	}
	return &out
}

// OwnCalls counts the recorded calls, without those of turns that belong to another
// run ([Trajectory.Shared]).
func (r *Trajectory) OwnCalls() (n int) {
	left := r.Shared
	for _, run := range r.Runs {
		for _, t := range run.Turns {
			if left--; left < 0 {
				n += len(t.Calls)
			}
		}
	}
	return n
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

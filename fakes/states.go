package fakes

import "github.com/agentbench-go/agentbench/loop"

// maxWeight keeps the sum of a state's weights below 2^63.
const maxWeight = 1_000_000_000_000

// A state is a sequence of steps. After its last step the next state is drawn.
type state struct {
	name  string
	steps []int        // in Script.Model
	next  []transition // none = the state itself
	total uint64       // of the weights
}

type transition struct {
	to     int // in program.states
	weight uint64
}

// enter adds step i to its state.
func (r *reader) enter(s *Step, i int) {
	at := r.state(s.State)
	if at < 0 {
		at = len(r.states)
		r.states = append(r.states, state{name: s.State})
	}
	r.states[at].steps = append(r.states[at].steps, i)
}

// state returns the index of the state with that name, or -1 if there is none.
func (p *program) state(name string) int {
	for i := range p.states {
		if p.states[i].name == name {
			return i
		}
	}
	return -1
}

// link reads the transitions between the states, and reports the steps whose state
// or next is invalid.
func (r *reader) link(model []Step) {
	for i := range model {
		s := &model[i]
		r.at = place{list: "model", i: i}
		switch at := r.state(s.State); {
		case s.When != WhenAlways && s.State != "":
			r.wrong("state", "cannot be combined with when: a step is for a state or for a condition")
		case len(s.Next) == 0:
		case s.State == "" || s.When != WhenAlways:
			r.wrong("next", "needs a state")
		case i != r.states[at].steps[len(r.states[at].steps)-1]:
			r.wrong("next", "must be on the last step of the state %s", quoted(s.State))
		default:
			r.follow(&r.states[at], s.Next)
		}
	}
	r.random = r.random || len(r.states) > 0 && r.draws()
}

func (r *reader) follow(s *state, next []Transition) {
	for j, t := range next {
		r.at.sub, r.at.j = "next", j
		to := r.state(t.State)
		switch {
		case to < 0:
			r.wrong("state", "must be the state of a step, not %s", quoted(t.State))
		case t.Weight < 1 || t.Weight > maxWeight:
			r.wrong("weight", "must be from 1 to %d, not %d", int64(maxWeight), t.Weight)
		default:
			s.next = append(s.next, transition{to, uint64(t.Weight)})
			s.total += uint64(t.Weight)
		}
	}
}

// draws reports whether any state has more than one possible successor.
func (p *program) draws() bool {
	for i := range p.states {
		if len(p.states[i].next) > 1 {
			return true
		}
	}
	return false
}

// inState returns the step for a request after those that the plain steps cover.
// It walks from the first state each time, so it needs no memory of the session.
func (p *seeded) inState(request int) *step {
	s, last := &p.states[0], p.covered
	for {
		for _, i := range s.steps {
			if last = advance(last, p.steps[i].left); request <= last {
				return &p.steps[i]
			}
		}
		if len(s.next) > 0 {
			s = &p.states[s.draw(p.key.ref(loop.Ref{Kind: loop.RefModel, N: last + 1}).of(forState))]
		}
	}
}

// draw picks the state that follows.
func (s *state) draw(k key) int {
	at := k.below(s.total)
	for _, t := range s.next {
		if at < t.weight {
			return t.to
		}
		at -= t.weight
	}
	return s.next[0].to // not reached: at is below the total
}

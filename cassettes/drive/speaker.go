package drive

import (
	"context"
	"errors"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/tape"
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A speaker answers the model requests of a simulated world with a real model.
type speaker struct {
	model     loop.Model
	transport *tape.Transport
	clock     *clock            // nil if everything is played
	piece     func(text string) // gets each piece of text as it arrives; may be nil
}

// speak is a [fakes.Speaker].
func (s *speaker) speak(ctx context.Context, at time.Duration, req loop.ModelRequest) (fakes.Said, error) {
	watch, err := s.clock.begin(ctx, at)
	if err != nil {
		return fakes.Said{}, err
	}
	defer watch.end()
	var said fakes.Said
	reply, err := s.model.Reply(watch.ctx, req, func(text string) {
		watch.heard()
		said.Deltas = append(said.Deltas, fakes.Delta{At: s.transport.Elapsed(), Text: text})
		if s.piece != nil {
			s.piece(text)
		}
	})
	said.After = s.transport.Elapsed()
	if err != nil {
		return said, s.failed(ctx, &said, err)
	}
	said.Text, said.Calls, said.Finish = reply.Text, reply.Calls, reply.Finish
	said.TokensIn, said.TokensOut, said.Cost = reply.TokensIn, reply.TokensOut, reply.Cost
	return said, nil
}

// failed turns an error of the model into a failure that the loop sees, in said. It
// returns an error if the session must end instead: if ctx is done, or if a request
// is not on the cassette.
func (s *speaker) failed(ctx context.Context, said *fakes.Said, err error) error {
	var miss *tape.Miss
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &miss):
		return miss
	case errors.Is(err, tape.ErrGivenUp), errors.Is(err, errGivenUp):
		said.Failure = &fakes.ModelFailure{Hang: true}
		return nil
	}
	failure := &fakes.ModelFailure{}
	said.Failure, said.Reason = failure, err.Error()
	var lost *tape.LostError
	var answered *loop.ModelError
	switch {
	case errors.As(err, &lost): // its text does not have the address
		said.Reason = lost.Error()
	case errors.As(err, &answered):
		failure.Status, failure.RetryAfter, said.Reason = answered.Status, answered.RetryAfter, answered.Text
	}
	return nil
}

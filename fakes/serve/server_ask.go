package serve

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

// ask answers a request to a model.
func (x *exchange) ask() {
	p, refused := x.plan()
	if refused != nil {
		x.refuse(refused)
		return
	}
	x.begin()
	x.play(p)
}

// plan reads a request and makes the answer to it.
func (x *exchange) plan() (*plan, *refusal) {
	if n := x.r.ContentLength; n < 0 || n > smallBody {
		select {
		case x.large <- struct{}{}:
			defer func() { <-x.large }()
		case <-x.r.Context().Done():
			return nil, &refusal{http.StatusServiceUnavailable, "gone", "the client went away"}
		}
	}
	body := x.bodies.Get().(*bytes.Buffer)
	defer x.release(body)
	if refused := x.read(body); refused != nil {
		return nil, refused
	}
	v, err := parse(body.Bytes())
	if err != nil {
		return nil, badRequest(err)
	}
	q, err := x.api.read(v)
	if err != nil {
		return nil, badRequest(err)
	}
	if x.scene == nil {
		if x.scene = x.scenes[q.model]; x.scene == nil {
			return nil, &refusal{http.StatusNotFound, "unknown_scenario",
				fmt.Sprintf("%v: ask under /run/SUITE/SCENARIO/SEED/v1, or name the scenario as the model", x.noScenario(q.model))}
		}
	}
	return x.answer(q, body.Bytes())
}

func badRequest(err error) *refusal {
	return &refusal{http.StatusBadRequest, "bad_request", err.Error()}
}

// read reads the body of a request.
func (x *exchange) read(b *bytes.Buffer) *refusal {
	rc := http.NewResponseController(x.w)
	rc.SetReadDeadline(x.came.Add(bodyTime)) // where there is no such thing, nobody waits either
	defer rc.SetReadDeadline(time.Time{})
	b.Reset()
	if n := x.r.ContentLength; n > 0 && n <= maxBody {
		b.Grow(int(n) + bytes.MinRead)
	}
	_, err := b.ReadFrom(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large):
		return &refusal{http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body has more than %d bytes", maxBody)}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{http.StatusRequestTimeout, "too_slow", fmt.Sprintf("the body did not come within %v", bodyTime)}
	}
	return &refusal{http.StatusBadRequest, "bad_request", "the body broke off"}
}

// release gives a buffer back.
func (x *exchange) release(b *bytes.Buffer) {
	if b.Cap() <= 1<<20 {
		x.bodies.Put(b)
	}
}

// answer finds out what the script says to a question.
func (x *exchange) answer(q *question, body []byte) (*plan, *refusal) {
	at := x.scene.find(q, x.seed)
	earlier, key := 0, uint64(0)
	if at.counted() {
		key = x.tries.key(x.scene.name, x.seed, x.api.name(), x.r.Header, body)
		earlier = x.tries.add(key)
	}
	said, try, err := at.answer(earlier)
	e := x.entry
	e.Scenario, e.Seed, e.Request, e.Messages, e.Stream = x.scene.name, x.seed, at.n, len(q.history), q.stream
	e.Problems = problems(q.history)
	if at.step < 0 {
		return nil, &refusal{http.StatusUnprocessableEntity, "script_ran_dry", at.missed()}
	}
	e.Step, e.Try = stepName(at.step), try
	if err != nil {
		return nil, &refusal{http.StatusUnprocessableEntity, "script_ran_dry", fmt.Sprintf("%s: %v", stepName(at.step), err)}
	}
	if key != 0 && said.Failure == nil && !silent(&said) {
		x.tries.forget(key)
	}
	step := &x.scene.script.Model[at.step]
	return x.prepare(&said, &reply{n: at.n, model: q.model, text: said.Text, calls: said.Calls, finish: said.Finish,
		in: step.TokensIn, out: step.TokensOut, usage: q.usage, of: said.Of, wire: step.Wire}, q.stream), nil
}

// problems are the protocol faults of a history.
func problems(history []loop.Message) []string {
	found := audit.CheckHistory(history)
	if len(found) > maxTold {
		found = append(found[:maxTold], fmt.Sprintf("and %d more", len(found)-maxTold))
	}
	for i := range found {
		found[i] = text.Clip(text.Line(found[i]), 300)
	}
	return found
}

package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

// ask answers a request to the model.
func (x *exchange) ask() {
	p, refused := x.plan()
	if refused != nil {
		x.refuse(refused)
		return
	}
	x.begin()
	if p.refused { // only now it has an id
		p.out.b = x.signed(p.out.b)
		p.parts[len(p.parts)-1].to = len(p.out.b)
	}
	x.play(p)
}

// plan reads a request and returns the plan of its answer.
func (x *exchange) plan() (*plan, *refusal) {
	body := x.bodies.Get().(*bytes.Buffer)
	defer x.release(body)
	if refused := x.read(body); refused != nil {
		return nil, refused
	}
	v, err := parse(body.Bytes())
	if err != nil {
		return nil, badRequest(err)
	}
	if g, ok := x.api.(gemini); ok {
		if err := geminiArray(g, x.r.URL.Query()); err != nil {
			return nil, badRequest(err)
		}
	}
	q, err := x.api.read(v)
	if err != nil {
		return nil, badRequest(err)
	}
	if refused := x.choose(q); refused != nil {
		return nil, refused
	}
	return x.answer(q, body.Bytes())
}

// choose sets the scenario that the request names as its model, unless its path did.
func (x *exchange) choose(q *question) *refusal {
	if x.scene == nil {
		x.scene = x.scenes[q.model]
	}
	if x.scene == nil {
		return &refusal{http.StatusNotFound, "unknown_scenario",
			fmt.Sprintf("%v: ask under /run/SUITE/SCENARIO/SEED/v1, or name the scenario as the model", x.noScenario(q.model))}
	}
	return nil
}

func badRequest(err error) *refusal {
	code := "bad_request"
	var body *bodyError
	if errors.As(err, &body) {
		code = body.code()
	}
	return &refusal{http.StatusBadRequest, code, err.Error()}
}

// read reads the body of a request. It does not read a body whose announced length
// is too large. A body of more than smallBody bytes waits for one of the places for
// large bodies before the rest is read, so that slow clients never hold up small
// bodies.
func (x *exchange) read(b *bytes.Buffer) *refusal {
	b.Reset()
	length := x.r.ContentLength
	if length > maxBody {
		return tooLarge
	}
	rc := http.NewResponseController(x.w)
	rc.SetReadDeadline(x.came.Add(bodyTime)) // a transport without deadlines does not wait either
	defer rc.SetReadDeadline(time.Time{})
	in := http.MaxBytesReader(x.w, x.r.Body, maxBody)
	if length > 0 {
		b.Grow(int(min(length, smallBody)) + bytes.MinRead)
	}
	_, err := io.CopyN(b, in, smallBody+1)
	if err == nil {
		select {
		case x.large <- struct{}{}:
			x.holds = true
		case <-x.r.Context().Done():
			return &refusal{http.StatusServiceUnavailable, "gone", "the client left"}
		}
		if length > 0 {
			b.Grow(int(length) - b.Len() + bytes.MinRead)
		}
		rc.SetReadDeadline(time.Now().Add(largeTime))
		_, err = b.ReadFrom(in)
	}
	var large *http.MaxBytesError
	switch {
	case err == nil, err == io.EOF:
		return nil
	case errors.As(err, &large):
		return tooLarge
	case errors.Is(err, os.ErrDeadlineExceeded):
		return &refusal{http.StatusRequestTimeout, "too_slow", fmt.Sprintf("the body did not come within %v, or its part after the first %d bytes within %v", bodyTime, smallBody, largeTime)}
	}
	return &refusal{http.StatusBadRequest, "bad_request", "the body is incomplete"}
}

var tooLarge = &refusal{http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body has more than %d bytes", maxBody)}

// release returns a buffer to its pool, and frees the place of a large body.
func (x *exchange) release(b *bytes.Buffer) {
	if x.holds {
		<-x.large
	}
	if b.Cap() <= 1<<20 {
		x.bodies.Put(b)
	}
}

// answer returns the plan of the script's answer to a question.
func (x *exchange) answer(q *question, body []byte) (*plan, *refusal) {
	offers := x.scene.offers(q, x.Server.server)
	q.named(offers)
	desk := x.desk(x.scene, x.seed)
	at := x.scene.find(q, x.seed, desk)
	if x.journal.observe != nil {
		x.seen.Tools, x.seen.Scripted, x.seen.History = q.names(), x.scene.scripted(q, offers), q.history
	}
	e := x.entry
	e.Scenario, e.Seed, e.Messages, e.Stream = x.scene.name, x.seed, len(q.history), q.stream
	if at.aside(q) {
		return x.aside(q, at, body), nil
	}
	if e.Request = at.n; at.n == 1 && desk != nil {
		desk.Begin()
	}
	found := slices.Concat(q.faults, audit.CheckHistory(at.history))
	if e.Problems = shown(slices.Concat(found, q.odd)); x.strict && len(found) > 0 {
		return nil, &refusal{http.StatusBadRequest, "bad_request", e.Problems[0]}
	}
	if w := x.scene.script.Window; w > 0 && estimate(body) > int64(w) {
		e.Fault = "overflow"
		return x.overflow(w, estimate(body)), nil
	}
	earlier, key := 0, uint64(0)
	if at.counted() {
		key = x.tries.key(x.scene.name, x.seed, x.api.name(), x.r.Header, body)
		if early := x.tries.tooEarly(key, x.came); early != "" {
			e.Problems = append(e.Problems, early)
		}
		earlier = x.tries.add(key)
	}
	said, try, err := at.answer(earlier)
	e.Request = at.n // later than it was if empty replies came before
	if at.step < 0 {
		return nil, &refusal{http.StatusUnprocessableEntity, "script_ran_dry", at.missed()}
	}
	e.Step, e.Try = stepName(at.step), try
	if err != nil {
		return nil, &refusal{http.StatusUnprocessableEntity, "script_ran_dry", fmt.Sprintf("%s: %v", stepName(at.step), err)}
	}
	if f := said.Failure; f != nil && f.RetryAfter > 0 && f.Wire != fakes.WireErrorEvent && refusing(f, q.stream) {
		x.tries.hold(key, rest{x.came.Add(x.real(said.After)), x.real(f.RetryAfter)})
	}
	if key != 0 && said.Failure == nil && !at.empty(&said) {
		x.tries.forget(key)
	}
	for i := range said.Calls {
		said.Calls[i].ID = at.model.PlaceID(said.Calls[i].ID, at.n, at.asked)
	}
	if x.own != nil {
		x.own(q.specs(), said.Calls)
	}
	calls := make([]loop.Call, len(said.Calls))
	for i, c := range said.Calls {
		calls[i] = loop.Call{N: at.asked + i + 1, ID: c.ID, Name: c.Name, Args: c.Args}
	}
	if desk != nil && complete(&said) {
		desk.Asked(at.n, calls)
	}
	spaces, refused := x.scene.wireNames(said.Calls, offers)
	if refused != nil {
		return nil, refused
	}
	step := &x.scene.script.Model[at.step]
	r := &reply{n: at.n, created: x.came.Unix(), model: q.model, text: said.Text, calls: said.Calls, spaces: spaces, finish: said.Finish,
		in: step.TokensIn, out: step.TokensOut, usage: q.usage, of: said.Of, wire: step.Wire}
	if r.in == 0 && r.out == 0 && !x.exact {
		r.in, r.out = estimate(body), r.tokens()
	}
	if x.journal.observe != nil {
		x.saw(&said, r, calls)
	}
	if said.Failure == nil {
		e.Undeclared = q.undeclared(r.calls)
	}
	return x.prepare(&said, r, q.stream), nil
}

// undeclared returns the names of the calls that the request offers no tool for.
func (q *question) undeclared(calls []loop.AskedCall) (names []string) {
	for i := range calls {
		name := calls[i].Name
		if !q.declares(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// shown returns problems as the journal shows them.
func shown(found []string) []string {
	if len(found) > maxProblems {
		found = append(found[:maxProblems], fmt.Sprintf("and %d more", len(found)-maxProblems))
	}
	for i := range found {
		found[i] = text.Clip(text.Line(found[i]), 300)
	}
	return found
}

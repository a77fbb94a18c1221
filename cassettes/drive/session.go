package drive

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/cassettes/tape"
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/goccy/go-yaml"
)

// A Redactor redacts secrets and personal data in one conversation.
type Redactor interface {
	tape.Redactor
	// JSON redacts the texts of a JSON document.
	JSON(text string) string
	// Count returns the number of redacted values by kind.
	Count() map[string]int
}

// A Session is a conversation with a real model in the world of a scenario. The real
// model replaces the steps of the scenario's model.
type Session struct {
	Scenario *scenarios.Scenario // runs under its own Config
	Seed     uint64
	Settings endpoint.Settings
	Connect  endpoint.Connect
	// Redactor returns a new redactor. Redact are its options, for the head.
	Redactor func() Redactor
	Redact   json.RawMessage
	// People answer where the scenario's user does not. With a FollowUp the session
	// goes on until FollowUp returns false.
	People loop.LiveOptions
	// Watch gets each record of the trace, and Piece each piece of a reply's text as
	// it arrives; both may be nil.
	Watch func(loop.Record)
	Piece func(text string)
}

// ErrNoAnswer is the error of a session in which the endpoint never answered, so
// that there is nothing to record.
var ErrNoAnswer = errors.New("there is no answer")

// Played is the result of a session.
type Played struct {
	Runs      []loop.Outcome
	Trace     loop.Trace
	Idle      []fakes.Fault // faults of the scenario that never fired
	Words     []Word        // the answers of people
	Leftovers error         // names the interactions of the cassette that were not played
	// Record sets these: the number of requests that reached the endpoint (0 if all
	// were played), and the number of redacted values by kind.
	Recorded int
	Redacted map[string]int
}

// Play runs the session. transport carries its requests. An error means that the
// session broke off; Play then also returns the result so far, unless the session
// could not start.
func (s *Session) Play(ctx context.Context, transport *tape.Transport) (*Played, error) {
	model, err := s.Connect(s.Settings, transport)
	if err != nil {
		return nil, err
	}
	p := &Played{}
	speaker := &speaker{model: model, transport: transport, piece: s.Piece}
	if transport.Live() {
		speaker.clock = &clock{timeouts: s.Scenario.Config.Time}
	}
	script := s.Scenario.Script
	w := fakes.NewWorld(&script, s.Seed)
	w.Speaker, w.People = speaker.speak, noting(s.People, &p.Words)
	m, err := loop.New(s.Scenario.Config, script.LoopTask(s.Seed), script.Specs())
	if err != nil {
		return nil, err
	}
	w.Config = &s.Scenario.Config
	world := &watched{loop.Recording(w, &p.Trace), p, s.Watch}
	w.SubSteps(func(loop.Path, loop.Input, []loop.Effect) { world.show() })
	last, err := loop.Run(ctx, m, world)
	p.Runs, p.Idle, p.Leftovers = w.Outcomes(), w.NotFired(), transport.Leftovers()
	if err != nil {
		p.Runs = append(p.Runs, last)
	}
	return p, err
}

// watched calls watch with each record once it is in the trace.
type watched struct {
	loop.World
	played *Played
	watch  func(loop.Record)
}

func (w *watched) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	w.World.Do(ctx, in, effects)
	w.show()
}

// show calls watch with the last record.
func (w *watched) show() {
	if t := w.played.Trace; w.watch != nil && len(t) > 0 {
		w.watch(t[len(t)-1])
	}
}

// Record runs the session, using the network as mode says, and writes the cassette
// at path. tool is the version of the recorder and now the current time. In the mode
// [tape.New] it drops the interactions that the session no longer asks for.
//
// If no run got an answer, Record writes nothing and returns ErrNoAnswer. If the
// session breaks off, Record writes the runs that ended, if there are any, and
// returns the error.
func (s *Session) Record(ctx context.Context, path string, mode tape.Mode, network http.RoundTripper, tool string, now time.Time) (*Played, error) {
	redactor := s.Redactor()
	transport, err := tape.Begin(path, mode, network, redactor)
	if err != nil {
		return nil, err
	}
	whole := *s
	var mark, words int
	var p *Played
	if follow := s.People.FollowUp; follow != nil {
		whole.People.FollowUp = func(ctx context.Context, last loop.Outcome) (string, bool) {
			mark = transport.Recorded()
			text, ok := follow(ctx, last)
			words++
			return text, ok
		}
	}
	p, err = whole.Play(ctx, transport)
	switch {
	case err != nil && (p == nil || mark == 0):
		return p, err
	case !slices.ContainsFunc(p.Runs, func(r loop.Outcome) bool { return r.End != loop.ModelFailed || r.Turns > 0 }):
		return p, ErrNoAnswer
	}
	dropped := 0
	switch {
	case err != nil:
		transport.Forget(mark)
		p.Words = ended(p.Words, words)
	case mode == tape.New:
		dropped = transport.Prune()
	}
	if transport.Recorded()+dropped == 0 {
		return p, err
	}
	head, herr := s.head(redactor, p.Words, tool, now)
	if herr != nil {
		return p, errors.Join(err, herr)
	}
	p.Recorded, p.Redacted = transport.Recorded(), redactor.Count()
	return p, errors.Join(err, transport.Save(head))
}

// ended cuts words at the n-th follow-up, which becomes the end of the session.
func ended(words []Word, n int) []Word {
	for i, w := range words {
		if w.To == toNext {
			if n--; n == 0 {
				return append(words[:i:i], Word{To: toNext})
			}
		}
	}
	return words
}

// World returns the scenario as a head has it: its file without the model's steps,
// written as JSON, so that it stays valid when texts in it are redacted. The redactors
// of the session and of the head get it as the author's own texts.
func World(s *scenarios.Scenario) (json.RawMessage, error) {
	scenario := *s
	scenario.Script.Model = []fakes.Step{{Text: "What the cassette says."}}
	world, err := yaml.YAMLToJSON(scenario.YAML(""))
	return bytes.TrimSpace(world), err
}

// head returns the redacted head of the session's cassette.
func (s *Session) head(r Redactor, words []Word, tool string, now time.Time) ([]byte, error) {
	world, err := World(s.Scenario)
	if err != nil {
		return nil, err
	}
	h := Head{Format: HeadFormat, Tool: tool, Recorded: now.UTC().Truncate(time.Second), Scenario: world, Suite: s.Scenario.Suite,
		Variant: s.Scenario.Variant.Name, Seed: s.Seed, Model: s.Settings.WithDefaults(), Redact: s.Redact, Words: words}
	h.Model.BaseURL = withoutHost(h.Model.BaseURL)
	prices := s.Settings.Prices
	if prices == nil {
		prices = endpoint.DefaultPrices()
	}
	if price, known := prices.Find(s.Settings.Model); known {
		h.Price = &price
	}
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	return []byte(r.JSON(string(text))), nil
}

// withoutHost replaces the host of a base URL and keeps its path.
func withoutHost(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "http://recorded.invalid/v1"
	}
	return "http://recorded.invalid" + u.EscapedPath()
}

// Of returns the session of a cassette, for Play. The caller sets Connect and
// Redactor. lost gets an error if a person is asked something that the recording
// does not have.
func (h *Head) Of(lost func(error)) (*Session, error) {
	scenario, err := h.scenario()
	if err != nil {
		return nil, err
	}
	return &Session{Scenario: scenario, Seed: h.Seed, Settings: h.settings(), Redact: h.Redact, People: repeating(h.Words, lost)}, nil
}

// Speaker returns the function that answers the model requests of a world. transport
// plays the cassette with this head.
func (h *Head) Speaker(connect endpoint.Connect, transport *tape.Transport) (fakes.Speaker, error) {
	settings := h.settings()
	model, err := connect(settings, transport)
	if err != nil {
		return nil, err
	}
	return (&speaker{model: model, transport: transport}).speak, nil
}

// settings returns the settings of the recorded model, with its price.
func (h *Head) settings() endpoint.Settings {
	s := h.Model
	s.Prices = endpoint.Prices{}
	if h.Price != nil {
		s.Prices[s.Model] = *h.Price
	}
	return s
}

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

// A Redactor takes secrets and personal data out of what is written. One is for
// one conversation.
type Redactor interface {
	tape.Redactor
	// JSON redacts the texts of a JSON document.
	JSON(text string) string
	// Count is the number of values that were taken out, by kind.
	Count() map[string]int
}

// A Session is a conversation with a real model: the world of a scenario, whose
// model's steps are not used, and the settings of the model that takes their
// place.
type Session struct {
	Scenario *scenarios.Scenario // runs under its own Config
	Seed     uint64
	Settings endpoint.Settings
	Connect  endpoint.Connect
	// Redactor makes the redactor of a conversation, and Redact says how, for the
	// head.
	Redactor func() Redactor
	Redact   json.RawMessage
	// People say what the scenario's user does not. With a FollowUp the session
	// goes on until it says that there is nothing more.
	People loop.LiveOptions
	// Watch is told each record of the trace, and Piece each piece of a reply's
	// text as it comes; nil = nobody is told.
	Watch func(loop.Record)
	Piece func(text string)
}

// ErrNoAnswer says that the endpoint never answered, so that there is nothing to
// record.
var ErrNoAnswer = errors.New("there is no answer")

// Played is what came of a session.
type Played struct {
	Runs      []loop.Outcome
	Trace     loop.Trace
	Idle      []fakes.Fault // faults of the scenario that struck nothing
	Words     []Word        // what people said
	Leftovers error         // what is on the cassette and was not asked for
	// Of a Record: the requests that reached the endpoint, 0 where all was played,
	// and the number of values that were taken out, by kind.
	Recorded int
	Redacted map[string]int
}

// Play drives the session. transport carries its requests. An error means that
// the session broke off; what came of it until then is given all the same.
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
	last, err := loop.Run(ctx, m, &watched{loop.Recording(w, &p.Trace), p, s.Watch})
	p.Runs, p.Idle, p.Leftovers = w.Outcomes(), w.NotFired(), transport.Leftovers()
	if err != nil {
		p.Runs = append(p.Runs, last)
	}
	return p, err
}

// watched tells each record once it is in the trace.
type watched struct {
	loop.World
	played *Played
	watch  func(loop.Record)
}

func (w *watched) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	w.World.Do(ctx, in, effects)
	if t := w.played.Trace; w.watch != nil && len(t) > 0 {
		w.watch(t[len(t)-1])
	}
}

// Record drives the session with the network, as far as mode says, and writes
// the cassette at path. tool is the version that records and now the time. What
// the session asks no more is dropped from a cassette that new requests are
// recorded on, so that it holds this session and nothing else.
//
// Where no run got an answer nothing is written, and the error is ErrNoAnswer. A
// session that breaks off is kept as far as its last run that ended, where
// there is one; the error is then that of the break all the same.
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

// ended cuts words to the n-th follow-up, which becomes the end of the session.
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

// World returns what a head says of a scenario: its file as JSON, in which a text
// stays one whatever is taken out of it, without the model's steps. A redactor for
// a session gets it as the author's own words, and so does that of the head.
func World(s *scenarios.Scenario) (json.RawMessage, error) {
	scenario := *s
	scenario.Script.Model = []fakes.Step{{Text: "What the cassette says."}}
	world, err := yaml.YAMLToJSON(scenario.YAML(""))
	return bytes.TrimSpace(world), err
}

// head writes the head of the session's cassette.
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

// withoutHost keeps the path of a base URL.
func withoutHost(base string) string {
	u, err := url.Parse(base)
	if err != nil {
		return "http://recorded.invalid/v1"
	}
	return "http://recorded.invalid" + u.EscapedPath()
}

// Of gives the session that a cassette holds, as Play takes it, without a
// connection and a redactor. lost is told when somebody is asked what nobody
// was asked in the recording.
func (h *Head) Of(lost func(error)) (*Session, error) {
	scenario, err := h.scenario()
	if err != nil {
		return nil, err
	}
	return &Session{Scenario: scenario, Seed: h.Seed, Settings: h.settings(), Redact: h.Redact, People: repeating(h.Words, lost)}, nil
}

// Speaker gives what answers a world's model requests from a cassette, whose head
// this is.
func (h *Head) Speaker(connect endpoint.Connect, transport *tape.Transport) (fakes.Speaker, error) {
	settings := h.settings()
	model, err := connect(settings, transport)
	if err != nil {
		return nil, err
	}
	return (&speaker{model: model, transport: transport}).speak, nil
}

// settings are those that were recorded with.
func (h *Head) settings() endpoint.Settings {
	s := h.Model
	s.Prices = endpoint.Prices{}
	if h.Price != nil {
		s.Prices[s.Model] = *h.Price
	}
	return s
}

package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A served world checks that each answer of the model in a simulated run equals the
// answer of a server to the same request, which sees only the history.
type served struct {
	*fakes.World
	t      *testing.T
	server *Server
	path   string
	client client
	stream bool
	wants  map[loop.Ref]loop.Input // what the server said
	ids    map[string]string       // the server's ids, by the world's
	same   int
	dry    *refusal                        // that the script had nothing to say
	text   bool                            // there was a reply without calls
	hides  func(loop.Message) loop.Message // what the client makes of a result; nil = nothing
	blind  bool                            // something happened that no history shows
}

func (w *served) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	if server, ok := w.wants[in.Ref]; ok && (in.Kind == loop.ModelReply || in.Kind == loop.ModelFailure) {
		world := loop.Input{Kind: in.Kind, Ref: in.Ref, Text: in.Text, Calls: in.Calls, Finish: in.Finish, Status: in.Status, RetryAfter: in.RetryAfter}
		w.compare(server, world)
	}
	w.World.Do(ctx, in, effects)
	w.text = w.text || in.Kind == loop.ModelReply && len(in.Calls) == 0 && !blank(in.Text)
	for i := range effects {
		w.see(&effects[i])
	}
}

// see asks the server what the world is asked. No history shows that the loop
// asked for a summary, which of its replies without calls it dropped, and that it
// takes one more reply but no calls.
func (w *served) see(e *loop.Effect) {
	switch {
	case e.Kind == loop.Drop && e.Ref.Kind == loop.RefModel && w.text, e.Kind == loop.AskModel && e.For == loop.ForSummary:
		w.blind = true
	case e.Kind == loop.AskModel && e.For != loop.ForGrace && !w.blind:
		if in, ok := w.ask(e); ok {
			w.wants[e.Ref] = in
		}
	}
}

// compare compares the server's answer with the world's, as far as the API can
// express it.
func (w *served) compare(server, world loop.Input) {
	w.same++
	switch {
	case loop.Overflow(server.Status, server.Text), w.hides != nil && loop.Overflow(world.Status, world.Text):
		// Each API has its own words, and its bodies are longer; what a client hides does
		// not count. No history shows that a request was refused.
		w.blind = true
		return
	case world.Kind == loop.ModelFailure && world.Status == 0 && server.Text == "": // nobody is there to say it
		world.Text = ""
	case w.client.path == "/v1/responses" && server.Finish == "":
		world.Finish = ""
	case w.client.path == "/v1/messages":
		if world.Finish == "end_turn" { // its own word for it
			world.Finish = loop.FinishStop
		}
		world.Calls = slices.Clone(world.Calls)
		for i := range world.Calls { // arguments that are JSON come without the space round them
			if args := strings.TrimSpace(world.Calls[i].Args); args == "" || json.Valid([]byte(args)) {
				world.Calls[i].Args = cmp.Or(args, "{}")
			}
		}
	}
	for i := range server.Calls { // fresh ids are numbered otherwise
		if n, _ := w.server.only.model.IDPlace(server.Calls[i].ID); n > 0 && i < len(world.Calls) {
			w.ids[world.Calls[i].ID], server.Calls[i].ID = server.Calls[i].ID, world.Calls[i].ID
		}
	}
	if fmt.Sprintf("%+v", server) != fmt.Sprintf("%+v", world) {
		w.t.Errorf("the server says\n%+v\nthe world says\n%+v", server, world)
	}
}

// translated returns a history with the server's ids.
func (w *served) translated(history []loop.Message) []loop.Message {
	history = slices.Clone(history)
	for i := range history {
		m := &history[i]
		m.CallID = cmp.Or(w.ids[m.CallID], m.CallID)
		if m.Role == loop.ToolRole && w.hides != nil {
			*m = w.hides(*m)
		}
		m.Calls = slices.Clone(m.Calls)
		for k := range m.Calls {
			m.Calls[k].ID = cmp.Or(w.ids[m.Calls[k].ID], m.Calls[k].ID)
		}
	}
	return history
}

// ask asks the server, and takes its plan without waiting for it.
func (w *served) ask(e *loop.Effect) (in loop.Input, ok bool) {
	body := w.client.body(w.translated(e.History), w.stream)
	if e.For == loop.ForFinal {
		delete(body, "tools")
	}
	text, err := json.Marshal(body)
	if err != nil {
		w.t.Fatal(err)
	}
	r := httptest.NewRequest("POST", "http://localhost"+w.path+w.client.path, strings.NewReader(string(text)))
	x := &exchange{Server: w.server, w: httptest.NewRecorder(), r: r, entry: &Entry{}}
	rest, err := x.scenario(r.URL.Path)
	if err != nil {
		w.t.Fatal(err)
	}
	x.api = apis[rest]
	p, refused := x.plan()
	if x.entry.Aside {
		return in, false // no API calls tools that are not offered
	}
	if refused != nil && e.For != loop.ForReply {
		return in, false // the world has a last word of its own
	}
	if refused != nil {
		w.dry = refused
		return in, false
	}
	x.entry.Problems = slices.DeleteFunc(x.entry.Problems, func(p string) bool { // the loop keeps arguments as the model wrote them; this test does not wait
		return strings.Contains(p, "the request comes again") || strings.Contains(p, "the arguments of a call are not JSON") || strings.Contains(p, "the input of a call must be an object")
	})
	if len(x.entry.Problems) > 0 {
		w.t.Errorf("%v: %q", e.Ref, x.entry.Problems)
	}
	if x.entry.Finish == "" {
		return failed(p, e.Ref), true
	}
	var a answer
	if w.stream {
		a = w.client.events(w.t, parseEvents(w.t, string(p.out.b)))
	} else {
		a = w.client.read(w.t, p.out.b)
	}
	return loop.Input{Kind: loop.ModelReply, Ref: e.Ref, Text: a.Text, Calls: a.Calls, Finish: a.Finish}, true
}

// failed returns a plan's failure as the loop would see it.
func failed(p *plan, ref loop.Ref) loop.Input {
	in := loop.Input{Kind: loop.ModelFailure, Ref: ref, RetryAfter: p.wait}
	body := string(p.out.b)
	if p.status != http.StatusOK {
		in.Status = p.status
	} else if i := strings.LastIndex(body, "data: {"); i >= 0 { // an error in the stream has no status
		body = body[i+len("data: "):]
	}
	var said struct {
		Message, Code string
		Error         struct{ Message, Type, Code string }
	}
	if json.Unmarshal([]byte(body), &said) == nil {
		in.Text = said.Message + said.Error.Message
		if strings.Contains(said.Code+said.Error.Code+said.Error.Type, "rate_limit") {
			in.Status = http.StatusTooManyRequests
		}
	}
	if in.Text == http.StatusText(in.Status) {
		in.Text = ""
	}
	return in
}

// The embedded scenarios, each under its own variant, asked over each API.
func TestTheServerPlaysTheScenarios(t *testing.T) {
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		few := all[:0]
		for i := 0; i < len(all); i += 8 {
			few = append(few, all[i])
		}
		all = few
	}
	for _, api := range []struct {
		name   string
		stream bool
	}{{"chat", false}, {"chat", true}, {"responses", true}, {"messages", false}} {
		t.Run(fmt.Sprintf("%s/stream=%v", api.name, api.stream), func(t *testing.T) {
			same := 0
			for _, s := range all {
				same += playScenario(t, s, s.Script, clients[api.name], api.stream)
			}
			if same < 3*len(all) {
				t.Errorf("only %d answers of %d scenarios were compared", same, len(all))
			}
		})
	}
}

// The same with faults that strike at random: what they strike follows from the
// request as well.
func TestTheServerPlaysFaults(t *testing.T) {
	all, err := scenarios.Load()
	if err != nil {
		t.Fatal(err)
	}
	var faults []fakes.Fault
	for _, text := range []string{"error model 10% 503", "cut model 5% after 2", "drop model 3%", "duplicate model 10%", "swap-ids model 10%", "reorder model 10%", "empty model 5%", "malform model 5%"} {
		f, err := fakes.ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	same := 0
	for _, s := range all {
		if s.Suite == "history" {
			continue // spoilt ids do not show what was dropped
		}
		script := s.Script
		script.Faults = faults
		same += playScenario(t, s, script, clients["chat"], false)
	}
	if same < 500 {
		t.Errorf("only %d answers were compared", same)
	}
}

func playScenario(t *testing.T, s *scenarios.Scenario, script fakes.Script, c client, stream bool) (same int) {
	t.Run(s.ID(), func(t *testing.T) {
		server, err := New([]Scenario{{s.ID(), &script}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		const seed = 3
		w := &served{World: fakes.NewWorld(&script, seed), t: t, server: server, wants: map[loop.Ref]loop.Input{}, ids: map[string]string{},
			path: fmt.Sprintf("/run/%s/%d", s.ID(), seed), client: c, stream: stream}
		m, err := loop.New(s.Config, script.LoopTask(seed), script.Specs())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := loop.Run(context.Background(), m, w); !w.blind && ((w.dry != nil) != errors.Is(err, loop.ErrDry) || err != nil && w.dry == nil) {
			t.Errorf("the server says %+v, the world %v", w.dry, err)
		}
		same = w.same
	})
	return same
}

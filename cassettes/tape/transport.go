package tape

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dnaeon/go-vcr/v2/cassette"
)

// A Mode says what is recorded and what is played.
type Mode string

// The modes. The zero value is None.
const (
	None    Mode = "none"    // plays everything; the network is denied
	Once    Mode = "once"    // records everything if there is no cassette; else as None
	New     Mode = "new"     // records what is not on the cassette, and plays the rest
	Rewrite Mode = "rewrite" // records everything; Save replaces the cassette
)

// Modes returns all modes.
func Modes() []Mode { return []Mode{None, Once, New, Rewrite} }

// A Redactor replaces secrets and personal data in texts by placeholders. It does
// not change a redacted text again.
type Redactor interface {
	Body(contentType, body string) string
	URL(text string) string
	// Leftover names the kind of a secret that a text still has, "" = none.
	Leftover(text string) string
}

// A Transport carries the requests of one conversation: it plays them from a
// cassette or records them. It is safe for concurrent use.
type Transport struct {
	real     http.RoundTripper // nil = the network is denied
	redactor Redactor
	path     string
	clock    func() time.Time // the time of what is recorded

	mu       sync.Mutex
	tape     *cassette.Cassette // the cassette that existed before
	head     []byte
	played   map[*cassette.Interaction]bool
	forms    map[string]string // bodies as they are compared, by their text
	recorded []*cassette.Interaction
	newest   int // the number of the newest request
	elapsed  time.Duration
	asked    cassette.Request
}

// Begin starts a conversation on the cassette at path. real carries the requests
// that are recorded. The error is that of [Open]. If there is no cassette to play,
// it says how to record one.
func Begin(path string, mode Mode, real http.RoundTripper, r Redactor) (*Transport, error) {
	t := &Transport{redactor: r, path: path, clock: time.Now, played: map[*cassette.Interaction]bool{}, forms: map[string]string{}}
	if mode != None && mode != "" {
		t.real = real
	}
	if mode != Rewrite {
		there, err := exists(path)
		switch {
		case err != nil:
			return nil, err
		case !there && t.real == nil:
			return nil, fmt.Errorf("%s: there is no such cassette: agentbench record records one", path)
		case there && mode == Once:
			t.real = nil
		}
		if there {
			c, err := Open(path, r)
			if err != nil {
				return nil, err
			}
			t.tape, t.head = c.tape, c.Head
		}
	}
	if t.tape == nil {
		t.tape = cassette.New("")
	}
	t.tape.Matcher = t.matches
	return t, nil
}

// Head returns the head of the cassette that existed before, nil if there was none.
func (t *Transport) Head() []byte { return t.head }

// Live reports whether requests may reach the network.
func (t *Transport) Live() bool { return t.real != nil }

// Played returns the number of requests that the cassette has answered.
func (t *Transport) Played() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.played)
}

// Recorded returns the number of requests that were recorded.
func (t *Transport) Recorded() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.recorded)
}

// Forget drops the recorded requests after the first n.
func (t *Transport) Forget(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.recorded = t.recorded[:min(n, len(t.recorded))]
}

// Elapsed returns the time from the newest request to the newest read of its
// answer, in whole milliseconds. It is the same when the answer is played.
func (t *Transport) Elapsed() time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.elapsed
}

// elapse sets the elapsed time, if the request is still the newest.
func (t *Transport) elapse(request int, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if request == t.newest {
		t.elapsed = d
	}
}

// RoundTrip plays the answer to a request, or sends the request and records the
// answer. The error for a request that can be neither is a [*Miss].
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := readBody(req)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	t.newest++
	t.elapsed = 0
	number := t.newest
	asked := t.ask(req, body)
	t.asked = asked
	found, err := t.tape.GetInteraction(req)
	if err == nil {
		t.played[found] = true
		t.redactResponse(&found.Response)
		t.mu.Unlock()
		return t.play(number, req, found)
	}
	if t.real == nil {
		defer t.mu.Unlock()
		return nil, t.miss(number, asked, err)
	}
	t.mu.Unlock()
	return t.record(number, req, asked, body)
}

// Leftovers returns an error that names the interactions that were not played, nil
// if there are none.
func (t *Transport) Leftovers() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var left []string
	for i, in := range t.tape.Interactions {
		if !t.played[in] {
			left = append(left, fmt.Sprintf("%d (%s %s)", i+1, in.Method, pathOf(in.URL)))
		}
	}
	if len(left) == 0 {
		return nil
	}
	const most = 5
	more := ""
	if len(left) > most {
		more = fmt.Sprintf(" and %d more", len(left)-most)
		left = left[:most]
	}
	return fmt.Errorf("some of the %d recorded requests were not sent: %s%s", len(t.tape.Interactions), strings.Join(left, ", "), more)
}

// Prune drops the interactions of the cassette that were not played, and returns
// their number.
func (t *Transport) Prune() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := len(t.tape.Interactions)
	t.tape.Interactions = slices.DeleteFunc(t.tape.Interactions, func(in *cassette.Interaction) bool { return !t.played[in] })
	return all - len(t.tape.Interactions)
}

// Save writes the old interactions and then the recorded ones to the cassette, with
// a head of one line. It replaces the whole file or nothing.
func (t *Transport) Save(head []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := append(append([]*cassette.Interaction{}, t.tape.Interactions...), t.recorded...)
	return write(t.path, head, all, t.redactor)
}

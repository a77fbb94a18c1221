package watch

import (
	"bytes"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// maxBody limits the bytes of a body that are kept for decoding. A longer body passes
// whole and is not recorded.
const maxBody = 64 << 20

// maxHeld limits the bytes of all copies, of exchanges that go on and of those that wait
// to be decoded. An exchange for which there is no room passes and is not seen.
const maxHeld = 512 << 20

// tapped is what a tap takes besides its copies, in bytes.
const tapped = 1 << 10

// A room is the bytes that copies may still take.
type room struct{ left atomic.Int64 }

func (r *room) take(n int) bool {
	if r.left.Add(int64(-n)) >= 0 {
		return true
	}
	r.free(n)
	return false
}

func (r *room) free(n int) { r.left.Add(int64(n)) }

// A tap keeps a copy of an exchange while it passes.
type tap struct {
	method, path, scope, run string
	began, ended             time.Time
	asked                    string // Content-Encoding of the request
	status                   int
	encoding                 string // Content-Encoding of the response
	stream                   bool   // the response is a stream of events
	take                     func(*tap)
	room                     *room

	mu       sync.Mutex
	request  copied
	response copied
	held     int   // bytes of room that it has taken
	unseen   bool  // there was no room for it
	size     int64 // bytes of the bodies that have passed
	taken    bool
}

// copied is the copy of a body.
type copied struct {
	*bytes.Buffer      // nil = nothing
	over          bool // it was too long
}

// spare are buffers that copies have left.
var spare = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// maxSpare limits the buffers that are kept for other copies.
const maxSpare = 1 << 20

func (c *copied) bytes() []byte {
	if c.Buffer == nil {
		return nil
	}
	return c.Bytes()
}

// leave gives the copy up.
func (c *copied) leave() {
	if c.Buffer != nil && c.Cap() <= maxSpare {
		c.Reset()
		spare.Put(c.Buffer)
	}
	c.Buffer = nil
}

// add adds bytes to the copy of a body, if there is room.
func (t *tap) add(c *copied, b []byte) {
	if t.taken {
		return
	}
	t.size += int64(len(b))
	if t.unseen || c.over || len(b) == 0 {
		return
	}
	if c.over = len(c.bytes())+len(b) > maxBody; c.over {
		c.leave()
		return
	}
	if !t.room.take(len(b)) {
		t.unseen = true
		t.leave()
		return
	}
	t.held += len(b)
	if c.Buffer == nil {
		c.Buffer = spare.Get().(*bytes.Buffer)
	}
	c.Write(b)
}

// leave gives the copies and their room up.
func (t *tap) leave() {
	t.request.leave()
	t.response.leave()
	t.room.free(t.held)
	t.held = 0
}

// end hands the tap over, once. The copies do not change afterwards.
func (t *tap) end() {
	t.mu.Lock()
	first := !t.taken
	if first {
		t.taken, t.ended = true, time.Now()
	}
	t.mu.Unlock()
	if first {
		t.take(t)
	}
}

// An asking reads the body of a request and keeps what it reads.
type asking struct {
	io.ReadCloser
	tap *tap
}

func (a asking) Read(b []byte) (int, error) {
	n, err := a.ReadCloser.Read(b)
	a.tap.mu.Lock()
	defer a.tap.mu.Unlock()
	a.tap.add(&a.tap.request, b[:n])
	return n, err
}

// An answering reads the body of a response and keeps what it reads. It hands the tap
// over before the client has the end of the answer: the client may send its next
// request, which repeats this answer, at once.
type answering struct {
	io.ReadCloser
	tap  *tap
	left int64 // bytes of the body that are still to come, below 0 = unknown
}

func (a *answering) Read(b []byte) (int, error) {
	n, err := a.ReadCloser.Read(b)
	a.left -= int64(n)
	a.tap.mu.Lock()
	a.tap.add(&a.tap.response, b[:n])
	whole := err != nil || a.left == 0 || a.tap.stream && n > 0 && !a.tap.taken && a.tap.ends(n)
	a.tap.mu.Unlock()
	if whole {
		a.tap.end()
	}
	return n, err
}

func (a *answering) Close() error {
	a.tap.end()
	return a.ReadCloser.Close()
}

// endings are the events with which a stream has said everything. Clients may leave
// after them, and not wait for the end of the body.
var endings = [][]byte{
	[]byte("data: [DONE]"), []byte("data:[DONE]"), // OpenAI Chat Completions
	[]byte(`"type":"message_stop"`), []byte(`"type": "message_stop"`), // Anthropic
	[]byte(`"type":"response.completed"`), []byte(`"type":"response.incomplete"`), []byte(`"type":"response.failed"`), // OpenAI Responses
}

// ends reports whether the last n bytes of a stream bring its last event to an end.
func (t *tap) ends(n int) bool {
	const longest = 40 // bytes of an ending
	all := t.response.bytes()
	if len(all) == 0 || t.encoding != "" {
		return false
	}
	news := all[max(0, len(all)-n-longest):]
	for _, e := range endings {
		if at := bytes.Index(news, e); at >= 0 && bytes.Contains(all[len(all)-len(news)+at:], []byte("\n\n")) {
			return true
		}
	}
	return false
}

// exchange returns what has passed, and why it cannot be decoded, "" = it can.
func (t *tap) exchange() (*wire.Exchange, string) {
	if t.request.over || t.response.over {
		return nil, errTooLong.Error()
	}
	request, err := unpacked(t.request.bytes(), t.asked)
	if err != nil {
		return nil, err.Error()
	}
	answer, err := unpacked(t.response.bytes(), t.encoding)
	if err != nil {
		return nil, err.Error()
	}
	return &wire.Exchange{Method: t.method, URL: t.path, Status: t.status, Request: request, Response: answer}, ""
}

// stream reports whether a response is a stream of events.
func stream(h http.Header) bool {
	return bytes.HasPrefix([]byte(h.Get("Content-Type")), []byte("text/event-stream"))
}

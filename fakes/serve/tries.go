package serve

import (
	"bytes"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"sync"
	"time"
)

// tries counts how often each request was sent. It keeps the newest ones: at least
// max, at most twice max.
type tries struct {
	max        int
	seed       maphash.Seed
	mu         sync.Mutex
	young, old map[uint64]int
	waits      map[uint64]rest // of requests that were told to wait
}

// A rest is how long an answer asked to wait.
type rest struct {
	from time.Time
	time time.Duration
}

func newTries(max int) *tries {
	return &tries{max: max, seed: maphash.MakeSeed(), young: map[uint64]int{}}
}

// conversationHeaders distinguish conversations with the same content.
var conversationHeaders = []string{"X-Agentbench-Conversation", "Authorization", "X-Api-Key"}

// besides are the members of a body that a retry may change: clients ask again without
// a stream, or with a number of the try.
var besides = []string{"stream", "stream_options", "metadata", "client_metadata"}

// key returns the identity of a request: a hash of its scenario, seed, API,
// conversation headers and body, whose members may come in any order.
func (t *tries) key(scenario string, seed uint64, api string, h http.Header, body []byte) uint64 {
	var hash maphash.Hash
	hash.SetSeed(t.seed)
	maphash.WriteComparable(&hash, seed)
	hash.WriteString(scenario)
	hash.WriteByte(0)
	hash.WriteString(api)
	for _, name := range conversationHeaders {
		hash.WriteByte(0)
		hash.WriteString(h.Get(name))
	}
	sum := hash.Sum64()
	for name, v := range value(bytes.TrimSpace(body)).fields() {
		if slices.Contains(besides, string(name)) {
			continue
		}
		hash.Reset()
		hash.Write(name)
		hash.WriteByte(0)
		hash.Write(v)
		sum += hash.Sum64()
	}
	return sum
}

// add counts a request and returns how often it was sent before.
func (t *tries) add(key uint64) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, ok := t.young[key]
	if !ok {
		n = t.old[key]
		if len(t.young) >= t.max {
			t.young, t.old = make(map[uint64]int, t.max), t.young
		}
	}
	t.young[key] = min(n+1, maxTries)
	return n
}

// hold notes that a request must not be sent again for so long.
func (t *tries) hold(key uint64, r rest) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits == nil || len(t.waits) >= t.max {
		t.waits = map[uint64]rest{}
	}
	t.waits[key] = r
}

// tooEarly returns the problem of a request that comes before it was asked to, else
// "".
func (t *tries) tooEarly(key uint64, now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	r, ok := t.waits[key]
	delete(t.waits, key)
	if passed := now.Sub(r.from); ok && passed < r.time {
		return fmt.Sprintf("the request comes again after %v, but Retry-After asked for %v", max(passed, 0).Round(time.Millisecond), r.time)
	}
	return ""
}

// maxTries bounds the count of one request.
const maxTries = 1000

// forget resets the count of a request that was answered.
func (t *tries) forget(key uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.young, key)
	delete(t.old, key)
}

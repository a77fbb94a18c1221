package audit

import (
	"sync"

	"github.com/agentbench-go/agentbench/loop"
)

// A storage is the memory of an audit. One audit after another uses it, since
// thousands of traces are audited in a row.
type storage struct {
	items    []item
	lines    []int // the line of each record's input
	requests slab[request]
	asks     slab[ask]
	replies  slab[reply]
	calls    slab[call]
	tries    slab[try]
	messages slab[loop.Message]
	named    []loop.Call     // the calls of messages
	history  []*loop.Message // see [book.rebuild]
	started  []*call         // see [book.checkPlaces]
}

var storages = sync.Pool{New: func() any { return &storage{} }}

// keptItems bounds what is kept from one audit to the next.
const keptItems = 1 << 16

// release makes the storage free for the next audit.
func (s *storage) release() {
	if cap(s.items) > keptItems {
		return
	}
	clear(s.items)
	s.items, s.lines = s.items[:0], s.lines[:0]
	s.requests.reset()
	s.asks.reset()
	s.replies.reset()
	s.calls.reset()
	s.tries.reset()
	s.messages.reset()
	clear(s.named)
	clear(s.history[:cap(s.history)])
	clear(s.started[:cap(s.started)])
	s.named, s.history, s.started = s.named[:0], s.history[:0], s.started[:0]
	storages.Put(s)
}

// A slab makes values of a kind, many at a time.
type slab[T any] struct {
	blocks [][]T
	n      int // how many were made
}

const blockSize = 64

// new returns a zero value.
func (s *slab[T]) new() *T {
	if s.n == len(s.blocks)*blockSize {
		s.blocks = append(s.blocks, make([]T, blockSize))
	}
	v := &s.blocks[s.n/blockSize][s.n%blockSize]
	s.n++
	return v
}

func (s *slab[T]) reset() {
	for i := 0; i*blockSize < s.n; i++ {
		clear(s.blocks[i])
	}
	s.n = 0
}

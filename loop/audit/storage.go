package audit

import (
	"sync"

	"github.com/agentbench-go/agentbench/loop"
)

// A storage is the memory of an audit. The next audit uses it again, since commands
// audit thousands of traces in a row.
type storage struct {
	items    []item
	lines    []int // the line of each record's input
	requests slab[request]
	asks     slab[ask]
	replies  slab[reply]
	calls    slab[call]
	tries    slab[try]
	messages slab[loop.Message]
	notes    []*item          // the notes of runs
	said     []*item          // the user messages that the loop itself adds
	made     []*item          // the tries and gates that it opens
	idle     []*item          // the items outside of runs
	named    []loop.Call      // the calls of messages
	history  []*loop.Message  // see [book.rebuild]
	started  []*call          // see [book.checkPlaces]
	seen     map[string]*call // see [book.separate]
}

var storages = sync.Pool{New: func() any { return &storage{seen: map[string]*call{}} }}

// keptItems is the largest number of items whose memory is kept for the next audit.
const keptItems = 1 << 15

// release empties the storage for the next audit.
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
	s.named = emptied(s.named)
	for _, list := range []*[]*item{&s.notes, &s.said, &s.made, &s.idle} {
		*list = emptied(*list)
	}
	clear(s.seen)
	s.history, s.started = emptied(s.history), emptied(s.started)
	storages.Put(s)
}

// emptied returns the slice with length 0 and clears its memory.
func emptied[T any](s []T) []T {
	clear(s[:cap(s)])
	return s[:0]
}

// A slab allocates values of a type in blocks.
type slab[T any] struct {
	blocks [][]T
	n      int // values in use
}

const blockSize = 64

// new returns a new zero value.
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

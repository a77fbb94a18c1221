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
	notes    []*item         // those that are notes of a run,
	said     []*item         // messages that the loop puts into a history,
	made     []*item         // calls and gates,
	idle     []*item         // and those outside of runs
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
	s.named = emptied(s.named)
	for _, list := range []*[]*item{&s.notes, &s.said, &s.made, &s.idle} {
		*list = emptied(*list)
	}
	s.history, s.started = emptied(s.history), emptied(s.started)
	storages.Put(s)
}

// emptied returns a slice without elements that keeps nothing alive.
func emptied[T any](s []T) []T {
	clear(s[:cap(s)])
	return s[:0]
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

package fakes

import (
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A queue holds the inputs that a world and those of its sub-runs will send, ordered
// by instant and then by creation. It is a binary heap that keeps its memory: it allocates only when
// it grows beyond its largest size so far.
type queue struct {
	heap []entry
	made uint64
}

type entry struct {
	in   loop.Input
	to   *World // whose machine takes it
	made uint64 // the number of its creation
}

func (e *entry) before(o *entry) bool {
	if e.in.At != o.in.At {
		return e.in.At < o.in.At
	}
	return e.made < o.made
}

// push adds an input to the machine of that world.
func (q *queue) push(to *World, in loop.Input) {
	q.made++
	q.heap = append(q.heap, entry{in, to, q.made})
	for i := len(q.heap) - 1; i > 0; {
		up := (i - 1) / 2
		if !q.heap[i].before(&q.heap[up]) {
			return
		}
		q.heap[i], q.heap[up] = q.heap[up], q.heap[i]
		i = up
	}
}

// first returns the instant of the earliest input.
func (q *queue) first() (at time.Duration, ok bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].in.At, true
}

// next returns the earliest input. The queue must not be empty, nor change while the
// input is used.
func (q *queue) next() *loop.Input { return &q.heap[0].in }

// pop removes and returns the earliest input. The queue must not be empty.
func (q *queue) pop() (in loop.Input, to *World) {
	in, to = q.heap[0].in, q.heap[0].to
	end := len(q.heap) - 1
	q.heap[0] = q.heap[end]
	q.heap[end] = entry{}
	q.heap = q.heap[:end]
	q.down(0)
	return in, to
}

// drop removes every input to a world that answers ref.
func (q *queue) drop(to *World, ref loop.Ref) {
	q.remove(func(e *entry) bool { return e.to == to && e.in.Ref == ref })
}

// dropFirst removes the earliest input to a world for which the function returns
// true.
func (q *queue) dropFirst(to *World, which func(*loop.Input) bool) {
	first := -1
	for i := range q.heap {
		if q.heap[i].to == to && which(&q.heap[i].in) && (first < 0 || q.heap[i].before(&q.heap[first])) {
			first = i
		}
	}
	if first >= 0 {
		made := q.heap[first].made
		q.remove(func(e *entry) bool { return e.made == made })
	}
}

// dropKind removes every input to a world of a kind.
func (q *queue) dropKind(to *World, kind loop.InputKind) {
	q.remove(func(e *entry) bool { return e.to == to && e.in.Kind == kind })
}

func (q *queue) remove(which func(*entry) bool) {
	kept := q.heap[:0]
	for i := range q.heap {
		if !which(&q.heap[i]) {
			kept = append(kept, q.heap[i])
		}
	}
	if len(kept) == len(q.heap) {
		return
	}
	clear(q.heap[len(kept):])
	q.heap = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		q.down(i)
	}
}

// down restores the order below entry i.
func (q *queue) down(i int) {
	for {
		next := 2*i + 1
		if next >= len(q.heap) {
			return
		}
		if right := next + 1; right < len(q.heap) && q.heap[right].before(&q.heap[next]) {
			next = right
		}
		if !q.heap[next].before(&q.heap[i]) {
			return
		}
		q.heap[i], q.heap[next] = q.heap[next], q.heap[i]
		i = next
	}
}

// Package watch is a reverse proxy between an agent and the API of its model. It
// changes nothing and stops nothing. It reads a copy of what passes, and says what
// variants would have stopped.
//
//	w, err := watch.New(watch.Options{Upstream: upstream, Variants: variants, Tell: print})
//	…
//	err = w.Serve(ctx, listener) // until ctx ends
//	w.Results(each)
//
// The exchanges pass through four hands: the proxy forwards them byte by byte (file
// proxy.go) and taps them (tap.go); one goroutine takes the taps in the order in which
// their answers ended, decodes them, links them into conversations (link.go), and lets
// the variants follow each (this file). Recordings are written when a conversation
// rests (record.go).
package watch

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Options say what is watched. The zero value of every field but Upstream is ready.
type Options struct {
	Upstream *url.URL
	Variants []scenarios.Variant
	// KeyHeader names the header that tells runs apart; "" = none. Its value is
	// written as a hash.
	KeyHeader string
	// Folder is where conversations are recorded, "" = nowhere. It exists.
	Folder string
	// Shapes is the file that gets the shapes of conversations, "" = none.
	Shapes string
	// Redactor returns the redactor of a conversation that is recorded, and of what is
	// told.
	Redactor func() *secrets.Redactor
	// Tell is called with what a person should know at once, a line at a time; nil =
	// nobody is told.
	Tell func(line string)
	// Transport reaches the upstream, nil = the network.
	Transport http.RoundTripper
}

// A Watch is the proxy and what it has seen.
type Watch struct {
	o        Options
	redactor *secrets.Redactor // of what is told

	mu     sync.Mutex
	queue  []*tap
	more   sync.Cond // the queue has grown, or nothing more will come
	closed bool
	ended  chan struct{} // closed when closed is set
	done   sync.WaitGroup

	room room

	tally sync.Mutex
	count Counts // of requests, and of the conversations that have ended

	// What belongs to the goroutine that works the queue off, and to whoever holds seen.
	seen          sync.Mutex
	memory        *wire.Memory
	linker        *linker
	followers     []*follow           // one a variant, which follow nothing
	conversations []*conversation     // those that may go on, by their number
	rested        list.List           // of the same, the one that has rested longest first
	most          int                 // of them
	results       []*scenarios.Result // of the others
	unwritten     error               // of the first file that could not be written
	lost          bool                // it was told that the upstream does not have a path
	unseenTold    int                 // unseen exchanges at which it is told again
	shapes        shapeFile
}

// Counts counts what has passed.
type Counts struct {
	Requests      int // that were answered or not, of every kind
	Conversations int
	Branches      int            // conversations that share the beginning of another one
	Tries         int            // requests that were sent again although they had been answered
	Shortened     int            // times that an agent shortened or rewrote its history
	Left          map[string]int // exchanges that are part of no conversation, by the reason
	Unreached     int            // requests for which no connection to the upstream could be made
	// Exchanges that passed but were not seen, since too many of them still waited to be
	// read, and the bytes of their bodies.
	Unseen      int
	UnseenBytes int64
}

// maxConversations limits the conversations that are kept in memory. With more, the one
// that has rested longest has ended.
const maxConversations = 2000

// kept is what is done with a conversation.
type kept struct {
	rested  *list.Element
	follows []*follow             // one a variant
	grown   *trajectories.Growing // what they follow, nil = it has to grow anew
	upTo    *node                 // the last one of grown
	line    []byte                // its shape, nil = not known
	record
}

// A follow is what one variant has done to a conversation so far.
type follow struct {
	*trajectories.Follower
	variant string
	asked   int // calls until the stop, once told; 0 = not stopped
	next    int // calls after the stop at which it is told again
	broken  bool
}

// New returns a proxy. The error is that of a variant's config, or of the folder.
func New(o Options) (*Watch, error) {
	w := &Watch{o: o, most: maxConversations, redactor: o.Redactor(), ended: make(chan struct{}), count: Counts{Left: map[string]int{}}}
	w.room.left.Store(maxHeld)
	w.more.L = &w.mu
	w.linker, w.memory = newLinker(w.begun), wire.NewMemory(maxConversations)
	w.linker.keyOf = w.memory.KeyOf
	for _, v := range o.Variants {
		f, err := trajectories.Follow(v)
		if err != nil {
			return nil, err
		}
		w.followers = append(w.followers, &follow{Follower: f, variant: v.Name, next: 10})
	}
	if o.Folder != "" {
		n, err := lastNumber(o.Folder)
		if err != nil {
			return nil, err
		}
		w.linker.begun = n
	}
	return w, nil
}

// begun equips a new conversation.
func (w *Watch) begun(c *conversation) {
	c.name = fmt.Sprintf("conversation-%d", c.number)
	for _, f := range w.followers {
		own := *f
		own.Follower = f.New()
		c.follows = append(c.follows, &own)
	}
	w.conversations = append(w.conversations, c)
	c.rested = w.rested.PushBack(c)
}

// take queues a tap whose exchange has ended, if there was room for it.
func (w *Watch) take(t *tap) {
	if t.unseen {
		w.tally.Lock()
		defer w.tally.Unlock()
		w.count.Requests++
		w.count.Unseen++
		w.count.UnseenBytes += t.size
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.queue = append(w.queue, t)
	w.more.Broadcast()
}

// start begins to work the queue off.
func (w *Watch) start() {
	w.done.Go(func() {
		for {
			t := w.next()
			if t == nil {
				return
			}
			w.see(t)
			w.tellUnseen()
		}
	})
	if w.o.Folder == "" && w.o.Shapes == "" {
		return
	}
	w.done.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				w.writeRested(time.Now().Add(-rest))
				w.writeShapes(time.Now().Add(-shapesRest))
			case <-w.ended:
				return
			}
		}
	})
}

// next waits for the next tap, and returns nil when nothing more comes.
func (w *Watch) next() *tap {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && !w.closed {
		w.more.Wait()
	}
	if len(w.queue) == 0 {
		return nil
	}
	t := w.queue[0]
	w.queue = slices.Delete(w.queue, 0, 1)
	return t
}

// finish works the rest of the queue off and writes what is not written yet. It returns
// the first error of writing a recording.
func (w *Watch) finish() error {
	w.mu.Lock()
	w.closed = true
	close(w.ended)
	w.more.Broadcast()
	w.mu.Unlock()
	w.done.Wait()
	w.writeRested(time.Now())
	w.writeShapes(time.Now())
	return w.unwritten
}

// passed counts an exchange that is part of no conversation.
func (w *Watch) passed(why string) {
	w.tally.Lock()
	defer w.tally.Unlock()
	w.count.Requests++
	w.count.Left[why]++
}

// unreached tells that the upstream cannot be reached, the first time.
func (w *Watch) unreached(err error) {
	w.tally.Lock()
	w.count.Unreached++
	first := w.count.Unreached == 1
	w.tally.Unlock()
	if first {
		w.tell("cannot reach %s: %s; the agent gets the status 502", w.o.Upstream.Host, reason(err))
	}
}

// tellUnseen tells how many exchanges were not seen, if that is news: at the first, and
// when they have become ten times as many.
func (w *Watch) tellUnseen() {
	w.tally.Lock()
	n, size := w.count.Unseen, w.count.UnseenBytes
	w.tally.Unlock()
	if n == 0 || n < w.unseenTold {
		return
	}
	for w.unseenTold = max(1, w.unseenTold); w.unseenTold <= n; {
		w.unseenTold *= 10
	}
	w.tell("%s passed unseen so far (%.1f MB): more came than could be read", text.Count(n, "exchange"), float64(size)/1e6)
}

// see decodes an exchange and adds it to its conversation.
func (w *Watch) see(t *tap) {
	w.seen.Lock()
	defer w.seen.Unlock()
	defer t.leave()
	if !w.lost && t.method == http.MethodPost && (t.status == http.StatusNotFound || t.status == http.StatusMethodNotAllowed) {
		w.lost = true
		w.tell("the upstream answers %d to POST %s: has the agent's base URL the path that it had before?", t.status, t.path)
	}
	x, problem := t.exchange()
	if problem != "" {
		w.passed(problem)
		return
	}
	turn, keys, why := w.memory.Decode(x)
	w.tally.Lock()
	if w.count.Requests++; why != wire.None {
		w.count.Left[string(why)]++
	}
	w.tally.Unlock()
	if turn == nil {
		return
	}
	c := w.linker.add(t.scope, turn, keys, t.began, t.ended)
	if c == nil {
		return
	}
	if t.run != "" && c.run == "" {
		c.run = t.run
	}
	c.changed(time.Now())
	w.rested.MoveToBack(c.kept.rested)
	w.shapes.dirty, c.line = true, nil
	w.follow(c)
	if len(w.conversations) > w.most {
		w.close(w.rested.Front().Value.(*conversation))
	}
}

// close ends a conversation.
func (w *Watch) close(c *conversation) {
	w.write(c)
	w.shapes.closed = w.shape(w.shapes.closed, c)
	for _, v := range w.o.Variants {
		if r, err := trajectories.Outcome(context.Background(), c.trajectory(), v); err == nil {
			w.results = append(w.results, r)
		}
	}
	w.tally.Lock()
	w.count.add(c)
	w.tally.Unlock()
	w.linker.forget(c)
	at, _ := slices.BinarySearchFunc(w.conversations, c.number, func(c *conversation, n int) int { return c.number - n })
	w.conversations = slices.Delete(w.conversations, at, at+1)
	w.rested.Remove(c.kept.rested)
}

// follow shows a conversation to the variants and tells what they would have stopped.
func (w *Watch) follow(c *conversation) {
	if len(c.follows) == 0 {
		return
	}
	r := c.growing()
	for _, f := range c.follows {
		if f.broken {
			continue
		}
		if err := f.Update(r); err != nil {
			f.broken = true
			w.tell("%s cannot follow %s: %v", f.variant, c.title(), err)
			continue
		}
		out, n := f.Stopped()
		if out == nil {
			continue
		}
		if f.asked == 0 {
			f.asked = max(1, n)
			w.tell("%s would have stopped %s at its %s call: %s", f.variant, c.title(), ordinal(n), out.Reason)
			continue
		}
		if more := callsOf(r) - n; more >= f.next {
			w.tell("%s goes on: %d calls since %s would have stopped it at its %s call", c.title(), more, f.variant, ordinal(n))
			for f.next <= more {
				f.next *= 10
			}
		}
	}
}

// growing returns the conversation as a trajectory that the variants follow. It grows by
// what is new, unless the agent has changed what came before, or has had no answer.
func (c *conversation) growing() *trajectories.Trajectory {
	if c.grown == nil || len(c.tail) > 0 || c.tip != c.upTo && (c.tip.parent != c.upTo || !c.grown.Add(c.tip.messages())) {
		c.grown = trajectories.Grow(cmp.Or(c.run, c.name), c.whole())
	}
	if c.upTo = c.tip; len(c.tail) > 0 {
		c.upTo = nil
	}
	return c.grown.Trajectory()
}

// whole returns the conversation so far.
func (c *conversation) whole() *wire.Conversation {
	return &wire.Conversation{Model: c.model, System: c.system, Messages: c.log()}
}

func (w *Watch) tell(format string, args ...any) {
	if w.o.Tell != nil {
		w.o.Tell(text.Line(w.redactor.Text(fmt.Sprintf(format, args...))))
	}
}

// title names a conversation in a sentence.
func (c *conversation) title() string {
	if c.run != "" {
		return fmt.Sprintf("conversation %d (%s)", c.number, c.run)
	}
	return fmt.Sprintf("conversation %d", c.number)
}

// ordinal returns a number with its ending: 1st, 12th, 23rd.
func ordinal(n int) string {
	ending := "th"
	if n/10%10 != 1 {
		switch n % 10 {
		case 1:
			ending = "st"
		case 2:
			ending = "nd"
		case 3:
			ending = "rd"
		}
	}
	return fmt.Sprint(n) + ending
}

// callsOf counts the calls of a trajectory.
func callsOf(r *trajectories.Trajectory) (n int) {
	for _, run := range r.Runs {
		for _, t := range run.Turns {
			n += len(t.Calls)
		}
	}
	return n
}

// trajectory returns the conversation as a trajectory.
func (c *conversation) trajectory() *trajectories.Trajectory {
	r := trajectories.OfConversation(cmp.Or(c.run, c.name), c.whole())
	r.File = c.name
	if c.from != nil {
		r.Shared = c.from.replies // each is a turn
	}
	return r
}

// Results replays every conversation under every variant, and calls each with the
// results in order: that of a branch is without what happened before it branched off,
// which counts once. It returns the first error of each.
func (w *Watch) Results(each func(*scenarios.Result) error) error {
	w.seen.Lock()
	defer w.seen.Unlock()
	for _, r := range w.results {
		if err := each(r); err != nil {
			return err
		}
	}
	for _, c := range w.conversations {
		for _, v := range w.o.Variants {
			r, err := trajectories.Outcome(context.Background(), c.trajectory(), v)
			if err == nil {
				err = each(r)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// Counts returns what has passed so far.
func (w *Watch) Counts() Counts {
	w.seen.Lock()
	defer w.seen.Unlock()
	w.tally.Lock()
	n := w.count
	n.Left = maps.Clone(n.Left)
	w.tally.Unlock()
	for _, c := range w.conversations {
		n.add(c)
	}
	return n
}

// add counts a conversation.
func (n *Counts) add(c *conversation) {
	n.Conversations++
	if c.from != nil {
		n.Branches++
	}
	n.Tries += c.tries
	n.Shortened += c.shortened
}

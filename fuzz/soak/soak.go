package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

// Over names the transport between a conversation and its model.
type Over string

// The transports.
const (
	Process Over = "process" // none: the model is a function
	HTTP    Over = "http"    // a server on this machine, and real clients
)

// Options say what to run.
type Options struct {
	Over          Over
	Conversations int           // running at the same time
	Rounds        int           // conversations at each place, one after another; 0 = as many as Time allows
	Time          time.Duration // no conversation begins later; 0 = no limit. The time between the halves does not count
	// Watchdog is how long a conversation may stand still before the run ends as a
	// deadlock; 0 = 30 s.
	Watchdog time.Duration
	Kinds    []Kind // nil = [Kinds]

	// settle is how long goroutines and connections may take to end; 0 = 5 s.
	settle time.Duration
	// wrap lets a test replace the model and the tools of a conversation.
	wrap func(loop.Model, []loop.Tool) (loop.Model, []loop.Tool)
}

// The limits of a run that passes.
const (
	// MaxSlope is the most bytes that a conversation may leave behind, on average.
	MaxSlope = 512
	// MaxEnd is the longest time from the signal to the end.
	MaxEnd = 2 * time.Second
	// slack is how many goroutines and files may be left at the end: those of the
	// runtime, and of connections that are closing.
	slack = 10
	// leastMemory is the growth of memory that any number of conversations may
	// cause: as much as pools and buffers of libraries vary in size.
	leastMemory = 8 << 20
)

// defaultWatchdog is how long a conversation may stand still by default.
const defaultWatchdog = 30 * time.Second

// Run runs conversations in two halves, half of the rounds or of the time each, until
// they have all ended, or ctx ends. It compares what is left in memory after both halves
// with what was left after the first: growth is a leak, a rest that stays is not. It
// returns an error if it cannot run them (no port is free, for example). The problems of
// conversations are in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if o.Kinds == nil {
		o.Kinds = Kinds()
	}
	r := &run{options: o, report: &Report{Over: o.Over, Conversations: o.Conversations}}
	for i := range o.Kinds {
		want, err := o.Kinds[i].expected(ctx)
		if err != nil {
			return nil, fmt.Errorf("the kind %s: %w", o.Kinds[i].Name, err)
		}
		r.expected = append(r.expected, want)
	}
	return r.all(ctx)
}

// A run is the state of [Run].
type run struct {
	options  Options
	expected []loop.Outcome
	server   *server // nil in process
	report   *Report

	begun, ended atomic.Int64
	places       []place

	mu            sync.Mutex
	conversations histogram
	requests      histogram
	wrong         map[string]int
	turns, asked  int
}

// A place runs one conversation after another.
type place struct {
	moved atomic.Int64           // the time of the last input, in nanoseconds since the start
	last  atomic.Pointer[string] // the last input
}

func (r *run) all(ctx context.Context) (*Report, error) {
	o, p := &r.options, r.report
	r.places, r.wrong = make([]place, o.Conversations), map[string]int{}
	var before, after sample
	before.take()
	if o.Over == HTTP {
		s, err := startServer(o.Kinds, o.Conversations)
		if err != nil {
			return nil, err
		}
		r.server = s
	}
	start := time.Now()
	working, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	var stuck []string
	for _, h := range halves(o) {
		began := time.Now()
		stuck = r.half(working, h, start, giveUp)
		p.Elapsed += time.Since(began)
		if len(stuck) > 0 || ctx.Err() != nil {
			break
		}
		p.Rests = append(p.Rests, Rest{int(r.ended.Load()), rest()})
	}
	if r.server != nil {
		if err := r.server.stop(); err != nil && !errors.Is(err, context.Canceled) {
			r.note("the server ended with an error: " + err.Error())
		}
	}
	after.settle(before, cmp.Or(o.settle, settleTime))
	r.fill(before, after)
	p.Stuck = stuck
	if ctx.Err() != nil {
		p.Interrupted = true
	}
	p.judge()
	return p, nil
}

// A half says when the places begin no further conversation: after so many rounds, or
// when so much time has passed; 0 = no limit.
type half struct {
	rounds int
	time   time.Duration
}

// halves divides a run in two; one round cannot be divided.
func halves(o *Options) []half {
	first := half{o.Rounds / 2, o.Time / 2}
	second := half{o.Rounds - first.rounds, o.Time - first.time}
	if o.Rounds == 1 {
		return []half{second}
	}
	return []half{first, second}
}

// half runs conversations at all places until they have ended. It returns the last
// inputs of those that stand still.
func (r *run) half(ctx context.Context, h half, start time.Time, giveUp context.CancelCauseFunc) []string {
	timed := ctx
	if h.time > 0 {
		var cancel context.CancelFunc
		timed, cancel = context.WithTimeout(ctx, h.time)
		defer cancel()
	}
	var all sync.WaitGroup
	for i := range r.places {
		all.Go(func() { r.work(ctx, timed.Done(), i, h.rounds, start) })
	}
	done := make(chan struct{})
	go func() { all.Wait(); close(done) }()
	return r.watch(ctx, done, start, giveUp)
}

// work runs one conversation after another at a place, for a number of rounds (0 = any),
// until no further one may begin.
func (r *run) work(ctx context.Context, over <-chan struct{}, at, rounds int, start time.Time) {
	for round := 0; rounds == 0 || round < rounds; round++ {
		select {
		case <-over:
			return
		default:
		}
		n := int(r.begun.Add(1)) - 1
		r.converse(ctx, &r.places[at], n, start)
		r.ended.Add(1)
	}
	r.places[at].moved.Store(math.MaxInt64)
}

// converse runs one conversation, and judges its end.
func (r *run) converse(ctx context.Context, at *place, n int, start time.Time) {
	which := n % len(r.options.Kinds)
	kind := &r.options.Kinds[which]
	begun := time.Now()
	m, list, err := r.parts(kind, n)
	if err != nil {
		r.note(kind.Name + ": " + err.Error())
		return
	}
	mine, cancel := ctx, context.CancelFunc(func() {})
	if kind.Cancel > 0 {
		mine, cancel = context.WithTimeout(ctx, kind.Cancel)
	}
	defer cancel()
	task := loop.Task{Text: kind.Script.Task, Seed: uint64(n)}
	live := loop.NewLive(task, m, list, loop.LiveOptions{})
	machine, err := loop.New(config(), task, live.Tools())
	if err != nil {
		r.note(kind.Name + ": " + err.Error())
		return
	}
	out, err := loop.Run(mine, machine, &watched{live, at, kind.Name, start})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conversations.add(time.Since(begun))
	r.turns += out.Turns
	r.asked += out.ModelCalls
	r.judge(ctx, which, out, err, machine.History())
}

// parts returns the model and the tools of a conversation.
func (r *run) parts(kind *Kind, n int) (loop.Model, []loop.Tool, error) {
	list := tools(kind)
	var m loop.Model
	if r.server != nil {
		m = &remote{server: r.server, kind: kind.Name, conversation: fmt.Sprint(n), took: r.request}
	} else {
		script, err := newModel(kind, uint64(n))
		if err != nil {
			return nil, nil, err
		}
		m = &timed{script, r.request}
	}
	if r.options.wrap != nil {
		m, list = r.options.wrap(m, list)
	}
	return m, list, nil
}

// request counts a request that was answered.
func (r *run) request(took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests.add(took)
}

func (r *run) note(what string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wrong[what]++
}

// judge compares the end of a conversation with the expected one. An interrupted
// conversation may also be cancelled.
func (r *run) judge(ctx context.Context, which int, out loop.Outcome, err error, history []loop.Message) {
	name, want := r.options.Kinds[which].Name, r.expected[which]
	switch {
	case err != nil:
		r.wrong[fmt.Sprintf("%s broke off: %v", name, err)]++
	case ctx.Err() != nil && out.Stop == loop.StopCancelled:
		r.report.Cancelled++
	case out.Stop != want.Stop:
		r.wrong[fmt.Sprintf("%s ended by %s, not by %s: %s", name, out.Stop, want.Stop, out.Reason)]++
	case r.options.Kinds[which].Cancel > 0: // how far it got depends on the clock
	case out.Turns != want.Turns || out.Calls != want.Calls:
		r.wrong[fmt.Sprintf("%s had %d turns and %d calls, not %d and %d", name, out.Turns, out.Calls, want.Turns, want.Calls)]++
	}
	if problems := audit.CheckHistory(history); len(problems) > 0 {
		r.wrong[name+" left a history that APIs refuse: "+strings.Join(problems, "; ")]++
	}
}

// watched records the last input of a conversation.
type watched struct {
	loop.World
	at    *place
	kind  string
	start time.Time
}

func (w *watched) Do(ctx context.Context, in loop.Input, effects []loop.Effect) {
	var b []byte
	rec := loop.Record{In: in, Effects: effects}
	b = rec.AppendText(b)
	const most = 400
	text := w.kind + "\n" + string(b[:min(len(b), most)])
	w.at.last.Store(&text)
	w.at.moved.Store(int64(time.Since(w.start)))
	w.World.Do(ctx, in, effects)
}

// watch samples memory until all conversations have ended. If one stands still, it
// ends the run and returns the last inputs of those that do.
func (r *run) watch(ctx context.Context, done <-chan struct{}, start time.Time, giveUp context.CancelCauseFunc) []string {
	patience := cmp.Or(r.options.Watchdog, defaultWatchdog)
	look := time.NewTicker(min(patience/4, 250*time.Millisecond))
	defer look.Stop()
	interrupted := ctx.Done()
	var signalled time.Time
	for ticks := 0; ; ticks++ {
		select {
		case <-done:
			if !signalled.IsZero() {
				r.report.EndTook = time.Since(signalled)
			}
			return nil
		case <-interrupted:
			interrupted, signalled = nil, time.Now()
			continue
		case <-look.C:
		}
		if ticks%2 == 0 {
			r.sample()
		}
		if stuck := r.stuck(time.Since(start) - patience); len(stuck) > 0 {
			giveUp(errStuck)
			select {
			case <-done:
			case <-time.After(cmp.Or(r.options.settle, MaxEnd)):
			}
			return stuck
		}
	}
}

var errStuck = errors.New("a conversation stands still")

// stuck returns the last inputs of the conversations without an input since an
// instant.
func (r *run) stuck(since time.Duration) (all []string) {
	const most = 5
	n := 0
	for i := range r.places {
		if at := &r.places[i]; at.last.Load() != nil && at.moved.Load() < int64(since) {
			if n++; n <= most {
				all = append(all, *at.last.Load())
			}
		}
	}
	if n > most {
		all = append(all, fmt.Sprintf("and %d more", n-most))
	}
	return all
}

// sample samples memory. The load is steady if every place has had a conversation and
// nearly all places have one now.
func (r *run) sample() {
	ended, begun := r.ended.Load(), r.begun.Load()
	n := int64(r.options.Conversations)
	r.report.sampled(ended, ended >= n && begun-ended >= n-n/20)
}

// fill sets the figures of the report.
func (r *run) fill(before, after sample) {
	r.mu.Lock()
	defer r.mu.Unlock()
	p := r.report
	p.Ended, p.Turns, p.Requests = int(r.ended.Load()), r.turns, r.asked
	p.Conversation, p.Request = r.conversations.quantiles(), r.requests.quantiles()
	p.Goroutines = [2]int{before.goroutines, after.goroutines}
	p.Files = [2]int{before.files, after.files}
	p.HeapBefore, p.HeapAfter = before.heap, after.heap
	if cpu := after.cpu - before.cpu; cpu > 0 {
		p.GCShare = (after.gc - before.gc) / cpu
	}
	for what, n := range r.wrong {
		p.Wrong = append(p.Wrong, fmt.Sprintf("%d × %s", n, what))
	}
	slices.Sort(p.Wrong)
}

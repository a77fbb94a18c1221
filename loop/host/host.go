package host

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/session"
)

// Options say whom a host serves.
type Options struct {
	Tenants []Tenant     // at least one
	Log     *slog.Logger // gets what went wrong and why, without keys or texts; nil = nothing
}

// A Tenant is somebody with sessions of their own.
type Tenant struct {
	Name   string        // for the log and for [FromContext]; unique
	Key    string        // what its requests say after Bearer; at least 16 bytes, unique
	Agent  Agent         // what its sessions run
	Store  session.Store // keeps its sessions, and those of nobody else; nil = in memory
	Limits Limits
}

// An Agent is what a session runs.
type Agent struct {
	Config loop.Config
	Task   loop.Task // its Text is not used: a session's first message takes its place
	Model  loop.Model
	Tools  []loop.Tool // all sessions share them: their methods may be called at the same time
	// Hook is called at the points that Task.Hooks names. nil changes nothing.
	Hook func(ctx context.Context, at loop.HookPoint) loop.HookAnswer
}

// Limits bound what one tenant can use. A field that is 0 has its default.
type Limits struct {
	PerMinute int           // messages in a minute, all of which may come at once; 60
	Runs      int           // runs at the same time; 16
	Waiting   int           // messages that wait for the runs before them in their sessions; 64
	Sessions  int           // sessions in use at the same time, by a run or a stream; 256
	Streams   int           // streams at the same time; 256
	Body      int64         // bytes of a request's body; 64 KiB
	Records   int           // steps of a session, beyond which it takes no message; 100,000
	Kept      int           // bytes of events that a run keeps for slow readers; 1 MiB
	Answer    time.Duration // how long a question or a permission waits; 15 min
	Idle      time.Duration // how long a body may take to come, and a reader to take a piece of its stream; 30 s
}

func (l Limits) withDefaults() Limits {
	or := func(n *int, standard int) {
		if *n == 0 {
			*n = standard
		}
	}
	or(&l.PerMinute, 60)
	or(&l.Runs, 16)
	or(&l.Waiting, 64)
	or(&l.Sessions, 256)
	or(&l.Streams, 256)
	or(&l.Records, 100_000)
	or(&l.Kept, 1<<20)
	if l.Body == 0 {
		l.Body = 64 << 10
	}
	if l.Answer == 0 {
		l.Answer = 15 * time.Minute
	}
	if l.Idle == 0 {
		l.Idle = 30 * time.Second
	}
	return l
}

// The causes with which a host ends runs, as [context.Cause] of the context that models
// and tools get has [loop.ErrCancelled] in their place.
var (
	errCancel = errors.New("a request cancelled the run")
	errStop   = errors.New("the tenant was stopped")
	errClosed = errors.New("the host closed before the run had ended: it goes on when the host is back")
)

// A Host is an [http.Handler] that runs sessions. Make one with [New].
type Host struct {
	mux     *http.ServeMux
	log     *slog.Logger
	tenants map[[sha256.Size]byte]*tenant // by the hash of the key
	byName  map[string]*tenant
	work    sync.WaitGroup // the workers of all sessions
	mu      sync.Mutex
	closed  bool
}

// New returns a host. The error joins all mistakes in the options: among them those
// that [loop.New] finds in a config, a task or a tool.
func New(opts Options) (*Host, error) {
	h := &Host{mux: http.NewServeMux(), log: opts.Log, tenants: map[[sha256.Size]byte]*tenant{}, byName: map[string]*tenant{}}
	if h.log == nil {
		h.log = slog.New(slog.DiscardHandler)
	}
	if len(opts.Tenants) == 0 {
		return nil, errors.New("tenants: at least one is needed")
	}
	var mistakes []error
	stores := map[session.Store]string{}
	for i, t := range opts.Tenants {
		if err := h.add(t, stores); err != nil {
			mistakes = append(mistakes, fmt.Errorf("tenants[%d] %q: %w", i, t.Name, err))
		}
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	h.routes()
	return h, nil
}

// add checks a tenant and makes its sessions.
func (h *Host) add(t Tenant, stores map[session.Store]string) error {
	key := sha256.Sum256([]byte(t.Key))
	var mistakes []error
	no := func(format string, args ...any) { mistakes = append(mistakes, fmt.Errorf(format, args...)) }
	switch {
	case t.Name == "":
		no("it needs a name")
	case h.byName[t.Name] != nil:
		no("another tenant has the same name")
	}
	if len(t.Key) < 16 {
		no("its key has %d bytes: use at least 16", len(t.Key))
	} else if other := h.tenants[key]; other != nil {
		no("its key is that of tenant %q", other.Name)
	}
	if l := t.Limits; min(l.PerMinute, l.Runs, l.Waiting, l.Sessions, l.Streams, l.Records, l.Kept) < 0 || l.Body < 0 || min(l.Answer, l.Idle) < 0 {
		no("a limit is negative: use 0 for its default")
	}
	if t.Store == nil {
		t.Store = session.Memory()
	}
	if other, taken := stores[t.Store]; taken {
		no("its store is that of tenant %q: each needs its own", other)
	}
	stores[t.Store] = t.Name
	if t.Agent.Model == nil {
		no("its agent needs a model")
	}
	world := loop.NewLive(t.Agent.Task, t.Agent.Model, t.Agent.Tools, loop.LiveOptions{})
	task := t.Agent.Task
	task.Text = "a message"
	if _, err := loop.New(t.Agent.Config, task, world.Tools()); err != nil {
		mistakes = append(mistakes, err)
	}
	if err := errors.Join(mistakes...); err != nil {
		return err
	}
	t.Limits = t.Limits.withDefaults()
	made := &tenant{Tenant: t, host: h, open: map[string]*conversation{}, rate: bucket{size: float64(t.Limits.PerMinute)}}
	h.tenants[key], h.byName[t.Name] = made, made
	return nil
}

func (h *Host) routes() {
	of := func(pattern string, serve func(*tenant, http.ResponseWriter, *http.Request) error) {
		h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			t := h.tenantOf(r)
			if t == nil {
				w.Header().Set("WWW-Authenticate", "Bearer")
				writeError(w, &httpError{http.StatusUnauthorized, "the header Authorization needs the key of a tenant: Bearer KEY"})
				return
			}
			if err := serve(t, w, r); err != nil {
				writeError(w, err)
			}
		})
	}
	of("POST /v1/sessions/{session}/messages", (*tenant).postMessage)
	of("GET /v1/sessions/{session}/events", (*tenant).getEvents)
	of("GET /v1/sessions/{session}", (*tenant).getSession)
	of("POST /v1/sessions/{session}/answers/{ref}", (*tenant).postAnswer)
	of("POST /v1/sessions/{session}/cancel", (*tenant).postCancel)
	of("POST /v1/stop", func(t *tenant, w http.ResponseWriter, _ *http.Request) error {
		t.setStopped(true)
		return done(w)
	})
	of("POST /v1/start", func(t *tenant, w http.ResponseWriter, _ *http.Request) error {
		t.setStopped(false)
		return done(w)
	})
}

// tenantOf returns whose request it is, or nil. It looks a hash up, so the time that it
// takes says nothing about a key.
func (h *Host) tenantOf(r *http.Request) *tenant {
	scheme, key, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return nil
	}
	return h.tenants[sha256.Sum256([]byte(strings.TrimSpace(key)))]
}

// ServeHTTP answers a request.
func (h *Host) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// Stop is the kill switch of a tenant: its runs end as cancelled, and it takes no
// message until Start. It reports whether there is such a tenant.
func (h *Host) Stop(tenant string) bool { return h.setStopped(tenant, true) }

// Start lets a tenant take messages again.
func (h *Host) Start(tenant string) bool { return h.setStopped(tenant, false) }

func (h *Host) setStopped(name string, stopped bool) bool {
	t := h.byName[name]
	if t != nil {
		t.setStopped(stopped)
	}
	return t != nil
}

// Close takes no more messages and waits for the runs that are under way. When ctx is
// done it breaks them off: they are not cancelled, and a host with the same stores goes
// on with them. Close returns when no run is left.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		h.work.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	for _, t := range h.byName {
		t.endAll(errClosed)
	}
	<-ended
	return context.Cause(ctx)
}

// begin counts a worker, unless the host closes.
func (h *Host) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.work.Add(1)
	}
	return !h.closed
}

type contextKey struct{}

type names struct{ tenant, session string }

// FromContext returns the names of the tenant and the session that a model, a tool or a
// hook works for, from the context that it gets. They are "" in any other.
func FromContext(ctx context.Context) (tenant, session string) {
	n, _ := ctx.Value(contextKey{}).(names)
	return n.tenant, n.session
}

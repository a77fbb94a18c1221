package serve

import (
	"net/http"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
)

// maxDesks is the number of conversations whose tools are kept: at least half of it.
const maxDesks = 512

// desks hold the tools of the newest conversations. A conversation is told by its
// scenario and its seed alone: who executes a tool shows no history.
type desks struct {
	server     *Server
	mcp        func(*fakes.Desk) http.Handler
	mu         sync.Mutex
	young, old map[deskKey]*toolDesk
}

type deskKey struct {
	scene *scene
	seed  uint64
}

// A toolDesk holds the tools of a conversation.
type toolDesk struct {
	*fakes.Desk
	mcp  http.Handler // nil until it is asked for
	open map[*fakes.Execution]*running
}

// A running execution has not ended yet.
type running struct {
	Executed
	began time.Time
}

// Executed is an execution of a scripted tool as [Options.Executed] is told of it. The
// entry is Open when it begins, and no longer when it has ended.
type Executed struct {
	Entry     *Entry
	Execution *fakes.Execution
}

// Desk returns the tools of a conversation, for tools that are executed in this process:
// what is executed there is observed as what is executed over HTTP. It is nil if the
// server has no scenario of that name, or its script no tools that can be called.
func (s *Server) Desk(scenario string, seed uint64) *fakes.Desk {
	return s.desk(s.scenes[scenario], seed)
}

// desk returns the tools of a conversation, or nil if the script has none that can be
// called.
func (s *Server) desk(sc *scene, seed uint64) *fakes.Desk {
	if sc == nil || !sc.offered {
		return nil
	}
	return s.desks.of(sc, seed).Desk
}

func (d *desks) of(sc *scene, seed uint64) *toolDesk {
	key := deskKey{sc, seed}
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.young[key]
	if t == nil {
		if t = d.old[key]; t == nil {
			t = d.made(sc, seed)
		}
		if d.young == nil || len(d.young) >= maxDesks/2 {
			d.young, d.old = make(map[deskKey]*toolDesk), d.young
		}
		d.young[key] = t
	}
	return t
}

func (d *desks) made(sc *scene, seed uint64) *toolDesk {
	t := &toolDesk{Desk: fakes.NewDesk(sc.script, seed), open: map[*fakes.Execution]*running{}}
	s := d.server
	t.Observe = func(x *fakes.Execution) { // one call at a time, so open needs no lock
		now := time.Now()
		r := t.open[x]
		if r == nil {
			e := &Entry{AtMS: s.began.since(now), Scenario: sc.name, Seed: seed, Tool: clip(x.Call.Name), Call: x.Call.Ref().String(), Code: x.Said.Code, Open: true}
			if x.Said.Hang {
				e.Fault = "hang"
			}
			if x.Err != nil {
				e.Error = x.Err.Error()
			}
			r = &running{Executed{e, x}, now}
			t.open[x] = r
		}
		if x.Ended {
			delete(t.open, x)
		}
		s.journal.execution(&r.Executed, now.Sub(r.began).Milliseconds())
	}
	return t
}

// handler returns the handler of /mcp.
func (d *desks) handler(sc *scene, seed uint64) http.Handler {
	t := d.of(sc, seed)
	d.mu.Lock()
	defer d.mu.Unlock()
	if t.mcp == nil {
		t.mcp = d.mcp(t.Desk)
	}
	return t.mcp
}

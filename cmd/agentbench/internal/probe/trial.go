package probe

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/agentbench-go/agentbench/scenarios/observe"
)

// An Agent is what is probed: how it is started, and how long it may go on.
type Agent struct {
	Command []string // {URL}, {TASK} and the other names in braces are filled in
	Dir     string   // the folder that it starts in; "" = that of this process
	// ScratchDir and ScratchHome give each trial a new folder to start in, and a new
	// home.
	ScratchDir, ScratchHome bool
	Files                   []File            // written before each trial
	Through                 []string          // variables that are passed on although their names say secret
	Set                     map[string]string // variables of the client; the names in braces are filled in

	Cap, Calls    int           // of requests and calls, beyond those that the script itself needs
	Timeout, Idle time.Duration // of a trial in all, and of silence
	Speed         float64       // divides the script's waits
	Name          string        // of the variant in results
	// MCP returns what offers the script's tools over MCP; nil = nothing does.
	MCP func(*fakes.Desk) http.Handler
	// Keep is the folder where the bodies of requests and answers are kept, redacted, a
	// file a trial; "" = they are not kept.
	Keep string
	// Scratch is a folder with files that the agent's own tools may read.
	Scratch string
}

// A File is a template of a file that an agent reads, such as its configuration.
type File struct {
	Path    string // where it is written; names in braces are filled in
	Content string
}

// A seen is what one trial showed.
type seen struct {
	o        *observe.Observation
	api      string          // the first request's
	tools    []loop.ToolSpec // that it declares
	scripted bool            // a tool of the script is among them
	strays   int             // processes that outlived the agent
	left     string          // a folder of the trial that could not be removed, and why; "" = none
	stray    int             // requests that came without the trial's address
	stdout   int64           // bytes
}

// watchEvery is how often a trial looks how its agent is doing.
const watchEvery = 5 * time.Millisecond

// settleTime bounds how long a trial waits until answers that have arrived are noted.
const settleTime = time.Second

// trial runs the agent once against a script. own is the tool that is called in place
// of the script's, nil = the script's own.
func (a *Agent) trial(ctx context.Context, s *scenarios.Scenario, seed uint64, own *Tool) (*seen, error) {
	out := &seen{}
	began := time.Now()
	rec := &observe.Recorder{Clock: func() time.Duration { return time.Since(began).Truncate(time.Millisecond) }}
	var mu sync.Mutex
	var p *pattern
	if own != nil {
		p = newPattern(own, a.Scratch, s.Script.Tools)
	}
	o := serve.Options{Seed: seed, Speed: a.Speed, Observe: func(x *serve.Seen) {
		mu.Lock()
		if out.api == "" {
			out.api = x.Entry.API
		}
		out.scripted = out.scripted || len(x.Scripted) > 0
		mu.Unlock()
		rec.Seen(x)
	}, Executed: rec.Executed, MCP: a.MCP, OwnCalls: func(tools []loop.ToolSpec, calls []loop.AskedCall) {
		mu.Lock()
		if len(out.tools) == 0 {
			out.tools = tools
		}
		mu.Unlock()
		if p != nil {
			p.carry(tools, calls)
		}
	}}
	server, err := serve.New([]serve.Scenario{{Name: s.ID(), Script: &s.Script}}, o)
	if err != nil {
		return nil, err
	}
	var handler http.Handler = server
	kept := &bodies{handler: server}
	if a.Keep != "" {
		handler = kept
	}
	needed, neededCalls := observe.Needed(&s.Script)
	door, err := open(handler, rec, needed+a.Cap, neededCalls+a.Calls)
	if err != nil {
		return nil, err
	}
	defer door.close()
	c, clean, err := a.prepare(door, s)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := clean(); err != nil {
			out.left = err.Error()
		}
	}()
	proc, err := start(c)
	if err != nil {
		return nil, err
	}
	end := a.watch(ctx, proc, door, rec, began)
	out.o = rec.Observation() // before the end of the agent shows in its connections
	if proc.kill(); end.How != observe.Exited {
		end.Says = proc.says()
	}
	if a.Keep != "" {
		if err := kept.write(a.Keep, s, seed); err != nil {
			return nil, err
		}
	}
	mu.Lock()
	defer mu.Unlock()
	out.strays, out.stray, out.stdout = proc.strays, door.outside, proc.stdout.n
	out.o.Scenario, out.o.Variant, out.o.Seed, out.o.OwnTools, out.o.End = s, a.Name, seed, own != nil, end
	for _, path := range door.paths {
		out.o.Astray = append(out.o.Astray, path+" (without the path in the base URL)")
	}
	return out, nil
}

// watch waits until the agent ends by itself, or has to be ended.
func (a *Agent) watch(ctx context.Context, p *process, d *door, rec *observe.Recorder, began time.Time) observe.End {
	ticker := time.NewTicker(watchEvery)
	defer ticker.Stop()
	ended := func(e observe.End) observe.End {
		e.At = time.Since(began)
		return e
	}
	for {
		select {
		case r := <-p.ended:
			end := ended(observe.End{Code: r.Code, Signal: r.Signal})
			if r.Error != "" {
				end.How, end.Reason = observe.NotStarted, r.Error
				return end
			}
			p.kill() // its strays too, so that all that it asked has ended
			for settled := time.Now().Add(settleTime); rec.State().Open > 0 && time.Now().Before(settled); {
				time.Sleep(time.Millisecond)
			}
			end.Says = p.says()
			return end
		case <-ctx.Done():
			return ended(observe.End{How: observe.Interrupted})
		case how := <-d.full:
			limit := d.cap
			if how == observe.AtCalls {
				limit = d.calls
			}
			return ended(observe.End{How: how, Cap: limit})
		case <-ticker.C:
			now, state := time.Since(began), rec.State()
			switch {
			case now >= a.Timeout:
				return ended(observe.End{How: observe.AtTimeout, Limit: a.Timeout})
			case state.Open == 0 && now-state.Last >= a.Idle:
				return ended(observe.End{How: observe.Idle, Limit: a.Idle})
			}
		}
	}
}

// prepare makes what the agent needs: its folder, home, files and environment. clean
// removes it.
func (a *Agent) prepare(d *door, s *scenarios.Scenario) (c command, clean func() error, err error) {
	root, err := os.MkdirTemp("", "agentbench-probe-")
	if err != nil {
		return c, nil, err
	}
	clean = func() error { return removeAll(root) }
	defer func() {
		if err != nil {
			clean()
		}
	}()
	at := &place{base: d.base, task: s.Script.Task, dir: a.Dir}
	if at.self, err = os.Executable(); err != nil {
		return c, nil, err
	}
	if a.ScratchHome {
		at.home = filepath.Join(root, "home")
		if err = os.Mkdir(at.home, 0o777); err != nil {
			return c, nil, err
		}
	}
	if a.ScratchDir {
		at.dir = filepath.Join(root, "work")
		if err = os.Mkdir(at.dir, 0o777); err != nil {
			return c, nil, err
		}
		scratchFile(at.dir, 0)
	}
	for _, f := range a.Files {
		path := at.fill(f.Path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(at.dir, path)
		}
		if err = os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			err = os.WriteFile(path, []byte(at.fill(f.Content)), 0o666)
		}
		if err != nil {
			return c, nil, err
		}
	}
	set := variables(at)
	for name, value := range a.Set {
		set[name] = at.fill(value)
	}
	c = command{dir: at.dir, args: make([]string, len(a.Command))}
	for i, arg := range a.Command {
		c.args[i] = at.fill(arg)
	}
	c.env, _ = environment(os.Environ(), a.Through, set)
	return c, clean, nil
}

// removeAll removes a folder of which an agent may have taken the permissions away.
// It returns why something stays.
func removeAll(root string) error {
	if os.RemoveAll(root) == nil {
		return nil
	}
	filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			os.Chmod(path, 0o700) // the second try tells
		}
		return nil
	})
	return os.RemoveAll(root)
}

// A door is the address of one trial: a port and a path that no other trial has.
type door struct {
	base       string
	path       string // "/" and random digits
	server     http.Handler
	rec        *observe.Recorder
	cap, calls int
	full       chan observe.How

	http    *http.Server
	done    chan struct{}
	cancel  context.CancelFunc
	mu      sync.Mutex
	outside int      // requests that came without the path
	paths   []string // theirs, each once
}

// open opens the door of a trial.
func open(server http.Handler, rec *observe.Recorder, cap, calls int) (*door, error) {
	var digits [8]byte
	rand.Read(digits[:]) // never fails
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	d := &door{path: "/" + hex.EncodeToString(digits[:]), server: server, rec: rec, cap: cap, calls: calls, full: make(chan observe.How, 1),
		done: make(chan struct{}), cancel: cancel}
	d.base = "http://" + l.Addr().String() + d.path
	d.http = &http.Server{Handler: d, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10, BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		d.http.Serve(l)
		close(d.done)
	}()
	return d, nil
}

// close closes the door: the port, and every connection.
func (d *door) close() {
	d.cancel()
	d.http.Close()
	<-d.done
}

// maxOutside is how many paths without the door's are kept.
const maxOutside = 3

// ServeHTTP answers the requests to the trial's address, up to the cap. One that comes
// later is held until the agent is ended.
func (d *door) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := strings.CutPrefix(r.URL.Path, d.path)
	if !ok || rest != "" && rest[0] != '/' {
		d.mu.Lock()
		if d.outside++; len(d.paths) < maxOutside && !slices.Contains(d.paths, r.URL.Path) {
			d.paths = append(d.paths, r.URL.Path)
		}
		d.mu.Unlock()
		http.Error(w, fmt.Sprintf("agentbench: this is the address of one trial, which is %s/v1", d.base), http.StatusNotFound)
		return
	}
	if tools := strings.HasPrefix(rest, "/tools") || strings.HasPrefix(rest, "/mcp"); r.Method == http.MethodPost && !tools {
		switch s := d.rec.State(); {
		case s.Requests+s.Asides >= d.cap+maxAsides, s.Requests >= d.cap:
			d.hold(r, observe.AtCap)
		case s.Calls >= d.calls:
			d.hold(r, observe.AtCalls)
		}
	}
	if rest == "" {
		rest = "/"
	}
	inner := r.Clone(r.Context())
	inner.URL.Path, inner.URL.RawPath = rest, strings.TrimPrefix(r.URL.RawPath, d.path)
	d.server.ServeHTTP(w, inner)
}

// maxAsides is how many requests beside its loop an agent may send beyond the cap.
const maxAsides = 200

func (d *door) hold(r *http.Request, how observe.How) {
	select {
	case d.full <- how:
	default:
	}
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

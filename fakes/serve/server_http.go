package serve

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// Limits of a server.
const (
	maxBody     = 16 << 20
	smallBody   = 64 << 10 // a larger body needs one of the largeBodies places
	largeBodies = 8
	maxAtOnce   = 4096             // requests
	maxProblems = 20               // shown of one request
	maxCounted  = 16384            // requests whose tries are counted
	bodyTime    = 30 * time.Second // to send a body
	largeTime   = 5 * time.Second  // to send the part of a body after smallBody
)

// A Scenario is a script and the name under which it is served: suite/name.
type Scenario struct {
	Name   string // takes the place of the script's name
	Script *fakes.Script
}

// Options say how scenarios are served.
type Options struct {
	// Seed is the seed of requests whose path does not contain one.
	Seed uint64
	// Speed divides all waits; 0 = 1.
	Speed float64
	// Entries is the number of entries that the journal keeps; 0 = 1,000.
	Entries int
	// Strict refuses requests with problems for which the real API refuses them.
	Strict bool
	// ScriptedUsage leaves the usage of a reply at 0 if the script has none. Otherwise
	// it is estimated: a token for four characters.
	ScriptedUsage bool
	// OwnCalls is given the calls of each reply before it is sent, and the tools that
	// the request declares, and may change the names and arguments of the calls: for an
	// agent that has other tools than the script. It is called for each try, also if the
	// reply has no calls, and by several goroutines.
	OwnCalls func(tools []loop.ToolSpec, calls []loop.AskedCall)
	// ServerName is the name under which agents know the server of the script's tools
	// (MCP); "" = bench. If a request declares a tool of the script as one of that
	// server, such as mcp__bench__read_file, its tools are called by these names.
	ServerName string
	// MCP answers the requests at /mcp beside /tools: it returns the handler of a
	// conversation. nil = there is no /mcp.
	MCP func(*fakes.Desk) http.Handler
	// Observe is called twice for each request in the journal, when its answer
	// begins (or hangs) and when it has ended, one call at a time. It must not keep
	// the Seen or its Entry, which change, nor call the server.
	Observe func(*Seen)
	// Executed is called when the execution of a scripted tool begins and when it has
	// ended, one call of Executed and Observe at a time. It must not keep what it gets,
	// nor call the server.
	Executed func(*Executed)
}

// A Server answers requests to a model from scripts. It is an [http.Handler], and
// [Server.Serve] runs it on a listener until a context ends.
type Server struct {
	seed    uint64
	speed   float64
	strict  bool
	exact   bool // no usage is estimated
	own     func([]loop.ToolSpec, []loop.AskedCall)
	scenes  map[string]*scene
	names   []string
	server  string // of the tools: its plain name
	desks   desks
	only    *scene // the scene, if there is only one
	models  []byte // the list of models
	tries   *tries
	journal journal
	began   beginning
	atOnce  atomic.Int64
	large   chan struct{} // holds one element for each large body being read
	bodies  sync.Pool     // of *bytes.Buffer
	streams sync.Pool     // of *stream
}

// New returns a server of scenarios, which must not change afterwards. The error
// joins the errors of their scripts, and names scenarios with the same name.
func New(scenarios []Scenario, o Options) (*Server, error) {
	s := &Server{seed: o.Seed, speed: o.Speed, exact: o.ScriptedUsage, strict: o.Strict, own: o.OwnCalls, scenes: make(map[string]*scene, len(scenarios)), tries: newTries(maxCounted / 2),
		journal: journal{observe: o.Observe, executed: o.Executed, scenes: map[string]*sceneTally{}, max: o.Entries},
		large:   make(chan struct{}, largeBodies)}
	if s.speed == 0 {
		s.speed = 1
	}
	if s.journal.max <= 0 {
		s.journal.max = 1000
	}
	s.journal.planned = func(scene string) []Planned { return PlannedFailures(s.scenes[scene].script) }
	s.server = plainName(cmp.Or(o.ServerName, "bench"))
	s.desks = desks{server: s, mcp: o.MCP}
	s.bodies.New = func() any { return new(bytes.Buffer) }
	s.streams.New = func() any { return new(stream) }
	var errs []error
	for _, sc := range scenarios {
		if err := s.add(sc); err != nil {
			errs = append(errs, err)
		}
	}
	if len(s.names) == 1 {
		s.only = s.scenes[s.names[0]]
	}
	s.models = appendModels(nil, s.names)
	return s, errors.Join(errs...)
}

func (s *Server) add(sc Scenario) error {
	script := *sc.Script
	script.Name = sc.Name
	model, err := fakes.NewModel(&script, 0)
	if err != nil {
		return fmt.Errorf("%s: %w", sc.Name, err)
	}
	if s.scenes[sc.Name] != nil {
		return fmt.Errorf("there are two scenarios %s", sc.Name)
	}
	out := &scene{name: sc.Name, renamed: s.own != nil, script: &script, model: model, struck: len(sc.Script.Faults) > 0}
	for i := range sc.Script.Model {
		out.calls = out.calls || len(sc.Script.Model[i].Calls) > 0
		out.conditional = out.conditional || sc.Script.Model[i].When != fakes.WhenAlways
	}
	for i := range sc.Script.Tools {
		out.offered = out.offered || sc.Script.Tools[i].Session == nil
	}
	s.scenes[sc.Name] = out
	s.names = append(s.names, sc.Name)
	return nil
}

// appendModels writes the list of models with the fields of both vendors.
func appendModels(b []byte, names []string) []byte {
	b = append(b, `{"object":"list","data":[`...)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendModel(b, name)
	}
	return append(b, `],"has_more":false}`...)
}

func appendModel(b []byte, name string) []byte {
	b = appendText(append(b, `{"id":`...), name)
	b = appendText(append(b, `,"object":"model","created":0,"owned_by":"agentbench","type":"model","display_name":`...), name)
	return append(b, `,"created_at":"1970-01-01T00:00:00Z"}`...)
}

// apis maps paths to the APIs that are served there.
var apis = map[string]api{
	"/v1/chat/completions": chat{},
	"/v1/responses":        responses{},
	"/v1/messages":         messages{},

	"/v1/messages/count_tokens": messages{},
	compactPath:                 responses{},
}

// countPaths are those that count the tokens of a request.
var countPaths = map[string]bool{"/v1/messages/count_tokens": true}

const endpoints = "POST /v1/chat/completions, POST /v1/responses, POST /v1/responses/compact, POST /v1/messages, POST /v1beta/models/MODEL:generateContent, POST /v1/embeddings, GET /v1/models, GET /tools, POST /tools/NAME, GET /health or GET /__agentbench/journal"

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Server: s, w: w, r: r, api: chat{}, came: time.Now(), seed: s.seed,
		entry: &Entry{Path: clip(r.URL.Path)}}
	defer s.atOnce.Add(-1)
	if s.atOnce.Add(1) > maxAtOnce {
		x.refuse(&refusal{http.StatusServiceUnavailable, "too_many_requests", fmt.Sprintf("more than %d requests at once", maxAtOnce)})
		return
	}
	if problem := Foreign(r); problem != "" {
		x.answerRefusal(&refusal{http.StatusForbidden, "not_local", problem})
		return
	}
	if s.speed != 1 {
		w.Header().Set("X-Agentbench-Speed", strconv.FormatFloat(s.speed, 'g', -1, 64))
	}
	x.route()
}

// Foreign returns why a request is refused before it is read, or "" for a request of
// this machine. A request is foreign if its host is another machine, whose name a
// name server may have pointed here, or if a web page from another machine sent it.
// Foreign requests are left out of the journal, which they could fill.
func Foreign(r *http.Request) string {
	if !local(r.Host) {
		return "this server answers to localhost and to loopback addresses only"
	}
	origin := r.Header.Get("Origin")
	from, err := url.Parse(origin)
	web := origin == "null" || strings.HasPrefix(origin, "http")
	if web && (err != nil || !local(from.Host)) || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		return "this server does not answer to web pages from other machines"
	}
	return ""
}

// local reports whether a host, with or without a port, is this machine. Names are
// compared without regard to case, and may end with a dot (RFC 9110, RFC 3986).
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}

// An exchange is one request and its answer.
type exchange struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	api   api
	scene *scene // nil until the scenario is known
	seed  uint64
	entry *Entry
	seen  Seen // for the observer
	came  time.Time
	holds bool // has an element in large
}

// route answers a request by its path and method.
func (x *exchange) route() {
	path, err := x.scenario(x.r.URL.Path)
	counts := countPaths[path]
	if a := apis[path]; a != nil {
		x.api = a
	} else if g, method := geminiAt(path); method != "" {
		x.api, counts = g, method == "countTokens"
	}
	known := apis[path] != nil || x.api.name() == "gemini"
	if known && !counts {
		x.entry.API = x.api.name()
	}
	tools, isTool := strings.CutPrefix(path, toolsPath)
	switch {
	case err != nil:
		x.astray(&refusal{http.StatusNotFound, "unknown_scenario", err.Error()})
	case isTool && (tools == "" || tools[0] == '/'):
		x.tools(tools)
	case path == mcpPath && x.desks.mcp != nil:
		x.mcp()
	case known && x.r.Method == http.MethodPost && counts:
		x.count()
	case path == compactPath && x.r.Method == http.MethodPost:
		x.compact()
	case known && x.r.Method == http.MethodPost:
		x.ask()
	case path == "/v1/embeddings" && x.r.Method == http.MethodPost:
		x.embed()
	case known:
		x.w.Header().Set("Allow", http.MethodPost)
		x.astray(&refusal{http.StatusMethodNotAllowed, "method_not_allowed", path + " takes POST, not " + clip(x.r.Method)})
	case x.r.Method != http.MethodGet && x.r.Method != http.MethodHead:
		x.astray(&refusal{http.StatusNotFound, "unknown_path", fmt.Sprintf("there is no %s %s: use %s", clip(x.r.Method), clip(path), endpoints)})
	case path == "/": // clients look here whether there is a server
		x.json([]byte(`{"service":"agentbench serve"}`))
	case path == "/v1/models":
		x.json(x.models)
	case path == "/v1beta/models":
		x.json(appendGeminiModels(nil, x.names))
	case strings.HasPrefix(path, "/v1/models/"):
		x.json(appendModel(nil, strings.TrimPrefix(path, "/v1/models/")))
	case strings.HasPrefix(path, "/v1beta/models/"):
		x.json(appendGeminiModel(nil, strings.TrimPrefix(path, "/v1beta/models/")))
	case path == "/health":
		x.json([]byte(`{"status":"ok"}`))
	case path == "/__agentbench/journal":
		x.writeJournal(x.w)
	default:
		x.astray(&refusal{http.StatusNotFound, "unknown_path", fmt.Sprintf("there is no %s: use %s", clip(path), endpoints)})
	}
}

// scenario cuts /run/SUITE/SCENARIO/SEED from a path, and sets the scenario and the
// seed. Without that prefix, it sets the only scenario of the server, if it has one.
func (x *exchange) scenario(path string) (rest string, err error) {
	inside, ok := strings.CutPrefix(path, "/run/")
	if !ok {
		x.scene = x.only
		return path, nil
	}
	parts := strings.SplitN(inside, "/", 4)
	if len(parts) < 4 {
		return path, errors.New("the path of a scenario is /run/SUITE/SCENARIO/SEED/v1/…")
	}
	rest = "/" + parts[3]
	name := parts[0] + "/" + parts[1]
	if x.scene = x.scenes[name]; x.scene == nil {
		return rest, x.noScenario(name)
	}
	if x.seed, err = strconv.ParseUint(parts[2], 10, 64); err != nil {
		return rest, fmt.Errorf("the seed in the path must be a whole number of 0 or more, not %s", quoted(parts[2]))
	}
	return rest, nil
}

// noScenario returns the error of a scenario that is not served.
func (s *Server) noScenario(name string) error {
	const shown = 5
	names := s.names
	more := ""
	if len(names) > shown {
		names, more = names[:shown], fmt.Sprintf(" and %d more (GET /v1/models lists them)", len(s.names)-shown)
	}
	return fmt.Errorf("scenario %s is not served: use %s%s", quoted(name), strings.Join(names, ", "), more)
}

// json answers with a JSON text.
func (x *exchange) json(body []byte) {
	x.w.Header().Set("Content-Type", "application/json")
	x.w.Write(body) // an error means that the client has left
}

// A refusal says why the server does not answer a request from the script.
type refusal struct {
	status        int
	code, problem string
}

// refuse sends a refusal and journals the request, for its scenario if the path says which.
func (x *exchange) refuse(r *refusal) {
	if x.scene != nil && !x.entry.Astray {
		x.entry.Scenario, x.entry.Seed = x.scene.name, x.seed
	}
	x.entry.Error = r.problem
	x.begin()
	x.answerRefusal(r)
	x.end(r.status, false)
}

// astray refuses a request whose path or method is not served.
func (x *exchange) astray(r *refusal) {
	x.entry.Astray = true
	x.refuse(r)
}

// answerRefusal sends a refusal without an entry in the journal.
func (x *exchange) answerRefusal(r *refusal) {
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Should-Retry", "false")
	x.identify(h)
	x.w.WriteHeader(r.status)
	x.w.Write(x.signed(x.api.failure(nil, r.status, r.code, "agentbench: "+r.problem, 0)))
}

// identify sets the header with the id of the request.
func (x *exchange) identify(h http.Header) {
	if name := x.api.requestID(); name != "" && x.entry.N > 0 {
		h.Set(name, requestID(x.entry.N))
	}
}

// signed adds the id of the request to the body of an error of Anthropic's API.
func (x *exchange) signed(body []byte) []byte {
	if _, ok := x.api.(messages); !ok || x.entry.N == 0 {
		return body
	}
	body = appendText(append(body[:len(body)-1], `,"request_id":`...), requestID(x.entry.N))
	return append(body, '}')
}

// requestID returns the id of the n-th request in the journal.
func requestID(n int) string { return "req_" + strconv.Itoa(n) }

func (x *exchange) begin() {
	x.entry.AtMS = x.began.since(x.came)
	x.entry.Open = true
	x.seen.Entry = x.entry
	x.journal.begin(&x.seen)
}

func (x *exchange) end(status int, gone bool) {
	x.journal.end(&x.seen, time.Since(x.came).Milliseconds(), status, gone)
}

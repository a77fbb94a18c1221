package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// The paths of a scenario's tools.
const (
	toolsPath = "/tools"
	mcpPath   = "/mcp"
)

// toolStatus are the statuses of failed calls. With other codes the
// connection is lost (ConnectionLost, NotSent), or the status is 500.
var toolStatus = map[loop.Code]int{
	loop.InvalidInput:    http.StatusBadRequest,
	loop.Unauthorized:    http.StatusUnauthorized,
	loop.Forbidden:       http.StatusForbidden,
	loop.NotFound:        http.StatusNotFound,
	loop.RateLimited:     http.StatusTooManyRequests,
	loop.ToolBug:         http.StatusInternalServerError,
	loop.RetryableServer: http.StatusServiceUnavailable,
	loop.Timeout:         http.StatusGatewayTimeout,
}

// toolWait is how long a rate-limited tool asks its caller to wait.
const toolWait = time.Second

// codeHeader tells the code of a scripted failure.
const codeHeader = "X-Agentbench-Code"

// tools answers a request below /tools. rest is the path after it.
func (x *exchange) tools(rest string) {
	name := strings.TrimPrefix(rest, "/")
	read := x.r.Method == http.MethodGet || x.r.Method == http.MethodHead
	switch {
	case x.scene == nil:
		x.astray(&refusal{http.StatusNotFound, "unknown_scenario", "the tools of several scenarios are at /run/SUITE/SCENARIO/SEED/tools"})
	case name == "" && read:
		x.json(x.scene.toolList())
	case name == "" || x.r.Method != http.MethodPost:
		allow := http.MethodPost
		if name == "" {
			allow = http.MethodGet
		}
		x.w.Header().Set("Allow", allow)
		x.astray(&refusal{http.StatusMethodNotAllowed, "method_not_allowed", fmt.Sprintf("GET /tools lists the tools, POST /tools/NAME calls one; there is no %s %s", clip(x.r.Method), clip(toolsPath+rest))})
	case !x.scene.has(name):
		x.astray(&refusal{http.StatusNotFound, "unknown_tool", fmt.Sprintf("there is no tool %s: %s", quoted(name), x.scene.toolNames())})
	default:
		x.execute(name)
	}
}

// mcp answers a request of MCP.
func (x *exchange) mcp() {
	if x.scene == nil {
		x.astray(&refusal{http.StatusNotFound, "unknown_scenario", "the tools of several scenarios are at /run/SUITE/SCENARIO/SEED/mcp"})
		return
	}
	if x.r.Method == http.MethodPost { // with the limits of all bodies
		body, refused := x.body()
		if refused != nil {
			x.astray(refused)
			return
		}
		x.r.Body, x.r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	}
	x.desks.handler(x.scene, x.seed).ServeHTTP(x.w, x.r)
}

// body reads the body of a request.
func (x *exchange) body() ([]byte, *refusal) {
	body := x.bodies.Get().(*bytes.Buffer)
	defer x.release(body)
	refused := x.read(body)
	return bytes.Clone(body.Bytes()), refused
}

// has reports whether the script has a tool of that name that can be called.
func (sc *scene) has(name string) bool {
	return slices.ContainsFunc(sc.script.Tools, func(t fakes.Tool) bool { return t.Name == name && t.Session == nil })
}

// toolNames tells the tools of the script.
func (sc *scene) toolNames() string {
	var names []string
	for _, t := range sc.script.Tools {
		if t.Session == nil {
			names = append(names, t.Name)
		}
	}
	if names == nil {
		return "the scenario has no tools"
	}
	return "the scenario has " + clip(strings.Join(names, ", "))
}

// toolList writes the tools of the script.
func (sc *scene) toolList() []byte {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	list := []tool{}
	for _, t := range sc.script.Tools {
		if t.Session != nil {
			continue
		}
		schema := json.RawMessage(`{"type":"object"}`)
		if json.Valid([]byte(t.Input)) {
			schema = json.RawMessage(t.Input)
		}
		list = append(list, tool{t.Name, t.Description, schema})
	}
	body, _ := json.Marshal(map[string]any{"tools": list}) // which cannot fail
	return body
}

// execute answers the execution of a tool.
func (x *exchange) execute(name string) {
	x.entry.Type, x.entry.Tool, x.entry.Scenario, x.entry.Seed = callEntry, clip(name), x.scene.name, x.seed
	args, refused := x.arguments()
	if refused != nil {
		x.refuse(refused)
		return
	}
	e := x.desks.of(x.scene, x.seed).Execute(name, args)
	if e.Err != nil {
		e.End(false)
		problem := e.Err.Error()
		if dry := new(fakes.DryError); errors.As(e.Err, &dry) {
			problem = dry.Problem
		}
		x.answerRefusal(&refusal{http.StatusUnprocessableEntity, "script_ran_dry", problem})
		return
	}
	answered := false
	defer func() { e.End(answered) }()
	if e.Said.Hang {
		<-x.r.Context().Done()
		panic(http.ErrAbortHandler)
	}
	if !x.wait(e.Said.After) {
		panic(http.ErrAbortHandler)
	}
	if code := e.Said.Code; code == loop.ConnectionLost || code == loop.NotSent {
		answered = true // by what the client sees of it
		panic(http.ErrAbortHandler)
	}
	answered = x.answerTool(&e.Said)
}

// answerTool sends the answer of a tool, and reports whether it was sent.
func (x *exchange) answerTool(said *fakes.ToolSaid) bool {
	status := http.StatusOK
	if said.Code.Failed() {
		status = cmp.Or(toolStatus[said.Code], http.StatusInternalServerError)
	}
	h := x.w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	if said.Code != loop.None {
		h.Set(codeHeader, string(said.Code))
	}
	if said.Code == loop.RateLimited {
		x.retryAfter(h, &plan{wait: toolWait})
	}
	x.w.WriteHeader(status)
	_, err := io.WriteString(x.w, said.Text)
	return err == nil
}

// arguments reads the arguments of an execution: a JSON object, or nothing.
func (x *exchange) arguments() (string, *refusal) {
	body, refused := x.body()
	if refused != nil {
		return "", refused
	}
	text := bytes.TrimSpace(body)
	if len(text) == 0 {
		return "{}", nil
	}
	v, err := parse(text)
	if err != nil {
		return "", &refusal{http.StatusBadRequest, "bad_request", "the arguments are not JSON: " + err.Error()}
	}
	if !v.is('{') {
		return "", &refusal{http.StatusBadRequest, "bad_request", "the arguments must be a JSON object, not " + v.kind()}
	}
	return string(text), nil
}

//go:build unix

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
)

// serving is the environment variable that turns the test binary into a server: its
// value is bare, or the number of scenarios.
const serving = "AGENTBENCH_TEST_SERVING"

// serveForever runs in a separate process, so that its CPU time is only that of the
// server. It serves that time at /cpu, and ends when its standard input ends.
func serveForever(what string) {
	var h http.Handler = http.HandlerFunc(bare)
	if what != "bare" {
		var n int
		fmt.Sscan(what, &n)
		h = scripted(n)
	}
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/cpu", func(w http.ResponseWriter, _ *http.Request) {
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		fmt.Fprint(w, u.Utime.Nano()+u.Stime.Nano())
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go http.Serve(l, mux)
	io.Copy(io.Discard, os.Stdin)
}

const (
	benchText = "The page says that the board met on Tuesday and that nothing was decided."
	benchArgs = `{"path":"/srv/archive/2026/minutes/of/the/board/volume-one/chapter-two","page":3,"lines":"1..200"}`
)

// scripted serves n scenarios.
func scripted(n int) *Server {
	script := &fakes.Script{Model: []fakes.Step{
		{Text: benchText, Calls: []fakes.StepCall{{Name: "read_page", Args: benchArgs}}, Repeat: fakes.Forever, Latency: fakes.Instantly(), TokensIn: 800, TokensOut: 30},
	}}
	list := []Scenario{{"bench/one", script}}
	for i := 1; i < n; i++ {
		list = append(list, Scenario{fmt.Sprintf("bench/other-%d", i), script})
	}
	s, err := New(list, Options{})
	if err != nil {
		panic(err)
	}
	return s
}

// bare reads the same request, whole, and returns the same answer without a script.
func bare(w http.ResponseWriter, r *http.Request) {
	for i := range wires {
		if wire := &wires[i]; strings.HasSuffix(r.URL.Path, wire.path) || strings.HasSuffix(r.URL.Path, wire.streamPath) {
			wire.serveBare(w, r)
			return
		}
	}
	http.NotFound(w, r)
}

func (b *benchWire) serveBare(w http.ResponseWriter, r *http.Request) {
	stream, err := b.decode(json.NewDecoder(r.Body))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if stream || b.streamPath != b.path && strings.HasSuffix(r.URL.Path, b.streamPath) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(b.events)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(b.whole)
}

// A benchWire is an API of the benchmark: how a client would write a request in Go, and
// what the bare handler answers.
type benchWire struct {
	name, path, streamPath string
	head, first            string // of a request, up to the first message, and that
	called, answered       string // a reply and its result, with the number of the turn
	tail                   string // %v = whether it is streamed
	decode                 func(*json.Decoder) (stream bool, err error)
	whole, events          []byte
}

const benchTool = `"name":"read_page","description":"Read a page","%s":{"type":"object","properties":{"path":{"type":"string"},"page":{"type":"integer"},"lines":{"type":"string"}},"required":["path","page"]}`

var (
	benchPage  = strings.Repeat("A line of the page, and then a line break.\\n", 5)
	quotedArgs = func() string { raw, _ := json.Marshal(benchArgs); return string(raw) }()
)

var wires = []benchWire{
	{
		name: "chat", path: "/v1/chat/completions", streamPath: "/v1/chat/completions",
		head:     `{"model":"gpt-test","temperature":0,"messages":[{"role":"system","content":"You read minutes."}`,
		first:    `,{"role":"user","content":"What was decided?"}`,
		called:   `,{"role":"assistant","content":"` + benchText + `","tool_calls":[{"id":"call_%[1]d","type":"function","function":{"name":"read_page","arguments":` + quotedArgs + `}}]}`,
		answered: `,{"role":"tool","tool_call_id":"call_%[1]d","content":"` + benchPage + `"}`,
		tail:     `],"stream":%v,"tools":[{"type":"function","function":{` + fmt.Sprintf(benchTool, "parameters") + `}}]}`,
		decode: func(d *json.Decoder) (bool, error) {
			var req struct {
				Model         string `json:"model"`
				Stream        bool   `json:"stream"`
				StreamOptions struct {
					IncludeUsage bool `json:"include_usage"`
				} `json:"stream_options"`
				Messages []struct {
					Role       string `json:"role"`
					Content    string `json:"content"`
					ToolCallID string `json:"tool_call_id"`
					ToolCalls  []struct {
						ID       string `json:"id"`
						Type     string `json:"type"`
						Function struct {
							Name      string `json:"name"`
							Arguments string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"messages"`
			}
			err := d.Decode(&req)
			return req.Stream, err
		},
	},
	{
		name: "responses", path: "/v1/responses", streamPath: "/v1/responses",
		head:     `{"model":"gpt-test","instructions":"You read minutes.","input":[`,
		first:    `{"type":"message","role":"user","content":"What was decided?"}`,
		called:   `,{"type":"message","role":"assistant","content":[{"type":"output_text","text":"` + benchText + `"}]},{"type":"function_call","call_id":"call_%[1]d","name":"read_page","arguments":` + quotedArgs + `}`,
		answered: `,{"type":"function_call_output","call_id":"call_%[1]d","output":"` + benchPage + `"}`,
		tail:     `],"stream":%v,"tools":[{"type":"function",` + fmt.Sprintf(benchTool, "parameters") + `}]}`,
		decode: func(d *json.Decoder) (bool, error) {
			var req struct {
				Model        string `json:"model"`
				Instructions string `json:"instructions"`
				Stream       bool   `json:"stream"`
				Input        []struct {
					Type      string          `json:"type"`
					Role      string          `json:"role"`
					Content   json.RawMessage `json:"content"`
					CallID    string          `json:"call_id"`
					Name      string          `json:"name"`
					Arguments string          `json:"arguments"`
					Output    string          `json:"output"`
				} `json:"input"`
			}
			err := d.Decode(&req)
			return req.Stream, err
		},
	},
	{
		name: "messages", path: "/v1/messages", streamPath: "/v1/messages",
		head:     `{"model":"claude-test","max_tokens":1000,"system":"You read minutes.","messages":[`,
		first:    `{"role":"user","content":"What was decided?"}`,
		called:   `,{"role":"assistant","content":[{"type":"text","text":"` + benchText + `"},{"type":"tool_use","id":"call_%[1]d","name":"read_page","input":` + benchArgs + `}]}`,
		answered: `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_%[1]d","content":"` + benchPage + `"}]}`,
		tail:     `],"stream":%v,"tools":[{` + fmt.Sprintf(benchTool, "input_schema") + `}]}`,
		decode: func(d *json.Decoder) (bool, error) {
			var req struct {
				Model    string `json:"model"`
				System   string `json:"system"`
				Stream   bool   `json:"stream"`
				Messages []struct {
					Role    string          `json:"role"`
					Content json.RawMessage `json:"content"`
				} `json:"messages"`
			}
			if err := d.Decode(&req); err != nil {
				return false, err
			}
			for _, m := range req.Messages {
				var blocks []struct {
					Type      string          `json:"type"`
					Text      string          `json:"text"`
					ID        string          `json:"id"`
					Name      string          `json:"name"`
					Input     json.RawMessage `json:"input"`
					ToolUseID string          `json:"tool_use_id"`
					Content   string          `json:"content"`
				}
				if m.Content[0] != '[' {
					continue
				}
				if err := json.Unmarshal(m.Content, &blocks); err != nil {
					return false, err
				}
			}
			return req.Stream, nil
		},
	},
	{
		name: "gemini", path: "/v1beta/models/g:generateContent", streamPath: "/v1beta/models/g:streamGenerateContent",
		head:     `{"systemInstruction":{"parts":[{"text":"You read minutes."}]},"contents":[`,
		first:    `{"role":"user","parts":[{"text":"What was decided?"}]}`,
		called:   `,{"role":"model","parts":[{"text":"` + benchText + `"},{"functionCall":{"id":"call_%[1]d","name":"read_page","args":` + benchArgs + `}}]}`,
		answered: `,{"role":"user","parts":[{"functionResponse":{"id":"call_%[1]d","name":"read_page","response":{"output":"` + benchPage + `"}}}]}`,
		tail:     `],"tools":[{"functionDeclarations":[{` + fmt.Sprintf(benchTool, "parameters") + `}]}]}`,
		decode: func(d *json.Decoder) (bool, error) {
			type content struct {
				Role  string `json:"role"`
				Parts []struct {
					Text string `json:"text"`
					Call *struct {
						ID   string          `json:"id"`
						Name string          `json:"name"`
						Args json.RawMessage `json:"args"`
					} `json:"functionCall"`
					Response *struct {
						ID       string          `json:"id"`
						Name     string          `json:"name"`
						Response json.RawMessage `json:"response"`
					} `json:"functionResponse"`
				} `json:"parts"`
			}
			var req struct {
				System   content   `json:"systemInstruction"`
				Contents []content `json:"contents"`
			}
			return false, d.Decode(&req)
		},
	},
}

func init() {
	if os.Getenv(serving) != "bare" {
		return
	}
	for i := range wires {
		wire := &wires[i]
		for _, stream := range []bool{false, true} {
			w := &recorder{header: http.Header{}}
			r, err := http.NewRequest("POST", "http://localhost/run/bench/one/1"+wire.at(stream), bytes.NewReader(wire.request(0, stream)))
			if err != nil {
				panic(err)
			}
			scripted(1).ServeHTTP(w, r)
			if wire.whole, wire.events = wire.events, w.body.Bytes(); !bytes.Contains(wire.events, []byte("read_page")) {
				panic(string(wire.events))
			}
		}
	}
}

// at returns the path of a request.
func (b *benchWire) at(stream bool) string {
	if stream && b.streamPath != b.path {
		return b.streamPath + "?alt=sse"
	}
	return b.path
}

type recorder struct {
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(int)             {}

// request returns a request with a history of that number of turns.
func (b *benchWire) request(turns int, stream bool) []byte {
	var body strings.Builder
	body.WriteString(b.head + b.first)
	for i := range turns {
		fmt.Fprintf(&body, b.called+b.answered, i+1)
	}
	if strings.Contains(b.tail, "%v") {
		fmt.Fprintf(&body, b.tail, stream)
	} else {
		body.WriteString(b.tail)
	}
	return []byte(body.String())
}

// A child is a server in a separate process.
type child struct {
	b    *testing.B
	url  string
	stop func()
}

func startChild(b *testing.B, what string) *child {
	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Env = append(os.Environ(), serving+"="+what)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var addr string
	if _, err := fmt.Fscanln(stdout, &addr); err != nil {
		b.Fatal(err)
	}
	return &child{b, "http://" + addr, func() { stdin.Close(); cmd.Wait() }}
}

// cpu returns the CPU time that the server has used, in nanoseconds.
func (c *child) cpu() (ns int64) {
	resp, err := http.Get(c.url + "/cpu")
	if err != nil {
		c.b.Fatal(err)
	}
	defer resp.Body.Close()
	if _, err := fmt.Fscan(resp.Body, &ns); err != nil {
		c.b.Fatal(err)
	}
	return ns
}

func (c *child) ask(path string, body []byte) {
	resp, err := http.Post(c.url+"/run/bench/one/1"+path, "application/json", bytes.NewReader(body))
	if err != nil {
		c.b.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		c.b.Fatal(resp.Status)
	}
}

// BenchmarkServer measures the CPU time of a server for each request, in each API,
// beside that of a bare handler; the two take turns. The number of scenarios does not
// matter.
func BenchmarkServer(b *testing.B) {
	for i := range wires {
		wire := &wires[i]
		for _, turns := range []int{0, 16} {
			for _, stream := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/turns=%d/stream=%v", wire.name, turns, stream), func(b *testing.B) { compare(b, wire, turns, stream, "1") })
			}
		}
	}
	b.Run("chat/turns=0/stream=false/scenarios=1000", func(b *testing.B) { compare(b, &wires[0], 0, false, "1000") })
}

func compare(b *testing.B, wire *benchWire, turns int, stream bool, scenes string) {
	path, body := wire.at(stream), wire.request(turns, stream)
	servers := []*child{startChild(b, "bare"), startChild(b, scenes)}
	used := make([]int64, len(servers))
	for _, s := range servers {
		defer s.stop()
		for range 200 { // warm
			s.ask(path, body)
		}
	}
	const round = 100
	n := 0
	for b.Loop() {
		for i, s := range servers {
			before := s.cpu()
			for range round {
				s.ask(path, body)
			}
			used[i] += s.cpu() - before
		}
		n += round
	}
	b.ReportMetric(float64(used[0])/float64(n)/1e3, "bare-µs/request")
	b.ReportMetric(float64(used[1])/float64(n)/1e3, "server-µs/request")
	b.ReportMetric(float64(used[1])/float64(used[0]), "x-bare")
	b.ReportMetric(0, "ns/op")
}

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

// bare reads the same request and returns the same answer without a script.
func bare(w http.ResponseWriter, r *http.Request) {
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
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if req.Stream {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Write(bareStream)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(bareReply)
}

var bareReply, bareStream = func() (whole, events []byte) {
	for _, stream := range []bool{false, true} {
		w := &recorder{header: http.Header{}}
		r, err := http.NewRequest("POST", "http://localhost/run/bench/one/1/v1/chat/completions", bytes.NewReader(benchRequest(0, stream)))
		if err != nil {
			panic(err)
		}
		scripted(1).ServeHTTP(w, r)
		whole, events = events, w.body.Bytes()
	}
	return whole, events
}()

type recorder struct {
	header http.Header
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(b []byte) (int, error) { return r.body.Write(b) }
func (r *recorder) WriteHeader(int)             {}

// benchRequest returns a request with a history of that number of turns.
func benchRequest(turns int, stream bool) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"gpt-test","stream":%v,"temperature":0,"messages":[{"role":"system","content":"You read minutes."},{"role":"user","content":"What was decided?"}`, stream)
	for i := range turns {
		args, _ := json.Marshal(benchArgs)
		fmt.Fprintf(&b, `,{"role":"assistant","content":%q,"tool_calls":[{"id":"call_%d","type":"function","function":{"name":"read_page","arguments":%s}}]}`, benchText, i+1, args)
		fmt.Fprintf(&b, `,{"role":"tool","tool_call_id":"call_%d","content":"%s"}`, i+1, strings.Repeat("A line of the page, and then a line break.\\n", 5))
	}
	b.WriteString(`],"tools":[{"type":"function","function":{"name":"read_page","description":"Read a page","parameters":{"type":"object","properties":{"path":{"type":"string"},"page":{"type":"integer"},"lines":{"type":"string"}},"required":["path","page"]}}}]}`)
	return []byte(b.String())
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

func (c *child) ask(body []byte) {
	resp, err := http.Post(c.url+"/run/bench/one/1/v1/chat/completions", "application/json", bytes.NewReader(body))
	if err != nil {
		c.b.Fatal(err)
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		c.b.Fatal(resp.Status)
	}
}

// BenchmarkServer measures the CPU time of a server for each request, beside
// that of a bare handler; the two take turns.
func BenchmarkServer(b *testing.B) {
	for _, turns := range []int{0, 16} {
		for _, stream := range []bool{false, true} {
			for _, scenes := range []string{"1", "1000"} {
				name := fmt.Sprintf("turns=%d/stream=%v/scenarios=%s", turns, stream, scenes)
				b.Run(name, func(b *testing.B) { compare(b, benchRequest(turns, stream), scenes) })
			}
		}
	}
}

func compare(b *testing.B, body []byte, scenes string) {
	servers := []*child{startChild(b, "bare"), startChild(b, scenes)}
	used := make([]int64, len(servers))
	for _, s := range servers {
		defer s.stop()
		for range 200 { // warm
			s.ask(body)
		}
	}
	const round = 100
	n := 0
	for b.Loop() {
		for i, s := range servers {
			before := s.cpu()
			for range round {
				s.ask(body)
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

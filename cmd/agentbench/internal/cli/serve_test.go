package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A serving command is one under way.
type serving struct {
	t      *testing.T
	stop   context.CancelFunc
	out    *bufio.Reader
	stderr bytes.Buffer
	code   chan int
	first  string // line of the output
}

// startServe starts `agentbench serve` and waits for its first line.
func startServe(t *testing.T, args ...string) *serving {
	t.Helper()
	return start(t, append([]string{"serve"}, args...)...)
}

// start starts a command that runs until it is interrupted, and waits for its first line.
func start(t *testing.T, args ...string) *serving {
	t.Helper()
	r, w, err := os.Pipe() // which takes a few lines before they are read
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	ctx, stop := context.WithCancel(context.Background())
	s := &serving{t: t, stop: stop, out: bufio.NewReader(r), code: make(chan int, 1)}
	go func() {
		s.code <- run(ctx, args, strings.NewReader(""), w, &s.stderr)
		w.Close()
	}()
	if s.first, err = s.out.ReadString('\n'); err != nil {
		t.Fatalf("%v; exit code %d\n%s", err, <-s.code, s.stderr.String())
	}
	return s
}

// end interrupts the command and returns the rest of its output.
func (s *serving) end() string {
	s.t.Helper()
	s.stop()
	rest, err := io.ReadAll(s.out)
	if code := <-s.code; err != nil || code != exitPassed || s.stderr.Len() > 0 {
		s.t.Errorf("exit code %d, %v\n%s", code, err, s.stderr.String())
	}
	return string(rest)
}

func TestServe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "served.jsonl")
	s := startServe(t, "rate-limited-twice", "--speed", "1000000", "-o", file)
	first := regexp.MustCompile(`^serving recovery/rate-limited-twice on (http://127\.0\.0\.1:\d+)/v1\n$`).FindStringSubmatch(s.first)
	if first == nil {
		t.Fatalf("the first line is %q", s.first)
	}
	client := &http.Client{Transport: &http.Transport{}}
	for _, want := range []int{429, 429, 200} { // as its name says
		resp, err := client.Post(first[1]+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"any","messages":[{"role":"user","content":"Hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("got %s, want %d", resp.Status, want)
		}
	}
	want := "its tools: " + first[1] + "/tools, over MCP " + first[1] + "/mcp\njournal: " + first[1] + "/__agentbench/journal\nwaits are divided by 1e+06 (--speed)\nit accepts connections only from this machine; Ctrl-C ends it\n" +
		"3 requests: 2 faults fired, 0 refused, 0 with protocol problems of the client\n"
	if got := s.end(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	client.CloseIdleConnections()
	checkServed(t, file)
}

// checkServed reads the file of TestServe: a results file without trials, with a
// line for each request.
func checkServed(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var header *scenarios.Header
	gaps, err := scenarios.ReadResults(bytes.NewReader(text), file, func(h *scenarios.Header) error { header = h; return nil },
		func(*scenarios.Result) error { t.Error("there is a trial"); return nil })
	if err != nil || gaps != nil || header == nil || header.Kind != "serve" || header.Scenarios != 1 {
		t.Errorf("%v, header %+v", err, header)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 7 {
		t.Fatalf("the file has %d lines, want a header, three requests, the sums and the end:\n%s", len(lines), text)
	}
	var e serve.Entry
	if err := json.Unmarshal([]byte(lines[2]), &e); err != nil || e.Type != "request" || e.N != 2 || e.Try != 2 || e.Fault != "status-429" {
		t.Errorf("the second request is %s", lines[2])
	}
	const sums = `"requests":3,"refused":0,"problems":0,"faults":{"status-429":2},"furthest":1,"astray":0,"asides":0,"undeclared":0,"executed":0}`
	if want := `{"type":"served","scenario":"recovery/rate-limited-twice",` + sums; lines[4] != want {
		t.Errorf("got  %s\nwant %s", lines[4], want)
	}
	if want := `{"type":"served",` + sums; lines[5] != want {
		t.Errorf("got  %s\nwant %s", lines[5], want)
	}
	if left, _ := filepath.Glob(file + "*.partial"); len(left) > 0 {
		t.Error("the temporary file is left")
	}
}

// gate judges the journal of a client that broke the protocol as failed, and one in which
// a planned failure never came as inconclusive; report names both.
func TestServeGate(t *testing.T) {
	const hello = `{"model":"any","messages":[{"role":"user","content":"Hi"}]}`
	const broken = `{"model":"any","messages":[{"role":"user","content":"Hi"},{"role":"tool","tool_call_id":"call_9","content":"x"}]}`
	for _, tt := range []struct {
		why, body, fault string
		code             int
		gate, report     string
	}{
		{"all came", hello, "delay model 1 1s", exitPassed, "pass          faults fired ", "healthy/only-an-answer  pass "},
		{"one never came", hello, "error model 2 503", exitInconclusive, "1 never did: the fault error model 2 503 of healthy/only-an-answer; wanted: all planned failures", "the fault error model 2 503 never came"},
		{"the body is no JSON", "Hi", "delay model 1 1s", exitInconclusive, "requests answered  1 request and 0 executions: 1 refused", "1 request could not be answered; "},
		{"the history is broken", broken, "delay model 1 1s", exitFailed, "fail          protocol           1 of 1 request broke it: healthy/only-an-answer; wanted: none", "1 request broke the protocol"},
	} {
		t.Run(tt.why, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "served.jsonl")
			s := startServe(t, "only-an-answer", "--speed", "1000000", "--fault", tt.fault, "-o", file)
			client := &http.Client{Transport: &http.Transport{}}
			resp, err := client.Post(regexp.MustCompile(`http://127\.0\.0\.1:\d+/v1`).FindString(s.first)+"/chat/completions", "application/json", strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			s.end()
			client.CloseIdleConnections()
			var stdout, stderr bytes.Buffer
			if code := run(t.Context(), []string{"gate", file}, strings.NewReader(""), &stdout, &stderr); code != tt.code || !strings.Contains(stdout.String(), tt.gate) {
				t.Errorf("gate: exit code %d, want %d\n%s%s", code, tt.code, stdout.String(), stderr.String())
			}
			stdout.Reset()
			if code := run(t.Context(), []string{"report", file}, strings.NewReader(""), &stdout, &stderr); code != exitPassed || !strings.Contains(stdout.String(), tt.report) {
				t.Errorf("report: exit code %d\n%s%s", code, stdout.String(), stderr.String())
			}
		})
	}
}

// Without a name all embedded scenarios are served, each under its own.
func TestServeAll(t *testing.T) {
	s := startServe(t, "--speed", "1000000")
	first := regexp.MustCompile(`^serving \d+ scenarios on (http://127\.0\.0\.1:\d+)/run/SUITE/SCENARIO/SEED/v1\n$`).FindStringSubmatch(s.first)
	if first == nil {
		t.Fatalf("the first line is %q", s.first)
	}
	client := &http.Client{Transport: &http.Transport{}}
	for path, want := range map[string]int{"/run/recovery/rate-limited-twice/7/v1/messages": 429, "/run/healthy/only-an-answer/7/v1/messages": 200, "/v1/messages": 404} {
		resp, err := client.Post(first[1]+path, "application/json", strings.NewReader(`{"model":"any","messages":[{"role":"user","content":"Hi"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: got %s, want %d", path, resp.Status, want)
		}
	}
	s.end()
	client.CloseIdleConnections()
}

// The tools of a scenario answer beside its model, and their calls are in the journal
// and in the file.
func TestServeTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "served.jsonl")
	s := startServe(t, "paging", "--speed", "1000000", "-o", file)
	url := regexp.MustCompile(`http://127\.0\.0\.1:\d+`).FindString(s.first)
	client := &http.Client{Transport: &http.Transport{}}
	for _, tt := range []struct{ method, path, body, want string }{
		{"GET", "/tools", "", `{"tools":[{"name":"list_customers","description":"A page of customers","inputSchema":{"type":"object"}}]}`},
		{"POST", "/run/healthy/paging/1/tools/list_customers", `{"token": "start"}`, `{"customers": 100, "next": "t2"}`},
		{"POST", "/tools/list_customers", `{"token": "t6"}`, `{"customers": 17, "next": null}`},
		{"POST", "/tools/list_orders", `{}`, `{"error":{"message":"agentbench: there is no tool \"list_orders\": the scenario has list_customers"`},
	} {
		r, err := http.NewRequest(tt.method, url+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || !strings.HasPrefix(string(body), tt.want) {
			t.Errorf("%s %s: %v %s", tt.method, tt.path, err, body)
		}
	}
	rest := s.end()
	client.CloseIdleConnections()
	if !strings.Contains(rest, "0 requests: 0 faults fired, 0 refused, 0 with protocol problems of the client\n2 executions of scripted tools\n") {
		t.Errorf("it says\n%s", rest)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), `{"type":"call",`) != 2 || !strings.Contains(string(text), `"call":"c2#1","tool":"list_customers"}`) {
		t.Errorf("%v\n%s", err, text)
	}
	if _, err := scenarios.ReadResults(bytes.NewReader(text), file, func(*scenarios.Header) error { return nil }, func(*scenarios.Result) error { return nil }); err != nil {
		t.Error(err)
	}
}

// Faults are laid over every scenario.
func TestServeFaults(t *testing.T) {
	s := startServe(t, "only-an-answer", "--speed", "1000000", "--fault", "error model 1 418")
	first := regexp.MustCompile(`http://127\.0\.0\.1:\d+/v1`).FindString(s.first)
	client := &http.Client{Transport: &http.Transport{}}
	for _, want := range []int{418, 200} {
		resp, err := client.Post(first+"/responses", "application/json", strings.NewReader(`{"model":"any","input":"Hi"}`))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("got %s, want %d", resp.Status, want)
		}
	}
	if rest := s.end(); !strings.Contains(rest, "2 requests: 1 fault fired, ") {
		t.Errorf("it says\n%s", rest)
	}
	client.CloseIdleConnections()
}

// A port that is taken is known before anything is written.
func TestServePortTaken(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "served.jsonl")
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), []string{"serve", "only-an-answer", "--port", port, "-o", file}, strings.NewReader(""), &stdout, &stderr)
	want := "error: cannot listen on port " + port + ": address already in use\nhint: --port 0 uses any free port\n"
	if code != exitUsage || stderr.String() != want || stdout.Len() > 0 {
		t.Errorf("exit code %d\n%s%s", code, stdout.String(), stderr.String())
	}
	if left, err := filepath.Glob(file + "*"); len(left) > 0 || err != nil {
		t.Errorf("%v is left, %v", left, err)
	}
}

// A tool that the script calls and the agent does not offer is told once.
func TestServeTellsUndeclared(t *testing.T) {
	var out strings.Builder
	u := undeclared{to: &out}
	for range 2 {
		u.tell(&serve.Seen{Entry: &serve.Entry{Scenario: "limits/payment", Undeclared: []string{"charge"}}, Tools: []string{"read", "write"}})
	}
	if got, want := out.String(), "note: limits/payment calls \"charge\", which the agent does not offer: it offers read, write\n"; got != want {
		t.Errorf("got  %swant %s", got, want)
	}
}

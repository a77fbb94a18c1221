//go:build unix

package watch

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/scenarios"
)

// proxying is the environment variable that turns the test binary into a proxy: its
// value is bare or the names of variants, "none" for no variant, and the upstream.
const proxying = "AGENTBENCH_TEST_PROXYING"

func TestMain(m *testing.M) {
	if what := os.Getenv(proxying); what != "" {
		kind, upstream, _ := strings.Cut(what, " ")
		proxyForever(kind, upstream)
		return
	}
	os.Exit(m.Run())
}

// proxyForever runs in a separate process, so that its CPU time is only that of the
// proxy. It answers each line of its standard input with that time, and ends when it
// ends.
func proxyForever(kind, upstream string) {
	o := options(upstream)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	if kind == "bare" {
		bare := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(o.Upstream) }, FlushInterval: -1}
		go http.Serve(l, bare)
	} else {
		if kind != "no-variant" {
			v, err := scenarios.LoadVariant(kind)
			if err != nil {
				panic(err)
			}
			o.Variants = []scenarios.Variant{v}
		}
		w, err := New(o)
		if err != nil {
			panic(err)
		}
		go w.Serve(context.Background(), l)
	}
	fmt.Println(l.Addr())
	var line string
	for {
		if _, err := fmt.Scanln(&line); err != nil {
			return
		}
		var u syscall.Rusage
		syscall.Getrusage(syscall.RUSAGE_SELF, &u)
		fmt.Println(u.Utime.Nano() + u.Stime.Nano())
	}
}

// A child is a proxy in a separate process.
type child struct {
	b      *testing.B
	url    string
	client *http.Client
	in     io.WriteCloser
	out    io.Reader
	cmd    *exec.Cmd

	used  int64           // nanoseconds of CPU
	times []time.Duration // of the requests
}

func startChild(b *testing.B, kind, upstream string) *child {
	cmd := exec.CommandContext(b.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), proxying+"="+kind+" "+upstream, fmt.Sprintf("GOMAXPROCS=%d", runtime.GOMAXPROCS(0)))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	var addr string
	if _, err := fmt.Fscanln(out, &addr); err != nil {
		b.Fatal(err)
	}
	return &child{b: b, url: "http://" + addr, client: &http.Client{Transport: &http.Transport{}}, in: in, out: out, cmd: cmd}
}

func (c *child) stop() {
	c.in.Close()
	c.cmd.Wait() // it has nothing to say
}

// cpu returns the CPU time that the proxy has used, in nanoseconds.
func (c *child) cpu() (ns int64) {
	fmt.Fprintln(c.in, "?")
	if _, err := fmt.Fscanln(c.out, &ns); err != nil {
		c.b.Fatal(err)
	}
	return ns
}

// converse lets an agent have a conversation through the proxy.
func (c *child) converse(bodies [][]byte) {
	for _, body := range bodies {
		began := time.Now()
		resp, err := c.client.Post(c.url+"/v1/chat/completions", "application/json", bytes.NewReader(body))
		if err != nil {
			c.b.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		c.times = append(c.times, time.Since(began))
		if resp.StatusCode != http.StatusOK {
			c.b.Fatal(resp.Status)
		}
	}
}

// dialog returns the requests of an agent that reads pages, one a turn.
func dialog(who string, turns int) (bodies [][]byte) {
	page := strings.Repeat("A line of the page, and then a line break.\\n", 5)
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"model":"m","temperature":0,"messages":[{"role":"system","content":"You read minutes."},{"role":"user","content":"What was decided about %s?"}`, who)
	for n := range turns {
		bodies = append(bodies, append(bytes.Clone(b.Bytes()), `],"tools":[{"type":"function","function":{"name":"read_page","description":"Read a page","parameters":{"type":"object","properties":{"path":{"type":"string"},"page":{"type":"integer"}},"required":["path","page"]}}}]}`...))
		fmt.Fprintf(&b, `,%s,{"role":"tool","tool_call_id":"call_%s_%d","content":"page %d: %s"}`, reading(who, n), who, n, n, page)
	}
	return bodies
}

// reading is the reply of turn n to that agent.
func reading(who string, n int) string {
	return fmt.Sprintf(`{"role":"assistant","content":"I read on.","tool_calls":[{"id":"call_%s_%d","type":"function","function":{"name":"read_page","arguments":"{\"path\":\"/srv/archive/2026/minutes\",\"page\":%d}"}}]}`, who, n, n)
}

// pages is the upstream of a dialog. It does not decode the requests, so that what it
// does costs little.
func pages(rw http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, rest, _ := bytes.Cut(body, []byte("decided about "))
	who, _, _ := bytes.Cut(rest, []byte("?"))
	rw.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(rw, `{"id":"a","object":"chat.completion","model":"m","choices":[{"index":0,"message":%s,"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":800,"completion_tokens":30,"total_tokens":830}}`,
		reading(string(who), bytes.Count(body, []byte(`"role":"tool"`))))
}

// BenchmarkProxy measures a proxy's CPU time a request, and what it adds to the median
// time of a request, beside a bare reverse proxy. Each is a process of its own, and they
// take turns, conversation by conversation.
func BenchmarkProxy(b *testing.B) {
	for _, kind := range []string{"no-variant", "recommended"} {
		for _, turns := range []int{1, 20, 200} {
			b.Run(fmt.Sprintf("%s/turns=%d", kind, turns), func(b *testing.B) { beside(b, kind, turns) })
		}
	}
}

func beside(b *testing.B, kind string, turns int) {
	upstream := httptest.NewServer(http.HandlerFunc(pages))
	defer upstream.Close()
	proxies := []*child{startChild(b, "bare", upstream.URL), startChild(b, kind, upstream.URL)}
	round := max(1, 200/turns) // conversations
	n := 0
	talk := func() {
		var all [][][]byte
		for range round {
			n++
			all = append(all, dialog(fmt.Sprint("case-", n), turns))
		}
		for _, p := range proxies {
			before := p.cpu()
			for _, bodies := range all {
				p.converse(bodies)
			}
			p.used += p.cpu() - before
		}
	}
	for _, p := range proxies {
		defer p.stop()
	}
	talk() // warm
	for _, p := range proxies {
		p.used, p.times = 0, nil
	}
	for b.Loop() {
		talk()
	}
	bare, watch := proxies[0], proxies[1]
	for _, p := range proxies {
		slices.Sort(p.times)
	}
	requests := float64(len(bare.times))
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(bare.used)/requests/1e3, "bare-µs")
	b.ReportMetric(float64(watch.used)/requests/1e3, "watch-µs")
	b.ReportMetric(float64(watch.used)/float64(bare.used), "x-bare")
	b.ReportMetric(float64(bare.times[len(bare.times)/2])/1e3, "bare-p50-µs")
	b.ReportMetric(float64(watch.times[len(watch.times)/2]-bare.times[len(bare.times)/2])/1e3, "added-p50-µs")
}

// BenchmarkThousand watches a thousand conversations at once, with recommended, and
// measures the memory that one takes when all have come to their last turn.
func BenchmarkThousand(b *testing.B) {
	v, err := scenarios.LoadVariant("recommended")
	if err != nil {
		b.Fatal(err)
	}
	const agents, turns = 1000, 20
	o := options("http://localhost")
	o.Variants = []scenarios.Variant{v}
	o.Transport = inProcess{http.HandlerFunc(pages)}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools have kept
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	var all [][][]byte
	for i := range agents {
		all = append(all, dialog(fmt.Sprint("case-", i), turns))
	}
	var took int64
	for b.Loop() {
		before := heap()
		w, err := New(o)
		if err != nil {
			b.Fatal(err)
		}
		w.start()
		proxy := w.proxy()
		for turn := range turns {
			var asking sync.WaitGroup
			for _, bodies := range all {
				asking.Go(func() {
					rec := httptest.NewRecorder()
					proxy.ServeHTTP(rec, httptest.NewRequest("POST", "http://localhost/v1/chat/completions", bytes.NewReader(bodies[turn])))
				})
			}
			asking.Wait()
		}
		if err := w.finish(); err != nil {
			b.Fatal(err)
		}
		took = heap() - before
		if n := w.Counts(); n.Conversations != agents || n.Requests != agents*turns || n.Unseen > 0 || len(n.Left) > 0 {
			b.Fatalf("counted %+v", n)
		}
	}
	b.ReportMetric(float64(took)/agents/1e3, "kB/conversation")
	b.ReportMetric(float64(len(all[0][turns-1]))/1e3, "kB-last-request")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*agents*turns), "µs/request")
	b.ReportMetric(0, "ns/op")
}

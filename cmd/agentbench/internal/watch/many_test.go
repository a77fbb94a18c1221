package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/scenarios"
)

// repeating is a model that asks for one call again and again. The id of a call is
// that of the user's message and the number of the turn.
func repeating(rw http.ResponseWriter, r *http.Request) {
	var asked struct {
		Messages []struct{ Role, Content string }
	}
	if json.NewDecoder(r.Body).Decode(&asked) != nil {
		rw.WriteHeader(400)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(rw, `{"id":"a","object":"chat.completion","choices":[{"message":%s,"finish_reason":"tool_calls"}]}`, call(asked.Messages[0].Content, len(asked.Messages)/2))
}

func call(who string, n int) string {
	return fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":"call_%s_%d","type":"function","function":{"name":"look","arguments":"{}"}}]}`, who, n)
}

// history is the request of turn n of an agent, from 0.
func history(who string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, `{"model":"m","messages":[{"role":"user","content":%q}`, who)
	for i := range n {
		fmt.Fprintf(&b, `,%s,{"role":"tool","tool_call_id":"call_%s_%d","content":"nothing new"}`, call(who, i), who, i)
	}
	b.WriteString("]}")
	return b.String()
}

// TestThousandConversations checks that a thousand agents at once, all with one call that
// they repeat, are told apart, and that each stop is told once.
func TestThousandConversations(t *testing.T) {
	const agents, turns = 1000, 5
	v, err := scenarios.LoadVariant("hpd-agent")
	if err != nil {
		t.Fatal(err)
	}
	o := options("http://localhost")
	o.Variants = []scenarios.Variant{v}
	told := 0
	o.Tell = func(line string) {
		told++
		if !strings.HasPrefix(line, "hpd-agent would have stopped conversation ") || !strings.Contains(line, " at its 5th call: ") {
			t.Errorf("told %q", line)
		}
	}
	o.Transport = inProcess{http.HandlerFunc(repeating)}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.start()
	proxy := w.proxy()
	var all sync.WaitGroup
	for i := range agents {
		all.Go(func() {
			for n := range turns {
				rec := httptest.NewRecorder()
				proxy.ServeHTTP(rec, httptest.NewRequest("POST", "http://localhost/v1/chat/completions", strings.NewReader(history(fmt.Sprint(i), n))))
				if rec.Code != 200 {
					t.Errorf("agent %d, turn %d: %d %s", i, n, rec.Code, rec.Body)
				}
			}
		})
	}
	all.Wait()
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	if n := w.Counts(); told != agents || n.Conversations != agents || n.Requests != agents*turns || n.Branches+n.Tries+n.Shortened+len(n.Left) != 0 {
		t.Errorf("%d told, counted %+v", told, n)
	}
}

// TestUnseen checks that exchanges for which there is no room pass, and that it is told how
// many: while the reader is stuck, every request is answered.
func TestUnseen(t *testing.T) {
	o := options("http://localhost")
	v, err := scenarios.LoadVariant("hpd-agent")
	if err != nil {
		t.Fatal(err)
	}
	o.Variants = []scenarios.Variant{v}
	stuck, goOn := make(chan bool), make(chan bool)
	var told []string
	o.Tell = func(line string) {
		if told = append(told, line); len(told) == 1 {
			stuck <- true
			<-goOn
		}
	}
	o.Transport = inProcess{http.HandlerFunc(repeating)}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	const room = 100_000
	w.room.left.Store(room)
	w.start()
	proxy := w.proxy()
	ask := func(n int) {
		rec := httptest.NewRecorder()
		proxy.ServeHTTP(rec, httptest.NewRequest("POST", "http://localhost/v1/chat/completions", strings.NewReader(history("a", n))))
		if rec.Code != 200 || !strings.Contains(rec.Body.String(), fmt.Sprintf("call_a_%d", n)) {
			t.Errorf("turn %d: %d %s", n, rec.Code, rec.Body)
		}
	}
	for n := range 5 {
		ask(n) // the fifth call is told, and telling does not come back
	}
	<-stuck
	for n := range 100 {
		ask(5 + n)
	}
	if left := w.room.left.Load(); left < 0 || left > room/2 {
		t.Errorf("there is room for %d bytes of %d while the reader is stuck", left, room)
	}
	close(goOn)
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	n := w.Counts()
	if n.Requests != 105 || n.Unseen < 10 || n.Unseen > 100 || len(n.Left) > 0 || n.Conversations != 1 || n.UnseenBytes < int64(n.Unseen)*1000 {
		t.Errorf("counted %+v", n)
	}
	if w.room.left.Load() != room {
		t.Errorf("there is room for %d bytes of %d at the end", w.room.left.Load(), room)
	}
	if last := told[len(told)-1]; len(told) < 2 || !strings.Contains(strings.Join(told, "\n"), " exchanges passed unseen so far (") {
		t.Errorf("told %q", last)
	}
}

// TestClosed checks that conversations beyond the most are closed, and still count.
func TestClosed(t *testing.T) {
	v, err := scenarios.LoadVariant("hpd-agent")
	if err != nil {
		t.Fatal(err)
	}
	o := options("http://localhost")
	o.Variants = []scenarios.Variant{v}
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.most = 3
	for i := range 10 {
		who := fmt.Sprint(i)
		w.see(&tap{method: "POST", path: "/v1/chat/completions", began: now, ended: now, status: 200, room: &w.room, request: of(history(who, 0)), response: of(`{"object":"chat.completion","choices":[{"message":` + call(who, 0) + `,"finish_reason":"tool_calls"}]}`)})
	}
	results := 0
	if err := w.Results(func(r *scenarios.Result) error { results += r.Asked; return nil }); err != nil {
		t.Fatal(err)
	}
	if n := w.Counts(); len(w.conversations) != 3 || n.Conversations != 10 || results != 10 {
		t.Errorf("%d in memory, %d counted, %d calls", len(w.conversations), n.Conversations, results)
	}
}

func of(body string) copied { return copied{Buffer: bytes.NewBufferString(body)} }

// inProcess answers in this process.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	rec := httptest.NewRecorder()
	p.handler.ServeHTTP(rec, r)
	resp := rec.Result()
	resp.Request = r
	return resp, nil
}

// What cannot be written is told once, with the name of the file once.
func TestToldFailure(t *testing.T) {
	o := options("http://127.0.0.1:1")
	var told []string
	o.Tell = func(line string) { told = append(told, line) }
	w, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	w.o.Shapes = filepath.Join(t.TempDir(), "gone", "t.shapes")
	for range 2 {
		w.shapes.dirty = true
		w.writeShapes(time.Now())
	}
	if len(told) != 1 || strings.Count(told[0], "t.shapes") != 1 || strings.Count(told[0], "cannot write") > 1 {
		t.Errorf("told %q", told)
	}
	if w.unwritten == nil || told[0] != "not kept: "+w.unwritten.Error() {
		t.Errorf("told %q of %v", told, w.unwritten)
	}
}

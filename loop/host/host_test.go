package host_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/host"
	"github.com/agentbench-go/agentbench/loop/session"
)

const keyA, keyB = "the key of tenant a", "the key of tenant b"

// modelFunc is a model.
type modelFunc func(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error)

func (f modelFunc) Reply(ctx context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
	return f(ctx, req, delta)
}

func say(text string) loop.Reply { return loop.Reply{Text: text, Finish: loop.FinishStop} }

func call(tool, args string) loop.Reply {
	return loop.Reply{Calls: []loop.AskedCall{{ID: "x", Name: tool, Args: args}}, Finish: loop.FinishToolCalls}
}

// echo answers with the number of messages of the history and the last one.
var echo = modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
	return say(fmt.Sprintf("%d: %s", len(req.History), req.History[len(req.History)-1].Text)), nil
})

func tool(name string, permission loop.Permission, f func(ctx context.Context) (string, error)) loop.Tool {
	return loop.FuncTool(loop.ToolSpec{Name: name, Permission: permission, Idempotent: loop.NotIdempotent},
		func(ctx context.Context, _ json.RawMessage) (string, error) { return f(ctx) })
}

func tenant(key string, m loop.Model, tools ...loop.Tool) host.Tenant {
	return host.Tenant{Name: "of " + key, Key: key, Agent: host.Agent{Config: loop.Default(), Model: m, Tools: tools}}
}

func newHost(t *testing.T, tenants ...host.Tenant) *host.Host {
	t.Helper()
	h, err := host.New(host.Options{Tenants: tenants})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func request(ctx context.Context, key, method, path, body string) *http.Request {
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+key)
	}
	return r
}

// ask sends a request and waits for the whole answer.
func ask(t *testing.T, h http.Handler, key, method, path, body string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, request(t.Context(), key, method, path, body))
	return w.Code, w.Body.String()
}

func message(t *testing.T, h http.Handler, key, session, text string) (int, string) {
	t.Helper()
	body, _ := json.Marshal(map[string]string{"text": text})
	return ask(t, h, key, "POST", "/v1/sessions/"+session+"/messages", string(body))
}

// An event is one event of a stream, as a client reads it.
type event struct {
	ID   int
	Name string
	host.Event
	Missing int
	Error   string
}

// read reads the events of a stream, as the standard of server-sent events says.
func read(t *testing.T, stream io.Reader) (all []event) {
	t.Helper()
	lines := bufio.NewScanner(stream)
	lines.Buffer(nil, 1<<20)
	var e event
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch field {
		case "id":
			n, err := strconv.Atoi(value)
			if err != nil {
				t.Fatal(err)
			}
			e.ID = n
		case "event":
			e.Name = value
		case "data":
			if err := errors.Join(json.Unmarshal([]byte(value), &e.Event), json.Unmarshal([]byte(value), &struct {
				Missing *int    `json:"missing"`
				Error   *string `json:"error"`
			}{&e.Missing, &e.Error})); err != nil {
				t.Fatalf("data %q: %v", value, err)
			}
			all = append(all, e)
			e = event{}
		}
	}
	return all
}

// line returns what an event is, in short.
func (e event) line() string {
	parts := []string{fmt.Sprint(e.ID), e.Name, e.Ref, e.Tool, e.Text, e.Event.Code, e.Why, e.Error}
	if e.Missing > 0 {
		parts = append(parts, fmt.Sprint(e.Missing))
	}
	if e.Outcome != nil {
		parts = append(parts, string(e.Outcome.Stop), e.Outcome.Answer)
	}
	return strings.Join(strings.Fields(strings.Join(parts, " ")), " ")
}

func lines(t *testing.T, stream string) []string {
	t.Helper()
	out := []string{}
	for _, e := range read(t, strings.NewReader(stream)) {
		out = append(out, e.line())
	}
	return out
}

func wantLines(t *testing.T, stream string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, lines(t, stream)); diff != "" {
		t.Errorf("the stream (-want +got):\n%s", diff)
	}
}

// Two messages of one session: events in order, numbered through, the outcome last, and
// one history.
func TestMessages(t *testing.T) {
	m := modelFunc(func(_ context.Context, req loop.ModelRequest, delta func(string)) (loop.Reply, error) {
		if len(req.History) == 1 {
			return call("clock", "{}"), nil
		}
		return say(fmt.Sprintf("%d messages", len(req.History))), nil
	})
	h := newHost(t, tenant(keyA, m, tool("clock", loop.AskNever, func(context.Context) (string, error) { return "noon\nsharp", nil })))
	status, first := message(t, h, keyA, "s", "What time is it?")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, first)
	}
	wantLines(t, first,
		"1 run-started What time is it?",
		"2 turn-started m1#1",
		"3 call-started c1#1 clock",
		"4 call-ended c1 clock noon sharp",
		"5 turn-started m2#1",
		"6 run-ended done 3 messages") // the user's, the reply with the call, its result
	_, second := message(t, h, keyA, "s", "Thanks")
	wantLines(t, second,
		"7 run-started Thanks",
		"8 turn-started m3#1",
		"9 run-ended done 5 messages")

	// All of it again, and what comes after the seventh.
	_, all := ask(t, h, keyA, "GET", "/v1/sessions/s/events", "")
	if all != first+second {
		t.Errorf("the events of the session are\n%s\nwant\n%s%s", all, first, second)
	}
	_, rest := ask(t, h, keyA, "GET", "/v1/sessions/s/events?after=7", "")
	wantLines(t, rest, "8 turn-started m3#1", "9 run-ended done 5 messages")
	if status, state := ask(t, h, keyA, "GET", "/v1/sessions/s", ""); status != 200 || state != `{"session":"s","running":false,"waiting":0}`+"\n" {
		t.Errorf("the state is %d %s", status, state)
	}
}

// A run that a rule stops ends as run-failed.
func TestRunFailed(t *testing.T) {
	m := modelFunc(func(context.Context, loop.ModelRequest, func(string)) (loop.Reply, error) {
		return call("poll", "{}"), nil
	})
	h := newHost(t, tenant(keyA, m, tool("poll", loop.AskNever, func(context.Context) (string, error) { return "nothing", nil })))
	_, stream := message(t, h, keyA, "s", "Wait")
	all := read(t, strings.NewReader(stream))
	last := all[len(all)-1]
	// hpd-agent's breaker: the fifth equal call stops the run, and four have run.
	if last.Name != "run-failed" || last.Outcome.EndState != loop.LoopDetected || last.Outcome.Calls != 4 {
		t.Errorf("the last event is %s, %+v", last.line(), last.Outcome)
	}
}

func TestRefusals(t *testing.T) {
	a := tenant(keyA, echo)
	a.Limits.Body = 100
	h := newHost(t, a, tenant(keyB, echo))
	message(t, h, keyB, "known", "hello")
	for _, tt := range []struct {
		key, method, path, body string
		status                  int
		says                    string
	}{
		{"", "POST", "/v1/sessions/s/messages", `{"text":"x"}`, 401, "Bearer KEY"},
		{"another key of 16 bytes", "POST", "/v1/stop", ``, 401, "Bearer KEY"},
		{keyA, "POST", "/v1/sessions/s/messages", ``, 400, "empty"},
		{keyA, "POST", "/v1/sessions/s/messages", `[]`, 400, "JSON object"},
		{keyA, "POST", "/v1/sessions/s/messages", `{"text":"x"} {}`, 400, "follows"},
		{keyA, "POST", "/v1/sessions/s/messages", `{"txt":"x"}`, 400, `unknown field "txt"`},
		{keyA, "POST", "/v1/sessions/s/messages", `{"text":" "}`, 400, "needs a text"},
		{keyA, "POST", "/v1/sessions/s/messages", `{"text":"` + strings.Repeat("x", 100) + `"}`, 413, "100 bytes"},
		{keyA, "POST", "/v1/sessions/.s/messages", `{"text":"x"}`, 400, "name of a session"},
		{keyA, "POST", "/v1/sessions/a%2Fb/messages", `{"text":"x"}`, 400, "name of a session"},
		{keyA, "GET", "/v1/sessions/s/events?after=x", ``, 400, "number"},
		{keyA, "GET", "/v1/sessions/s/events", ``, 404, "no session"},
		{keyA, "GET", "/v1/sessions/known/events", ``, 404, "no session"}, // it is tenant B's
		{keyA, "GET", "/v1/sessions/known", ``, 404, "no session"},
		{keyA, "POST", "/v1/sessions/known/cancel", ``, 404, "no run"},
		{keyA, "POST", "/v1/sessions/known/answers/q1", `{"allow":true}`, 404, "waits"},
		{keyA, "POST", "/v1/sessions/known/answers/q1", `{}`, 400, "needs allow"},
	} {
		status, body := ask(t, h, tt.key, tt.method, tt.path, tt.body)
		var told struct{ Error string }
		if err := json.Unmarshal([]byte(body), &told); err != nil || status != tt.status || !strings.Contains(told.Error, tt.says) {
			t.Errorf("%s %s %s: %d %s, want %d with %q", tt.method, tt.path, tt.body, status, body, tt.status, tt.says)
		}
	}
}

func TestMistakes(t *testing.T) {
	shared := session.Memory()
	good := tenant(keyA, echo)
	good.Store = shared
	bad := host.Tenant{Name: good.Name, Key: keyA, Store: shared, Limits: host.Limits{Runs: -1}, Agent: host.Agent{Config: loop.Config{Limits: loop.Limits{Turns: -1}}}}
	_, err := host.New(host.Options{Tenants: []host.Tenant{good, bad, {Key: "short"}}})
	for _, want := range []string{"tenants[1]", "same name", "key is that of", "negative", "store is that of", "needs a model", "limits.turns", "tenants[2]", "needs a name", "5 bytes"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	if _, err := host.New(host.Options{}); err == nil {
		t.Error("a host without tenants is made")
	}
}

// Messages of one session run one after another, those of others at the same time.
func TestSerial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		running, most := map[string]int{}, map[string]int{}
		m := modelFunc(func(ctx context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
			_, name := host.FromContext(ctx)
			mu.Lock()
			for _, n := range []string{name, "all"} {
				running[n]++
				most[n] = max(most[n], running[n])
			}
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			running[name]--
			running["all"]--
			mu.Unlock()
			return echo(ctx, req, nil)
		})
		h := newHost(t, tenant(keyA, m))
		var all sync.WaitGroup
		var answers sync.Map
		for _, name := range []string{"s", "s", "s", "other"} {
			all.Go(func() {
				_, stream := message(t, h, keyA, name, "hello")
				out := lines(t, stream)
				answers.Store(name+" "+out[len(out)-1], true)
			})
		}
		all.Wait()
		if most["s"] != 1 || most["all"] != 2 {
			t.Errorf("at most %d runs of one session and %d of all were under way, want 1 and 2", most["s"], most["all"])
		}
		// Each of the three runs adds a message and a reply to the history.
		for _, want := range []string{"s 3 run-ended done 1: hello", "s 6 run-ended done 3: hello", "s 9 run-ended done 5: hello"} {
			if _, ok := answers.Load(want); !ok {
				t.Errorf("no answer %q", want)
			}
		}
	})
}

// A message that is to steer goes to the run that is under way.
func TestSteer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
			time.Sleep(time.Second)
			if len(req.History) == 1 {
				return call("wait", "{}"), nil
			}
			return say(req.History[len(req.History)-1].Text), nil
		})
		h := newHost(t, tenant(keyA, m, tool("wait", loop.AskNever, func(context.Context) (string, error) { time.Sleep(time.Second); return "", nil })))
		var all sync.WaitGroup
		var first string
		all.Go(func() { _, first = message(t, h, keyA, "s", "begin") })
		time.Sleep(1500 * time.Millisecond)
		_, second := ask(t, h, keyA, "POST", "/v1/sessions/s/messages", `{"text":"in Oslo","steer":true}`)
		all.Wait()
		for _, stream := range []string{first, second} {
			if out := lines(t, stream); out[len(out)-1] != "6 run-ended done in Oslo" {
				t.Errorf("the stream ends with %q", out[len(out)-1])
			}
		}
		if out := lines(t, second); len(out) != 3 { // what came after the message: call-ended, turn-started, run-ended
			t.Errorf("the second stream is %q", out)
		}
	})
}

// asking runs a session in which a tool needs a permission, and answers it with body, or
// not at all.
func asking(t *testing.T, body string) (stream string, ran bool) {
	t.Helper()
	m := modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
		if len(req.History) == 1 {
			return call("pay", `{"sum":3}`), nil
		}
		return say(req.History[2].Text), nil
	})
	a := tenant(keyA, m, tool("pay", loop.AskCall, func(context.Context) (string, error) { ran = true; return "paid", nil }))
	a.Agent.Config.Time.Run = 0
	h := newHost(t, a)
	var all sync.WaitGroup
	all.Go(func() { _, stream = message(t, h, keyA, "s", "Pay") })
	synctest.Wait()
	if body != "" {
		_, state := ask(t, h, keyA, "GET", "/v1/sessions/s", "")
		if want := `{"session":"s","running":true,"waiting":0,"open":[{"ref":"g1","kind":"permission","tool":"pay","args":"{\"sum\":3}"}]}`; strings.TrimSpace(state) != want {
			t.Errorf("the state is %s, want %s", state, want)
		}
		if status, told := ask(t, h, keyA, "POST", "/v1/sessions/s/answers/g1", body); status != 204 {
			t.Errorf("the answer: %d %s", status, told)
		}
		if status, _ := ask(t, h, keyA, "POST", "/v1/sessions/s/answers/g1", body); status != 404 {
			t.Errorf("a second answer: %d, want 404", status)
		}
	}
	all.Wait()
	return stream, ran
}

func TestPermission(t *testing.T) {
	for _, tt := range []struct {
		name, body, want string
		ran              bool
	}{
		{"yes", `{"allow":true}`, "paid", true},
		{"no", `{"allow":false,"text":"too much"}`, "too much", false},
		{"nobody", ``, "nobody answered within 15m0s", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				stream, ran := asking(t, tt.body)
				out := lines(t, stream)
				if ran != tt.ran || out[2] != "3 permission g1 pay" || !strings.Contains(out[len(out)-1], tt.want) {
					t.Errorf("the tool ran: %t, want %t; the stream is %q, want %q in its end", ran, tt.ran, out, tt.want)
				}
				if took := time.Since(begun); (took == 15*time.Minute) != (tt.body == "") {
					t.Errorf("it took %s", took)
				}
			})
		})
	}
}

// hanging is a model that answers nothing.
var hanging = modelFunc(func(ctx context.Context, _ loop.ModelRequest, _ func(string)) (loop.Reply, error) {
	<-ctx.Done()
	return loop.Reply{}, context.Cause(ctx)
})

func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, tenant(keyA, hanging), tenant(keyB, hanging))
		var all sync.WaitGroup
		var stream string
		all.Go(func() { _, stream = message(t, h, keyA, "s", "hello") })
		all.Go(func() { message(t, h, keyB, "s", "hello") })
		time.Sleep(time.Second)
		if status, _ := ask(t, h, keyA, "POST", "/v1/sessions/s/cancel", ""); status != 204 {
			t.Errorf("status %d", status)
		}
		synctest.Wait()
		wantLines(t, stream, "1 run-started hello", "2 turn-started m1#1", "3 model-timeout m1#1 cancelled", "4 run-failed cancelled")
		if _, state := ask(t, h, keyB, "GET", "/v1/sessions/s", ""); !strings.Contains(state, `"running":true`) {
			t.Errorf("the other tenant's session of that name: %s", state)
		}
		h.Stop("of " + keyB)
		all.Wait()
	})
}

// A run goes on when its client leaves; a message that waits gets no run then.
func TestClientLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelFunc(func(ctx context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
			time.Sleep(time.Minute)
			return echo(ctx, req, nil)
		})
		h := newHost(t, tenant(keyA, m))
		ctx, leave := context.WithCancel(t.Context())
		for range 2 {
			go h.ServeHTTP(httptest.NewRecorder(), request(ctx, keyA, "POST", "/v1/sessions/s/messages", `{"text":"hello"}`))
			synctest.Wait()
		}
		leave()
		time.Sleep(time.Hour)
		_, stream := ask(t, h, keyA, "GET", "/v1/sessions/s/events", "")
		wantLines(t, stream, "1 run-started hello", "2 turn-started m1#1", "3 run-ended done 1: hello")
	})
}

// The kill switch ends all runs of a tenant and no others.
func TestStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, tenant(keyA, hanging), tenant(keyB, echo))
		var all sync.WaitGroup
		var mu sync.Mutex
		ends := map[string]int{}
		for i := range 3 {
			all.Go(func() {
				status, stream := message(t, h, keyA, fmt.Sprint("s", i%2), "hello") // s0 has two
				mu.Lock()
				defer mu.Unlock()
				ends[fmt.Sprint(status, " ", strings.Contains(stream, `"stop":"cancelled"`))]++
			})
			synctest.Wait()
		}
		ask(t, h, keyA, "POST", "/v1/stop", "")
		all.Wait()
		if want := map[string]int{"200 true": 2, "503 false": 1}; !cmp.Equal(ends, want) {
			t.Errorf("the answers are %v, want %v: two runs were cancelled, and one message waited", ends, want)
		}
		if status, told := message(t, h, keyA, "s", "hello"); status != 503 || !strings.Contains(told, "stopped") {
			t.Errorf("a message to a stopped tenant: %d %s", status, told)
		}
		if _, stream := message(t, h, keyB, "s", "hello"); !strings.Contains(stream, "run-ended") {
			t.Errorf("the other tenant's stream is %s", stream)
		}
		ask(t, h, keyA, "POST", "/v1/start", "")
		go message(t, h, keyA, "s", "hello")
		synctest.Wait()
		if status, _ := ask(t, h, keyA, "POST", "/v1/sessions/s/cancel", ""); status != 204 {
			t.Errorf("a started tenant runs nothing")
		}
	})
}

func TestLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := tenant(keyA, hanging)
		a.Limits = host.Limits{Runs: 2, Waiting: 1, Sessions: 3, Streams: 4, PerMinute: 100}
		h := newHost(t, a)
		send := func(name string) { go message(t, h, keyA, name, "hello"); synctest.Wait() }
		send("s1")
		send("s2")
		if _, told := message(t, h, keyA, "s3", "hello"); !strings.Contains(told, "2 runs are under way") {
			t.Errorf("a third run: %s", told)
		}
		send("s1") // waits
		if status, told := message(t, h, keyA, "s1", "hello"); status != 429 || !strings.Contains(told, "1 messages wait") {
			t.Errorf("a second message that waits: %d %s", status, told)
		}
		go ask(t, h, keyA, "GET", "/v1/sessions/s2/events", "")
		synctest.Wait()
		if _, told := ask(t, h, keyA, "GET", "/v1/sessions/s2/events", ""); !strings.Contains(told, "4 streams are open") {
			t.Errorf("a fifth stream: %s", told)
		}
		h.Stop(a.Name)
		synctest.Wait()
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := tenant(keyA, echo)
		a.Limits.PerMinute = 3
		h := newHost(t, a)
		got := []int{}
		for range 4 {
			status, _ := message(t, h, keyA, "s", "hello")
			got = append(got, status)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, request(t.Context(), keyA, "POST", "/v1/sessions/s/messages", `{"text":"x"}`))
		if w.Header().Get("Retry-After") != "21" { // one comes back every 20 s
			t.Errorf("Retry-After is %q, want 21", w.Header().Get("Retry-After"))
		}
		time.Sleep(20 * time.Second)
		for range 2 {
			status, _ := message(t, h, keyA, "s", "hello")
			got = append(got, status)
		}
		if want := []int{200, 200, 200, 429, 200, 429}; !cmp.Equal(got, want) {
			t.Errorf("the answers are %v, want %v", got, want)
		}
	})
}

func TestFullSession(t *testing.T) {
	a := tenant(keyA, echo)
	a.Limits.Records = 3
	h := newHost(t, a)
	message(t, h, keyA, "s", "hello") // two steps: started, reply
	message(t, h, keyA, "s", "hello") // two more
	if status, told := message(t, h, keyA, "s", "hello"); status != 409 || !strings.Contains(told, "4 steps") {
		t.Errorf("a message to a full session: %d %s", status, told)
	}
}

// A session goes on after a restart where it broke off, and a tool that must not run
// twice does not.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	var ran atomic.Int32
	open := func(m loop.Model) (*host.Host, *session.Folder) {
		store, err := session.Dir(dir)
		if err != nil {
			t.Fatal(err)
		}
		a := tenant(keyA, m, tool("pay", loop.AskNever, func(ctx context.Context) (string, error) {
			ran.Add(1)
			<-ctx.Done()
			return "", context.Cause(ctx)
		}))
		a.Store = store
		return newHost(t, a), store
	}
	first, store := open(modelFunc(func(_ context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
		return call("pay", "{}"), nil
	}))
	stream, out := io.Pipe()
	go func() {
		w := &pipeWriter{httptest.NewRecorder(), out}
		first.ServeHTTP(w, request(context.WithoutCancel(t.Context()), keyA, "POST", "/v1/sessions/s/messages", `{"text":"Pay"}`))
		out.Close()
	}()
	read := bufio.NewReader(stream)
	var before strings.Builder
	for !strings.Contains(before.String(), "call-started") || !strings.HasSuffix(before.String(), "\n\n") {
		line, err := read.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		before.WriteString(line)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if err := first.Close(over); !errors.Is(err, context.Canceled) {
		t.Errorf("Close returns %v", err)
	}
	rest, _ := io.ReadAll(read)
	if want := "event: error\ndata: {\"error\":\"the host closed before the run had ended: it goes on when the host is back\"}\n\n"; string(rest) != want {
		t.Errorf("the broken stream ends with %q, want %q", rest, want)
	}
	if status, told := message(t, first, keyA, "new", "hello"); status != 503 {
		t.Errorf("a message to a closed host: %d %s", status, told)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}

	second, store := open(echo)
	defer store.Close()
	_, events := ask(t, second, keyA, "GET", "/v1/sessions/s/events?after=3", "")
	wantLines(t, events,
		"4 call-ended c1 pay Error: the session broke off while this call ran: it may have taken effect; it was not run again Cancelled",
		"5 turn-started m2#1",
		"6 run-ended done 3: Error: the session broke off while this call ran: it may have taken effect; it was not run again")
	_, events = message(t, second, keyA, "s", "And now?")
	wantLines(t, events, "7 run-started And now?", "8 turn-started m3#1", "9 run-ended done 5: And now?")
	if n := ran.Load(); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
}

// pipeWriter passes a stream on as it comes.
type pipeWriter struct {
	*httptest.ResponseRecorder
	to io.Writer
}

func (w *pipeWriter) Write(text []byte) (int, error) { return w.to.Write(text) }

// A session that another process has taken, and one that the agent no longer repeats.
func TestForeignSessions(t *testing.T) {
	dir := t.TempDir()
	store, err := session.Dir(dir)
	if err != nil {
		t.Fatal(err)
	}
	a := tenant(keyA, echo)
	a.Store = store
	h := newHost(t, a)
	message(t, h, keyA, "s", "hello")

	other, err := session.Dir(dir) // as another process would
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Load("s"); err != nil {
		t.Errorf("a session that nobody uses: %v", err)
	}
	if status, told := message(t, h, keyA, "s", "hello"); status != 409 || !strings.Contains(told, "another process") {
		t.Errorf("a taken session: %d %s", status, told)
	}
	other.Close()

	changed := tenant(keyA, echo)
	changed.Store, changed.Agent.Config.History.MaxMessages, changed.Agent.Task.System = store, 1, "another"
	changed.Agent.Config.Limits.Turns = 1
	changed.Agent.Task.Hooks.BeforeRun = true
	if status, told := message(t, newHost(t, changed), keyA, "s", "hello"); status != 409 || !strings.Contains(told, "the agent has changed") {
		t.Errorf("a session of another agent: %d %s", status, told)
	}
}

// A reader that is too slow is told what it missed.
func TestGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelFunc(func(_ context.Context, _ loop.ModelRequest, delta func(string)) (loop.Reply, error) {
			for range 100 {
				delta(strings.Repeat("x", 100))
				time.Sleep(time.Second)
			}
			return say("done"), nil
		})
		a := tenant(keyA, m)
		a.Limits.Kept = 2000
		a.Agent.Config.Time.Model = 0
		h := newHost(t, a)
		stream, out := io.Pipe()
		go func() {
			h.ServeHTTP(&pipeWriter{httptest.NewRecorder(), out}, request(t.Context(), keyA, "POST", "/v1/sessions/s/messages", `{"text":"hello"}`))
			out.Close()
		}()
		time.Sleep(50 * time.Second) // nobody reads
		got := read(t, stream)
		missing, deltas := 0, 0
		for _, e := range got {
			missing += e.Missing
			if e.Name == "model-delta" {
				deltas++
			}
		}
		if missing == 0 || missing+deltas != 100 || got[len(got)-1].Name != "run-ended" {
			t.Errorf("%d missing and %d deltas, want 100; the last event is %s", missing, deltas, got[len(got)-1].line())
		}
	})
}

// listener is a listener whose connections are pipes, with deadlines on a bubble's clock.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *listener) Close() error   { close(l.closed); return nil }
func (l *listener) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (l *listener) dial() net.Conn {
	ours, theirs := net.Pipe()
	l.conns <- theirs
	return ours
}

// A body that does not come, and a reader that reads nothing, cost no more than
// Limits.Idle.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := modelFunc(func(_ context.Context, _ loop.ModelRequest, delta func(string)) (loop.Reply, error) {
			return say(strings.Repeat("x", 10_000)), nil
		})
		a := tenant(keyA, m)
		a.Limits.Streams = 1
		h := newHost(t, a)
		l := &listener{make(chan net.Conn), make(chan struct{})}
		server := &http.Server{Handler: h}
		go server.Serve(l)
		head := "POST /v1/sessions/s/messages HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + keyA + "\r\nContent-Length: 16\r\n\r\n"

		slow, begun := l.dial(), time.Now()
		fmt.Fprint(slow, head+`{"te`)
		answer, err := bufio.NewReader(slow).ReadString('\n')
		if err != nil || !strings.Contains(answer, "408") || time.Since(begun) != 30*time.Second {
			t.Errorf("the answer to half a body is %q %v after %s", answer, err, time.Since(begun))
		}
		slow.Close()

		deaf := l.dial()
		fmt.Fprint(deaf, head+`{"text":"hello"}`)
		synctest.Wait()
		if status, told := message(t, h, keyA, "s", "hello"); status != 429 || !strings.Contains(told, "1 streams") {
			t.Errorf("while the stream is open: %d %s", status, told)
		}
		time.Sleep(31 * time.Second)
		if status, told := message(t, h, keyA, "s", "hello"); status != 200 {
			t.Errorf("31 s later the stream is still open: %d %s", status, told)
		}
		deaf.Close()
		server.Close()
		synctest.Wait()
	})
}

// Fifty tenants, one of them hostile: it has the same names of sessions, floods, sends
// what is no message, uses other tenants' keys in its texts, and its model and tools
// panic and hang. The others get their own answers and nothing else.
func TestTenants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 50
		var tenants []host.Tenant
		for i := range n {
			m := modelFunc(func(ctx context.Context, req loop.ModelRequest, _ func(string)) (loop.Reply, error) {
				time.Sleep(time.Second)
				if name, _ := host.FromContext(ctx); name != fmt.Sprintf("of %s", tenantKey(i)) {
					t.Errorf("the model of tenant %d works for %q", i, name)
				}
				if len(req.History)%4 == 1 {
					return call("look", "{}"), nil
				}
				return say(fmt.Sprintf("answer %d of %d", len(req.History), i)), nil
			})
			tenants = append(tenants, tenant(tenantKey(i), m, tool("look", loop.AskNever, func(context.Context) (string, error) { return fmt.Sprint("secret of ", i), nil })))
		}
		over := make(chan struct{})
		var asked atomic.Int32
		tenants[0].Agent.Model = modelFunc(func(context.Context, loop.ModelRequest, func(string)) (loop.Reply, error) {
			switch asked.Add(1) % 3 {
			case 0:
				panic("a model that panics")
			case 1:
				return call("look", "{}"), nil
			}
			<-over // it ignores its context
			return loop.Reply{}, nil
		})
		tenants[0].Agent.Tools = []loop.Tool{tool("look", loop.AskNever, func(context.Context) (string, error) { panic("a tool that panics") })}
		tenants[0].Agent.Config.Time.Model = 10 * time.Second
		h := newHost(t, tenants...)

		var good, evil sync.WaitGroup
		for i := range 300 {
			evil.Go(func() {
				switch i % 4 {
				case 0, 1:
					message(t, h, tenantKey(0), fmt.Sprint("s", i), strings.Repeat(tenantKey(1), 100))
				case 2:
					ask(t, h, tenantKey(0), "POST", "/v1/sessions/s/messages", `{"text":`+strings.Repeat("[", 60_000))
				case 3:
					ask(t, h, tenantKey(0), "GET", "/v1/sessions/s/events", "")
					ask(t, h, tenantKey(0), "POST", "/v1/sessions/s/cancel", "")
					ask(t, h, tenantKey(0), "POST", "/v1/stop", "")
					ask(t, h, tenantKey(0), "POST", "/v1/start", "")
				}
			})
		}
		begun := time.Now()
		for i := 1; i < n; i++ {
			good.Go(func() {
				for range 3 {
					_, stream := message(t, h, tenantKey(i), "s", "hello")
					out := lines(t, stream)
					if !strings.HasSuffix(out[len(out)-1], fmt.Sprintf("of %d", i)) || !strings.Contains(out[len(out)-1], "run-ended done") {
						t.Errorf("tenant %d: %q", i, out)
					}
				}
				_, all := ask(t, h, tenantKey(i), "GET", "/v1/sessions/s/events", "")
				for j := range n {
					if j != i && strings.Contains(all, fmt.Sprint("secret of ", j, `"`)) {
						t.Errorf("tenant %d reads what is tenant %d's", i, j)
					}
				}
			})
		}
		good.Wait()
		if took := time.Since(begun); took != 6*time.Second { // 3 messages of 2 requests of a second
			t.Errorf("the others took %s, want 6s", took)
		}
		ask(t, h, tenantKey(0), "POST", "/v1/stop", "")
		evil.Wait()
		close(over)
	})
}

func tenantKey(i int) string { return fmt.Sprintf("the key of tenant %03d", i) }

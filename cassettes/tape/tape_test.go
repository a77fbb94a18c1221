package tape

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/dnaeon/go-vcr/v2/cassette"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"gopkg.in/yaml.v2"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// hunter takes one word out.
type hunter struct{}

func (hunter) Body(_, body string) string { return strings.ReplaceAll(body, "hunter2", "[secret-1]") }
func (hunter) URL(text string) string     { return strings.ReplaceAll(text, "hunter2", "[secret-1]") }
func (hunter) Leftover(text string) string {
	if strings.Contains(text, "hunter2") {
		return "password"
	}
	return ""
}

// record makes a cassette of a few requests: the same one twice, a stream, and
// one with a secret everywhere.
func record(t *testing.T) (path string) {
	t.Helper()
	n := 0
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n++
		w.Header().Set("Set-Cookie", "hunter2")
		if strings.Contains(r.URL.Path, "stream") {
			w.Header().Set("Content-Type", "text/event-stream")
			for i := range 3 {
				fmt.Fprintf(w, "data: %d\n\n", i)
				w.(http.Flusher).Flush()
			}
			io.WriteString(w, "data: [DONE]\n\n")
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"answer":%d,"word":"hunter2"}`, n)
	}))
	defer srv.Close()
	path = filepath.Join(t.TempDir(), "c.cassette.yaml")
	tr, err := Begin(path, Rewrite, &http.Transport{DisableKeepAlives: true}, hunter{})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, tr, srv.URL+"/a", `{"x": 1, "y": "z"}`)
	ask(t, tr, srv.URL+"/a", `{"x": 1, "y": "z"}`)
	ask(t, tr, srv.URL+"/stream?key=hunter2", `{"x":"hunter2"}`)
	if err := tr.Save([]byte(`{"format":"test"}`)); err != nil {
		t.Fatal(err)
	}
	return path
}

// ask makes a request and reads its answer.
func ask(t *testing.T, tr http.RoundTripper, url, body string) string {
	t.Helper()
	text, err := try(tr, url, body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func try(tr http.RoundTripper, url, body string) (string, error) {
	req, err := http.NewRequest("POST", url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer hunter2")
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// What was recorded is played in its order, whatever the host, the order of keys
// and the white space; a value that was taken out is taken out of the question
// as well.
func TestPlay(t *testing.T) {
	tr, err := Begin(record(t), None, nil, hunter{})
	if err != nil {
		t.Fatal(err)
	}
	if string(tr.Head()) != `{"format":"test"}` {
		t.Errorf("the head is %s", tr.Head())
	}
	got := []string{
		ask(t, tr, "http://elsewhere/a", `{"y":"z","x":1}`),
		ask(t, tr, "http://elsewhere/a", `{"y":"z","x":1}`),
		ask(t, tr, "http://elsewhere/stream?key=hunter2", `{"x":"hunter2"}`),
	}
	want := []string{`{"answer":1,"word":"[secret-1]"}`, `{"answer":2,"word":"[secret-1]"}`, "data: 0\n\ndata: 1\n\ndata: 2\n\ndata: [DONE]\n\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := tr.Leftovers(); err != nil {
		t.Error(err)
	}
}

// The file holds no secret, no header that nobody needs, and go-vcr reads it.
func TestFile(t *testing.T) {
	path := record(t)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"hunter2", "Authorization", "Set-Cookie", "127.0.0.1", "Date"} {
		if bytes.Contains(data, []byte(word)) {
			t.Errorf("%s is on the cassette:\n%s", word, data)
		}
	}
	c, err := cassette.Load(strings.TrimSuffix(path, ".yaml"))
	if err != nil || len(c.Interactions) != 3 {
		t.Fatalf("%v, %+v", err, c)
	}
	if got := c.Interactions[2].Response.Headers.Get(eventsHeader); !strings.HasSuffix(got, "x4") && strings.Count(got, "x") < 2 {
		t.Errorf("the events are %q, want four", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// What a link names is written, and the link stays one.
func TestSaveFollowsALink(t *testing.T) {
	path := record(t)
	link := filepath.Join(filepath.Dir(path), "link.cassette.yaml")
	if err := os.Symlink(filepath.Base(path), link); err != nil {
		t.Skipf("no links here: %v", err)
	}
	tr, err := Begin(link, Rewrite, roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{}, Body: io.NopCloser(strings.NewReader("new"))}, nil
	}), hunter{})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, tr, "http://x/a", "{}")
	if err := tr.Save(nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link has become %v, %v", info.Mode(), err)
	}
	if c, err := Open(path, hunter{}); err != nil || len(c.tape.Interactions) != 1 {
		t.Errorf("the file was not written: %v", err)
	}
}

// A cassette that was cut anywhere, or changed in any byte, is refused.
func TestDamage(t *testing.T) {
	data, err := os.ReadFile(record(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(data, hunter{}); err != nil {
		t.Fatal(err)
	}
	for n := range data {
		if _, err := read(data[:n], hunter{}); err == nil {
			t.Errorf("cut after %d of %d bytes it is read", n, len(data))
		}
		changed := bytes.Clone(data)
		changed[n] ^= 1
		if _, err := read(changed, hunter{}); err == nil {
			t.Errorf("with another byte %d it is read", n)
		}
	}
	if _, err := read(append(bytes.Clone(data), '\n'), hunter{}); err == nil {
		t.Error("with one more line it is read")
	}
}

// sealed returns text as a cassette with the right checksum.
func sealed(text string, count int) []byte {
	return []byte(text + trailer(count, checksum([]byte(text))))
}

func TestStrict(t *testing.T) {
	const one = "- request: {method: POST, url: 'http://h/a', body: x}\n  response: {code: 200, status: OK, body: y}\n"
	interaction := &cassette.Interaction{Request: cassette.Request{Method: "POST", URL: "http://h/a"}, Response: cassette.Response{Code: 200}}
	right, err := encode(nil, []*cassette.Interaction{interaction})
	if err != nil {
		t.Fatal(err)
	}
	written := string(right[:bytes.LastIndex(right, []byte("# agentbench"))])
	for _, c := range []struct {
		name, text string
		count      int
		want       string // "" = it is read
	}{
		{"as it should be", written, 1, ""},
		{"a comment", written + "# a word\n", 1, "something that is not part"},
		{"a second document", written + "---\nhunter2\n", 1, "something that is not part"},
		{"another style", "---\nversion: 1\ninteractions:\n" + one, 1, "something that is not part"},
		{"nothing", "---\nversion: 1\ninteractions: []\n", 0, "nothing is recorded"},
		{"no document", "version: 1\n", 0, "does not begin"},
		{"another version", "---\nversion: 2\ninteractions:\n" + one, 1, "only version 1"},
		{"no version", "---\ninteractions:\n" + one, 1, "only version 1"},
		{"one more than it says", "---\nversion: 1\ninteractions:\n" + one + one, 1, "has 2 interactions, and its last line says 1"},
		{"an empty one", "---\nversion: 1\ninteractions:\n- null\n", 1, "interaction 1: it is empty"},
		{"an unknown key", "---\nversion: 1\ncolour: red\ninteractions:\n" + one, 1, "colour"},
		{"a key twice", "---\nversion: 1\nversion: 1\ninteractions:\n" + one, 1, "already set"},
		{"null", "---\nnull\n", 0, "only version 1"},
		{"many aliases", "---\nversion: 1\ninteractions:\n- request: {method: POST, url: &u http://h/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}\n  response: {code: 200, status: &s " + strings.Repeat("x", 500) + "}\n- request: {method: POST, url: *u, body: *s}\n  response: {code: 200, body: *s}\n", 2, "aliases"},
		{"no method", "---\nversion: 1\ninteractions:\n- request: {url: 'http://h'}\n  response: {code: 200}\n", 1, "no method"},
		{"no status", "---\nversion: 1\ninteractions:\n- request: {method: GET, url: 'http://h'}\n", 1, "0 is not an HTTP status"},
		{"a secret", "---\nversion: 1\ninteractions:\n" + strings.Replace(one, "body: y", "body: hunter2", 1), 1, "a secret (password)"},
		{"a secret in a header", "---\nversion: 1\ninteractions:\n" + strings.Replace(one, "status: OK", "headers: {X: [hunter2]}", 1), 1, "a secret (password)"},
		{"an alias bomb", "---\na: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d]\n", 0, "not a cassette"},
	} {
		_, err := read(sealed(c.text, c.count), hunter{})
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && !strings.Contains(got, c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
}

// A secret that is left makes Save refuse, and leaves what was there.
func TestSaveRefusesSecrets(t *testing.T) {
	path := record(t)
	before, _ := os.ReadFile(path)
	tr, err := Begin(path, New, nil, hunter{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Save([]byte("hunter2")); err == nil || !strings.Contains(err.Error(), "password") {
		t.Errorf("got %v", err)
	}
	if err := tr.Save([]byte("two\nlines")); err == nil {
		t.Error("a head of two lines is written")
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the cassette was changed")
	}
}

// A redactor that numbers what it takes out sees every answer that is played, as
// it saw it when it was recorded.
func TestRedactorSeesAnswers(t *testing.T) {
	r := &listener{}
	tr, err := Begin(record(t), None, nil, r)
	if err != nil {
		t.Fatal(err)
	}
	r.bodies = nil
	ask(t, tr, "http://h/a", `{"y":"z","x":1}`)
	want := []string{`{"y":"z","x":1}`, "Content-Type: application/json", `{"answer":1,"word":"[secret-1]"}`, "200 OK", "Content-Type: application/json"}
	if diff := cmp.Diff(want, r.bodies); diff != "" {
		t.Error(diff)
	}
}

// A secret in a header that is kept, in the reason phrase or in the reason why a
// connection was lost does not reach the file, nor does it lose the recording.
func TestSecretsAroundTheBody(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.cassette.yaml")
	answers := []func(*http.Request) (*http.Response, error){
		func(r *http.Request) (*http.Response, error) {
			return &http.Response{Status: "429 slow down, hunter2", StatusCode: 429, Body: io.NopCloser(strings.NewReader("later")), Request: r,
				Header: http.Header{"Content-Type": {"text/plain; x=hunter2"}, "Retry-After": {"1", "hunter2"}}}, nil
		},
		func(*http.Request) (*http.Response, error) { return nil, errors.New("no way to hunter2") },
	}
	n := -1
	tr, err := Begin(path, Rewrite, roundTrip(func(r *http.Request) (*http.Response, error) { n++; return answers[n](r) }), hunter{})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, tr, "http://h/a", `{"x":1}`)
	_, lost := try(tr, "http://h/a", `{"x":1}`)
	if err := tr.Save([]byte(`{"format":"test"}`)); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err != nil || bytes.Contains(data, []byte("hunter2")) {
		t.Errorf("%v in\n%s", err, data)
	}
	again, err := Begin(path, None, nil, hunter{})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest("POST", "http://h/a", strings.NewReader(`{"x":1}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := again.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if got := resp.Header.Values("Retry-After"); resp.Status != "429 slow down, [secret-1]" || resp.Header.Get("Content-Type") != "text/plain; x=[secret-1]" || got[1] != "[secret-1]" {
		t.Errorf("played are %s and %v", resp.Status, resp.Header)
	}
	if _, err := try(again, "http://h/a", `{"x":1}`); err == nil || lost == nil || err.Error() != lost.Error() {
		t.Errorf("the connection was lost with %v, and is with %v", lost, err)
	}
}

type listener struct {
	hunter
	bodies []string
}

func (l *listener) Body(kind, body string) string {
	l.bodies = append(l.bodies, body)
	return l.hunter.Body(kind, body)
}

func TestMiss(t *testing.T) {
	tr, err := Begin(record(t), None, http.DefaultTransport, hunter{})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, tr, "http://h/a", `{"x":1,"y":"z"}`)
	_, err = try(tr, "http://h/a", "{\"x\":1,\"y\":\"\u009b2J\",\"new\":[1]}")
	var miss *Miss
	if !errors.As(err, &miss) || !errors.Is(err, cassette.ErrInteractionNotFound) {
		t.Fatalf("got %v", err)
	}
	want := "request 2 (POST /a) is not on the cassette; interaction 2 is the nearest and differs:\n"
	if !strings.HasPrefix(miss.Error(), want) || miss.Nearest != 2 || strings.Contains(miss.Error(), "\u009b") {
		t.Errorf("got %q", miss)
	}
	if diff := cmp.Diff([]string{"not on the cassette: $.new[]"}, miss.Drift()); diff != "" {
		t.Error(diff)
	}
	if err := tr.Leftovers(); err == nil || err.Error() != "some of the 3 recorded requests were not sent: 2 (POST /a), 3 (POST /stream?key=[secret-1])" {
		t.Errorf("got %v", err)
	}
}

// new plays what is there and records the rest; once does not record where there
// is something.
func TestModes(t *testing.T) {
	path := record(t)
	asked := 0
	network := roundTrip(func(r *http.Request) (*http.Response, error) {
		asked++
		return &http.Response{StatusCode: 200, Status: "200 OK", Header: http.Header{}, Body: io.NopCloser(strings.NewReader("fresh"))}, nil
	})
	once, err := Begin(path, Once, network, hunter{})
	if err != nil || once.Live() {
		t.Fatal("once records where there is a cassette", err)
	}
	fresh, err := Begin(path, New, network, hunter{})
	if err != nil {
		t.Fatal(err)
	}
	ask(t, fresh, "http://h/a", `{"x":1,"y":"z"}`)
	if got := ask(t, fresh, "http://h/b", `{}`); got != "fresh" || asked != 1 || fresh.Recorded() != 1 || fresh.Played() != 1 {
		t.Errorf("%q after %d requests", got, asked)
	}
	if err := fresh.Save(nil); err != nil {
		t.Fatal(err)
	}
	if c, err := Open(path, hunter{}); err != nil || len(c.tape.Interactions) != 4 {
		t.Errorf("%v", err)
	}
	// Of the four that are there now one was played, and one was recorded.
	if n := fresh.Prune(); n != 2 || fresh.Leftovers() != nil || fresh.Save(nil) != nil {
		t.Errorf("%d were dropped, not 2", n)
	}
	if c, err := Open(path, hunter{}); err != nil || len(c.tape.Interactions) != 2 {
		t.Errorf("%v", err)
	}
	if _, err := Begin(filepath.Join(t.TempDir(), "none"), None, network, hunter{}); err == nil || !strings.Contains(err.Error(), "agentbench record") {
		t.Errorf("got %v", err)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A stream reaches its reader as it comes: each event before the next is sent.
func TestStreamsAsItComes(t *testing.T) {
	more := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			io.WriteString(w, "data: x\n\n")
			w.(http.Flusher).Flush()
			<-more
		}
	}))
	defer srv.Close()
	tr, err := Begin(filepath.Join(t.TempDir(), "c"), Rewrite, &http.Transport{DisableKeepAlives: true}, hunter{})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequest("GET", srv.URL, nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	for range 3 {
		b := make([]byte, len("data: x\n\n"))
		if _, err := io.ReadFull(resp.Body, b); err != nil {
			t.Fatal(err)
		}
		more <- struct{}{} // the server waits for this before it goes on
	}
	if _, err := resp.Body.Read(make([]byte, 1)); err != io.EOF {
		t.Errorf("got %v", err)
	}
}

// However a body is cut into reads, the reader sees the same instants when it is
// played.
func TestInstants(t *testing.T) {
	const text = "data: 1\n\ndata: 2\n\ndata: [DONE]\n\n"
	readers := map[string]func(io.Reader) io.Reader{
		"all at once":   func(r io.Reader) io.Reader { return r },
		"with the end":  iotest.DataErrReader,
		"byte by byte":  iotest.OneByteReader,
		"half and half": iotest.HalfReader,
		"a broken one": func(r io.Reader) io.Reader {
			return io.MultiReader(io.LimitReader(r, 12), iotest.ErrReader(io.ErrUnexpectedEOF))
		},
		"ends in a line": func(r io.Reader) io.Reader { return io.LimitReader(r, 12) },
	}
	for name, reader := range readers {
		path := filepath.Join(t.TempDir(), "c")
		network := roundTrip(func(*http.Request) (*http.Response, error) {
			header := http.Header{"Content-Type": {"text/event-stream"}}
			return &http.Response{StatusCode: 200, Status: "200 OK", Header: header, Body: io.NopCloser(reader(strings.NewReader(text)))}, nil
		})
		live, err := Begin(path, Rewrite, network, hunter{})
		if err != nil {
			t.Fatal(err)
		}
		at := time.Unix(0, 0)
		live.clock = func() time.Time { at = at.Add(time.Millisecond); return at } // each look takes one
		want := instants(t, live)
		if err := live.Save(nil); err != nil {
			t.Fatal(err)
		}
		played, err := Begin(path, None, nil, hunter{})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, instants(t, played)); diff != "" {
			t.Errorf("%s: (-recorded +played)\n%s", name, diff)
		}
	}
}

// instants reads a stream line by line, and returns the instant of each.
func instants(t *testing.T, tr *Transport) (all []string) {
	t.Helper()
	req, _ := http.NewRequest("GET", "http://h/", nil)
	resp, err := tr.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		if lines.Text() == "" { // the end of an event
			all = append(all, tr.Elapsed().String())
		}
	}
	return append(all, fmt.Sprint(tr.Elapsed(), lines.Err()))
}

func TestEvents(t *testing.T) {
	ms := time.Millisecond
	for _, c := range []struct {
		times []time.Duration
		text  string
	}{
		{nil, ""},
		{[]time.Duration{320 * ms}, "320x1"},
		{[]time.Duration{320 * ms, 350 * ms, 350 * ms}, "320x1 350x2"},
	} {
		if got := writeEvents(c.times); got != c.text {
			t.Errorf("%v is written as %q", c.times, got)
		}
		if diff := cmp.Diff(c.times, readEvents(c.text, len(c.times))); diff != "" {
			t.Error(diff)
		}
	}
	for _, text := range []string{"1x2", "x", "1", "-1x3", "1x0", "1x-1", "1x1 1x1 1x1 1x1", "1x3 y", "1x9999999999"} {
		if got := readEvents(text, 3); got != nil {
			t.Errorf("%q is read as %v", text, got)
		}
	}
	const body = "a\r\n\r\nb\n\nc\n\r\nd\ne"
	if diff := cmp.Diff([]string{"a\r\n\r\n", "b\n\n", "c\n\r\n", "d\ne"}, pieces(true, body)); diff != "" {
		t.Error(diff)
	}
	// However the bytes come, each event is noted when its last one has.
	for size := 1; size <= len(body); size++ {
		c := cutter{stream: true}
		for at := 0; at < len(body); at += size {
			c.add([]byte(body[at:min(at+size, len(body))]), time.Duration(at+size))
		}
		var want []time.Duration
		for _, end := range []int{5, 8, 12} { // of the first three pieces
			want = append(want, time.Duration((end+size-1)/size*size))
		}
		if diff := cmp.Diff(append(want, 99), c.end(99)); diff != "" {
			t.Errorf("in pieces of %d: %s", size, diff)
		}
	}
}

func TestInspect(t *testing.T) {
	stream := http.Header{"Content-Type": {"text/event-stream"}}
	ok := http.Header{"Content-Type": {"text/event-stream"}, eventsHeader: {"5x1"}}
	c := &Cassette{tape: cassette.New("")}
	for _, in := range []struct {
		body string
		resp cassette.Response
	}{
		{"a", cassette.Response{Code: 200, Headers: ok, Body: "data: [DONE]\n\n"}},
		{"a", cassette.Response{Code: 429, Headers: http.Header{}}},
		{"b", cassette.Response{Code: 200, Headers: ok, Body: "data: half"}},
		{"c", cassette.Response{Code: 200, Headers: stream, Body: `data: {"finish_reason": "stop"}`}},
		{"d", cassette.Response{Code: 599, Headers: http.Header{failureHeader: {"lost: reset"}}}},
		{"hunter2", cassette.Response{Code: 200, Headers: http.Header{}}},
	} {
		c.tape.AddInteraction(&cassette.Interaction{Request: cassette.Request{Method: "POST", URL: "http://h/", Body: in.body}, Response: in.resp})
	}
	var got []string
	for _, x := range c.Inspect(hunter{}) {
		got = append(got, x.String())
	}
	want := []string{
		"note: interaction 2: the endpoint answered with the status 429",
		"note: interaction 2: it answers the same request as interaction 1",
		"error: interaction 3: the stream breaks off",
		"note: interaction 4: the times of its answer are missing",
		"note: interaction 5: the connection was lost: reset",
		"error: interaction 6: it has a secret (password)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// What is read is written again to the byte, and nothing makes the reader panic.
func FuzzOpen(f *testing.F) {
	right, err := encode([]byte("{}"), []*cassette.Interaction{{Request: cassette.Request{Method: "POST", URL: "http://h/a"}, Response: cassette.Response{Code: 200, Body: "data: 1\n\n"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(right[:bytes.LastIndex(right, []byte("# agentbench"))]), 1)
	f.Add("---\nversion: 1\ninteractions:\n- request: {method: POST, url: 'http://h/a', body: x}\n  response: {code: 200, status: OK, body: y}\n", 1)
	f.Add("# agentbench: {}\n---\nversion: 1\ninteractions: []\n", 0)
	f.Add("---\nnull\n", 0)
	f.Fuzz(func(t *testing.T, text string, count int) {
		c, err := read(sealed(text, count), hunter{})
		if err != nil {
			return
		}
		written, err := encode(c.Head, c.tape.Interactions)
		if err != nil {
			t.Fatal(err)
		}
		again, err := read(written, hunter{})
		if err != nil {
			t.Fatalf("%v\n%s", err, written)
		}
		a, _ := yaml.Marshal(c.tape.Interactions)
		b, _ := yaml.Marshal(again.tape.Interactions)
		if !bytes.Equal(a, b) || !bytes.Equal(c.Head, again.Head) {
			t.Errorf("it is read back as\n%s\nnot\n%s", b, a)
		}
	})
}

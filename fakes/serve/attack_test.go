package serve

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/wiretest"
)

// asks is a request that one step answers.
const asks = `{"model":"m","messages":[{"role":"user","content":"Hi"}]}`

// always answers every request at once.
var always = at(fakes.Step{Text: "a", Repeat: fakes.Forever})

// Requests of this machine are answered, those for other hosts and of web pages
// from elsewhere are not, and leave nothing in the journal.
func TestForeignRequests(t *testing.T) {
	const evil = "https://evil.example"
	tests := []struct {
		host, origin, site string
		answered           bool
	}{
		{"localhost", "", "", true},
		{"LOCALHOST", "", "", true},  // names have no case
		{"localhost.", "", "", true}, // and may end with a dot
		{"LocalHost.:8080", "", "", true},
		{"a.localhost:8080", "", "", true}, // RFC 6761: a loopback address
		{"127.0.0.1", "", "", true},
		{"127.0.0.1:8080", "", "", true},
		{"127.9.8.7:1", "", "", true}, // all of 127.0.0.0/8
		{"[::1]", "", "", true},
		{"[::1]:8080", "", "", true},
		{"[::ffff:127.0.0.1]:8080", "", "", true},

		{"", "", "", false},
		{"evil.example", "", "", false},
		{"127.0.0.1.evil.example", "", "", false},
		{"localhost.evil.example:8080", "", "", false},
		{"evillocalhost", "", "", false},
		{"localhost..", "", "", false},
		{"user@localhost", "", "", false},
		{"localhost@evil.example", "", "", false},
		{"localhost:80:80", "", "", false},
		{"0.0.0.0:8080", "", "", false},
		{"192.168.0.1", "", "", false},
		{"[::]:8080", "", "", false},
		{"2130706433", "", "", false}, // 127.0.0.1 as one number: no client sends it so
		{"127.1", "", "", false},

		{"localhost", "http://localhost:3000", "same-site", true},
		{"localhost", "http://LOCALHOST.", "", true},
		{"127.0.0.1", "https://[::1]:3000", "cross-site", false}, // as the browser says
		{"127.0.0.1", "chrome-extension://abc", "none", true},    // which the user installed
		{"localhost", evil, "cross-site", false},
		{"localhost", evil, "", false}, // a browser without Sec-Fetch-Site
		{"localhost", "http://localhost.evil.example", "", false},
		{"localhost", "http://localhost@evil.example", "", false},
		{"localhost", "null", "", false}, // a page in a sandbox
		{"localhost", "http://%zz", "", false},
		{"localhost", "", "cross-site", false}, // an image, or a form
	}
	s := serveSteps(t, always)
	answered := 0
	for _, tt := range tests {
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(asks))
		r.Host = tt.host
		r.Header.Set("Content-Type", "text/plain")
		for name, text := range map[string]string{"Origin": tt.origin, "Sec-Fetch-Site": tt.site} {
			if text != "" {
				r.Header.Set(name, text)
			}
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		want := http.StatusForbidden
		if tt.answered {
			answered++
			want = http.StatusOK
		}
		if w.Code != want || !tt.answered && !strings.Contains(w.Body.String(), `"code":"not_local"`) {
			t.Errorf("Host %q, Origin %q, Sec-Fetch-Site %q: %d, want %d: %s", tt.host, tt.origin, tt.site, w.Code, want, w.Body)
		}
	}
	if got := s.Journal().Total; got.Requests != answered || got.Refused != 0 {
		t.Errorf("the journal counts %+v, want the %d requests that were answered", got, answered)
	}
}

// raw sends bytes over a connection of its own and returns the answer to them.
func raw(t *testing.T, network *wiretest.Pipes, request string) (int, string) {
	t.Helper()
	conn, err := network.Dial(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	go io.WriteString(conn, request) // until the server closes
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Errorf("%.80q: %v", request, err)
		return 0, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Errorf("%.80q: %v", request, err)
	}
	return resp.StatusCode, string(body)
}

// Malformed requests get an error in the form of their API, and the server goes on.
func TestMalformedRequests(t *testing.T) {
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	z.Write([]byte(strings.Repeat(" ", 10<<20)))
	z.Close()
	body := func(text string, headers ...string) string {
		return fmt.Sprintf("Content-Length: %d\r\n%s\r\n%s", len(text), strings.Join(append(headers, ""), "\r\n"), text)
	}
	chunked := func(text string) string { return "Transfer-Encoding: chunked\r\n\r\n" + text }
	tests := []struct {
		name, rest string
		status     int
		want       string
	}{
		{"no body", "\r\n", 400, "unexpected end of JSON input"},
		{"a cut body", body(`{"model":"m","mess`), 400, "unexpected end of JSON input"},
		{"two values", body(asks + asks), 400, "after top-level value"},
		{"a NUL", body("\x00" + asks), 400, "invalid character"},
		{"a byte order mark", body("\ufeff" + asks), 400, "invalid character"},
		{"UTF-16", body("\xff\xfe{\x00}\x00"), 400, "invalid character"},
		{"deep nesting", body(strings.Repeat("[", 30_000)), 400, "exceeded max depth"},
		{"deep nesting that ends", body(strings.Repeat(`{"a":`, 30_000) + "1" + strings.Repeat("}", 30_000)), 400, "exceeded max depth"},
		{"null", body("null"), 400, "must be a JSON object, not null"},
		{"a text", body(`"{}"`), 400, "must be a JSON object, not a string"},
		{"a huge number for a text", body(`{"model":1e400}`), 400, "model: must be a string, not a number"},
		{"no number", body(`{"model":NaN}`), 400, "invalid character 'N'"},
		{"objects for a list", body(`{"model":"m","messages":{"0":{}},"input":{"0":{}}}`), 400, "must be"},
		{"a field twice, once wrong", body(strings.Replace(asks, "{", `{"model":3,`, 1)), 400, "model: must be a string, not a number"},
		{"a list for a text", body(`{"model":["m"],"messages":[]}`), 400, "model: must be a string, not an array"},
		{"a form", body("model=m", "Content-Type: application/x-www-form-urlencoded"), 400, "invalid character 'm'"},
		{"a gzip bomb", body(bomb.String(), "Content-Encoding: gzip"), 400, "invalid character"},
		{"a bad chunk", chunked("zz\r\n" + asks + "\r\n0\r\n\r\n"), 400, "the body is incomplete"},
		{"a chunk of 2^64 bytes", chunked("ffffffffffffffff\r\n{}"), 408, "did not come within 30s"},
		{"a chunk without its end", chunked("2\r\n{}{}\r\n0\r\n\r\n"), 400, "the body is incomplete"},
		{"a body of 1 GB", "Content-Length: 1000000000\r\n\r\n{", 413, "more than 16777216 bytes"},
	}
	onPipes(t, Options{}, func(t *testing.T, s *Server, network *wiretest.Pipes) {
		for _, tt := range tests {
			for path, a := range apis {
				status, text := raw(t, network, "POST "+path+" HTTP/1.1\r\nHost: localhost\r\n"+tt.rest)
				var told struct {
					Type  string
					Error struct{ Type, Code, Message string }
				}
				if err := json.Unmarshal([]byte(text), &told); err != nil || status != tt.status || told.Error.Type == "" ||
					!strings.HasPrefix(told.Error.Message, "agentbench: ") || !strings.Contains(told.Error.Message, tt.want) || a.name() == "messages" && told.Type != "error" {
					t.Errorf("%s to %s: %d %s (%v), want %d and %q", tt.name, path, status, text, err, tt.status, tt.want)
				}
			}
		}
		// A request that is not HTTP has no API.
		for _, request := range []string{"POST /v1/messages HTTP/1.1\r\n\r\n", "POST /v1/messages HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "\x16\x03\x01 HTTP/1.1\r\n\r\n",
			"POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nx\x00y: z\r\n\r\n"} {
			if status, text := raw(t, network, request); status != 400 && status != 505 {
				t.Errorf("%q: %d %s", request, status, text)
			}
		}
		// The last of two equal fields counts, as in JavaScript and Python.
		twice := strings.Replace(asks, "{", `{"model":"first",`, 1)
		if status, text := raw(t, network, "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"+body(twice)); status != 200 || !strings.Contains(text, `"model":"m"`) {
			t.Errorf("after all of these: %d %s", status, text)
		}
	}, always)
}

// A body that is too large is left unread as soon as that is known.
func TestLargeBodiesAreNotRead(t *testing.T) {
	s := serveSteps(t, always)
	for _, tt := range []struct{ length, most int64 }{{1 << 30, 0}, {-1, maxBody + 1}} {
		read := &counting{r: io.LimitReader(spaces{}, 1<<30)}
		r := httptest.NewRequest("POST", "http://localhost/v1/messages", read)
		r.ContentLength = tt.length
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge || read.n > tt.most {
			t.Errorf("announced as %d bytes: %d after %d bytes were read, want at most %d", tt.length, w.Code, read.n, tt.most)
		}
	}
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

type counting struct {
	r io.Reader
	n int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// Connections that send nothing, half a header, or a body byte by byte hold up
// nobody with a small body; one with a large body waits until those that hold
// the places of large ones have had their time. In the end all are closed.
func TestSlowConnections(t *testing.T) {
	onPipes(t, Options{}, func(t *testing.T, s *Server, network *wiretest.Pipes) {
		const header = "POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\n"
		closed := make(chan struct{})
		slow := []struct {
			n     int
			begin string
		}{
			{300, ""},
			{300, header},
			{300, header + "Content-Length: 100\r\n\r\n{"},
			{300, header + "Transfer-Encoding: chunked\r\n\r\n20000\r\n{\""},
			{2 * largeBodies, header + "Transfer-Encoding: chunked\r\n\r\n20000\r\n{\"" + strings.Repeat("a", smallBody)},
		}
		for _, kind := range slow {
			for range kind.n {
				conn, err := network.Dial(t.Context(), "", "")
				if err != nil {
					t.Fatal(err)
				}
				go func() {
					defer func() { conn.Close(); closed <- struct{}{} }()
					go io.Copy(io.Discard, conn)
					for _, err := io.WriteString(conn, kind.begin); err == nil; _, err = conn.Write([]byte("a")) {
						time.Sleep(sec) // of virtual time
					}
				}()
			}
		}
		time.Sleep(ms) // of virtual time: all have begun
		ask := func(content string, most time.Duration) {
			t.Helper()
			began := time.Now()
			body := strings.Replace(asks, "Hi", content, 1)
			status, text := raw(t, network, fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", header, len(body), body))
			if took := time.Since(began); status != 200 || took > most {
				t.Errorf("a body of %d bytes: %d after %v, want 200 within %v: %.200s", len(body), status, took, most, text)
			}
		}
		ask("Hi", 0)
		ask(strings.Repeat("a", 2*smallBody), 2*largeTime) // two rounds of slow ones are before it
		for _, kind := range slow {
			for range kind.n {
				<-closed
			}
		}
	}, always)
}

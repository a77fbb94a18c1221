package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
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

package probe

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/scenarios"
)

// Bodies are kept as they passed, without secrets, and what is too long is cut.
func TestBodies(t *testing.T) {
	const secret = "sk-ant-api03-" + "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstu-AAAAAA"
	b := &bodies{handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.HasSuffix(r.URL.Path, "/long") {
			body = []byte(strings.Repeat("x", maxKeptBody+1))
		}
		http.NewResponseController(w).Flush()
		w.Write(body)
	})}
	server := httptest.NewServer(b)
	defer server.Close()
	for _, path := range []string{"/v1/messages", "/v1/long"} {
		resp, err := http.Post(server.URL+path, "application/json", strings.NewReader(`{"password": "correct horse", "text": "`+secret+`"}`))
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, resp.Body); err != nil || n < 50 {
			t.Errorf("the answer has %d bytes, %v", n, err)
		}
		resp.Body.Close()
	}
	server.Close()
	dir := t.TempDir()
	if err := b.write(dir, &scenarios.Scenario{Suite: "mine", Name: "one"}, 3); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "mine", "one.seed-3.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 2 || strings.Contains(string(text), secret) || strings.Contains(string(text), "correct horse") {
		t.Errorf("kept are\n%.2000s", text)
	}
	if !strings.HasPrefix(lines[0], `{"n":1,"method":"POST","path":"/v1/messages","request":"{\"password\": \"[`) || !strings.Contains(lines[0], `"status":200,"answer":"{`) || strings.Contains(lines[0], `"cut"`) {
		t.Errorf("the first line is %s", lines[0])
	}
	if !strings.HasSuffix(lines[1], `x","cut":true}`) || len(lines[1]) > maxKeptBody+1000 {
		t.Errorf("the second line ends in %s", lines[1][len(lines[1])-50:])
	}
}

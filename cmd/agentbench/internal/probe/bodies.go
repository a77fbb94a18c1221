package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Limits of the bodies that are kept of one trial, in bytes: of each, and of all.
const (
	maxKeptBody = 1 << 20
	maxKept     = 64 << 20
)

// An Exchange is one line of a file of bodies: a request and its answer.
type Exchange struct {
	N       int    `json:"n"` // in the order of arrival
	Method  string `json:"method"`
	Path    string `json:"path"` // without that of the trial
	Request string `json:"request,omitempty"`
	Status  int    `json:"status,omitempty"` // 0 = none was sent
	Answer  string `json:"answer,omitempty"`
	Cut     bool   `json:"cut,omitempty"` // a body was longer than what is kept
}

// bodies keeps what a trial's agent and server say. They live in memory until the trial
// has ended, as they are redacted together.
type bodies struct {
	handler http.Handler
	mu      sync.Mutex
	all     []*exchange
	size    int
}

type exchange struct {
	Exchange
	request, answer bytes.Buffer
}

// ServeHTTP hands a request on, and keeps its body and its answer.
func (b *bodies) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{Exchange: Exchange{Method: r.Method, Path: r.URL.Path}}
	b.mu.Lock()
	b.all = append(b.all, x)
	x.N = len(b.all)
	b.mu.Unlock()
	r.Body = &keptBody{r.Body, b, x}
	b.handler.ServeHTTP(&keptAnswer{w, b, x}, r)
}

// keep adds to a body, up to the limits.
func (b *bodies) keep(x *exchange, to *bytes.Buffer, text []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(text), maxKeptBody-to.Len(), maxKept-b.size)
	x.Cut = x.Cut || n < len(text)
	to.Write(text[:n])
	b.size += n
}

// write writes the file of a trial below a folder, redacted.
func (b *bodies) write(folder string, s *scenarios.Scenario, seed uint64) error {
	name, err := goldens.Name(s.ID(), fmt.Sprintf("seed-%d", seed))
	if err != nil {
		return err
	}
	path := filepath.Join(folder, filepath.FromSlash(strings.TrimSuffix(name, ".golden")+".jsonl"))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	redact := s.Redactor()
	var out bytes.Buffer
	b.mu.Lock() // an answer may still be under way
	defer b.mu.Unlock()
	for _, x := range b.all {
		x.Request, x.Answer = x.request.String(), x.answer.String()
		line, err := json.Marshal(x.Exchange)
		if err != nil {
			return err
		}
		out.WriteString(redact.JSON(string(line)))
		out.WriteByte('\n')
	}
	return outfile.Write(path, out.Bytes(), 0o600)
}

type keptBody struct {
	io.ReadCloser
	of *bodies
	x  *exchange
}

func (k *keptBody) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	k.of.keep(k.x, &k.x.request, p[:n])
	return n, err
}

type keptAnswer struct {
	http.ResponseWriter
	of *bodies
	x  *exchange
}

// Unwrap lets the server flush and take over the connection.
func (k *keptAnswer) Unwrap() http.ResponseWriter { return k.ResponseWriter }

func (k *keptAnswer) WriteHeader(status int) {
	k.of.mu.Lock()
	if k.x.Status == 0 {
		k.x.Status = status
	}
	k.of.mu.Unlock()
	k.ResponseWriter.WriteHeader(status)
}

func (k *keptAnswer) Write(p []byte) (int, error) {
	k.of.mu.Lock()
	if k.x.Status == 0 {
		k.x.Status = http.StatusOK
	}
	k.of.mu.Unlock()
	n, err := k.ResponseWriter.Write(p)
	k.of.keep(k.x, &k.x.answer, p[:n])
	return n, err
}

package watch

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/internal/text"
)

// mark is the header of the answers that the proxy gives itself.
const mark = "X-Agentbench-Watch"

// How long the proxy waits for its clients, and how long a header may be.
const (
	headerTime = 10 * time.Second // to send a header
	leaveTime  = time.Second      // to read the last answers after the end
	maxHeader  = 1 << 20
)

// forwarded are the headers that a reverse proxy takes out. They pass.
var forwarded = []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

type tapKey struct{} // of a request's context: its *tap

// proxy returns the reverse proxy, which changes nothing that passes.
func (w *Watch) proxy() http.Handler {
	p := &httputil.ReverseProxy{
		Transport:     w.transport(),
		FlushInterval: -1, // every piece at once
		BufferPool:    &buffers{},
		ErrorLog:      log.New(io.Discard, "", 0), // what a broken connection says
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(w.o.Upstream)
			r.Out.URL.RawQuery = r.In.URL.RawQuery
			for _, name := range forwarded {
				if values, ok := r.In.Header[name]; ok {
					r.Out.Header[name] = values
				}
			}
			if r.Out.Body != nil {
				r.Out.Body = asking{r.Out.Body, r.In.Context().Value(tapKey{}).(*tap)}
			}
		},
		ModifyResponse: func(r *http.Response) error {
			t := r.Request.Context().Value(tapKey{}).(*tap)
			if r.StatusCode == http.StatusSwitchingProtocols {
				t.take = w.untold("a connection upgraded to " + text.Quote(r.Header.Get("Upgrade"), 40))
				return nil
			}
			t.status, t.encoding, t.stream = r.StatusCode, r.Header.Get("Content-Encoding"), stream(r.Header)
			r.Body = &answering{r.Body, t, r.ContentLength}
			return nil
		},
		ErrorHandler: w.broken,
	}
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if why := serve.Foreign(r); why != "" {
			refuse(rw, http.StatusForbidden, "foreign", why)
			return
		}
		t := &tap{began: time.Now(), method: r.Method, path: r.URL.Path, scope: w.scope(r), run: w.run(r), asked: r.Header.Get("Content-Encoding"), take: w.take, room: &w.room}
		if t.held = tapped; !w.room.take(tapped) {
			t.held, t.unseen = 0, true
		}
		defer t.end()
		// The server adds these to an answer without them, unless they are there.
		rw.Header()["Date"], rw.Header()["Content-Type"] = nil, nil
		p.ServeHTTP(rw, r.WithContext(context.WithValue(r.Context(), tapKey{}, t)))
	})
}

// untold takes a tap of which only the reason counts.
func (w *Watch) untold(why string) func(*tap) {
	return func(t *tap) {
		t.leave()
		w.passed(why)
	}
}

// transport returns the way to the upstream, and to nothing else: no redirect is
// followed, and no proxy of the environment is asked.
func (w *Watch) transport() http.RoundTripper {
	if w.o.Transport != nil {
		return w.o.Transport
	}
	return &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		DisableCompression:  true, // the client's own Accept-Encoding counts
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: 1000,
		IdleConnTimeout:     90 * time.Second,
	}
}

// broken ends an exchange without an answer. If no connection could be made, the
// client gets a 502; if it was lost, the client loses its own.
func (w *Watch) broken(rw http.ResponseWriter, r *http.Request, err error) {
	var op *net.OpError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	dial := errors.As(err, &op) && op.Op == "dial"
	if r.Context().Err() != nil || !dial && !errors.As(err, &certificate) && !errors.As(err, &record) {
		panic(http.ErrAbortHandler)
	}
	r.Context().Value(tapKey{}).(*tap).take = w.untold("no connection to the upstream")
	w.unreached(err)
	refuse(rw, http.StatusBadGateway, "unreachable", "cannot reach "+w.o.Upstream.Host+": "+reason(err))
}

// reason returns the last part of an error of the network, without addresses.
func reason(err error) string {
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return text.Line(certificate.Err.Error())
	}
	said := err.Error()
	return text.Line(said[strings.LastIndex(said, ": ")+len(": "):])
}

// refuse gives an answer of the proxy's own, with an error as the APIs write it.
func refuse(rw http.ResponseWriter, status int, word, problem string) {
	body, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]any{"type": "agentbench_watch", "code": word, "message": "agentbench watch: " + problem}})
	delete(rw.Header(), "Date")
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set(mark, word)
	rw.WriteHeader(status)
	rw.Write(body) // an error means that the client has left
}

// keys are the headers in which the APIs take a key, and the one that names a
// conversation.
var keys = []string{"X-Agentbench-Conversation", "Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}

// seed makes the names of scopes useless outside this process.
var seed = maphash.MakeSeed()

// scope returns the name of what a request may belong together with: the same key of
// the API, conversation and run. Nothing of it can be read from the name.
func (w *Watch) scope(r *http.Request) string {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, name := range keys {
		h.WriteString(r.Header.Get(name))
		h.WriteByte(0)
	}
	h.WriteString(r.Header.Get(w.o.KeyHeader))
	if r.URL.RawQuery != "" {
		h.WriteByte(0)
		h.WriteString(r.URL.Query().Get("key"))
	}
	return strconv.FormatUint(h.Sum64(), 36)
}

// run returns the name that the header of runs gives a request, "" for none.
func (w *Watch) run(r *http.Request) string {
	value := ""
	if w.o.KeyHeader != "" {
		value = r.Header.Get(w.o.KeyHeader)
	}
	if value == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(value))
	return "run-" + hex.EncodeToString(sum[:6])
}

// buffers lends the buffers with which bodies are copied.
type buffers struct{ pool sync.Pool }

func (b *buffers) Get() []byte {
	if lent, ok := b.pool.Get().(*[]byte); ok {
		return *lent
	}
	return make([]byte, 32<<10)
}

func (b *buffers) Put(used []byte) { b.pool.Put(&used) }

// Serve passes the requests on a listener on until ctx ends, and then breaks off the
// answers in progress. When it returns, every connection is closed and everything that
// has passed is linked, told and kept. The error says why it could not go on.
func (w *Watch) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var answers sync.RWMutex // each answer in progress holds it for reading
	handler := w.proxy()
	server := &http.Server{
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			answers.RLock()
			defer answers.RUnlock()
			handler.ServeHTTP(rw, r)
		}),
		ReadHeaderTimeout: headerTime,
		MaxHeaderBytes:    maxHeader,
		BaseContext:       func(net.Listener) context.Context { return ctx },
		ErrorLog:          log.New(io.Discard, "", 0),
	}
	w.start()
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		leaving, stop := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
		server.Shutdown(leaving) // an error means that answers are in progress, which Close breaks off
		stop()
		<-ended
	}
	cancel()
	server.Close() // its error is about connections that are already closed
	answers.Lock()
	defer answers.Unlock()
	return errors.Join(err, w.finish())
}

// ParseUpstream returns the URL of an API from what somebody has typed.
func ParseUpstream(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("must be a URL such as https://api.example.com, not %s", text.Quote(s, 80))
	case u.User != nil:
		return nil, errors.New("must have no user or password: the agent sends the key itself")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("must end with the path: the agent sends the query itself")
	}
	return u, nil
}

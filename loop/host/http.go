package host

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// An httpError is what a client is told.
type httpError struct {
	status int
	text   string
}

func (e *httpError) Error() string { return e.text }

func bad(format string, args ...any) error {
	return &httpError{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

func tooMany(format string, args ...any) error {
	return &httpError{http.StatusTooManyRequests, fmt.Sprintf(format, args...)}
}

func writeError(w http.ResponseWriter, err error) {
	told := &httpError{http.StatusInternalServerError, textBroken}
	errors.As(err, &told)
	if told.status == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", "1")
	}
	writeJSON(w, told.status, map[string]string{"error": told.text})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // v is one of this package's own types
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(append(text, '\n'))
}

func done(w http.ResponseWriter) error {
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// readBody decodes a request's body, which must be one JSON object of known fields, into
// v. It must come within Limits.Idle.
func (t *tenant) readBody(w http.ResponseWriter, r *http.Request, v any) error {
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(t.Limits.Idle)) // a writer that has no deadlines is a test's
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, t.Limits.Body))
	d.DisallowUnknownFields()
	err := d.Decode(v)
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows the object")
		}
	}
	switch large := new(http.MaxBytesError); {
	case errors.As(err, &large):
		return &httpError{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes", t.Limits.Body)}
	case errors.Is(err, io.EOF):
		return bad("the body must be a JSON object, and is empty")
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close") // the server would wait for the rest
		return &httpError{http.StatusRequestTimeout, fmt.Sprintf("the body did not come within %s", t.Limits.Idle)}
	case err != nil:
		return bad("the body must be a JSON object of this request's fields: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	control.SetReadDeadline(time.Time{})
	return nil
}

// readAfter returns the number of the last event that a reader has, 0 for none.
func readAfter(r *http.Request) (int, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, bad("Last-Event-ID or after must be the number of an event, not %.40q", text)
	}
	return n, nil
}

// readName returns the session that a request is about.
func readName(r *http.Request) (string, error) {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
	name := r.PathValue("session")
	if name == "" || name[0] == '.' || len(name) > 200 || strings.Trim(name, letters) != "" {
		return "", bad("the name of a session has up to 200 letters, digits, dots, dashes and underscores, and does not begin with a dot")
	}
	return name, nil
}

func (t *tenant) postMessage(w http.ResponseWriter, r *http.Request) error {
	name, err := readName(r)
	if err != nil {
		return err
	}
	var body struct {
		Text  string `json:"text"`
		Steer bool   `json:"steer"`
	}
	if err := t.readBody(w, r, &body); err != nil {
		return err
	}
	if strings.TrimSpace(body.Text) == "" {
		return bad(`the message needs a text: {"text": "…"}`)
	}
	if wait := t.take(); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		return tooMany("more than %d messages in a minute", t.Limits.PerMinute)
	}
	c, err := t.use(name)
	if err != nil {
		return err
	}
	defer t.leave(c)
	if err := t.openStream(); err != nil {
		return err
	}
	defer t.closeStream()
	m, after, err := t.submit(r.Context(), c, body.Text, body.Steer)
	if err != nil {
		return err
	}
	return t.stream(w, r, c, m, after)
}

func (t *tenant) getEvents(w http.ResponseWriter, r *http.Request) error {
	name, err := readName(r)
	if err != nil {
		return err
	}
	after, err := readAfter(r)
	if err != nil {
		return err
	}
	c, err := t.use(name)
	if err != nil {
		return err
	}
	defer t.leave(c)
	if err := t.openStream(); err != nil {
		return err
	}
	defer t.closeStream()
	m, err := t.resume(r.Context(), c)
	if err != nil {
		return err
	}
	return t.stream(w, r, c, m, after)
}

// A State is what the route of a session tells.
type State struct {
	Session string `json:"session"`
	Running bool   `json:"running"`        // a run is under way
	Waiting int    `json:"waiting"`        // messages that wait for it
	Open    []Open `json:"open,omitempty"` // what waits for an answer
}

// An Open is a question or a permission that waits for an answer.
type Open struct {
	Ref  string `json:"ref"`
	Kind string `json:"kind"` // question or permission
	Text string `json:"text,omitempty"`
	Tool string `json:"tool,omitempty"`
	Args string `json:"args,omitempty"`
}

func (t *tenant) getSession(w http.ResponseWriter, r *http.Request) error {
	name, err := readName(r)
	if err != nil {
		return err
	}
	c, err := t.use(name)
	if err != nil {
		return err
	}
	defer t.leave(c)
	state := c.state()
	if !state.Running {
		if _, err := t.load(c); err != nil {
			return err
		}
	}
	writeJSON(w, http.StatusOK, state)
	return nil
}

func (t *tenant) postAnswer(w http.ResponseWriter, r *http.Request) error {
	name, err := readName(r)
	if err != nil {
		return err
	}
	var body struct {
		Allow *bool  `json:"allow"`
		Text  string `json:"text"`
	}
	if err := t.readBody(w, r, &body); err != nil {
		return err
	}
	if body.Allow == nil {
		return bad(`the answer needs allow: {"allow": true, "text": "…"}`)
	}
	c := t.used(name)
	if c == nil || !c.answer(r.PathValue("ref"), reply{*body.Allow, body.Text}) {
		return &httpError{http.StatusNotFound, "nothing of that name waits for an answer in this session"}
	}
	return done(w)
}

func (t *tenant) postCancel(w http.ResponseWriter, r *http.Request) error {
	name, err := readName(r)
	if err != nil {
		return err
	}
	if c := t.used(name); c == nil || !c.end(errCancel) {
		return &httpError{http.StatusNotFound, "no run of this session is under way"}
	}
	return done(w)
}

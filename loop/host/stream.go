package host

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/events"
)

// maxText bounds a text of an event, in bytes. The session keeps the whole text.
const maxText = 64 << 10

// An Event is the data of an event of a stream. Fields without a meaning for the event
// are left out.
type Event struct {
	AtMS    int64    `json:"at_ms"` // since the session began
	Run     int      `json:"run"`   // the number of the run in the session, from 1
	Turn    int      `json:"turn,omitempty"`
	Ref     string   `json:"ref,omitempty"` // the request, call, question or permission that it is about
	Tool    string   `json:"tool,omitempty"`
	Args    string   `json:"args,omitempty"`
	Index   int      `json:"index,omitempty"`   // of a call: its place in the batch, from 1
	Batch   int      `json:"batch,omitempty"`   // of a call: how many calls the batch has
	Repeat  int      `json:"repeat,omitempty"`  // of a call that starts: how often it has been asked for in a row
	TookMS  int64    `json:"took_ms,omitempty"` // of a call that ended: its duration, with its retries
	Code    string   `json:"code,omitempty"`    // of a call that ended: how, "" for a success
	Why     string   `json:"why,omitempty"`     // of a call that did not run: why
	Text    string   `json:"text,omitempty"`
	Cut     bool     `json:"cut,omitempty"` // text or args are longer than 64 KiB and were cut
	Outcome *Outcome `json:"outcome,omitempty"`
}

// An Outcome is how a run ended and what it used, as [loop.Outcome] says.
type Outcome struct {
	Stop       loop.Stop     `json:"stop"`
	EndState   loop.EndState `json:"end_state"`
	Reason     string        `json:"reason"`
	Message    string        `json:"message,omitempty"`
	Answer     string        `json:"answer,omitempty"`
	Incomplete bool          `json:"incomplete"`
	Turns      int           `json:"turns"`
	ModelCalls int           `json:"model_calls"`
	Asked      int           `json:"asked"`
	Calls      int           `json:"calls"`
	Errors     int           `json:"errors"`
	Vetoed     int           `json:"vetoed"`
	Denied     int           `json:"denied"`
	TokensIn   int64         `json:"tokens_in"`
	TokensOut  int64         `json:"tokens_out"`
	CostUSD    float64       `json:"cost_usd"`
	ElapsedMS  int64         `json:"elapsed_ms"`
}

// frame returns the text of an event.
func frame(n int, e events.Event) []byte {
	data := Event{AtMS: e.At.Milliseconds(), Run: e.Run, Turn: e.Turn, Ref: e.Ref.String(), Tool: e.Tool,
		Index: e.Index, Batch: e.Batch, Repeat: e.Repeat, TookMS: e.Duration.Milliseconds(), Code: string(e.Code), Why: string(e.Why)}
	var cutText, cutArgs bool
	data.Text, cutText = cut(e.Text)
	data.Args, cutArgs = cut(e.Args)
	data.Cut = cutText || cutArgs
	if o := e.Outcome; o != nil {
		answer, long := cut(o.Answer)
		data.Cut = data.Cut || long
		data.Outcome = &Outcome{Stop: o.Stop, EndState: o.End, Reason: o.Reason, Message: o.Message, Answer: answer,
			Incomplete: o.Incomplete, Turns: o.Turns, ModelCalls: o.ModelCalls, Asked: o.Asked, Calls: o.Calls,
			Errors: o.Errors, Vetoed: o.Vetoed, Denied: o.Denied, TokensIn: o.TokensIn, TokensOut: o.TokensOut,
			CostUSD: float64(o.Cost) / 1e9, ElapsedMS: o.Elapsed.Milliseconds()}
	}
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // an Event has only texts and numbers
	}
	return fmt.Appendf(nil, "id: %d\nevent: %s\ndata: %s\n\n", n, e.Kind, text)
}

func cut(text string) (string, bool) {
	if len(text) <= maxText {
		return text, false
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end], true
}

// A feed holds the last events of a session for its readers.
type feed struct {
	mu      sync.Mutex
	begun   bool
	first   int // the number of frames[0]
	frames  [][]byte
	size    int // bytes of frames
	max     int
	changed chan struct{} // closed by the next add; nil if nobody waits
}

// begin says that a session has n events so far, and returns the number of the last one.
func (f *feed) begin(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		f.begun, f.first = true, n+1
	}
	return f.first + len(f.frames) - 1
}

func (f *feed) last() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first + len(f.frames) - 1
}

// oldest returns the number of the first event that it holds or will hold. ok is false
// if no run has begun.
func (f *feed) oldest() (n int, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first, f.begun
}

func (f *feed) add(e events.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	text := frame(f.first+len(f.frames), e)
	f.frames = append(f.frames, text)
	f.size += len(text)
	for f.size > f.max && len(f.frames) > 1 {
		f.size -= len(f.frames[0])
		f.frames = f.frames[1:]
		f.first++
	}
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

// after returns the events after number n, how many of them it does not hold any more,
// and a channel that is closed when there are further ones.
func (f *feed) after(n int) (frames [][]byte, missing int, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	missing = max(0, f.first-1-n)
	if at := n + missing + 1 - f.first; at < len(f.frames) {
		frames = f.frames[at:]
	}
	return frames, missing, f.changed
}

// A writer writes a stream of events.
type writer struct {
	http.ResponseWriter
	idle  time.Duration
	begun bool
}

func (w *writer) send(text []byte) error {
	if !w.begun {
		w.begun = true
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Accel-Buffering", "no") // nginx would hold events back
	}
	control := http.NewResponseController(w.ResponseWriter)
	control.SetWriteDeadline(time.Now().Add(w.idle)) // a writer that has no deadlines is a test's
	if _, err := w.Write(text); err != nil {
		return err
	}
	control.Flush()
	return nil
}

// fail tells what broke: in the stream if it has begun.
func (w *writer) fail(err error) error {
	if !w.begun {
		return err
	}
	text, _ := json.Marshal(map[string]string{"error": err.Error()})
	w.send(fmt.Appendf(nil, "event: error\ndata: %s\n\n", text))
	return nil
}

// alive is sent when nothing else is, so that proxies and readers do not give up.
const alive = 15 * time.Second

// stream writes the events of a session after number after, up to the end of the run of
// m. If after is negative it begins with that run. If m is nil it writes what is saved.
func (t *tenant) stream(rw http.ResponseWriter, r *http.Request, c *conversation, m *message, after int) error {
	w := &writer{ResponseWriter: rw, idle: t.Limits.Idle}
	beat := time.NewTicker(alive)
	defer beat.Stop()
	gone := r.Context().Done()
	for wait := m != nil; wait; {
		select {
		case <-m.started:
			wait = false
		case <-m.done:
			select {
			case <-m.started:
				wait = false
			default:
				return w.fail(m.err)
			}
		case <-gone:
			return nil
		case <-beat.C:
			if w.send([]byte(": alive\n\n")) != nil {
				return nil
			}
		}
	}
	if after < 0 {
		after = m.from
	} else if n, err := t.sendSaved(w, c, after); err != nil {
		return w.fail(err)
	} else {
		after = n
	}
	if m == nil {
		return nil
	}
	for {
		frames, missing, changed := c.feed.after(after)
		over := false
		select {
		case <-m.done: // what was read may be of the next run
			over = true
			missing = min(missing, max(0, m.to-after))
			frames = frames[:min(len(frames), max(0, m.to-after-missing))]
		default:
		}
		after += missing + len(frames)
		if missing > 0 && w.send(fmt.Appendf(nil, "event: gap\ndata: {\"missing\":%d}\n\n", missing)) != nil {
			return nil
		}
		for _, f := range frames {
			if w.send(f) != nil {
				return nil
			}
		}
		if missing+len(frames) > 0 {
			continue
		}
		if over {
			if m.err != nil {
				return w.fail(m.err)
			}
			return nil
		}
		select {
		case <-changed:
		case <-m.done:
		case <-gone:
			return nil
		case <-beat.C:
			if w.send([]byte(": alive\n\n")) != nil {
				return nil
			}
		}
	}
}

// sendSaved writes the saved events after number after that the feed does not hold, and
// returns the number of the last one.
func (t *tenant) sendSaved(w *writer, c *conversation, after int) (int, error) {
	oldest, begun := c.feed.oldest()
	trace, err := t.load(c)
	if err != nil {
		return after, err
	}
	var reader events.Reader
	n := 0
	for i := range trace {
		for _, e := range reader.Read(trace[i]) {
			n++
			if n <= after || begun && n >= oldest {
				continue
			}
			if err := w.send(frame(n, e)); err != nil {
				return n, err
			}
			after = n
		}
	}
	if !w.begun {
		return after, w.send([]byte(": alive\n\n"))
	}
	return after, nil
}

package tape

import (
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// isStream reports whether a body is a stream of events.
func isStream(h http.Header) bool {
	kind, _, _ := mime.ParseMediaType(h.Get("Content-Type"))
	return kind == "text/event-stream"
}

// pieces cuts a body into the pieces that have times: the events of a stream, each
// with the blank line that ends it, and the rest after the last event. Any other
// body is one piece.
func pieces(stream bool, body string) []string {
	var parts []string
	for stream {
		end := eventEnd(body)
		if end < 0 {
			break
		}
		parts, body = append(parts, body[:end]), body[end:]
	}
	if body != "" {
		parts = append(parts, body)
	}
	return parts
}

// eventEnd returns the index after the first event of a stream, which ends with an
// empty line; -1 if the event is incomplete.
func eventEnd(s string) int {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '\n')
		if i < 0 {
			return -1
		}
		at += i + 1
		switch rest := s[at:]; {
		case strings.HasPrefix(rest, "\n"):
			return at + 1
		case strings.HasPrefix(rest, "\r\n"):
			return at + 2
		}
	}
}

// A cutter notes when each piece of a body was complete.
type cutter struct {
	stream bool
	open   bool    // the last piece is incomplete
	last   [2]byte // the last bytes of the incomplete piece
	times  []time.Duration
}

func (c *cutter) add(b []byte, at time.Duration) {
	if !c.stream {
		c.open = c.open || len(b) > 0
		return
	}
	for _, x := range b {
		if x == '\n' && (c.last[1] == '\n' || c.last == [2]byte{'\n', '\r'}) {
			c.open, c.last, c.times = false, [2]byte{}, append(c.times, at)
			continue
		}
		c.open, c.last = true, [2]byte{c.last[1], x}
	}
}

// end returns the times of all pieces of a body that ended at an instant.
func (c *cutter) end(at time.Duration) []time.Duration {
	if c.open {
		c.times = append(c.times, at)
	}
	return c.times
}

// writeEvents formats times as 320x1 350x2.
func writeEvents(times []time.Duration) string {
	var b []string
	for i := 0; i < len(times); {
		n := 1
		for i+n < len(times) && times[i+n] == times[i] {
			n++
		}
		b = append(b, fmt.Sprintf("%dx%d", times[i].Milliseconds(), n))
		i += n
	}
	return strings.Join(b, " ")
}

// readEvents parses the times of n pieces. It returns nil if text is not valid or
// has another number of them.
func readEvents(text string, n int) []time.Duration {
	var times []time.Duration
	for _, word := range strings.Fields(text) {
		ms, count, ok := strings.Cut(word, "x")
		at, err := strconv.ParseInt(ms, 10, 40)
		times64, err2 := strconv.Atoi(count)
		if !ok || err != nil || err2 != nil || at < 0 || times64 < 1 || len(times)+times64 > n {
			return nil
		}
		for range times64 {
			times = append(times, time.Duration(at)*time.Millisecond)
		}
	}
	if len(times) != n {
		return nil
	}
	return times
}

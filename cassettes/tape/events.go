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

// pieces cuts a body into what is told apart in time: the events of a stream,
// each with the blank line that ends it, and what is left behind the last; any
// other body is one piece.
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

// eventEnd is where the first event of a stream ends, -1 if it does not.
func eventEnd(s string) int {
	end := -1
	for _, blank := range []string{"\n\n", "\r\n\r\n"} {
		if i := strings.Index(s, blank); i >= 0 && (end < 0 || i+len(blank) < end) {
			end = i + len(blank)
		}
	}
	return end
}

// A cutter notes when each piece of a body was complete.
type cutter struct {
	stream bool
	rest   string // of a stream: what belongs to no complete event yet
	any    bool   // of any other body: something came
	times  []time.Duration
}

func (c *cutter) add(b []byte, at time.Duration) {
	c.any = c.any || len(b) > 0
	if !c.stream {
		return
	}
	c.rest += string(b)
	for {
		end := eventEnd(c.rest)
		if end < 0 {
			return
		}
		c.rest, c.times = c.rest[end:], append(c.times, at)
	}
}

// end gives the instants of all pieces of a body that ended at an instant.
func (c *cutter) end(at time.Duration) []time.Duration {
	if c.stream && c.rest != "" || !c.stream && c.any {
		c.times = append(c.times, at)
	}
	return c.times
}

// writeEvents writes instants as 320x1 350x2.
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

// readEvents reads the instants of n pieces; nil = it says something else.
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

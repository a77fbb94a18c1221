package serve

import (
	"net/http"
	"strconv"
	"time"
)

// beat is the script's time between two keep-alives.
const beat = 5 * time.Second

// play sends the answer of a plan and completes its entry in the journal.
func (x *exchange) play(p *plan) {
	status, whole := x.send(p)
	x.end(status, !whole && (p.ending != endsLost || x.r.Context().Err() != nil))
	if cap(p.out.b) <= 1<<20 {
		x.streams.Put(p.out)
	}
	if !whole {
		panic(http.ErrAbortHandler) // which closes the connection
	}
}

// send sends an answer. It returns the status that was sent, 0 if none was, and
// whether the whole answer was sent and ends well.
func (x *exchange) send(p *plan) (status int, whole bool) {
	from := 0
	for i, part := range p.parts {
		if i+1 < len(p.parts) && p.parts[i+1].at <= part.at {
			continue // the next part goes out at the same instant
		}
		if !x.wait(part.at) {
			return status, false
		}
		last := i+1 == len(p.parts) && p.ending == endsWell
		if status == 0 {
			x.head(p, last && from == 0)
			status = p.status
		}
		if _, err := x.w.Write(p.out.b[from:part.to]); err != nil {
			return status, false
		}
		from = part.to
		if !last {
			x.flush()
		}
	}
	switch p.ending {
	case endsNever:
		<-x.r.Context().Done()
	case endsAlive:
		if status == 0 {
			x.head(p, false)
			status = p.status
		}
		x.keepAlive(p)
	case endsLost:
		x.wait(p.after)
	}
	return status, p.ending == endsWell
}

// head writes the header. once is set if the whole answer is sent at once.
func (x *exchange) head(p *plan, once bool) {
	h := x.w.Header()
	switch {
	case p.stream:
		h.Set("Content-Type", "text/event-stream; charset=utf-8")
		h.Set("Cache-Control", "no-cache")
	default:
		h.Set("Content-Type", "application/json")
		if once {
			h.Set("Content-Length", strconv.Itoa(p.sent()))
		}
	}
	x.identify(h)
	if p.wait > 0 {
		x.retryAfter(h, p)
	}
	if begin := x.api.limits(); begin != "" && p.status == http.StatusTooManyRequests {
		x.noneLeft(h, begin, p)
	}
	x.w.WriteHeader(p.status)
}

// retryAfter sets how long the client should wait: in whole seconds, with a second
// header in milliseconds if the wait is not a whole number of seconds, or as a date.
func (x *exchange) retryAfter(h http.Header, p *plan) {
	wait := x.real(p.wait)
	seconds := (wait + time.Second - 1) / time.Second
	if p.waitAsDate {
		h.Set("Retry-After", time.Now().Add(seconds*time.Second).UTC().Format(http.TimeFormat))
		return
	}
	h.Set("Retry-After", strconv.FormatInt(int64(seconds), 10))
	if wait%time.Second != 0 {
		h.Set("Retry-After-Ms", strconv.FormatInt(int64((wait+time.Millisecond-1)/time.Millisecond), 10))
	}
}

// noneLeft sets how many requests and tokens are left: none until the wait is over.
func (x *exchange) noneLeft(h http.Header, begin string, p *plan) {
	wait := x.real(p.wait)
	for _, what := range []string{"Requests", "Tokens"} {
		if begin == "X-Ratelimit-" {
			h.Set(begin+"Limit-"+what, "1000")
			h.Set(begin+"Remaining-"+what, "0")
			h.Set(begin+"Reset-"+what, wait.String())
			continue
		}
		h.Set(begin+what+"-Limit", "1000")
		h.Set(begin+what+"-Remaining", "0")
		h.Set(begin+what+"-Reset", time.Now().Add(wait+time.Second-1).UTC().Truncate(time.Second).Format(time.RFC3339))
	}
}

// real returns the real time that a duration of the script takes.
func (s *Server) real(d time.Duration) time.Duration {
	if s.speed == 1 {
		return d
	}
	return time.Duration(float64(d) / s.speed)
}

// wait waits until an instant, and reports whether the client is still connected.
func (x *exchange) wait(at time.Duration) bool {
	d := time.Until(x.came.Add(x.real(at)))
	if d <= 0 {
		return x.r.Context().Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-x.r.Context().Done():
		return false
	}
}

// keepAlive sends keep-alives until the client leaves.
func (x *exchange) keepAlive(p *plan) {
	sign := []byte("\n") // white space may precede a JSON text
	if p.stream {
		sign = []byte(x.api.heartbeat())
	}
	ticker := time.NewTicker(max(x.real(beat), 10*time.Millisecond))
	defer ticker.Stop()
	for {
		if _, err := x.w.Write(sign); err != nil {
			return
		}
		x.flush()
		select {
		case <-ticker.C:
		case <-x.r.Context().Done():
			return
		}
	}
}

func (x *exchange) flush() { http.NewResponseController(x.w).Flush() } // an error means that the writer does not buffer

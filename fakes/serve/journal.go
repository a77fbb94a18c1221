package serve

import (
	"cmp"
	"encoding/json"
	"net/http"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// JournalSchema is the schema name of the journal.
const JournalSchema = "agentbench.journal/v1"

// An Entry describes one request. It contains no text of the conversation.
type Entry struct {
	Type     string   `json:"type"`    // request, or call: the execution of a scripted tool
	N        int      `json:"n"`       // from 1, in the order of arrival
	AtMS     int64    `json:"at_ms"`   // since the first entry
	TookMS   int64    `json:"took_ms"` // until the end of the answer
	API      string   `json:"api,omitempty"`
	Path     string   `json:"path,omitempty"`
	Scenario string   `json:"scenario,omitempty"`
	Seed     uint64   `json:"seed,omitempty"`
	Request  int      `json:"request,omitempty"`  // its number in the conversation
	Try      int      `json:"try,omitempty"`      // of the request
	Step     string   `json:"step,omitempty"`     // the step that answers it: model[3]
	Messages int      `json:"messages,omitempty"` // in its history
	Stream   bool     `json:"stream,omitempty"`
	Status   int      `json:"status,omitempty"` // 0 = none was sent
	Finish   string   `json:"finish,omitempty"`
	Calls    int      `json:"calls,omitempty"`    // in the reply
	Fault    string   `json:"fault,omitempty"`    // the failure, fault or odd wire that the script planned
	Problems []string `json:"problems,omitempty"` // of the client's history
	Error    string   `json:"error,omitempty"`    // why the request was refused
	Astray   bool     `json:"astray,omitempty"`   // the path or the method is not served
	// Aside marks a request beside the agent's loop, such as for a title: it offers no
	// tools, but the script is about to call one. The answer is neutral.
	Aside bool `json:"aside,omitempty"`
	// Undeclared are the tools that the reply calls although the request does not
	// offer them.
	Undeclared []string `json:"undeclared,omitempty"`
	// Call is the call that an execution belongs to, and its try: c3#2. Tool is its
	// tool, and Code why it failed.
	Call string    `json:"call,omitempty"`
	Tool string    `json:"tool,omitempty"`
	Code loop.Code `json:"code,omitempty"`
	Open bool      `json:"open,omitempty"` // the answer has not ended yet
	Gone bool      `json:"gone,omitempty"` // the client left before the answer ended
}

// A Tally counts requests. Asides and those that went astray are in no other number.
type Tally struct {
	Requests int            `json:"requests"`
	Refused  int            `json:"refused"`  // invalid requests, and those that no step answers
	Problems int            `json:"problems"` // requests with problems in their history
	Faults   map[string]int `json:"faults"`   // planned failures that fired, by kind
	Furthest int            `json:"furthest"` // the highest number of an answered request
	Astray   int            `json:"astray"`   // requests whose path or method is not served
	Asides   int            `json:"asides"`
	// Undeclared counts the requests that do not offer a tool which the reply calls.
	Undeclared int `json:"undeclared"`
	// Executed counts the executions of scripted tools. Those without an answer count as
	// refused too.
	Executed int `json:"executed"`
	// NeverFired are the planned failures of a scenario that have not fired so far.
	NeverFired []string `json:"never_fired,omitempty"`
}

func (t *Tally) add(e *Entry) {
	if e.Astray {
		t.Astray++
		return
	}
	if e.Aside {
		t.Asides++
		return
	}
	if e.Type == callEntry {
		t.Executed++
		if e.Error != "" {
			t.Refused++
		}
		return
	}
	if len(e.Undeclared) > 0 {
		t.Undeclared++
	}
	t.Requests++
	if e.Error != "" {
		t.Refused++
	}
	if len(e.Problems) > 0 {
		t.Problems++
	}
	if e.Fault != "" {
		if t.Faults == nil {
			t.Faults = map[string]int{}
		}
		t.Faults[e.Fault]++
	}
	if e.Step != "" {
		t.Furthest = max(t.Furthest, e.Request)
	}
}

// A Journal lists the requests that a server has received so far.
type Journal struct {
	Schema    string            `json:"schema"`
	Speed     float64           `json:"speed"` // divides all waits
	Total     Tally             `json:"total"`
	Scenarios map[string]*Tally `json:"scenarios"` // by name, without those never asked for
	Left      int               `json:"left_out"`  // the number of older entries that are not kept
	Entries   []Entry           `json:"entries"`
}

// A journal keeps the newest entries.
type journal struct {
	mu       sync.Mutex
	observe  func(*Seen)
	executed func(*Executed)
	total    Tally
	n        int // of all entries
	scenes   map[string]*sceneTally
	planned  func(scene string) []Planned
	ring     []*Entry
	max      int
}

// The types of entries.
const (
	requestEntry = "request"
	callEntry    = "call"
)

// A beginning is the time of the first request or execution.
type beginning struct {
	once sync.Once
	at   time.Time
}

// since returns the milliseconds since the beginning, which is now at the first call.
func (b *beginning) since(now time.Time) int64 {
	b.once.Do(func() { b.at = now })
	return max(now.Sub(b.at).Milliseconds(), 0)
}

// begin adds the entry of a request and tells the observer.
func (j *journal) begin(seen *Seen) {
	j.mu.Lock()
	defer j.mu.Unlock()
	seen.Entry.Type = cmp.Or(seen.Entry.Type, requestEntry)
	j.add(seen.Entry)
	if j.observe != nil {
		j.observe(seen)
	}
}

// execution adds the entry of an execution that begins, or completes it, and tells
// the observer.
func (j *journal) execution(x *Executed, took int64) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if e := x.Entry; x.Execution.Ended {
		e.TookMS, e.Open, e.Gone = took, false, !x.Execution.Answered
	} else {
		e.Type = callEntry
		j.add(e)
	}
	if j.executed != nil {
		j.executed(x)
	}
}

func (j *journal) add(e *Entry) {
	j.total.add(e)
	j.n++
	e.N = j.n
	if e.Scenario != "" {
		t := j.scenes[e.Scenario]
		if t == nil {
			t = &sceneTally{left: j.planned(e.Scenario)}
			j.scenes[e.Scenario] = t
		}
		t.add(e)
	}
	if len(j.ring) < j.max {
		j.ring = append(j.ring, e)
	} else {
		j.ring[(e.N-1)%j.max] = e
	}
}

// end completes an entry and tells the observer.
func (j *journal) end(seen *Seen, took int64, status int, gone bool) {
	e := seen.Entry
	j.mu.Lock()
	defer j.mu.Unlock()
	e.TookMS, e.Status, e.Gone, e.Open = took, status, gone, false
	if j.observe != nil {
		j.observe(seen)
	}
}

// snapshot copies the journal.
func (j *journal) snapshot(speed float64) *Journal {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := &Journal{Schema: JournalSchema, Speed: speed, Total: j.total.clone(), Scenarios: make(map[string]*Tally, len(j.scenes)),
		Left: j.n - len(j.ring), Entries: make([]Entry, len(j.ring))}
	for name, t := range j.scenes {
		out.Scenarios[name] = t.tally()
	}
	for i := range out.Entries {
		out.Entries[i] = *j.ring[(out.Left+i)%len(j.ring)]
	}
	return out
}

func (t *Tally) clone() Tally {
	c := *t
	c.Faults = make(map[string]int, len(t.Faults))
	for fault, n := range t.Faults {
		c.Faults[fault] = n
	}
	return c
}

// Journal returns a copy of the server's journal.
func (s *Server) Journal() *Journal { return s.journal.snapshot(s.speed) }

func (s *Server) writeJournal(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	e.Encode(s.Journal()) // an error means that the client has left
}

package watch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/loop"
)

// rest is how long nothing happens in a conversation before its recording is written.
const rest = 2 * time.Second

// A record is the recording of a conversation: a file of openai-chat, which replay
// reads.
type record struct {
	run      string // the name that the header of runs gives it, "" = none
	dirty    bool   // it is not written as it is
	last     time.Time
	redactor *secrets.Redactor
	docs     map[*node][]byte // redacted messages, each after a comma
}

// changed notes that a conversation has grown.
func (r *record) changed(now time.Time) { r.dirty, r.last = true, now }

// writeRested writes the recordings of the conversations in which nothing has happened
// since a time.
func (w *Watch) writeRested(since time.Time) {
	w.seen.Lock()
	defer w.seen.Unlock()
	for _, c := range w.conversations {
		if !c.last.After(since) {
			w.write(c)
		}
	}
}

// write writes the recording of a conversation, unless it is written as it is.
func (w *Watch) write(c *conversation) {
	if w.o.Folder == "" || !c.dirty {
		return
	}
	c.dirty = false
	w.failed(outfile.Write(filepath.Join(w.o.Folder, c.name+".json"), w.document(c), 0o600))
}

// failed tells the first failure of writing a file, if err is one. err names the file.
func (w *Watch) failed(err error) {
	if err != nil && w.unwritten == nil {
		w.unwritten = err
		w.tell("not kept: %v", err)
	}
}

// document returns the recording of a conversation, a message a line.
func (w *Watch) document(c *conversation) []byte {
	if c.docs == nil {
		c.redactor, c.docs = w.o.Redactor(), map[*node][]byte{}
	}
	var way []*node
	for n := c.tip; n != nil; n = n.parent {
		way = append(way, n)
	}
	var b bytes.Buffer
	head := struct {
		Name   string `json:"name"`
		Model  string `json:"model,omitempty"`
		Branch string `json:"branch_of,omitempty"`
		Shared int    `json:"shared_messages,omitempty"`
	}{Name: c.name, Model: c.model}
	if c.run != "" {
		head.Name = c.run
	}
	if c.from != nil {
		head.Branch, head.Shared = c.from.of.name, len(c.from.log())
	}
	doc, _ := json.Marshal(head)
	b.Write(bytes.TrimSuffix([]byte(c.redactor.JSON(string(doc))), []byte("}")))
	b.WriteString(`,"messages":[` + "\n")
	start := b.Len()
	if c.system != "" {
		b.Write(c.docOf([]wire.Message{{Role: wire.System, Text: c.system}}))
	}
	for i := len(way) - 1; i >= 0; i-- {
		n := way[i]
		if c.docs[n] == nil {
			c.docs[n] = c.docOf(n.messages())
		}
		b.Write(c.docs[n])
	}
	b.Write(c.docOf(c.log()[len(c.tip.log()):]))
	if b.Len() > start {
		b.Truncate(b.Len() - len(",\n"))
	}
	b.WriteString("\n]}\n")
	return b.Bytes()
}

// docOf returns messages as redacted JSON in the form of openai-chat, with a comma after
// each.
func (r *record) docOf(messages []wire.Message) []byte {
	var b bytes.Buffer
	for i := range messages {
		doc, err := json.Marshal(chatForm(&messages[i]))
		if err != nil {
			panic(err) // texts only
		}
		b.WriteString(r.redactor.JSON(string(doc)))
		b.WriteString(",\n")
	}
	return b.Bytes()
}

// A chatMessage is a message in the form of openai-chat.
type chatMessage struct {
	Role    string     `json:"role"`
	Content string     `json:"content"`
	Calls   []chatCall `json:"tool_calls,omitempty"`
	ID      string     `json:"tool_call_id,omitempty"`
	Error   bool       `json:"error,omitempty"`
	Usage   *usage     `json:"usage,omitempty"`
	At      float64    `json:"at"` // seconds since the conversation began
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name string `json:"name"`
		Args string `json:"arguments"`
	} `json:"function"`
}

type usage struct {
	In  int64 `json:"prompt_tokens"`
	Out int64 `json:"completion_tokens"`
}

var roles = map[wire.Role]string{wire.User: "user", wire.Assistant: "assistant", wire.Tool: "tool", wire.System: "system"}

func chatForm(m *wire.Message) chatMessage {
	out := chatMessage{Role: roles[m.Role], Content: m.Text, ID: m.ID, Error: m.Code != loop.None, At: float64(m.At.Milliseconds()) / 1000}
	for _, c := range m.Calls {
		call := chatCall{ID: c.ID, Type: "function"}
		call.Function.Name, call.Function.Args = c.Name, c.Args
		out.Calls = append(out.Calls, call)
	}
	if m.TokensIn+m.TokensOut > 0 {
		out.Usage = &usage{m.TokensIn, m.TokensOut}
	}
	return out
}

// lastNumber returns the highest number of the recordings in a folder, 0 for none.
func lastNumber(folder string) (last int, err error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return 0, fmt.Errorf("cannot read %s: %w", folder, err)
	}
	for _, e := range entries {
		digits, ok := strings.CutPrefix(strings.TrimSuffix(e.Name(), ".json"), "conversation-")
		if n, err := strconv.Atoi(digits); ok && err == nil {
			last = max(last, n)
		}
	}
	return last, nil
}

package trajectories

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// A format is a way in which trajectories are written.
type format struct {
	name  string
	looks string // what a file of it looks like, for people
	// ends are the endings of its files' names, beside .json and .jsonl.
	ends []string
	// fits reports whether an object with these keys looks like a record of it.
	// nil = none does.
	fits func(keys map[string]json.RawMessage) bool
	// text recognises a file that is no JSON: read gets it whole. nil = none is.
	text func(data []byte) bool
	// read decodes a record into its trajectories. It gives none for one that is
	// no run; an error does not hide what could be read. One that is a leftOut
	// tells of exchanges that are part of no conversation.
	read func(raw json.RawMessage) ([]*Trajectory, error)
	// joined says that the records of a file make up trajectories only together:
	// read gets them all, as one array.
	joined bool
}

// single is read for a format whose records are a trajectory each, or nil.
func single(read func(json.RawMessage) (*Trajectory, error)) func(json.RawMessage) ([]*Trajectory, error) {
	return func(raw json.RawMessage) ([]*Trajectory, error) {
		r, err := read(raw)
		if r == nil {
			return nil, err
		}
		return []*Trajectory{r}, err
	}
}

// formats lists the most particular ones first: that is how they are told
// apart.
var formats = []*format{&tauBench, &tau2, &agentDojo, &agentDojoNative, &toolathlon, &miniSWEAgent, &sweAgent,
	&sentinel, &openHands, &openHandsEvents, &claudeCode, &otlp, &goVCR, &vcrPy, &httpRR, &llmResponse, &openAIChat}

// Formats lists the names of the formats that [Read] knows.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// formatOf recognises a record. An array of messages is a record as well.
func formatOf(raw json.RawMessage) *format {
	if isMessages(raw) {
		return &openAIChat
	}
	var keys map[string]json.RawMessage
	if !wire.IsObject(raw) || json.Unmarshal(raw, &keys) != nil {
		return nil
	}
	for _, f := range formats {
		if f.fits != nil && f.fits(keys) {
			return f
		}
	}
	return nil
}

// isMessages reports whether raw is an array that begins with a message.
func isMessages(raw json.RawMessage) bool {
	if !wire.IsArray(raw) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.Token() // the bracket
	var first struct{ Role *json.RawMessage }
	return d.More() && d.Decode(&first) == nil && first.Role != nil
}

// expected says in a line what the formats look like.
func expected() string {
	var all []string
	for _, f := range formats {
		all = append(all, fmt.Sprintf("%s (%s)", f.name, f.looks))
	}
	return strings.Join(all, ", ")
}

func labelOf(success bool) Label {
	if success {
		return Success
	}
	return Failure
}

package trajectories

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
)

// A lineLog reads JSON Lines of which each has a message, or something else that
// happened in the session. A file holds a run, or several that take turns.
type lineLog struct {
	runs  map[string]*lineRun
	order []string
}

type lineRun struct {
	traj     *Trajectory
	messages []wire.Message
	lines    int
}

// run returns the run with a name.
func (l *lineLog) run(name string) *lineRun {
	if l.runs == nil {
		l.runs = map[string]*lineRun{}
	}
	if l.runs[name] == nil {
		l.runs[name] = &lineRun{traj: &Trajectory{Name: name}}
		l.order = append(l.order, name)
	}
	return l.runs[name]
}

// add decodes a message of any API.
func (r *lineRun) add(raw json.RawMessage) error {
	more, err := wire.LogMessages(raw)
	if err != nil {
		return err
	}
	r.say(more...)
	return nil
}

func (r *lineRun) say(messages ...wire.Message) {
	r.messages = append(r.messages, messages...)
	r.lines++
}

// end returns the runs that have a message.
func (l *lineLog) end() (all []*Trajectory) {
	for _, name := range l.order {
		r := l.runs[name]
		if len(r.messages) == 0 {
			continue
		}
		r.traj.assemble(r.messages)
		r.traj.Messages = r.lines
		all = append(all, r.traj)
	}
	return all
}

// eachLine calls take with each line of a joined file, an object, and collects the
// errors by line.
func eachLine(raw json.RawMessage, take func(line map[string]json.RawMessage) error) error {
	items, err := readArray("lines", raw)
	if err != nil {
		return err
	}
	var broken brokenParts
	for i, item := range items {
		line, err := asObject(item)
		if err == nil {
			err = take(line)
		}
		if err != nil {
			broken.add("line", i, len(items), wrongType(err))
		}
	}
	return broken.orNil()
}

// messageLines is a message a line, of any API, in the line itself or in its field
// message. Lines with different task_id, session_id, conversation_id or thread_id are
// different runs.
var messageLines = format{
	name:  "message-lines",
	looks: `{"role": …, "content": …} or {"message": {"role": …, "content": …}} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		shape := shapeOfLine(keys)
		return shape != wire.NoShape && shape != wire.ShareGPTShape
	},
	read:   readMessageLines,
	joined: true,
}

func shapeOfLine(keys map[string]json.RawMessage) wire.Shape {
	if keys["messages"] != nil {
		return wire.NoShape
	}
	if m := keys["message"]; wire.IsObject(m) && keys["role"] == nil {
		return wire.ShapeOf(m)
	}
	raw, _ := json.Marshal(keys)
	return wire.ShapeOf(raw)
}

func readMessageLines(raw json.RawMessage) ([]*Trajectory, error) {
	var log lineLog
	err := eachLine(raw, func(line map[string]json.RawMessage) error {
		name := ""
		for _, key := range []string{"session_id", "sessionId", "conversation_id", "thread_id", "task_id"} {
			name = cmp.Or(name, wire.String(line[key]))
		}
		message := line["message"]
		if !wire.IsObject(message) || line["role"] != nil {
			message, _ = json.Marshal(line)
		}
		return log.run(name).add(message)
	})
	return log.end(), err
}

// text returns a field as text.
func field(keys map[string]json.RawMessage, name string) string { return wire.String(keys[name]) }

// inner returns a field that is an object, nil for any other.
func inner(keys map[string]json.RawMessage, names ...string) map[string]json.RawMessage {
	for _, name := range names {
		if keys = rawjson.Object(keys[name]); keys == nil {
			return nil
		}
	}
	return keys
}

// listOf returns the elements of an array, nil for any other valid JSON.
func listOf(raw json.RawMessage) []json.RawMessage { return rawjson.Array(raw) }

// objectOf returns the fields of an object, nil for any other valid JSON.
func objectOf(raw json.RawMessage) map[string]json.RawMessage { return rawjson.Object(raw) }

// asObject is like objectOf; the error says that raw is something else, but not null.
func asObject(raw json.RawMessage) (keys map[string]json.RawMessage, err error) {
	if wire.IsObject(raw) {
		return rawjson.Object(raw), nil
	}
	return nil, json.Unmarshal(raw, &keys)
}

// missing says that a field is missing.
func missing(name string) error { return fmt.Errorf("it has no %s", name) }

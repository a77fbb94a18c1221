package trajectories

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// openCode is a session of opencode: its export, the events of its server, or its
// storage, where a session, its messages and their parts are files in folders of their
// own and are read with the file of the session. The last state of a part counts. It has
// no label.
var openCode = format{
	name:  "opencode",
	looks: `{"info": {…}, "messages": [{"info": {"role": …}, "parts": […]}, …]}, the events of the server, or a session file of its storage`,
	fits: func(keys map[string]json.RawMessage) bool {
		if list := listOf(keys["messages"]); len(list) > 0 {
			first := objectOf(list[0])
			return wire.IsObject(first["info"]) && wire.IsArray(first["parts"])
		}
		return isOpenCodeEvent(keys) || isOpenCodeFile(keys)
	},
	readAt: readOpenCode,
	joined: true,
}

func isOpenCodeEvent(keys map[string]json.RawMessage) bool {
	switch field(keys, "type") {
	case "message.updated", "message.part.updated", "session.updated", "session.idle", "server.connected", "session.created", "custom.emit_events.finished":
		return keys["properties"] != nil
	}
	return false
}

// isOpenCodeFile reports whether an object is a file of the storage: a session, a
// message or a part.
func isOpenCodeFile(keys map[string]json.RawMessage) bool {
	oldText := field(keys, "type") == "text" && wire.IsObject(keys["time"])
	return keys["id"] != nil && (keys["projectID"] != nil && keys["directory"] != nil || keys["sessionID"] != nil && (keys["role"] != nil || keys["messageID"] != nil) || oldText)
}

// An openCodeLog collects messages and their parts by their ids.
type openCodeLog struct {
	name  string
	order []string // ids of messages
	infos map[string]map[string]json.RawMessage
	parts map[string][]string // ids of the parts of each message
	part  map[string]map[string]json.RawMessage
}

func readOpenCode(path string, raw json.RawMessage) ([]*Trajectory, error) {
	l := openCodeLog{infos: map[string]map[string]json.RawMessage{}, parts: map[string][]string{}, part: map[string]map[string]json.RawMessage{}}
	var aside error
	err := eachLine(raw, func(line map[string]json.RawMessage) error {
		properties := objectOf(line["properties"])
		switch {
		case wire.IsArray(line["messages"]):
			l.name = field(inner(line, "info"), "id")
			for _, one := range listOf(line["messages"]) {
				message := objectOf(one)
				l.message(objectOf(message["info"]))
				for _, part := range listOf(message["parts"]) {
					l.addPart(objectOf(part), field(inner(message, "info"), "id"))
				}
			}
		case properties["part"] != nil:
			l.addPart(objectOf(properties["part"]), "")
		case field(line, "type") == "message.updated":
			l.message(objectOf(properties["info"]))
		case field(line, "type") == "session.updated":
			l.name = cmp.Or(l.name, field(inner(properties, "info"), "id"))
		case line["projectID"] != nil:
			return l.storage(path, field(line, "id"))
		case isOpenCodeFile(line):
			aside = elsewhere{errors.New("a part of a session of opencode, which is read with the file of the session")}
		}
		return tooMany("parts", len(l.part))
	})
	if len(l.order) == 0 {
		return nil, cmp.Or(err, aside, error(nothing{missing("message")}))
	}
	r, bad := l.trajectory()
	return []*Trajectory{r}, cmp.Or(err, bad)
}

func (l *openCodeLog) message(info map[string]json.RawMessage) {
	id := field(info, "id")
	if id == "" {
		return
	}
	if l.infos[id] == nil && !slices.Contains(l.order, id) {
		l.order = append(l.order, id)
	}
	l.infos[id] = info
}

func (l *openCodeLog) addPart(part map[string]json.RawMessage, message string) {
	message, id := cmp.Or(field(part, "messageID"), message), field(part, "id")
	if message == "" || id == "" {
		return
	}
	if l.part[id] == nil {
		l.parts[message] = append(l.parts[message], id)
	}
	l.part[id] = part
	if l.infos[message] == nil { // its message may not be there
		l.infos[message] = map[string]json.RawMessage{"role": json.RawMessage(`"assistant"`)}
		l.order = append(l.order, message)
	}
}

// storage reads the messages of a session and their parts, which lie in
// message/SESSION/ and part/MESSAGE/ beside the folder of sessions.
func (l *openCodeLog) storage(path, session string) error {
	l.name = session
	root := filepath.Dir(filepath.Dir(filepath.Dir(filepath.FromSlash(path)))) // of session/PROJECT/FILE
	if !filepath.IsLocal(session) {
		return fmt.Errorf("the session's id is not a name of a folder")
	}
	messages, err := objectsIn(filepath.Join(root, "message", session))
	if err != nil {
		return err
	}
	slices.SortStableFunc(messages, func(a, b map[string]json.RawMessage) int {
		return cmp.Compare(timeOf(inner(a, "time"), "created"), timeOf(inner(b, "time"), "created"))
	})
	for _, m := range messages {
		l.message(m)
		id := field(m, "id")
		if !filepath.IsLocal(id) {
			continue
		}
		parts, err := objectsIn(filepath.Join(root, "part", id))
		if err != nil {
			return err
		}
		for _, part := range parts {
			l.addPart(part, id)
		}
	}
	return nil
}

// objectsIn returns the objects in the JSON files of a folder, sorted by name; none if
// there is no such folder.
func objectsIn(folder string) (all []map[string]json.RawMessage, _ error) {
	entries, err := os.ReadDir(folder)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" || !e.Type().IsRegular() {
			continue
		}
		data, err := readFile(filepath.Join(folder, e.Name()))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), err)
		}
		var one map[string]json.RawMessage
		if err := json.Unmarshal(data, &one); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name(), wrongType(err))
		}
		all = append(all, one)
	}
	return all, nil
}

// trajectory returns the session, whose messages are brought into the form of the AI
// SDK's, in which a call and its result are one part, too.
func (l *openCodeLog) trajectory() (*Trajectory, error) {
	r := &Trajectory{Name: l.name}
	var list []map[string]any
	for _, id := range l.order {
		info := l.infos[id]
		message := map[string]any{"role": field(info, "role")}
		if r.Model == "" {
			r.Model = cmp.Or(field(info, "modelID"), field(inner(info, "model"), "modelID"))
		}
		var parts []map[string]any
		for _, p := range l.parts[id] {
			part := l.part[p]
			if kind := field(part, "type"); kind == "step-finish" {
				message["usage"] = part["tokens"]
			} else if one := openCodePart(kind, part); one != nil {
				parts = append(parts, one)
			}
		}
		if parts == nil {
			parts = []map[string]any{}
		}
		message["parts"] = parts
		list = append(list, message)
	}
	raw, _ := json.Marshal(list)
	err := r.readLog("messages", raw, nil)
	return r, err
}

func openCodePart(kind string, part map[string]json.RawMessage) map[string]any {
	switch kind {
	case "text":
		return map[string]any{"type": "text", "text": part["text"]}
	case "step-start":
		return map[string]any{"type": "step-start"}
	case "tool":
		state := objectOf(part["state"])
		one := map[string]any{"type": "dynamic-tool", "toolName": part["tool"], "toolCallId": part["callID"], "input": state["input"], "state": "input-available"}
		switch field(state, "status") {
		case "completed":
			one["state"], one["output"] = "output-available", state["output"]
		case "error":
			one["state"], one["errorText"] = "output-error", state["error"]
		}
		return one
	case "reasoning", "file", "patch", "snapshot", "compaction", "agent", "retry", "subtask":
		return nil
	}
	return map[string]any{"type": kind}
}

package trajectories

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/goccy/go-yaml"
)

// An InputMap says where the parts of a run are in a JSON format that no reader knows.
// Each field but Roles is a path: names of fields and numbers of elements, joined by
// dots. "" means that the format does not have the part.
type InputMap struct {
	Runs     string // in a record, the runs; "" = the record is a run
	Messages string // in a run, its messages; "." = each record is a message of one run
	Name     string // in a run
	Model    string // in a run
	Label    string // in a run: a word of a label, or a reward

	Role  string            // in a message, the word that says who speaks
	Roles map[string]string // from the words in Role to user, assistant, tool and system
	Text  string            // in a message

	Calls         string // in a message, its calls
	CallID        string // in a call
	CallName      string // in a call
	CallArguments string // in a call
	CallResult    string // in a call, where the result stands beside it
	CallError     string // in a call: it failed if there is anything

	ResultID string // in a message of the tool: the call that it answers
	Error    string // in a message of the tool: the call failed if there is anything

	TokensIn, TokensOut string // in a message
}

// keys returns the fields by the names that they have in a file.
func (m *InputMap) keys() map[string]*string {
	return map[string]*string{
		"runs": &m.Runs, "messages": &m.Messages, "name": &m.Name, "model": &m.Model, "label": &m.Label, "role": &m.Role, "text": &m.Text,
		"calls": &m.Calls, "call_id": &m.CallID, "call_name": &m.CallName, "call_arguments": &m.CallArguments, "call_result": &m.CallResult,
		"call_error": &m.CallError, "result_id": &m.ResultID, "error": &m.Error, "tokens_in": &m.TokensIn, "tokens_out": &m.TokensOut,
	}
}

// ReadInputMap reads a map from a YAML file. Its errors name the file and the key.
func ReadInputMap(path string) (*InputMap, error) {
	m := &InputMap{Roles: map[string]string{}}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", path, text.Reason(err))
	}
	if err := m.parse(data); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func (m *InputMap) parse(data []byte) error {
	var doc any // by YAML 1.2, in which n and on are words
	if err := yaml.Unmarshal(data, &doc); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("invalid YAML: %s", first)
	}
	fields, ok := doc.(map[string]any)
	if !ok {
		return errors.New("want keys and paths, such as messages: turns")
	}
	known := m.keys()
	var names []string
	for name := range known {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, key := range sortedKeys(fields) {
		value := fields[key]
		switch path, isText := value.(string); {
		case key == "roles":
			if err := m.roles(value); err != nil {
				return err
			}
		case known[key] == nil:
			hint := text.DidYouMean(key, append(names, "roles"))
			return fmt.Errorf("unknown key %s (%s)", text.Quote(key, 40), cmp.Or(hint, "want "+text.AnyOf(append(names, "roles"))))
		case !isText && value != nil:
			return fmt.Errorf("%s must be a path such as turns.0.text, not %s", key, text.Clip(fmt.Sprint(value), 40))
		default:
			*known[key] = path
		}
	}
	switch {
	case m.Messages == "":
		return errors.New(`messages is missing: the path of the messages in a run, or "." where each line is a message`)
	case m.Role == "":
		return errors.New("role is missing: the path, in a message, of the word that says who speaks")
	case m.Calls != "" && m.CallName == "":
		return errors.New("call_name is missing: the path in a call of its tool's name")
	}
	return nil
}

func sortedKeys(fields map[string]any) (keys []string) {
	for key := range fields {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// roleWords are what a word in Roles can mean.
var roleWords = map[string]wire.Role{"user": wire.User, "assistant": wire.Assistant, "tool": wire.Tool, "system": wire.System}

func (m *InputMap) roles(value any) error {
	words, ok := value.(map[string]any)
	if !ok {
		return errors.New("roles must be words and what they mean, such as {agent: assistant}")
	}
	for _, word := range sortedKeys(words) {
		means := fmt.Sprint(words[word])
		if _, ok := roleWords[means]; !ok {
			return fmt.Errorf("roles: %s must mean user, assistant, tool or system, not %s", text.Quote(word, 40), text.Quote(means, 40))
		}
		m.Roles[word] = means
	}
	return nil
}

// format returns the map as a format.
func (m *InputMap) format() *format {
	f := &format{name: "the input map says", looks: "an object with " + m.Messages}
	if m.Messages == "." {
		f.looks, f.joined = "a message a line, with "+m.Role, true
	}
	f.read = m.read
	return f
}

func (m *InputMap) read(raw json.RawMessage) (all []*Trajectory, _ error) {
	if m.Messages == "." {
		r, err := m.run(nil, raw)
		return []*Trajectory{r}, err
	}
	runs := []json.RawMessage{raw}
	if m.Runs != "" {
		found := at(raw, m.Runs)
		if !wire.IsArray(found) {
			return nil, fmt.Errorf("runs: there is no array at %s in %s", m.Runs, describe(&record{raw: raw, line: 1}))
		}
		runs = listOf(found)
	}
	var broken brokenParts
	for i, run := range runs {
		messages := at(run, m.Messages)
		if !wire.IsArray(messages) {
			broken.add("run", i, len(runs), fmt.Errorf("messages: there is no array at %s in %s", m.Messages, describe(&record{raw: run, line: 1})))
			continue
		}
		r, err := m.run(run, messages)
		if err != nil {
			broken.add("run", i, len(runs), err)
		}
		if r != nil {
			all = append(all, r)
		}
	}
	return all, broken.orNil()
}

// run reads the messages of a run. Beside an error about its label it returns the run.
func (m *InputMap) run(run, raw json.RawMessage) (*Trajectory, error) {
	items, err := readArray("messages", raw)
	if err != nil {
		return nil, err
	}
	r := &Trajectory{Name: textAt(run, m.Name), Model: textAt(run, m.Model)}
	var messages []wire.Message
	for i, item := range items {
		more, err := m.message(item)
		if err != nil {
			return nil, inMessage(i, len(items), err)
		}
		messages = append(messages, more...)
	}
	r.assemble(messages)
	r.Messages = len(items)
	if m.Label != "" {
		err = r.reward(m.Label, at(run, m.Label))
	}
	return r, err
}

// message returns a message, and the results that stand beside its calls.
func (m *InputMap) message(raw json.RawMessage) ([]wire.Message, error) {
	word := textAt(raw, m.Role)
	role, ok := roleWords[cmp.Or(m.Roles[word], word)]
	if !ok {
		if word == "" {
			return nil, fmt.Errorf("there is no role at %s in %s", m.Role, describe(&record{raw: raw, line: 1}))
		}
		return nil, fmt.Errorf("unknown role %s: say what it means, such as roles: {%s: assistant}", text.Quote(word, 40), text.Clip(word, 40))
	}
	out := wire.Message{Role: role, Text: wire.Text(at(raw, m.Text)), TokensIn: m.number(raw, m.TokensIn), TokensOut: m.number(raw, m.TokensOut)}
	if role == wire.Tool {
		out.ID = textAt(raw, m.ResultID)
		if failed := at(raw, m.Error); wire.Given(failed) {
			out.Code, out.Text = loop.ToolBug, cmp.Or(out.Text, wire.Text(failed))
		}
		return []wire.Message{out}, nil
	}
	calls := at(raw, m.Calls)
	if wire.IsObject(calls) {
		calls = wrapped(calls)
	}
	var results []wire.Message
	for i, one := range listOf(calls) {
		call := wire.Call{ID: textAt(one, m.CallID), Name: textAt(one, m.CallName), Args: textAt(one, m.CallArguments)}
		if call.Name == "" {
			return nil, fmt.Errorf("call %d: there is no name at %s in %s", i+1, m.CallName, describe(&record{raw: one, line: 1}))
		}
		out.Calls = append(out.Calls, call)
		result, failed := at(one, m.CallResult), at(one, m.CallError)
		if result == nil && !wire.Given(failed) {
			continue
		}
		answer := wire.Message{Role: wire.Tool, ID: call.ID, Text: wire.Text(result)}
		if wire.Given(failed) {
			answer.Code, answer.Text = loop.ToolBug, cmp.Or(answer.Text, wire.Text(failed))
		}
		results = append(results, answer)
	}
	return append([]wire.Message{out}, results...), nil
}

func (m *InputMap) number(raw json.RawMessage, path string) int64 {
	n, err := strconv.ParseInt(textAt(raw, path), 10, 64)
	if err != nil {
		return 0
	}
	return min(max(n, 0), 1<<40)
}

// at returns the value at a path, nil if there is none or the path is empty.
func at(raw json.RawMessage, path string) json.RawMessage {
	if path == "" {
		return nil
	}
	for _, name := range strings.Split(path, ".") {
		if n, err := strconv.Atoi(name); err == nil && wire.IsArray(raw) {
			items := listOf(raw)
			if n < 0 || n >= len(items) {
				return nil
			}
			raw = items[n]
			continue
		}
		raw = objectOf(raw)[name]
	}
	return raw
}

// textAt returns the text at a path, any other value as JSON.
func textAt(raw json.RawMessage, path string) string { return wire.String(at(raw, path)) }

package trajectories

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/rawjson"
	"github.com/agentbench-go/agentbench/loop"
)

// miniSWEAgent is the log of mini-swe-agent: a JSON object a run, without tool
// calls. A reply has one block of bash, and the next user message its output: they
// are read as a call of bash and its result. A reply without a block, or with
// several, was refused unread and is a call that failed. A return code other than
// 0, even of a grep without a hit, and a timeout are errors, too. The exit status
// does not mean success: labels come from a file of labels.
var miniSWEAgent = format{
	name:  "mini-swe-agent",
	looks: `{"trajectory_format": "mini-swe-agent-1", "info": …, "messages": [messages]}`,
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["messages"]) && strings.HasPrefix(wire.String(keys["trajectory_format"]), "mini-swe-agent")
	},
	read: single(readMiniSWEAgent),
}

func readMiniSWEAgent(raw json.RawMessage) (*Trajectory, error) {
	var run struct {
		InstanceID json.RawMessage `json:"instance_id"`
		Info       struct {
			Config struct {
				Model struct {
					Name json.RawMessage `json:"model_name"`
				} `json:"model"`
			} `json:"config"`
		} `json:"info"`
		Messages json.RawMessage `json:"messages"`
	}
	if err := rawjson.Unmarshal(raw, &run); err != nil {
		return nil, wrongType(err)
	}
	messages, err := readMessages("messages", run.Messages)
	if err != nil {
		return nil, err
	}
	r := &Trajectory{Name: wire.String(run.InstanceID), Model: wire.String(run.Info.Config.Model.Name)}
	bashCalls(messages)
	r.assemble(messages)
	return r, nil
}

// bashBlock matches a command in a reply.
var bashBlock = regexp.MustCompile("(?s)```bash\\s*\\n(.*?)\\n```")

// bashCalls turns the blocks in replies into calls, and the user messages that
// answer them into results.
func bashCalls(messages []wire.Message) {
	blocks, acted := 0, false
	for i := range messages {
		m := &messages[i]
		switch {
		case m.Role == wire.Assistant && len(m.Calls) == 0:
			var commands []string
			for _, b := range bashBlock.FindAllStringSubmatch(m.Text, -1) {
				commands = append(commands, b[1])
			}
			blocks, acted = len(commands), true
			m.Calls = []wire.Call{bash(strings.Join(commands, "\n"))}
		case m.Role == wire.User && acted:
			m.Role, m.Code = wire.Tool, bashCode(m.Text, blocks)
		}
	}
}

// bash returns a call that runs a command.
func bash(command string) wire.Call {
	var args bytes.Buffer
	e := json.NewEncoder(&args)
	e.SetEscapeHTML(false)
	e.Encode(map[string]string{"command": command})
	return wire.Call{Name: "bash", Args: strings.TrimSpace(args.String())}
}

// bashCode returns the code of the user message after a reply with so many blocks.
func bashCode(text string, blocks int) loop.Code {
	code, hasCode := strings.CutPrefix(text, "<returncode>")
	switch {
	case blocks != 1:
		return loop.InvalidInput
	case strings.HasPrefix(text, "The last command") && strings.Contains(text, "timed out"):
		return loop.Timeout
	case hasCode && !strings.HasPrefix(code, "0</"):
		return loop.ToolBug
	}
	return loop.None
}

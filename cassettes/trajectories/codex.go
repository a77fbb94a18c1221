package trajectories

import (
	"cmp"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// codex is the rollout of OpenAI's Codex: JSON Lines with an envelope {timestamp, type,
// payload}. The items of the Responses API in the lines response_item are the run;
// event_msg repeats them and has the tokens and the exit codes. What a compacted line
// holds is old and left out. Errors are guessed from the text of a result. It has no
// label.
var codex = format{
	name:  "codex",
	looks: `{"type": "session_meta", "payload": …} and {"type": "response_item", "payload": item} a line, one run a file`,
	fits: func(keys map[string]json.RawMessage) bool {
		switch field(keys, "type") {
		case "session_meta", "response_item", "turn_context", "event_msg":
			return wire.IsObject(keys["payload"])
		}
		return false
	},
	read:   readCodex,
	joined: true,
}

// A codexReader collects the items of a rollout.
type codexReader struct {
	run    *lineRun
	failed map[string]bool // calls that ended with an exit code other than 0
}

func readCodex(raw json.RawMessage) ([]*Trajectory, error) {
	var log lineLog
	c := codexReader{run: log.run(""), failed: map[string]bool{}}
	traj := c.run.traj
	err := eachLine(raw, func(line map[string]json.RawMessage) error {
		payload := inner(line, "payload")
		switch field(line, "type") {
		case "session_meta":
			traj.Name = cmp.Or(traj.Name, field(payload, "id"))
		case "turn_context":
			traj.Model = cmp.Or(traj.Model, field(payload, "model"))
		case "event_msg":
			c.event(payload)
		case "response_item":
			return c.item(line["payload"])
		}
		return nil
	})
	for i := range c.run.messages {
		if m := &c.run.messages[i]; m.Role == wire.Tool && c.failed[m.ID] {
			m.Code = loop.ToolBug
		}
	}
	return log.end(), err
}

func (c *codexReader) item(raw json.RawMessage) error {
	more, err := wire.LogMessages(raw)
	for i := range more {
		if m := &more[i]; m.Role == wire.Tool {
			m.Text, m.Code = codexResult(m.Text)
		}
	}
	c.run.say(more...)
	return err
}

// event takes what only an event says: the exit code of a command, and the tokens of
// the last reply.
func (c *codexReader) event(payload map[string]json.RawMessage) {
	switch field(payload, "type") {
	case "exec_command_end":
		if code := field(payload, "exit_code"); code != "" && code != "0" {
			c.failed[field(payload, "call_id")] = true
		}
	case "token_count":
		in, out := wire.Usage(inner(payload, "info")["last_token_usage"])
		for i := len(c.run.messages) - 1; i >= 0; i-- {
			if m := &c.run.messages[i]; m.Role == wire.Assistant {
				if m.TokensIn+m.TokensOut == 0 {
					m.TokensIn, m.TokensOut = in, out
				}
				return
			}
		}
	}
}

var codexExit = regexp.MustCompile(`(?m)^(?:Process exited with code|Exit code:) ([0-9]+)$`)

// codexResult returns the text of a result and guesses whether it failed. In older
// rollouts it is JSON with the text and an exit code.
func codexResult(text string) (string, loop.Code) {
	var old struct {
		Output   *string
		Metadata struct {
			ExitCode int `json:"exit_code"`
		}
	}
	if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &old) == nil && old.Output != nil {
		if old.Metadata.ExitCode != 0 {
			return *old.Output, loop.ToolBug
		}
		return *old.Output, loop.None
	}
	head := text[:min(len(text), 400)] // the output itself comes after the exit code
	if code := codexExit.FindStringSubmatch(head); code != nil && code[1] != "0" {
		return text, loop.ToolBug
	}
	return text, loop.None
}

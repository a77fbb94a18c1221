package trajectories

import (
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// A leftOut counts the exchanges of a file that belong to no trajectory, by reason.
type leftOut map[wire.Reason]int

func (l leftOut) Error() string {
	if len(l) == 0 {
		return "it has no exchange"
	}
	var all []string
	for _, why := range wire.Reasons() {
		if n := l[why]; n > 0 {
			all = append(all, fmt.Sprintf("%s (%d)", why, n))
		}
	}
	return strings.Join(all, ", ")
}

// readTraffic returns the conversations in recorded HTTP traffic as trajectories.
// Its error is a leftOut or nil.
func readTraffic(exchanges []wire.Exchange, with wire.Decoders) ([]*Trajectory, error) {
	conversations, left := wire.Read(exchanges, with)
	var all []*Trajectory
	for i, c := range conversations {
		all = append(all, ofConversation(fmt.Sprintf("conversation=%d", i+1), c))
	}
	if len(left) > 0 || len(all) == 0 {
		return all, leftOut(left)
	}
	return all, nil
}

func ofConversation(name string, c *wire.Conversation) *Trajectory {
	r := &Trajectory{Name: name, Model: c.Model}
	r.assemble(entire(c))
	return r
}

// entire returns the messages of a conversation, with its system prompt, and with a user
// if nobody speaks before the assistant.
func entire(c *wire.Conversation) (messages []wire.Message) {
	if c.System != "" {
		messages = append(messages, wire.Message{Role: wire.System, Text: c.System})
	}
	if !hasUser(c.Messages) { // a system prompt alone, or an answer alone
		messages = append(messages, wire.Message{Role: wire.User})
	}
	return append(messages, c.Messages...)
}

func hasUser(messages []wire.Message) bool {
	for i := range messages {
		if messages[i].Role == wire.User {
			return true
		}
	}
	return false
}

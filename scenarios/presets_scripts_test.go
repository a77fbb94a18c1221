package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// A base script asks for calls in a fixed rotation, one call a reply, for as
// long as anybody listens. Nothing but what its name says ever changes.
type baseScript struct {
	name  string
	tools []fakes.Tool
	turns []string // the tool of each reply, in rotation
}

var (
	toolA, toolB, toolC = answeringTool("A", "as before"), answeringTool("B", "nothing new"), answeringTool("C", "the same")
	toolNew             = answeringTool("A", "page ${call}")
	toolFails           = failingTool("A", loop.NotFound, "no such file")
)

var (
	scriptSame    = baseScript{"same", []fakes.Tool{toolA}, []string{"A"}}
	scriptChanges = baseScript{"changes", []fakes.Tool{toolNew}, []string{"A"}}
	scriptAB      = baseScript{"AB", []fakes.Tool{toolA, toolB}, []string{"A", "B"}}
	scriptABC     = baseScript{"ABC", []fakes.Tool{toolA, toolB, toolC}, []string{"A", "B", "C"}}
	scriptFails   = baseScript{"fails", []fakes.Tool{toolFails}, []string{"A"}}
	scriptFailsB  = baseScript{"fails-B", []fakes.Tool{toolFails, toolB}, []string{"A", "B"}}
)

var baseScripts = []baseScript{scriptSame, scriptChanges, scriptAB, scriptABC, scriptFails, scriptFailsB}

// presetRequests is how many replies of the base scripts ask for calls. No rule of a
// preset that they trip needs more.
const presetRequests = 50

// script unrolls a base script, as a mutation changes each reply.
func (b *baseScript) script(m mutation) *fakes.Script {
	s := &fakes.Script{Task: "go", Tools: b.tools, User: fakes.User{Replies: []fakes.Reply{{}}}}
	for turn := 1; turn <= presetRequests; turn++ {
		step := fakes.Step{Calls: []fakes.StepCall{{Name: b.turns[(turn-1)%len(b.turns)], Args: m.arguments(turn)}}}
		if m.text != nil {
			step.Text = m.text(turn)
		}
		if m.id != nil {
			id := m.id(turn)
			step.Calls[0].ID = &id
		}
		s.Model = append(s.Model, step)
	}
	s.Model = append(s.Model, fakes.Step{Text: "I give up.", Repeat: fakes.Forever})
	return s
}

// A mutation changes each reply of a base script in a way of its own, so that
// no two are alike in it.
type mutation struct {
	name string
	sees string // which identities it defeats: those of raw, args or text; "" = none
	args func(turn int) string
	text func(turn int) string
	id   func(turn int) string
}

func (m *mutation) arguments(turn int) string {
	if m.args == nil {
		return plainArgs
	}
	return m.args(turn)
}

const plainArgs = `{"a":1,"b":2,"c":3,"d":4,"e":5}`

// The mutations of the list of what a faithful preset must fix, 10.3.
var (
	unchanged    = mutation{name: "none"}
	keyOrder     = mutation{name: "key order", sees: "raw", args: func(turn int) string { return permuted(turn) }}
	whiteSpace   = mutation{name: "white space", sees: "raw", args: func(turn int) string { return "{" + strings.Repeat(" ", turn) + plainArgs[1:] }}
	trailingZero = mutation{name: "1 and 1.0", sees: "raw", args: func(turn int) string { return strings.Replace(plainArgs, ":1", ":1."+strings.Repeat("0", turn), 1) }}
	timestamp    = mutation{name: "timestamp", sees: "args", args: func(turn int) string { return fmt.Sprintf(`{"a":1,"timestamp":%d}`, 1700000000+turn) }}
	requestID    = mutation{name: "request id", sees: "args", args: func(turn int) string { return fmt.Sprintf(`{"a":1,"request_id":"r-%d"}`, turn) }}
	reasoning    = mutation{name: "reasoning", sees: "text", text: func(turn int) string { return fmt.Sprintf("Attempt %d: I look again.", turn) }}
	callID       = mutation{name: "call id", id: func(turn int) string { return fmt.Sprintf("call-%d", turn*turn) }}
	oneID        = mutation{name: "one call id for all", id: func(int) string { return "call" }}
	// swapped has two orders of the keys, in turn: the row "key order alternates".
	swapped = mutation{name: "swapped", args: func(turn int) string { return permuted(1 + turn%2) }}
)

var mutations = []mutation{keyOrder, whiteSpace, trailingZero, timestamp, requestID, reasoning, callID, oneID}

// permuted returns the arguments with their keys in the n-th of 120 orders.
func permuted(n int) string {
	fields := strings.Split(strings.Trim(plainArgs, "{}"), ",")
	var out []string
	for left := len(fields); left > 0; left-- {
		i := n % left
		n /= left
		out = append(out, fields[i])
		fields = slices.Delete(fields, i, i+1)
	}
	return "{" + strings.Join(out, ",") + "}"
}

// batches is a script whose replies ask for several calls each.
func batches(of func(turn int) []string, tools ...fakes.Tool) *fakes.Script {
	s := &fakes.Script{Task: "go", Tools: tools, User: fakes.User{Replies: []fakes.Reply{{}}}}
	for turn := 1; turn <= presetRequests; turn++ {
		s.Model = append(s.Model, calls(of(turn)...))
	}
	s.Model = append(s.Model, fakes.Step{Text: "I give up.", Repeat: fakes.Forever})
	return s
}

// threeAtOnce asks for one call three times in each reply.
func threeAtOnce() *fakes.Script {
	return batches(func(int) []string { return []string{"A{}", "A{}", "A{}"} }, toolA)
}

// newPartner asks for one call beside a new one in each reply.
func newPartner() *fakes.Script {
	return batches(func(turn int) []string { return []string{"A{}", fmt.Sprintf(`B{"n":%d}`, turn)} }, toolA, answeringTool("B", "row ${call}"))
}

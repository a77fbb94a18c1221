package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// detailTools are the tools of the scripts below, by what they do.
var detailTools = []fakes.Tool{
	answeringTool("A", "as before"), answeringTool("B", "nothing new"), answeringTool("C", "the same"), answeringTool("D", "no change"), answeringTool("E", "still so"),
	answeringTool("New", "row ${call}"),
	answeringTool("Says", "Error: no such file"),
	failingTool("F", loop.NotFound, "no such file"),
	failingTool("Fnew", loop.NotFound, "error ${call}"),
	failingTool("Flong", loop.NotFound, strings.Repeat("x", 100)+"${call}"),
	failingTool("Flong98", loop.NotFound, strings.Repeat("x", 98)+"${call}"),
	answeringTool("read_file", "as before"), answeringTool("web_search", "row ${call}"), answeringTool("execute_bash", "row ${call}"),
	failingTool("terminal", loop.ToolBug, "error ${call}"), failingTool("patch", loop.ToolBug, "error ${call}"),
}

// rotation is a script of replies by words: calls joined by a comma, A with no
// arguments, A# with new ones in each reply, A{…} with those. The words come
// round and round, n in all; then comes an answer.
func rotation(words string, n int) *fakes.Script {
	s := &fakes.Script{Task: "go", Tools: detailTools, User: fakes.User{Replies: []fakes.Reply{{}}}}
	all := strings.Fields(words)
	for turn := 1; turn <= n; turn++ {
		var asked []string
		for call := range strings.SplitSeq(all[(turn-1)%len(all)], ",") {
			if name, fresh := strings.CutSuffix(call, "#"); fresh {
				call = fmt.Sprintf(`%s{"n":%d}`, name, turn)
			} else if !strings.Contains(call, "{") {
				call += "{}"
			}
			asked = append(asked, call)
		}
		s.Model = append(s.Model, calls(asked...))
	}
	s.Model = append(s.Model, fakes.Step{Text: "I give up.", Repeat: fakes.Forever})
	return s
}

// Statements of the sources that the base scripts do not show. The acts are
// written as in the tables of first acts.
func TestPresetDetails(t *testing.T) {
	for _, c := range []struct{ preset, statement, words, want string }{
		{"meai", "a mixed batch counts as failing", "F,A", "E4"},
		{"meai", "an unknown function is not an error, and sets the count to 0", "F F F Nowhere", "G40"},
		{"meai", "nor is a tool that returns an error as text", "Says#", "G40"},
		{"meai", "a function that is not there is bounded by 40 alone", "Nowhere", "G40"},
		{"cline", "any success in the turn sets the mistakes to 0", "F#,A#", "-"},
		{"cline", "an unknown tool is a mistake", "Nowhere#", "E3"},
		{"roo-code", "an unknown tool is a mistake", "Nowhere#", "E3"},
		{"roo-code", "a command that always fails never adds up", "F#", "-"},
		{"hpd-error-tracking", "if any tool in a batch succeeds, the count resets", "F,A", "-"},
		{"hpd-agent", "a text that begins with Error: is an error", "Says#", "E3"},
		{"gemini-cli-2026", "A A B", "A A B", "V15 S16"},
		{"gemini-cli-2026", "A A A A B", "A A A A B", "V25 S26"},
		{"gemini-cli-2026", "a cycle of five", "A B C D E", "V25 S26"},
		{"gemini-cli-2026", "a cycle of six: never", "A B C D E F", "-"},
		{"gemini-cli-2025", "any different call sets the count to 1", "A A A A B", "-"},
		{"openhands-v1", "the text of an error is not compared", "Fnew", "N3 S4"},
		{"openhands-v1", "an observation that says it failed is not an error", "Says", "S4"},
		{"openhands-v1", "an unknown tool is one", "Nowhere", "N3 S4"},
		{"openhands-v1", "a success in between breaks it", "Fnew Fnew New", "-"},
		{"openhands-v0", "what a command printed is not looked at", "execute_bash", "S4"},
		{"openhands-v0", "what other tools answer is", "New", "-"},
		{"openhands-v0", "polling between other work is none in a row", "execute_bash New#", "-"},
		{"openhands-v0", "three equal actions with errors, whatever their texts", "Fnew", "S3"},
		{"openclaw", "the 11th call of a tool that there is not", "Nowhere#", "N11"},
		{"openclaw", "changing results on one side of an alternation: a warning only", "A New", "N10"},
		{"goose", "errors that are equal in the first 100 characters", "Flong#", "V4"},
		{"goose", "errors that differ there", "Flong98#", "-"},
		{"goose", "per tool: other tools in between do not matter", "F New#", "V7"},
		{"goose", "within one batch nothing is denied", "F,F,F,F", "V2"},
		{"crush", "the outputs are part of it", "New", "-"},
		{"crush", "six of the last ten, not in a row", "A A A B#", "S10"},
		{"opencode", "three in a row within one message", "A,B,A,A", "-"},
		{"opencode", "the last three of four", "B,A,A,A", "K1"},
		{"pydantic-ai", "several failures of a tool in a step are one", "F,F,F A#", "S3"},
		{"pydantic-ai", "each tool by itself", "F Fnew", "S3"},
		{"pydantic-ai", "a success of the tool sets it to 0", "terminal A#", "S3"},
		{"openai-agents", "an unknown tool ends the run", "A# Nowhere", "S2"},
		{"crewai", "A B A B: never", "A B", "F25"},
		{"crewai", "A A B: the second of each pair", "A A B", "V2 F25"},
		{"deer-flow", "in any order", "A,B B,A", "N3 F5"},
		{"deer-flow", "an unordered collection, not a set", "A,B A,A,B", "N5 F9"},
		{"eino-react", "a tool that does not exist ends the run before its batch", "A#,Nowhere#", "S1"},
		{"eino-agent", "a tool that fails ends the run", "A# A#,F", "E2"},
		{"genkit-go", "a tool that does not exist ends the run", "A# Nowhere", "E2"},
		{"langchaingo", "a tool that does not exist is told to the model", "Nowhere#", "T5"},
		{"llamaindex", "so is one here, and its batch is an iteration", "Nowhere#", "T20"},
		{"llamaindex-ts", "an unknown tool ends the run", "A# Nowhere", "S2"},
		{"llamaindex-ts", "and so does a call with broken arguments", `A# A{"x`, "S2"},
		{"llamaindex-ts", "a tool that fails is told to the model", "F#", "-"},
		{"mastra-0.24", "a tool that fails is told to the model", "F#", "T5"},
		{"mastra-0.24", "an unknown tool ends the run", "A# Nowhere", "S2"},
		{"mastra", "an unknown tool is told to the model", "Nowhere#", "T5"},
		{"adk-go", "a tool that does not exist is told to the model", "Nowhere#", "-"},
		{"langgraph-js", "a batch is one step, however large", "A#,B#,C#", "T13"},
		{"langgraph-js", "a batch of a tool that does not exist is a step", "Nowhere#", "T13"},
		{"langgraph-js", "a call with broken arguments is none", `A{"x`, "M1"},
		{"qwen-code-0.24-heuristics", "one tool eight times in a row", "New#", "S8"},
		{"qwen-code-0.24", "which the rule that is always on does not see", "New#", "-"},
		{"zeroclaw", "by tool names, whatever arguments and results", "New# Fnew#", "N8 V10 S12"},
		{"hermes-agent", "a read with equal arguments and result: nudged at 2", "read_file", "N2 S5"},
		{"hermes-agent", "with other calls between the reads, blocked after 5", "read_file New#", "N3 S11"},
		{"hermes-agent", "an exact call that fails, other texts: blocked after 5", "patch", "N2 S6"},
		{"hermes-agent", "a tool that fails, whatever the arguments", "patch#", "N3 S8"},
		{"hermes-agent", "but where failing is normal work", "terminal#", "N3"},
		{"hermes-agent", "a cycle of four", "A B C D", "N12 S20"},
		{"hermes-agent", "a cycle of five: never", "A B C D E", "-"},
	} {
		p := play(t, presetOf(t, c.preset), rotation(c.words, presetRequests), presetRequests+1)
		if got := p.cell(); got != c.want {
			t.Errorf("%s: %s (%s): got %s, want %s", c.preset, c.statement, c.words, got, c.want)
		}
	}
}

// What comes after the first act.
func TestPresetDetailsGoOn(t *testing.T) {
	for _, c := range []struct {
		preset, what, words string
		at, not             []int
	}{
		{"goose", "veto", "F", []int{4, 8, 12}, []int{5, 6, 7, 9}},        // every fourth
		{"roo-code", "ask", "A", []int{4, 8, 12}, []int{5, 6, 7, 9}},      // then three more are allowed
		{"crewai", "veto", "A", []int{2, 3, 4, 24}, []int{1}},             // every further one
		{"crewai", "veto", "A A B", []int{2, 5, 8}, []int{3, 4, 6, 7}},    // of each pair the second
		{"openclaw", "veto", "A", []int{21, 22, 30, 31, 40}, []int{20}},   // a veto goes on with the streak
		{"zeroclaw", "nudge", "A# A#", []int{5, 6}, []int{4}},             // nudged once more where it blocks
		{"openclaw", "nudge", "A B", []int{10}, []int{9, 11, 12, 13, 14}}, // a warning once
	} {
		p := play(t, presetOf(t, c.preset), rotation(c.words, presetRequests), presetRequests+1)
		for _, reply := range c.at {
			if !p.at(c.what, reply) {
				t.Errorf("%s, %s: no %s at %d", c.preset, c.words, c.what, reply)
			}
		}
		for _, reply := range c.not {
			if p.at(c.what, reply) {
				t.Errorf("%s, %s: a %s at %d", c.preset, c.words, c.what, reply)
			}
		}
	}
}

// Counts that go on over the user's messages, and those that do not.
func TestPresetDetailsOverMessages(t *testing.T) {
	for _, c := range []struct {
		preset, answer string // the same in each run
		messages       int
		calls          int // of one call in each run
		want           string
	}{
		{"openhands-v0", "I am done.", 3, 0, "S3"},   // three equal answers, nothing observed in between
		{"openhands-v0", "I am done.", 2, 0, "-"},    // two
		{"openhands-v1", "I am done.", 5, 0, "-"},    // after the last user message only
		{"cline", "I am done.", 2, 2, "N4"},          // third call of a row over two messages; reply 3 was the answer
		{"cline", "I am done.", 3, 2, "N4 S7"},       // fifth call
		{"roo-code", "I am done.", 2, 2, "K5"},       // fourth call
		{"gemini-cli-2026", "I am done.", 3, 4, "-"}, // a new prompt starts anew
		{"openhands-v0", "I am done.", 2, 2, "S5"},   // fourth pair
	} {
		s := &fakes.Script{Task: "go", Tools: detailTools, User: fakes.User{Replies: []fakes.Reply{{}}}}
		for i := range c.messages {
			if i > 0 {
				s.User.Messages = append(s.User.Messages, fakes.UserMessage{Text: "And now?"})
			}
			for range c.calls {
				s.Model = append(s.Model, calls("A{}"))
			}
			s.Model = append(s.Model, fakes.Step{Text: c.answer})
		}
		p := play(t, presetOf(t, c.preset), s, 50)
		if got := p.cell(); got != c.want {
			t.Errorf("%s, %d messages with %d calls: got %s, want %s", c.preset, c.messages, c.calls, got, c.want)
		}
	}
}

package trajectories

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// read decodes the attributes of a span by the convention that they follow.
func (s *otlpSpan) read() *span {
	out := &span{id: s.id, parent: s.parent, at: s.at, end: s.end, kind: s.kind(), code: s.code()}
	switch out.kind {
	case modelSpan:
		s.request(out)
	case toolSpan:
		s.execution(out)
	}
	return out
}

// kind says what the span stands for. What a convention calls an agent or a chain is
// not a step of its own.
func (s *otlpSpan) kind() spanKind {
	switch s.text("gen_ai.operation.name") {
	case "chat", "generate_content", "text_completion":
		return modelSpan
	case "execute_tool":
		return toolSpan
	}
	switch strings.ToUpper(s.text("openinference.span.kind")) {
	case "LLM":
		return modelSpan
	case "TOOL":
		return toolSpan
	}
	switch s.text("ai.operationId") {
	case "ai.generateText.doGenerate", "ai.streamText.doStream", "ai.generateObject.doGenerate", "ai.streamObject.doStream":
		return modelSpan
	case "ai.toolCall":
		return toolSpan
	}
	switch {
	case s.text("traceloop.span.kind") == "tool":
		return toolSpan
	case s.text("llm.request.type") == "chat", s.text("llm.request.type") == "completion":
		return modelSpan
	}
	return otherSpan
}

// code returns the code of a span that failed: its error.type if that is one of the
// loop's codes, ToolBug for any other error.
func (s *otlpSpan) code() loop.Code {
	code := loop.Code(s.text("error.type"))
	switch {
	case code == loop.None && s.failed:
		return loop.ToolBug
	case code == loop.None, slices.Contains(loop.Codes(), code), code == loop.Cancelled:
		return code
	}
	return loop.ToolBug
}

// request decodes a model request.
func (s *otlpSpan) request(out *span) {
	out.model = s.text("gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "ai.response.model", "ai.model.id")
	out.in = s.number("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "ai.usage.inputTokens", "ai.usage.promptTokens")
	out.out = s.number("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion", "ai.usage.outputTokens", "ai.usage.completionTokens")
	out.system = wire.Text(listed(s.attrs["gen_ai.system_instructions"]))
	attrs := s.attrs
	for _, e := range s.events {
		if attrs["gen_ai.output.messages"] == nil && (e.attrs["gen_ai.output.messages"] != nil || e.attrs["gen_ai.input.messages"] != nil) {
			attrs = e.attrs
		}
	}
	switch {
	case attrs["gen_ai.input.messages"] != nil || attrs["gen_ai.output.messages"] != nil:
		out.input, out.output = messagesIn(attrs["gen_ai.input.messages"]), messagesIn(attrs["gen_ai.output.messages"])
	case s.has("llm.input_messages.") || s.has("llm.output_messages."):
		out.input, out.output = numbered(s.attrs, "llm.input_messages."), numbered(s.attrs, "llm.output_messages.")
	case s.has("gen_ai.prompt.") || s.has("gen_ai.completion."):
		out.input, out.output = numbered(s.attrs, "gen_ai.prompt."), numbered(s.attrs, "gen_ai.completion.")
	case s.attrs["ai.prompt.messages"] != nil || s.attrs["ai.response.text"] != nil || s.attrs["ai.response.toolCalls"] != nil:
		out.input, out.output = messagesIn(s.attrs["ai.prompt.messages"]), s.aiResponse()
	default:
		s.fromEvents(out)
	}
	for i := range out.output {
		if out.output[i].Role != wire.Tool {
			out.output[i].Role = wire.Assistant
		}
	}
}

// execution decodes an executed call.
func (s *otlpSpan) execution(out *span) {
	out.call = wire.Call{
		ID:   s.text("gen_ai.tool.call.id", "tool_call.id", "ai.toolCall.id"),
		Name: cmp.Or(s.text("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name"), strings.TrimSuffix(s.name, ".tool")),
		Args: s.text("gen_ai.tool.call.arguments", "ai.toolCall.args", "input.value", "traceloop.entity.input"),
	}
	for _, key := range []string{"gen_ai.tool.call.result", "ai.toolCall.result", "output.value", "traceloop.entity.output"} {
		if value, ok := s.attrs[key]; ok && !out.answered {
			out.result, out.answered = wire.Text(value), true
		}
	}
	for _, e := range s.events {
		if out.result == "" && (e.name == "gen_ai.choice" || e.name == "exception") {
			out.result = cmp.Or(wire.Text(listed(e.attrs["message"])), wire.String(e.attrs["exception.message"]))
		}
		if out.call.Args == "" && e.name == "gen_ai.tool.message" {
			out.call.Args = wire.String(e.attrs["content"])
		}
	}
}

func (s *otlpSpan) has(prefix string) bool {
	for key := range s.attrs {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	return false
}

func (s *otlpSpan) number(names ...string) int64 {
	n, err := strconv.ParseFloat(s.text(names...), 64)
	if err != nil || n < 0 {
		return 0
	}
	return int64(min(n, 1<<40))
}

// listed returns a list or an object that an attribute holds itself or as the text of
// its JSON, and any other value unchanged.
func listed(raw json.RawMessage) json.RawMessage {
	if said := bytes.TrimSpace([]byte(wire.String(raw))); wire.IsString(raw) && (wire.IsArray(said) || wire.IsObject(said)) && json.Valid(said) {
		return said
	}
	return raw
}

// messagesIn decodes the messages in an attribute. What is not a message is left out
// and told.
func messagesIn(raw json.RawMessage) (all []wire.Message) {
	for _, one := range listOf(listed(raw)) {
		more, err := wire.LogMessages(one)
		if err != nil {
			more = []wire.Message{{Role: wire.System, Unread: []string{"a message of another shape"}}}
		}
		all = append(all, more...)
	}
	return all
}

// aiResponse returns the answer in a span of the AI SDK.
func (s *otlpSpan) aiResponse() []wire.Message {
	m := wire.Message{Role: wire.Assistant, Text: s.text("ai.response.text", "ai.response.object")}
	for _, one := range listOf(listed(s.attrs["ai.response.toolCalls"])) {
		call := objectOf(one)
		args := call["input"]
		if args == nil {
			args = call["args"]
		}
		m.Calls = append(m.Calls, wire.Call{ID: field(call, "toolCallId"), Name: field(call, "toolName"), Args: wire.String(args)})
	}
	return []wire.Message{m}
}

// fromEvents decodes messages that older senders write as events of the span.
func (s *otlpSpan) fromEvents(out *span) {
	for _, e := range s.events {
		role, isMessage := strings.CutSuffix(strings.TrimPrefix(e.name, "gen_ai."), ".message")
		if e.name != "gen_ai.choice" && !isMessage {
			continue
		}
		message := map[string]json.RawMessage{}
		for key, value := range e.attrs {
			message[key] = listed(value)
		}
		if m := objectOf(message["message"]); m != nil {
			message = m
		} else if message["message"] != nil {
			message["content"] = message["message"]
		}
		if !isMessage {
			role = "assistant"
		}
		message["role"], _ = json.Marshal(role)
		if role == "tool" && message["tool_call_id"] == nil {
			message["tool_call_id"] = message["id"]
		}
		raw, _ := json.Marshal([]any{message})
		if isMessage {
			out.input = append(out.input, messagesIn(raw)...)
		} else {
			out.output = append(out.output, messagesIn(raw)...)
		}
	}
}

// numbered decodes messages that are spread over attributes with numbers in their
// names, such as gen_ai.prompt.0.role or llm.input_messages.0.message.role.
func numbered(attrs map[string]json.RawMessage, prefix string) []wire.Message {
	root := &tree{}
	for key, value := range attrs {
		if rest, ok := strings.CutPrefix(key, prefix); ok {
			root.set(strings.Split(rest, "."), value)
		}
	}
	var all []json.RawMessage
	for _, one := range root.list() {
		all = append(all, one.message())
	}
	raw, _ := json.Marshal(all)
	return messagesIn(raw)
}

// A tree is attributes by the parts of their names.
type tree struct {
	value    json.RawMessage
	branches map[string]*tree
}

func (t *tree) set(path []string, value json.RawMessage) {
	for _, name := range path {
		if t.branches == nil {
			t.branches = map[string]*tree{}
		}
		if t.branches[name] == nil {
			t.branches[name] = &tree{}
		}
		t = t.branches[name]
	}
	t.value = value
}

// at returns the branch with a path, an empty one for none.
func (t *tree) at(path ...string) *tree {
	for _, name := range path {
		if t = t.branches[name]; t == nil {
			return &tree{}
		}
	}
	return t
}

// list returns the branches with numbers for names, in order.
func (t *tree) list() (all []*tree) {
	var numbers []int
	for name := range t.branches {
		if n, err := strconv.Atoi(name); err == nil {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	for _, n := range numbers {
		all = append(all, t.branches[strconv.Itoa(n)])
	}
	return all
}

// message returns a message of the chat API from its attributes.
func (t *tree) message() json.RawMessage {
	if inner := t.at("message"); inner.branches != nil { // OpenInference
		t = inner
	}
	content := t.at("content").value
	if blocks := listed(content); wire.IsArray(blocks) { // an object in a text is a text
		content = blocks
	}
	if parts := t.at("contents").list(); len(parts) > 0 {
		content, _ = json.Marshal(textOf(parts))
	}
	role := t.at("role").value
	if role == nil {
		role = json.RawMessage(`"assistant"`)
	}
	m := map[string]any{"role": role, "content": content}
	if id := t.at("tool_call_id").value; id != nil {
		m["tool_call_id"] = id
	}
	var calls []map[string]any
	for _, c := range t.at("tool_calls").list() {
		if inner := c.at("tool_call"); inner.branches != nil { // OpenInference
			c = inner
		}
		name, args := c.at("name").value, c.at("arguments").value
		if f := c.at("function"); f.branches != nil {
			name, args = f.at("name").value, f.at("arguments").value
		}
		calls = append(calls, map[string]any{"id": c.at("id").value, "function": map[string]json.RawMessage{"name": name, "arguments": args}})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	raw, _ := json.Marshal(m)
	return raw
}

// textOf joins the texts of the parts of a content.
func textOf(parts []*tree) string {
	var texts []string
	for _, p := range parts {
		if said := wire.String(p.at("message_content", "text").value); said != "" {
			texts = append(texts, said)
		}
	}
	return strings.Join(texts, "\n")
}

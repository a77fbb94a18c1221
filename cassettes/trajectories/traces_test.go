package trajectories

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// flat writes a span on its own, n seconds after the first one.
func flat(n int, id, parent, status string, attrs map[string]any) string {
	raw, _ := json.Marshal(map[string]any{"trace_id": "t1", "span_id": id, "parent_span_id": parent, "name": id, "status": map[string]string{"code": status},
		"start_time": 1000 + n, "end_time": 1000 + n, "attributes": attrs})
	return string(raw)
}

// typed writes the same span in OTLP's JSON.
func typed(n int, id, parent, status string, attrs map[string]any) string {
	var list []map[string]any
	for key, value := range attrs {
		if number, ok := value.(int); ok {
			list = append(list, map[string]any{"key": key, "value": map[string]any{"intValue": fmt.Sprint(number)}})
		} else {
			list = append(list, map[string]any{"key": key, "value": map[string]any{"stringValue": value}})
		}
	}
	raw, _ := json.Marshal(map[string]any{"traceId": "t1", "spanId": id, "parentSpanId": parent, "name": id, "status": map[string]string{"code": status},
		"startTimeUnixNano": fmt.Sprint(1000 + n), "endTimeUnixNano": fmt.Sprint(1000 + n), "attributes": list})
	return string(raw)
}

// jaeger writes it as Jaeger does.
func jaeger(n int, id, parent, status string, attrs map[string]any) string {
	tags := []map[string]any{{"key": "otel.status_code", "value": status}}
	for key, value := range attrs {
		tags = append(tags, map[string]any{"key": key, "value": value})
	}
	raw, _ := json.Marshal(map[string]any{"traceID": "t1", "spanID": id, "operationName": id, "startTime": 1000 + n, "tags": tags,
		"references": []map[string]string{{"refType": "CHILD_OF", "spanID": parent}}})
	return string(raw)
}

type attrs = map[string]any

// inConventions is the run of the fixtures in the conventions of traces: two model
// requests and two calls, within an agent's span that repeats the answer.
var inConventions = map[string][5]attrs{
	"openinference": {
		{"openinference.span.kind": "AGENT"},
		{"openinference.span.kind": "LLM", "llm.model_name": "m-1", "llm.token_count.prompt": 90, "llm.token_count.completion": 12,
			"llm.input_messages.0.message.role": "system", "llm.input_messages.0.message.content": "Be brief.",
			"llm.input_messages.1.message.role": "user", "llm.input_messages.1.message.content": "Rain?",
			"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.contents.0.message_content.text": "Both.",
			"llm.output_messages.0.message.tool_calls.0.tool_call.id": "a", "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "weather",
			"llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": `{"city":"Oslo"}`,
			"llm.output_messages.0.message.tool_calls.1.tool_call.id":                 "b", "llm.output_messages.0.message.tool_calls.1.tool_call.function.name": "weather",
			"llm.output_messages.0.message.tool_calls.1.tool_call.function.arguments": `{"city":"Rome"}`},
		{"openinference.span.kind": "TOOL", "tool.name": "weather", "input.value": `{"city": "Rome"}`, "output.value": "no such city"},
		{"openinference.span.kind": "TOOL", "tool.name": "weather", "input.value": `{"city": "Oslo"}`, "output.value": "dry"},
		{"openinference.span.kind": "LLM",
			"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.tool_calls.0.tool_call.id": "c",
			"llm.output_messages.0.message.tool_calls.0.tool_call.function.name":      "weather",
			"llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": `{"city":"Roma"}`},
	},
	"traceloop": {
		{"traceloop.span.kind": "workflow"},
		{"llm.request.type": "chat", "gen_ai.response.model": "m-1", "gen_ai.usage.prompt_tokens": 90, "gen_ai.usage.completion_tokens": 12,
			"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Rain?",
			"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "Both.",
			"gen_ai.completion.0.tool_calls.0.id": "a", "gen_ai.completion.0.tool_calls.0.name": "weather", "gen_ai.completion.0.tool_calls.0.arguments": `{"city":"Oslo"}`,
			"gen_ai.completion.0.tool_calls.1.id": "b", "gen_ai.completion.0.tool_calls.1.name": "weather", "gen_ai.completion.0.tool_calls.1.arguments": `{"city":"Rome"}`},
		{"traceloop.span.kind": "tool", "traceloop.entity.name": "weather", "traceloop.entity.input": `{"city":"Rome"}`, "traceloop.entity.output": "no such city"},
		{"traceloop.span.kind": "tool", "traceloop.entity.name": "weather", "traceloop.entity.input": `{"city":"Oslo"}`, "traceloop.entity.output": "dry"},
		{"llm.request.type": "chat", "gen_ai.completion.0.role": "assistant",
			"gen_ai.completion.0.tool_calls.0.id": "c", "gen_ai.completion.0.tool_calls.0.name": "weather", "gen_ai.completion.0.tool_calls.0.arguments": `{"city":"Roma"}`},
	},
	"ai sdk": {
		{"ai.operationId": "ai.generateText", "ai.response.toolCalls": `[{"toolCallId":"c","toolName":"weather","input":{"city":"Roma"}}]`},
		{"ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m-1", "ai.usage.promptTokens": 90, "ai.usage.completionTokens": 12,
			"ai.prompt.messages": `[{"role":"user","content":[{"type":"text","text":"Rain?"}]}]`, "ai.response.text": "Both.",
			"ai.response.toolCalls": `[{"toolCallId":"a","toolName":"weather","args":{"city":"Oslo"}},{"toolCallId":"b","toolName":"weather","input":{"city":"Rome"}}]`},
		{"ai.operationId": "ai.toolCall", "ai.toolCall.id": "b", "ai.toolCall.name": "weather", "ai.toolCall.args": `{"city":"Rome"}`, "ai.toolCall.result": "no such city"},
		{"ai.operationId": "ai.toolCall", "ai.toolCall.id": "a", "ai.toolCall.name": "weather", "ai.toolCall.args": `{"city":"Oslo"}`, "ai.toolCall.result": "dry"},
		{"ai.operationId": "ai.generateText.doGenerate", "ai.response.toolCalls": `[{"toolCallId":"c","toolName":"weather","input":{"city":"Roma"}}]`},
	},
	"genai": {
		{"gen_ai.operation.name": "invoke_agent"},
		{"gen_ai.operation.name": "chat", "gen_ai.request.model": "m-1", "gen_ai.usage.input_tokens": 90, "gen_ai.usage.output_tokens": 12,
			"gen_ai.input.messages":  `[{"role":"user","parts":[{"type":"text","content":"Rain?"}]}]`,
			"gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"text","content":"Both."},{"type":"tool_call","id":"a","name":"weather","arguments":{"city":"Oslo"}},{"type":"tool_call","id":"b","name":"weather","arguments":{"city":"Rome"}}]}]`},
		{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "b", "gen_ai.tool.call.result": "no such city"},
		{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather", "gen_ai.tool.call.id": "a", "gen_ai.tool.call.result": "dry"},
		{"gen_ai.operation.name": "chat", "gen_ai.output.messages": `[{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"weather","arguments":{"city":"Roma"}}]}]`},
	},
}

// Each convention gives the same run, in each writing of spans.
func TestConventions(t *testing.T) {
	for name, spans := range inConventions {
		for writing, c := range map[string]struct {
			write func(int, string, string, string, map[string]any) string
			frame string
		}{
			"flat":   {flat, "[%s]"},
			"otlp":   {typed, `{"resourceSpans":[{"scopeSpans":[{"spans":[%s]}]}]}`},
			"tempo":  {typed, `{"batches":[{"scopeSpans":[{"spans":[%s]}]}]}`},
			"jaeger": {jaeger, `{"data":[{"traceID":"t1","spans":[%s]}]}`},
		} {
			t.Run(name+"/"+writing, func(t *testing.T) {
				var all []string
				for i, a := range spans {
					status := "OK"
					if i == 2 {
						status = "ERROR"
					}
					parent := "s0"
					if i == 0 {
						parent = ""
					}
					all = append(all, c.write(i, fmt.Sprint("s", i), parent, status, a))
				}
				// The order of the file does not matter.
				all[0], all[4] = all[4], all[0]
				runs, problems := readText(t, Reader{}, "trace.json", fmt.Sprintf(c.frame, strings.Join(all, ",\n")))
				if got, want := sketches(runs), block(theRun); got != want || len(problems) > 0 || runs[0].Model != "m-1" {
					t.Errorf("got:\n%swant:\n%sproblems %v", got, want, problems)
				}
			})
		}
	}
}

// An agent that is called as a tool is a run of its own.
func TestNestedAgent(t *testing.T) {
	model := func(text string) attrs {
		return attrs{"gen_ai.operation.name": "chat", "gen_ai.output.messages": `[{"role":"assistant","parts":[` + text + `]}]`}
	}
	spans := []string{
		flat(0, "m1", "", "OK", model(`{"type":"tool_call","id":"a","name":"ask","arguments":{}}`)),
		flat(1, "t1", "", "OK", attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "ask", "gen_ai.tool.call.id": "a", "gen_ai.tool.call.result": "ten"}),
		flat(2, "m2", "t1", "OK", model(`{"type":"tool_call","id":"b","name":"add","arguments":{"n":1}}`)),
		flat(3, "t2", "t1", "OK", attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "add", "gen_ai.tool.call.id": "b", "gen_ai.tool.call.result": "10"}),
		flat(4, "m3", "t1", "OK", model(`{"type":"text","content":"ten"}`)),
		flat(5, "m4", "", "OK", model(`{"type":"text","content":"It is ten."}`)),
	}
	runs, problems := readText(t, Reader{}, "trace.json", "["+strings.Join(spans, ",")+"]")
	want := block(`
user ""
  turn "" ask({})="ten"
  turn "It is ten."
user ""
  turn "" add({"n":1})="10"
  turn "ten"
`)
	if got := sketches(runs); got != want || len(problems) > 0 || runs[1].Name != "trace=t1,tool=ask" {
		t.Errorf("got:\n%swant:\n%sproblems %v", got, want, problems)
	}
}

// Without spans of model requests, calls that do not overlap are turns of their own.
func TestToolSpansAlone(t *testing.T) {
	tool := func(name string) attrs {
		return attrs{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
	}
	runs, problems := readText(t, Reader{}, "trace.json", "["+flat(0, "a", "", "OK", tool("f"))+","+flat(1, "b", "", "OK", tool("g"))+"]")
	want := "user \"\"\n  turn \"\" f()=\"\"\n  turn \"\" g()=\"\"\n"
	if got := sketches(runs); got != want || len(problems) > 0 {
		t.Errorf("got:\n%swant:\n%sproblems %v", got, want, problems)
	}
}

// A trace of something else says which attributes it lacks.
func TestSpansOfSomethingElse(t *testing.T) {
	_, problems := readText(t, Reader{}, "trace.json", `{"resourceSpans":[{"scopeSpans":[{"spans":[`+typed(0, "a", "", "OK", attrs{"http.method": "GET"})+`]}]}]}`)
	if len(problems) != 1 || problems[0].Kind != Nothing || !strings.Contains(problems[0].Text, "of 1 span none is a model request or a call: gen_ai.operation.name") {
		t.Errorf("problems %v", problems)
	}
}

// Messages that older senders write as events of the span.
func TestMessagesAsEvents(t *testing.T) {
	span := `{"trace_id":"t1","span_id":"m","attributes":{"gen_ai.operation.name":"chat"},"events":[
{"name":"gen_ai.user.message","attributes":{"content":"Rain?"}},
{"name":"gen_ai.choice","attributes":{"message":"{\"content\":\"Both.\",\"tool_calls\":[{\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"weather\",\"arguments\":\"{}\"}}]}"}}]}`
	runs, problems := readText(t, Reader{}, "trace.json", "["+span+"]")
	want := "user \"Rain?\"\n  turn \"Both.\" weather({})=?\n"
	if got := sketches(runs); got != want || len(problems) > 0 {
		t.Errorf("got:\n%swant:\n%sproblems %v", got, want, problems)
	}
}

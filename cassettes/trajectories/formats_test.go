package trajectories

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A fixture is a file in a format: the same run in each. The user asks about two cities;
// the model calls weather for both at once, of which one fails; and then calls it again,
// which nobody answers.
type fixture struct {
	name    string // of the file
	format  string
	content string
	want    string // "" = theRun
}

const theRun = `
user "Rain?"
  turn "Both." weather({"city":"Oslo"})="dry" weather({"city":"Rome"})=ToolBug:"no such city" 90+12
  turn "" weather({"city":"Roma"})=?
`

// untold is theRun where the format has neither tokens nor marks errors.
const untold = `
user "Rain?"
  turn "Both." weather({"city":"Oslo"})="dry" weather({"city":"Rome"})="no such city"
  turn "" weather({"city":"Roma"})=?
`

var fixtures = []fixture{
	{"a.json", "anthropic-messages", `[
{"role":"user","content":"Rain?"},
{"role":"assistant","usage":{"input_tokens":10,"cache_read_input_tokens":80,"output_tokens":12},"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Both."},
 {"type":"tool_use","id":"a","name":"weather","input":{"city":"Oslo"}},{"type":"tool_use","id":"b","name":"weather","input":{"city":"Rome"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"no such city","is_error":true},{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"dry"}]}]},
{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"web_search_tool_result","tool_use_id":"s","content":[]},{"type":"tool_use","id":"c","name":"weather","input":{"city":"Roma"}}]}]`, ""},
	{"a.jsonl", "message-lines", `{"role":"user","content":"Rain?"}
{"role":"assistant","usage":{"input_tokens":90,"output_tokens":12},"content":[{"type":"text","text":"Both."},{"type":"tool_use","id":"a","name":"weather","input":{"city":"Oslo"}},{"type":"tool_use","id":"b","name":"weather","input":{"city":"Rome"}}]}
{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"dry"},{"type":"tool_result","tool_use_id":"b","content":"no such city","is_error":true}]}
{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"weather","input":{"city":"Roma"}}]}
`, ""},
	{"b.json", "bedrock-messages", `{"system":[{"text":"Be brief."}],"messages":[
{"role":"user","content":[{"text":"Rain?"}]},
{"role":"assistant","usage":{"inputTokens":90,"outputTokens":12},"content":[{"reasoningContent":{"reasoningText":{"text":"hm"}}},{"text":"Both."},
 {"toolUse":{"toolUseId":"a","name":"weather","input":{"city":"Oslo"}}},{"toolUse":{"toolUseId":"b","name":"weather","input":{"city":"Rome"}}}]},
{"role":"user","content":[{"toolResult":{"toolUseId":"a","status":"success","content":[{"text":"dry"}]}},{"toolResult":{"toolUseId":"b","status":"error","content":[{"text":"no such city"}]}},{"cachePoint":{"type":"default"}}]},
{"role":"assistant","content":[{"toolUse":{"toolUseId":"c","name":"weather","input":{"city":"Roma"}}}]}]}`, ""},
	{"items.json", "openai-responses-items", `[
{"role":"user","content":"Rain?"},
{"type":"reasoning","id":"rs_1","summary":[]},
{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Both."}]},
{"type":"function_call","id":"fc_1","call_id":"a","name":"weather","arguments":"{\"city\":\"Oslo\"}"},
{"type":"function_call","id":"fc_2","call_id":"b","name":"weather","arguments":"{\"city\":\"Rome\"}"},
{"type":"function_call_output","call_id":"a","output":"dry"},
{"type":"function_call_output","call_id":"b","output":[{"type":"input_text","text":"no such city"}]},
{"type":"web_search_call","id":"ws_1","status":"completed"},
{"type":"function_call","id":"fc_3","call_id":"c","name":"weather","arguments":"{\"city\":\"Roma\"}"}]`, untold},
	{"state.json", "openai-agents-run", `{"$schemaVersion":"1.4","original_input":"Rain?",
"generated_items":[{"type":"message_output_item","raw_item":{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":"Both."}]}},
{"type":"tool_call_item","raw_item":{"type":"function_call","id":"f1","call_id":"a","name":"weather","arguments":"{\"city\":\"Oslo\"}"}},
{"type":"tool_call_item","raw_item":{"type":"function_call","id":"f2","call_id":"b","name":"weather","arguments":"{\"city\":\"Rome\"}"}},
{"type":"tool_call_output_item","raw_item":{"type":"function_call_output","call_id":"a","output":"dry"}},
{"type":"tool_call_output_item","raw_item":{"type":"function_call_output","call_id":"b","output":"no such city"}},
{"type":"tool_call_item","raw_item":{"type":"function_call","id":"f3","call_id":"c","name":"weather","arguments":"{\"city\":\"Roma\"}"}}],
"model_responses":[{"output":[{"type":"function_call","id":"f3","call_id":"c","name":"weather","arguments":"{\"city\":\"Roma\"}"}]}]}`, untold},
	{"rollout.jsonl", "codex", `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"s1","cwd":"/"}}
{"type":"turn_context","payload":{"model":"m-1"}}
{"type":"event_msg","payload":{"type":"user_message","message":"Rain?"}}
{"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"Rain?"}]}}
{"type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Both."}]}}
{"type":"response_item","payload":{"type":"function_call","call_id":"a","name":"weather","arguments":"{\"city\":\"Oslo\"}"}}
{"type":"response_item","payload":{"type":"function_call","call_id":"b","name":"weather","arguments":"{\"city\":\"Rome\"}"}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"input_tokens":900,"output_tokens":120},"last_token_usage":{"input_tokens":90,"output_tokens":12}}}}
{"type":"event_msg","payload":{"type":"exec_command_end","call_id":"b","exit_code":1}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"a","output":"{\"output\":\"dry\",\"metadata\":{\"exit_code\":0}}"}}
{"type":"response_item","payload":{"type":"function_call_output","call_id":"b","output":"no such city"}}
{"type":"compacted","payload":{"message":"","replacement_history":[{"type":"function_call","call_id":"a","name":"weather","arguments":"{}"}]}}
{"type":"response_item","payload":{"type":"function_call","call_id":"c","name":"weather","arguments":"{\"city\":\"Roma\"}"}}
`, ""},
	{"state.json", "langchain-messages", `{"messages":[
{"type":"human","content":"Rain?"},
{"type":"ai","content":[{"type":"text","text":"Both."},{"type":"tool_use","id":"a","name":"weather","input":{"city":"Oslo"}}],"usage_metadata":{"input_tokens":90,"output_tokens":12},
 "additional_kwargs":{"tool_calls":[{"id":"a","function":{"name":"weather","arguments":"{}"}}]},
 "tool_calls":[{"type":"tool_call","id":"a","name":"weather","args":{"city":"Oslo"}},{"type":"tool_call","id":"b","name":"weather","args":{"city":"Rome"}}]},
{"type":"tool","tool_call_id":"a","content":"dry","status":"success"},
{"type":"tool","tool_call_id":"b","content":"no such city","status":"error"},
{"type":"ai","content":"","tool_calls":[{"id":"c","name":"weather","args":{"city":"Roma"}}]}]}`, ""},
	{"dict.json", "langchain-messages", `[
{"type":"human","data":{"content":"Rain?"}},
{"type":"ai","data":{"content":"Both.","response_metadata":{"model_name":"m-1","token_usage":{"prompt_tokens":90,"completion_tokens":12}},"tool_calls":[{"id":"a","name":"weather","args":{"city":"Oslo"}}],"invalid_tool_calls":[{"id":"b","name":"weather","args":"{\"city\":\"Rome\"}","error":"x"}]}},
{"type":"tool","data":{"tool_call_id":"a","content":"dry"}},
{"type":"tool","data":{"tool_call_id":"b","content":"no such city","status":"error"}},
{"type":"ai","data":{"content":"","tool_calls":[{"id":"c","name":"weather","args":{"city":"Roma"}}]}}]`, ""},
	{"dump.json", "langchain-messages", `[
{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"Rain?"}},
{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"Both.","usage_metadata":{"input_tokens":90,"output_tokens":12},"tool_calls":[{"id":"a","name":"weather","args":{"city":"Oslo"}},{"id":"b","name":"weather","args":{"city":"Rome"}}]}},
{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"tool_call_id":"a","content":"dry"}},
{"lc":1,"type":"constructor","id":["langchain","schema","messages","ToolMessage"],"kwargs":{"tool_call_id":"b","content":"no such city","status":"error"}},
{"lc":1,"type":"constructor","id":["langchain","schema","messages","AIMessage"],"kwargs":{"content":"","tool_calls":[{"id":"c","name":"weather","args":{"city":"Roma"}}]}}]`, ""},
	{"pydantic.json", "pydantic-ai-messages", `[
{"kind":"request","instructions":"Be brief.","parts":[{"part_kind":"user-prompt","content":"Rain?"}]},
{"kind":"response","model_name":"m-1","usage":{"input_tokens":90,"output_tokens":12},"parts":[{"part_kind":"thinking","content":"hm"},{"part_kind":"text","content":"Both."},
 {"part_kind":"tool-call","tool_call_id":"a","tool_name":"weather","args":{"city":"Oslo"}},{"part_kind":"tool-call","tool_call_id":"b","tool_name":"weather","args":"{\"city\":\"Rome\"}"}]},
{"kind":"request","instructions":"Be brief.","parts":[{"part_kind":"tool-return","tool_call_id":"a","tool_name":"weather","content":"dry"},{"part_kind":"tool-return","tool_call_id":"b","tool_name":"weather","content":"no such city","outcome":"failed"}]},
{"kind":"response","parts":[{"part_kind":"tool-call","tool_call_id":"c","tool_name":"weather","args":{"city":"Roma"}}]}]`, ""},
	{"model.json", "vercel-messages", `[
{"role":"user","content":[{"type":"text","text":"Rain?"}]},
{"role":"assistant","usage":{"inputTokens":90,"outputTokens":12},"content":[{"type":"reasoning","text":"hm"},{"type":"text","text":"Both."},{"type":"tool-call","toolCallId":"a","toolName":"weather","input":{"city":"Oslo"}},{"type":"tool-call","toolCallId":"b","toolName":"weather","args":{"city":"Rome"}},
 {"type":"tool-call","toolCallId":"s","toolName":"web_search","input":{},"providerExecuted":true},{"type":"tool-result","toolCallId":"s","toolName":"web_search","output":{"type":"json","value":[]}}]},
{"role":"tool","content":[{"type":"tool-result","toolCallId":"a","toolName":"weather","output":{"type":"text","value":"dry"}},{"type":"tool-result","toolCallId":"b","toolName":"weather","output":{"type":"error-text","value":"no such city"}}]},
{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c","toolName":"weather","input":{"city":"Roma"}}]}]`, ""},
	{"ui.json", "vercel-messages", `[
{"id":"1","role":"user","parts":[{"type":"text","text":"Rain?"}]},
{"id":"2","role":"assistant","usage":{"inputTokens":90,"outputTokens":12},"parts":[{"type":"step-start"},{"type":"text","text":"Both."},
 {"type":"tool-weather","toolCallId":"a","state":"output-available","input":{"city":"Oslo"},"output":"dry"},{"type":"dynamic-tool","toolName":"weather","toolCallId":"b","state":"output-error","input":{"city":"Rome"},"errorText":"no such city"},
 {"type":"step-start"},{"type":"tool-weather","toolCallId":"c","state":"input-available","input":{"city":"Roma"}}]}]`, ""},
	{"contents.json", "gemini-contents", `{"system_instruction":{"parts":[{"text":"Be brief."}]},"contents":[
{"role":"user","parts":[{"text":"Rain?"}]},
{"role":"model","usage":{"promptTokenCount":90,"candidatesTokenCount":12},"parts":[{"text":"hm","thought":true},{"text":"Both."},{"functionCall":{"name":"weather","args":{"city":"Oslo"}},"thoughtSignature":"x"},{"functionCall":{"name":"weather","args":{"city":"Rome"}}}]},
{"role":"user","parts":[{"functionResponse":{"name":"weather","response":{"output":"dry"}}},{"functionResponse":{"name":"weather","response":{"error":"no such city"}}}]},
{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Roma"}}}]}]}`, `
user "Rain?"
  turn "Both." weather({"city":"Oslo"})="{\"output\":\"dry\"}" weather({"city":"Rome"})=ToolBug:"{\"error\":\"no such city\"}" 90+12
  turn "" weather({"city":"Roma"})=?
`},
	{"adk.json", "adk", `{"id":"s1","events":[
{"author":"user","content":{"role":"user","parts":[{"text":"Rain?"}]}},
{"author":"agent","content":{"role":"model","parts":[{"text":"Both."},{"function_call":{"id":"a","name":"weather","args":{"city":"Oslo"}}},{"function_call":{"id":"b","name":"weather","args":{"city":"Rome"}}}]}},
{"author":"agent","content":{"role":"user","parts":[{"function_response":{"id":"b","name":"weather","response":{"error":"no"}}},{"function_response":{"id":"a","name":"weather","response":{"result":"dry"}}}]}},
{"author":"agent","actions":{}},
{"author":"agent","content":{"role":"model","parts":[{"function_call":{"id":"c","name":"weather","args":{"city":"Roma"}}}]}}]}`, `
user "Rain?"
  turn "Both." weather({"city":"Oslo"})="{\"result\":\"dry\"}" weather({"city":"Rome"})=ToolBug:"{\"error\":\"no\"}"
  turn "" weather({"city":"Roma"})=?
`},
	{"genai.json", "genai-messages", `[
{"role":"user","parts":[{"type":"text","content":"Rain?"}]},
{"role":"assistant","usage":{"input_tokens":90,"output_tokens":12},"parts":[{"type":"text","content":"Both."},{"type":"tool_call","id":"a","name":"weather","arguments":{"city":"Oslo"}},{"type":"tool_call","id":"b","name":"weather","arguments":{"city":"Rome"}}]},
{"role":"tool","parts":[{"type":"tool_call_response","id":"a","response":"dry"},{"type":"tool_call_response","id":"b","result":"no such city"}]},
{"role":"assistant","parts":[{"type":"tool_call","id":"c","name":"weather","arguments":{"city":"Roma"}}]}]`, strings.Replace(untold, `such city"`, `such city" 90+12`, 1)},
	{"goose.jsonl", "message-lines", `{"role":"user","content":[{"type":"text","text":"Rain?"}]}
{"role":"assistant","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"Both."},{"type":"toolRequest","id":"a","toolCall":{"status":"success","value":{"name":"weather","arguments":{"city":"Oslo"}}}},{"type":"toolRequest","id":"b","toolCall":{"status":"success","value":{"name":"weather","arguments":{"city":"Rome"}}}}]}
{"role":"user","content":[{"type":"toolResponse","id":"a","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"dry"}]}}},{"type":"toolResponse","id":"b","toolResult":{"status":"error","error":"no such city"}}]}
{"role":"assistant","content":[{"type":"toolRequest","id":"c","toolCall":{"status":"success","value":{"name":"weather","arguments":{"city":"Roma"}}}}]}
`, withoutTokens(theRun)},
	{"pi.jsonl", "pi", `{"type":"session","version":3,"id":"s1","cwd":"/"}
{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"Rain?"}}
{"type":"message","id":"2","parentId":"1","message":{"role":"assistant","model":"m-1","usage":{"input":10,"output":12,"cacheRead":80},"content":[{"type":"text","text":"Both."},{"type":"toolCall","id":"a","name":"weather","arguments":{"city":"Oslo"}},{"type":"toolCall","id":"b","name":"weather","arguments":{"city":"Rome"}}]}}
{"type":"message","id":"3","parentId":"2","message":{"role":"toolResult","toolCallId":"a","toolName":"weather","content":[{"type":"text","text":"dry"}],"isError":false}}
{"type":"message","id":"4","parentId":"3","message":{"role":"toolResult","toolCallId":"b","toolName":"weather","content":[{"type":"text","text":"no such city"}],"isError":true}}
{"type":"model_change","id":"5"}
{"type":"message","id":"6","parentId":"4","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"weather","arguments":{"city":"Roma"}}]}}
`, ""},
	{"droid.jsonl", "droid", `{"type":"session_start","id":"s1"}
{"type":"message","id":"1","message":{"role":"user","content":[{"type":"text","text":"Rain?"}]}}
{"type":"message","id":"2","message":{"role":"assistant","content":[{"type":"text","text":"Both."},{"type":"tool_use","id":"a","name":"weather","input":{"city":"Oslo"}},{"type":"tool_use","id":"b","name":"weather","input":{"city":"Rome"}}]}}
{"type":"message","id":"3","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"dry"},{"type":"tool_result","tool_use_id":"b","content":"no such city","is_error":true}]}}
{"type":"message","id":"4","message":{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"weather","input":{"city":"Roma"}}]}}
`, withoutTokens(theRun)},
	{"cursor.jsonl", "cursor", `{"role":"user","message":{"content":[{"type":"text","text":"Rain?"}]}}
{"role":"assistant","message":{"content":[{"type":"text","text":"Both."},{"type":"tool_use","name":"weather","input":{"city":"Oslo"}},{"type":"tool_use","name":"weather","input":{"city":"Rome"}}]}}
{"role":"user","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"dry"},{"type":"tool_result","tool_use_id":"t2","content":"no such city","is_error":true}]}}
{"role":"assistant","message":{"content":[{"type":"tool_use","name":"weather","input":{"city":"Roma"}}]}}
{"type":"turn_ended","status":"success"}
`, withoutTokens(theRun)},
	{"qwen.jsonl", "qwen-code", `{"uuid":"1","parentUuid":null,"sessionId":"s1","type":"user","message":{"role":"user","parts":[{"text":"Rain?"}]}}
{"uuid":"2","parentUuid":"1","type":"assistant","model":"m-1","usageMetadata":{"promptTokenCount":90,"candidatesTokenCount":12},"message":{"role":"model","parts":[{"text":"hm","thought":true},{"text":"Both."},{"functionCall":{"id":"a","name":"weather","args":{"city":"Oslo"}}},{"functionCall":{"id":"b","name":"weather","args":{"city":"Rome"}}}]}}
{"uuid":"3","parentUuid":"2","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"a","name":"weather","response":{"output":"dry"}}}]},"toolCallResult":{"callId":"a","status":"success"}}
{"uuid":"4","parentUuid":"3","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"b","name":"weather","response":{"output":"no"}}}]},"toolCallResult":{"callId":"b","status":"error"}}
{"uuid":"5","parentUuid":"4","type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"x","name":"weather","args":{}}}]}}
{"uuid":"6","parentUuid":"4","type":"system","subtype":"rewind","systemPayload":{"targetUuid":"4"}}
{"uuid":"7","parentUuid":"6","type":"assistant","message":{"role":"model","parts":[{"functionCall":{"id":"c","name":"weather","args":{"city":"Roma"}}}]}}
`, `
user "Rain?"
  turn "Both." weather({"city":"Oslo"})="{\"output\":\"dry\"}" weather({"city":"Rome"})=ToolBug:"{\"output\":\"no\"}" 90+12
  turn "" weather({"city":"Roma"})=?
`},
	{"sharegpt.json", "sharegpt", `[{"conversations":[{"from":"human","value":"Rain?"},
{"from":"gpt","value":"Both.\n<tool_call>\n{\"name\":\"weather\",\"arguments\":{\"city\":\"Oslo\"}}\n</tool_call><tool_call>{\"name\":\"weather\",\"arguments\":{\"city\":\"Rome\"}}</tool_call>"},
{"from":"tool","value":"<tool_response>\ndry\n</tool_response>"},{"from":"observation","value":"no such city"},
{"from":"function_call","value":"{\"name\":\"weather\",\"arguments\":{\"city\":\"Roma\"}}"}],"tools":"[]"}]`, untold},
}

// withoutTokens removes the tokens from a sketch.
func withoutTokens(sketch string) string { return strings.ReplaceAll(sketch, " 90+12", "") }

// Each format gives the run that it holds, recognised by its content and by its name,
// and every call has an id of its own or is answered by order.
func TestFormats(t *testing.T) {
	for _, f := range slices.Concat(fixtures, sessions) {
		t.Run(f.format+"/"+f.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), f.name)
			if err := os.WriteFile(path, []byte(f.content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := recognised(t, f.content); got != f.format {
				t.Errorf("recognised as %q, want %q", got, f.format)
			}
			want := f.want
			if want == "" {
				want = theRun
			}
			for _, format := range []string{"", f.format} {
				runs, problems := Read(path, format)
				for _, p := range problems {
					t.Errorf("%q: %v", format, p)
				}
				var got strings.Builder
				for _, r := range runs {
					got.WriteString(sketchWithTokens(r))
					if r.Dropped+r.Missing+r.Late+len(r.Unread) > 0 {
						t.Errorf("%d dropped, %d missing, %d late, unread %v; want none", r.Dropped, r.Missing, r.Late, r.Unread)
					}
				}
				if diff := cmp.Diff(block(want), got.String()); diff != "" {
					t.Errorf("%q (-want +got):\n%s", format, diff)
				}
			}
		})
	}
}

// recognised returns the format of a content, "" for none.
func recognised(t *testing.T, content string) string {
	t.Helper()
	for _, rec := range split([]byte(content)) {
		if f := formatOf(&rec); f != nil {
			return f.name
		}
	}
	return ""
}

// The page of formats names all of them.
func TestFormatsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range Formats() {
		if !strings.Contains(string(page), "| `"+name+"` |") {
			t.Errorf("docs/formats.md does not name %s", name)
		}
	}
}

package trajectories

import (
	"archive/zip"
	"bytes"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sessions are the fixtures whose frame holds more than messages: sessions of command
// line agents, logs of evaluations, traces of observability services, traffic.
var sessions = []fixture{
	{"trace.json", "langfuse", `{"trace":{"id":"t1","scores":[{"name":"correctness","value":0},{"name":"tone","value":1}]},"observations":[
{"id":"4","type":"GENERATION","startTime":"2026-01-01T00:00:04Z","input":[],"output":"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Roma\\\"}\"}}]}"},
{"id":"0","type":"AGENT","startTime":"2026-01-01T00:00:00Z"},
{"id":"1","parentObservationId":"0","type":"GENERATION","startTime":"2026-01-01T00:00:01Z","model":"m-1","usageDetails":{"input":90,"output":12},"input":[{"role":"system","content":"Be brief."},{"role":"user","content":"Rain?"}],
 "output":{"object":"response","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Both."}]},{"type":"function_call","call_id":"a","name":"weather","arguments":"{\"city\":\"Oslo\"}"},{"type":"function_call","call_id":"b","name":"weather","arguments":"{\"city\":\"Rome\"}"}]}},
{"id":"2","parentObservationId":"0","type":"TOOL","name":"weather","level":"ERROR","statusMessage":"no such city","startTime":"2026-01-01T00:00:02Z","input":{"city":"Rome"},"output":null},
{"id":"3","parentObservationId":"0","type":"SPAN","name":"execute_tool weather","startTime":"2026-01-01T00:00:03Z","input":"{\"city\":\"Oslo\"}","output":"dry","metadata":{"attributes":{"gen_ai.operation.name":"execute_tool","gen_ai.tool.name":"weather"}}}]}`, ""},
	{"runs.json", "langsmith", `[{"id":"0","trace_id":"0","run_type":"chain","start_time":"2026-01-01T00:00:00","inputs":{},"child_runs":[
{"id":"1","trace_id":"0","run_type":"llm","start_time":"2026-01-01T00:00:01.5","extra":{"metadata":{"ls_model_name":"m-1"}},"inputs":{"messages":[[{"lc":1,"type":"constructor","id":["HumanMessage"],"kwargs":{"content":"Rain?"}}]]},
 "outputs":{"llm_output":{"token_usage":{"prompt_tokens":90,"completion_tokens":12}},"generations":[[{"text":"Both.","message":{"lc":1,"type":"constructor","id":["AIMessage"],"kwargs":{"content":"Both.","tool_calls":[{"id":"a","name":"weather","args":{"city":"Oslo"}},{"id":"b","name":"weather","args":{"city":"Rome"}}]}}}]]}},
{"id":"2","trace_id":"0","run_type":"tool","name":"weather","start_time":"2026-01-01T00:00:02","inputs":{"input":"{\"city\": \"Rome\"}"},"error":"no such city"},
{"id":"3","trace_id":"0","run_type":"tool","name":"weather","start_time":"2026-01-01T00:00:03","inputs":{"input":"{'city': 'Oslo'}"},"outputs":{"output":{"type":"tool","content":"dry","tool_call_id":"a"}}},
{"id":"4","trace_id":"0","run_type":"llm","start_time":"2026-01-01T00:00:04","inputs":{"messages":[]},"outputs":{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"c","function":{"name":"weather","arguments":"{\"city\":\"Roma\"}"}}]}}]}}]}]`, ""},
	{"mlflow.json", "mlflow", `{"info":{"trace_id":"t1"},"data":{"spans":[
{"span_id":"1","start_time_unix_nano":1,"name":"llm","attributes":{"mlflow.spanType":"\"CHAT_MODEL\"","mlflow.spanInputs":"{\"messages\":[{\"role\":\"user\",\"content\":\"Rain?\"}]}","mlflow.chat.tokenUsage":"{\"input_tokens\":90,\"output_tokens\":12}",
 "mlflow.spanOutputs":"{\"model\":\"m-1\",\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"Both.\",\"tool_calls\":[{\"id\":\"a\",\"function\":{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Oslo\\\"}\"}},{\"id\":\"b\",\"function\":{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Rome\\\"}\"}}]}}]}"}},
{"span_id":"2","start_time_unix_nano":2,"name":"weather","status":{"code":"STATUS_CODE_ERROR"},"attributes":{"mlflow.spanType":"\"TOOL\"","mlflow.spanInputs":"{\"city\": \"Rome\"}","mlflow.spanOutputs":"\"no such city\""}},
{"span_id":"3","start_time_unix_nano":3,"name":"weather","attributes":{"mlflow.spanType":"\"TOOL\"","mlflow.spanInputs":"{\"city\": \"Oslo\"}","mlflow.spanOutputs":"\"dry\""}},
{"span_id":"4","start_time_unix_nano":4,"name":"llm","attributes":{"mlflow.spanType":"\"LLM\"","mlflow.spanOutputs":"{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"weather\",\"arguments\":\"{\\\"city\\\":\\\"Roma\\\"}\"}}]}"}}]}}`, ""},
	{"log.json", "inspect", `{"version":2,"status":"success","eval":{"model":"m-1"},"samples":[{"id":"s","epoch":2,"scores":{"includes":{"value":"I"}},"attachments":{"h1":"Rain?"},"messages":[
{"role":"user","content":"attachment://h1"},
{"role":"assistant","content":"Both.","tool_calls":[{"id":"a","function":"weather","arguments":{"city":"Oslo"}},{"id":"b","function":"weather","arguments":{"city":"Rome"}}]},
{"role":"tool","tool_call_id":"a","function":"weather","content":"dry"},
{"role":"tool","tool_call_id":"b","function":"weather","content":"no such city","error":{"type":"unknown","message":"no such city"}},
{"role":"assistant","content":"","tool_calls":[{"id":"c","function":"weather","arguments":{"city":"Roma"}}]}]}]}`, withoutTokens(theRun)},
	{"pool.json", "inspect", `{"version":2,"status":"success","eval":{"model":"m-1"},"samples":[{"id":"s","messages":[],"message_pool":[
{"role":"user","content":"Rain?"},
{"role":"assistant","content":"Both.","tool_calls":[{"id":"a","function":"weather","arguments":{"city":"Oslo"}},{"id":"b","function":"weather","arguments":{"city":"Rome"}}]},
{"role":"tool","tool_call_id":"a","content":"dry"},{"role":"tool","tool_call_id":"b","content":"no such city","error":{"type":"unknown","message":"x"}}],
"events":[{"event":"model","input":[],"input_refs":[[0,1]],"output":{"choices":[]}},
{"event":"model","input":[],"input_refs":[[0,2],[2,4]],"output":{"choices":[{"message":{"role":"assistant","content":"","tool_calls":[{"id":"c","function":"weather","arguments":{"city":"Roma"}}]}}]}},{"event":"state"}]}]}`, withoutTokens(theRun)},
	{"session.json", "gemini-cli", `{"sessionId":"s1","projectHash":"h","messages":[
{"id":"1","type":"user","content":"Rain?"},
{"id":"2","type":"gemini","model":"m-1","content":"Both.","tokens":{"input":90,"output":12},"toolCalls":[
 {"id":"a","name":"weather","args":{"city":"Oslo"},"status":"success","result":[{"functionResponse":{"id":"a","response":{"output":"dry"}}}]},
 {"id":"b","name":"weather","args":{"city":"Rome"},"status":"error","result":[{"functionResponse":{"id":"b","response":{"error":"no such city"}}}]}]},
{"id":"3","type":"info","content":"Request cancelled."},
{"id":"4","type":"gemini","content":"","toolCalls":[{"id":"c","name":"weather","args":{"city":"Roma"},"status":"executing"}]}]}`, ""},
	{"session.jsonl", "gemini-cli", `{"sessionId":"s1","projectHash":"h","kind":"main"}
{"id":"1","type":"user","content":[{"text":"Rain?"}]}
{"id":"2","type":"gemini","content":"Both.","toolCalls":[{"id":"a","name":"weather","args":{"city":"Oslo"},"status":"executing"}]}
{"$set":{"lastUpdated":"x"}}
{"$set":{"messages":[{"id":"2","type":"gemini","content":"Both.","tokens":{"input":90,"output":12},"toolCalls":[{"id":"a","name":"weather","args":{"city":"Oslo"},"status":"success","resultDisplay":"dry"},{"id":"b","name":"weather","args":{"city":"Rome"},"status":"error","resultDisplay":"no such city"}]}]}}
{"id":"4","type":"gemini","content":"","toolCalls":[{"id":"c","name":"weather","args":{"city":"Roma"},"status":"scheduled"}]}
`, ""},
	{"events.jsonl", "copilot-cli", `{"type":"session.start","data":{"sessionId":"s1","selectedModel":"m-1"}}
{"type":"user.message","data":{"content":"Rain?"}}
{"type":"assistant.message","data":{"content":"Both.","inputTokens":90,"outputTokens":12,"toolRequests":[{"toolCallId":"a","name":"weather","arguments":{"city":"Oslo"}}]}}
{"type":"tool.execution_start","data":{"toolCallId":"a","toolName":"weather","arguments":{}}}
{"type":"tool.execution_start","data":{"toolCallId":"b","toolName":"weather","arguments":{"city":"Rome"}}}
{"type":"tool.execution_complete","data":{"toolCallId":"a","success":true,"result":{"content":"dry"}}}
{"type":"tool.execution_complete","data":{"toolCallId":"b","success":false,"error":{"message":"no such city"}}}
{"type":"assistant.message","data":{"content":"","toolRequests":[{"toolCallId":"c","name":"weather","arguments":"{\"city\":\"Roma\"}"}]}}
`, ""},
	{"wire.jsonl", "kimi", `{"type":"metadata","protocol_version":"1.4"}
{"type":"context.append_message","message":{"role":"user","content":[{"type":"text","text":"Rain?"}],"toolCalls":[]}}
{"type":"context.append_loop_event","event":{"type":"content.part","part":{"type":"think","think":"hm"}}}
{"type":"context.append_loop_event","event":{"type":"content.part","part":{"type":"text","text":"Both."}}}
{"type":"context.append_loop_event","event":{"type":"tool.call","toolCallId":"a","name":"weather","args":{"city":"Oslo"}}}
{"type":"context.append_loop_event","event":{"type":"tool.call","toolCallId":"b","name":"weather","args":{"city":"Rome"}}}
{"type":"context.append_loop_event","event":{"type":"step.end","usage":{"inputOther":10,"inputCacheRead":80,"inputCacheCreation":0,"output":12}}}
{"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"a","result":{"output":"dry"}}}
{"type":"context.append_loop_event","event":{"type":"tool.result","toolCallId":"b","result":{"output":"no such city","isError":true}}}
{"type":"context.append_loop_event","event":{"type":"tool.call","toolCallId":"c","name":"weather","args":{"city":"Roma"}}}
`, ""},
	{"wire.jsonl", "kimi", `{"timestamp":1,"message":{"type":"TurnBegin","payload":{"user_input":"Rain?"}}}
{"timestamp":2,"message":{"type":"ContentPart","payload":{"type":"text","text":"Both."}}}
{"timestamp":3,"message":{"type":"ToolCall","payload":{"id":"a","function":{"name":"weather","arguments":"{\"city\":"}}}}
{"timestamp":3,"message":{"type":"ToolCallPart","payload":{"arguments_part":"\"Oslo\"}"}}}
{"timestamp":3,"message":{"type":"ToolCall","payload":{"id":"b","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}}}
{"timestamp":4,"message":{"type":"ToolResult","payload":{"tool_call_id":"a","return_value":{"is_error":false,"output":"dry"}}}}
{"timestamp":4,"message":{"type":"ToolResult","payload":{"tool_call_id":"b","return_value":{"is_error":true,"output":"no such city"}}}}
{"timestamp":5,"message":{"type":"ToolCall","payload":{"id":"c","function":{"name":"weather","arguments":"{\"city\":\"Roma\"}"}}}}
`, withoutTokens(theRun)},
	{"events.jsonl", "openhands-v1", strings.Join(openHandsEventsV1, "\n"), withoutTokens(theRun)},
	{"run.json", "atif", `{"schema_version":"ATIF-v1.6","session_id":"s1","agent":{"model_name":"m-1"},"steps":[
{"step_id":1,"source":"system","message":"Be brief."},{"step_id":2,"source":"user","message":"Rain?"},
{"step_id":3,"source":"agent","message":"Both.","metrics":{"prompt_tokens":90,"completion_tokens":12},"tool_calls":[{"tool_call_id":"a","function_name":"weather","arguments":{"city":"Oslo"}},{"tool_call_id":"b","function_name":"weather","arguments":{"city":"Rome"}}],
 "observation":{"results":[{"source_call_id":"b","content":"no such city"},{"source_call_id":"a","content":"dry"}]}},
{"step_id":4,"source":"agent","message":"","tool_calls":[{"tool_call_id":"c","function_name":"weather","arguments":{"city":"Roma"}}]}]}`, strings.Replace(untold, `such city"`, `such city" 90+12`, 1)},
	{"completion.json", "litellm", `{"messages":[{"role":"user","content":"Rain?"},
{"role":"assistant","content":"Both.","tool_calls":[{"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"b","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]},
{"role":"tool","tool_call_id":"a","content":"dry"},{"role":"tool","tool_call_id":"b","content":"no such city"}],
"response":{"id":"r","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":"","tool_calls":[{"id":"c","function":{"name":"weather","arguments":"{\"city\":\"Roma\"}"}}]}}]}}`, untold},
	{"answers.json", "gemini-recorded", `{"method":"generateContentStream","response":[{"candidates":[{"content":{"role":"model","parts":[{"text":"Both."}]}}]},{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"weather","args":{"city":"Oslo"}}}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":90,"candidatesTokenCount":12}}]}`,
		"\nuser \"\"\n  turn \"Both.\" weather({\"city\":\"Oslo\"})=? 90+12\n"},
	{"traffic.har", "har", harOf(
		`{"model":"m-1","messages":[{"role":"user","content":"Rain?"}]}`,
		`{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":"Both.","tool_calls":[{"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"b","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]}}],"usage":{"prompt_tokens":90,"completion_tokens":12}}`,
		`{"model":"m-1","messages":[{"role":"user","content":"Rain?"},{"role":"assistant","content":"Both.","tool_calls":[{"id":"a","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}},{"id":"b","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}]},{"role":"tool","tool_call_id":"a","content":"dry"},{"role":"tool","tool_call_id":"b","content":"no such city"}]}`,
		`{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"content":null,"tool_calls":[{"id":"c","function":{"name":"weather","arguments":"{\"city\":\"Roma\"}"}}]}}]}`),
		strings.Replace(untold, `such city"`, `such city" 90+12`, 1)},
	{"export.json", "opencode", `{"info":{"id":"s1"},"messages":[
{"info":{"id":"m1","role":"user"},"parts":[{"id":"p1","type":"text","text":"Rain?"}]},
{"info":{"id":"m2","role":"assistant","modelID":"m-1"},"parts":[{"id":"p2","type":"step-start"},{"id":"p3","type":"reasoning","text":"hm"},{"id":"p4","type":"text","text":"Both."},
 {"id":"p5","type":"tool","callID":"a","tool":"weather","state":{"status":"completed","input":{"city":"Oslo"},"output":"dry"}},{"id":"p6","type":"tool","callID":"b","tool":"weather","state":{"status":"error","input":{"city":"Rome"},"error":"no such city"}},
 {"id":"p7","type":"step-finish","tokens":{"input":90,"output":12}}]},
{"info":{"id":"m3","role":"assistant"},"parts":[{"id":"p8","type":"tool","callID":"c","tool":"weather","state":{"status":"running","input":{"city":"Roma"}}}]}]}`, ""},
	{"server.json", "opencode", `[{"type":"session.updated","properties":{"info":{"id":"s1"}}},
{"type":"message.updated","properties":{"info":{"id":"m1","role":"user"}}},{"type":"message.part.updated","properties":{"part":{"id":"p1","messageID":"m1","type":"text","text":"Rain?"}}},
{"type":"message.updated","properties":{"info":{"id":"m2","role":"assistant"}}},{"type":"message.part.updated","properties":{"part":{"id":"p4","messageID":"m2","type":"text","text":"Bo"}}},
{"type":"message.part.updated","properties":{"part":{"id":"p4","messageID":"m2","type":"text","text":"Both."}}},
{"type":"message.part.updated","properties":{"part":{"id":"p5","messageID":"m2","type":"tool","callID":"a","tool":"weather","state":{"status":"pending","input":{}}}}},
{"type":"message.part.updated","properties":{"part":{"id":"p5","messageID":"m2","type":"tool","callID":"a","tool":"weather","state":{"status":"completed","input":{"city":"Oslo"},"output":"dry"}}}},
{"type":"message.part.updated","properties":{"part":{"id":"p6","messageID":"m2","type":"tool","callID":"b","tool":"weather","state":{"status":"error","input":{"city":"Rome"},"error":"no such city"}}}},
{"type":"message.part.updated","properties":{"part":{"id":"p7","messageID":"m2","type":"step-finish","tokens":{"input":90,"output":12}}}},
{"type":"message.updated","properties":{"info":{"id":"m3","role":"assistant"}}},
{"type":"message.part.updated","properties":{"part":{"id":"p8","messageID":"m3","type":"tool","callID":"c","tool":"weather","state":{"status":"running","input":{"city":"Roma"}}}}},
{"type":"session.idle","properties":{"sessionID":"s1"}}]`, ""},
}

// openHandsEventsV1 are the events of the run, of which two calls are of one reply.
var openHandsEventsV1 = []string{
	`{"kind":"SystemPromptEvent","source":"agent","system_prompt":{"type":"text","text":"Be brief."}}`,
	`{"kind":"MessageEvent","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"Rain?"}]}}`,
	`{"kind":"ActionEvent","source":"agent","llm_response_id":"r1","thought":[{"type":"text","text":"Both."}],"tool_name":"weather","tool_call_id":"a","tool_call":{"id":"a","name":"weather","arguments":"{\"city\":\"Oslo\"}"}}`,
	`{"kind":"ActionEvent","source":"agent","llm_response_id":"r1","thought":[],"tool_name":"weather","tool_call_id":"b","tool_call":{"id":"b","name":"weather","arguments":"{\"city\":\"Rome\"}"}}`,
	`{"kind":"ObservationEvent","source":"environment","tool_call_id":"a","observation":{"content":[{"type":"text","text":"dry"}],"is_error":false,"exit_code":0}}`,
	`{"kind":"AgentErrorEvent","source":"agent","tool_call_id":"b","error":"no such city"}`,
	`{"kind":"ConversationStateUpdateEvent","source":"environment","key":"stats","value":{}}`,
	`{"kind":"ActionEvent","source":"agent","llm_response_id":"r2","thought":[],"tool_name":"weather","tool_call_id":"c","tool_call":{"id":"c","name":"weather","arguments":"{\"city\":\"Roma\"}"}}`,
}

// harOf writes an archive of exchanges with a chat API, whose answers are in base64.
func harOf(bodies ...string) string {
	var entries []string
	for i := 0; i+1 < len(bodies); i += 2 {
		entries = append(entries, fmt.Sprintf(`{"request":{"method":"POST","url":"https://x/v1/chat/completions","postData":{"text":%q}},"response":{"status":200,"content":{"encoding":"base64","text":%q}}}`,
			bodies[i], base64.StdEncoding.EncodeToString([]byte(bodies[i+1]))))
	}
	return `{"log":{"version":"1.2","entries":[` + strings.Join(entries, ",\n") + `]}}`
}

// A run in several files is read once, with the file that leads to the others.
func TestRunsInSeveralFiles(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"openhands-v1": {},
		"opencode": {
			"session/p/ses_1.json": `{"id":"s1","projectID":"p","directory":"/"}`,
			"message/s1/2.json":    `{"id":"m1","sessionID":"s1","role":"user","time":{"created":1}}`,
			"message/s1/1.json":    `{"id":"m2","sessionID":"s1","role":"assistant","time":{"created":2}}`,
			"part/m1/1.json":       `{"id":"p1","sessionID":"s1","messageID":"m1","type":"text","text":"Rain?"}`,
			"part/m2/1.json":       `{"id":"p2","sessionID":"s1","messageID":"m2","type":"text","text":"Both."}`,
			"part/m2/2.json":       `{"id":"p3","sessionID":"s1","messageID":"m2","type":"tool","callID":"a","tool":"weather","state":{"status":"completed","input":{"city":"Oslo"},"output":"dry"}}`,
			"part/m2/3.json":       `{"id":"p4","sessionID":"s1","messageID":"m2","type":"tool","callID":"b","tool":"weather","state":{"status":"error","input":{"city":"Rome"},"error":"no such city"}}`,
			"part/m2/4.json":       `{"id":"p5","sessionID":"s1","messageID":"m2","type":"step-start"}`,
			"part/m2/5.json":       `{"id":"p6","sessionID":"s1","messageID":"m2","type":"tool","callID":"c","tool":"weather","state":{"status":"pending","input":{"city":"Roma"}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if len(files) == 0 {
				for i, e := range openHandsEventsV1 {
					files[fmt.Sprintf("event-%05d-x.json", i)] = e
				}
			}
			for path, content := range files {
				path = filepath.Join(folder, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			found, problems := Find([]string{folder})
			var runs []*Trajectory
			for _, file := range found {
				more, bad := Read(file, "")
				runs, problems = append(runs, more...), append(problems, bad...)
			}
			if got, want := sketches(runs), block(withoutTokens(theRun)); got != want {
				t.Errorf("got:\n%swant:\n%s", got, want)
			}
			for _, p := range problems {
				if p.Kind != Partly || !strings.Contains(p.Text, "which is read with") {
					t.Error(p)
				}
			}
			if len(problems) != len(files)-1 {
				t.Errorf("%d problems for %d files", len(problems), len(files))
			}
		})
	}
}

// A .eval file is a zip file with a file a sample.
func TestInspectEval(t *testing.T) {
	zipped := func(files map[string]string) string {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		for _, name := range []string{"_journal/start.json", "header.json", "samples/1_epoch_1.json", "samples/2_epoch_1.json"} {
			if content, ok := files[name]; ok {
				w, err := z.Create(name)
				if err != nil {
					t.Fatal(err)
				}
				w.Write([]byte(content))
			}
		}
		z.Close()
		return b.String()
	}
	sample := func(id int, value string) string {
		return fmt.Sprintf(`{"id":%d,"epoch":1,"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"ho"}],"scores":{"match":{"value":%s}}}`, id, value)
	}
	runs, problems := readText(t, Reader{}, "a.eval", zipped(map[string]string{"header.json": `{"version":2,"status":"success","eval":{"model":"m-1"}}`,
		"_journal/start.json": `{}`, "samples/1_epoch_1.json": sample(1, `"C"`), "samples/2_epoch_1.json": sample(2, "0.0")}))
	if len(runs) != 2 || len(problems) > 0 || runs[0].Label != Success || runs[1].Label != Failure || runs[1].Model != "m-1" || runs[1].Name != "sample=2,epoch=1" {
		t.Errorf("%d runs, problems %v", len(runs), problems)
	}
	for name, c := range map[string]struct{ content, problem string }{
		"another zip file": {zipped(map[string]string{"_journal/start.json": "{}"}), "a zip file without samples of Inspect"},
		"a broken sample":  {zipped(map[string]string{"header.json": `{"eval":{}}`, "samples/1_epoch_1.json": "{"}), "samples/1_epoch_1.json in the zip file: invalid JSON"},
		"half a zip file":  {zipped(map[string]string{"header.json": `{"eval":{}}`})[:40], "broken zip file: zip: not a valid zip file"},
	} {
		if _, problems := readText(t, Reader{}, "a.eval", c.content); len(problems) != 1 || problems[0].Text != c.problem {
			t.Errorf("%s: problems %v, want %s", name, problems, c.problem)
		}
	}
}

package serve

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

const (
	geminiWhole  = "/v1beta/models/any:generateContent"
	geminiStream = "/v1beta/models/any:streamGenerateContent?alt=sse"
	geminiTools  = `"tools":[{"functionDeclarations":[{"name":"f"},{"name":"g"}]}]`
)

// A geminiReply is a GenerateContentResponse.
type geminiReply struct {
	Candidates []struct {
		Content struct {
			Role  string
			Parts []struct {
				Text         string
				FunctionCall *struct {
					ID, Name string
					Args     json.RawMessage
				}
			}
		}
		FinishReason string
	}
	UsageMetadata *struct{ PromptTokenCount, CandidatesTokenCount, TotalTokenCount int64 }
}

// readGemini joins the replies of a stream, or reads one.
func readGemini(t *testing.T, replies ...string) (a answer) {
	t.Helper()
	for _, text := range replies {
		v := decode[geminiReply](t, text)
		if len(v.Candidates) != 1 || v.Candidates[0].Content.Role != "model" {
			t.Fatalf("not one candidate of the model: %s", text)
		}
		c := v.Candidates[0]
		a.Finish += c.FinishReason
		for _, p := range c.Content.Parts {
			a.Text += p.Text
			if f := p.FunctionCall; f != nil {
				a.Calls = append(a.Calls, loop.AskedCall{ID: f.ID, Name: f.Name, Args: string(f.Args)})
			}
		}
		if u := v.UsageMetadata; u != nil {
			a.In, a.Out, a.Ended = u.PromptTokenCount, u.CandidatesTokenCount, u.TotalTokenCount == u.PromptTokenCount+u.CandidatesTokenCount
		}
	}
	return a
}

func askGemini(t *testing.T, s *Server, path, body string) answer {
	t.Helper()
	w := post(s, path, body)
	if w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var replies []string
	if !strings.Contains(path, "stream") {
		return readGemini(t, w.Body.String())
	}
	for _, e := range parseEvents(t, w.Body.String()) {
		replies = append(replies, e.data)
	}
	return readGemini(t, replies...)
}

// Replies in the documented form, whole and streamed.
func TestGemini(t *testing.T) {
	tests := []struct {
		name string
		step fakes.Step
		want answer
	}{
		{"a text", fakes.Step{Text: "Zoë ☀ \"x\"", TokensIn: 7, TokensOut: 2}, answer{Text: "Zoë ☀ \"x\"", Finish: "STOP", In: 7, Out: 2, Ended: true}},
		{"a text and calls", fakes.Step{Text: "I look.", Calls: []fakes.StepCall{call("f", `{"a": 1}`), call("g", "")}, TokensIn: 7, TokensOut: 2},
			answer{Text: "I look.", Calls: []loop.AskedCall{{ID: "call_1_1", Name: "f", Args: `{"a": 1}`}, {ID: "call_1_2", Name: "g", Args: "{}"}}, Finish: "STOP", In: 7, Out: 2, Ended: true}},
		{"arguments of two lines", fakes.Step{Calls: []fakes.StepCall{call("f", "{\"a\":\r\n 1}")}, TokensIn: 7, TokensOut: 2},
			answer{Calls: []loop.AskedCall{{ID: "call_1_1", Name: "f", Args: `{"a":1}`}}, Finish: "STOP", In: 7, Out: 2, Ended: true}},
		{"cut off", fakes.Step{Text: "I w", Finish: "length", TokensIn: 7, TokensOut: 2}, answer{Text: "I w", Finish: "MAX_TOKENS", In: 7, Out: 2, Ended: true}},
		{"filtered", fakes.Step{Finish: "content_filter", TokensIn: 7, TokensOut: 2}, answer{Finish: "SAFETY", In: 7, Out: 2, Ended: true}},
		{"a finish reason of its own", fakes.Step{Text: "a", Finish: "RECITATION", TokensIn: 7, TokensOut: 2}, answer{Text: "a", Finish: "RECITATION", In: 7, Out: 2, Ended: true}},
		{"broken arguments", fakes.Step{Calls: []fakes.StepCall{call("f", `{"a":`)}, TokensIn: 7, TokensOut: 2}, answer{Finish: "MALFORMED_FUNCTION_CALL", In: 7, Out: 2, Ended: true}},
	}
	for _, tt := range tests {
		for _, path := range []string{geminiWhole, geminiStream, "/run/test/one/1" + geminiWhole} {
			got := askGemini(t, serveSteps(t, at(tt.step)), path, `{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],`+geminiTools+`}`)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s, %s: %s", tt.name, path, diff)
			}
		}
	}
}

// A malformed call leaves nothing in the history, so the same request again is the next
// one: whoever asks again after a call that is broken once gets the call that is not.
func TestGeminiAsksAgainAfterMalformedCalls(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Calls: []fakes.StepCall{call("f", `{"a":`)}}), at(fakes.Step{Calls: []fakes.StepCall{call("f", "{}")}}), at(fakes.Step{Text: "done"}))
	hi := `{"role":"user","parts":[{"text":"Hi"}]}`
	for i, tt := range []struct {
		more string
		want answer
	}{
		{"", answer{Finish: malformedCall, Ended: true}},
		{"", answer{Calls: []loop.AskedCall{{ID: "call_2_1", Name: "f", Args: "{}"}}, Finish: "STOP", Ended: true}},
		{`,{"role":"model","parts":[{"functionCall":{"id":"call_2_1","name":"f","args":{}}}]},{"role":"user","parts":[{"functionResponse":{"id":"call_2_1","name":"f","response":{"output":"x"}}}]}`,
			answer{Text: "done", Finish: "STOP", Ended: true}},
	} {
		got := askGemini(t, s, geminiWhole, `{"contents":[`+hi+tt.more+`],`+geminiTools+`}`)
		got.In, got.Out = 0, 0
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("request %d: %s", i+1, diff)
		}
		if e := s.Journal().Entries[i]; e.Request != i+1 || len(e.Problems) > 0 {
			t.Errorf("request %d: the journal has %+v", i+1, e)
		}
	}
}

// The history is read with and without ids of the calls, and each form of a result.
func TestGeminiHistory(t *testing.T) {
	f := []fakes.StepCall{call("f", "{}"), call("g", "{}")}
	steps := []fakes.Step{at(fakes.Step{Calls: f}), at(fakes.Step{Calls: []fakes.StepCall{call("f", `{"page":${result:c2.next}}`)}}), at(fakes.Step{When: fakes.WhenFailed, Text: "it failed"})}
	tests := []struct{ name, calls, results, text, page string }{
		{"with ids", `{"functionCall":{"id":"call_1_1","name":"f","args":{}}},{"functionCall":{"id":"call_1_2","name":"g","args":{}}}`,
			`{"functionResponse":{"id":"call_1_2","name":"g","response":{"output":"{\"next\":2}"}}},{"functionResponse":{"id":"call_1_1","name":"f","response":{"output":"x"}}}`, "", `{"page":2}`},
		{"without ids", `{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g"}}`,
			`{"functionResponse":{"name":"f","response":{"output":"x"}}},{"functionResponse":{"name":"g","response":{"next":3}}}`, "", `{"page":3}`},
		{"in snake case", `{"function_call":{"name":"f","args":{}}},{"function_call":{"name":"g"}}`,
			`{"function_response":{"name":"f","response":{"result":1}}},{"function_response":{"name":"g","response":{"result":{"next":4}}}}`, "", `{"page":4}`},
		{"failed", `{"functionCall":{"name":"f","args":{}}},{"functionCall":{"name":"g"}}`,
			`{"functionResponse":{"name":"f","response":{"error":"no such file"}}},{"functionResponse":{"name":"g","response":{"output":""}}}`, "it failed", ""},
	}
	for _, tt := range tests {
		s := serveSteps(t, steps...)
		got := askGemini(t, s, geminiWhole, `{"systemInstruction":{"parts":[{"text":"Work."}]},"contents":[{"role":"user","parts":[{"text":"Hi"}]},
			{"role":"model","parts":[{"thought":true,"text":"hm"},`+tt.calls+`]},{"role":"user","parts":[`+tt.results+`]}],`+geminiTools+`}`)
		page := ""
		if len(got.Calls) == 1 {
			page = got.Calls[0].Args
		}
		if got.Text != tt.text || page != tt.page {
			t.Errorf("%s: got %+v", tt.name, got)
		}
		if e := s.Journal().Entries[0]; e.API != "gemini" || e.Request != 2 || len(e.Problems) > 0 || len(e.Undeclared) > 0 {
			t.Errorf("%s: the journal has %+v", tt.name, e)
		}
	}
}

// Failures and refusals have Google's form.
func TestGeminiErrors(t *testing.T) {
	for status, want := range map[int]string{400: "INVALID_ARGUMENT", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"} {
		for _, path := range []string{geminiWhole, geminiStream} {
			w := post(serveSteps(t, at(fakes.Step{Text: "a", Failures: []fakes.ModelFailure{{Status: status, Text: "no", Latency: fakes.Instantly()}}})), path, `{"contents":[]}`)
			body := decode[struct {
				Error struct {
					Code            int
					Message, Status string
				}
			}](t, w.Body.String())
			if w.Code != status || body.Error.Code != status || body.Error.Message != "no" || body.Error.Status != want {
				t.Errorf("%s: %d %s", path, w.Code, w.Body)
			}
		}
	}
	s := serveSteps(t, at(fakes.Step{Text: "a", Calls: []fakes.StepCall{call("f", "{}")}}))
	for _, tt := range []struct {
		path, body string
		status     int
		want       string
	}{
		{"/v1beta/models/any:streamGenerateContent", `{"contents":[]}`, 400, "alt: must be sse"},
		{geminiWhole, `{}`, 400, "contents: must be an array, not nothing"},
		{geminiWhole, `{"contents":[{"role":"assistant"}]}`, 400, `contents[0].role: must be user or model, not \"assistant\"`},
		{geminiWhole, `{"contents":[5]}`, 400, "contents[0]: must be an object"},
		{geminiWhole, `{"contents":[{"parts":{}}]}`, 400, "contents[0].parts: must be an array"},
		{"/v1beta/models/any:embedContent", `{}`, 404, "there is no POST"},
		{geminiWhole, `{"contents":[],` + geminiTools + `,"toolConfig":{"functionCallingConfig":{"mode":"NONE"}}}`, 200, asideText},
	} {
		if w := post(s, tt.path, tt.body); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s: %d %s", tt.path, tt.body, w.Code, w.Body)
		}
	}
}

// Google's clients read how long to wait from the body: google.rpc.RetryInfo, whose
// duration is in seconds.
func TestGeminiRetryInfo(t *testing.T) {
	for wait, want := range map[time.Duration]string{0: `"status":"RESOURCE_EXHAUSTED"}}`,
		5 * sec:   `"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2.5s"}]}}`,
		400 * sec: `"retryDelay":"200s"}]}}`,
		100 * ms:  `"retryDelay":"0.05s"}]}}`} {
		step := at(fakes.Step{Text: "a", Failures: []fakes.ModelFailure{{Status: 429, Text: "no", RetryAfter: wait, Latency: fakes.Instantly()}}})
		s, err := New([]Scenario{{"test/one", &fakes.Script{Model: []fakes.Step{step}}}}, Options{Speed: 2})
		if err != nil {
			t.Fatal(err)
		}
		if w := post(s, geminiWhole, `{"contents":[]}`); !json.Valid(w.Body.Bytes()) || !strings.HasSuffix(w.Body.String(), want) {
			t.Errorf("%v: %s", wait, w.Body)
		}
	}
}

// A server may be made long before its first request.
func TestTimesBeginWithTheFirstRequest(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Text: "a"}))
	synctest.Test(t, func(t *testing.T) { // which begins in the year 2000
		for range 2 {
			post(s, geminiWhole, `{"contents":[]}`)
			time.Sleep(3 * sec)
		}
		if e := s.Journal().Entries; e[0].AtMS != 0 || e[1].AtMS != 3000 {
			t.Errorf("the requests came after %d and %d ms", e[0].AtMS, e[1].AtMS)
		}
	})
}

// Tokens are counted, models shown and texts embedded without an entry in the journal.
func TestCountModelsAndEmbeddings(t *testing.T) {
	s := serveSteps(t, at(fakes.Step{Text: "a"}))
	const ask = `{"model":"m","messages":[{"role":"user","content":"Grüße"}]}` // 60 characters
	for _, tt := range []struct{ method, path, body, want string }{
		{"POST", "/v1/messages/count_tokens", ask, `{"input_tokens":15}`},
		{"POST", "/v1beta/models/any:countTokens", `{"contents":[{"parts":[{"text":"abc"}]}]}`, `{"totalTokens":11}`}, // 41 characters
		{"GET", "/v1/models/gpt-x", "", `{"id":"gpt-x","object":"model","created":0,"owned_by":"agentbench","type":"model","display_name":"gpt-x","created_at":"1970-01-01T00:00:00Z"}`},
		{"POST", "/v1/embeddings", `{"model":"e","input":["a","b"],"dimensions":4}`, // 46 characters; 4 × 0.5² = 1
			`{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.5,0.5,0.5,0.5]},{"object":"embedding","index":1,"embedding":[0.5,0.5,0.5,0.5]}],"model":"e","usage":{"prompt_tokens":12,"total_tokens":12}}`},
	} {
		if w := send(s, tt.method, "http://localhost"+tt.path, tt.body); w.Code != 200 || w.Body.String() != tt.want {
			t.Errorf("%s: %d %s, want %s", tt.path, w.Code, w.Body, tt.want)
		}
	}
	for path, want := range map[string]string{"/v1beta/models": `{"models":[{"name":"models/test/one",`, "/v1beta/models/gemini-x": `{"name":"models/gemini-x",`} {
		if w := send(s, "GET", "http://localhost"+path, ""); w.Code != 200 || !strings.HasPrefix(w.Body.String(), want) || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	// The client of OpenAI asks for base64, by default of 1,536 numbers.
	v := decode[struct{ Data []struct{ Embedding string } }](t, post(s, "/v1/embeddings", `{"model":"e","input":"a","encoding_format":"base64"}`).Body.String())
	raw, err := base64.StdEncoding.DecodeString(v.Data[0].Embedding)
	if err != nil || len(raw) != 4*1536 {
		t.Fatalf("%v, %d bytes", err, len(raw))
	}
	if x := float64(math.Float32frombits(binary.LittleEndian.Uint32(raw))); math.Abs(x*x*1536-1) > 1e-5 {
		t.Errorf("each number is %v", x)
	}
	if j := s.Journal(); len(j.Entries) > 0 {
		t.Errorf("the journal has %+v", j.Entries)
	}
	for path, body := range map[string]string{"/v1/messages/count_tokens": `{"model":"m"}`, "/v1/embeddings": `{"input":[]}`} {
		if w := post(s, path, body); w.Code != 400 {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}

package telemetry_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/telemetry"
	"github.com/agentbench-go/agentbench/loop"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A run: a request that fails once, a call that is tried twice, one with broken
// arguments, an answer.
const session = `   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s failure m1 status=503
   2.000s tick
          > ask m1#2 for=reply to=1
   3.000s reply m1#2 text=Look. call=a:read("{}") call=b:read("{") finish=tool_calls in=10 out=5
          > call c1#1 name=read args="{}"
   3.500s result c1#1 code=RetryableServer text="token: abcdefgh1234"
   4.500s tick
          > call c1#2 name=read args="{}"
   5.000s result c1#2 code=NotFound text="mail ann@example.org"
          > put c1 code=NotFound text="Error: after 2 attempts: mail ann@example.org"
          > put c2 code=InvalidInput why=invalid text="Error: no"
          > ask m2#1 for=reply to=4
   7.000s reply m2 text=Done. finish=stop in=20 out=2
          > halt stop=done end=DONE reason="The model answered." answer=Done. turns=2 model_calls=3 asked=2 calls=1 tries=2 errors=1 invalid=1 in=30 out=7 elapsed=7s
`

func parse(t *testing.T, text string) loop.Trace {
	t.Helper()
	trace, err := loop.ParseTrace(text)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func TestEvents(t *testing.T) {
	cfg := loop.Off()
	cfg.Limits.Turns, cfg.Time.Run = 16, 2*time.Minute
	var b bytes.Buffer
	if err := telemetry.WriteEvents(&b, telemetry.Events("t1", cfg, loop.PlannerNative, parse(t, session))); err != nil {
		t.Fatal(err)
	}
	// Latencies: reply 1 from the second try at 2 s to 3 s; call 1 from 3 s to
	// 5 s with its retry; reply 2 from 5 s to 7 s.
	line := func(turn int, role, intent, rest, next string, latency, in, out int) string {
		return fmt.Sprintf(`{"trace_id":"t1/1","turn":%d,"role":%q,"intent":%q,%s"policy":{"max_turns":16,"time_budget_s":120},`+
			`"outcome":{"status":"continue","next_action":%q},"timings":{"latency_ms":%d},"tokens":{"input":%d,"output":%d}}`+"\n",
			turn, role, intent, rest, next, latency, in, out)
	}
	want := line(1, "planner", "call_tool", "", "call_tool", 1000, 10, 5) +
		line(1, "executor", "call_tool", `"tool_call":{"name":"read","args_valid":true},"tool_result":{"ok":false,"err":"NotFound","schema_ok":true},`, "call_tool", 2000, 0, 0) +
		line(1, "executor", "call_tool", `"tool_call":{"name":"read","args_valid":false},"tool_result":{"ok":false,"err":"InvalidInput","schema_ok":true},`, "call_tool", 0, 0, 0) +
		line(2, "planner", "stop", "", "stop", 2000, 20, 2) +
		strings.NewReplacer(`"continue"`, `"DONE"`, `"next_action":"stop"`, `"next_action":""`).Replace(line(2, "planner", "stop", "", "stop", 7000, 30, 7))
	if got := b.String(); got != want {
		t.Errorf("events\ngot\n%swant\n%s", got, want)
	}
}

// TestEventsOfPlanner: each action has its own intent, a reply that is no action is
// no turn, and the second run of a session has its own trace id and turns.
func TestEventsOfPlanner(t *testing.T) {
	session := strings.ReplaceAll(`   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 text=Hm. finish=stop
          > note m1 event=bad-action text="it is no JSON object"
          > put u2 text="Your reply was not taken as an action"
          > ask m2#1 for=reply to=3
   2.000s reply m2 text=~{"action": "replan", "subgoals": ["a"]}~ finish=stop
          > ask m3#1 for=reply to=4
   3.000s reply m3 text=~{"action": "call_tool", "name": "gone", "args": {}}~ finish=stop
          > put c1 code=NotFound why=unknown text=~Error: Unknown tool: "gone".~
          > ask m4#1 for=reply to=6
   4.000s reply m4 text=~{"action": "ask_user", "question": "Which?"}~ finish=stop
          > ask q1 text="Which?"
   5.000s answer q1 allow text=that
          > ask m5#1 for=reply to=8
   6.000s reply m5 text=~{"action": "stop", "reason": "Done."}~ finish=stop
          > halt stop=stopped-by-model end=DONE answer=Done. turns=4 model_calls=5 elapsed=6s
   7.000s message text=more
          > ask m6#1 for=summary to=4 text="Sum up"
   8.000s reply m6 text=short finish=stop
          > drop m6
          > ask m7#1 for=reply to=3
   9.000s reply m7 text=~{"action": "stop"}~ finish=stop
          > halt stop=stopped-by-model end=DONE turns=1 model_calls=2 elapsed=2s
`, "~", "`")
	var got []string
	for _, e := range telemetry.Events("t", loop.Off(), loop.PlannerJSON, parse(t, session)) {
		tool := ""
		if e.ToolCall != nil {
			tool = " " + e.ToolCall.Name
		}
		got = append(got, fmt.Sprintf("%s %d %s %s%s", e.TraceID, e.Turn, e.Role, e.Intent, tool))
	}
	want := []string{
		"t/1 1 planner none", "t/1 1 planner replan", "t/1 2 planner call_tool", "t/1 2 executor call_tool gone",
		"t/1 3 planner ask_user", "t/1 4 planner stop", "t/1 4 planner stop",
		"t/2 1 planner none", "t/2 1 planner stop", "t/2 1 planner stop",
	}
	if !slices.Equal(got, want) {
		t.Errorf("events\ngot  %q\nwant %q", got, want)
	}
}

// TestEventsOfGaps: an answer that is turned back decides nothing and is not a turn. The
// gaps of a turn say nothing about its reply.
func TestEventsOfGaps(t *testing.T) {
	session := strings.ReplaceAll(`   0.000s started text=go
          > ask m1#1 for=reply to=1
   1.000s reply m1 text=~{"action": "stop", "reason": "Done."}~ finish=stop
          > note m1 event=gaps text="Say how many."
          > put u2 text="Not yet."
          > ask m2#1 for=reply to=3
   2.000s reply m2 text=~{"action": "call_tool", "name": "gone", "args": {}}~ finish=stop
          > put c1 code=NotFound why=unknown text=~Error: Unknown tool: "gone".~
          > note event=gaps text="gone failed"
          > put u3 text="Known gaps: gone failed"
          > ask m3#1 for=reply to=6
   3.000s reply m3 text=~{"action": "stop", "reason": "3."}~ finish=stop
          > halt stop=stopped-by-model end=DONE answer=3. turns=2 model_calls=3 elapsed=3s
`, "~", "`")
	var got []string
	for _, e := range telemetry.Events("t", loop.Off(), loop.PlannerJSON, parse(t, session)) {
		got = append(got, fmt.Sprintf("%d %s %s", e.Turn, e.Role, e.Intent))
	}
	want := []string{"1 planner none", "1 critic call_tool", "1 planner call_tool", "1 executor call_tool", "1 critic call_tool", "2 planner stop", "2 planner stop"}
	if !slices.Equal(got, want) {
		t.Errorf("events\ngot  %q\nwant %q", got, want)
	}
}

// receiver is an OTLP/HTTP endpoint that keeps what it is sent.
type receiver struct {
	mu     sync.Mutex
	bodies [][]byte
	spans  []*spans.Span
}

func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body := io.Reader(req.Body)
	if req.Header.Get("Content-Encoding") == "gzip" {
		body, _ = gzip.NewReader(req.Body)
	}
	text, err := io.ReadAll(body)
	var got collector.ExportTraceServiceRequest
	if err != nil || req.URL.Path != "/v1/traces" || proto.Unmarshal(text, &got) != nil {
		http.Error(w, "no", http.StatusBadRequest)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bodies = append(r.bodies, text)
	for _, rs := range got.ResourceSpans {
		for _, ss := range rs.ScopeSpans {
			r.spans = append(r.spans, ss.Spans...)
		}
	}
	w.Header().Set("Content-Type", "application/x-protobuf")
	answer, _ := proto.Marshal(&collector.ExportTraceServiceResponse{})
	w.Write(answer)
}

func send(t *testing.T, content bool) *receiver {
	t.Helper()
	var r receiver
	server := httptest.NewServer(&r)
	defer server.Close()
	x, err := telemetry.NewExporter(context.Background(), server.URL, 7)
	if err != nil {
		t.Fatal(err)
	}
	x.Content = content
	x.Send(context.Background(), "suite/name", parse(t, session), redactor(t))
	if err := x.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	return &r
}

func redactor(t *testing.T) func(string) string {
	t.Helper()
	r, err := secrets.New(secrets.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Text
}

func attributes(s *spans.Span) map[string]string {
	m := map[string]string{}
	for _, a := range s.Attributes {
		m[a.Key] = a.Value.String()
	}
	return m
}

func TestSpans(t *testing.T) {
	r := send(t, false)
	var lines []string
	for _, s := range r.spans {
		lines = append(lines, fmt.Sprintf("%s %d-%dms %s", s.Name, s.StartTimeUnixNano/1e6, s.EndTimeUnixNano/1e6, attributes(s)["error.type"]))
	}
	slices.Sort(lines)
	want := []string{
		`chat 0-1000ms string_value:"RetryableServer"`,
		"chat 2000-3000ms ",
		"chat 5000-7000ms ",
		`execute_tool read 3000-5000ms string_value:"NotFound"`,
		"invoke_agent suite/name 0-7000ms ",
	}
	if !slices.Equal(lines, want) {
		t.Errorf("spans\ngot  %q\nwant %q", lines, want)
	}
	for _, s := range r.spans {
		for key := range attributes(s) {
			if key == "gen_ai.tool.call.arguments" || key == "gen_ai.tool.call.result" {
				t.Errorf("%s holds %s without being asked", s.Name, key)
			}
		}
	}
}

func TestSpansAreTheSameTwice(t *testing.T) {
	if a, b := send(t, true), send(t, true); !slices.EqualFunc(a.bodies, b.bodies, bytes.Equal) {
		t.Error("two exports of one trace differ")
	}
}

// Nothing secret goes over the wire, wherever in the trace it stands: in names,
// arguments, results, errors and the reason of the end (email-1 is in a result).
func TestSpansAreRedacted(t *testing.T) {
	secret := []string{"gh" + "p_" + strings.Repeat("a1B2c3D4e5F6", 3), "4111 1111 " + "1111 1111", "+1 415 555 " + "2671", "gl" + "pat-" + "a1B2c3D4e5F6g7H8i9J0",
		"-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEpAIBAAKCAQEA7bq1\n-----END RSA PRIVATE " + "KEY-----", "correct horse battery", "bob@" + "corp.io", "ey" + "JhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl"}
	trace := parse(t, session)
	for i := range trace {
		if in := &trace[i].In; len(in.Calls) > 0 {
			in.Finish = "stop " + secret[7]
		}
		for j := range trace[i].Effects {
			switch e := &trace[i].Effects[j]; {
			case e.Kind == loop.CallTool:
				e.Name, e.Args = "broken_"+secret[0], `{"password":"`+secret[5]+`","card":"`+secret[1]+`"}`
			case e.Kind == loop.Put:
				e.Text = "call " + secret[2] + " or " + secret[3] + " " + secret[4]
			case e.Kind == loop.Halt:
				e.Outcome.End, e.Outcome.Reason = loop.StopModelFailed.EndState(), "it said "+secret[6]
			}
		}
	}
	var r receiver
	server := httptest.NewServer(&r)
	defer server.Close()
	x, err := telemetry.NewExporter(context.Background(), server.URL, 7)
	if err != nil {
		t.Fatal(err)
	}
	x.Content = true
	x.Send(context.Background(), "suite/name", trace, redactor(t))
	if err := x.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	sent := string(bytes.Join(r.bodies, nil))
	for _, s := range secret {
		if strings.Contains(sent, s) {
			t.Errorf("%q was sent", s)
		}
	}
	for _, want := range []string{`{"password":"[secret-1]","card":"[card-1]"}`, "call [phone-1] or [gitlab-pat-1] [private-key-1]", "it said [email-2]", "execute_tool broken_[github-pat-1]"} {
		if !strings.Contains(sent, want) {
			t.Errorf("%q was not sent:\n%q", want, sent)
		}
	}
}

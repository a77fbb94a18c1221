package audit

import (
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

var testTools = []loop.ToolSpec{
	{Name: "read"},
	{Name: "write", Permission: loop.AskBatch},
	{Name: "ask", Permission: loop.AskCall},
	{Name: "idem", Idempotent: loop.Idempotent},
	{Name: "agent", SubRun: true},
	{Name: "rated", Rate: loop.Rate{Calls: 2, Per: 10 * time.Second}},
	{Name: "fragile", Fallback: "idem"},
	{Name: "pay", Idempotent: loop.NotIdempotent, Fallback: "idem"},
	{Name: "picky", Input: "path", Timeout: 5 * time.Second, Retries: -1},
}

// A goodTrace is a trace that keeps every promise under its config, which is
// the default one but for what change does to it and the task.
type goodTrace struct {
	change func(*loop.Config, *loop.Task)
	text   string // see parse
}

// parse reads a trace whose lines are not aligned and have ' for a back
// quote.
func parse(t *testing.T, text string) loop.Trace {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(text) {
		line = strings.ReplaceAll(strings.TrimSpace(line), "'", "`")
		if strings.HasPrefix(line, ">") {
			b.WriteString(strings.Repeat(" ", 10))
		} else {
			b.WriteString(strings.Repeat(" ", max(0, 9-strings.Index(line, " "))))
		}
		b.WriteString(line + "\n")
	}
	trace, err := loop.ParseTrace(b.String())
	if err != nil {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return trace
}

var goodTraces = map[string]goodTrace{
	// A timeout, a transient failure, a late answer, and a second run. The
	// waits are 1 s × 1 from 31.5 s and 1 s × 2 from 32.6 s.
	"retry": {nil, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 text=look call=a:read("{}") finish=tool_calls in=5 out=2 cost=7
		> call c1#1 name=read args="{}"
		31.000s tick
		> cancel c1#1 text=timeout
		31.500s result c1#1 code=Cancelled text=cancelled
		32.500s tick
		> call c1#2 name=read args="{}"
		32.600s result c1#2 code=RetryableServer text=503
		33.000s result c1#1 ok text=late
		> note c1#1 event=ignored
		34.600s tick
		> call c1#3 name=read args="{}"
		35.000s result c1#3 ok text=fine
		> put c1 text=fine
		> ask m2#1 for=reply to=3
		36.000s reply m2 text=done finish=stop in=9 out=1 cost=7
		> halt stop=done end=DONE answer=done turns=2 model_calls=2 asked=1 calls=1 tries=3 in=14 out=3 cost=14 elapsed=36s
		37.000s result c1#3 ok
		> note c1#3 event=ignored
		40.000s message text=more
		> ask m3#1 for=reply to=5
		41.000s reply m3 text=bye finish=stop
		> halt stop=done end=DONE answer=bye turns=1 model_calls=1 elapsed=1s`},

	// Gates, places, and calls that are denied, unknown and invalid.
	"batch": {func(c *loop.Config, _ *loop.Task) { c.Parallel.Max = 2 }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		2.000s reply m1 call=a:write('{"n":1}') call=b:ask("{}") call=c:write('{"n":2}') call=d:read("") call=e:nope("{}") call=f:read("[") call=a:" read "("{}") finish=tool_calls
		> note c7 event=trimmed-name text=read
		> note c7 event=replaced-id text=call_7
		> gate g1 of=c1 name=write args='{"n":1}'
		3.000s gate g1 allow
		> gate g2 of=c2 name=ask args="{}"
		4.000s gate g2 deny text=no
		> call c1#1 name=write args='{"n":1}'
		> call c3#1 name=write args='{"n":2}'
		5.000s result c3#1 ok text=three
		> call c4#1 name=read args="{}"
		6.000s result c1#1 ok text=one
		> call c7#1 name=read args="{}"
		6.500s result c4#1 ok text=four
		7.000s result c7#1 ok text=seven
		> put c1 text=one
		> put c2 code=Forbidden why=denied text=no
		> put c3 text=three
		> put c4 text=four
		> put c5 code=NotFound why=unknown text=nope
		> put c6 code=InvalidInput why=invalid text=bad
		> put c7 text=seven
		> ask m2#1 for=reply to=9
		8.000s reply m2 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=2 model_calls=2 asked=7 calls=4 tries=4 denied=1 invalid=2 elapsed=8s`},

	// c2 repeats c1, and after a broken stream c3 does.
	"repeats": {func(c *loop.Config, _ *loop.Task) { c.ModelRetry.Max = 1 }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read('{"n":1}') call=a:read('{ "n":1.0}') finish=tool_calls
		> note c2 event=repeated-call text=c1
		> call c1#1 name=read args='{"n":1}'
		2.000s result c1#1 ok text=one
		> put c1 text=one
		> ask m2#1 for=reply to=3
		3.000s delta m2 text=x
		3.000s failure m2 text=reset
		> note m2#1 event=broken-stream
		4.000s tick
		> ask m2#2 for=reply to=3
		5.000s reply m2#2 text="I look." call=a:read('{"n":1}') finish=tool_calls
		> note c3 event=repeated-call text=c1
		> drop m2
		> note m2 event=empty-reply
		> ask m3#1 for=reply to=3
		6.000s reply m3 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=2 model_calls=4 asked=1 calls=1 tries=1 elapsed=6s`},

	// Two failing turns and one that is not; read with a = 1 in two turns.
	"errors": {nil, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") call=b:idem("{}") finish=tool_calls
		> call c1#1 name=read args="{}"
		> call c2#1 name=idem args="{}"
		1.500s result c1#1 code=NotFound text=no
		2.000s result c2#1 ok text="Error: no"
		> put c1 code=NotFound text="Error: no"
		> put c2 text="Error: no"
		> ask m2#1 for=reply to=4
		3.000s reply m2 call=c:read('{"a":1}') finish=tool_calls
		> call c3#1 name=read args='{"a":1}'
		4.000s result c3#1 code=ToolBug text=bad
		> put c3 code=ToolBug text=bad
		> ask m3#1 for=reply to=6
		5.000s reply m3 call=d:read("{}") call=e:read('{"a": 1.0}') finish=tool_calls
		> call c4#1 name=read args="{}"
		> call c5#1 name=read args='{"a": 1.0}'
		6.000s result c4#1 code=NotFound text=no
		6.500s result c5#1 ok text=yes
		> put c4 code=NotFound text=no
		> put c5 text=yes
		> ask m4#1 for=reply to=9
		7.000s reply m4 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=4 model_calls=4 asked=5 calls=5 tries=5 errors=4 elapsed=7s`},

	// One try ends well in the grace, one is abandoned, one call never starts.
	"run-deadline": {func(c *loop.Config, _ *loop.Task) { c.Time.Run, c.Parallel.Max = 10*time.Second, 2 }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") call=b:idem("{}") call=c:write("{}") finish=tool_calls
		> gate g1 of=c3 name=write args="{}"
		2.000s gate g1 allow
		> call c1#1 name=read args="{}"
		> call c2#1 name=idem args="{}"
		10.000s tick
		> cancel c1#1 text=deadline
		> cancel c2#1 text=deadline
		11.000s result c1#1 ok text=late
		12.000s tick
		> note c2#1 event=abandoned
		> put c1 text=late
		> put c2 code=Cancelled text=cancelled
		> put c3 why=not-started text=over
		> halt stop=run-deadline end=BUDGET_EXCEEDED incomplete turns=1 model_calls=1 asked=3 calls=2 tries=2 errors=1 vetoed=1 elapsed=12s`},

	"model-at-deadline": {func(c *loop.Config, _ *loop.Task) { c.Time.Run = 2 * time.Second }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		2.000s tick
		> cancel m1#1 text=deadline
		> halt stop=run-deadline end=BUDGET_EXCEEDED incomplete model_calls=1 elapsed=2s`},

	"cancel": {nil, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s delta m1 text=x
		2.000s cancel
		> cancel m1#1 text=cancelled
		> halt stop=cancelled end=CANCELLED incomplete model_calls=1 elapsed=2s`},

	// The waits are 1 s and 2 s after timeouts, the server's 4 s after the 429
	// and 2 s after the 503, the second failure of its request.
	"stream": {func(c *loop.Config, _ *loop.Task) {
		c.Time.FirstToken, c.Time.Chunk, c.Time.Model = 5*time.Second, 3*time.Second, 20*time.Second
		c.ModelRetry.Max = 2
	}, `0.000s started text=go
		> ask m1#1 for=reply to=1
		5.000s tick
		> cancel m1#1 text=first-token
		6.000s tick
		> ask m1#2 for=reply to=1
		8.000s delta m1#2 text=He
		11.000s tick
		> cancel m1#2 text=chunk
		> note m1#2 event=broken-stream
		13.000s tick
		> ask m1#3 for=reply to=1
		14.000s reply m1#3 text=hello finish=stop
		> halt stop=done end=DONE answer=hello turns=1 model_calls=3 elapsed=14s
		20.000s message text=more
		> ask m2#1 for=reply to=3
		21.000s failure m2 status=429 retry_after=4s text=slow
		25.000s tick
		> ask m2#2 for=reply to=3
		26.000s failure m2#2 status=503 text=down
		28.000s tick
		> ask m2#3 for=reply to=3
		29.000s failure m2#3 status=500 text=down
		> halt stop=model-failed end=MODEL_FAILED incomplete model_calls=3 elapsed=9s`},

	// What the user says while an empty reply comes is in the next request.
	"steered": {nil, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s steer text=quick
		> note event=steered
		2.000s reply m1 finish=stop
		> drop m1
		> note m1 event=empty-reply
		> put u2 text=quick
		> ask m2#1 for=reply to=2
		3.000s reply m2 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=1 model_calls=2 elapsed=3s`},

	"unusable": {nil, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 text=" " finish=stop
		> drop m1
		> note m1 event=empty-reply
		> ask m2#1 for=reply to=1
		2.000s reply m2 text=half finish=length
		> note m2 event=cut-reply
		> put u2 text="It was cut off."
		> ask m3#1 for=reply to=3
		3.000s reply m3 text=done finish=stop
		> halt stop=done end=DONE answer=done turns=1 model_calls=3 elapsed=3s`},

	// The first call of m1 is dropped; m2 is the answer although the limit came first.
	"dropped": {func(c *loop.Config, _ *loop.Task) {
		c.Contracts.BrokenArgs, c.Limits.Turns, c.Limits.AtLimit = loop.BrokenDropped, 1, loop.LimitGrace
	}, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{") call=b:read("{}") finish=tool_calls
		> note c1 event=dropped-call text=read
		> call c2#1 name=read args="{}"
		2.000s result c2#1 ok text=1
		> put c2 text=1
		> ask m2#1 for=grace to=3
		3.000s reply m2 text=done finish=stop
		> halt stop=done end=DONE answer=done turns=1 model_calls=2 asked=1 calls=1 tries=1 elapsed=3s`},

	// The answer of m1 breaks both constraints, that of m3 none: since m2 a call that
	// matches has succeeded, and no call of idem has run after it.
	"goal": {func(c *loop.Config, t *loop.Task) {
		c.ModelRetry.GapReplies, t.Critic = 1, loop.RuleCritic{}
		t.Constraints = []loop.Constraint{{Text: "Read 7.", Called: "read", With: "7", After: "idem"}, {Text: "Be sure.", Omits: "maybe"}}
	}, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:idem("{}") finish=tool_calls
		> call c1#1 name=idem args="{}"
		2.000s result c1#1 ok text=1
		> put c1 text=1
		> ask m2#1 for=reply to=3
		3.000s reply m2 text=maybe finish=stop
		> note m2 event=gaps text="Read 7. Be sure."
		> put u2 text="Not yet."
		> ask m3#1 for=reply to=5
		4.000s reply m3 call=b:read(7) call=c:read('{"n":7}') finish=tool_calls
		> call c3#1 name=read args='{"n":7}'
		5.000s result c3#1 ok text=7
		> put c2 code=InvalidInput why=invalid text="Error: no object"
		> put c3 text=7
		> ask m4#1 for=reply to=8
		6.000s reply m4 text=sure finish=stop
		> halt stop=done end=DONE answer=sure turns=3 model_calls=4 asked=3 calls=2 tries=2 invalid=1 elapsed=6s`},

	// Six messages are three too many, and the three oldest but the first go.
	"trim": {func(c *loop.Config, _ *loop.Task) { c.History.MaxMessages = 3 }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") call=b:idem("{}") finish=tool_calls
		> call c1#1 name=read args="{}"
		> call c2#1 name=idem args="{}"
		2.000s result c1#1 ok text=1
		2.500s result c2#1 ok text=2
		> put c1 text=1
		> put c2 text=2
		> ask m2#1 for=reply to=4
		3.000s reply m2 call=c:read('{"n":1}') finish=tool_calls
		> call c3#1 name=read args='{"n":1}'
		4.000s result c3#1 ok text=3
		> put c3 text=3
		> drop m1
		> drop c1
		> drop c2
		> note event=trimmed
		> ask m3#1 for=reply to=3
		5.000s reply m3 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=3 model_calls=3 asked=3 calls=3 tries=3 elapsed=5s`},

	// Five characters in six bytes.
	"size": {func(c *loop.Config, _ *loop.Task) { c.History.MaxResultChars = 4 }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") finish=tool_calls
		> call c1#1 name=read args="{}"
		2.000s result c1#1 ok text="héllo"
		> note c1 event=truncated
		> put c1 text="héll [cut]"
		> ask m2#1 for=reply to=3
		3.000s reply m2 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=2 model_calls=2 asked=1 calls=1 tries=1 elapsed=3s`},

	"call-limit": {func(c *loop.Config, _ *loop.Task) { c.Limits.Calls = 1 }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") call=b:idem("{}") finish=tool_calls
		> call c1#1 name=read args="{}"
		2.000s result c1#1 ok text=1
		> put c1 text=1
		> put c2 why=refused text=limit
		> halt stop=call-limit end=BUDGET_EXCEEDED incomplete turns=1 model_calls=1 asked=2 calls=1 tries=1 vetoed=1 elapsed=2s`},

	// The second turn is vetoed, and is the second failing one too.
	"breaker": {func(c *loop.Config, _ *loop.Task) {
		c.Errors.MaxConsecutive = 2
		c.Detectors[0].Do[0].At = 2
	}, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") finish=tool_calls
		> call c1#1 name=read args="{}"
		2.000s result c1#1 code=NotFound text=no
		> put c1 code=NotFound text=no
		> ask m2#1 for=reply to=3
		3.000s reply m2 call=b:read("") finish=tool_calls
		> put c2 why=vetoed text=again
		> note event=also-stopped text=error-limit
		> halt stop=circuit-breaker end=LOOP_DETECTED incomplete turns=2 model_calls=2 asked=2 calls=1 tries=1 errors=1 vetoed=1 elapsed=3s`},

	"try-limit": {func(c *loop.Config, _ *loop.Task) { c.Limits.Tries = 2 }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") finish=tool_calls
		> call c1#1 name=read args="{}"
		2.000s result c1#1 code=RateLimited text=429
		3.000s tick
		> call c1#2 name=read args="{}"
		4.000s result c1#2 code=RateLimited text=429
		> put c1 code=RateLimited text=429
		> halt stop=try-limit end=BUDGET_EXCEEDED incomplete turns=1 model_calls=1 asked=1 calls=1 tries=2 errors=1 elapsed=4s`},

	"abandon": {func(c *loop.Config, _ *loop.Task) { c.Time.Tool = 5 * time.Second }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:idem("{}") finish=tool_calls
		> call c1#1 name=idem args="{}"
		6.000s tick
		> cancel c1#1 text=timeout
		8.000s tick
		> note c1#1 event=abandoned
		9.000s tick
		> call c1#2 name=idem args="{}"
		10.000s result c1#2 ok text=fine
		> put c1 text=fine
		> ask m2#1 for=reply to=3
		11.000s reply m2 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=2 model_calls=2 asked=1 calls=1 tries=2 elapsed=11s`},

	"last-word": {func(c *loop.Config, _ *loop.Task) { c.Limits.Turns, c.Limits.AtLimit = 1, loop.LimitFinal }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") finish=tool_calls
		> call c1#1 name=read args="{}"
		2.000s result c1#1 ok text=1
		> put c1 text=1
		> ask m2#1 for=final to=3
		3.000s reply m2 text=bye finish=stop
		> halt stop=turn-limit end=BUDGET_EXCEEDED answer=bye incomplete turns=1 model_calls=2 asked=1 calls=1 tries=1 elapsed=3s`},

	"question": {func(c *loop.Config, _ *loop.Task) { c.Limits.Turns, c.Limits.AtLimit = 1, loop.LimitAsk }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") finish=tool_calls
		> call c1#1 name=read args="{}"
		2.000s result c1#1 ok text=1
		> put c1 text=1
		> ask q1 text="Go on?"
		3.000s answer q1 allow text=yes
		> ask m2#1 for=reply to=4
		4.000s reply m2 call=b:read("{}") finish=tool_calls
		> call c2#1 name=read args="{}"
		5.000s result c2#1 ok text=1
		> put c2 text=1
		> ask q2 text="Go on?"
		6.000s answer q2 deny
		> halt stop=turn-limit end=BUDGET_EXCEEDED incomplete turns=2 model_calls=2 asked=2 calls=2 tries=2 elapsed=6s`},

	// A detector that only vetoes is taken at its word.
	"veto": {func(c *loop.Config, _ *loop.Task) { c.Detectors[0].Do[0] = detect.Rung{At: 2, Act: detect.Veto} }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read("{}") call=b:read("{}") finish=tool_calls
		> call c1#1 name=read args="{}"
		2.000s result c1#1 ok text=1
		> put c1 text=1
		> put c2 why=vetoed text=again
		> ask m2#1 for=reply to=4
		3.000s reply m2 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=2 model_calls=2 asked=2 calls=1 tries=1 vetoed=1 elapsed=3s`},

	// A hook changes the arguments, a hook vetoes the second call, a hook
	// changes the result, and one the answer.
	"hooks": {func(_ *loop.Config, t *loop.Task) {
		t.Hooks = loop.Hooks{BeforeRun: true, BeforeCall: true, AfterCall: true, AfterRun: true}
	}, `0.000s started text=go
		> gate g1 at=before-run
		1.000s gate g1 allow
		> ask m1#1 for=reply to=1
		2.000s reply m1 call=a:write('{"n":1}') call=b:read("{}") finish=tool_calls
		> gate g2 at=before-call of=c1 name=write args='{"n":1}'
		3.000s gate g2 allow args='{"n":9}'
		> gate g3 of=c1 name=write args='{"n":9}'
		4.000s gate g3 allow
		> gate g4 at=before-call of=c2 name=read args="{}"
		5.000s gate g4 deny
		> call c1#1 name=write args='{"n":9}'
		6.000s result c1#1 ok text=secret
		> gate g5 at=after-call of=c1 name=write text=secret
		7.000s gate g5 allow result=hidden
		> put c1 text=hidden
		> put c2 why=vetoed text=no
		> ask m2#1 for=reply to=4
		8.000s reply m2 text=ok finish=stop
		> gate g6 at=after-run text=ok
		9.000s gate g6 allow result=fine
		> halt stop=done end=DONE answer=fine turns=2 model_calls=2 asked=2 calls=1 tries=1 vetoed=1 elapsed=9s`},

	// The second sub-run uses 2 calls, a sub-run of its own, 30 tokens and 40 nano-dollars.
	"sub-runs": {nil, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:agent('{"n":1}') call=b:agent('{"n":2}') finish=tool_calls in=5
		> call c1#1 name=agent args='{"n":1}'
		> call c2#1 name=agent args='{"n":2}'
		2.000s result c1#1 ok text=one
		2.000s result c2#1 ok text=two in=20 out=10 cost=40 used=2 spawned=1
		> put c1 text=one
		> put c2 text=two
		> ask m2#1 for=reply to=4
		3.000s reply m2 call=c:read("{}") finish=tool_calls
		> call c3#1 name=read args="{}"
		4.000s result c3#1 ok text=three
		> put c3 text=three
		> ask m3#1 for=reply to=6
		5.000s reply m3 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=3 model_calls=3 asked=3 calls=3 sub_calls=2 spawns=3 tries=3 in=25 out=10 cost=40 elapsed=5s`},

	// Two calls at 1 s, so the third may follow at 1+10 = 11 s.
	"rate": {nil, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:rated('{"n":1}') call=b:rated('{"n":2}') call=c:rated('{"n":3}') finish=tool_calls
		> call c1#1 name=rated args='{"n":1}'
		> call c2#1 name=rated args='{"n":2}'
		2.000s result c1#1 ok text=one
		2.000s result c2#1 ok text=two
		> put c1 text=one
		> put c2 text=two
		> put c3 why=refused text=later
		> ask m2#1 for=reply to=5
		11.000s reply m2 call=d:rated('{"n":3}') finish=tool_calls
		> call c4#1 name=rated args='{"n":3}'
		12.000s result c4#1 ok text=three
		> put c4 text=three
		> ask m3#1 for=reply to=7
		13.000s reply m3 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=3 model_calls=3 asked=4 calls=3 tries=3 vetoed=1 elapsed=13s`},

	"fallback": {func(c *loop.Config, _ *loop.Task) { c.Policy.Fallbacks = true }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:fragile("{}") finish=tool_calls
		> call c1#1 name=fragile args="{}"
		2.000s result c1#1 code=ToolBug text=panic
		> note c1 event=fallback text=idem
		> call c1#2 name=idem args="{}"
		3.000s result c1#2 code=RateLimited text=429
		4.000s tick
		> call c1#3 name=idem args="{}"
		5.000s result c1#3 ok text=fine
		> put c1 by="idem#3" text=fine
		> ask m2#1 for=reply to=3
		6.000s reply m2 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=2 model_calls=2 asked=1 calls=1 tries=3 elapsed=6s`},

	// A resumed session has ended the call, and nothing may run it again.
	"lost": {func(c *loop.Config, _ *loop.Task) {
		c.Policy.Fallbacks, c.Retry.Codes = true, loop.Codes()[1:]
	}, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:pay("{}") finish=tool_calls
		> call c1#1 name=pay args="{}"
		2.000s result c1#1 code=Cancelled text=lost
		> put c1 code=Cancelled text="Error: lost"
		> ask m2#1 for=reply to=3
		6.000s reply m2 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=2 model_calls=2 asked=1 calls=1 tries=1 errors=1 elapsed=6s`},

	// The tool's schema asks for a path; its own time is 5 s, and it has no
	// retries.
	"picky": {func(c *loop.Config, t *loop.Task) { c.Contracts.Input, t.Schemas = true, fields{} }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:picky("{}") call=b:picky('{"path":"x"}') finish=tool_calls
		> call c2#1 name=picky args='{"path":"x"}'
		6.000s tick
		> cancel c2#1 text=timeout
		6.500s result c2#1 code=Cancelled
		> put c1 code=InvalidInput why=invalid text="missing: path"
		> put c2 code=Timeout text=timeout
		> ask m2#1 for=reply to=4
		7.000s reply m2 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=2 model_calls=2 asked=2 calls=1 tries=1 errors=1 invalid=1 elapsed=7s`},

	// A summary takes the second place, for m1 and c1.
	"summary": {func(c *loop.Config, _ *loop.Task) { c.History.CompactAt = 4 }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 call=a:read('{"n":1}') finish=tool_calls
		> call c1#1 name=read args='{"n":1}'
		2.000s result c1#1 ok text=one
		> put c1 text=one
		> ask m2#1 for=reply to=3
		3.000s reply m2 call=b:read('{"n":2}') finish=tool_calls
		> call c2#1 name=read args='{"n":2}'
		4.000s result c2#1 ok text=two
		> put c2 text=two
		> ask m3#1 for=summary to=2 text="Sum up."
		5.000s reply m3 text="1 is one." finish=stop
		> drop m3
		> drop m1
		> drop c1
		> put u2 to=2 text="1 is one."
		> note u2 event=compacted
		> ask m4#1 for=reply to=4
		6.000s reply m4 text=ok finish=stop
		> halt stop=done end=DONE answer=ok turns=3 model_calls=4 asked=2 calls=2 tries=2 elapsed=6s`},

	"planner": {func(_ *loop.Config, t *loop.Task) { t.Planner = loop.PlannerJSON }, `0.000s started text=go
		> ask m1#1 for=reply to=1
		1.000s reply m1 text='{"action":"call_tool","name":"read","args":{"n":1}}'
		> note c1 event=replaced-id text=call_1
		> call c1#1 name=read args='{"n":1}'
		2.000s result c1#1 ok text=one
		> put c1 text='{"summary":"one"}'
		> ask m2#1 for=reply to=3
		3.000s reply m2 text=hm
		> note m2 event=bad-action text="no JSON"
		> put u2 text="One JSON action, please."
		> ask m3#1 for=reply to=5
		4.000s reply m3 text='{"action":"stop","reason":"enough"}'
		> halt stop=stopped-by-model end=DONE answer=enough turns=2 model_calls=3 asked=1 calls=1 tries=1 elapsed=4s`},
}

package audit

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

func (a goodTrace) setting() (loop.Config, loop.Task) {
	cfg, task := loop.Default(), loop.Task{Text: "go"}
	if a.change != nil {
		a.change(&cfg, &task)
	}
	return cfg, task
}

func found(vs []Violation) string {
	var b strings.Builder
	for _, v := range vs {
		fmt.Fprintf(&b, " %s@%d", v.Rule, v.Line)
	}
	return strings.TrimSpace(b.String())
}

func list(vs []Violation) string {
	var b strings.Builder
	for _, v := range vs {
		b.WriteString("\n\t" + v.String())
	}
	return b.String()
}

func TestGood(t *testing.T) {
	for name, good := range goodTraces {
		t.Run(name, func(t *testing.T) {
			trace := parse(t, good.text)
			cfg, task := good.setting()
			if vs := Check(cfg, task, testTools, trace); len(vs) > 0 {
				t.Errorf("found %s", list(vs))
			}
			// A session may break off at any time, after any input.
			for n := range trace {
				if vs := Check(cfg, task, testTools, trace[:n]); len(vs) > 0 {
					t.Errorf("the first %d records: found %s", n, list(vs))
				}
			}
		})
	}
}

// brokenTraces are good traces with a minimal edit, of the trace (an old text
// and a new one, in turn) or of the config that it is held to. want lists every
// violation as rule@line; the first is the one that the row is about.
var brokenTraces = []struct {
	good   string
	change func(*loop.Config, *loop.Task)
	edits  []string
	want   string
}{
	{"retry", nil, []string{"started text=go", "started text=stop"}, "first-input@1"},
	{"retry", nil, []string{"0.000s started text=go", "0.000s message text=go"}, "first-input@1"},
	{"retry", nil, []string{"37.000s", "35.500s"}, "time@20"},
	{"retry", nil, []string{"> ask m3#1", "> ask m4#1", "reply m3", "reply m4"}, "number@23"},
	{"retry", nil, []string{"> ask m2#1", "> cancel c1#1 text=again\n> ask m2#1"}, "number@17"},
	{"lost", nil, []string{"> put c1 code=Cancelled text=\"Error: lost\"", "> note c1 event=fallback text=idem\n> call c1#2 name=idem args=\"{}\"\n3.000s result c1#2 ok text=fine\n> put c1 by=\"idem#2\" text=fine", "tries=1 errors=1", "tries=2"}, "as-asked@7 retry@7"},
	{"lost", nil, []string{"> put c1 code=Cancelled text=\"Error: lost\"", "3.000s tick\n> call c1#2 name=pay args=\"{}\"\n3.000s result c1#2 ok text=fine\n> put c1 text=fine", "tries=1 errors=1", "tries=2"}, "retry@7"},
	{"batch", nil, []string{"> gate g2", "> gate g3", "gate g2", "gate g3"}, "number@8"},
	{"retry", nil, []string{"> call c1#3 name=read", "> call c1#3 name=idem"}, "as-asked@14 retry@14"},
	{"batch", nil, []string{`> call c3#1 name=write args='{"n":2}'`, `> call c3#1 name=write args='{"n":3}'`}, "as-asked@11"},

	{"retry", nil, []string{"> note c1#1 event=ignored\n", ""}, "ignored@11"},
	{"retry", nil, []string{"> note c1#1 event=ignored", "> note c1#1 event=ignored\n> note event=nudged"}, "ignored@11 outcome@20"},
	{"cancel", nil, []string{"delta m1 text=x", "delta m1 text=x\n> note m1#1 event=ignored"}, "ignored@3"},
	{"retry", nil, []string{"> note c1#3 event=ignored\n", ""}, "after-halt@20"},
	{"cancel", nil, []string{"elapsed=2s", "elapsed=2s\n> drop u1"}, "after-halt@7"},
	{"cancel", nil, []string{"elapsed=2s", "elapsed=2s\n3.000s message text=more\n> note event=ignored"}, "after-halt@7"},
	{"cancel", nil, []string{"> ask m1#1 for=reply to=1\n", "", "1.000s delta m1 text=x\n", "", "> cancel m1#1 text=cancelled\n", "", " model_calls=1", ""}, "progress@1"},
	{"batch", nil, []string{"> note c7 event=trimmed-name text=read\n", ""}, "events@3"},
	{"retry", nil, []string{"> put c1", "> note c1 event=truncated\n> put c1"}, "events@16"},

	// Early, late, out of order, twice, missing.
	{"batch", nil, []string{"> put c1 text=one\n", "", "> call c7#1", "> put c1 text=one\n> call c7#1"}, "results@15"},
	{"retry", nil, []string{"> put c1", "35.500s tick\n> put c1"}, "progress@15 results@17"},
	{"batch", nil, []string{"> put c3 text=three\n", "", "> put c5", "> put c3 text=three\n> put c5"}, "results@20 history@25"},
	{"size", nil, []string{"> ask m2#1 for=reply to=3", "> put c1 text=again\n> ask m2#1 for=reply to=4"}, "results@8 history@9"},
	{"retry", nil, []string{"> put c1 text=fine\n", "", "> ask m2#1 for=reply to=3", "> ask m2#1 for=reply to=2", "m3#1 for=reply to=5", "m3#1 for=reply to=4"}, "results@16 history@16"},

	{"batch", nil, []string{"why=invalid", "why=unknown"}, "why@23"},
	{"call-limit", nil, []string{"why=refused", "why=vetoed"}, "why@7"},
	{"run-deadline", nil, []string{"code=Cancelled", "code=Timeout"}, "result-code@15"},
	{"batch", nil, []string{"code=Forbidden why", "code=Unauthorized why"}, "result-code@19"},
	{"size", nil, []string{"héll [cut]", "hél [cut]"}, "result-size@7"},
	{"size", nil, []string{"héll [cut]", "héllo [cut]"}, "result-size@7"},
	{"size", nil, []string{"> note c1 event=truncated\n", ""}, "events@5"},
	{"size", func(c *loop.Config, _ *loop.Task) { c.History.MaxResultChars = 5 }, nil, "result-size@7"},

	{"batch", nil, []string{"> note c7 event=replaced-id text=call_7\n", ""}, "call-ids@3 history@24"},
	{"retry", nil, []string{"call=a:read", `call="":read`}, "call-ids@3 history@17"},
	{"retry", nil, []string{"call=a:read(\"{}\") finish=tool_calls in=5 out=2 cost=7", "call=a:read(\"{}\") finish=tool_calls in=5 out=2 cost=7\n> note c1 event=replaced-id text=b"}, "call-ids@3"},
	{"repeats", nil, []string{"> call c1#1 name=read args='{\"n\":1}'", "> call c1#1 name=read args='{\"n\":1}'\n> call c2#1 name=read args='{ \"n\":1.0}'", "tries=1", "tries=2"}, "repeated-call@6"},
	{"repeats", nil, []string{"text=c1\n> drop", "text=c2\n> drop"}, "repeated-call@15"},
	{"repeats", nil, []string{"> note c2 event=repeated-call text=c1\n", ""}, "events@3"},
	{"repeats", nil, []string{"call=a:read('{ \"n\":1.0}')", "call=b:read('{ \"n\":1.0}')"}, "events@4 results@7 results@8 history@8 outcome@20 outcome@20"},
	{"dropped", nil, []string{"> note c1 event=dropped-call text=read\n", ""}, "events@3"},
	{"dropped", nil, []string{"> call c2#1", "> call c1#1 name=read args=\"{\"\n> call c2#1", "tries=1", "tries=2"}, "dropped-call@5"},
	{"dropped", nil, []string{"stop=done end=DONE", "stop=turn-limit end=BUDGET_EXCEEDED"}, "stop@10 outcome@10"},
	{"dropped", nil, []string{"finish=stop", "finish=length"}, "stop@10"},
	{"dropped", func(c *loop.Config, _ *loop.Task) { c.Limits.AtLimit = loop.LimitFinal }, nil, "last-word@8 stop@10"},
	{"stream", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.BrokenStreams = 1 }, nil, "model-retry@12"},
	{"steered", nil, []string{"> put u2 text=quick\n", "", "to=2", "to=1"}, "steered@4"},
	{"goal", nil, []string{"> put u2 text=\"Not yet.\"\n", "", "to=5", "to=4", "to=8", "to=7"}, "goal@8"},
	{"goal", nil, []string{"> note m2 event=gaps text=\"Read 7. Be sure.\"\n", ""}, "events@8 cut-reply@9"},
	{"goal", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.GapReplies = 0 }, nil, "goal@11"},
	{"goal", func(_ *loop.Config, t *loop.Task) { t.Constraints = nil }, nil, "events@9 stop@11 outcome@19"},
	{"goal", func(_ *loop.Config, t *loop.Task) { t.Constraints[1].Omits = "sure" }, nil, "events@18 stop@19 outcome@19"},
	{"goal", func(_ *loop.Config, t *loop.Task) { t.Constraints[0].With = "8" }, nil, "events@18 stop@19 outcome@19"},
	{"goal", func(_ *loop.Config, t *loop.Task) { t.Constraints[0].With = "^7" }, nil, "events@18 stop@19 outcome@19"},
	{"goal", func(_ *loop.Config, t *loop.Task) { t.Constraints[0].After = "read" }, nil, "events@18 stop@19 outcome@19"},
	{"trim", nil, []string{"> drop c1\n", "", "m3#1 for=reply to=3", "m3#1 for=reply to=4"}, "history@18 trimming@18"},
	{"retry", nil, []string{"to=5", "to=4"}, "asked-with@23"},
	{"trim", func(c *loop.Config, _ *loop.Task) { c.History.MaxMessages = 6 }, nil, "trimming@15 trimming@16 trimming@17"},
	{"trim", func(c *loop.Config, _ *loop.Task) { c.History.KeepLast = 5 }, nil, "trimming@15 trimming@16 trimming@17"},
	{"trim", func(c *loop.Config, _ *loop.Task) { c.History.KeepFirst = false }, nil, "trimming@10 trimming@19"},
	{"trim", nil, []string{"> drop m1\n> drop c1\n> drop c2\n> note event=trimmed\n> ask m3#1 for=reply to=3", "> ask m3#1 for=reply to=6"}, "trimming@15 trimming@15 trimming@15"},

	{"unusable", nil, []string{"> drop m1\n", "", "m2#1 for=reply to=1", "m2#1 for=reply to=2", "m3#1 for=reply to=3", "m3#1 for=reply to=4"}, "empty-reply@3 history@5"},
	{"unusable", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.EmptyReplies, c.ModelRetry.CutReplies = 0, 0 }, nil, "empty-reply@6 cut-reply@10"},
	{"unusable", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.EmptyReplies = 0 }, nil, "empty-reply@6"},
	{"unusable", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.EmptyReplies = 0 }, []string{"2.000s reply m2 text=half finish=length\n> note m2 event=cut-reply\n> put u2 text=\"It was cut off.\"\n> ask m3#1 for=reply to=3\n3.000s reply m3", "3.000s reply m2", "model_calls=3", "model_calls=2"}, "empty-reply@6"},
	{"unusable", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.CutReplies = 1 }, nil, "cut-reply@10"},
	{"unusable", nil, []string{"> put u2 text=\"It was cut off.\"\n", "", "to=3", "to=2"}, "cut-reply@7"},
	{"retry", nil, []string{"> ask m2#1 for=reply to=3", "> put u2 text=hint\n> ask m2#1 for=reply to=4", "to=5", "to=6"}, "cut-reply@17"},
	{"size", nil, []string{"a:read(", "a:nope(", "c1#1 name=read", "c1#1 name=nope"}, "executable@4"},
	{"size", nil, []string{`a:read("{}")`, `a:read("[]")`, `args="{}"`, `args="[]"`}, "executable@4"},

	{"batch", nil, []string{`g1 of=c1 name=write args='{"n":1}'`, `g1 of=c3 name=write args='{"n":2}'`}, "permission@6"},
	{"batch", nil, []string{"> call c1#1 name=write args='{\"n\":1}'\n", "", "> gate g2", "> call c1#1 name=write args='{\"n\":1}'\n> gate g2"}, "permission@8"},
	{"retry", nil, []string{"> call c1#1", "> gate g1 of=c1 name=read args=\"{}\"\n1.000s gate g1 allow\n> call c1#1"}, "permission@4"},
	{"size", nil, []string{"a:read(", "a:write(", "c1#1 name=read", "c1#1 name=write"}, "permission@4"},
	{"batch", nil, []string{"g1 allow", "g1 deny"}, "permission@10 permission@11"},
	{"batch", func(c *loop.Config, _ *loop.Task) { c.Parallel.Max = 1 }, nil, "parallel@11 parallel@13 parallel@15"},
	{"batch", func(c *loop.Config, _ *loop.Task) { c.Parallel.Max = 3 }, nil, "parallel@13 parallel@15"},
	{"errors", nil, []string{"> call c1#1 name=read args=\"{}\"\n> call c2#1 name=idem args=\"{}\"", "> call c2#1 name=idem args=\"{}\"\n> call c1#1 name=read args=\"{}\""}, "parallel@4"},

	{"retry", func(c *loop.Config, _ *loop.Task) { c.Limits.Turns = 1 }, nil, "turn-limit@17"},
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Limits.Turns = 3 }, nil, "turn-limit@23"},
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Limits.Steps = 6 }, nil, "turn-limit@23 stop@25"},
	{"question", func(c *loop.Config, _ *loop.Task) { c.Limits.AtLimit = loop.LimitStop }, nil, "last-word@7 turn-limit@9 last-word@14 stop@16"},
	{"last-word", nil, []string{"for=final", "for=grace"}, "last-word@7"},
	{"last-word", func(c *loop.Config, _ *loop.Task) { c.Limits.AtLimit = loop.LimitStop }, nil, "last-word@7"},
	{"call-limit", func(c *loop.Config, _ *loop.Task) { c.Limits.AtLimit = loop.LimitFinal }, nil, "last-word@8"},
	{"batch", func(c *loop.Config, _ *loop.Task) { c.Limits.Calls = 4 }, nil, "call-limit@15 call-limit@25"},
	{"batch", func(c *loop.Config, _ *loop.Task) { c.Limits.Asked = 6 }, nil, "asked-limit@15 asked-limit@25"},
	{"batch", func(c *loop.Config, _ *loop.Task) { c.Limits.CallsPerTurn = 4 }, nil, "calls-per-turn@15"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Limits.Tokens = 6 }, nil, "token-limit@4 token-limit@17"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Limits.CostUSD = 6e-9 }, nil, "cost-limit@4 cost-limit@17"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Limits.Tries = 2 }, nil, "try-limit@14"},
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Detectors[0].Do[0].At = 2 }, nil, "detector@17 detector@18 detector@23"},
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Errors.MaxConsecutive = 2 }, nil, "error-limit@15"},
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Errors.MaxConsecutive, c.Errors.Trip = 1, loop.TripExceeded }, nil, "error-limit@15"},
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Errors.Batch = loop.BatchAny }, nil, "error-limit@23"},
	{"errors", func(c *loop.Config, _ *loop.Task) {
		c.Errors.MaxConsecutive, c.Errors.Kinds = 1, []loop.ErrorKind{loop.KindException}
	}, nil, "error-limit@15"},
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Errors.MaxConsecutive, c.Errors.TextPrefix = 1, "" }, nil, "error-limit@15 outcome@25"},

	{"abandon", nil, []string{"6.000s", "5.750s", "8.000s", "7.750s", "9.000s", "8.750s"}, "tool-deadline@6"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Time.Tool = 29 * time.Second }, nil, "tool-deadline@6"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Time.Tool = 200 * time.Millisecond }, nil, "tool-deadline@6 tool-deadline@15"},
	{"abandon", func(c *loop.Config, _ *loop.Task) { c.Time.Grace = 3 * time.Second }, nil, "abandoned@8"},
	{"abandon", nil, []string{"8.000s tick\n> note c1#1 event=abandoned", "8.000s result c1#1 code=Cancelled"}, "abandoned@7"},
	{"abandon", nil, []string{"> note c1#1 event=abandoned\n9.000s", "8.500s result c1#1 code=Cancelled\n9.500s"}, "abandoned@8"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Retry.Max = 1 }, nil, "retry@14"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Retry.Codes = []loop.Code{loop.Timeout} }, nil, "retry@14"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Retry.Timeouts = false }, nil, "retry@9"},
	{"abandon", nil, []string{"a:idem(", "a:read(", "c1#1 name=idem", "c1#1 name=read", "c1#2 name=idem", "c1#2 name=read"}, "retry@10"},
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Retry.Codes = []loop.Code{loop.ToolBug} }, nil, "results@14 retry@14"},
	{"retry", nil, []string{"34.600s", "34.500s"}, "retry-wait@14"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Retry.Cap = 1500 * time.Millisecond }, nil, "retry-wait@14"},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Retry.Backoff = loop.Constant }, nil, "retry-wait@14"},
	{"retry", func(c *loop.Config, _ *loop.Task) {
		c.Retry.Backoff, c.Retry.Base = loop.FullJitter, 900*time.Millisecond
	}, nil, "retry-wait@9 retry-wait@14"},

	{"stream", nil, []string{"5.000s tick", "4.500s tick", "6.000s", "5.500s"}, "model-deadline@4"},
	{"stream", func(c *loop.Config, _ *loop.Task) { c.Time.Model = 4 * time.Second }, nil, "model-deadline@4 model-deadline@9"},
	{"stream", func(c *loop.Config, _ *loop.Task) { c.Time.Chunk = 0 }, nil, "model-deadline@9"},
	{"cancel", func(c *loop.Config, _ *loop.Task) { c.Time.FirstToken = time.Second }, nil, "model-deadline@3"},
	{"stream", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.Max = 1 }, nil, "model-retry@12 model-retry@22"},
	{"stream", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.Statuses = []string{"429"} }, nil, "model-retry@6 model-retry@12 model-retry@22"},
	{"stream", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.MaxWait = 3 * time.Second }, nil, "events@17 model-retry@19"},
	{"stream", nil, []string{"25.000s", "24.000s"}, "model-retry-wait@19"},
	{"stream", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.Backoff = loop.Linear }, nil, ""},

	{"model-at-deadline", nil, []string{"> halt", "> ask m2#1 for=reply to=1\n> halt", "model_calls=1", "model_calls=2"}, "run-deadline@5"},
	{"model-at-deadline", nil, []string{"> cancel m1#1 text=deadline\n", ""}, "run-deadline@3"},
	{"run-deadline", nil, []string{"> cancel c2#1 text=deadline\n", ""}, "run-deadline@8 abandoned@12"},
	{"run-deadline", nil, []string{"12.000s", "13.000s", "=12s", "=13s"}, "abandoned@13 run-deadline@17"},
	{"run-deadline", func(c *loop.Config, _ *loop.Task) { c.Time.PauseForUser = true }, nil, "tool-deadline@9 tool-deadline@10"},
	{"cancel", nil, []string{"> halt", "> ask m2#1 for=reply to=1\n> halt", "model_calls=1", "model_calls=2"}, "cancel@6"},
	{"cancel", nil, []string{"> cancel m1#1 text=cancelled\n", ""}, "cancel@4"},

	{"retry", nil, []string{"stop=done end=DONE answer=done", "stop=turn-limit end=BUDGET_EXCEEDED answer=done incomplete"}, "stop@19"},
	{"breaker", func(c *loop.Config, _ *loop.Task) { c.Detectors[0].Do[0].At = 3 }, nil, "why@9 stop@11"},
	{"cancel", nil, []string{"2.000s cancel", "2.000s cancel cause=ceiling"}, "stop@6"},
	{"stream", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.Max = 3 }, nil, "stop@24"},
	{"cancel", nil, []string{"end=CANCELLED", "end=DONE"}, "end-state@6"},
	{"retry", nil, []string{"turns=2", "turns=1"}, "outcome@19"},
	{"retry", nil, []string{"tries=3", "tries=1"}, "outcome@19"},
	{"retry", nil, []string{"elapsed=36s", "elapsed=35s"}, "outcome@19"},
	{"retry", nil, []string{"answer=done", "answer=look"}, "outcome@19"},
	{"batch", nil, []string{"invalid=2", "invalid=3"}, "outcome@27"},
	{"batch", nil, []string{"denied=1", "denied=2"}, "outcome@27"},
	{"errors", nil, []string{"errors=4", "errors=3"}, "outcome@25"},
	{"breaker", nil, []string{"incomplete ", ""}, "outcome@11"},
	{"breaker", nil, []string{"> note event=also-stopped text=error-limit\n", ""}, "also-stopped@10"},
	{"breaker", func(c *loop.Config, _ *loop.Task) { c.Errors.MaxConsecutive = 3 }, nil, "also-stopped@10"},

	{"hooks", nil, []string{`g1 at=before-run`, `g1 at=after-run`}, "permission@1 permission@20"},
	{"hooks", func(_ *loop.Config, t *loop.Task) { t.Hooks.BeforeRun = false }, nil, "permission@1"},
	{"hooks", func(_ *loop.Config, t *loop.Task) { t.Hooks.AfterCall = false }, nil, "permission@14"},
	{"hooks", func(_ *loop.Config, t *loop.Task) { t.Hooks.AfterRun = false }, nil, "permission@20"},
	{"hooks", nil, []string{`c1#1 name=write args='{"n":9}'`, `c1#1 name=write args='{"n":1}'`}, "as-asked@12"},
	{"hooks", nil, []string{`g3 of=c1 name=write args='{"n":9}'`, `g3 of=c1 name=write args='{"n":1}'`}, "as-asked@8"},
	{"hooks", nil, []string{"> gate g5 at=after-call of=c1 name=write text=secret\n7.000s gate g5 allow result=hidden\n", "", "gate g6", "gate g5", "gate g6", "gate g5"}, "permission@14"},
	{"hooks", nil, []string{"> gate g6 at=after-run text=ok\n9.000s gate g6 allow result=fine\n", "", "answer=fine", "answer=ok", "elapsed=9s", "elapsed=8s"}, "permission@20"},
	{"hooks", nil, []string{"answer=fine", "answer=ok"}, "outcome@22"},
	{"hooks", nil, []string{"why=vetoed", "why=denied"}, "why@17"},
	{"sub-runs", func(c *loop.Config, _ *loop.Task) { c.Limits.Spawns = 1 }, nil, "sub-runs@5 sub-runs@10"},
	{"sub-runs", func(c *loop.Config, t *loop.Task) { c.Limits.Depth, t.Depth = 2, 2 }, nil, "sub-runs@4 sub-runs@5 sub-runs@10"},
	{"sub-runs", func(c *loop.Config, _ *loop.Task) { c.Limits.Tokens = 34 }, nil, "token-limit@10 token-limit@12 token-limit@15"},
	{"sub-runs", func(c *loop.Config, _ *loop.Task) { c.Limits.Calls = 4 }, nil, "call-limit@12 call-limit@15"},
	{"sub-runs", nil, []string{"sub_calls=2 ", ""}, "outcome@17"},
	{"sub-runs", nil, []string{"spawns=3 ", "spawns=2 "}, "outcome@17"},
	{"sub-runs", nil, []string{"in=25", "in=5"}, "outcome@17"},
	{"rate", nil, []string{"11.000s", "10.000s"}, "rate@13"},
	{"fallback", func(c *loop.Config, _ *loop.Task) { c.Policy.Fallbacks = false }, nil, "as-asked@7 retry@7 as-asked@10"},
	{"fallback", nil, []string{"4.000s", "4.500s"}, "retry-wait@10"},
	{"fallback", nil, []string{"> call c1#2 name=idem", "> call c1#2 name=read"}, "as-asked@7 retry@7 as-asked@10 retry@10"},
	{"picky", nil, []string{"6.000s", "7.000s", "6.500s", "7.000s"}, "tool-deadline@6"},
	{"picky", func(c *loop.Config, _ *loop.Task) { c.Contracts.Input = false }, nil, "parallel@4 why@8 outcome@12 outcome@12"},
	{"summary", nil, []string{"> drop c1\n", "> drop c1\n> drop c2\n"}, "history@20 asked-with@20"},
	{"summary", nil, []string{"m4#1 for=reply to=4", "m4#1 for=reply to=5"}, "asked-with@19"},
	{"summary", func(c *loop.Config, _ *loop.Task) { c.History.CompactAt = 5 }, nil, "compaction@12"},
	{"summary", func(c *loop.Config, _ *loop.Task) { c.History.CompactAt = 2 }, nil, "compaction@7"},
	{"summary", func(c *loop.Config, _ *loop.Task) { c.History.CompactionsWithoutGain, c.History.MinGain = 1, 0.21 }, nil, "compaction@19"}, // 5 to 4
	{"summary", nil, []string{"> halt stop=done end=DONE answer=ok", "> halt stop=compaction-thrash end=LOOP_DETECTED answer=ok incomplete"}, "compaction@21"},
	{"planner", func(c *loop.Config, _ *loop.Task) { c.ModelRetry.EmptyReplies = 0 }, nil, "empty-reply@12"},

	// Near misses: the same trace, and nothing wrong with it.
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Detectors[0].Do[0].At, c.Detectors[0].Ends = 2, detect.EndsNext }, nil, ""},
	{"errors", func(c *loop.Config, _ *loop.Task) { c.Detectors[0].Do[0].At = 3 }, nil, ""},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Limits.Turns, c.Limits.Tokens, c.Limits.Tries = 2, 17, 3 }, nil, ""},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Retry.Max, c.Retry.Cap = 2, 2*time.Second }, nil, ""},
	{"retry", func(c *loop.Config, _ *loop.Task) { c.Limits.CostUSD = 14e-9 }, nil, ""},
	{"batch", func(c *loop.Config, _ *loop.Task) { c.Limits.Asked, c.Limits.Calls, c.Limits.CallsPerTurn = 7, 5, 5 }, nil, ""},
	{"sub-runs", func(c *loop.Config, t *loop.Task) {
		c.Limits.Spawns, c.Limits.Depth, t.Depth, c.Limits.Tokens, c.Limits.Calls = 2, 2, 1, 35, 5
	}, nil, ""},
}

func TestBroken(t *testing.T) {
	fired := map[string]bool{}
	for _, tt := range brokenTraces {
		good := goodTraces[tt.good]
		text := good.text
		cfg, task := good.setting()
		for i := 0; i < len(tt.edits); i += 2 {
			lines := strings.ReplaceAll(text, "\n\t\t", "\n")
			if text = strings.Replace(lines, tt.edits[i], tt.edits[i+1], 1); text == lines {
				t.Fatalf("%s has no %q", tt.good, tt.edits[i])
			}
		}
		if tt.change != nil {
			tt.change(&cfg, &task)
		}
		vs := Check(cfg, task, testTools, parse(t, text))
		if got := found(vs); got != tt.want {
			t.Errorf("%s %q\n got %s\nwant %s%s", tt.good, tt.edits, got, tt.want, list(vs))
		}
		for _, v := range vs {
			alone := !slices.ContainsFunc(vs, func(w Violation) bool { return w.Rule != v.Rule })
			fired[v.Rule] = fired[v.Rule] || alone || v.Rule == "history" // which never breaks alone
		}
	}
	for _, r := range rules {
		if !fired[r.name] {
			t.Errorf("no broken trace for the rule %s", r.name)
		}
	}
}

func TestRulesAreDocumented(t *testing.T) {
	source, err := os.ReadFile("audit.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rules {
		if n := strings.Count(string(source), "\n//\t"+r.name+" "); n != 1 {
			t.Errorf("the rule %s stands %d times in the table at Check, want once", r.name, n)
		}
	}
}

func TestViolationString(t *testing.T) {
	v := Violation{Rule: "turn-limit", Line: 7, At: 2500 * time.Millisecond, Message: "the run goes on", Want: "a halt", Got: "a request"}
	if got, want := v.String(), "line 7 (2.5s): turn-limit: the run goes on: want a halt, got a request"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	v.Want, v.Got = "", ""
	if got, want := v.String(), "line 7 (2.5s): turn-limit: the run goes on"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWait(t *testing.T) {
	const s, ns = time.Second, time.Nanosecond
	tests := []struct {
		formula     loop.Backoff
		base, limit time.Duration
		n           int
		before      time.Duration
		lo, hi      time.Duration
	}{
		{"", 2 * s, 0, 3, -1, 6 * s, 6 * s},                               // 2 × 3
		{loop.Linear, 2 * s, 5 * s, 3, -1, 5 * s, 5 * s},                  // 6, cut
		{loop.Constant, 2 * s, 0, 9, -1, 2 * s, 2 * s},                    //
		{loop.Exponential, 2 * s, 0, 1, -1, 2 * s, 2 * s},                 // 2 × 2^0
		{loop.Exponential, 2 * s, 0, 4, -1, 16 * s, 16 * s},               // 2 × 2^3
		{loop.Exponential, 2 * s, 9 * s, 4, -1, 9 * s, 9 * s},             // cut
		{loop.Exponential, s, 0, 99, -1, longestWait, longestWait},        // 2^98 s is longer than anything
		{loop.FullJitter, 2 * s, 0, 3, -1, 0, 8 * s},                      // from 0 to 2 × 2^2
		{loop.DecorrelatedJitter, 2 * s, 0, 1, -1, 2 * s, 6 * s},          // from 2 to 3 × 2
		{loop.DecorrelatedJitter, 2 * s, 0, 2, 5 * s, 2 * s, 15*s + 3*ns}, // to 3 × 5, which was rounded down
		{loop.DecorrelatedJitter, 2 * s, 9 * s, 2, 5 * s, 2 * s, 9 * s},   // cut
		{loop.DecorrelatedJitter, 2 * s, 0, 3, -1, 2 * s, 54 * s},         // to 3^3 × 2, the wait before being unknown
		{loop.DecorrelatedJitter, 2 * s, s, 1, -1, s, s},                  // cut below the base
		{loop.Linear, 0, 0, 3, -1, 0, 0},
	}
	for _, tt := range tests {
		if lo, hi := waitRange(tt.formula, tt.base, tt.limit, tt.n, tt.before); lo != tt.lo || hi != tt.hi {
			t.Errorf("%s of %v up to %v, retry %d after %v: got %v to %v, want %v to %v", tt.formula, tt.base, tt.limit, tt.n, tt.before, lo, hi, tt.lo, tt.hi)
		}
	}
}

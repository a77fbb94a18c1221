package fakes

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
)

// audited runs a script and recounts its trace.
func audited(t *testing.T, s *Script, cfg loop.Config, seed uint64) ([]loop.Outcome, loop.Trace, error) {
	t.Helper()
	var trace loop.Trace
	outcomes, err := NewWorld(s, seed).Run(context.Background(), cfg, &trace)
	for _, v := range audit.CheckAll(s.Setup(cfg, seed), trace) {
		t.Errorf("seed %d: %+v", seed, v)
	}
	return outcomes, trace, err
}

// play runs a script to its end.
func play(t *testing.T, s *Script, cfg loop.Config) ([]loop.Outcome, loop.Trace) {
	t.Helper()
	outcomes, trace, err := audited(t, s, cfg, 1)
	if err != nil {
		t.Fatalf("%v\n%v", err, trace)
	}
	return outcomes, trace
}

// once is a script whose model asks for f once and then answers.
func once(answers ...Answer) *Script {
	s := oneTool(answers...)
	s.Task = "Do it."
	s.Model = []Step{{Calls: []StepCall{{Name: "f", Args: "{}"}}}, {Text: "Done."}}
	return s
}

// results returns the texts that the model got for its calls.
func results(trace loop.Trace) []string {
	var texts []string
	for _, r := range trace {
		for _, e := range r.Effects {
			if e.Kind == loop.Put && e.Ref.Kind == loop.RefCall {
				texts = append(texts, e.Text)
			}
		}
	}
	return texts
}

// The sequences of the seeds, under the first seed's config. A reply takes 2 s,
// an answer 200 ms.
func TestSeedSequences(t *testing.T) {
	tests := []struct {
		name   string
		script *Script
		want   loop.Outcome // End, Turns, Calls, Tries, Errors, Elapsed
		result string       // of the last call
	}{
		// 2 s, then fail, 1 s, fail, 2 s, fail, 3 s, fail: 4 × 0.2 s and 6 s of
		// waits; 2 s for the answer.
		{"four tries fail", once(Answer{Error: loop.RetryableServer, Text: "503"}),
			loop.Outcome{End: loop.Done, Turns: 2, Calls: 1, Tries: 4, Errors: 1, Elapsed: 10800 * ms},
			"Error: after 4 attempts: 503"},
		// 2 s; hang 30 s, 1 s, 503 in 0.2 s, 2 s, 200 in 0.2 s; 2 s.
		{"hang, 503, 200", once(Answer{Result: "200", Failures: []Failure{{Hang: true}, {Error: loop.RetryableServer, Text: "503"}}}),
			loop.Outcome{End: loop.Done, Turns: 2, Calls: 1, Tries: 3, Elapsed: 37400 * ms},
			"200"},
		// 5 replies of 2 s, 4 answers of 0.2 s.
		{"the same call for ever", &Script{
			Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "f"}, Answers: []Answer{{Result: "the same text"}}}},
			Model: []Step{{Repeat: Forever, Calls: []StepCall{{Name: "f", Args: `{"path":"notes.txt"}`}}}}},
			loop.Outcome{End: loop.LoopDetected, Turns: 5, Calls: 4, Tries: 4, Elapsed: 10800 * ms},
			""},
		// 3 replies of 2 s, 3 answers of 0.2 s.
		{"the same error for ever", &Script{
			Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "f"}, Answers: []Answer{{Error: loop.NotFound, Text: "no such file"}}}},
			Model: []Step{{Repeat: Forever, Calls: []StepCall{{Name: "f", Args: `{"path":"missing"}`}}}}},
			loop.Outcome{End: loop.ErrorLimit, Turns: 3, Calls: 3, Tries: 3, Errors: 3, Elapsed: 6600 * ms},
			"Error: no such file"},
		// A new call each turn: 2.2 s a turn. At 5 min = 136 × 2.2 s + 0.8 s the
		// 137th request is open.
		{"always new, always ok", &Script{
			Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "f"}, Answers: []Answer{{Result: "ok"}}}},
			Model: []Step{{Repeat: 500, Calls: []StepCall{{Name: "f", Args: `{"n":${call}}`}}}, {Text: "Done."}}},
			loop.Outcome{End: loop.BudgetExceeded, Turns: 136, Calls: 136, Tries: 136, Elapsed: 5 * time.Minute},
			"ok"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			outcomes, trace := play(t, tt.script, loop.Default())
			o := outcomes[len(outcomes)-1]
			got := loop.Outcome{End: o.End, Turns: o.Turns, Calls: o.Calls, Tries: o.Tries, Errors: o.Errors, Elapsed: o.Elapsed}
			if got != tt.want {
				t.Errorf("got  %+v\nwant %+v\n%v", got, tt.want, trace)
			}
			if all := results(trace); tt.result != "" && all[len(all)-1] != tt.result {
				t.Errorf("the last result is %q", all[len(all)-1])
			}
		})
	}
}

func TestTraceOfARetry(t *testing.T) {
	_, trace := play(t, once(Answer{Result: "200", Failures: []Failure{{Hang: true}}}), loop.Default())
	want := strings.TrimPrefix(`
   0.000s started text="Do it."
          > ask m1#1 for=reply to=1
   2.000s reply m1 call=call_1:f("{}") finish=tool_calls
          > call c1#1 name=f args="{}"
  32.000s tick
          > cancel c1#1 text=timeout
  32.000s result c1#1 code=Cancelled text=cancelled
  33.000s tick
          > call c1#2 name=f args="{}"
  33.200s result c1#2 ok text=200
          > put c1 text=200
          > ask m2#1 for=reply to=3
  35.200s reply m2 text=Done. finish=stop
`, "\n")
	if got := trace.String(); !strings.HasPrefix(got, want) {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// Two results and a denial, each answered by what the model says to it.
func TestModelReactsToResults(t *testing.T) {
	s := oneTool(Answer{Result: `{"id":"a1"}`})
	s.Tools[0].Permission = loop.AskCall
	s.Model = []Step{
		{Calls: []StepCall{{Name: "f", Args: "{}"}}},
		{Calls: []StepCall{{Name: "f", Args: `{"id":"${result:c1.id}"}`}}},
		{When: WhenDenied, Text: "You said no."},
	}
	s.User.Permissions = []PermissionAnswer{{When: map[string]any{"id": "a1"}, Deny: true, Text: "not that"}}
	outcomes, trace := play(t, s, loop.Default())
	if o := outcomes[0]; o.End != loop.Done || o.Answer != "You said no." || o.Denied != 1 || o.Calls != 1 {
		t.Errorf("got %+v\n%v", o, trace)
	}
}

// A cut reply is asked for again, and the model takes the hint.
func TestModelReactsToTheCut(t *testing.T) {
	s := model(Step{Text: "Once upon a", Finish: loop.FinishLength}, Step{When: WhenCut, Text: "Short."})
	outcomes, trace := play(t, s, loop.Default())
	if o := outcomes[0]; o.End != loop.Done || o.Answer != "Short." || o.ModelCalls != 2 {
		t.Errorf("got %+v\n%v", o, trace)
	}
}

func TestSessionOfSeveralRuns(t *testing.T) {
	s := model(Step{Text: "One."}, Step{Text: "Two."}, Step{Failures: []ModelFailure{{Status: 401}}})
	s.User.Messages = []UserMessage{{Text: "a", Wait: 10 * sec}, {Text: "b"}, {Text: "never said"}}
	outcomes, trace := play(t, s, loop.Default())
	var stops []loop.Stop
	for _, o := range outcomes {
		stops = append(stops, o.Stop)
	}
	if want := []loop.Stop{loop.StopDone, loop.StopDone, loop.StopModelFailed}; !reflect.DeepEqual(stops, want) {
		t.Errorf("got %v\n%v", stops, trace)
	}
	// 2 s, 10 s, 2 s, at once, 2 s.
	if at := trace[len(trace)-1].In.At; at != 16*sec {
		t.Errorf("it took %v", at)
	}
}

// A user who cancels in a batch: the running call acknowledges at once, and
// every call has a result.
func TestUserCancelsInABatch(t *testing.T) {
	s := oneTool(Answer{Hang: true})
	s.Model = []Step{{Calls: []StepCall{{Name: "f", Args: `{"n":1}`}, {Name: "f", Args: `{"n":2}`}, {Name: "f", Args: `{"n":3}`}}}}
	s.User.Cancel = &CancelAt{Call: 2}
	cfg := loop.Default()
	cfg.Parallel.Max = 2
	outcomes, trace := play(t, s, cfg)
	if o := outcomes[0]; o.End != loop.WasCancelled || o.Elapsed != 2*sec || o.Calls != 2 || len(results(trace)) != 3 {
		t.Errorf("got %+v\n%v", o, trace)
	}
}

// A loop without nets ends at the ceiling, whatever it hangs on.
func TestNothingStopsIt(t *testing.T) {
	hang := Answer{Hang: true}
	for _, tt := range []struct {
		name    string
		script  *Script
		elapsed time.Duration
	}{
		{"the model hangs", model(Step{Failures: []ModelFailure{{Hang: true}}}), 24 * time.Hour},
		{"the tool hangs", once(hang), 24 * time.Hour},
		{"the user is away", &Script{
			Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "f", Permission: loop.AskCall}, Answers: []Answer{{}}}},
			Model: []Step{{Calls: []StepCall{{Name: "f"}}}},
			User:  User{Permissions: []PermissionAnswer{{Hang: true}}}}, 24 * time.Hour},
		// The 1001st request comes after 1000 turns of 2.2 s.
		{"the same call for ever", &Script{
			Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "f"}, Answers: []Answer{{}}}},
			Model: []Step{{Repeat: Forever, Calls: []StepCall{{Name: "f"}}}}}, 2200 * sec},
		// The 501st reply of 10 calls would be the 5001st call: 500 turns of 2.2 s
		// and 2 s for the reply.
		{"ten calls a turn for ever", &Script{
			Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "f"}, Answers: []Answer{{}}}},
			Model: []Step{{Repeat: Forever, Calls: make10("f")}}}, 1102 * sec},
	} {
		t.Run(tt.name, func(t *testing.T) {
			outcomes, trace := play(t, tt.script, loop.Off())
			if o := outcomes[0]; o.End != loop.Ceiling || o.Elapsed != tt.elapsed {
				t.Errorf("ended as %s after %v, want %v\n%v", o.End, o.Elapsed, tt.elapsed, trace[len(trace)-1:])
			}
		})
	}
}

func make10(name string) []StepCall {
	calls := make([]StepCall, 10)
	for i := range calls {
		calls[i].Name = name
	}
	return calls
}

// A tool that ignores its cancel is abandoned after the grace, and its late
// answer changes nothing in the next run.
func TestLateAnswerInTheNextRun(t *testing.T) {
	s := once(Answer{Result: "late", Latency: exactly(40 * sec)})
	s.Tools[0].IgnoresCancel = true
	s.Model = append(s.Model, Step{Text: "Again.", Latency: exactly(20 * sec)})
	s.User.Messages = []UserMessage{{Text: "And?"}}
	outcomes, trace := play(t, s, loop.Default())
	// 2 s, 30 s, 2 s of grace, 2 s: the answer of 42 s falls into the second run
	// of 36 s to 56 s.
	if len(outcomes) != 2 || outcomes[0].Elapsed != 36*sec || outcomes[1].Elapsed != 20*sec {
		t.Fatalf("got %+v\n%v", outcomes, trace)
	}
	text := trace.String()
	if !strings.Contains(text, "42.000s result c1#1 ok text=late\n          > note c1#1 event=ignored\n") {
		t.Errorf("the late answer is not ignored:\n%s", text)
	}
}

func TestDryScript(t *testing.T) {
	s := once(Answer{})
	s.Model = s.Model[:1]
	outcomes, _, err := audited(t, s, loop.Default(), 1)
	if !errors.Is(err, loop.ErrDry) || !strings.Contains(err.Error(), "no model step for request m2 (the script has 1)") {
		t.Errorf("got %v", err)
	}
	if len(outcomes) != 1 || outcomes[0].Calls != 1 || outcomes[0].Stop != "" {
		t.Errorf("outcomes %+v", outcomes)
	}
}

func TestRunRejectsABadConfig(t *testing.T) {
	cfg := loop.Default()
	cfg.Limits.Turns = -1
	outcomes, err := NewWorld(once(Answer{}), 1).Run(context.Background(), cfg, nil)
	if err == nil || outcomes != nil {
		t.Errorf("got %v, %v", outcomes, err)
	}
}

// The same script and seed give the same trace; another seed gives another one
// exactly if the script draws.
func TestSeeds(t *testing.T) {
	fixed := once(Answer{Result: "ok"})
	drawing := once(Answer{Result: "ok ${rand:1..1000000}", Latency: Span{Min: ms, Max: sec}})
	for _, s := range []*Script{fixed, drawing} {
		texts := map[uint64]string{}
		for _, seed := range []uint64{1, 2, 1, 2} {
			_, trace, err := audited(t, s, loop.Default(), seed)
			if err != nil {
				t.Fatal(err)
			}
			text := trace.String()
			if before, again := texts[seed]; again && before != text {
				t.Errorf("seed %d gave two traces:\n%s\n%s", seed, before, text)
			}
			texts[seed] = text
		}
		if differ := texts[1] != texts[2]; differ != s.Random() {
			t.Errorf("Random is %v, but the traces differ: %v", s.Random(), differ)
		}
	}
}

// trouble is a script with something of everything, most of it drawn.
func trouble() *Script {
	some := Span{Min: ms, Max: 10 * sec}
	used := "used"
	return &Script{
		Task: "Tidy up.",
		Tools: []Tool{
			{ToolSpec: loop.ToolSpec{Name: "read", Idempotent: loop.Idempotent}, Latency: some, Answers: []Answer{
				{When: map[string]any{"n": 3}, Error: loop.NotFound, Text: "no page ${rand:1..9}"},
				{Times: 2, Result: `{"id":${rand:1..99}}`, Failures: []Failure{{Hang: true}, {Error: loop.RateLimited}}},
				{Result: `{"id":7}`, ResultChars: 50}}},
			{ToolSpec: loop.ToolSpec{Name: "delete", Permission: loop.AskCall}, IgnoresCancel: true, Latency: some, Answers: []Answer{
				{Times: 1, Result: "gone"}, {Times: 1, Hang: true}, {Result: "gone"}}},
		},
		Model: []Step{
			{Text: "I look.", Repeat: 3, Latency: some, Calls: []StepCall{{Name: "read", Args: `{"n":${rand:1..4}}`}, {Name: "read", ID: &used, Args: `{"n":${call}}`}}},
			{Text: "I act.", Chunks: 3, Latency: some, Failures: []ModelFailure{{Status: 503, Chunks: 1}},
				Calls: []StepCall{{Name: "delete", Args: `{"id":${pick:1|2}}`}, {Name: "delete", Args: `{"id":${pick:1|2}}`}, {Name: "erase"}, {Name: "read", Args: "{"}}},
			{Text: "And", Finish: loop.FinishLength},
			{When: WhenCut, Text: "on.", Calls: []StepCall{{Name: "read"}}},
			{When: WhenDenied, Text: "As you say.", Repeat: Forever},
			{},
			{Text: "Done.", Repeat: Forever, Latency: some},
		},
		User: User{
			Permissions: []PermissionAnswer{{When: map[string]any{"id": 2}, Deny: true, Text: "not that one", After: some}},
			Messages:    []UserMessage{{Text: "Go on.", Wait: sec}, {Text: "And again."}},
			Cancel:      &CancelAt{Call: 8},
		},
	}
}

// For any answers of the world, the loop keeps its promises, and APIs accept the
// history.
func TestTroubleIsAudited(t *testing.T) {
	nets := every()
	nets.ModelRetry.Max, nets.Limits.Calls, nets.Limits.CallsPerTurn, nets.Parallel.Max = 2, 7, 3, 1
	nets.Time.Model, nets.Time.Chunk, nets.History.MaxMessages = 35*sec, 10*sec, 6
	nets.Policy = loop.Policy{} // what is wrong is for the model to see
	retrying := loop.Default()
	retrying.ModelRetry.Max = 3
	stops := map[loop.Stop]int{}
	for _, cfg := range []loop.Config{loop.Off(), loop.Default(), retrying, nets} {
		for seed := range uint64(40) {
			outcomes, _, err := audited(t, trouble(), cfg, seed)
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
			stops[outcomes[len(outcomes)-1].Stop]++
		}
	}
	for _, stop := range []loop.Stop{loop.StopDone, loop.StopCancelled, loop.StopModelFailed, loop.StopCallLimit} {
		if stops[stop] == 0 {
			t.Errorf("no session ended with %s, but %v", stop, stops)
		}
	}
}

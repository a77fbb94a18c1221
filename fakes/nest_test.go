package fakes

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
	"github.com/agentbench-go/agentbench/loop/session"
)

// trip is a session with two sub-runs at once. That of flights starts one of its own
// and then never ends; that of hotels asks its user.
func trip() *Script {
	prices := Tool{ToolSpec: loop.ToolSpec{Name: "prices"}, Session: &Session{
		Model: []Step{{Text: "80 euros", TokensIn: 7, TokensOut: 3, Latency: Span{Min: time.Second}}},
	}}
	flights := Tool{ToolSpec: loop.ToolSpec{Name: "flights", Timeout: 5 * time.Second, Retries: -1}, Session: &Session{
		Tools: []Tool{prices},
		Model: []Step{
			{Calls: []StepCall{{Name: "prices", Args: "{}"}}, Latency: Span{Min: time.Second}, TokensIn: 10},
			{Failures: []ModelFailure{{Hang: true}}},
		},
	}}
	hotels := Tool{ToolSpec: loop.ToolSpec{Name: "hotels"}, Session: &Session{
		Planner: loop.PlannerJSON,
		Model: []Step{
			{Text: `{"action":"ask_user","question":"How many stars?"}`, Latency: Span{Min: time.Second}},
			{Text: `{"action":"stop","reason":"Hotel Roma."}`, Latency: Span{Min: 3 * time.Second}},
		},
	}}
	return &Script{Name: "trip", Task: "Plan the trip.", Tools: []Tool{flights, hotels},
		Model: []Step{
			{Calls: []StepCall{{Name: "flights", Args: "{}"}, {Name: "hotels", Args: `{"in":"Rome"}`}}, Latency: Span{Min: time.Second}},
			{Text: "No flight, but Hotel Roma.", Latency: Span{Min: time.Second}},
		},
		User: User{Replies: []Reply{{Text: "Four.", After: Span{Min: 2 * time.Second}}}},
	}
}

// Times: flights runs into its time-out at 1+5 = 6 s. The user answers hotels after
// 1+1+2 = 4 s, it ends 3 s later, and the last reply takes 1 s. Usage: flights read 10
// tokens, and prices 7, and wrote 3. Sub-runs: flights, hotels and prices.
func TestSubRuns(t *testing.T) {
	outcomes, trace := play(t, trip(), loop.Default())
	got := outcomes[0]
	want := loop.Outcome{Stop: loop.StopDone, End: loop.Done, Reason: got.Reason, Answer: "No flight, but Hotel Roma.", Turns: 2, ModelCalls: 2, Asked: 2,
		Calls: 2, SubAsked: 1, SubCalls: 1, Spawns: 3, Tries: 2, Errors: 1, TokensIn: 17, TokensOut: 3, Elapsed: 8 * time.Second}
	if got != want {
		t.Errorf("got  %+v\nwant %+v\n%s", got, want, trace)
	}
	for path, stop := range map[loop.Path]loop.Stop{"c1#1/": loop.StopCancelled, "c1#1/c1#1/": loop.StopDone, "c2#1/": loop.StopByModel} {
		part := trace.Of(path)
		if len(part) == 0 {
			t.Errorf("no records of %s", path)
			continue
		}
		if last := part[len(part)-1].Effects; last[len(last)-1].Outcome == nil || last[len(last)-1].Outcome.Stop != stop {
			t.Errorf("%s ends with\n%s", path, part[len(part)-1])
		}
	}
}

// At the parent's deadline, 3 s, what runs is cancelled, from the outside in, and all
// halts in that instant.
func TestSubRunsAtTheDeadline(t *testing.T) {
	cfg := loop.Default()
	cfg.Time.Run = 3 * time.Second
	outcomes, trace := play(t, trip(), cfg)
	if got := outcomes[0]; got.Stop != loop.StopRunDeadline || got.Elapsed != 3*time.Second || got.Spawns != 3 {
		t.Errorf("got %+v\n%s", got, trace)
	}
	for _, p := range trace.Subs() {
		part := trace.Of(p)
		last := part[len(part)-1]
		if n := len(last.Effects); n == 0 || last.Effects[n-1].Kind != loop.Halt || last.In.At > 3*time.Second {
			t.Errorf("%s ends with\n%s", p, last)
		}
	}
}

// Two agents that call each other go down to limits.depth, and each level hears from
// the one below.
func TestRing(t *testing.T) {
	agent := func(name, other string) Tool {
		return Tool{ToolSpec: loop.ToolSpec{Name: name}, Session: &Session{Shared: []string{other},
			Model: []Step{{Calls: []StepCall{{Name: other, Args: "{}"}}, TokensIn: 1}, {Text: "I heard ${turn}."}}}}
	}
	s := &Script{Name: "ring", Task: "Ask legal.", Tools: []Tool{agent("legal", "tech"), agent("tech", "legal")},
		Model: []Step{{Calls: []StepCall{{Name: "legal", Args: "{}"}}}, {Text: "Nobody knows."}}}
	cfg := loop.Default()
	cfg.Limits.Depth = 3
	outcomes, trace := play(t, s, cfg)
	if got := trace.Subs(); len(got) != 3 || got[2] != "c1#1/c1#1/c1#1/" {
		t.Errorf("sub-runs %q", got)
	}
	deepest := trace.Of("c1#1/c1#1/c1#1/")
	if last := deepest[len(deepest)-1].Effects; last[len(last)-1].Outcome.Stop != loop.StopDepthLimit {
		t.Errorf("the deepest ends with\n%s", deepest[len(deepest)-1])
	}
	// Three sub-runs read a token each. The deepest refused its call: two calls below.
	if got := outcomes[0]; got.Stop != loop.StopDone || got.Spawns != 3 || got.SubCalls != 2 || got.TokensIn != 3 {
		t.Errorf("got %+v\n%s", got, trace)
	}
	if err := s.Validate(); err != nil {
		t.Errorf("invalid: %v", err)
	}

	// Without a limit the harness ends it.
	outcomes, trace = play(t, s, loop.Off())
	if got := outcomes[0]; got.End != loop.Ceiling || len(trace.Subs()) != DefaultCeiling().Depth {
		t.Errorf("got %+v with %d sub-runs", got, len(trace.Subs()))
	}
}

// A sub-run may ask for, make and start what its caller's limits leave: of three one, since
// the caller's first two replies asked for two calls, which ran as sub-runs. Of two that is
// nothing, and the sub-run's first call is refused. The sub-run's own limits are higher.
func TestSubRunHasWhatIsLeft(t *testing.T) {
	own := loop.Default()
	own.Limits.Asked, own.Limits.Calls, own.Limits.Spawns = 9, 9, 9
	leaf := Tool{ToolSpec: loop.ToolSpec{Name: "leaf"}, Session: &Session{Model: []Step{{Text: "So."}}}}
	idle := Tool{ToolSpec: loop.ToolSpec{Name: "idle"}, Session: &Session{Model: []Step{{Text: "Well."}}}}
	busy := Tool{ToolSpec: loop.ToolSpec{Name: "busy"}, Session: &Session{Config: &own, Tools: []Tool{leaf},
		Model: []Step{{Calls: []StepCall{{Name: "leaf", Args: `{"n":${turn}}`}}, Repeat: Forever}}}}
	s := &Script{Name: "left", Task: "Go.", Tools: []Tool{idle, busy},
		Model: []Step{{Calls: []StepCall{{Name: "idle", Args: "{}"}}}, {Calls: []StepCall{{Name: "busy", Args: "{}"}}}, {Text: "Done."}}}
	for _, limit := range []struct {
		set  func(l *loop.Limits, n int)
		stop loop.Stop
	}{
		{func(l *loop.Limits, n int) { l.Asked = n }, loop.StopAskedLimit},
		{func(l *loop.Limits, n int) { l.Calls = n }, loop.StopCallLimit},
		{func(l *loop.Limits, n int) { l.Spawns = n }, loop.StopSpawnLimit},
	} {
		for _, left := range []int{0, 1} {
			cfg := loop.Default()
			limit.set(&cfg.Limits, 2+left)
			_, trace := play(t, s, cfg)
			if got := trace.Of("c2#1/").End(); got == nil || got.Stop != limit.stop || got.Calls != left || got.Asked != left+1 {
				t.Errorf("%s with %d left: %+v\n%s", limit.stop, left, got, trace)
			}
			if vs := audit.CheckAll(s.Setup(cfg, 1), trace); vs != nil {
				t.Errorf("%s with %d left: %v", limit.stop, left, vs)
			}
		}
	}
}

// A sub-run may spend what its caller has left: 100-30 = 70 tokens when c1 starts. It
// stops above them although its own limit is 1000.
func TestSubRunWithinTheBudget(t *testing.T) {
	own := loop.Default()
	own.Limits.Tokens = 1000
	s := once(Answer{})
	s.Tools[0].Answers = nil
	s.Tools[0].Session = &Session{Config: &own, Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "g"}, Answers: []Answer{{Result: "ok"}}}},
		Model: []Step{{Calls: []StepCall{{Name: "g", Args: `{"n":${turn}}`}}, TokensIn: 20, Repeat: Forever}}}
	s.Model[0].TokensIn = 30
	cfg := loop.Default()
	cfg.Limits.Tokens = 100
	outcomes, trace := play(t, s, cfg)
	part := trace.Of("c1#1/")
	last := part[len(part)-1].Effects
	if out := last[len(last)-1].Outcome; out == nil || out.Stop != loop.StopTokenLimit || out.TokensIn != 80 {
		t.Errorf("the sub-run ends with\n%s", part[len(part)-1])
	}
	if got := outcomes[0]; got.Stop != loop.StopTokenLimit || got.TokensIn != 110 {
		t.Errorf("got %+v\n%s", got, trace)
	}
}

// A session that broke off after any step goes on to the same trace. So does one that
// the ceiling ends in place of a reply of a sub-run, before its user gives up.
func TestSubRunsResumed(t *testing.T) {
	cfg := loop.Default()
	cfg.Time.Run = 7 * time.Second
	endless := once(Answer{})
	endless.Tools[0].Answers = nil
	endless.Tools[0].Session = &Session{Tools: []Tool{{ToolSpec: loop.ToolSpec{Name: "g"}, Answers: []Answer{{Result: "ok"}}}},
		Model: []Step{{Calls: []StepCall{{Name: "g", Args: `{"n":${turn}}`}, {Name: "g", Args: "{}"}}, Repeat: Forever}}}
	endless.Tools[0].IgnoresCancel, endless.User.Cancel = true, &CancelAt{At: 6500 * time.Millisecond}
	for name, x := range map[string]struct {
		*Script
		Ceiling
	}{"trip": {trip(), Ceiling{}}, "ceiling": {endless, Ceiling{Calls: 4}}} {
		s := x.Script
		world := func() *World {
			w := NewWorld(s, 1)
			w.Config, w.Ceiling = &cfg, x.Ceiling
			return w
		}
		var want loop.Trace
		if m, err := loop.New(cfg, s.LoopTask(1), s.Specs()); err != nil {
			t.Fatal(err)
		} else if out, err := loop.Run(context.Background(), m, loop.Recording(world(), &want)); err != nil && !errors.Is(err, io.EOF) || (out.End == loop.Ceiling) != (x.Calls > 0) {
			t.Fatalf("%s: %+v, %v", name, out, err)
		}
		for n := range want {
			m, err := loop.New(cfg, s.LoopTask(1), s.Specs())
			if err != nil {
				t.Fatal(err)
			}
			w := world()
			store := session.Memory()
			if n > 0 {
				if err := store.Append("s", want[:n]); err != nil {
					t.Fatal(err)
				}
			}
			got := slices.Clone(want[:n])
			if _, err := session.Resume(context.Background(), m, loop.Recording(session.Saving(w, store, "s"), &got), want[:n]); err != nil {
				t.Fatalf("%s after %d steps: %v", name, n, err)
			}
			if got.String() != want.String() {
				t.Fatalf("%s after %d steps:\n%s\nwant\n%s", name, n, got, want)
			}
			if saved, _ := store.Load("s"); saved.String() != want.String() {
				t.Fatalf("%s after %d steps: saved\n%s", name, n, saved)
			}
		}
	}
}

// Another script is found out by the steps of its sub-runs too.
func TestSubRunsDrift(t *testing.T) {
	s := trip()
	_, saved := play(t, s, loop.Default())
	cfg := loop.Default()
	s.Tools[0].Session.Config = &cfg
	cfg.Limits.Turns = 1
	def := loop.Default()
	m, err := loop.New(def, s.LoopTask(1), s.Specs())
	if err != nil {
		t.Fatal(err)
	}
	w := NewWorld(s, 1)
	var drift *session.DriftError
	if _, err := session.Resume(context.Background(), m, w, saved); !errors.As(err, &drift) || drift.Want.Path != "c1#1/" {
		t.Errorf("got %v", err)
	}
}

// The draws of a sub-run are its own: another call of the same tool draws others, and
// so does the session around it.
func TestSubRunsDraw(t *testing.T) {
	tool := Tool{ToolSpec: loop.ToolSpec{Name: "f"}, Session: &Session{Model: []Step{{Text: "${rand:1..1000000}"}}}}
	s := &Script{Name: "draws", Tools: []Tool{tool}, Model: []Step{{Text: "${rand:1..1000000}", Calls: []StepCall{{Name: "f", Args: "{}"}, {Name: "f", Args: "{}"}}}, {Text: "done"}}}
	_, trace := play(t, s, loop.Default())
	seen := map[string]bool{}
	for _, r := range trace {
		if r.In.Kind == loop.ModelReply {
			seen[r.In.Text] = true
		}
	}
	if len(seen) != 4 || !s.Random() {
		t.Errorf("%d texts, random %v\n%s", len(seen), s.Random(), trace)
	}
}

// Mistakes in a session are found with their place.
func TestSessionMistakes(t *testing.T) {
	s := once(Answer{Result: "x"})
	s.Tools[0].Session = &Session{Shared: []string{"f", "nope"}, Model: []Step{{Text: "a", Latency: Span{Min: -1}}}}
	err := s.Validate()
	for _, want := range []string{
		"tools[0].session cannot be combined with answers",
		"tools[0].session.shared[1] there is no tool \"nope\"",
		"tools[0].session.model[0].latency must be from 0",
	} {
		if err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), ": ", " "), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if err != nil && strings.Contains(err.Error(), "shared[0]") {
		t.Errorf("a tool may call itself: %v", err)
	}
}

// The audit recounts what is between a sub-run and its caller.
func TestSubRunsAudited(t *testing.T) {
	s := trip()
	_, trace := play(t, s, loop.Default())
	text := trace.String()
	without := func(path loop.Path) string {
		return slices.DeleteFunc(slices.Clone(trace), func(r loop.Record) bool { return r.Path == path }).String()
	}
	swapped := slices.Clone(trace) // the result of prices comes before its halt
	i := slices.IndexFunc(swapped, func(r loop.Record) bool { return r.In.Kind == loop.ToolResult })
	swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
	for _, c := range []struct{ name, text, want string }{
		{"tokens", strings.Replace(text, "text=cancelled in=17", "text=cancelled in=16", 1), "sub-usage: the result's tokens in of the sub-run: want 17, got 16"},
		{"calls", strings.Replace(text, " used=1", "", 1), "sub-usage: the result's calls of the sub-run: want 1, got 0"},
		{"sub-runs", strings.Replace(text, " spawned=1", "", 1), "sub-usage: the result's sub-runs of the sub-run: want 1, got 0"},
		{"an outcome", strings.Replace(text, "calls=1 spawns=1", "calls=1", 1), "outcome: the outcome's sub-runs: want 1, got 0"},
		{"another start", strings.Replace(text, `c2#1/ started text=`, `c2#1/ message text=`, 1), "sub-start"},
		{"another task", strings.Replace(text, "c1#1/ started text=\"{}\"", "c1#1/ started text=other", 1), "first-input"},
		{"no sub-run", without("c2#1/"), "sub-start: the sub-run did not begin"},
		{"no call", strings.ReplaceAll(text, "c1#1/c1#1/", "c1#1/c9#1/"), "sub-start: no call started the session"},
		{"too early", swapped.String(), "sub-end"},
	} {
		broken, err := loop.ParseTrace(c.text)
		if err != nil || c.text == text {
			t.Fatalf("%s: %v", c.name, err)
		}
		var found []string
		for _, v := range audit.CheckAll(s.Setup(loop.Default(), 1), broken) {
			found = append(found, v.String())
		}
		if !strings.Contains(strings.Join(found, "\n"), c.want) {
			t.Errorf("%s: want %s, got\n%s", c.name, c.want, strings.Join(found, "\n"))
		}
	}
}

package contract_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/contract"
)

// table is a config in which the table decides.
func table() loop.Config {
	cfg := contracts()
	cfg.Policy = loop.Policy{OnFailure: loop.FailureTable, Fallbacks: true, AskMissing: true}
	return cfg
}

// The fallback gets the same arguments once no retry is left. Its result says
// where it comes from: the tool, its version, and the try, which counts on.
func TestFallback(t *testing.T) {
	primary := loop.ToolSpec{Name: "search", Input: searchInput, Version: "1.0", Fallback: "mirror"}
	tests := []struct {
		name    string
		cfg     loop.Config
		version string
		first   fakes.Answer
		second  fakes.Answer
		calls   []string
		code    loop.Code
		by      string
		text    string
		stop    loop.Stop
	}{
		{name: "after retries", cfg: table(), version: "2.1", first: fails(loop.RateLimited), second: result(found),
			calls: []string{"search", "search", "mirror"}, by: "mirror@2.1#3", text: found, stop: loop.StopDone},
		{name: "at once", cfg: table(), first: fails(loop.NotFound), second: result(found),
			calls: []string{"search", "mirror"}, by: "mirror#2", text: found, stop: loop.StopDone},
		{name: "has retries too", cfg: table(), first: fails(loop.NotFound), second: fails(loop.RetryableServer),
			calls: []string{"search", "mirror", "mirror"}, code: loop.RetryableServer, by: "mirror#3", text: "Error: after 3 attempts: it went wrong", stop: loop.StopToolContract},
		{name: "not for missing rights", cfg: table(), first: fails(loop.Unauthorized), second: result(found),
			calls: []string{"search"}, code: loop.Unauthorized, by: "search@1.0#1", text: "Error: it went wrong", stop: loop.StopUnauthorized},
		{name: "not after a crash", cfg: table(), first: fails(loop.ToolBug), second: result(found),
			calls: []string{"search"}, code: loop.ToolBug, by: "search@1.0#1", text: "Error: it went wrong", stop: loop.StopToolContract},
		{name: "where the model decides", cfg: func() loop.Config { c := table(); c.Policy.OnFailure = loop.FailureModel; return c }(), first: fails(loop.NotFound), second: fails(loop.NotFound),
			calls: []string{"search", "mirror"}, code: loop.NotFound, by: "mirror#2", text: "Error: after 2 attempts: it went wrong", stop: loop.StopDone},
		{name: "off", cfg: func() loop.Config { c := table(); c.Policy.Fallbacks = false; return c }(), first: fails(loop.NotFound), second: result(found),
			calls: []string{"search"}, code: loop.NotFound, by: "search@1.0#1", text: "Error: it went wrong", stop: loop.StopDone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Retry.Max = 1
			p := play(t, tt.cfg, loop.Task{}, fakes.Script{
				Tools: []fakes.Tool{answers(primary, tt.first), answers(loop.ToolSpec{Name: "mirror", Version: tt.version}, tt.second)},
				Model: []fakes.Step{asks("search", `{"query":"x"}`), says("done")},
			})
			var names []string
			for _, e := range p.effects(loop.CallTool) {
				names = append(names, e.Name)
				equal(t, &p, "arguments", e.Args, `{"page":1,"page_size":10,"query":"x"}`)
			}
			equal(t, &p, "tools", join(names), join(tt.calls))
			put := p.put(t, 1)
			equal(t, &p, "code", put.Code, tt.code)
			equal(t, &p, "by", put.By, tt.by)
			equal(t, &p, "text", put.Text, tt.text)
			equal(t, &p, "stop", p.Stop, tt.stop)
			equal(t, &p, "calls", p.Calls, 1)
		})
	}
}

// The specification's "Ask user / repair" for a tool that itself does not accept its
// arguments: the user is asked with policy.ask_missing, and without it the model
// repairs them. Neither ends the run at once.
func TestToolRefusesItsArguments(t *testing.T) {
	refuses := fails(loop.InvalidInput)
	refuses.Times = 1
	script := fakes.Script{
		Tools: []fakes.Tool{answers(loop.ToolSpec{Name: "book"}, refuses, result("booked"))},
		Model: []fakes.Step{asks("book", `{"day":"8.13."}`), asks("book", `{"day":"13.8."}`), says("done")},
	}
	cfg := table()
	p := play(t, cfg, loop.Task{}, script)
	equal(t, &p, "stop, nobody answers", p.Stop, loop.StopNeedsUser)
	equal(t, &p, "reason", p.Reason, "book does not accept its arguments: it went wrong What should it be called with?")
	cfg.Policy.AskMissing = false
	p = play(t, cfg, loop.Task{}, script)
	p.equalCalls(t, `c1#1 book{"day":"8.13."}`, `c2#1 book{"day":"13.8."}`)
	equal(t, &p, "stop", p.Stop, loop.StopDone)
	cfg.Policy.OnFailure, cfg.Policy.AskMissing = loop.FailureModel, true
	p = play(t, cfg, loop.Task{}, script)
	equal(t, &p, "stop where the model decides", p.Stop, loop.StopDone)
}

// "Stop & alert": a crash under the table is told apart from other stops.
func TestCrashAlerts(t *testing.T) {
	for _, c := range []struct {
		on   loop.OnFailure
		code loop.Code
		want string
	}{
		{loop.FailureTable, loop.ToolBug, "The tool book failed beyond repair: ToolBug, it went wrong"},
		{loop.FailureTable, loop.Forbidden, ""},
		{loop.FailureModel, loop.ToolBug, ""},
	} {
		cfg := table()
		cfg.Policy.OnFailure = c.on
		p := play(t, cfg, loop.Task{}, fakes.Script{
			Tools: []fakes.Tool{answers(loop.ToolSpec{Name: "book"}, fails(c.code))},
			Model: []fakes.Step{asks("book", `{}`), says("done")},
		})
		alert := ""
		for _, e := range p.effects(loop.Note) {
			if e.Event == loop.EventAlert {
				alert += e.Text
			}
		}
		equal(t, &p, "alert", alert, c.want)
	}
}

// Two tools that are each other's fallback are each called once.
func TestFallbacksInACircle(t *testing.T) {
	p := play(t, table(), loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(loop.ToolSpec{Name: "first", Fallback: "second"}, fails(loop.OutputSchemaMismatch)), answers(loop.ToolSpec{Name: "second", Fallback: "first"}, fails(loop.OutputSchemaMismatch))},
		Model: []fakes.Step{asks("first", `{}`), says("never said")},
	})
	p.equalCalls(t, "c1#1 first{}", "c1#2 second{}")
	equal(t, &p, "stop", p.Stop, loop.StopToolContract)
}

// For the breaker of a tool, a call that its fallback saved failed; while the
// breaker keeps the tool disabled, the fallback is called at once.
func TestFallbackAndBreaker(t *testing.T) {
	first := loop.ToolSpec{Name: "first", Fallback: "second", Breaker: loop.ToolBreaker{Failures: 1, Cooldown: time.Minute}}
	p := play(t, table(), loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(first, fails(loop.NotFound)), answers(loop.ToolSpec{Name: "second"}, result("ok"))},
		Model: []fakes.Step{asks("first", `{}`), asks("first", `{}`), says("done")},
	})
	equal(t, &p, "the first call", p.put(t, 1).Text, "ok")
	p.equalCalls(t, "c1#1 first{}", "c1#2 second{}", "c2#1 second{}")
	equal(t, &p, "the second by", p.put(t, 2).By, "second#1")

	cfg := table()
	cfg.Policy.Fallbacks = false
	p = play(t, cfg, loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(first, result("ok"), fails(loop.NotFound)), answers(loop.ToolSpec{Name: "second"}, result("ok"))},
		Model: []fakes.Step{asks("first", `{}`), says("done")},
	})
	equal(t, &p, "stop", p.Stop, loop.StopDone)
}

// A fallback must be one that nobody has to be asked for.
func TestFallbackNeedsNoPermission(t *testing.T) {
	for _, bad := range []loop.ToolSpec{{Name: "b", Permission: loop.AskCall}, {Name: "b", SubRun: true}} {
		_, err := loop.New(table(), loop.Task{}, []loop.ToolSpec{{Name: "a", Fallback: "b"}, bad})
		if err == nil || !strings.Contains(err.Error(), "tools[0].fallback") {
			t.Errorf("%+v may be a fallback: %v", bad, err)
		}
	}
}

// Only an argument that hands a page or token back reads a page.
func TestPagesAreReadByTheirToken(t *testing.T) {
	cfg := loop.Off()
	cfg.Contracts.PageLimit = 2
	page := func(n int) fakes.Answer { return result(fmt.Sprintf(`{"next_page":%d}`, n)) }
	first, second := page(2), page(3)
	first.Times, second.Times = 1, 1
	p := play(t, cfg, loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(loop.ToolSpec{Name: "list"}, first, second, result("{}"))},
		Model: []fakes.Step{asks("list", `{}`), asks("list", `{"page":2}`), asks("list", `{"page_size":3}`), asks("list", `{"page":3.0}`), says("done")},
	})
	equal(t, &p, "another argument of that value", p.put(t, 3).Why, loop.Executed)
	equal(t, &p, "the page after the last, in another spelling", p.put(t, 4).Why, loop.Refused)
}

// A result that breaks its contract is tried with the fallback, and ends the
// run where there is none.
func TestBeyondRepair(t *testing.T) {
	cfg := table()
	cfg.Contracts.Repair = 2
	broken := result(`{"results":[{"title":"a"}]}`)
	p := play(t, cfg, loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(search, broken)}, Model: []fakes.Step{asks("search", `{"query":"x"}`), says("never said")}})
	equal(t, &p, "stop", p.Stop, loop.StopToolContract)
	equal(t, &p, "end", p.End, loop.UnrecoverableToolContract)
	equal(t, &p, "reason", p.Reason, "The tool search failed beyond repair: OutputSchemaMismatch, The result does not keep its contract: /results/0/url: required, but missing")
	equal(t, &p, "message", p.Message, "A tool that this request needs does not work. Please try again later.")
	// What a result lacks is nothing to ask the user for.
	equal(t, &p, "questions", len(p.effects(loop.AskUser)), 0)

	spec := search
	spec.Fallback = "mirror"
	p = play(t, cfg, loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(spec, broken), answers(loop.ToolSpec{Name: "mirror", Output: searchOutput}, result(found))},
		Model: []fakes.Step{asks("search", `{"query":"x"}`), says("done")},
	})
	equal(t, &p, "stop", p.Stop, loop.StopDone)
	equal(t, &p, "by", p.put(t, 1).By, "mirror#2")

	cfg.Policy.OnFailure = loop.FailureModel
	p = play(t, cfg, loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(search, broken)}, Model: []fakes.Step{asks("search", `{"query":"x"}`), says("done")}})
	equal(t, &p, "stop", p.Stop, loop.StopDone)
	equal(t, &p, "questions", len(p.effects(loop.AskUser)), 0)
}

// Missing rights end the run with what is to be done about them.
func TestUnauthorized(t *testing.T) {
	for _, status := range []int{401, 403} {
		script := fakes.Script{Tools: []fakes.Tool{answers(search, fails(loop.HTTPCode(status)))}, Model: []fakes.Step{asks("search", `{"query":"x"}`), says("done")}}
		cfg := table()
		cfg.Retry.Max, cfg.Retry.Codes = 3, loop.Codes()[1:] // whatever may be retried
		p := play(t, cfg, loop.Task{}, script)
		equal(t, &p, "stop", p.Stop, loop.StopUnauthorized)
		equal(t, &p, "end", p.End, loop.UnrecoverableToolContract)
		equal(t, &p, "message", p.Message, "Action needed: check the credentials and rights of search, then ask again.")
		equal(t, &p, "tries", p.Tries, 1)
		cfg.Policy.OnFailure, cfg.Retry.Max = loop.FailureModel, 0
		p = play(t, cfg, loop.Task{}, script)
		equal(t, &p, "stop", p.Stop, loop.StopDone)
	}
}

// The user is asked for what is missing, whoever decides otherwise.
func TestAskMissing(t *testing.T) {
	for _, onFailure := range []loop.OnFailure{loop.FailureTable, loop.FailureModel} {
		cfg := table()
		cfg.Policy.OnFailure = onFailure
		script := fakes.Script{
			Tools: []fakes.Tool{answers(search, result(found))},
			Model: []fakes.Step{asks("search", `{"page":2}`), asks("search", `{"query":"go"}`), says("done")},
			User:  fakes.User{Replies: []fakes.Reply{{Text: "Search for go.", After: fakes.Span{Min: time.Minute}}}},
		}
		p := play(t, cfg, loop.Task{}, script)
		equal(t, &p, "stop", p.Stop, loop.StopDone)
		questions := p.effects(loop.AskUser)
		if len(questions) != 1 || questions[0].Text != "To call search, these are needed: query." {
			t.Errorf("questions %+v", questions)
		}
		// u1, m1, c1, and then what the user said.
		equal(t, &p, "reply", p.history[3].Text, "Search for go.")
		p.equalCalls(t, `c2#1 search{"page":1,"page_size":10,"query":"go"}`)

		script.User = fakes.User{} // nobody answers
		p = play(t, cfg, loop.Task{}, script)
		equal(t, &p, "stop", p.Stop, loop.StopNeedsUser)
		equal(t, &p, "end", p.End, loop.ClarifyNeeded)
		equal(t, &p, "reason", p.Reason, "To call search, these are needed: query.")
		equal(t, &p, "turns", p.Turns, 1)
	}
}

// Nobody is asked where that is off, or nothing is missing.
func TestAskNothing(t *testing.T) {
	cfg := table()
	play := func(args string) played {
		return play(t, cfg, loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(search, result(found))}, Model: []fakes.Step{asks("search", args), says("done")}})
	}
	p := play(`{"query":7}`)
	equal(t, &p, "stop", p.Stop, loop.StopToolContract)
	equal(t, &p, "questions", len(p.effects(loop.AskUser)), 0)
	p = play(`{"query":`)
	equal(t, &p, "stop", p.Stop, loop.StopToolContract)
	cfg.Policy.AskMissing = false
	p = play(`{}`)
	equal(t, &p, "stop", p.Stop, loop.StopToolContract)
	cfg.Policy.OnFailure = loop.FailureModel
	p = play(`{}`)
	equal(t, &p, "stop", p.Stop, loop.StopDone)
}

// Two calls in 10 s are allowed. The replies come at 2 s, 4.2 s, 6.4 s and so
// on: a call takes 200 ms, a refused one nothing.
func TestRate(t *testing.T) {
	spec := loop.ToolSpec{Name: "search", Rate: loop.Rate{Calls: 2, Per: 10 * time.Second}}
	step := asks("search", `{}`)
	step.Repeat = 7
	p := play(t, loop.Off(), loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(spec, result("ok"))}, Model: []fakes.Step{step, says("done")}})
	for n, want := range map[int]string{
		1: "ok",                                                             // at 2 s
		2: "ok",                                                             // at 4.2 s
		3: "Error: search may be called 2 times in 10s; try again in 5.6s.", // at 6.4 s; at 12 s the first one is 10 s ago
		4: "Error: search may be called 2 times in 10s; try again in 3.6s.", // at 8.4 s
		5: "Error: search may be called 2 times in 10s; try again in 1.6s.", // at 10.4 s
		6: "ok",                                                             // at 12.4 s
		7: "ok",                                                             // at 14.6 s: the one at 4.2 s is 10.4 s ago
	} {
		equal(t, &p, p.put(t, n).Ref.String(), p.put(t, n).Text, want)
	}
	equal(t, &p, "vetoed", p.Vetoed, 3)
}

// The window is open at its end: 10 s after a call the next one may come. The
// first call is at 2 s and takes 200 ms.
func TestRateAtTheBoundary(t *testing.T) {
	spec := loop.ToolSpec{Name: "search", Rate: loop.Rate{Calls: 1, Per: 10 * time.Second}}
	for latency, want := range map[time.Duration]string{
		9799 * time.Millisecond: "Error: search may be called 1 times in 10s; try again in 0.001s.", // at 11.999 s
		9800 * time.Millisecond: "ok",                                                               // at 12 s
	} {
		second := asks("search", `{}`)
		second.Latency = fakes.Span{Min: latency}
		p := play(t, loop.Off(), loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(spec, result("ok"))}, Model: []fakes.Step{asks("search", `{}`), second, says("done")}})
		equal(t, &p, "text", p.put(t, 2).Text, want)
	}
}

// Two failures in a row disable the tool for 10 s; then one call is let
// through, and decides. The replies come at 2 s and 4.2 s, and the second call
// fails at 4.4 s, so the tool is disabled until 14.4 s.
func TestToolBreaker(t *testing.T) {
	spec := loop.ToolSpec{Name: "search", Breaker: loop.ToolBreaker{Failures: 2, Cooldown: 10 * time.Second}}
	bad := asks("search", `{}`)
	bad.Repeat = 2
	early, late := asks("search", `{}`), asks("search", `{}`)
	early.Latency = fakes.Span{Min: 9999 * time.Millisecond} // 4.4 s + 9.999 s
	late.Latency = fakes.Span{Min: time.Millisecond}         // 14.4 s
	both := late
	both.Calls = append(both.Calls, both.Calls...)
	model := func(probe fakes.Step) []fakes.Step {
		return []fakes.Step{bad, early, probe, asks("search", `{}`), says("done")}
	}
	const disabled = "Error: search is disabled after 2 failures in a row; try again in "

	p := play(t, loop.Off(), loop.Task{}, fakes.Script{Model: model(late),
		Tools: []fakes.Tool{answers(spec, fails(loop.ToolBug), fails(loop.ToolBug), result("ok"))}})
	equal(t, &p, "a moment too early", p.put(t, 3).Text, disabled+"0.001s.")
	equal(t, &p, "the probe", p.put(t, 4).Text, "ok")
	equal(t, &p, "after it", p.put(t, 5).Text, "ok")

	// The probe fails at 14.6 s: until 24.6 s. The next reply comes at 16.6 s.
	p = play(t, loop.Off(), loop.Task{}, fakes.Script{Model: model(late), Tools: []fakes.Tool{answers(spec, fails(loop.ToolBug))}})
	equal(t, &p, "the probe", p.put(t, 4).Text, "Error: it went wrong")
	equal(t, &p, "after it", p.put(t, 5).Text, "Error: search is disabled after 3 failures in a row; try again in 8s.")
	equal(t, &p, "calls", p.Calls, 3)

	// Of two calls in one batch, one is the probe.
	p = play(t, loop.Off(), loop.Task{}, fakes.Script{Model: model(both),
		Tools: []fakes.Tool{answers(spec, fails(loop.ToolBug), fails(loop.ToolBug), result("ok"))}})
	equal(t, &p, "the probe", p.put(t, 4).Text, "ok")
	equal(t, &p, "beside it", p.put(t, 5).Text, disabled+"0s.")
	equal(t, &p, "after it", p.put(t, 6).Text, "ok")

	// A probe that the user denies decides nothing: the next call is one.
	spec.Permission = loop.AskCall
	deny := fakes.PermissionAnswer{Deny: true, Times: 1, After: fakes.Instantly()}
	allow := fakes.PermissionAnswer{Times: 2, After: fakes.Instantly()}
	p = play(t, loop.Off(), loop.Task{}, fakes.Script{Model: model(late),
		Tools: []fakes.Tool{answers(spec, fails(loop.ToolBug), fails(loop.ToolBug), result("ok"))},
		User:  fakes.User{Permissions: []fakes.PermissionAnswer{allow, deny}}})
	equal(t, &p, "the probe", p.put(t, 4).Why, loop.Denied)
	equal(t, &p, "after it", p.put(t, 5).Text, "ok")

	// A success in between begins the count anew.
	p = play(t, loop.Off(), loop.Task{}, fakes.Script{
		Model: []fakes.Step{bad, bad, says("done")},
		Tools: []fakes.Tool{answers(loop.ToolSpec{Name: "search", Breaker: spec.Breaker}, fails(loop.ToolBug), result("ok"), fails(loop.ToolBug), result("ok"))}})
	equal(t, &p, "calls", p.Calls, 4)
}

// A sub-run at the last depth may start none, and a run no more than it may.
func TestSubRuns(t *testing.T) {
	spawn := loop.ToolSpec{Name: "spawn", SubRun: true}
	step := asks("spawn", `{}`)
	step.Repeat = 3
	script := fakes.Script{Tools: []fakes.Tool{answers(spawn, result("ok"))}, Model: []fakes.Step{step, says("done")}}

	cfg := loop.Off()
	cfg.Limits.Depth = 2
	for depth, stop := range []loop.Stop{loop.StopDone, loop.StopDone, loop.StopDepthLimit, loop.StopDepthLimit} {
		p := play(t, cfg, loop.Task{Depth: depth}, script)
		equal(t, &p, "stop", p.Stop, stop)
		if stop == loop.StopDepthLimit {
			equal(t, &p, "calls", p.Calls, 0)
			equal(t, &p, "end", p.End, loop.BudgetExceeded)
			equal(t, &p, "why", p.put(t, 1).Why, loop.Refused)
			equal(t, &p, "text", p.put(t, 1).Text, "Error: Maximum depth of sub-runs (2) reached. Terminating agent loop.")
		}
	}

	cfg = loop.Off()
	for spawns, stop := range map[int]loop.Stop{2: loop.StopSpawnLimit, 3: loop.StopDone} {
		cfg.Limits.Spawns = spawns
		p := play(t, cfg, loop.Task{}, script)
		equal(t, &p, "stop", p.Stop, stop)
		equal(t, &p, "calls", p.Calls, spawns)
		if stop == loop.StopSpawnLimit {
			equal(t, &p, "text", p.put(t, 3).Text, "Error: Maximum sub-runs (2) reached. Terminating agent loop.")
			equal(t, &p, "end", p.End, loop.BudgetExceeded)
		}
	}
}

// A word is not a misspelling of another one if none of its characters is left.
func TestShortWordsAreNotMended(t *testing.T) {
	schema, err := contract.Compiler().Compile(`{"type":"object","properties":{"unit":{"enum":["km","mile"]}}}`)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{`{"unit":"ft"}`: "", `{"unit":"kms"}`: `{"unit":"km"}`, `{"unit":"k"}`: ""} {
		fixed, repaired, problem, _ := schema.Check(text, 5)
		if want == "" && problem == "" || want != "" && (fixed != want || repaired != 1) {
			t.Errorf("%s became %s with %d repairs, problem %q; want %q", text, fixed, repaired, problem, want)
		}
	}
}

// Arguments from a hook must keep the schema too.
func TestHooksKeepTheSchema(t *testing.T) {
	cfg := contracts()
	task := loop.Task{Text: "Find it.", Schemas: contract.Compiler(), Hooks: loop.Hooks{BeforeCall: true}}
	m, err := loop.New(cfg, task, []loop.ToolSpec{search})
	if err != nil {
		t.Fatal(err)
	}
	m.Step(m.Begin())
	m.Step(loop.Input{Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, Calls: []loop.AskedCall{{ID: "a", Name: "search", Args: `{"query":"x"}`}}})
	effects := m.Step(loop.Input{Kind: loop.GateAnswer, Ref: loop.Ref{Kind: loop.RefGate, N: 1}, Allow: true, Args: `{"query":7}`})
	if len(effects) != 2 || effects[0].Event != loop.EventBadHook || !strings.Contains(effects[1].Args, `"query":"x"`) {
		t.Errorf("a hook's broken arguments were used: %v", loop.Record{Effects: effects})
	}
}

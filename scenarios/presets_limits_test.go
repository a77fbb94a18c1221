package scenarios

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// settingChecks holds a check for each setting of a config beside its detectors:
// where it has a number, that one less makes no difference and the number itself
// does. A check takes the preset's config, and tries its setting alone.
var settingChecks = map[string]func(*testing.T, loop.Config){
	"scope":                       func(*testing.T, loop.Config) {}, // TestPresetScopes
	"limits.turns":                checkTurns,
	"limits.asked":                checkAsked,
	"limits.calls":                checkCalls,
	"limits.calls_per_turn":       checkCallsPerTurn,
	"limits.steps":                checkSteps,
	"limits.spawns":               checkSpawns,
	"limits.depth":                func(*testing.T, loop.Config) {}, // needs a nested session: tested with the loop's sub-runs
	"limits.near":                 checkNear,
	"limits.at_limit":             checkTurns,
	"time.run":                    checkRunDeadline,
	"time.tool":                   checkToolDeadline,
	"time.model":                  checkModel,
	"time.first_token":            checkFirstToken,
	"time.chunk":                  checkChunk,
	"errors.max_consecutive":      checkErrors,
	"errors.trip":                 checkErrors,
	"errors.batch":                checkErrorBatch,
	"errors.kinds":                checkErrorKinds,
	"errors.text_prefix":          checkErrorKinds,
	"retry.max":                   checkRetry,
	"retry.base":                  checkRetry,
	"retry.backoff":               checkRetry,
	"retry.cap":                   checkRetry,
	"retry.timeouts":              checkRetry,
	"retry.codes":                 checkRetry,
	"model_retry.max":             checkModelRetry,
	"model_retry.base":            checkModelRetry,
	"model_retry.cap":             checkModelRetry,
	"model_retry.max_wait":        checkModelRetry,
	"model_retry.statuses":        checkModelRetry,
	"model_retry.backoff":         checkModelRetry,
	"model_retry.same_deadline":   checkSameDeadline,
	"model_retry.broken_streams":  checkBrokenStreams,
	"model_retry.empty_replies":   checkUnusable,
	"model_retry.cut_replies":     checkUnusable,
	"parallel.max":                checkParallel,
	"history.max_messages":        checkMessages,
	"history.keep_first":          checkMessages,
	"history.max_result_chars":    checkResultChars,
	"history.compact_on_overflow": checkOverflow,
	"contracts.max_payload_bytes": checkPayload,
	"contracts.broken_args":       checkBrokenArgs,
	"contracts.input":             checkContracts,
	"contracts.output":            checkContracts,
	"contracts.repair":            checkContracts,
	"policy.on_failure":           checkPolicy,
	"policy.fallbacks":            checkPolicy,
	"policy.ask_missing":          func(*testing.T, loop.Config) {}, // needs schemas: tested with the loop's contracts
	"faithful":                    func(*testing.T, loop.Config) {}, // it only keeps validate from refusing what never acts
}

// Every setting of every preset that is not as in none has its check.
func TestPresetSettings(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays every preset")
	}
	off := settings(t, baseVariant)
	for _, preset := range Presets() {
		own := settings(t, preset)
		checked := map[string]bool{}
		for _, field := range slices.Sorted(maps.Keys(own)) {
			if own[field] == off[field] {
				continue
			}
			check := settingChecks[field]
			if check == nil {
				t.Errorf("%s: nothing checks %s", preset, field)
			} else if name := fmt.Sprintf("%p", check); !checked[name] {
				checked[name] = true
				t.Run(preset+"/"+field, func(t *testing.T) { check(t, presetOf(t, preset)) })
			}
		}
	}
}

// settings flattens a preset's config, without its detectors.
func settings(t *testing.T, preset string) map[string]string {
	t.Helper()
	v := Variant{Config: presetOf(t, preset)}
	v.Config.Detectors = nil
	var sections map[string]any
	if err := json.Unmarshal(v.JSON(), &sections); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for name, section := range sections {
		keys, ok := section.(map[string]any)
		if !ok {
			all[name] = fmt.Sprint(section)
		}
		for key, value := range keys {
			all[name+"."+key] = fmt.Sprint(value)
		}
	}
	return all
}

// working is a script of n replies with a new call each, then an answer.
func working(n int, tools ...fakes.Tool) *fakes.Script {
	s := &fakes.Script{Task: "go", Tools: append(tools, answeringTool("Other", "row ${call}"))}
	if n > 0 {
		step := calls(`Other{"n":${turn}}`)
		if len(tools) > 0 {
			step = calls(tools[0].Name + `{"n":${turn}}`)
		}
		step.Repeat = n
		s.Model = append(s.Model, step)
	}
	s.Model = append(s.Model, fakes.Step{Text: "I am done.", Repeat: fakes.Forever})
	return s
}

// done holds a session to its end without anything in the way.
func done(t *testing.T, what string, p *played) {
	t.Helper()
	if p.last().Stop != loop.StopDone || len(p.acts()) > 0 {
		t.Errorf("%s: ended as %s, %v", what, p.last().Stop, p.acts())
	}
}

// stopped holds a session to a stop at a reply, after what the config does at a
// limit.
func stopped(t *testing.T, what string, p *played, stop loop.Stop, at int, by loop.AtLimit) {
	t.Helper()
	act := map[loop.AtLimit]string{loop.LimitFinal: "final-answer", loop.LimitSummary: "final-answer", loop.LimitGrace: "grace", loop.LimitAsk: "ask"}[by]
	if act == "" {
		act = "stop"
	}
	if p.last().Stop != stop || !p.at(act, at) {
		t.Errorf("%s: ended as %s, %v; want %s, and %s at reply %d", what, p.last().Stop, p.acts(), stop, act, at)
	}
}

// lastWord is the stop of a run that answers where a limit was reached: a last word
// with tools offered is the answer, any other stops as the limit.
func lastWord(limit loop.Stop, by loop.AtLimit) loop.Stop {
	if by == loop.LimitGrace {
		return loop.StopDone
	}
	return limit
}

func checkTurns(t *testing.T, cfg loop.Config) {
	c, n := loop.Off(), cfg.Limits.Turns
	if n == 0 {
		return // at_limit, for the call limit alone
	}
	c.Limits.Turns, c.Limits.AtLimit = n, cfg.Limits.AtLimit
	done(t, "an answer as the last reply", play(t, c, working(n-1), n+5))
	stopped(t, "one reply too many", play(t, c, working(n), n+5), lastWord(loop.StopTurnLimit, c.Limits.AtLimit), n, c.Limits.AtLimit)
	stopped(t, "more calls", play(t, c, working(n+5), n+9), loop.StopTurnLimit, n, c.Limits.AtLimit)
}

// A large limit is reached in batches, so as to keep the trace short.
func checkCalls(t *testing.T, cfg loop.Config) {
	c, n := loop.Off(), cfg.Limits.Calls
	c.Limits.Calls, c.Limits.AtLimit = n, cfg.Limits.AtLimit
	batch := 1
	if n > 500 && n%100 == 0 {
		batch = 100
	}
	asking := func(more int) *fakes.Script {
		s := working(n / batch)
		for range batch - 1 {
			s.Model[0].Calls = append(s.Model[0].Calls, s.Model[0].Calls[0])
		}
		if more > 0 {
			s.Model = slices.Insert(s.Model, 1, calls(`Other{"more":1}`))
		}
		return s
	}
	done(t, "all calls", play(t, c, asking(0), n/batch+5))
	p := play(t, c, asking(1), n/batch+5)
	stopped(t, "one call too many", p, lastWord(loop.StopCallLimit, c.Limits.AtLimit), n/batch+1, c.Limits.AtLimit)
	if got := p.last().Calls; got != n {
		t.Errorf("%d calls ran, want %d", got, n)
	}
}

// Calls that never run count too.
func checkAsked(t *testing.T, cfg loop.Config) {
	c, n := loop.Off(), cfg.Limits.Asked
	c.Limits.Asked, c.Limits.AtLimit = n, cfg.Limits.AtLimit
	asking := func(n int) *fakes.Script {
		s := working(n)
		s.Model[0].Calls[0].Name = "nobody's"
		return s
	}
	done(t, "all calls", play(t, c, asking(n), n+5))
	stopped(t, "one call too many", play(t, c, asking(n+1), n+5), loop.StopAskedLimit, n+1, c.Limits.AtLimit)
}

// A model that is silent is asked as often as same_deadline says, whatever max says.
func checkSameDeadline(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.ModelRetry, c.Time.Model = cfg.ModelRetry, time.Minute
	step := fakes.Step{Text: "I am done.", FailForever: true, Failures: []fakes.ModelFailure{{Hang: true}}}
	p := play(t, c, &fakes.Script{Task: "go", Model: []fakes.Step{step}}, 2)
	if got := p.last(); got.ModelCalls != c.ModelRetry.SameDeadline || got.Stop != loop.StopModelDeadline {
		t.Errorf("asked %d times, %s; want %d times", got.ModelCalls, got.Stop, c.ModelRetry.SameDeadline)
	}
}

func checkCallsPerTurn(t *testing.T, cfg loop.Config) {
	c, n := loop.Off(), cfg.Limits.CallsPerTurn
	c.Limits.CallsPerTurn = n
	for asked, refused := range map[int]int{n: 0, n + 1: 1} {
		s := working(1)
		for range asked - 1 {
			s.Model[0].Calls = append(s.Model[0].Calls, s.Model[0].Calls[0])
		}
		if p := play(t, c, s, 5); p.last().Vetoed != refused || p.last().Calls != n || p.last().Stop != loop.StopDone {
			t.Errorf("%d calls in a reply: %d refused, %d executed, %s", asked, p.last().Vetoed, p.last().Calls, p.last().Stop)
		}
	}
}

// A reply is a step and a batch is one: n replies with calls and an answer are
// 2n+1 steps, and a run that takes all its steps fails.
func checkSteps(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Limits.Steps, c.Limits.AtLimit = cfg.Limits.Steps, cfg.Limits.AtLimit
	n := (c.Limits.Steps - 1) / 2
	if 2*n+1 != c.Limits.Steps {
		t.Fatalf("the check wants an odd number of steps, not %d", c.Limits.Steps)
	}
	done(t, "two steps less", play(t, c, working(n-1), n+5))
	stopped(t, "an answer as the last step", play(t, c, working(n), n+5), loop.StopTurnLimit, n+1, loop.LimitStop)
	stopped(t, "more calls", play(t, c, working(n+1), n+5), loop.StopTurnLimit, n+1, c.Limits.AtLimit)
}

func checkSpawns(t *testing.T, cfg loop.Config) {
	c, n := loop.Off(), cfg.Limits.Spawns
	c.Limits.Spawns = n
	agent := answeringTool("agent", "found ${call}")
	agent.SubRun = true
	done(t, "all sub-runs", play(t, c, working(n, agent), n+5))
	stopped(t, "one sub-run too many", play(t, c, working(n+1, agent), n+5), loop.StopSpawnLimit, n+1, loop.LimitStop)
}

func checkNear(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Limits.Turns, c.Limits.Calls, c.Limits.Near = cfg.Limits.Turns, cfg.Limits.Calls, cfg.Limits.Near
	n := c.Limits.Turns - c.Limits.Near
	for replies, want := range map[int]bool{n - 1: false, n: true} {
		if got := play(t, c, working(replies), n+5).noted(loop.EventLimitNear); got != want {
			t.Errorf("told after %d replies: %v", replies, got)
		}
	}
}

// noted reports whether the loop noted an event.
func (p *played) noted(event loop.Event) bool {
	for i := range p.trace {
		for _, e := range p.trace[i].Effects {
			if e.Kind == loop.Note && e.Event == event {
				return true
			}
		}
	}
	return false
}

func checkParallel(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Parallel = cfg.Parallel
	asked := strings.Fields(strings.Repeat("A{} ", c.Parallel.Max+1))
	p := play(t, c, &fakes.Script{Task: "go", Tools: []fakes.Tool{answeringTool("A", "ok")}, Model: []fakes.Step{calls(asked...), {Text: "I am done."}}}, 3)
	started := 0
	for _, r := range p.trace {
		if r.In.Kind == loop.ModelReply {
			for _, e := range r.Effects {
				if e.Kind == loop.CallTool {
					started++
				}
			}
		}
	}
	if started != c.Parallel.Max {
		t.Errorf("%d of %d calls start at once, want %d", started, len(asked), c.Parallel.Max)
	}
}

// n replies with a call and its result, after the task, are 2n+1 messages.
func checkMessages(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.History.MaxMessages, c.History.KeepFirst = cfg.History.MaxMessages, cfg.History.KeepFirst
	n := (c.History.MaxMessages - 1) / 2
	if p := play(t, c, working(n), n+5); p.noted(loop.EventTrimmed) {
		t.Errorf("trimmed at %d messages", 2*n+1)
	}
	p := play(t, c, working(n+1), n+5)
	first := loop.Ref{Kind: loop.RefMessage, N: 1}
	if !p.noted(loop.EventTrimmed) || p.dropped(first) == c.History.KeepFirst {
		t.Errorf("at %d messages: trimmed %v, the task dropped %v", 2*n+3, p.noted(loop.EventTrimmed), p.dropped(first))
	}
}

func (p *played) dropped(ref loop.Ref) bool {
	for i := range p.trace {
		for _, e := range p.trace[i].Effects {
			if e.Kind == loop.Drop && e.Ref == ref {
				return true
			}
		}
	}
	return false
}

func checkResultChars(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.History.MaxResultChars = cfg.History.MaxResultChars
	checkCut(t, c, c.History.MaxResultChars, "é")
}

func checkPayload(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Contracts.MaxPayloadBytes = cfg.Contracts.MaxPayloadBytes
	checkCut(t, c, c.Contracts.MaxPayloadBytes, "x")
}

func checkCut(t *testing.T, c loop.Config, limit int, letter string) {
	t.Helper()
	for size, want := range map[int]bool{limit: false, limit + 1: true} {
		tool := fakes.Tool{ToolSpec: loop.ToolSpec{Name: "A"}, Answers: []fakes.Answer{{Result: letter, ResultChars: size}}}
		if got := play(t, c, working(1, tool), 3).noted(loop.EventTruncated); got != want {
			t.Errorf("a result of %d: cut %v", size, got)
		}
	}
}

func checkPolicy(t *testing.T, cfg loop.Config) {
	c := loop.Off()
	c.Policy = cfg.Policy
	p := play(t, c, working(1, failingTool("A", loop.Forbidden, "not yours")), 3)
	if want := map[loop.OnFailure]loop.Stop{loop.FailureTable: loop.StopUnauthorized}[c.Policy.OnFailure]; want != "" && p.last().Stop != want {
		t.Errorf("missing rights: %s, want %s", p.last().Stop, want)
	}
	tool := failingTool("A", loop.NotFound, "gone") // a crash has none under the table
	tool.Fallback = "Other"
	if got := play(t, c, working(1, tool), 3).noted(loop.EventFallback); got != c.Policy.Fallbacks {
		t.Errorf("the fallback is called: %v", got)
	}
}

// A model that refuses a request as too long ends the run, or is asked again after a
// summary.
func checkOverflow(t *testing.T, cfg loop.Config) {
	s := embeddedScenario(t, "history/overflow-once-and-on")
	off := cfg.History
	off.CompactOnOverflow = false
	for _, k := range []struct {
		history loop.History
		stop    loop.Stop
	}{{off, loop.StopModelFailed}, {cfg.History, loop.StopDone}} {
		c := loop.Off()
		c.History = k.history
		if got := play(t, c, &s.Script, 20).last().Stop; got != k.stop {
			t.Errorf("compact_on_overflow %t: %s, want %s", c.History.CompactOnOverflow, got, k.stop)
		}
	}
}

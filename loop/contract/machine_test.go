package contract_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/contract"
)

// The sessions below run the machine, contracts and all, in virtual time: a
// reply takes 2 s and a call 200 ms.

// A played is a session that was played.
type played struct {
	loop.Outcome
	trace   loop.Trace
	history []loop.Message
}

func play(t *testing.T, cfg loop.Config, task loop.Task, s fakes.Script) played {
	t.Helper()
	s.Task = "Find it."
	task.Text, task.Schemas = s.Task, contract.Compiler()
	m, err := loop.New(cfg, task, s.Specs())
	if err != nil {
		t.Fatal(err)
	}
	var p played
	p.Outcome, err = loop.Run(context.Background(), m, loop.Recording(fakes.NewWorld(&s, 1), &p.trace))
	if err != nil {
		t.Fatalf("%v\n%s", err, p.trace)
	}
	p.history = m.History()
	return p
}

// effects returns the effects of a kind, in order.
func (p *played) effects(kind loop.EffectKind) []loop.Effect {
	var found []loop.Effect
	for _, record := range p.trace {
		for _, e := range record.Effects {
			if e.Kind == kind {
				found = append(found, e)
			}
		}
	}
	return found
}

// put returns the result of the n-th call as it is in the history.
func (p *played) put(t *testing.T, n int) loop.Effect {
	t.Helper()
	for _, e := range p.effects(loop.Put) {
		if e.Ref == (loop.Ref{Kind: loop.RefCall, N: n}) {
			return e
		}
	}
	t.Fatalf("no result of c%d\n%s", n, p.trace)
	return loop.Effect{}
}

// calls returns the calls of the tools, each as name and arguments.
func (p *played) calls() []string {
	var found []string
	for _, e := range p.effects(loop.CallTool) {
		found = append(found, e.Ref.String()+" "+e.Name+e.Args)
	}
	return found
}

// noted counts the notes of an event.
func (p *played) noted(event loop.Event) int {
	n := 0
	for _, e := range p.effects(loop.Note) {
		if e.Event == event {
			n++
		}
	}
	return n
}

func join(words []string) string { return strings.Join(words, " ") }

// equal compares part of what was played.
func equal[T comparable](t *testing.T, p *played, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v\n%s", what, got, want, p.trace)
	}
}

func (p *played) equalCalls(t *testing.T, want ...string) {
	t.Helper()
	equal(t, p, "calls", strings.Join(p.calls(), "\n"), strings.Join(want, "\n"))
}

// asks is a reply with one call.
func asks(tool, args string) fakes.Step {
	return fakes.Step{Calls: []fakes.StepCall{{Name: tool, Args: args}}}
}

// says is an answer.
func says(text string) fakes.Step { return fakes.Step{Text: text} }

// answers makes a tool that answers its calls one after another, and with the
// last answer for ever.
func answers(spec loop.ToolSpec, answers ...fakes.Answer) fakes.Tool {
	for i := range answers[:len(answers)-1] {
		answers[i].Times = 1
	}
	return fakes.Tool{ToolSpec: spec, Answers: answers}
}

func result(result string) fakes.Answer { return fakes.Answer{Result: result} }

func fails(code loop.Code) fakes.Answer { return fakes.Answer{Error: code, Text: "it went wrong"} }

// search is the specification's tool.
var search = loop.ToolSpec{Name: "search", Input: searchInput, Output: searchOutput}

// contracts is a config with nothing on but the two contracts.
func contracts() loop.Config {
	cfg := loop.Off()
	cfg.Contracts.Input, cfg.Contracts.Output = true, true
	return cfg
}

const (
	found   = `{"results":[{"title":"a","url":"https://example.org/a"}]}`
	nothing = `{"results":[]}`
)

func TestInvalidInput(t *testing.T) {
	p := play(t, contracts(), loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(search, result(found))},
		Model: []fakes.Step{asks("search", `{"query":"x","page":0}`), says("done")},
	})
	put := p.put(t, 1)
	equal(t, &p, "text", put.Text, "Error: The arguments of search are not valid: /page: expected at least 1, got 0. The call was not run.")
	equal(t, &p, "code", put.Code, loop.InvalidInput)
	equal(t, &p, "why", put.Why, loop.InvalidArgs)
	equal(t, &p, "invalid", p.Invalid, 1)
	equal(t, &p, "calls", p.Calls, 0)
	equal(t, &p, "stop", p.Stop, loop.StopDone)
}

// Invalid arguments are failures of their kind: three turns of them are too
// many for the error limit.
func TestInvalidInputCounts(t *testing.T) {
	cfg := contracts()
	cfg.Errors.MaxConsecutive = 3
	step := asks("search", `{"query":""}`)
	step.Repeat = fakes.Forever
	p := play(t, cfg, loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(search, result(found))}, Model: []fakes.Step{step}})
	equal(t, &p, "stop", p.Stop, loop.StopErrorLimit)
	equal(t, &p, "invalid", p.Invalid, 3)
}

// The tool gets the defaults, the history what the model wrote.
func TestDefaultsReachTheTool(t *testing.T) {
	p := play(t, contracts(), loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(search, result(nothing)), answers(loop.ToolSpec{Name: "list", Input: `{"properties":{"all":{"default":true}}}`}, result("none"))},
		Model: []fakes.Step{asks("search", `{"query": "x"}`), asks("list", ""), asks("list", " "), says("done")},
	})
	// Arguments of nothing mean {}.
	p.equalCalls(t, `c1#1 search{"page":1,"page_size":10,"query":"x"}`, `c2#1 list{"all":true}`, `c3#1 list{"all":true}`)
	equal(t, &p, "arguments in the history", p.history[1].Calls[0].Args, `{"query": "x"}`)
	equal(t, &p, "repairs", p.Repairs, 0)
	equal(t, &p, "invalid", p.Invalid, 0)
}

func TestRepairedInput(t *testing.T) {
	sort := loop.ToolSpec{Name: "sort", Input: `{"type":"object","required":["order"],"properties":{"order":{"enum":["rising","falling"]}},"additionalProperties":false}`}
	play := func(args string, repairs int) played {
		cfg := contracts()
		cfg.Contracts.Repair = repairs
		return play(t, cfg, loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(sort, result("sorted"))}, Model: []fakes.Step{asks("sort", args), says("done")}})
	}
	p := play(`{"order":"risng"}`, 1)
	p.equalCalls(t, `c1#1 sort{"order":"rising"}`)
	equal(t, &p, "arguments in the history", p.history[1].Calls[0].Args, `{"order":"risng"}`)
	equal(t, &p, "repairs", [2]int{p.Repairs, p.RepairsOK}, [2]int{1, 1})
	note := p.effects(loop.Note)[0]
	equal(t, &p, "note", note.Ref.String()+" "+string(note.Event)+" "+note.Text, "c1 repaired 1")

	p = play(`{"ordr":"risng"}`, 2) // two faults, one text
	p.equalCalls(t, `c1#1 sort{"order":"rising"}`)
	equal(t, &p, "repairs", [2]int{p.Repairs, p.RepairsOK}, [2]int{1, 1})

	p = play(`{"ordr":"risng"}`, 1) // mended, and not saved by it
	p.equalCalls(t)
	equal(t, &p, "repairs", [2]int{p.Repairs, p.RepairsOK}, [2]int{1, 0})
	equal(t, &p, "invalid", p.Invalid, 1)

	p = play(`{"order":"risng"}`, 0)
	p.equalCalls(t)
	equal(t, &p, "repairs", [2]int{p.Repairs, p.RepairsOK}, [2]int{0, 0})
}

func TestOutput(t *testing.T) {
	ticket := loop.ToolSpec{Name: "ticket", Output: `{"type":"object","required":["state"],"properties":{"state":{"enum":["open","closed"]},"owner":{"type":"string","default":"nobody"}}}`}
	tests := []struct {
		name, result string
		repair       int
		code         loop.Code
		text         string
		repairs      [2]int
	}{
		{"kept", `{"state": "open", "owner": "me"}`, 1, loop.None, `{"state": "open", "owner": "me"}`, [2]int{}},
		{"default", `{"state":"open"}`, 0, loop.None, `{"owner":"nobody","state":"open"}`, [2]int{}},
		{"repaired", `{"state":"opne"}`, 1, loop.None, `{"owner":"nobody","state":"open"}`, [2]int{1, 1}},
		{"not to be repaired", `{"state":"lost"}`, 1, loop.OutputSchemaMismatch,
			`Error: The result does not keep its contract: /state: expected one of "open", "closed", got "lost"`, [2]int{}},
		{"no JSON", `open`, 1, loop.OutputSchemaMismatch,
			`Error: The result does not keep its contract: not JSON: invalid character 'o' looking for beginning of value at position 0`, [2]int{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := contracts()
			cfg.Contracts.Repair = tt.repair
			p := play(t, cfg, loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(ticket, result(tt.result))}, Model: []fakes.Step{asks("ticket", `{}`), says("done")}})
			put := p.put(t, 1)
			equal(t, &p, "code", put.Code, tt.code)
			equal(t, &p, "text", put.Text, tt.text)
			equal(t, &p, "repairs", [2]int{p.Repairs, p.RepairsOK}, tt.repairs)
			equal(t, &p, "calls", p.Calls, 1)
			equal(t, &p, "stop", p.Stop, loop.StopDone)
		})
	}
}

// That nothing was found is an answer, in whatever words.
func TestNothingFound(t *testing.T) {
	cfg := contracts()
	cfg.Policy.OnFailure = loop.FailureTable
	p := play(t, cfg, loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(search, result(nothing), fakes.Answer{Error: loop.NoResults, Text: "no hits"})},
		Model: []fakes.Step{asks("search", `{"query":"x"}`), asks("search", `{"query":"y"}`), says("done")},
	})
	equal(t, &p, "text", p.put(t, 1).Text, nothing)
	equal(t, &p, "code", p.put(t, 2).Code, loop.NoResults)
	equal(t, &p, "text", p.put(t, 2).Text, "no hits")
	equal(t, &p, "errors", p.Errors, 0)
	equal(t, &p, "stop", p.Stop, loop.StopDone)
}

// The first page is empty, the second one is not; two pages are allowed, and
// the call that hands back what the second one offered is refused.
func TestPages(t *testing.T) {
	cfg := contracts()
	cfg.Contracts.PageLimit = 2
	p := play(t, cfg, loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(search, result(`{"results":[],"next_page":2}`), result(strings.TrimSuffix(found, "}")+`,"next_page":3}`), result(found))},
		Model: []fakes.Step{
			asks("search", `{"query":"x"}`), asks("search", `{"query":"x","page":2}`), asks("search", `{"query":"x","page":3}`),
			asks("search", `{"query":"y"}`), says("done"),
		},
	})
	p.equalCalls(t,
		`c1#1 search{"page":1,"page_size":10,"query":"x"}`,
		`c2#1 search{"page":2,"page_size":10,"query":"x"}`,
		`c4#1 search{"page":1,"page_size":10,"query":"y"}`)
	put := p.put(t, 3)
	equal(t, &p, "why", put.Why, loop.Refused)
	equal(t, &p, "text", put.Text, "Error: At most 2 pages of an answer of search may be read.")
	equal(t, &p, "vetoed", p.Vetoed, 1)
	equal(t, &p, "stop", p.Stop, loop.StopDone)
}

// The same with a token, and without contracts.
func TestPagesByToken(t *testing.T) {
	cfg := loop.Off()
	cfg.Contracts.PageLimit = 2
	p := play(t, cfg, loop.Task{}, fakes.Script{
		Tools: []fakes.Tool{answers(loop.ToolSpec{Name: "list"}, result(`{"nextToken":"b"}`), result(`{"nextToken":"c"}`), result(`{"nextToken":null}`))},
		Model: []fakes.Step{asks("list", `{}`), asks("list", `{"token":"b"}`), asks("list", `{"token":"c"}`), says("done")},
	})
	p.equalCalls(t, `c1#1 list{}`, `c2#1 list{"token":"b"}`)
	equal(t, &p, "why", p.put(t, 3).Why, loop.Refused)
}

// 600 KB are cut to 512,000 bytes, at the end of a character.
func TestPayloadIsCut(t *testing.T) {
	for limit, kept := range map[int]int{512_000: 512_000, 511_999: 511_998, 600_000: 600_000} {
		cfg := loop.Off()
		cfg.Contracts.MaxPayloadBytes = limit
		p := play(t, cfg, loop.Task{}, fakes.Script{
			Tools: []fakes.Tool{answers(loop.ToolSpec{Name: "dump"}, fakes.Answer{Result: "é", ResultChars: 300_000})}, // of two bytes
			Model: []fakes.Step{asks("dump", `{}`), says("done")},
		})
		want, notes := strings.Repeat("é", kept/2), 0
		if kept < 600_000 {
			notes = 1
			shown := "512,000"
			if kept == 511_998 {
				shown = "511,998"
			}
			want += "\n[OUTPUT TRUNCATED: Showing " + shown + " of 600,000 bytes from dump]\nTo get the rest, call dump again for a smaller part: a range, a filter or the next page."
		}
		text := p.put(t, 1).Text
		if text != want {
			t.Errorf("limit %d: %d bytes that end with %q, want %d bytes", limit, len(text), text[max(0, len(text)-200):], len(want))
		}
		if n := p.noted(loop.EventTruncated); n != notes {
			t.Errorf("limit %d: noted %d times", limit, n)
		}
	}
}

// A result of 600 KB that keeps its schema is checked whole before it is cut.
func TestLargeOutputIsChecked(t *testing.T) {
	cfg := contracts()
	cfg.Contracts.MaxPayloadBytes = 512_000
	large := `{"results":[{"title":"` + strings.Repeat("x", 600_000) + `","url":"https://example.org/"}]}`
	p := play(t, cfg, loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(search, result(large))}, Model: []fakes.Step{asks("search", `{"query":"x"}`), says("done")}})
	put := p.put(t, 1)
	equal(t, &p, "code", put.Code, loop.None)
	equal(t, &p, "text", strings.HasPrefix(put.Text, large[:512_000]+"\n[OUTPUT TRUNCATED: "), true)
}

// Each tool may set its own version, timeout and retries.
func TestToolsOwnSettings(t *testing.T) {
	cfg := loop.Off()
	cfg.Time.Tool, cfg.Retry.Max = 30*time.Second, 1
	hangs := fakes.Answer{Hang: true}
	tests := []struct {
		name  string
		spec  loop.ToolSpec
		tries int
		text  string
		by    string
		end   time.Duration
	}{
		// 2 s for the reply, two tries with 1 s between them, 2 s for the answer.
		{"none", loop.ToolSpec{}, 2, "Error: after 2 attempts: Function timed out after 30s", "", 2*time.Second + 30*time.Second + time.Second + 30*time.Second + 2*time.Second},
		{"timeout", loop.ToolSpec{Timeout: 5 * time.Second}, 2, "Error: after 2 attempts: Function timed out after 5s", "", 2*time.Second + 5*time.Second + time.Second + 5*time.Second + 2*time.Second},
		// Three tries, 1 s and then 2 s between them.
		{"retries", loop.ToolSpec{Retries: 2, Timeout: time.Second}, 3, "Error: after 3 attempts: Function timed out after 1s", "", 2*time.Second + 3*time.Second + 3*time.Second + 2*time.Second},
		{"no retry", loop.ToolSpec{Retries: -1, Timeout: time.Second}, 1, "Error: Function timed out after 1s", "", 5 * time.Second},
		{"version", loop.ToolSpec{Retries: -1, Timeout: time.Second, Version: "1.2.0"}, 1, "Error: Function timed out after 1s", "tool@1.2.0#1", 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Name = "tool"
			p := play(t, cfg, loop.Task{}, fakes.Script{Tools: []fakes.Tool{answers(tt.spec, hangs)}, Model: []fakes.Step{asks("tool", `{}`), says("done")}})
			put := p.put(t, 1)
			equal(t, &p, "tries", p.Tries, tt.tries)
			equal(t, &p, "code", put.Code, loop.Timeout)
			equal(t, &p, "text", put.Text, tt.text)
			equal(t, &p, "by", put.By, tt.by)
			equal(t, &p, "elapsed", p.Elapsed, tt.end)
		})
	}
}

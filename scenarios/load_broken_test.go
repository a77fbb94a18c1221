package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/goccy/go-yaml/token"
)

// valid is a scenario without a mistake. The tables below replace parts of it.
const valid = `name: one
description: the model says hello
label: healthy
task: Say hello
tools:
  - name: read
    permission: call
    answers:
      - {when: {path: a}, result: text}
      - {result: other}
model:
  - {text: hello}
expect:
  end_state: DONE
`

// load loads a text as the only file of a suite.
func load(t *testing.T, text string) ([]*Scenario, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return Load(file)
}

// mistakes loads a broken text and gives each mistake as line:column: problem
// (hint).
func mistakes(t *testing.T, text string) []string {
	t.Helper()
	all, err := load(t, text)
	var ms Mistakes
	if !errors.As(err, &ms) || all != nil {
		t.Fatalf("want mistakes and no scenario, got %v and %v", all, err)
	}
	var out []string
	for _, m := range ms {
		line := m.Problem
		if m.Line > 0 {
			line = fmt.Sprintf("%d:%d: %s", m.Line, m.Column, m.Problem)
		}
		if m.Hint != "" {
			line += " (" + m.Hint + ")"
		}
		out = append(out, line)
	}
	return out
}

func TestBrokenFiles(t *testing.T) {
	tests := []struct{ name, old, new, want string }{
		// Keys.
		{"unknown key", "task: Say", "tsak: Say",
			`1:1: a scenario has no task|4:1: unknown key "tsak" in a scenario (did you mean task?)`},
		{"unknown key far from any", "end_state: DONE", "colour: red",
			`14:3: unknown key "colour" in expect (there are end_state, stop, turns, model_calls, calls, tries, errors, vetoed, nudges, denied, invalid, refused, interfered, sub_runs, sub_stops, time, events)`},
		{"unknown key in a flow mapping", "{text: hello}", "{txt: hello}",
			`12:6: unknown key "txt" in an entry of model (did you mean text?)`},
		{"missing key", "name: one\n", "", `1:1: a scenario has no name`},
		{"missing key of a tool", "  - name: read\n    permission", "  - permission", `6:5: an entry of tools has no name`},
		{"key twice", "label: healthy", "label: healthy\nlabel: runaway", `4:1: the key "label" appears twice (the first is in line 3)`},
		{"key twice in a flow mapping", "{when: {path: a}", "{when: {path: a, path: b}", `9:26: the key "path" appears twice (the first is in line 9)`},
		{"key without value", "task: Say hello", "task:", `4:6: task has no value (give it text, or leave the key out)`},

		// Kinds of values.
		{"number as text", "result: text", "result: 12", `9:35: result must be text, not 12 (put it in quotes: "12")`},
		{"truth value as text", "{text: hello}", "{text: true}", `12:12: text must be text, not true (put it in quotes: "true")`},
		{"text as number", "{text: hello}", "{text: hello, chunks: many}", `12:27: chunks must be a whole number, not "many"`},
		{"fraction as number", "{text: hello}", "{text: hello, tokens_in: 1.5}", `12:30: tokens_in must be a whole number, not 1.5`},
		{"octal number", "{text: hello}", "{text: hello, tokens_in: 017}", `12:30: tokens_in must be a whole number, not 017`},
		{"huge number", "{text: hello}", "{text: hello, tokens_in: 12345678901234567890}", `12:30: tokens_in is too large: 12345678901234567890`},
		{"text as truth value", "permission: call", `idempotent: "yes"`, `7:17: idempotent must be true or false, not "yes"`},
		{"mapping as list", "model:\n  - {text: hello}", "model:\n  text: hello", `12:3: model must be a list, not a mapping`},
		{"list as mapping", "expect:\n  end_state: DONE", "user: [DONE]", `13:7: user must be a mapping, not a list`},
		{"text as list", "expect:\n", "expect:\n  events: {must: run-ended}\n",
			`14:18: must must be a list, not "run-ended" (put a list in brackets, such as [run-ended])`},
		{"list as text", "task: Say hello", "task: [Say, hello]", `4:7: task must be text, not a list`},
		{"whole file is a list", valid, "- a\n- b\n", `1:1: a scenario must be a mapping, not a list`},

		// Durations, ranges, amounts.
		{"duration without unit", "{text: hello}", "{text: hello, latency: 5}",
			`12:28: latency must be a duration, not "5" (durations need a unit, such as 30s, 200ms or 1m30s)`},
		{"duration of another unit", "{text: hello}", "{text: hello, latency: 2d}",
			`12:28: latency must be a duration, not "2d" (durations need a unit, such as 30s, 200ms or 1m30s)`},
		{"negative duration", "{text: hello}", "{text: hello, latency: -5s}",
			`12:28: latency must not be negative: -5s (durations need a unit, such as 30s, 200ms or 1m30s)`},
		{"range of durations from more to less", "{text: hello}", "{text: hello, latency: 3s..1s}",
			`12:28: latency is a range from more to less: 3s..1s (the lower end comes first)`},
		{"range of counts from more to less", "end_state: DONE", "turns: 5..3", `14:10: turns is a range from more to less: 5..3 (the lower end comes first)`},
		{"no range of counts", "end_state: DONE", "turns: 3-5", `14:10: turns must be a number or a range, not "3-5" (a range looks like 3..5)`},
		{"negative count", "end_state: DONE", "turns: -1", `14:10: turns must be 0 or more, not -1`},
		{"count below its least", "{result: other}", "{result: other, times: 0}", `10:32: times must be 1 or more, not 0`},
		{"status that is none", "{text: hello}", "{text: hello, failures: [{status: 200}]}", `12:39: status must be 400 or more, not 200`},
		{"negative cost", "{text: hello}", "{text: hello, cost_usd: -0.5}", `12:29: cost_usd must be from 0 to 1000000, not -0.5`},
		{"repeat that is not a number", "{text: hello}", "{text: hello, repeat: forevr}", `12:27: repeat must be a number or forever, not "forevr" (did you mean forever?)`},
		{"repeat of nothing", "{text: hello}", "{text: hello, repeat: 0}", `12:27: repeat must be 1 or more, not 0 (for no end write forever)`},
		{"result of many characters", "{result: other}", "{result: other, result_chars: 99999999}", `10:39: result_chars must be at most 16777216, not 99999999`},

		// Words.
		{"label", "label: healthy", "label: helthy", `3:8: there is no label "helthy" (did you mean healthy?)`},
		{"end state", "end_state: DONE", "end_state: STUCK", `14:14: there is no end_state "STUCK" (there are DONE, CLARIFY_NEEDED, BUDGET_EXCEEDED, LOOP_DETECTED, ERROR_LIMIT, UNRECOVERABLE_TOOL_CONTRACT, MODEL_FAILED, CANCELLED, CEILING)`},
		{"stop", "end_state: DONE", "stop: circuit-braker", `14:9: there is no stop "circuit-braker" (did you mean circuit-breaker?)`},
		{"stop that ends otherwise", "end_state: DONE", "end_state: DONE\n  stop: turn-limit", `15:9: the stop turn-limit ends a run as BUDGET_EXCEEDED, not as DONE`},
		{"stop of a run", "expect:\n  end_state: DONE", "user: {messages: [more]}\nexpect:\n  - {}\n  - {stop: circuit-braker}", `16:12: there is no stop "circuit-braker" (did you mean circuit-breaker?)`},
		{"stop of a run that ends otherwise", "expect:\n  end_state: DONE", "expect: [{end_state: DONE, stop: turn-limit}]", `13:34: the stop turn-limit ends a run as BUDGET_EXCEEDED, not as DONE`},
		{"run that is none", "expect:\n  end_state: DONE", "expect: [DONE]", `13:10: an entry of expect must be a mapping, not "DONE"`},
		{"key of a run", "expect:\n  end_state: DONE", "expect: [{trns: 1}]", `13:11: unknown key "trns" in an entry of expect (did you mean turns?)`},
		{"expectation that is none", "expect:\n  end_state: DONE", "expect: 5", `13:9: expect must be a mapping or a list of them, not 5`},
		{"no run", "expect:\n  end_state: DONE", "expect: []", `13:9: expect must not be empty (a list has one entry for each run; {} expects nothing)`},
		{"more runs than messages", "expect:\n  end_state: DONE", "user: {messages: [more]}\nexpect:\n  - {turns: 1}\n  - {turns: 1}\n  - {turns: 1}",
			`17:5: there is no run 3: the script has 2 (a run begins with the task, and with each of user.messages)`},
		{"run after one that does not go well", "expect:\n  end_state: DONE", "user: {messages: [more]}\nexpect: [{stop: turn-limit}, {turns: 1}]",
			`14:10: run 2 never begins: run 1 ends as BUDGET_EXCEEDED (the user's next message comes only after DONE, unless it has after: any)`},
		{"event", "end_state: DONE", "events: {must_not: [abandonned]}", `14:23: there is no event "abandonned" (did you mean abandoned?)`},
		{"condition", "{text: hello}", "{text: hello, when: veto}", `12:25: there is no when "veto" (did you mean vetoed?)`},
		{"code", "{result: other}", "{error: Timeot}", `10:17: there is no error "Timeot" (did you mean Timeout?)`},
		{"permission", "permission: call", "permission: always", `7:17: there is no permission "always" (there are never, batch, call)`},
		{"answer of the user", "expect:", "user:\n  permissions: [{tool: read, answer: yes}]\nexpect:", `14:38: there is no answer "yes" (there are allow, deny)`},

		// What cannot be meant together.
		{"second tool of a name", "model:", "  - {name: read, answers: [{result: x}]}\nmodel:", `11:12: there is a second tool "read"`},
		{"fallback that there is not", "permission: call", "fallback: raed", `7:15: there is no other tool "raed"`},
		{"fallback to itself", "permission: call", "fallback: read", `7:15: there is no other tool "read"`},
		{"rate without a time", "permission: call", "rate: {calls: 3}", `7:11: rate has no per`},
		{"tool choice", "task: Say hello", "task: Say hello\ntool_choice: rea", `5:14: tool_choice must be required, auto or the name of a tool, not "rea" (did you mean read?)`},
		{"held choice of nothing", "task: Say hello", "task: Say hello\ntool_choice: {use: auto, hold: true}", `5:32: hold never acts with auto`},
		{"tool choice of a planner", "task: Say hello", "task: Say hello\nplanner: json\ntool_choice: required", `6:14: tool_choice never acts without tools that the model can call (a planner's requests offer none)`},
		{"own retry", "permission: call", "retry: {max: -1, bse: 1s}", `7:18: max must be 0 (off) or more, not -1|7:22: unknown key "bse" in retry (did you mean base?)`},
		{"own retry of nothing", "permission: call", "retry: {max: 1, codes: []}", `7:28: codes is empty, so max never acts`},
		{"retries twice", "permission: call", "retry: {max: 1}\n    retries: 2", `8:14: retries must not stand beside retry (retry has max)`},
		{"breaker of nothing", "permission: call", "breaker: {failures: 0, cooldown: 1s}", `7:25: failures must be 1 or more, not 0`},
		{"negative retries", "permission: call", "retries: -1", `7:14: retries must be 0 or more, not -1`},
		{"answer that is never given", "{when: {path: a}, result: text}", "{result: text}",
			`10:9: this answer is never given: answer 1 takes every call (give the other one times or when, or put it last)`},
		{"answer of two kinds", "{result: other}", "{result: other, hang: true}", `10:31: an answer has both result and hang (it is one or the other)`},
		{"answer of no kind", "{result: other}", "{latency: 1s}", `10:9: an answer has none of result, error, hang`},
		{"text of no error", "{result: other}", "{result: other, text: no}", `10:31: text needs error`},
		{"no answers", "    answers:\n      - {when: {path: a}, result: text}\n      - {result: other}\n", "    answers: []\n",
			`8:14: answers must not be empty (a tool that never answers has [{hang: true}])`},
		{"entry that never comes", "  - {text: hello}", "  - {text: hello, repeat: forever}\n  - {text: bye}",
			`13:5: the model never reaches this entry: entry 1 repeats forever (put this entry first, or give the other one a number)`},
		{"no model", "model:\n  - {text: hello}", "model: []", `11:8: model must not be empty`},
		{"entry that says nothing", "{text: hello}", "{}", `12:5: an entry of model must say something (an empty reply is {text: ""})`},
		{"first token without chunks", "{text: hello}", "{text: hello, first_token: 1s}", `12:32: first_token needs chunks`},
		{"wire", "{text: hello}", "{text: hello, wire: same-indx}", `12:25: there is no wire "same-indx" (did you mean same-index?)`},
		{"wire of a failure", "{text: hello}", "{text: hello, wire: cut-event}", `12:25: there is no wire "cut-event" (there are stall-after-done, same-index, shuffled-index)`},
		{"wire without what it is about", "{text: hello}", "{text: hello, failures: [{status: 429, wire: retry-after-date}]}",
			`12:50: wire retry-after-date needs a status and retry_after`},
		{"wire that makes the status mean nothing", "{text: hello}", "{text: hello, failures: [{status: 500, wire: cut-event}]}",
			`12:50: wire cut-event cannot be combined with a status`},
		{"first token after the last", "{text: hello}", "{text: hello, chunks: 2, first_token: 3s, latency: 2s}",
			`12:43: the first piece comes after 3s, but the whole reply after 2s (latency counts from the request)`},
		{"failing forever with nothing", "{text: hello}", "{text: hello, fail_forever: true}", `12:33: fail_forever needs failures`},
		{"failure of two kinds", "{text: hello}", "{text: hello, failures: [{hang: true, status: 500}]}",
			`12:51: status cannot be combined with hang (take one of them out)`},
		{"permission for no tool", "expect:", "user:\n  permissions: [{tool: raed, answer: deny}]\nexpect:", `14:24: there is no tool "raed" (did you mean read?)`},
		{"permission that nobody asks for", "model:\n",
			"  - {name: write, answers: [{result: x}]}\nuser:\n  permissions: [{tool: write, answer: deny}]\nmodel:\n",
			`13:24: the user is never asked about "write" (give the tool permission: batch or permission: call)`},
		{"reply that is never given", "expect:", "user: {replies: [go on, {answer: deny}]}\nexpect:",
			`13:25: this reply is never given: reply 1 answers every question (give the other one times, or put it last)`},
		{"reply that never comes", "expect:", "user: {replies: [{hang: true, text: no}]}\nexpect:", `13:37: text cannot be combined with hang (take one of them out)`},
		{"cancel twice", "expect:", "user: {cancel: {at: 3s, call: 2}}\nexpect:", `13:31: cancel has both at and call (it is one or the other)`},
		{"name with a slash", "name: one", "name: a/b", `1:7: name must be ASCII letters, digits, dots and hyphens, not "a/b" (such as same-call-forever)`},
		{"name of a tool with white space", "- name: read", `- name: " read"`,
			`6:11: the name of a tool must not be empty or begin or end with white space: " read"`},

		// How the loop reads the model, states, faults.
		{"planner", "label: healthy", "label: healthy\nplanner: jsn", `4:10: there is no planner "jsn" (did you mean json?)`},
		{"constraints without a critic", "task: Say hello", "task: Say hello\nconstraints: [{text: Say it., says: hello}]", `5:14: constraints never act without critic: rules`},
		{"constraint without a rule", "task: Say hello", "task: Say hello\ncritic: rules\nconstraints: [{text: Be polite.}]", `6:15: a constraint needs called, says or omits (what only the model reads stands in system)`},
		{"constraint on no tool", "task: Say hello", "task: Say hello\ncritic: rules\nconstraints: [{text: Read., called: rea}, {text: Do., says: x, with: y}]", `6:37: there is no tool "rea" (did you mean read?)|6:70: with needs called`},
		{"constraint that is not an expression", "task: Say hello", "task: Say hello\ncritic: rules\nconstraints: [{text: ' ', says: '('}]", "6:22: text must not be empty (the model reads it)|6:33: says is not a regular expression: error parsing regexp: missing closing ): `(`"},
		{"critic", "label: healthy", "label: healthy\ncritic: rulez", `4:9: there is no critic "rulez" (did you mean rules?)`},
		{"state beside a condition", "{text: hello}", "{text: hello, when: ok, state: a}", `12:36: state cannot be combined with when: a step is for a state or for a condition`},
		{"next without a state", "{text: hello}", "{text: hello, next: {a: 1}}", `12:25: next needs a state`},
		{"next of another state", "{text: hello}", "{text: hello, state: a, next: {b: 1}}", `12:35: state must be the state of a step, not "b"`},
		{"next that is not at the end", "{text: hello}", "{text: hello, state: a, next: {a: 1}}\n  - {text: bye, state: a}",
			`12:35: next must be on the last step of the state "a"`},
		{"weight of nothing", "{text: hello}", "{text: hello, state: a, next: {a: 0}}",
			`12:39: the weight of "a" must be from 0.000001 to 1000000, not 0 (leave out a state that never follows)`},
		{"state that never comes", "  - {text: hello}", "  - {text: hello, repeat: forever}\n  - {text: bye, state: a}",
			`13:5: the model never reaches this entry: entry 1 repeats forever (put this entry first, or give the other one a number)`},
		{"fault", "expect:", "faults: [drip model 3]\nexpect:",
			`13:10: "drip model 3" is not a fault: there is no fault "drip": it begins with one of [drop delay error malform cut duplicate reorder swap-ids empty oversize] (such as drop model 3, or error tool 4 RetryableServer)`},
		{"fault written otherwise", "expect:", "faults: [delay tool read 1 5000ms]\nexpect:",
			`13:10: "delay tool read 1 5000ms" is not a fault: write it as "delay tool read 1 5s" (such as drop model 3, or error tool 4 RetryableServer)`},
		{"fault of no tool", "expect:", "faults: [drop tool raed 3]\nexpect:", `13:10: there is no tool "raed" (did you mean read?)`},

		// ${…}
		{"value that there is not", "{text: hello}", `{text: "turn ${trun}"}`,
			`12:12: text ${trun}: no such value; there are turn, call, seed, rand:1..6, pick:red|green and, in arguments, result:c3.id`},
		{"result outside arguments", "{result: other}", `{result: "${result:last.id}"}`,
			`10:18: result ${result:last.id}: only the arguments of a call can use a result`},
		{"range of a draw", "{text: hello}", `{calls: [{read: {path: "${rand:6..1}"}}]}`,
			`12:14: args ${rand:6..1}: a range goes from the lower to the higher number`},

		// Calls.
		{"call as text", "{text: hello}", "{calls: [read]}", `12:14: a call must be a mapping such as {read_file: {path: notes.txt}}, not "read"`},
		{"two calls in one", "{text: hello}", "{calls: [{read: {path: a}, write: {path: b}}]}",
			`12:14: a call has no name|12:15: unknown key "read" in a call (there are name, id, args)|12:32: unknown key "write" in a call (there are name, id, args)`},
		{"arguments as a list", "{text: hello}", "{calls: [{read: [a]}]}",
			`12:21: the arguments of "read" must be a mapping or a raw text, not a list (write {} for no arguments)`},
		{"argument that is no JSON", "{text: hello}", "{calls: [{read: {n: .inf}}]}",
			`12:25: .inf is not a JSON number (write it in plain decimal, or as text: ".inf")`},

		// Variant and config.
		{"variant", "label: healthy", "label: healthy\nvariant: hpd-agnet", `4:10: there is no variant "hpd-agnet" (did you mean hpd-agent?)`},
		{"key of a config", "label: healthy", "label: healthy\nconfig: {limits: {turnz: 3}}", `4:19: unknown key "turnz" in limits (did you mean turns?)`},
		{"value of a config", "label: healthy", "label: healthy\nconfig: {limits: {turns: -3}}", `4:26: turns must be 0 (off) or more, not -3`},
		{"word of a config", "label: healthy", "label: healthy\nconfig: {errors: {trip: exceded}}",
			`4:25: trip must be one of reached, exceeded, not "exceded" (did you mean exceeded?)`},
		{"duration of a config", "label: healthy", "label: healthy\nconfig: {time: {tool: 30}}",
			`4:23: tool must be a duration, not "30" (durations need a unit, such as 30s, 200ms or 1m30s)`},
		{"detector of a config", "label: healthy", "label: healthy\nconfig:\n  detectors:\n    - {name: loop, do: [{at: 0, act: stop}]}",
			`6:30: at must be 1 or more, not 0`},
		{"detector without action", "label: healthy", "label: healthy\nconfig:\n  detectors:\n    - {name: loop}",
			`6:7: do must list a count and an act, such as {at: 5, act: stop}`},

		// What no file may hold.
		{"anchor", "task: Say hello", "task: &a Say hello", `4:7: anchors are not allowed (write the value out where it is needed)`},
		{"alias", "  - {text: hello}", "  - {text: *a}", `12:12: aliases are not allowed (write the value out)`},
		{"tag", "task: Say hello", "task: !!str 12", `4:7: tags are not allowed (put a text that looks like a number in quotes)`},
		{"merge", "expect:\n", "expect:\n  <<: {turns: 1}\n", `14:3: merges are not allowed (write the keys out)`},
		{"second document", "label: healthy", "label: healthy\n---\nlabel: runaway", `5:1: a second document begins here (a file is one document: take out the lines --- and %)`},
		{"tab", "expect:\n  end", "expect:\n\tend", `14:1: a tab is not allowed here (indent with spaces)`},
		{"colon in a text", "task: Say hello", "task: Say: hello",
			`4:7: mapping value is not allowed in this context (a text that holds ": " needs quotes; the keys of one mapping begin in the same column)`},
		{"open bracket", "  - {text: hello}", "  - {text: [hello}",
			`12:18: ',' or ']' must be specified (a list that begins with [ ends with ])`},
		{"NUL", "task: Say hello", "task: Say\x00hello", `4:10: the control character U+0000 is not allowed in a file (write such a character in double quotes as \x1b or \u001b)`},
		{"escape", "task: Say hello", "task: é\x1b[2J", `4:8: the control character U+001B is not allowed in a file (write such a character in double quotes as \x1b or \u001b)`},
		{"broken UTF-8", "task: Say hello", "task: é\xff", `4:8: the byte 0xff is not UTF-8 (write such a character in double quotes as \x1b or \u001b)`},
		{"nothing", valid, "", `holds nothing`},
		{"only a comment", valid, "# later\n", `holds nothing`},
		{"deep brackets", valid, strings.Repeat("[", 20_000), `1:101: nested more than 100 deep`},
		{"deep brackets after others", valid, strings.Repeat("]", 200) + strings.Repeat("[", 20_000), `1:301: nested more than 100 deep`},
		{"deep lists", valid, strings.Repeat("- ", 20_000) + "x", `1:201: nested more than 100 deep`},
		{"deep mappings", valid, strings.Repeat("{a: ", 20_000), `1:401: nested more than 100 deep`},
	}
	distinct := map[string]bool{}
	for _, tt := range tests {
		distinct[tt.want] = true
	}
	if len(distinct) < 60 {
		t.Errorf("%d messages are distinct, want 60", len(distinct))
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !strings.Contains(valid, tt.old) {
				t.Fatalf("the valid file does not hold %q", tt.old)
			}
			if got := strings.Join(mistakes(t, strings.Replace(valid, tt.old, tt.new, 1)), "|"); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// All mistakes of all files come in one go, in the order of file, line and
// column.
func TestMistakesOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "b/one.yaml", strings.Replace(valid, "label: healthy", "label: well", 1))
	write(t, dir, "a/two.yaml", strings.NewReplacer("{text: hello}", "{txt: hello, chunks: 0}", "label: healthy", "lable: healthy").Replace(valid))
	_, err := Load(dir)
	var ms Mistakes
	if !errors.As(err, &ms) {
		t.Fatalf("got %v", err)
	}
	var got []string
	for _, m := range ms {
		name, _ := filepath.Rel(dir, m.File)
		got = append(got, fmt.Sprintf("%s:%d:%d", filepath.ToSlash(name), m.Line, m.Column))
	}
	// a/two.yaml: no label (the file begins at 1:1), lable, txt, chunks.
	want := "a/two.yaml:1:1 a/two.yaml:3:1 a/two.yaml:12:6 a/two.yaml:12:26 b/one.yaml:3:8"
	if strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestMistakeText(t *testing.T) {
	tests := []struct {
		name string
		m    Mistake
		want string
	}{
		{"all of it", Mistake{File: "a.yaml", Line: 14, Column: 3, Problem: "p", Hint: "h", Excerpt: text.Excerpt("  turnz: 3", 14, 3)},
			"a.yaml:14:3: p\n  14 |   turnz: 3\n     |   ^\nhint: h"},
		{"a whole file", Mistake{File: "a.yaml", Problem: "holds nothing"}, "a.yaml: holds nothing"},
		{"a hostile name", Mistake{File: "a\x1b[2J.yaml", Problem: "p"}, "a\\x1b[2J.yaml: p"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.m.Error(); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// A file beyond the cap is refused after reading no more than the cap.
func TestLargeFile(t *testing.T) {
	text := valid + strings.Repeat("# "+strings.Repeat("x", 62)+"\n", maxFileBytes/65)
	if _, err := load(t, text[:maxFileBytes]); err != nil {
		t.Errorf("a file of %d bytes: %v", maxFileBytes, err)
	}
	if got := mistakes(t, text+strings.Repeat("#", maxFileBytes)); got[0] != "is larger than 1048576 bytes" {
		t.Errorf("got %q", got)
	}
}

func TestWideCollections(t *testing.T) {
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	tests := []struct{ name, text, want string }{
		{"keys", numbered("k%d: 1\n", 1001), "1001:1: more than 1000 keys in one mapping"},
		// Four characters an entry, "k0, ", up to k9, then five, then six; the
		// comma that is one too many follows k1000 at 2 + 40 + 450 + 5400 + 5.
		{"keys in brackets", "{" + numbered("k%d, ", 1002), "1:5897: more than 1000 keys in one mapping"},
		{"entries", strings.Repeat("-\n", 10_001), "10001:1: more than 10000 entries in one list"},
		{"entries in brackets", "[" + strings.Repeat("1,", 10_001), "1:20003: more than 10000 entries in one list"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := mistakes(t, tt.text); got[0] != tt.want {
				t.Errorf("got %q, want %q", got[0], tt.want)
			}
		})
	}
	// Many collections that are not wide.
	if got := mistakes(t, numbered("- {a: 1, b: [%d, 2]}\n", 9000)); got[0] != "1:1: a scenario must be a mapping, not a list" {
		t.Errorf("got %q", got[0])
	}
}

// A file with more mistakes than anybody reads stops at a hundred.
func TestManyMistakes(t *testing.T) {
	if got := mistakes(t, valid+"user:\n  messages: ["+strings.Repeat("1, ", 5000)+"]\n"); len(got) != maxMistakes {
		t.Errorf("got %d mistakes", len(got))
	}
}

// No token at all is what the parser does not expect.
func TestParserPanics(t *testing.T) {
	if _, err := parse(token.Tokens{nil}); err == nil || !strings.HasPrefix(err.Error(), "the parser gave up: ") {
		t.Errorf("got %v", err)
	}
}

func TestPathsThatAreNone(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "empty/readme.txt", "no scenario")
	write(t, dir, "empty/variants/v.yaml", "extends: none\n")
	write(t, dir, "empty/.git/s.yaml", valid)
	tests := []struct{ name, path, want string }{
		{"a folder without scenarios", "empty", "there is no scenario in this folder or below it: a scenario is a .yaml file"},
		{"a missing file", "gone.yaml", "there is no such file or folder"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(filepath.Join(dir, tt.path))
			if want := filepath.Join(dir, tt.path) + ": " + tt.want; err == nil || err.Error() != want {
				t.Errorf("got %v\nwant %s", err, want)
			}
		})
	}
}

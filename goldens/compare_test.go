package goldens

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// batch is a run with a batch of two, a retry and a note.
const batch = `   0.000s started text=go
          > ask m1#1 for=reply to=1
   2.000s reply m1 call=call_1:read(` + "`" + `{"path":"a"}` + "`" + `) call=call_2:read(` + "`" + `{"path":"b"}` + "`" + `) finish=tool_calls
          > call c1#1 name=read args=` + "`" + `{"path":"a"}` + "`" + `
          > call c2#1 name=read args=` + "`" + `{"path":"b"}` + "`" + `
   2.100s result c1#1 ok text=A
   2.200s result c2#1 code=RetryableServer text=503
   3.200s tick
          > call c2#2 name=read args=` + "`" + `{"path":"b"}` + "`" + `
   3.400s result c2#2 ok text=B
          > put c1 text=A
          > put c2 text=B
          > note event=limit-near
          > ask m2#1 for=reply to=4
   5.400s reply m2 text=done finish=stop
          > halt stop=done end=DONE answer=done turns=2 model_calls=2 asked=2 calls=2 tries=3 elapsed=5.4s
`

// swapped is batch with its two calls the other way round.
const swapped = `   0.000s started text=go
          > ask m1#1 for=reply to=1
   2.000s reply m1 call=call_1:read(` + "`" + `{"path":"b"}` + "`" + `) call=call_2:read(` + "`" + `{"path":"a"}` + "`" + `) finish=tool_calls
          > call c1#1 name=read args=` + "`" + `{"path":"b"}` + "`" + `
          > call c2#1 name=read args=` + "`" + `{"path":"a"}` + "`" + `
   2.100s result c2#1 ok text=A
   2.200s result c1#1 code=RetryableServer text=503
   3.200s tick
          > call c1#2 name=read args=` + "`" + `{"path":"b"}` + "`" + `
   3.400s result c1#2 ok text=B
          > put c1 text=B
          > put c2 text=A
          > note event=limit-near
          > ask m2#1 for=reply to=4
   5.400s reply m2 text=done finish=stop
          > halt stop=done end=DONE answer=done turns=2 model_calls=2 asked=2 calls=2 tries=3 elapsed=5.4s
`

// edited changes a text, and makes sure that there was something to change.
func edited(t *testing.T, text string, oldNew ...string) string {
	t.Helper()
	for i := 0; i < len(oldNew); i += 2 {
		if !strings.Contains(text, oldNew[i]) {
			t.Fatalf("%q is not in\n%s", oldNew[i], text)
		}
		text = strings.ReplaceAll(text, oldNew[i], oldNew[i+1])
	}
	return text
}

func parseTrace(t *testing.T, text string) loop.Trace {
	t.Helper()
	trace, err := loop.ParseTrace(text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return trace
}

func allowances(t *testing.T, texts ...string) (all []Allowance) {
	t.Helper()
	for _, text := range texts {
		a, err := ParseAllowance(text + ": for the test")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

// line returns the text of a line that holds a call.
func callLine(ref, path string) string {
	return fmt.Sprintf("          > call %s name=read args=`{\"path\":%q}`\n", ref, path)
}

// Each mode: what it lets pass, and its nearest neighbour that it does not.
// Lines are counted in the trace of the golden, 0 = it matches.
func TestModes(t *testing.T) {
	halt := "          > halt stop=done end=DONE answer=done turns=2 model_calls=2 asked=2 calls=2 tries=3 elapsed=5.4s\n"
	longer := edited(t, batch, callLine("c2#1", "b"), callLine("c2#1", "b")+callLine("c3#1", "c"))
	shorter := edited(t, batch, callLine("c2#1", "b"), "")
	spaced := edited(t, batch, `c1#1 name=read args=`+"`"+`{"path":"a"}`, `c1#1 name=read args=`+"`"+`{ "path": "a" }`)
	for _, c := range []struct {
		what string
		mode Mode
		got  string
		line int
	}{
		{"the same", Strict, batch, 0},
		{"another time", Strict, edited(t, batch, "2.100s", "2.101s"), 6},
		{"calls in another order", Strict, swapped, 3},
		{"white space in arguments", Strict, spaced, 4},

		{"other times, texts and ids", Actions, edited(t, batch, "2.100s", "2.101s", "text=A", "text=AA", "call_1", "x", "limit-near", "trimmed", "elapsed=5.4s", "elapsed=6s"), 0},
		{"other arguments", Actions, edited(t, batch, callLine("c1#1", "a"), callLine("c1#1", "c")), 4},
		{"another tool", Actions, edited(t, batch, "c1#1 name=read", "c1#1 name=write"), 4},
		{"white space in arguments", Actions, spaced, 0},
		{"calls in another order", Actions, swapped, 4},
		{"a call more", Actions, longer, 16},
		{"a call less", Actions, shorter, 5},
		{"another try", Actions, edited(t, batch, callLine("c2#2", "b"), ""), 0},
		{"another stop", Actions, edited(t, batch, "stop=done", "stop=turn-limit"), 16},
		{"another end", Actions, edited(t, batch, "end=DONE", "end=CANCELLED"), 16},
		{"no end", Actions, edited(t, batch, halt, ""), 16},

		{"calls in another order", Unordered, swapped, 0},
		{"results of the other call", Unordered, edited(t, swapped, "c2 text=A", "c2 text=B", "c1 text=B", "c1 text=A"), 11},
		{"other arguments", Unordered, edited(t, swapped, `"path":"a"`, `"path":"c"`), 3},
		{"a time", Unordered, edited(t, swapped, "2.100s", "2.101s"), 6},
		{"an answer", Unordered, edited(t, swapped, "answer=done", "answer=no"), 16},

		{"the same", Subset, batch, 0},
		{"a call less", Subset, shorter, 0},
		{"a call more", Subset, longer, 16},
		{"another call", Subset, edited(t, batch, callLine("c1#1", "a"), callLine("c1#1", "c")), 5}, // a may be missing; c comes before b
		{"another order", Subset, swapped, 16},
		{"another stop", Subset, edited(t, batch, "stop=done", "stop=turn-limit"), 16},

		{"the same", Superset, batch, 0},
		{"a call more", Superset, longer, 0},
		{"a call less", Superset, shorter, 5},
		{"another call", Superset, edited(t, batch, callLine("c1#1", "a"), callLine("c1#1", "c")), 4},
		{"another order", Superset, swapped, 5}, // behind a, which may come late, there is no b
		{"no end", Superset, edited(t, batch, halt, ""), 16},
	} {
		t.Run(string(c.mode)+"/"+c.what, func(t *testing.T) {
			g := &Golden{Terms: Terms{Mode: c.mode}, Trace: batch}
			d := g.Compare(parseTrace(t, c.got))
			checkLine(t, g, d, c.line)
		})
	}
}

func checkLine(t *testing.T, g *Golden, d *Difference, line int) {
	t.Helper()
	switch {
	case line == 0 && d != nil:
		t.Errorf("want a match, got\n%s", d)
	case line != 0 && d == nil:
		t.Errorf("want a difference in line %d, got a match", line)
	case line != 0 && d.Line != g.headerLines()+line:
		t.Errorf("want line %d, got line %d:\n%s", line, d.Line-g.headerLines(), d)
	}
}

// Each allowance: what it lets pass, and its nearest neighbour that it does not.
func TestAllowances(t *testing.T) {
	tick := "   3.200s tick\n"
	args := func(old, new string) string { return edited(t, walk, old, new) }
	for _, c := range []struct {
		allow string // one or more, separated by ;
		from  string // the golden's trace
		got   string
		line  int
	}{
		{"field put.text", walk, args("c1 text=\"took", "c1 text=\"needed"), 0},
		{"field put.text", walk, args("took", "needed"), 5}, // the result's is not allowed
		{"field *.text", walk, args("took", "needed"), 0},
		{"field *.text", walk, args("for=reply to=3", "for=final to=3"), 7},
		{"field *.time", walk, args("2.200s result", "2.300s result"), 0},
		{"field result.time", walk, args("4.200s reply", "4.300s reply"), 8},
		{"field reply.id", walk, args("call_1", "x"), 0},
		{"field reply.id", walk, args("call_1:search", "x:find"), 3},
		{"field halt.elapsed", walk, args("elapsed=4.2s", "elapsed=5s"), 0},
		{"field halt.elapsed", walk, args("out=25 elapsed", "out=26 elapsed"), 9},
		{"field halt.stop", walk, args("stop=done", "stop=turn-limit"), 0},
		{"field call.args", walk, args("c1#1 name=search args=`{\"q\":\"b\"", "c1#1 name=search args=`{\"q\":\"c\""), 0},
		{"field call.args", walk, args(`"q":"b"`, `"q":"c"`), 3}, // the reply's are not allowed

		{"field reply.in within 5", walk, args("in=100", "in=105"), 0},
		{"field reply.in within 5", walk, args("in=100", "in=95"), 0},
		{"field reply.in within 5", walk, args("in=100", "in=106"), 3},
		{"field reply.in within 5", walk, args("in=100", "in=94"), 3},
		{"field reply.in within 5", walk, args("in=220", "in=221"), 9}, // the halt's
		{"field reply.in within 10%", walk, args("in=100", "in=110"), 0},
		{"field reply.in within 10%", walk, args("in=100", "in=111"), 3},
		{"field *.time within 0.1s", walk, args("2.200s result", "2.300s result"), 0},
		{"field *.time within 0.1s", walk, args("2.200s result", "2.301s result"), 5},
		{"field halt.elapsed within 25%", walk, args("elapsed=4.2s", "elapsed=5.25s"), 0},
		{"field halt.elapsed within 25%", walk, args("elapsed=4.2s", "elapsed=5.26s"), 9},

		{"argument search $.q", walk, args(`"q":"b"`, `"q":["c"]`), 0},
		{"argument search $.q", walk, args(`"q":"b",`, ``), 0}, // missing is another value as well
		{"argument search $.q", walk, args(`"limit":10`, `"limit":11`), 3},
		{"argument find $.q", walk, args(`"q":"b"`, `"q":"c"`), 3},
		{"argument * $.q", walk, args(`"q":"b"`, `"q":"c"`), 0},
		{"argument * $[*]", walk, args(`"q":"b","limit":10`, `"q":"c"`), 0},
		{"argument * $", walk, args(`{"q":"b","limit":10}`, `{"z":"c"}`), 0},
		{"argument * $[0]", walk, args(`"q":"b"`, `"q":"c"`), 3},
		{"argument * $.q", walk, args(`{"q":"b","limit":10}`, `{"q":"b"`), 3}, // broken JSON is compared as it stands
		{"argument search $.limit within 2", walk, args(`"limit":10`, `"limit":12`), 0},
		{"argument search $.limit within 2", walk, args(`"limit":10`, `"limit":12.5`), 3},
		{"argument search $.limit within 2", walk, args(`"limit":10`, `"limit":"10"`), 3},
		{"argument search $.limit within 2", walk, args(`,"limit":10`, ``), 3},
		{"argument search $.limit within 20%", walk, args(`"limit":10`, `"limit":8`), 0},
		{"argument search $.limit within 20%", walk, args(`"limit":10`, `"limit":7`), 3},

		{`text *.text "[0-9]+ms"`, walk, args("12ms", "7ms"), 0},
		{`text *.text "[0-9]+ms"`, walk, args("12ms", "7s"), 5},
		{`text put.text "[0-9]+ms"`, walk, args("12ms", "7ms"), 5},
		{`text halt.reason "model"`, walk, args("The model", "The modelmodel"), 9}, // two parts are not one

		{"added note.trimmed", batch, edited(t, batch, "          > note event=limit-near\n", "          > note event=limit-near\n          > note event=trimmed\n"), 0},
		{"added note.trimmed", batch, edited(t, batch, "          > note event=limit-near\n", ""), 13},
		{"added note.trimmed", batch, edited(t, batch, "event=limit-near", "event=nudged"), 13},
		{"added note", batch, edited(t, batch, "          > note event=limit-near\n", "          > note event=limit-near\n          > note event=trimmed\n"), 0},
		{"missing note.limit-near", batch, edited(t, batch, "          > note event=limit-near\n", ""), 0},
		{"missing note.limit-near", batch, edited(t, batch, "          > note event=limit-near\n", "          > note event=limit-near\n          > note event=limit-near\n"), 14},
		{"missing tick", batch, edited(t, batch, tick, ""), 0},
		{"missing tick", batch, edited(t, batch, "          > put c2 text=B\n", ""), 12},
		{"added tick;missing note", batch, edited(t, batch, tick, tick+tick, "          > note event=limit-near\n", ""), 0},

		{"retries", batch, edited(t, batch, "   2.200s result c2#1 code=RetryableServer text=503\n", "", tick, "", callLine("c2#1", "b"), callLine("c2#1", "b"),
			callLine("c2#2", "b"), "", "c2#2", "c2#1", "tries=3", "tries=2", "elapsed=5.4s", "elapsed=4s"), 0},
		{"retries", batch, edited(t, batch, "3.400s result c2#2 ok text=B", "3.400s result c2#2 ok text=C"), 10},
		{"retries", batch, edited(t, batch, " calls=2", " calls=1"), 16},
		{"field *.time;field halt.elapsed", batch, edited(t, batch, "2.200s result c2#1 code=RetryableServer text=503\n", "2.200s result c2#1 ok text=503\n"), 7},
	} {
		t.Run(c.allow, func(t *testing.T) {
			g := &Golden{Trace: c.from, Terms: Terms{Allow: allowances(t, strings.Split(c.allow, ";")...)}}
			trace := parseTrace(t, c.got)
			d := g.Compare(trace)
			checkLine(t, g, d, c.line)
			if d := (&Golden{Trace: c.from}).Compare(trace); d == nil {
				t.Error("without the allowance it matches too: the test shows nothing")
			}
			if unused := g.Unused(trace); d == nil && len(unused) > 0 {
				t.Errorf("%v is reported to find nothing", unused)
			}
		})
	}
}

// An allowance that finds nothing to allow is reported, also where the traces are
// the same.
func TestUnused(t *testing.T) {
	unused := []string{"field answer.text", "field reply.cost", "argument find $.q", "argument search $.r", `text put.text "x+y"`, "added tick",
		"missing note.nudged", "retries", "field reply.cost within 5", "argument search $.r within 5"}
	used := []string{"field reply.text", "field reply.in within 5", "argument search $.q", `text put.text "[0-9]"`, "added put", "missing halt", "field *.time", "field reply.id"}
	g := &Golden{Trace: walk, Terms: Terms{Allow: allowances(t, append(append([]string{}, unused...), used...)...)}}
	got := g.Unused(parseTrace(t, walk))
	if len(got) != len(unused) {
		t.Fatalf("got %d, want %d: %v", len(got), len(unused), got)
	}
	for i, a := range got {
		if a.Difference() != unused[i] {
			t.Errorf("got %s, want %s", a, unused[i])
		}
	}
	if got := (&Golden{Trace: batch, Terms: Terms{Allow: allowances(t, "retries", "added tick", "missing note.limit-near")}}).Unused(parseTrace(t, batch)); len(got) > 0 {
		t.Errorf("%v are reported to find nothing", got)
	}
}

// Several goroutines can compare with a golden that has an allowance.
func TestCompareChangesNothing(t *testing.T) {
	g := &Golden{Trace: batch, Terms: Terms{Mode: Unordered, Allow: allowances(t, "field *.time", "argument * $.x", "retries", `text *.text "A"`, "field reply.in within 2")}}
	trace := parseTrace(t, swapped)
	before := string(g.Format())
	if d := g.Compare(trace); d != nil {
		t.Errorf("want a match, got\n%s", d)
	}
	g.Unused(trace)
	if trace.String() != swapped || string(g.Format()) != before {
		t.Error("the trace or the golden was changed")
	}
}

// Permissions are asked in the order of the calls: with another order they have other
// numbers, which unordered permits. It does not permit another call to be denied.
func TestUnorderedGates(t *testing.T) {
	run := func(first, second, deny string) string {
		var b strings.Builder
		answer := func(path string) string {
			if path == deny {
				return "deny"
			}
			return "allow"
		}
		fmt.Fprintf(&b, "   0.000s started text=go\n          > ask m1#1 for=reply to=1\n"+
			"   2.000s reply m1 call=call_1:read(`{\"path\":%q}`) call=call_2:read(`{\"path\":%q}`) finish=tool_calls\n", first, second)
		for i, path := range []string{first, second} {
			fmt.Fprintf(&b, "          > gate g%d of=c%d name=read args=`{\"path\":%q}`\n   %d.000s gate g%d %s\n", i+1, i+1, path, i+3, i+1, answer(path))
		}
		for i, path := range []string{first, second} {
			if path != deny {
				fmt.Fprintf(&b, "%s   5.000s result c%d#1 ok text=%s\n", callLine(fmt.Sprintf("c%d#1", i+1), path), i+1, path)
			}
		}
		for i, path := range []string{first, second} {
			if path == deny {
				fmt.Fprintf(&b, "          > put c%d code=Forbidden why=denied text=no\n", i+1)
			} else {
				fmt.Fprintf(&b, "          > put c%d text=%s\n", i+1, path)
			}
		}
		b.WriteString("          > ask m2#1 for=reply to=4\n")
		return b.String()
	}
	g := &Golden{Trace: run("a", "b", "b"), Terms: Terms{Mode: Unordered, Allow: allowances(t, "field gate.time")}} // the first one asked is answered first
	if d := g.Compare(parseTrace(t, run("b", "a", "b"))); d != nil {
		t.Errorf("want a match, got\n%s", d)
	}
	if d := g.Compare(parseTrace(t, run("b", "a", "a"))); d == nil {
		t.Error("the other call was denied, and it matches")
	}
}

// A reply that was ignored has no results: its calls stay as they are.
func TestUnorderedIgnored(t *testing.T) {
	late := func(first, second string) string {
		return batch + fmt.Sprintf("   9.000s reply m2 call=x:read(%s) call=y:read(%s)\n          > note m2 event=ignored\n", first, second)
	}
	g := &Golden{Terms: Terms{Mode: Unordered}, Trace: late("1", "2")}
	if d := g.Compare(parseTrace(t, late("1", "2"))); d != nil {
		t.Errorf("want a match, got\n%s", d)
	}
	if d := g.Compare(parseTrace(t, late("2", "1"))); d == nil || d.Line != g.headerLines()+17 {
		t.Errorf("want a difference in the late reply, got %v", d)
	}
}

// A run that ends in the middle of a batch differs where it ends, not in the reply before,
// whose calls have ids.
func TestUnorderedCutShort(t *testing.T) {
	g := &Golden{Terms: Terms{Mode: Unordered}, Trace: batch}
	cut := strings.Join(strings.SplitAfter(batch, "\n")[:3], "") + "          > halt stop=stopped-by-agent end=STOPPED turns=1 model_calls=1 asked=2\n"
	if d := g.Compare(parseTrace(t, cut)); d == nil || d.Line != g.headerLines()+4 {
		t.Errorf("want a difference in the first call, got\n%s", d)
	}
}

// Whatever the traces and the allowance: a trace equals itself, a comparison does not
// panic, and what it says cannot steer a terminal.
func FuzzCompare(f *testing.F) {
	for i, allowed := range []string{"field *.time within 0.1s", "argument * $[*]", "text *.text \"[0-9]+\"", "retries", "added tick", "missing note.limit-near", ""} {
		f.Add(batch, swapped, allowed, uint8(i))
		f.Add(walk, batch, allowed, uint8(i+1))
	}
	f.Fuzz(func(t *testing.T, a, b, allowed string, mode uint8) {
		trace, err := loop.ParseTrace(a)
		if err != nil {
			return
		}
		g := &Golden{Terms: Terms{Mode: Modes()[int(mode)%len(Modes())]}, Trace: a}
		if a, err := ParseAllowance(allowed + ": x"); err == nil {
			g.Allow = []Allowance{a}
		}
		if d := g.Compare(trace); d != nil {
			t.Errorf("a trace differs from itself:\n%s", d)
		}
		g.Trace = strings.Replace(a, "1", "2", 1)
		check := func(d *Difference) {
			if d != nil && (d.Problem == "" || hidden(strings.ReplaceAll(d.String(), "\n", "")) && !strings.Contains(a+b, "\uFFFD")) {
				t.Errorf("a difference says nothing, or too much: %q", d)
			}
		}
		check(g.Compare(trace))
		g.Trace = b
		check(g.Compare(trace))
		g.Unused(trace)
	})
}

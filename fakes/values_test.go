package fakes

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

func TestValues(t *testing.T) {
	result := func(n int, text string) loop.Message {
		return loop.Message{Ref: c(n, 0), Role: loop.ToolRole, Text: text}
	}
	history := []loop.Message{
		result(3, `{"items":[{"id":17,"name":"a \"b\""},{"id":18}],"big":12345678901234567890,"ok":true}`),
		result(4, "plain\ntext"),
		{Ref: loop.Ref{Kind: loop.RefMessage, N: 3}, Role: loop.User, Text: "not a result"},
	}
	tests := []struct{ text, want string }{
		{"", ""},
		{"no values $ {turn} }", "no values $ {turn} }"},
		{"${turn}", "4"},
		{"a${call}b${call}c", "a9b9c"},
		{"seed ${seed}", "seed 18446744073709551615"},
		{"$${turn} $$${turn} ${turn}", "${turn} $${turn} 4"},
		{"$ ${turn}$", "$ 4$"},
		{"${pick:red}", "red"},
		{"${pick:|}", ""},
		{"${rand:5..5} ${rand:-3..-3}", "5 -3"},
		{"${result:c3.items.0.id}", "17"},
		{"${result:c3.big}", "12345678901234567890"},
		{"${result:c3.ok}", "true"},
		{"${result:c3.items.1}", `{"id":18}`},
		{`{"name":"${result:c3.items.0.name}"}`, `{"name":"a \"b\""}`},
		{`{"text":"${result:last}"}`, `{"text":"plain\ntext"}`},
		{`{"text":"${result:c4}"}`, `{"text":"plain\ntext"}`},
	}
	for _, tt := range tests {
		tmpl, err := parse(tt.text, true)
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		got, err := tmpl.append(nil, &vars{turn: 4, call: 9, seed: 1<<64 - 1, history: history})
		if err != nil || string(got) != tt.want {
			t.Errorf("%s gave %s, %v; want %s", tt.text, got, err, tt.want)
		}
	}
}

func TestMissingResults(t *testing.T) {
	history := []loop.Message{
		{Ref: c(1, 0), Role: loop.ToolRole, Text: `{"items":[1]}`},
		{Ref: c(2, 0), Role: loop.ToolRole, Text: "Error: " + strings.Repeat("x", 1000)},
	}
	for text, want := range map[string]string{
		"${result:c7.id}":      "the history has no result of call c7",
		"${result:c1.id}":      `the result of call c1 has no "id" there`,
		"${result:c1.items.1}": `has no "1" there`,
		"${result:c1.items.x}": `has no "x" there`,
		"${result:last.id}":    "the result of call c2 is not JSON",
	} {
		tmpl, err := parse(text, true)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		_, err = tmpl.append(nil, &vars{history: history})
		if err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestValuesThatCannotBeMeant(t *testing.T) {
	for text, want := range map[string]string{
		"a ${turn":                        "${ without }",
		"${}":                             "no such value",
		"${turns}":                        "no such value",
		"${turn:1}":                       "no such value",
		"${rand}":                         "not a range",
		"${rand:1}":                       "not a range",
		"${rand:a..b}":                    "not a range",
		"${rand:6..1}":                    "from the lower to the higher",
		"${rand:0..99999999999999999999}": "not a range",
		"${pick:}":                        "nothing to pick from",
		"${pick}":                         "nothing to pick from",
		"${result:first.id}":              "no such result",
		"${result:c0}":                    "no such result",
		"${result:3.id}":                  "no such result",
		"${result:}":                      "no such result",
		"${result}":                       "no such result",
		"${rand:-9223372036854775808..9223372036854775807}": "a range goes",
	} {
		if _, err := parse(text, true); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
	if _, err := parse("${result:last.id}", false); err == nil || !strings.Contains(err.Error(), "only the arguments") {
		t.Errorf("a result in a text: %v", err)
	}
	if _, err := parse("${result:last.id}", true); err != nil {
		t.Errorf("a result in arguments: %v", err)
	}
}

// Each number and each word comes up about as often as the others: of 6000
// draws 1000 each, give or take 5 standard deviations of
// sqrt(6000 × 1/6 × 5/6) = 29.
func TestDrawsAreEven(t *testing.T) {
	for _, text := range []string{"${rand:1..6}", "${pick:1|2|3|4|5|6}"} {
		tmpl, err := parse(text, false)
		if err != nil {
			t.Fatal(err)
		}
		counts := map[string]int{}
		for seed := range uint64(6000) {
			b, _ := tmpl.append(nil, &vars{key: newKey(seed).ref(c(1, 1))})
			counts[string(b)]++
		}
		for _, face := range []string{"1", "2", "3", "4", "5", "6"} {
			if n := counts[face]; n < 1000-145 || n > 1000+145 {
				t.Errorf("%s gave %s %d times of 6000", text, face, n)
			}
		}
		if len(counts) != 6 {
			t.Errorf("%s gave %d different texts", text, len(counts))
		}
	}
}

// Two values of one text, two calls and two tries are drawn apart.
func TestDrawsDiffer(t *testing.T) {
	const r = "${rand:1..1000000000}"
	w := NewWorld(oneTool(Answer{Result: r + " " + r}), 1)
	got := answers(t, w, call(1, 1, "f", ""), call(1, 2, "f", ""), call(2, 1, "f", ""))
	seen := map[string]bool{}
	for _, in := range got {
		for _, n := range strings.Fields(in.Text) {
			if seen[n] {
				t.Errorf("%s came twice", n)
			}
			seen[n] = true
		}
	}
	// A request that is made again gets the same reply.
	w = NewWorld(model(Step{Text: r, Calls: []StepCall{{Args: r}, {Args: r}}, Failures: []ModelFailure{{Text: r}}}), 1)
	do(w, 0, ask(1, 1), ask(1, 2), ask(1, 3))
	failure, first, second := next(t, w), next(t, w), next(t, w)
	texts := map[string]bool{failure.Text: true, first.Text: true, first.Calls[0].Args: true, first.Calls[1].Args: true}
	if len(texts) != 4 {
		t.Errorf("two of them are the same: %v", texts)
	}
	if first.Text != second.Text || first.Calls[0].Args != second.Calls[0].Args {
		t.Error("the second try said something else")
	}
}

// Known answers of SplitMix64 with seed 0: its n-th output is the finaliser of
// n × golden.
func TestMix(t *testing.T) {
	for n, want := range []uint64{0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f} {
		if got := mix(uint64(n+1) * golden); got != want {
			t.Errorf("output %d is %#x, not %#x", n+1, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	low, high := false, false
	s := Span{Min: 50 * ms, Max: 52 * ms}
	for n := range 100 {
		switch d := s.draw(newKey(1).of(n)); d {
		case s.Min:
			low = true
		case 51 * ms:
		case s.Max:
			high = true
		default:
			t.Fatalf("drew %v", d)
		}
	}
	if !low || !high {
		t.Error("an end of the span never came up in 100 draws of 3 values")
	}
	if d := (Span{Min: 5, Max: 4}).draw(1); d != 5 {
		t.Errorf("a span without width gave %v", d)
	}
	seen := map[time.Duration]bool{}
	for n := range 100 {
		seen[Span{Min: 5, Max: 8}.draw(newKey(1).of(n))] = true
	}
	if len(seen) != 4 || !seen[5] || !seen[6] || !seen[7] || !seen[8] {
		t.Errorf("a span of 5 to 8 ns gave %v", seen)
	}
	if Instantly() == (Span{}) || Instantly().draw(1) != 0 {
		t.Error("Instantly is the zero Span, or takes time")
	}
}

// FuzzValues: a text that parses always gets the same values, no result breaks out
// of the quotes around it, and the errors of parse have one line.
func FuzzValues(f *testing.F) {
	f.Add(`{"a":"${result:last.x.0}","b":${turn}}`, `{"x":["\"}"]}`)
	f.Add("$${ ${pick:a|b} ${rand:1..6}${", "\x00\xff\u2028\"\\")
	quoted, err := parse(`{"a":"${result:last}"}`, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, result string) {
		v := &vars{turn: 1, call: 1, key: 1, history: []loop.Message{{Ref: c(1, 0), Role: loop.ToolRole, Text: result}}}
		if args, err := quoted.append(nil, v); err != nil || !json.Valid(args) {
			t.Errorf("the result %q broke the arguments: %s, %v", result, args, err)
		}
		tmpl, err := parse(text, true)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("an error of several lines: %q", err)
			}
			return
		}
		one, err := tmpl.append(nil, v)
		if err != nil {
			return
		}
		if two, _ := tmpl.append(nil, v); string(one) != string(two) {
			t.Errorf("%q said %q, then %q", text, one, two)
		}
		if tmpl.parts == nil && string(one) != text {
			t.Errorf("%q without values said %q", text, one)
		}
	})
}

package fakes

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// One fault of each kind and form.
var someFaults = []string{
	"drop model 3", "drop tool 2", "drop tool read_file 2", "drop model 10%", "drop tool read_file 100%", "drop model 3#2",
	"delay model 3 5s", "delay tool 999999999#12 1m30s", "delay tool a.b-c 1 500ms", "delay model 1 5m", "delay model 1 2h", "delay model 1 2h3m",
	"error model 2#3 503", "error tool 4 RetryableServer", "error tool f 7% NotFound", "malform model 2", "cut model 3 after 2",
	"cut model 3 after 0", "duplicate model 2", "reorder model 3", "swap-ids model 2", "empty model 4", "empty tool 1", "oversize tool 1 600000",
}

func TestFaultsPrintAsTheyParse(t *testing.T) {
	for _, text := range someFaults {
		f, err := ParseFault(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if f.String() != text {
			t.Errorf("%s prints as %s", text, f)
		}
	}
}

// The table of docs/scenarios-more.md has one line for each row of the table of kinds,
// in its order, and each example is a fault of its row.
func TestFaultKindsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/scenarios-more.md")
	if err != nil {
		t.Fatal(err)
	}
	want := "\n| fault | what happens |\n| --- | --- |\n"
	for i := range faultKinds {
		k := &faultKinds[i]
		want += "| `" + k.example + "` | " + k.effect + " |\n"
		if f, err := ParseFault(k.example); err != nil || f.kind() != k || f != FaultExamples()[i] {
			t.Errorf("%s is %v (%v)", k.example, f, err)
		}
	}
	if !strings.Contains(string(page), want+"\n") {
		t.Errorf("docs/scenarios-more.md does not have this table:\n%s", want)
	}
}

// Each kind strikes only its target, and changes the answer.
func TestEachFaultKindFires(t *testing.T) {
	for i := range faultKinds {
		k := &faultKinds[i]
		if (k.reply == nil) == (k.result == nil) {
			t.Errorf("%s strikes both targets or none", k.example)
			continue
		}
		f := FaultExamples()[i]
		f.Tool, f.N, f.Try = "", 1, 0
		s := oneTool(Answer{Result: "abc"})
		s.Model, s.Faults = pair().Model, []Fault{f}
		w := NewWorld(s, 1)
		do(w, 0, ask(1, 1), call(1, 1, "f", "{}"))
		if left := w.NotFired(); len(left) > 0 {
			t.Errorf("%v does not fire", left)
		}
	}
}

// Words of faults in a random order are rarely a fault; those that are one print as
// they were written.
func TestFaultsOfRandomWords(t *testing.T) {
	words := strings.Fields(strings.Join(someFaults, " ") + " 0 1#1 007 0% 5000ms after x")
	r, read := rand.New(rand.NewPCG(1, 2)), 0
	for range 50_000 {
		text := words[r.IntN(len(words))]
		for range 2 + r.IntN(3) {
			text += " " + words[r.IntN(len(words))]
		}
		f, err := ParseFault(text)
		if err != nil {
			continue
		}
		if read++; f.String() != text {
			t.Fatalf("%q prints as %q", text, f)
		}
	}
	if read < 100 {
		t.Errorf("only %d texts were faults: the test shows nothing", read)
	}
}

func TestFaultsThatAreNone(t *testing.T) {
	for text, want := range map[string]string{
		"":                         `there is no fault ""`,
		"drip model 3":             `there is no fault "drip"`,
		"drop user 3":              "a fault strikes the model or a tool",
		"drop model":               "a fault strikes a number",
		"drop model x":             "a fault strikes a number",
		"drop model 0":             "numbers and shares begin with 1",
		"drop model 101%":          "a share is at most 100%",
		"drop model 3#1":           "a fault without #N strikes the first try",
		"drop model 03":            `write it as "drop model 3"`,
		"drop  model 3":            "a fault strikes the model or a tool",
		"drop model 3 5s":          `drop model 3 takes no operand: remove "5s"`,
		"delay model 3":            "delay needs a duration",
		"delay model 3 -5s":        "delay needs a duration",
		"delay model 3 5000ms":     `write it as "delay model 3 5s"`,
		"error model 3 200":        "error model needs an HTTP status",
		"error tool 3 503":         "error tool needs a code",
		"malform tool 3":           "malform cannot strike a tool",
		"oversize model 3 10":      "oversize cannot strike a model",
		"oversize tool 3 99999999": "oversize needs a number of characters",
		"cut model 3 2":            "cut needs a number of pieces",
		"cut model 3 after -1":     "cut needs a number of pieces",
	} {
		if _, err := ParseFault(text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: got %v, want %s…", text, err, want)
		}
	}
}

// faulty lays faults over a script.
func faulty(t *testing.T, s *Script, texts ...string) *Script {
	t.Helper()
	for _, text := range texts {
		f, err := ParseFault(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Faults = append(s.Faults, f)
	}
	return s
}

// pair is a model that asks for f twice in a turn.
func pair() *Script {
	return model(Step{Text: "look", Calls: []StepCall{{Name: "f", Args: `{"n":1}`}, {Name: "f", Args: `{"n":2}`}}})
}

// The model's answer at 2 s, after each fault.
func TestFaultsOfTheModel(t *testing.T) {
	tests := []struct {
		fault string
		want  string // the input, in the words of a trace; "" = none
	}{
		{"error model 1 503", `failure m1 status=503 text="the fault was injected"`},
		{"empty model 1", "reply m1 finish=stop"},
		{"malform model 1", "reply m1 text=look call=call_1:f(`{\"n\"`) call=call_2:f(`{\"n\"`) finish=tool_calls"},
		{"duplicate model 1", "reply m1 text=look call=call_1:f(`{\"n\":1}`) call=call_2:f(`{\"n\":2}`) call=call_1:f(`{\"n\":1}`) call=call_2:f(`{\"n\":2}`) finish=tool_calls"},
		{"reorder model 1", "reply m1 text=look call=call_2:f(`{\"n\":2}`) call=call_1:f(`{\"n\":1}`) finish=tool_calls"},
		{"swap-ids model 1", "reply m1 text=look call=call_2:f(`{\"n\":1}`) call=call_1:f(`{\"n\":2}`) finish=tool_calls"},
		{"delay model 1 5s", "reply m1 text=look call=call_1:f(`{\"n\":1}`) call=call_2:f(`{\"n\":2}`) finish=tool_calls"},
		{"drop model 1", ""},
		{"drop model 100%", ""},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			w := NewWorld(faulty(t, pair(), tt.fault), 1)
			do(w, 0, ask(1, 1))
			if left := w.NotFired(); len(left) > 0 {
				t.Errorf("%v did not fire", left)
			}
			at, ok := w.queue.first()
			if !ok || tt.want == "" {
				if ok || tt.want != "" {
					t.Errorf("something comes: %v, want %q", ok, tt.want)
				}
				return
			}
			want := 2 * sec
			if strings.HasPrefix(tt.fault, "delay") {
				want = 7 * sec
			}
			got := loop.Trace{{In: next(t, w)}}.String()
			if at != want || !strings.HasSuffix(strings.TrimSpace(got), tt.want) {
				t.Errorf("at %v:\n%s want %s", at, got, tt.want)
			}
		})
	}
}

// A stream of four pieces in 2 s breaks off after two of them: the failure is the
// third, so that they come at thirds of the time.
func TestCutFault(t *testing.T) {
	w := NewWorld(faulty(t, model(Step{Text: "abcd", Chunks: 4}), "cut model 1 after 2"), 1)
	do(w, 0, ask(1, 1))
	var got []string
	for range 3 {
		in := next(t, w)
		got = append(got, in.Text)
	}
	if want := []string{"a", "b", "the fault was injected"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFaultsOfTools(t *testing.T) {
	tests := []struct {
		fault string
		want  string // the tries of the second call, "" = none
	}{
		{"error tool 2 NotFound", `result c2#1 code=NotFound text="the fault was injected"`},
		{"error tool f 2 NotFound", `result c2#1 code=NotFound text="the fault was injected"`},
		{"empty tool 2", "result c2#1 ok"},
		{"oversize tool 2 5", "result c2#1 ok text=abcab"},
		{"delay tool 2 800ms", "1.000s result c2#1 ok text=abc"},
		{"drop tool 2", ""},
	}
	for _, tt := range tests {
		t.Run(tt.fault, func(t *testing.T) {
			w := NewWorld(faulty(t, oneTool(Answer{Result: "abc"}), tt.fault), 1)
			do(w, 0, call(1, 1, "f", "{}"), call(2, 1, "f", "{}"))
			if first := next(t, w); first.Ref != c(1, 1) || first.Text != "abc" {
				t.Errorf("the first call got %+v", first)
			}
			if left := w.NotFired(); len(left) > 0 {
				t.Errorf("%v did not fire", left)
			}
			if _, ok := w.queue.first(); !ok && tt.want == "" {
				return
			}
			if got := strings.TrimSpace(loop.Trace{{In: next(t, w)}}.String()); !strings.HasSuffix(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// A fault that finds nothing to spoil has not fired.
func TestFaultsThatDoNotFire(t *testing.T) {
	s := faulty(t, model(Step{Text: "done"}), "malform model 1", "reorder model 1", "swap-ids model 1", "duplicate model 1",
		"drop model 2", "drop model 1#2", "drop tool f 1", "empty model 1")
	w := NewWorld(s, 1)
	do(w, 0, ask(1, 1))
	if got, want := w.NotFired(), s.Faults[:7]; !slices.Equal(got, want) {
		t.Errorf("not fired: %v, want %v", got, want)
	}
}

// Of 2,000 requests a share of 10 % strikes about 200; the standard deviation is
// √(2000 × 0.1 × 0.9) = 13, and five of those are 67. The same requests are struck
// in whatever order they are asked.
func TestShareOfFaults(t *testing.T) {
	s := faulty(t, model(Step{Text: "x", Repeat: Forever}), "empty model 10%")
	model, err := NewModel(s, 3)
	if err != nil {
		t.Fatal(err)
	}
	struck := func(n int) bool {
		said, err := model.Say(0, Request{Ref: m(n, 1)})
		return err == nil && said.Text == ""
	}
	forward := make([]bool, 2001)
	count := 0
	for n := 1; n <= 2000; n++ {
		if forward[n] = struck(n); forward[n] {
			count++
		}
	}
	for n := 2000; n >= 1; n-- {
		if struck(n) != forward[n] {
			t.Fatalf("request %d is struck or not by the order", n)
		}
	}
	if count < 200-67 || count > 200+67 || !s.Random() {
		t.Errorf("%d of 2000 were struck; random: %v", count, s.Random())
	}
}

func TestFaultThatCannotBePlayed(t *testing.T) {
	s := model(Step{Text: "x"})
	s.Faults = []Fault{{Kind: "drop", At: loop.RefModel, N: 1, Operand: 3}, {Kind: "drop", At: loop.RefModel, N: -1}}
	err := s.Validate()
	if err == nil || !strings.Contains(err.Error(), "faults[0]: is not a valid fault") || !strings.Contains(err.Error(), "faults[1]: is not a valid fault") {
		t.Errorf("got %v", err)
	}
}

// A fault strikes only the try that it names. After a tool's name the number counts
// that tool's calls: call 3 is the second of f.
func TestWhichTryIsStruck(t *testing.T) {
	s := oneTool(Answer{Result: "abc"})
	s.Tools = append(s.Tools, Tool{ToolSpec: loop.ToolSpec{Name: "g"}, Answers: []Answer{{Result: "abc"}}})
	tries := []loop.Effect{call(1, 1, "f", "{}"), call(2, 1, "g", "{}"), call(3, 1, "f", "{}"), call(3, 2, "f", "{}"), call(3, 3, "f", "{}")}
	for fault, want := range map[string]loop.Ref{
		"empty tool 2":     c(2, 1),
		"empty tool 3":     c(3, 1),
		"empty tool 3#2":   c(3, 2),
		"empty tool f 1":   c(1, 1),
		"empty tool f 2":   c(3, 1),
		"empty tool f 2#3": c(3, 3),
		"empty tool g 1":   c(2, 1),
	} {
		script := *s
		w := NewWorld(faulty(t, &script, fault), 1)
		var got []loop.Ref
		for _, e := range tries {
			do(w, 0, e)
			if in := next(t, w); in.Text == "" {
				got = append(got, in.Ref)
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s struck %v, want %v", fault, got, want)
		}
	}
}

package shapes

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The example of the design, with all that a line can hold.
func TestParseReadsWhatALineSays(t *testing.T) {
	runs, err := Parse([]byte(`# a comment

@corpus tau%20bench source=https://github.com/x/y commit=59a2 licence=MIT
17 failure task=4 u@0 a1=1@1 b1=2+b2=3@12.5#800/30 b3~=3!@13 .@14.005
18 success aa1=1!e _1? _
x,y%20z unknown branch=1 task=2 read_file:1=0+%3A:2?
`))
	if err != nil {
		t.Fatal(err)
	}
	corpus := &Corpus{Name: "tau bench", Source: "https://github.com/x/y", Commit: "59a2", Licence: "MIT"}
	want := []*Run{
		{Corpus: corpus, Line: 4, Name: "17", Outcome: Failure, Task: 4, Steps: []Step{
			{User: true, Timed: true},
			{Calls: []Call{{Tool: "a", Args: 1, Result: 1}}, At: time.Second, Timed: true},
			{Calls: []Call{{Tool: "b", Args: 1, Result: 2}, {Tool: "b", Args: 2, Result: 3}}, At: 12500 * time.Millisecond, Timed: true, TokensIn: 800, TokensOut: 30},
			{Calls: []Call{{Tool: "b", Args: 3, Broken: true, Result: 3, Mark: Failed}}, At: 13 * time.Second, Timed: true},
			{At: 14005 * time.Millisecond, Timed: true},
		}},
		{Corpus: corpus, Line: 5, Name: "18", Outcome: Success, Steps: []Step{
			{Calls: []Call{{Tool: "aa", Args: 1, Result: 1, Mark: ErrorText}}},
			{Calls: []Call{{Args: 1, Mark: Unanswered}}},
			{Empty: true},
		}},
		{Corpus: corpus, Line: 6, Name: "x,y z", Outcome: Unknown, Task: 2, Branch: 1, Named: true, Steps: []Step{
			{Calls: []Call{{Tool: "read_file", Args: 1}, {Tool: ":", Args: 2, Mark: Unanswered}}},
		}},
	}
	if diff := cmp.Diff(want, runs); diff != "" {
		t.Error(diff)
	}
}

func TestMistakesHaveTheirPlace(t *testing.T) {
	for _, tt := range []struct{ name, line, want string }{
		{"no outcome", "1 maybe u .", `1:3: "maybe" is not an outcome: want success, failure or unknown after the run's name`},
		{"nothing behind the outcome", "1 success", `1:10: the run is empty: want u (a user message), calls such as a1=1, or . (a reply of text)`},
		{"a header that is not known", "@runs x", `1:1: "@runs" is not a header: want @corpus NAME`},
		{"a header without a name", "@corpus", `1:8: the corpus has no name: want @corpus NAME`},
		{"a key that is not known", "@corpus x license=MIT", `1:11: "license" is not known: a header has source=, commit= and licence=`},
		{"no step", "1 success u x", `1:13: "x" is neither u, ., _ nor a call such as a1=1`},
		{"a capital", "1 success u A1=1", `1:13: "A1=1" is neither u, ., _ nor a call such as a1=1`},
		{"arguments zero", "1 success a0=1", `1:12: arguments are numbered from 1`},
		{"no result", "1 success u a1", `1:15: want = and the number of a result, or ? for none, after the arguments`},
		{"no number", "1 success a1=x", `1:14: the number of its result must be a whole number, not ""`},
		{"a mark that is not known", "1 success a1=2*", `1:15: want ! (an error), !e (text that begins with Error:), + or a space after the result, not "*"`},
		{"in a batch, behind wide characters", "é success a1=1+b1=1+c1", `1:23: want = and the number of a result, or ? for none, after the arguments`},
		{"time goes back", "1 success u@5 .@4.5", `1:16: the time goes back: 4.5 after 5`},
		{"microseconds", "1 success u@5.0001", `1:13: "5.0001" is not a time: want seconds with up to three decimals, such as 12.5`},
		{"tokens of a user", "1 success u#1/2", `1:12: want #READ/WRITTEN, the tokens of a reply, not "#1/2"`},
		{"half the tokens", "1 success .#1", `1:12: want #READ/WRITTEN, the tokens of a reply, not "#1"`},
		{"letters and names", "1 success a1=1 b:1=1", `1:16: the tools of a run are letters, or have names with a colon, not both`},
		{"broken and not", "1 success a1=1 a1~=1", `1:16: these arguments are broken (~) at one place and not at another`},
		{"Error: and not", "1 success a1=1 a1=1!e", `1:19: result 1 begins with Error: (!e) at one place and not at another`},
		{"the empty text cannot begin with Error:", "1 success a1=0!e", `1:14: result 0 is the empty text, which does not begin with Error:`},
		{"task zero", "1 success task=0 u", `1:11: tasks are numbered from 1`},
		{"a branch that shares nothing", "1 success branch=0 u a1=1", `1:11: a branch shares at least one reply`},
		{"a branch longer than the run", "1 success task=2 branch=3 u a1=1 u .", `1:18: the run branches off after 3 replies, and has 2 replies`},
		{"a branch behind a step", "1 success u branch=1", `1:13: "branch=1" is neither u, ., _ nor a call such as a1=1`},
		{"a number too large", "1 success a1=1000000001", `1:14: the number of its result is above 1,000,000,000`},
		{"half an escape", "a%2 success u", `1:2: % must be followed by two hexadecimal digits`},
		{"only an extra", "1 success @3", `1:11: nothing stands before "@3": want u, ., _ or calls`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.line + "\n"))
			if err == nil || err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestAMistakeDoesNotHideTheOtherLines(t *testing.T) {
	runs, err := Parse([]byte("1 success u .\n2 success\n3 failure u .\n4 no u\n"))
	var mistakes Mistakes
	if !errors.As(err, &mistakes) || len(mistakes) != 2 || mistakes[0].Line != 2 || mistakes[1].Line != 4 {
		t.Errorf("got mistakes %v", err)
	}
	if len(runs) != 2 || runs[0].Name != "1" || runs[1].Name != "3" || runs[1].Line != 3 {
		t.Errorf("got runs %v", runs)
	}
}

func TestIs(t *testing.T) {
	for data, want := range map[string]bool{
		"@corpus x\n1 success u .\n":   true,
		"\n# made by\n1 unknown a1=1?": true,
		"1 maybe u .":                  false,
		"# only a comment\n":           false,
		`{"role": "user"}`:             false,
		"":                             false,
		"@startuml\n":                  false,
	} {
		if got := Is([]byte(data)); got != want {
			t.Errorf("Is(%q) = %v", data, got)
		}
	}
}

func TestLetters(t *testing.T) {
	for n, want := range map[int]string{0: "a", 25: "z", 26: "aa", 27: "ab", 26 + 26*26 - 1: "zz", 26 + 26*26: "aaa"} {
		if got := Letters(n); got != want {
			t.Errorf("Letters(%d) = %s, want %s", n, got, want)
		}
	}
}

func mistakesOf(err error) (m Mistakes) {
	errors.As(err, &m)
	return m
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("@corpus tau source=x commit=y licence=MIT\n17 failure task=4 u a1=1 b1=2+b2=3@12.5#800/30 b2=3! ."))
	f.Add([]byte("# c\nx%20y success read_file:1~=0!e _1? _ u@3\n"))
	f.Add([]byte("1 maybe\n2 success %3A:1=2\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		runs, err := Parse(data)
		for _, m := range mistakesOf(err) {
			if m.Line < 1 || m.Column < 1 || strings.Contains(m.Text, "\n") {
				t.Errorf("mistake %+v", m)
			}
		}
		var out []byte
		var last *Corpus
		for _, r := range runs {
			if r.Corpus != last {
				last = r.Corpus
				out = last.Append(out)
			}
			out = r.Append(out)
		}
		again, err := Parse(out)
		if err != nil {
			t.Fatalf("%s\nof %q: %v", out, data, err)
		}
		for i := range runs {
			runs[i].Line = 0
		}
		for i := range again {
			again[i].Line = 0
		}
		if diff := cmp.Diff(runs, again); diff != "" {
			t.Errorf("%s\n%s", out, diff)
		}
		if len(runs) > 0 && !Is(out) {
			t.Errorf("%q does not look like shapes", out)
		}
	})
}

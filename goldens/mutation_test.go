package goldens

import (
	"fmt"
	"strings"
	"testing"
)

// A mutant is a golden in which one place was edited.
type mutant struct {
	what  string
	trace string // its text
	line  int    // where it was edited, from 0
}

// Every golden is edited in every way: each field of each line is changed, each
// line is left out, written twice, swapped with the next and put behind another,
// and the rest behind it is cut off. Each time the trace must differ from the
// golden, and the difference must name the place. None may be missed.
func TestMutants(t *testing.T) {
	store := Embedded()
	names, err := store.List()
	if err != nil {
		t.Fatal(err)
	}
	if testing.Short() {
		names = names[:len(names)/10]
	}
	total, missed := 0, 0
	for _, name := range names {
		golden, err := store.Read(name)
		if err != nil {
			t.Fatal(err)
		}
		golden.Mode, golden.Allow = Strict, nil // what they let pass has its own tests
		lines := strings.SplitAfter(golden.Trace, "\n")
		lines = lines[:len(lines)-1]
		for m := range mutants(golden.Trace, lines) {
			total++
			if problem := m.survives(golden, lines); problem != "" {
				if missed++; missed <= 20 {
					t.Errorf("%s: %s in line %d: %s", name, m.what, m.line+1, problem)
				}
			}
		}
	}
	if missed > 0 || total < 50*len(names) {
		t.Errorf("%d of %d mutants of %d goldens were missed", missed, total, len(names))
	}
}

// survives says what is wrong with how a mutant is distinguished from the golden, "" if
// nothing is.
func (m *mutant) survives(golden *Golden, lines []string) string {
	edited := *golden
	edited.Trace = m.trace
	d := edited.compare(golden.Trace)
	if d == nil {
		return "it was not noticed"
	}
	if d.Problem == "" || d.Want == "" && d.Got == "" {
		return "the difference says nothing"
	}
	at := d.Line - edited.headerLines() - 1
	for i := m.line; i < at; i++ { // of lines that are the same, the last may be named
		if i >= len(lines) || lines[i] != lines[m.line] {
			return fmt.Sprintf("line %d is named", at+1)
		}
	}
	if at < m.line {
		return fmt.Sprintf("line %d is named", at+1)
	}
	return ""
}

// mutants returns every mutant of a trace. Cutting off is the one edit that takes
// longer the longer the trace is, so that of long ones not every line is cut.
func mutants(text string, lines []string) func(yield func(*mutant) bool) {
	return func(yield func(*mutant) bool) {
		start := 0 // of the line, in the text
		for i, line := range lines {
			end := start + len(line)
			next := ""
			if i+1 < len(lines) {
				next = lines[i+1]
			}
			with := func(what, instead string, rest int) bool {
				return yield(&mutant{what: what, trace: text[:start] + instead + text[rest:], line: i})
			}
			for _, f := range fieldsOf(line) {
				if !with("edited "+line[f.start:f.end], line[:f.start]+changed(line[f.start:f.end])+line[f.end:], end) {
					return
				}
			}
			if !with("left out", "", end) || !with("written twice", line+line, end) || !with("behind a tick", "   9.999s tick\n"+line, end) {
				return
			}
			if next != line && next != "" && !with("swapped", next+line, end+len(next)) {
				return
			}
			if (len(lines) < 100 || i%20 == 0) && !with("cut off", "", len(text)) {
				return
			}
			start = end
		}
	}
}

type span struct{ start, end int }

// fieldsOf finds what can be edited in a line: the time, the word, the number,
// the values, and of a call its id, its name and its arguments.
func fieldsOf(line string) (all []span) {
	start, quote := -1, byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '`':
			quote = c
			if start < 0 {
				start = i
			}
		case strings.IndexByte(" =:()\n", c) >= 0:
			if start >= 0 && c != '=' {
				all = append(all, span{start, i})
			}
			start = -1
		case start < 0:
			start = i
		}
	}
	return all
}

// changed is another value: with another first letter or digit, or with one
// more.
func changed(value string) string {
	for i := range len(value) {
		switch c := value[i]; {
		case c == '\\': // the next one belongs to it
			return value[:i] + "x" + value[i:]
		case '0' <= c && c <= '8', 'a' <= c && c <= 'y', 'A' <= c && c <= 'Y':
			return value[:i] + string(rune(c+1)) + value[i+1:]
		case c == '9', c == 'z', c == 'Z':
			return value[:i] + string(rune(c-1)) + value[i+1:]
		}
	}
	if value[0] == '"' || value[0] == '`' {
		return value[:1] + "x" + value[1:]
	}
	return value + "x"
}

// The test of mutants finds what it should find, and what is edited.
func TestFieldsOf(t *testing.T) {
	line := "   2.000s reply m1 text=\"I \\\"will\\\" look.\" call=c_1:\"read file\"(`{\"path\":\"a b\"}`) finish=tool_calls in=812\n"
	want := []string{"2.000s", "reply", "m1", `"I \"will\" look."`, "c_1", `"read file"`, "`{\"path\":\"a b\"}`", "tool_calls", "812"}
	got := fieldsOf(line)
	if len(got) != len(want) {
		t.Fatalf("got %d fields, want %d", len(got), len(want))
	}
	for i, f := range got {
		if text := line[f.start:f.end]; text != want[i] {
			t.Errorf("field %d: got %s, want %s", i, text, want[i])
		} else if changed(text) == text {
			t.Errorf("%s stays as it is", text)
		}
	}
}

package goldens

import (
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// An entry is a line of a trace, prepared for the comparison.
type entry struct {
	line   int    // its number in the trace's text, from 1
	word   string // the line's word
	path   loop.Path
	input  loop.Input
	effect *loop.Effect // nil if the line is an input
	whole  string       // the whole line
	text   string       // the part that is compared
}

// entries returns the lines of a trace. Changes to them do not change the trace.
func entries(trace loop.Trace) []entry {
	var all []entry
	for i := range trace {
		in := trace[i].In
		in.Calls = append([]loop.AskedCall(nil), in.Calls...)
		all = append(all, entry{path: trace[i].Path, input: in})
		for j := range trace[i].Effects {
			effect := trace[i].Effects[j]
			if effect.Outcome != nil {
				outcome := *effect.Outcome
				effect.Outcome = &outcome
			}
			all = append(all, entry{path: trace[i].Path, effect: &effect})
		}
	}
	for i := range all {
		all[i].line = i + 1
		all[i].render()
		all[i].whole = all[i].text
		all[i].word = wordOf(all[i].text)
	}
	return all
}

// render sets the text from the input or effect.
func (e *entry) render() {
	record := loop.Record{Path: e.path, In: e.input}
	if e.effect != nil {
		record = loop.Record{Path: e.path, Effects: []loop.Effect{*e.effect}}
	}
	text := record.String()
	if e.effect != nil {
		_, text, _ = strings.Cut(text, "\n") // without the line of the empty input
	}
	e.text = strings.TrimSuffix(text, "\n")
}

// wordOf returns the word of a line, which follows the time or >, and the path of a
// sub-run.
func wordOf(line string) string {
	_, rest, _ := strings.Cut(strings.TrimLeft(line, " "), " ")
	word, rest, _ := strings.Cut(strings.TrimLeft(rest, " "), " ")
	if strings.HasSuffix(word, "/") {
		word, _, _ = strings.Cut(rest, " ")
	}
	return word
}

// ref returns the reference of the line, in place.
func (e *entry) ref() *loop.Ref {
	if e.effect != nil {
		return &e.effect.Ref
	}
	return &e.input.Ref
}

// is reports whether a line is of the kind that an allowance names: *, a word, or
// note.EVENT.
func (e *entry) is(kind string) bool {
	word, event, ofEvent := strings.Cut(kind, ".")
	return (word == "*" || word == e.word) && (!ofEvent || e.effect != nil && string(e.effect.Event) == event)
}

// arguments calls f with the arguments of each call that the line holds, in place, and
// the name of its tool.
func (e *entry) arguments(f func(tool string, args *string)) {
	if e.effect != nil {
		if e.effect.Args != "" {
			f(e.effect.Name, &e.effect.Args)
		}
		return
	}
	for i := range e.input.Calls {
		f(e.input.Calls[i].Name, &e.input.Calls[i].Args)
	}
}

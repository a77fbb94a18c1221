package scenarios

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/goccy/go-yaml/ast"
)

// This file decodes the values of the scenario language that are not a plain text,
// number or list.

// decodeWord decodes a text that must be one of the words.
func decodeWord[T ~string](s *source, n ast.Node, what string, into *T, words []T) {
	text, ok := s.text(n, what)
	if !ok {
		return
	}
	names := make([]string, len(words))
	for i, w := range words {
		names[i] = string(w)
		if text == names[i] {
			*into = w
			return
		}
	}
	s.fail(n, fmt.Sprintf("there is no %s %s", what, quoted(text)), hintWord(text, names))
}

type labelWord Label

func labels() []labelWord { return []labelWord{labelWord(Runaway), labelWord(Healthy)} }

func (w *labelWord) decode(s *source, n ast.Node, what string) { decodeWord(s, n, what, w, labels()) }

type permissionWord loop.Permission

const neverWord permissionWord = "never"

func permissions() []permissionWord {
	return []permissionWord{neverWord, permissionWord(loop.AskBatch), permissionWord(loop.AskCall)}
}

func (w *permissionWord) decode(s *source, n ast.Node, what string) {
	decodeWord(s, n, what, w, permissions())
	if *w == neverWord {
		*w = permissionWord(loop.AskNever)
	}
}

type codeWord loop.Code

// codes returns the codes that can be scripted as an error: all except None.
func codes() []codeWord {
	var words []codeWord
	for _, c := range loop.Codes() {
		if c != loop.None {
			words = append(words, codeWord(c))
		}
	}
	return words
}

func (w *codeWord) decode(s *source, n ast.Node, what string) { decodeWord(s, n, what, w, codes()) }

type whenWord fakes.When

func whens() []whenWord {
	return []whenWord{whenWord(fakes.WhenDenied), whenWord(fakes.WhenVetoed), whenWord(fakes.WhenFailed),
		whenWord(fakes.WhenOK), whenWord(fakes.WhenCut), whenWord(fakes.WhenNudged),
		whenWord(fakes.WhenForced), whenWord(fakes.WhenSummary), whenWord(fakes.WhenFinal)}
}

func (w *whenWord) decode(s *source, n ast.Node, what string) { decodeWord(s, n, what, w, whens()) }

func (w *whenEntry) decode(s *source, n ast.Node, what string) {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		w.word.decode(s, n, what)
		return
	}
	w.word = whenWord(fakes.WhenResult)
	if len(m.Values) != 1 || m.Values[0].Key.GetToken().Value != string(fakes.WhenResult) {
		s.fail(n, what+" must be a word, or {result: …}", "such as nudged, or {result: {contains: running}}")
		return
	}
	at := m.Values[0].Value
	s.decode(at, reflectValue(&w.result), "result")
	set := 0
	for _, text := range []string{w.result.Contains, w.result.Matches, w.result.Path} {
		if text != "" {
			set++
		}
	}
	switch {
	case at.Type() != ast.MappingType:
	case set != 1:
		s.fail(at, "result needs exactly one of contains, matches and path", "such as {contains: running}, {matches: 'state: (queued|running)'} or {path: job.state, is: running}")
	case (w.result.Path == "") != (w.result.Is == nil):
		s.fail(at, "path and is go together", "such as {path: job.state, is: running}")
	}
}

// is returns the condition as a script has it.
func (w *whenEntry) is() fakes.ResultIs {
	r := fakes.ResultIs{Contains: w.result.Contains, Matches: w.result.Matches, Path: w.result.Path}
	if w.result.Is != nil {
		r.Is = w.result.Is.value
	}
	return r
}

// The words for how a step, an answer or a failure looks on the wire.
type (
	stepWireWord    fakes.Wire
	failureWireWord fakes.Wire
	answerWireWord  fakes.Wire
	errorWireWord   fakes.Wire
)

func stepWires() []stepWireWord       { return wires[stepWireWord](fakes.StepWires()) }
func failureWires() []failureWireWord { return wires[failureWireWord](fakes.FailureWires()) }

func errorWires() []errorWireWord { return wires[errorWireWord](fakes.ErrorWires()) }
func answerWires() []answerWireWord {
	return wires[answerWireWord](slices.Concat(fakes.ResultWires(), fakes.ErrorWires()))
}

func wires[W ~string](list []fakes.Wire) []W {
	out := make([]W, len(list))
	for i, w := range list {
		out[i] = W(w)
	}
	return out
}

func (w *stepWireWord) decode(s *source, n ast.Node, what string) {
	decodeWord(s, n, what, w, stepWires())
}

func (w *answerWireWord) decode(s *source, n ast.Node, what string) {
	decodeWord(s, n, what, w, answerWires())
}

func (w *errorWireWord) decode(s *source, n ast.Node, what string) {
	decodeWord(s, n, what, w, errorWires())
}

func (w *failureWireWord) decode(s *source, n ast.Node, what string) {
	decodeWord(s, n, what, w, failureWires())
}

// A faultEntry is a fault, written as a text.
type faultEntry fakes.Fault

func (f *faultEntry) decode(s *source, n ast.Node, what string) {
	text, ok := s.text(n, what)
	if !ok {
		return
	}
	fault, err := fakes.ParseFault(text)
	if err != nil {
		s.fail(n, fmt.Sprintf("%s is not a fault: %v", quoted(text), err), "such as drop model 3, or error tool 4 RetryableServer")
	}
	*f = faultEntry(fault)
}

type plannerWord loop.Planner

const nativeWord plannerWord = "native"

func planners() []plannerWord { return []plannerWord{nativeWord, plannerWord(loop.PlannerJSON)} }

func (w *plannerWord) decode(s *source, n ast.Node, what string) {
	if decodeWord(s, n, what, w, planners()); *w == nativeWord {
		*w = plannerWord(loop.PlannerNative)
	}
}

type criticWord string

const rulesWord criticWord = "rules"

func critics() []criticWord { return []criticWord{"none", rulesWord} }

func (w *criticWord) decode(s *source, n ast.Node, what string) { decodeWord(s, n, what, w, critics()) }

// transitions are states and their weights, in the order of the file.
type transitions []fakes.Transition

// weightUnit turns weights, which have up to six decimals, into whole numbers.
const weightUnit = 1_000_000

func (t *transitions) decode(s *source, n ast.Node, what string) {
	m, ok := n.(*ast.MappingNode)
	if !ok || len(m.Values) == 0 {
		s.mismatch(n, what, "states and their weights such as {working: 0.7, stuck: 0.3}")
		return
	}
	for _, entry := range m.Values {
		name := entry.Key.GetToken().Value
		f, ok := s.float(entry.Value, "the weight of "+quoted(name))
		switch {
		case ok && (f < 1.0/weightUnit || f > weightUnit):
			s.fail(entry.Value, fmt.Sprintf("the weight of %s must be from 0.000001 to 1000000, not %v", quoted(name), f), "leave out a state that never follows")
		case ok:
			*t = append(*t, fakes.Transition{State: name, Weight: int64(math.Round(f * weightUnit))})
		}
	}
}

type allowWord string

const (
	allow allowWord = "allow"
	deny  allowWord = "deny"
)

func (w *allowWord) decode(s *source, n ast.Node, what string) {
	decodeWord(s, n, what, w, []allowWord{allow, deny})
}

// An afterWord says after which end of a run the user's next message is sent.
type afterWord string

const (
	afterDone afterWord = "done"
	afterAny  afterWord = "any"
)

func (w *afterWord) decode(s *source, n ast.Node, what string) {
	if text, ok := s.text(n, what); ok {
		if _, problem := parseDuration(text); problem == "" {
			s.fail(n, fmt.Sprintf("%s must be %s or %s, not %s", what, afterDone, afterAny, text), "how long the user waits is wait: "+text)
			return
		}
		decodeWord(s, n, what, w, []afterWord{afterDone, afterAny})
	}
}

type goldenWord goldens.Mode

func goldenModes() []goldenWord {
	var words []goldenWord
	for _, mode := range append(goldens.Modes(), goldens.Off) {
		words = append(words, goldenWord(mode))
	}
	return words
}

func (w *goldenWord) decode(s *source, n ast.Node, what string) {
	decodeWord(s, n, what, w, goldenModes())
}

type endStateWord loop.EndState

// endStates returns the end states of the stops that can end a scenario.
func endStates() []endStateWord {
	var out []endStateWord
	for _, stop := range stops() {
		out = append(out, endStateWord(loop.Stop(stop).EndState()))
	}
	return slices.Compact(out)
}

func (w *endStateWord) decode(s *source, n ast.Node, what string) {
	decodeWord(s, n, what, w, endStates())
}

type eventWord string

func (w *eventWord) decode(s *source, n ast.Node, _ string) {
	words := make([]eventWord, 0, len(events))
	for _, e := range Events() {
		words = append(words, eventWord(e))
	}
	decodeWord(s, n, "event", w, words)
}

// repeat is a number of requests, 0 if the file does not set it.
type repeat int

const forever = "forever"

func (r *repeat) decode(s *source, n ast.Node, what string) {
	if text, ok := n.(*ast.StringNode); ok {
		if text.Value == forever {
			*r = fakes.Forever
		} else {
			s.fail(n, fmt.Sprintf("%s must be a number or %s, not %s", what, forever, quoted(text.Value)), hintWord(text.Value, []string{forever}))
		}
		return
	}
	i, ok := s.integer(n, what)
	switch {
	case ok && i < 1:
		s.fail(n, fmt.Sprintf("%s must be 1 or more, not %d", what, i), "for no end write "+forever)
	case ok:
		*r = repeat(min(i, math.MaxInt32))
	}
}

// dollars is an amount of money, in nano-dollars.
type dollars int64

const mostDollars = 1_000_000

func (d *dollars) decode(s *source, n ast.Node, what string) {
	f, ok := s.float(n, what)
	switch {
	case ok && (f < 0 || f > mostDollars):
		s.fail(n, fmt.Sprintf("%s must be from 0 to %d, not %v", what, mostDollars, f), "")
	case ok:
		*d = dollars(math.Round(f * 1e9))
	}
}

// latency is a duration or a range of them.
type latency fakes.Span

func (l *latency) decode(s *source, n ast.Node, what string) {
	lo, hi, ok := s.durations(n, what)
	switch {
	case !ok:
	case hi == 0:
		*l = latency(fakes.Instantly())
	default:
		*l = latency{Min: lo, Max: hi}
	}
}

func (r *TimeRange) decode(s *source, n ast.Node, what string) {
	r.Min, r.Max, _ = s.durations(n, what)
}

// durations decodes a duration or a range of them.
func (s *source) durations(n ast.Node, what string) (lo, hi time.Duration, ok bool) {
	from, to, isRange := strings.Cut(n.GetToken().Value, "..")
	if n.Type() != ast.StringType || !isRange {
		lo, ok = s.duration(n, what)
		return lo, lo, ok
	}
	lo, problem := parseDuration(from)
	if problem == "" {
		hi, problem = parseDuration(to)
	}
	switch {
	case problem != "":
		s.fail(n, what+" "+problem, durationHint+", ranges look like 50ms..120ms")
	case lo > hi:
		s.fail(n, fmt.Sprintf("%s is a range from more to less: %s", what, n.GetToken().Value), "the lower end comes first")
	default:
		return lo, hi, true
	}
	return 0, 0, false
}

var countRange = regexp.MustCompile(`^([0-9]{1,9})\.\.([0-9]{1,9})$`)

func (r *Range) decode(s *source, n ast.Node, what string) {
	text, isText := n.(*ast.StringNode)
	if !isText {
		if i, ok := s.integer(n, what); ok && i < 0 {
			s.fail(n, fmt.Sprintf("%s must be 0 or more, not %d", what, i), "")
		} else {
			r.Min, r.Max = int(i), int(i)
		}
		return
	}
	ends := countRange.FindStringSubmatch(text.Value)
	if ends == nil {
		s.fail(n, fmt.Sprintf("%s must be a number or a range, not %s", what, quoted(text.Value)), "a range looks like 3..5")
		return
	}
	r.Min, _ = strconv.Atoi(ends[1])
	r.Max, _ = strconv.Atoi(ends[2])
	if r.Min > r.Max {
		s.fail(n, fmt.Sprintf("%s is a range from more to less: %s", what, text.Value), "the lower end comes first")
	}
}

// A configNode is the part of a file that changes a config. It is decoded last, as the
// config to change is known only when the rest of the file has been read.
type configNode struct{ node ast.Node }

func (c *configNode) decode(_ *source, n ast.Node, _ string) { c.node = n }

// A toolChoice is a toolChoiceEntry, or only its use.
type toolChoice toolChoiceEntry

const autoChoice = "auto"

func (e *toolChoice) decode(s *source, n ast.Node, what string) {
	if _, ok := n.(*ast.MappingNode); ok {
		s.decodeStruct(n, reflect.ValueOf((*toolChoiceEntry)(e)).Elem(), what)
	} else if use, ok := s.text(n, what); ok {
		e.Use = use
	}
	if e.Use == autoChoice {
		e.Use = ""
	}
}

// An ownRetry is a tool's own retry policy.
type ownRetry loop.Retry

func (r *ownRetry) decode(s *source, n ast.Node, what string) {
	*r = ownRetry(loop.Off().Retry)
	s.decode(n, reflect.ValueOf((*loop.Retry)(r)).Elem(), what)
}

// A jsonObject is a mapping, as the text of a JSON object; "" = not set.
type jsonObject string

func (o *jsonObject) decode(s *source, n ast.Node, what string) {
	if _, ok := n.(*ast.MappingNode); !ok {
		s.mismatch(n, what, "a mapping")
		return
	}
	*o = jsonObject(s.appendJSON(nil, n))
}

// jsonValues are a mapping, as values of JSON; nil = not set.
type jsonValues map[string]any

func (v *jsonValues) decode(s *source, n ast.Node, what string) {
	var o jsonObject
	if o.decode(s, n, what); o == "" {
		return
	}
	d := json.NewDecoder(strings.NewReader(string(o)))
	d.UseNumber() // a number stays as it is written
	if err := d.Decode((*map[string]any)(v)); err != nil {
		s.fail(n, fmt.Sprintf("%s cannot be written as JSON: %v", what, err), "")
	}
}

// A jsonValue is any value, as JSON has it.
type jsonValue struct{ value any }

func (v *jsonValue) decode(s *source, n ast.Node, what string) {
	d := json.NewDecoder(bytes.NewReader(s.appendJSON(nil, n)))
	d.UseNumber() // a number stays as it is written
	if err := d.Decode(&v.value); err != nil {
		s.fail(n, fmt.Sprintf("%s cannot be written as JSON: %v", what, err), "")
	}
}

// A callEntry is a call that the model asks for: {tool: arguments}, or the long form
// {name:, id:, args:}.
type callEntry struct {
	Name string   `yaml:"name" jsonschema:"required"`
	ID   *string  `yaml:"id"`
	Args argsText `yaml:"args"`
}

func (c *callEntry) decode(s *source, n ast.Node, _ string) {
	m, ok := n.(*ast.MappingNode)
	if !ok || len(m.Values) == 0 {
		s.fail(n, "a call must be a mapping such as {read_file: {path: notes.txt}}, not "+describe(n), "")
		return
	}
	name := m.Values[0].Key.GetToken().Value
	_, isText := m.Values[0].Value.(*ast.StringNode)
	if len(m.Values) > 1 || name == "name" && isText {
		type full callEntry
		s.decode(n, reflectValue((*full)(c)), "a call")
		return
	}
	c.Name = name
	s.decode(m.Values[0].Value, reflectValue(&c.Args), "the arguments of "+quoted(name))
}

// argsText is the text of a call's arguments as sent on the wire. A mapping becomes
// JSON; a text is taken as it is, so that it can be invalid JSON on purpose.
type argsText string

func (a *argsText) decode(s *source, n ast.Node, what string) {
	switch n := n.(type) {
	case *ast.MappingNode:
		*a = argsText(s.appendJSON(nil, n))
	case *ast.StringNode:
		*a = argsText(n.Value)
	case *ast.LiteralNode:
		*a = argsText(n.Value.Value)
	default:
		s.fail(n, fmt.Sprintf("%s must be a mapping or a raw text, not %s", what, describe(n)), "write {} for no arguments")
	}
}

// decodeEither decodes a text, or a mapping with more keys.
func decodeEither[T any](s *source, n ast.Node, what string, text *string, entry *T) {
	if n.Type() == ast.MappingType {
		s.decode(n, reflectValue(entry), what)
		return
	}
	s.decode(n, reflectValue(text), what)
}

var jsonNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)

// appendJSON appends a node as JSON, with the keys in the file's order and the numbers
// as the file has them.
func (s *source) appendJSON(b []byte, n ast.Node) []byte {
	switch n := n.(type) {
	case *ast.MappingNode:
		b = append(b, '{')
		for i, entry := range n.Values {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendJSONText(b, entry.Key.GetToken().Value), ':')
			b = s.appendJSON(b, entry.Value)
		}
		return append(b, '}')
	case *ast.SequenceNode:
		b = append(b, '[')
		for i, item := range n.Values {
			if i > 0 {
				b = append(b, ',')
			}
			b = s.appendJSON(b, item)
		}
		return append(b, ']')
	case *ast.NullNode:
		return append(b, "null"...)
	case *ast.BoolNode:
		return strconv.AppendBool(b, n.Value)
	case *ast.StringNode:
		if plain(n) && jsonNumber.MatchString(n.Value) { // 1e3, or beyond 64 bits
			return append(b, n.Value...)
		}
		return appendJSONText(b, n.Value)
	case *ast.LiteralNode:
		return appendJSONText(b, n.Value.Value)
	}
	if forbidden(n) {
		return append(b, "null"...)
	}
	number := n.GetToken().Value
	if !jsonNumber.MatchString(number) {
		s.fail(n, fmt.Sprintf("%s is not a JSON number", clip(number)), fmt.Sprintf("write it in plain decimal, or as text: %q", clip(number)))
		number = "0"
	}
	return append(b, number...)
}

// appendJSONText appends a text as a JSON string.
func appendJSONText(b []byte, s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return b // a string can always be written
	}
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte("\n"))...)
}

package fakes

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
)

// A faultKind is a kind of fault at one target.
type faultKind struct {
	example string   // begins with the word of the kind and the target
	effect  string   // the effect, as docs/scenarios-more.md describes it
	operand *operand // the part after the target, nil = none
	instead bool     // replaces the model's answer, whatever it is

	// One of these spoils the reply or the result, and reports whether there was
	// anything to spoil. v is the fault's operand.
	reply  func(said *Said, v any) bool
	result func(a *tryAnswer, v any) bool
}

// faultKinds lists the kinds of faults. A new kind is a new row and needs no other
// code. A test compares the list with docs/scenarios-more.md.
var faultKinds = []faultKind{
	{example: "drop model 3", effect: "no answer to the request at all", instead: true,
		reply: func(said *Said, _ any) bool { return fail(said, ModelFailure{Hang: true}) }},
	{example: "drop tool 2", effect: "no answer to the call at all",
		result: func(a *tryAnswer, _ any) bool { a.hang = true; return true }},
	{example: "delay model 3 5s", effect: "the answer comes that much later", operand: &delayOperand,
		reply: func(said *Said, v any) bool {
			said.After += v.(time.Duration)
			return said.Failure == nil || !said.Failure.Hangs()
		}},
	{example: "delay tool read_file 2 5s", effect: "the answer comes that much later", operand: &delayOperand,
		result: func(a *tryAnswer, v any) bool {
			a.after += v.(time.Duration)
			return !a.hang
		}},
	{example: "error model 2#3 503", effect: "the third try of the request fails with that HTTP status", operand: &statusOperand, instead: true,
		reply: func(said *Said, v any) bool { return fail(said, ModelFailure{Status: v.(int)}) }},
	{example: "error tool 4 NotFound", effect: "the try fails with that code", operand: &codeOperand,
		result: func(a *tryAnswer, v any) bool {
			a.in.Code, a.in.Text, a.hang = v.(loop.Code), injected, false
			return true
		}},
	{example: "malform model 2", effect: "the arguments of the calls are cut in the middle",
		reply: whole(func(said *Said) bool {
			for i := range said.Calls {
				said.Calls[i].Args = halved(said.Calls[i].Args)
			}
			return len(said.Calls) > 0
		})},
	{example: "cut model 3 after 2", effect: "the stream breaks off after two pieces", operand: &piecesOperand,
		reply: func(said *Said, v any) bool {
			n := v.(int)
			said.Failure, said.Reason = &ModelFailure{Chunks: n}, injected
			said.Pieces, said.Of = n, max(said.Of, n+1)
			return true
		}},
	{example: "duplicate model 2", effect: "the reply asks for all of its calls twice, under the same ids",
		reply: whole(func(said *Said) bool {
			said.Calls = append(said.Calls, said.Calls...)
			return len(said.Calls) > 0
		})},
	{example: "reorder model 3", effect: "the reply asks for its calls in reverse",
		reply: whole(func(said *Said) bool {
			before := slices.Clone(said.Calls)
			slices.Reverse(said.Calls)
			return !slices.Equal(before, said.Calls)
		})},
	{example: "swap-ids model 2", effect: "each call of the reply has the id of the next",
		reply: whole(func(said *Said) bool {
			calls, before := said.Calls, slices.Clone(said.Calls)
			for i := range calls {
				calls[i].ID = before[(i+1)%len(calls)].ID
			}
			return !slices.Equal(before, calls)
		})},
	{example: "empty model 4", effect: "the reply is empty",
		reply: whole(func(said *Said) bool {
			was := said.Text != "" || len(said.Calls) > 0
			said.Text, said.Calls, said.Finish = "", nil, loop.FinishStop
			return was
		})},
	{example: "empty tool 2", effect: "the result is empty",
		result: succeeded(func(string, any) string { return "" })},
	{example: "oversize tool 1 600000", effect: "the result has that many characters", operand: &charsOperand,
		result: succeeded(func(text string, v any) string { return pad(text, v.(int)) })},
}

// word returns the first word of a fault of the kind.
func (k *faultKind) word() string {
	word, _, _ := strings.Cut(k.example, " ")
	return word
}

func (k *faultKind) strikes(at loop.RefKind) bool {
	return at == loop.RefModel && k.reply != nil || at == loop.RefCall && k.result != nil
}

// faultWords returns the first words of all faults.
func faultWords() []string {
	var words []string
	for i := range faultKinds {
		words = append(words, faultKinds[i].word())
	}
	return slices.Compact(words)
}

// FaultExamples returns a fault of each kind and target.
func FaultExamples() []Fault {
	out := make([]Fault, len(faultKinds))
	for i := range faultKinds {
		out[i], _ = ParseFault(faultKinds[i].example) // a test parses every example
	}
	return out
}

// An operand is the part of a fault after its target.
type operand struct {
	parse func(text string) (any, error)
	print func(v any) string
	draw  func(d Dice) any
}

// Dice draw the operand of a fault for a generated world.
type Dice interface {
	Below(n int) int       // a number from 0 to n-1
	Moment() time.Duration // a duration
	Code() loop.Code       // the code of a failed call
	Pieces() int           // a number of pieces of a stream
}

// Drawn returns the fault with an operand that the dice have drawn.
func (f Fault) Drawn(d Dice) Fault {
	if k := f.kind(); k != nil && k.operand != nil {
		f.Operand = k.operand.draw(d)
	}
	return f
}

var (
	delayOperand = operand{
		parse: func(text string) (any, error) {
			d, err := time.ParseDuration(text)
			if err != nil || d <= 0 || d > maxLatency {
				return nil, fmt.Errorf("delay needs a duration up to ten years, such as 5s, not %s", quoted(text))
			}
			return d, nil
		},
		print: printOperand,
		draw:  func(d Dice) any { return max(d.Moment(), time.Millisecond) },
	}
	statusOperand = operand{
		parse: func(text string) (any, error) {
			n, err := strconv.Atoi(text)
			if err != nil || n < 400 || n > 599 {
				return nil, fmt.Errorf("error model needs an HTTP status from 400 to 599, not %s", quoted(text))
			}
			return n, nil
		},
		print: printOperand,
		draw:  func(d Dice) any { return []int{400, 401, 429, 500, 503}[d.Below(5)] },
	}
	codeOperand = operand{
		parse: func(text string) (any, error) {
			c := loop.Code(text)
			if c == loop.None || !slices.Contains(loop.Codes(), c) {
				return nil, fmt.Errorf("error tool needs a code such as %s, not %s", loop.RetryableServer, quoted(text))
			}
			return c, nil
		},
		print: printOperand,
		draw:  func(d Dice) any { return d.Code() },
	}
	piecesOperand = operand{
		parse: func(text string) (any, error) {
			digits, ok := strings.CutPrefix(text, "after ")
			n, err := strconv.Atoi(digits)
			if err != nil || !ok || n < 0 || n >= maxChunks {
				return nil, fmt.Errorf("cut needs a number of pieces, such as after 2, not %s", quoted(text))
			}
			return n, nil
		},
		print: func(v any) string { return "after " + printOperand(v) },
		draw:  func(d Dice) any { return d.Pieces() },
	}
	charsOperand = operand{
		parse: func(text string) (any, error) {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 || n > maxResultChars {
				return nil, fmt.Errorf("oversize needs a number of characters up to %d, not %s", maxResultChars, quoted(text))
			}
			return n, nil
		},
		print: printOperand,
		draw:  func(d Dice) any { return []int{200, 3000}[d.Below(2)] },
	}
)

func printOperand(v any) string {
	if d, ok := v.(time.Duration); ok {
		return text.Exact(d)
	}
	return fmt.Sprint(v)
}

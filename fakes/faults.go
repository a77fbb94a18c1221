package fakes

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// A Fault is a failure planned for a world, independent of its script, such as
// drop model 3 or delay tool read_file 2 5s. It has a kind, a target and, for some
// kinds, an operand. [FaultExamples] returns one of each kind and target.
//
// The number is that of the request or the call. After a tool's name it counts
// only the calls of that tool. The fault strikes the first try unless #N names
// another. With a share such as 10% instead of a number, each try is struck with
// that probability; the script's name, the seed, the try and the fault's place in
// the list decide the draw. Faults strike in the order of the list. A fault does not strike if it
// finds nothing to spoil, such as the calls of a reply without calls.
type Fault struct {
	Kind    string       // the first word
	At      loop.RefKind // RefModel or RefCall
	Tool    string       // the tool whose calls count, "" = every tool
	N       int          // the number, 0 = Percent decides
	Try     int          // 0 = the first
	Percent int          // 1 to 100 if N is 0
	// Operand is a time.Duration for delay, a loop.Code for error tool, an int for
	// error model, cut and oversize, and nil for the other kinds.
	Operand any
}

// String returns the fault in the form that [ParseFault] reads.
func (f Fault) String() string {
	b := fmt.Appendf(nil, "%s %s ", f.Kind, f.target())
	if f.Tool != "" {
		b = fmt.Appendf(b, "%s ", f.Tool)
	}
	switch {
	case f.N == 0:
		b = fmt.Appendf(b, "%d%%", f.Percent)
	case f.Try == 0:
		b = fmt.Appendf(b, "%d", f.N)
	default:
		b = fmt.Appendf(b, "%d#%d", f.N, f.Try)
	}
	if f.Operand == nil {
		return string(b)
	}
	if k := f.kind(); k != nil && k.operand != nil {
		return string(b) + " " + k.operand.print(f.Operand)
	}
	return string(b) + " " + printOperand(f.Operand)
}

// target returns the word for the fault's target: model or tool.
func (f *Fault) target() string {
	if f.At == loop.RefModel {
		return "model"
	}
	return "tool"
}

// kind returns the fault's row of [faultKinds], or nil if it has none.
func (f *Fault) kind() *faultKind {
	for i := range faultKinds {
		if k := &faultKinds[i]; k.word() == f.Kind && k.strikes(f.At) {
			return k
		}
	}
	return nil
}

// ParseFault reads a fault. It accepts one spelling of each fault, so that String
// returns the text that was read. The error says what is wrong and, if it can, how
// to write the fault.
func ParseFault(text string) (Fault, error) {
	var f Fault
	words := strings.Split(text, " ")
	f.Kind = words[0]
	if known := faultWords(); !slices.Contains(known, f.Kind) {
		return Fault{}, fmt.Errorf("there is no fault %s: it begins with one of %v", quoted(f.Kind), known)
	}
	words, err := f.readTarget(words[1:])
	if err != nil {
		return Fault{}, err
	}
	k, rest := f.kind(), strings.Join(words, " ")
	switch {
	case k == nil:
		return Fault{}, fmt.Errorf("%s cannot strike a %s", f.Kind, f.target())
	case k.operand == nil && rest != "":
		return Fault{}, fmt.Errorf("%s takes no operand: remove %s", f, quoted(rest))
	case k.operand != nil:
		if f.Operand, err = k.operand.parse(rest); err != nil {
			return Fault{}, err
		}
	}
	if plain := f.String(); plain != text {
		return Fault{}, fmt.Errorf("write it as %s", quoted(plain))
	}
	return f, nil
}

var faultPlace = regexp.MustCompile(`^([0-9]{1,9})(?:(%)|#([0-9]{1,9}))?$`)

// readTarget reads the target of the fault, and returns the words after it.
func (f *Fault) readTarget(words []string) ([]string, error) {
	switch {
	case len(words) > 0 && words[0] == "model":
		f.At = loop.RefModel
	case len(words) > 0 && words[0] == "tool":
		f.At = loop.RefCall
		if len(words) > 1 && !faultPlace.MatchString(words[1]) {
			f.Tool, words = words[1], words[1:]
		}
	default:
		return nil, fmt.Errorf("a fault strikes the model or a tool: %s model 3, or %s tool 2", f.Kind, f.Kind)
	}
	var m []string
	if len(words) > 1 {
		m = faultPlace.FindStringSubmatch(words[1])
	}
	if m == nil {
		return nil, errors.New("a fault strikes a number such as 3, a try such as 3#2, or a share such as 10%")
	}
	n, _ := strconv.Atoi(m[1])
	switch {
	case n == 0:
		return nil, errors.New("numbers and shares begin with 1")
	case m[2] == "":
		f.N = n
	case n > 100:
		return nil, fmt.Errorf("a share is at most 100%%, not %d%%", n)
	default:
		f.Percent = n
	}
	if m[3] != "" {
		f.Try, _ = strconv.Atoi(m[3])
		if f.Try < 2 {
			return nil, errors.New("a fault without #N strikes the first try, so #N begins with #2")
		}
	}
	return words[2:], nil
}

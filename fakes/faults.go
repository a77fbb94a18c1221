package fakes

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
)

// A Fault is one thing that goes wrong in a world, whatever its script says:
//
//	drop model 3                   no answer at all to request 3
//	delay tool 4 5s                the answer to call 4 comes 5s later
//	error model 2#3 503            the third try of request 2 fails
//	error tool read_file 2 NotFound
//	malform model 2                the arguments of the calls are cut in the middle
//	cut model 3 after 2            the stream breaks off after two pieces
//	duplicate model 2              the reply asks for all of its calls twice
//	reorder model 2                it asks for them in reverse
//	swap-ids model 2               each call has the id of the next
//	empty model 4                  the reply, or the result, is empty
//	oversize tool 1 600000         the result has that many characters
//
// A number is that of the request or the call; after a tool's name, that of its
// calls alone. It means the first try unless #N says another. A share such as
// 10% instead strikes each try with that chance, drawn by the seed, the try and
// the place in the list. Faults strike in their order. One that finds nothing to
// spoil does not strike: calls in a reply that has none, say.
type Fault struct {
	Kind    FaultKind
	At      loop.RefKind  // RefModel or RefCall
	Tool    string        // of a call, "" = any
	N       int           // the number, 0 = by Percent
	Try     int           // 0 = the first
	Percent int           // 1 to 100 where N is 0
	Delay   time.Duration // of FaultDelay
	Status  int           // of FaultError at a request
	Code    loop.Code     // of FaultError at a call
	Pieces  int           // of FaultCut
	Chars   int           // of FaultOversize
}

// A FaultKind is the first word of a fault.
type FaultKind string

// The kinds. The zero value is none.
const (
	FaultDrop      FaultKind = "drop"
	FaultDelay     FaultKind = "delay"
	FaultError     FaultKind = "error"
	FaultMalform   FaultKind = "malform"
	FaultCut       FaultKind = "cut"
	FaultDuplicate FaultKind = "duplicate"
	FaultReorder   FaultKind = "reorder"
	FaultSwapIDs   FaultKind = "swap-ids"
	FaultEmpty     FaultKind = "empty"
	FaultOversize  FaultKind = "oversize"
)

// faultKinds lists the kinds, and what each may strike.
var faultKinds = []struct {
	kind        FaultKind
	model, tool bool
}{
	{FaultDrop, true, true}, {FaultDelay, true, true}, {FaultError, true, true}, {FaultMalform, true, false},
	{FaultCut, true, false}, {FaultDuplicate, true, false}, {FaultReorder, true, false}, {FaultSwapIDs, true, false},
	{FaultEmpty, true, true}, {FaultOversize, false, true},
}

// FaultKinds lists the kinds of faults.
func FaultKinds() []FaultKind {
	kinds := make([]FaultKind, len(faultKinds))
	for i := range faultKinds {
		kinds[i] = faultKinds[i].kind
	}
	return kinds
}

// String gives the fault as [ParseFault] reads it.
func (f Fault) String() string {
	b := fmt.Appendf(nil, "%s ", f.Kind)
	if f.At == loop.RefModel {
		b = append(b, "model "...)
	} else {
		b = append(b, "tool "...)
	}
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
	switch f.Kind {
	case FaultDelay:
		b = fmt.Appendf(b, " %s", plainDuration(f.Delay))
	case FaultError:
		if f.At == loop.RefModel {
			b = fmt.Appendf(b, " %d", f.Status)
		} else {
			b = fmt.Appendf(b, " %s", f.Code)
		}
	case FaultCut:
		b = fmt.Appendf(b, " after %d", f.Pieces)
	case FaultOversize:
		b = fmt.Appendf(b, " %d", f.Chars)
	}
	return string(b)
}

// plainDuration writes 5m0s as 5m.
func plainDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// ParseFault reads a fault. It takes one form of each only, so that a fault
// prints as it was read; the error says what is wrong, and where it can how it is
// written.
func ParseFault(text string) (Fault, error) {
	var f Fault
	words := strings.Split(text, " ")
	f.Kind = FaultKind(words[0])
	at := slices.Index(FaultKinds(), f.Kind)
	if at < 0 {
		return Fault{}, fmt.Errorf("there is no fault %q: it begins with one of %v", clip(words[0]), FaultKinds())
	}
	words, err := f.readTarget(words[1:])
	if err != nil {
		return Fault{}, err
	}
	if f.At == loop.RefModel && !faultKinds[at].model || f.At == loop.RefCall && !faultKinds[at].tool {
		return Fault{}, fmt.Errorf("%s cannot strike a %s", f.Kind, map[loop.RefKind]string{loop.RefModel: "model", loop.RefCall: "tool"}[f.At])
	}
	if err := f.readRest(words); err != nil {
		return Fault{}, err
	}
	if plain := f.String(); plain != text {
		return Fault{}, fmt.Errorf("write it as %q", clip(plain))
	}
	return f, nil
}

var faultPlace = regexp.MustCompile(`^([0-9]{1,9})(?:(%)|#([0-9]{1,9}))?$`)

// readTarget reads what the fault strikes, and gives the words that are left.
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
			return nil, errors.New("the first try is meant where none is named")
		}
	}
	return words[2:], nil
}

// readRest reads what is behind the target.
func (f *Fault) readRest(words []string) error {
	rest := strings.Join(words, " ")
	var err error
	switch {
	case f.Kind == FaultDelay:
		if f.Delay, err = time.ParseDuration(rest); err != nil || f.Delay <= 0 || f.Delay > maxLatency {
			return fmt.Errorf("delay needs a duration up to ten years, such as 5s, not %q", clip(rest))
		}
	case f.Kind == FaultError && f.At == loop.RefModel:
		if f.Status, err = strconv.Atoi(rest); err != nil || f.Status < 400 || f.Status > 599 {
			return fmt.Errorf("the error of a model is an HTTP status from 400 to 599, not %q", clip(rest))
		}
	case f.Kind == FaultError:
		if f.Code = loop.Code(rest); f.Code == loop.None || !slices.Contains(loop.Codes(), f.Code) {
			return fmt.Errorf("the error of a tool is a code such as %s, not %q", loop.RetryableServer, clip(rest))
		}
	case f.Kind == FaultCut:
		pieces, ok := strings.CutPrefix(rest, "after ")
		if f.Pieces, err = strconv.Atoi(pieces); err != nil || !ok || f.Pieces < 0 || f.Pieces >= maxChunks {
			return fmt.Errorf("cut says after how many pieces, such as after 2, not %q", clip(rest))
		}
	case f.Kind == FaultOversize:
		if f.Chars, err = strconv.Atoi(rest); err != nil || f.Chars < 1 || f.Chars > maxResultChars {
			return fmt.Errorf("oversize needs a number of characters up to %d, not %q", maxResultChars, clip(rest))
		}
	case rest != "":
		return fmt.Errorf("nothing follows a fault such as %s, not %q", f, clip(rest))
	}
	return nil
}

// Package detect holds the detectors of a loop: the general rule that tells a
// stuck loop from healthy repetition, as data ([Detector]), and what applies a
// list of them to the calls of a session ([Set]). It knows nothing of the loop.
package detect

import (
	"fmt"
	"strconv"
	"strings"
)

// A Detector watches the calls of a run for repetition. It records calls (or
// whole turns), gives each record a key, counts records with the same key, and
// acts when the count reaches a rung. The zero values of its fields, beside
// Name, Key and Do, are the commonest choice.
//
// The failure that it stops, the counter that it keeps, when that starts anew
// and where it must not fire follow from the fields; docs/detectors.md works
// through the usual ones.
//
// A new dimension is a field here with its check in validateFields, and what it does
// in watcher.go or count.go. YAML, the JSON Schema and explain take it from the field.
type Detector struct {
	// Name is the stop that it gives.
	Name string `yaml:"name"`
	// Record says what makes a record.
	Record Unit `yaml:"record"`
	// Tools restricts it to the calls of some tools.
	Tools ToolFilter `yaml:"tools"`
	// Counts restricts the records; empty means all. What is not counted is not
	// there, except that it still resets.
	Counts []Class `yaml:"counts"`
	// Key is what makes two records the same; empty means the tool and its
	// arguments.
	Key []Part `yaml:"key"`
	// IgnoreArgs names arguments (top-level keys) that are no part of the key.
	IgnoreArgs []string `yaml:"ignore_args"`
	// ErrorChars cuts the error in the key to its first characters; 0 = whole.
	ErrorChars int `yaml:"error_chars"`
	// Order says whether the order of a turn's calls matters (PerTurn).
	Order Order `yaml:"order"`
	// Match says how records are counted.
	Match Match `yaml:"match"`
	// Ends says what ends a streak (Streak).
	Ends Ends `yaml:"ends"`
	// Period is the range of cycle lengths (Cycle). A tail that is a
	// shorter cycle than Min is none.
	Period Period `yaml:"period"`
	// Memory is how many records back it looks, the present one included unless
	// PriorOnly; 0 = no bound.
	Memory int `yaml:"memory"`
	// Full keeps it silent until Memory records have been made.
	Full bool `yaml:"full"`
	// DistinctArgs is how many different arguments the counted records must
	// show before it acts; 0 = any number.
	DistinctArgs int `yaml:"distinct_args"`
	// OncePerTurn counts a key once however often a turn holds it.
	OncePerTurn bool `yaml:"once_per_turn"`
	// Acts says when it looks.
	Acts Moment `yaml:"acts"`
	// PriorOnly leaves the present record out of the count: At 3 acts on the
	// fourth. What the key needs of a result is then taken from the newest
	// earlier record that agrees in the rest.
	PriorOnly bool `yaml:"prior_only"`
	// Reset lists what makes the count start anew, beside the scope.
	Reset []Reset `yaml:"reset"`
	// Vetoed says what a vetoed call is to later counts.
	Vetoed VetoedAs `yaml:"vetoed"`
	// Do is what happens at which count. The highest rung that is reached acts;
	// a nudge is given once per rung and streak, every other act at each record
	// at or above its rung.
	Do []Rung `yaml:"do"`
	// Firings overrides the act of Do for the first, second … firing since the
	// last user message; the last one goes on.
	Firings []Act `yaml:"firings"`
	// AfterFiring says whether the records stay.
	AfterFiring AfterFiring `yaml:"after_firing"`
}

// validateFields checks each dimension by itself.
func (d *Detector) validateFields(v *validation) {
	oneOf(v, "record", d.Record, "", PerCall, PerTurn, PerReply)
	for i, c := range d.Counts {
		oneOf(v, fmt.Sprintf("counts[%d]", i), c, All, Failed, Unknown, Invalid, Denied, Empty, TextOnly)
	}
	for i, k := range d.Key {
		oneOf(v, fmt.Sprintf("key[%d]", i), k, Tool, Args, RawArgs, Result, Error, Text)
	}
	v.count("error_chars", d.ErrorChars)
	oneOf(v, "order", d.Order, "", Kept, AnyOrder)
	oneOf(v, "match", d.Match, "", Streak, Window, Cycle)
	oneOf(v, "ends", d.Ends, "", EndsTurn, EndsNext, EndsTool, EndsBatch, EndsNever)
	if p := d.Period; p != (Period{}) && (p.Min < 1 || p.Max < p.Min || p.Max > 50) {
		v.add("period", "must be a range from 1 to 50 such as 2..4, not %d..%d", p.Min, p.Max)
	}
	v.count("memory", d.Memory)
	v.count("distinct_args", d.DistinctArgs)
	oneOf(v, "acts", d.Acts, "", BeforeCall, AfterBatch)
	for i, r := range d.Reset {
		oneOf(v, fmt.Sprintf("reset[%d]", i), r, OnSuccess, OnToolSuccess, OnResultChange, OnUserMessage)
	}
	oneOf(v, "vetoed", d.Vetoed, "", AsOther, AsSame, NotRecorded)
	oneOf(v, "after_firing", d.AfterFiring, "", Keep, Clear)
}

// A Unit is what a detector makes a record of.
type Unit string

// The units. The zero value is PerCall.
const (
	PerCall  Unit = "call"  // each call
	PerTurn  Unit = "turn"  // the calls of a turn together
	PerReply Unit = "reply" // as turn, and also a reply without calls
)

// A ToolFilter restricts a detector to some tools: those in Only, or all if it
// is empty, without those in Except.
type ToolFilter struct {
	Only   []string `yaml:"only"`
	Except []string `yaml:"except"`
}

// A Class is a class of records that a detector counts.
type Class string

// The classes.
const (
	All      Class = "all"
	Failed   Class = "failed"  // not executed, or ended with an error; known after the batch
	Unknown  Class = "unknown" // of a tool that does not exist
	Invalid  Class = "invalid" // with arguments that are no JSON object
	Denied   Class = "denied"  // denied by a gate; known after the batch
	Empty    Class = "empty"   // a call without a name, or a reply with neither text nor calls
	TextOnly Class = "text"    // a reply without calls (PerReply)
)

// A Part is one part of what makes two records the same.
type Part string

// The parts.
const (
	Tool    Part = "tool"     // the tool's name
	Args    Part = "args"     // the arguments, as canonical JSON
	RawArgs Part = "raw-args" // the arguments as the model wrote them
	Result  Part = "result"   // the result, or the error text
	Error   Part = "error"    // the error text, empty for a success
	Text    Part = "text"     // the text of the reply
)

// An Order says whether the order of calls in a turn matters.
type Order string

// The orders. The zero value is Kept.
const (
	Kept     Order = "kept"
	AnyOrder Order = "any"
)

// A Match is a way to count.
type Match string

// The matches. The zero value is Streak.
const (
	Streak Match = "streak" // records with the present key, back to what ends the streak
	Window Match = "window" // the commonest key among the last Memory records
	Cycle  Match = "cycle"  // laps of the shortest cycle at the tail
)

// Ends says what ends a streak (decision D1).
type Ends string

// The ends of a streak. The zero value is EndsTurn.
const (
	// EndsTurn: a turn without the key. Each occurrence in a batch adds one.
	EndsTurn Ends = "turn"
	// EndsNext: any record with another key, in the order the model asked.
	EndsNext Ends = "next"
	// EndsTool: a record of the same tool with another key.
	EndsTool Ends = "tool"
	// EndsBatch: as EndsNext, and the end of the batch.
	EndsBatch Ends = "batch"
	// EndsNever: only a reset.
	EndsNever Ends = "never"
)

// A Moment is when a detector looks.
type Moment string

// The moments. The zero value is BeforeCall.
const (
	BeforeCall Moment = "before-call" // before any of the batch runs
	AfterBatch Moment = "after-batch" // when all its results are there; it can nudge and stop, not veto
)

// A Reset makes a count start anew.
type Reset string

// The resets.
const (
	OnSuccess      Reset = "success"        // a call that succeeded
	OnToolSuccess  Reset = "tool-success"   // a call of the same tool that succeeded
	OnResultChange Reset = "result-changed" // the same call with another result
	OnUserMessage  Reset = "user-message"   // a user message, also with ScopeSession
)

// VetoedAs says what a vetoed call is to later counts.
type VetoedAs string

// The choices. The zero value is AsOther.
const (
	AsOther     VetoedAs = "other"        // a record that equals no other
	AsSame      VetoedAs = "same"         // a record like any
	NotRecorded VetoedAs = "not-recorded" // no record
)

// An AfterFiring says what becomes of the records when the detector fired.
type AfterFiring string

// The choices. The zero value is Keep.
const (
	Keep  AfterFiring = "keep"
	Clear AfterFiring = "clear" // the count starts anew
)

// A Rung is a count and what happens when it is reached.
type Rung struct {
	At  int `yaml:"at"`
	Act Act `yaml:"act"`
}

// An Act is what a detector does, from the weakest to the strongest. Of several
// detectors that fire at once the strongest acts, and of equals the first in
// the config.
type Act string

// The acts.
const (
	Nudge Act = "nudge" // tell the model, after the batch's results
	Veto  Act = "veto"  // do not run the call, and tell the model why
	Ask   Act = "ask"   // veto the call and ask the user whether to go on; the stop is the detector's if not
	// FinalAnswer vetoes the batch and asks the model for its last word,
	// without tools.
	FinalAnswer Act = "final-answer"
	Stop        Act = "stop" // veto the batch and stop the run
)

// ends reports whether the act ends the run.
func (a Act) ends() bool { return a == FinalAnswer || a == Stop }

// strength orders the acts; 0 = none.
func (a Act) strength() int {
	switch a {
	case Nudge:
		return 1
	case Veto:
		return 2
	case Ask:
		return 3
	case FinalAnswer:
		return 4
	case Stop:
		return 5
	}
	return 0
}

// A Period is a range of cycle lengths, in text 2..4 or 2. The zero Period is
// 2..2.
type Period struct{ Min, Max int }

// UnmarshalText reads 2..4 or 2.
func (p *Period) UnmarshalText(text []byte) error {
	lo, hi, ranged := strings.Cut(string(text), "..")
	if !ranged {
		hi = lo
	}
	low, errLow := strconv.Atoi(strings.TrimSpace(lo))
	high, errHigh := strconv.Atoi(strings.TrimSpace(hi))
	if errLow != nil || errHigh != nil {
		return fmt.Errorf("%q is no range of whole numbers such as 2..4", text)
	}
	p.Min, p.Max = low, high
	return nil
}

// MarshalText writes 2..4.
func (p Period) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d..%d", p.Min, p.Max), nil
}

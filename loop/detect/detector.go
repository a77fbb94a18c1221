// Package detect holds the detectors of a loop. A [Detector] is a rule, as data,
// that separates a stuck loop from healthy repetition. A [Set] applies a list of
// detectors to the calls of a session. A [Canon] says which calls are the same. The
// package does not know the loop.
package detect

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Detector watches the calls of a run for repetition. It records calls (or
// whole turns), computes a key for each record, counts records with the same key,
// and acts when the count reaches a rung. Except for Name and Do, the zero value
// of each field is the usual choice.
//
// The fields determine the failure that a detector stops, the counter that it
// keeps, when that resets, and where it must not fire. docs/detectors.md goes
// through the usual detectors.
//
// To add a dimension, add a field here, check it in validateFields, and make
// watcher.go or count.go use it. YAML, the JSON Schema and explain read the field.
type Detector struct {
	// Name is the stop with which the detector ends a run.
	Name string `yaml:"name"`
	// Record says what becomes a record: a call, a turn or a reply.
	Record Unit `yaml:"record"`
	// Tools restricts the detector to the calls of some tools. A tool that waits
	// (see [Call]) is left out unless Only names it.
	Tools ToolFilter `yaml:"tools"`
	// Counts lists the classes of records that count; empty means all. A record
	// that does not count can still reset the count.
	Counts []Class `yaml:"counts"`
	// Key lists the parts in which two records must be equal to be the same;
	// empty means the tool and its arguments.
	Key []Part `yaml:"key"`
	// IgnoreArgs names arguments (top-level keys) that are not part of the key.
	IgnoreArgs []string `yaml:"ignore_args"`
	// Round names arguments (top-level keys) whose numbers are cut to the multiple
	// below, which for a negative number is the one further from 0, before they are
	// compared: 200 makes 0 of 199 and 200 of 399.5. Texts and numbers of more than
	// 18 digits before the point stay as they are.
	Round map[string]int64 `yaml:"round"`
	// IgnoreResult lists JSON paths and regular expressions. What they match is left
	// out of a result or error text before it is compared, in the key and for
	// OnResultChange. A path begins with $: $.name, $["name"], $.items[3], all of
	// them as $.items[*], and $..name at any depth. It applies if the text is JSON,
	// which is then compared in canonical form. Expressions have Go's syntax, and
	// apply to what the paths leave.
	IgnoreResult []string `yaml:"ignore_result"`
	// ErrorChars is how many characters of the error the key uses; 0 means all.
	ErrorChars int `yaml:"error_chars"`
	// Order says whether the order of a turn's calls matters. It applies to
	// PerTurn and PerReply.
	Order Order `yaml:"order"`
	// Match says how records are counted.
	Match Match `yaml:"match"`
	// Ends says what ends a streak. It applies to Streak.
	Ends Ends `yaml:"ends"`
	// Period is the range of cycle lengths. It applies to Cycle. Calls that repeat
	// in a cycle shorter than Min do not count.
	Period Period `yaml:"period"`
	// Memory is how many records back the detector looks. They include the present
	// one unless PriorOnly is set. 0 means no bound.
	Memory int `yaml:"memory"`
	// Full keeps the detector silent until there are Memory records.
	Full bool `yaml:"full"`
	// Within counts a repetition only if its reply comes within this time of the
	// reply with the one before; a later one begins a new count at 1. 0 means any
	// time.
	Within time.Duration `yaml:"within"`
	// DistinctArgs is how many different arguments the counted records must have
	// before the detector acts; 0 means any number.
	DistinctArgs int `yaml:"distinct_args"`
	// OncePerTurn counts a key once a turn, however often the turn has it.
	OncePerTurn bool `yaml:"once_per_turn"`
	// Acts says when the detector looks.
	Acts Moment `yaml:"acts"`
	// PriorOnly leaves the present record out of the count, so At 3 acts at the
	// fourth record. The present record has no result yet: if the key needs one,
	// the newest earlier record that is equal in the other parts supplies it.
	PriorOnly bool `yaml:"prior_only"`
	// Reset lists what resets the count in addition to the scope.
	Reset []Reset `yaml:"reset"`
	// Vetoed says how later counts treat a vetoed call. It applies to PerCall. The
	// zero value is AsSame if a rung that vetoes is below a higher one, so that the
	// higher one is reached, else AsOther.
	Vetoed VetoedAs `yaml:"vetoed"`
	// Do lists the counts and their acts. The highest rung that the count reaches
	// acts. A nudge acts once per rung and streak, every other act at each record
	// whose count reaches the rung.
	Do []Rung `yaml:"do"`
	// Firings replaces the act of Do for the first, second … firing since the last
	// user message. Its last act also holds for all later firings.
	Firings []Act `yaml:"firings"`
	// AfterFiring says whether the detector keeps its records when it fires.
	AfterFiring AfterFiring `yaml:"after_firing"`
}

// validateFields checks each field alone.
func (d *Detector) validateFields(v *validation) {
	oneOf(v, "record", d.Record, "", PerCall, PerTurn, PerReply)
	for i, c := range d.Counts {
		oneOf(v, fmt.Sprintf("counts[%d]", i), c, All, Failed, Unknown, Invalid, Denied, Empty, TextOnly)
	}
	for i, k := range d.Key {
		oneOf(v, fmt.Sprintf("key[%d]", i), k, Tool, Args, RawArgs, Result, Error, Text)
	}
	if len(d.Round) > 0 {
		d.validateRound(v)
	}
	for i, entry := range d.IgnoreResult {
		if wrong := checkIgnored(entry); wrong != "" {
			v.add(fmt.Sprintf("ignore_result[%d]", i), "%s", wrong)
		}
	}
	v.count("error_chars", d.ErrorChars)
	oneOf(v, "order", d.Order, "", Kept, AnyOrder)
	oneOf(v, "match", d.Match, "", Streak, Window, Cycle)
	oneOf(v, "ends", d.Ends, "", EndsTurn, EndsNext, EndsTool, EndsBatch, EndsNever)
	if p := d.Period; p != (Period{}) && (p.Min < 1 || p.Max < p.Min || p.Max > 50) {
		v.add("period", "must be a range from 1 to 50 such as 2..4, not %d..%d", p.Min, p.Max)
	}
	v.count("memory", d.Memory)
	if d.Within < 0 || d.Within > maxWithin {
		v.add("within", "must be from 0 (off) to ten years, not %v", d.Within)
	}
	v.count("distinct_args", d.DistinctArgs)
	oneOf(v, "acts", d.Acts, "", BeforeCall, AfterBatch)
	for i, r := range d.Reset {
		oneOf(v, fmt.Sprintf("reset[%d]", i), r, OnSuccess, OnToolSuccess, OnResultChange, OnUserMessage)
	}
	oneOf(v, "vetoed", d.Vetoed, "", AsOther, AsSame, NotRecorded)
	oneOf(v, "after_firing", d.AfterFiring, "", Keep, Clear)
}

// perCall reports whether each call is a record.
func (d *Detector) perCall() bool { return d.Record == "" || d.Record == PerCall }

// rungs returns Do sorted by the counts.
func (d *Detector) rungs() []Rung {
	rungs := slices.Clone(d.Do)
	slices.SortStableFunc(rungs, func(a, b Rung) int { return cmp.Compare(a.At, b.At) })
	return rungs
}

// VetoedAs returns Vetoed, or what its zero value means.
func (d *Detector) VetoedAs() VetoedAs {
	if d.Vetoed != "" {
		return d.Vetoed
	}
	highest, lowestVeto := 0, math.MaxInt
	for _, r := range d.Do {
		highest = max(highest, r.At)
		if d.vetoes(r.Act) {
			lowestVeto = min(lowestVeto, r.At)
		}
	}
	if len(d.Firings) == 0 && lowestVeto < highest {
		return AsSame
	}
	return AsOther
}

func (d *Detector) validateRound(v *validation) {
	for _, name := range slices.Sorted(maps.Keys(d.Round)) {
		if step := d.Round[name]; step < 1 {
			v.add("round."+name, "must be a whole number from 1, not %d", step)
		}
	}
}

// maxWithin is the longest Within, that of the durations of a config.
const maxWithin = 10 * 365 * 24 * time.Hour

// A Unit is what becomes one record of a detector.
type Unit string

// The units. The zero value is PerCall.
const (
	PerCall  Unit = "call"  // each call
	PerTurn  Unit = "turn"  // the calls of a turn together
	PerReply Unit = "reply" // as turn, and also each reply without calls
)

// A ToolFilter restricts a detector to some tools: those in Only, without those in
// Except. If Only is empty it means all tools but those that wait.
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
	Unknown  Class = "unknown" // of an unknown tool
	Invalid  Class = "invalid" // with invalid arguments
	Denied   Class = "denied"  // its permission was denied; known after the batch
	Empty    Class = "empty"   // a call without a name, or a reply with neither text nor calls
	TextOnly Class = "text"    // a reply without calls (PerReply)
)

// A Part is one part of a record's key.
type Part string

// The parts.
const (
	Tool    Part = "tool"     // the tool's name
	Args    Part = "args"     // the arguments, as canonical JSON
	RawArgs Part = "raw-args" // the arguments as the model wrote them
	Result  Part = "result"   // the result, or the error text
	Error   Part = "error"    // the error text, "" for a success
	Text    Part = "text"     // the text of the reply
)

// An Order says whether the order of calls in a turn matters.
type Order string

// The orders. The zero value is Kept.
const (
	Kept     Order = "kept"
	AnyOrder Order = "any"
)

// A Match is a way to count records.
type Match string

// The matches. The zero value is Streak.
const (
	Streak Match = "streak" // the records with the present key, back to the end of the streak
	Window Match = "window" // the records with the commonest key among the last Memory records
	Cycle  Match = "cycle"  // the laps of the shortest cycle that the last records go through
)

// Ends says what ends a streak.
type Ends string

// The ends of a streak. The zero value is EndsTurn.
const (
	// EndsTurn: a turn without the key. Each occurrence in a batch adds 1.
	EndsTurn Ends = "turn"
	// EndsNext: any record with another key, in request order.
	EndsNext Ends = "next"
	// EndsTool: a record of the same tool with another key.
	EndsTool Ends = "tool"
	// EndsBatch: any record with another key, and the end of the batch.
	EndsBatch Ends = "batch"
	// EndsNever: a reset only.
	EndsNever Ends = "never"
)

// A Moment is when a detector looks.
type Moment string

// The moments. The zero value is BeforeCall.
const (
	BeforeCall Moment = "before-call" // before any of the batch runs
	AfterBatch Moment = "after-batch" // when the batch has all its results; a veto is not possible then
)

// A Reset is an event that resets a count to 0.
type Reset string

// The resets.
const (
	OnSuccess      Reset = "success"        // a call that succeeded
	OnToolSuccess  Reset = "tool-success"   // a call of the same tool that succeeded
	OnResultChange Reset = "result-changed" // another result of the same call
	OnUserMessage  Reset = "user-message"   // a user message, also under scope: session
)

// VetoedAs says how later counts treat a vetoed call.
type VetoedAs string

// The choices.
const (
	AsOther     VetoedAs = "other"        // a record that equals no other
	AsSame      VetoedAs = "same"         // a record like any other
	NotRecorded VetoedAs = "not-recorded" // it is not a record
)

// An AfterFiring says what a detector does with its records when it fires.
type AfterFiring string

// The choices. The zero value is Keep.
const (
	Keep  AfterFiring = "keep"
	Clear AfterFiring = "clear" // drop them, which resets the count
)

// A Rung is a count and the act at it.
type Rung struct {
	At  int `yaml:"at"`
	Act Act `yaml:"act"`
}

// An Act is what a firing detector does. If several detectors fire at one record,
// the strongest act is done, and of equal ones the first in the config.
type Act string

// The acts, from the weakest to the strongest.
const (
	Nudge Act = "nudge" // warn the model, after the results of the batch
	Veto  Act = "veto"  // veto the call; the model reads why
	Ask   Act = "ask"   // veto the call and ask the user whether to go on; if not, stop the run
	// FinalAnswer vetoes the batch and asks the model for a last reply, without
	// tools.
	FinalAnswer Act = "final-answer"
	Stop        Act = "stop" // veto the batch and stop the run
)

// ends reports whether the act ends the run.
func (a Act) ends() bool { return a == FinalAnswer || a == Stop }

// strength returns the rank of the act, from 1; 0 for no act.
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

// UnmarshalText reads a range such as 2..4, or one length such as 2.
func (p *Period) UnmarshalText(text []byte) error {
	lo, hi, ranged := strings.Cut(string(text), "..")
	if !ranged {
		hi = lo
	}
	low, errLow := strconv.Atoi(strings.TrimSpace(lo))
	high, errHigh := strconv.Atoi(strings.TrimSpace(hi))
	if errLow != nil || errHigh != nil {
		return fmt.Errorf("%q is not a range of whole numbers such as 2..4", text)
	}
	p.Min, p.Max = low, high
	return nil
}

// MarshalText returns a range such as 2..4.
func (p Period) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d..%d", p.Min, p.Max), nil
}

package detect

import (
	"fmt"
	"slices"
	"strings"
)

// A Mistake is an invalid value of a [Detector], or one with which it could never
// act.
type Mistake struct {
	Field string // as in YAML, such as do[0].at
	Text  string
}

// Validate returns the mistakes in the detector, none if it is valid.
func (d *Detector) Validate() []Mistake {
	var v validation
	if d.Name == "" {
		v.add("name", "must not be empty")
	}
	d.validateFields(&v)
	d.validateActs(&v)
	d.validateReach(&v)
	d.validateUse(&v)
	return v.mistakes
}

// validateActs checks Do and Firings.
func (d *Detector) validateActs(v *validation) {
	if len(d.Do) == 0 {
		v.add("do", "must list a count and an act, such as {at: 5, act: stop}")
	}
	acts := []Act{Nudge, Veto, Ask, FinalAnswer, Stop}
	for i, r := range d.Do {
		if r.At < 1 {
			v.add(fmt.Sprintf("do[%d].at", i), "must be 1 or more, not %d", r.At)
		}
		d.validateAct(v, fmt.Sprintf("do[%d].act", i), r.Act, acts)
	}
	for i, a := range d.Firings {
		d.validateAct(v, fmt.Sprintf("firings[%d]", i), a, acts)
	}
}

func (d *Detector) validateAct(v *validation, field string, act Act, acts []Act) {
	oneOf(v, field, act, acts...)
	if d.Acts == AfterBatch && act == Veto {
		v.add(field, "cannot veto a call that has run: use acts: before-call")
	}
}

// shortest returns the length of the shortest cycle that counts.
func (d *Detector) shortest() int {
	if d.Period == (Period{}) {
		return 2
	}
	return max(1, d.Period.Min)
}

// validateReach checks that each rung can be reached, and that key and classes are
// known when the detector looks.
func (d *Detector) validateReach(v *validation) {
	if d.Match == Window && d.Memory == 0 {
		v.add("memory", "must be set for match: window")
	}
	if d.Full && d.Memory == 0 {
		v.add("full", "needs a memory")
	}
	for i, r := range d.Do {
		needs := r.At
		if d.Match == Cycle {
			needs *= d.shortest()
			if r.At == 1 {
				v.add(fmt.Sprintf("do[%d].at", i), "must be 2 or more for match: cycle, which one lap does not make")
			}
		}
		if d.Memory > 0 && needs > d.Memory {
			v.add(fmt.Sprintf("do[%d].at", i), "%d can never be reached within a memory of %d records", r.At, d.Memory)
		}
	}
	if d.Record == PerReply && d.Acts != AfterBatch {
		v.add("acts", "must be after-batch for record: reply, since not every reply has calls")
	}
	if d.Acts == AfterBatch || d.PriorOnly {
		return
	}
	for i, k := range d.Key {
		if k == Result || k == Error {
			v.add(fmt.Sprintf("key[%d]", i), "is not known before the call: use acts: after-batch or prior_only: true")
		}
	}
	for i, c := range d.Counts {
		if c == Failed || c == Denied {
			v.add(fmt.Sprintf("counts[%d]", i), "is not known before the call: use acts: after-batch or prior_only: true")
		}
	}
}

// validateUse checks that no field is without effect, and that each class can occur.
func (d *Detector) validateUse(v *validation) {
	useless := func(field string, set, used bool, needs string) {
		if set && !used {
			v.add(field, "changes nothing without %s", needs)
		}
	}
	perCall := d.perCall()
	streak := d.Match == "" || d.Match == Streak
	useless("ends", d.Ends != "" && d.Ends != EndsTurn, streak, "match: streak")
	useless("once_per_turn", d.OncePerTurn, streak, "match: streak")
	useless("distinct_args", d.DistinctArgs > 0, streak && perCall, "match: streak and record: call")
	useless("order", d.Order == AnyOrder, !perCall, "record: turn")
	useless("error_chars", d.ErrorChars > 0, slices.Contains(d.Key, Error), "error in the key")
	for i, r := range d.Reset {
		useless(fmt.Sprintf("reset[%d]", i), r == OnResultChange, perCall, "record: call")
	}
	for i, c := range d.Counts {
		field := fmt.Sprintf("counts[%d]", i)
		switch c {
		case Unknown, Invalid, Denied:
			useless(field, true, perCall, "record: call")
		case Empty:
			useless(field, true, d.Record != PerTurn, "record: call or record: reply")
		case TextOnly:
			useless(field, true, d.Record == PerReply, "record: reply")
		}
	}
}

type validation struct{ mistakes []Mistake }

func (v *validation) add(field, format string, args ...any) {
	v.mistakes = append(v.mistakes, Mistake{Field: field, Text: fmt.Sprintf(format, args...)})
}

func (v *validation) count(field string, n int) {
	if n < 0 {
		v.add(field, "must be 0 (off) or more, not %d", n)
	}
}

func oneOf[T ~string](v *validation, field string, got T, allowed ...T) {
	if slices.Contains(allowed, got) {
		return
	}
	var names []string
	for _, a := range allowed {
		if a != "" {
			names = append(names, string(a))
		}
	}
	v.add(field, "must be one of %s, not %q", strings.Join(names, ", "), got)
}

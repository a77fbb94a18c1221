package detect

import (
	"fmt"
	"maps"
	"slices"
)

// NeverActs returns the keys of a valid detector that can never act: a rung that an
// endless repetition cannot reach, and what nothing can match. A detector that has one
// works as written, but not as meant. The rules that it checks:
//
//   - A veto that is not counted ([Detector.Vetoed]) holds the count at its rung, so
//     that no higher rung is reached. So does one that changes what is compared.
//   - A rung that ends the run, or drops the records, comes before the higher ones.
//   - Firings replace the acts of all rungs.
func (d *Detector) NeverActs() []Mistake {
	var v validation
	d.neverWatches(&v)
	d.neverMatches(&v)
	d.neverReaches(&v)
	d.neverVetoes(&v)
	if len(d.Firings) > 0 {
		d.neverFires(&v)
	} else {
		d.neverClimbs(&v)
	}
	d.neverUsed(&v)
	return v.mistakes
}

// neverWatches finds tools that the detector does not watch.
func (d *Detector) neverWatches(v *validation) {
	if only := d.Tools.Only; len(only) > 0 && !slices.ContainsFunc(only, func(t string) bool { return !slices.Contains(d.Tools.Except, t) }) {
		v.add("tools.only", "is empty after except: the detector watches no tool")
	}
	for i, name := range d.Tools.Except {
		if len(d.Tools.Only) > 0 && !slices.Contains(d.Tools.Only, name) {
			v.add(fmt.Sprintf("tools.except[%d]", i), "changes nothing: only does not name %s", name)
		}
	}
}

// neverMatches finds what no record has.
func (d *Detector) neverMatches(v *validation) {
	switch byArgs := len(d.Key) == 0 || slices.Contains(d.Key, Args) || slices.Contains(d.Key, RawArgs); {
	case d.DistinctArgs > 1 && byArgs:
		v.add("distinct_args", "is never reached: records with the same key have the same arguments; leave args out of the key")
	case d.DistinctArgs > 1 && d.Ends == EndsBatch && d.OncePerTurn:
		v.add("distinct_args", "is never reached: the streak ends with the batch, which counts once")
	case d.DistinctArgs == 1:
		v.add("distinct_args", "changes nothing: each record has arguments; use 2 or more")
	case d.Memory > 0 && d.DistinctArgs > d.Memory:
		v.add("distinct_args", "is never reached within a memory of %d records", d.Memory)
	}
	for i, c := range d.Counts {
		switch at := fmt.Sprintf("counts[%d]", i); {
		case c != All && slices.Contains(d.Counts, All):
			v.add(at, "changes nothing beside all")
		case (c == Failed || c == Denied) && d.Ends == EndsBatch && d.Acts != AfterBatch:
			v.add(at, "is known when the batch ends, and so does the streak: use acts: after-batch or another end")
		}
	}
}

// neverReaches finds counts that no repetition makes.
func (d *Detector) neverReaches(v *validation) {
	once := d.Ends == EndsBatch && (d.OncePerTurn || !d.perCall())
	longest := max(d.Period.Max, d.shortest())
	for i, r := range d.Do {
		at := fmt.Sprintf("do[%d].at", i)
		switch {
		case once && (r.At > 1 || d.PriorOnly && !d.perCall()):
			v.add(at, "%d can never be reached: the streak ends with the batch, which counts once", r.At)
		case d.Match == Cycle && d.Memory > 0 && r.At*longest > d.Memory && r.At*d.shortest() <= d.Memory:
			v.add(at, "%d laps of a cycle of %d need a memory of %d records, not %d", r.At, longest, r.At*longest, d.Memory)
		case slices.ContainsFunc(d.Do[i+1:], func(other Rung) bool { return other.At == r.At }):
			v.add(at, "%d never acts: a later rung has the same count", r.At)
		}
	}
}

// neverVetoes finds vetoes of calls that do not run anyway.
func (d *Detector) neverVetoes(v *validation) {
	if !d.onlyBlocked() {
		return
	}
	const why = "changes nothing: the calls that count do not run anyway"
	for i, act := range d.Firings {
		if act == Veto {
			v.add(fmt.Sprintf("firings[%d]", i), why)
		}
	}
	for i, r := range d.Do {
		if r.Act == Veto && len(d.Firings) == 0 {
			v.add(fmt.Sprintf("do[%d].act", i), why)
		}
	}
}

// neverFires finds rungs that firings replace, and firings after the end of the run.
func (d *Detector) neverFires(v *validation) {
	lowest := d.rungs()[0]
	for i, r := range d.Do {
		if r.At > lowest.At {
			v.add(fmt.Sprintf("do[%d]", i), "changes nothing: firings replaces its act, and %d is reached before", lowest.At)
		}
	}
	for i, act := range d.Firings[:len(d.Firings)-1] {
		if act.ends() {
			v.add(fmt.Sprintf("firings[%d]", i+1), "can never be reached: %s has ended the run before", act)
			return
		}
	}
}

// neverClimbs finds rungs that an endless repetition cannot reach, since a lower one
// acts first. A detector that is silent until its memory is full begins at the highest.
func (d *Detector) neverClimbs(v *validation) {
	if d.Full && !d.OncePerTurn && d.Ends != EndsBatch {
		return
	}
	for i, r := range d.Do {
		for _, lower := range d.rungs() {
			if lower.At >= r.At {
				break
			}
			if why := d.stays(lower); why != "" {
				v.add(fmt.Sprintf("do[%d].at", i), "%d can never be reached: %s", r.At, why)
				break
			}
		}
	}
}

// stays says why the count never gets far above a rung at which the detector acts, ""
// if it does.
func (d *Detector) stays(at Rung) string {
	switch {
	case at.Act.ends():
		return fmt.Sprintf("at %d the run ends", at.At)
	case d.AfterFiring == Clear:
		return fmt.Sprintf("at %d the count starts anew (after_firing: clear)", at.At)
	case !d.vetoes(at.Act) || d.onlyBlocked():
		return ""
	}
	switch as := d.VetoedAs(); {
	case d.comparesVetoes():
		return fmt.Sprintf("from %d on the result is the %s itself, which the key tells apart: leave result and error out of the key", at.At, at.Act)
	case !d.perCall():
		return ""
	case as != AsSame:
		return fmt.Sprintf("from %d on the calls are vetoed, and a vetoed call does not count (vetoed: %s): use vetoed: same", at.At, as)
	case len(d.Counts) > 0 && !slices.ContainsFunc(d.Counts, func(c Class) bool { return c == All || c == Failed }):
		return fmt.Sprintf("from %d on the calls are vetoed, which counts leaves out: use counts: [failed]", at.At)
	}
	return ""
}

// vetoes reports whether an act keeps calls from running.
func (d *Detector) vetoes(act Act) bool {
	return d.Acts != AfterBatch && (act == Veto || act == Ask)
}

// comparesVetoes reports whether the result that a veto gives a call ends the count of
// its other results.
func (d *Detector) comparesVetoes() bool {
	result := slices.Contains(d.Key, Result) || slices.Contains(d.Key, Error)
	unknown := d.Ends == EndsBatch // no result of the batch is known yet
	passed := d.Ends == EndsNever && d.Memory == 0
	return d.PriorOnly && result && !unknown && !passed
}

// onlyBlocked reports whether all calls that count are blocked before a detector could
// veto them.
func (d *Detector) onlyBlocked() bool {
	blocked := func(c Class) bool {
		late := c == Failed || c == Denied
		return c == Unknown || c == Invalid || c == Empty || late && d.Ends == EndsBatch
	}
	return len(d.Counts) > 0 && !slices.ContainsFunc(d.Counts, func(c Class) bool { return !blocked(c) })
}

// neverUsed finds keys that change nothing beside the others.
func (d *Detector) neverUsed(v *validation) {
	if d.Period != (Period{}) && d.Match != Cycle {
		v.add("period", "changes nothing without match: cycle")
	}
	if d.Vetoed != "" && !d.perCall() {
		v.add("vetoed", "changes nothing without record: call")
	}
	byArgs := len(d.Key) == 0 || slices.Contains(d.Key, Args) || d.DistinctArgs > 0 || slices.Contains(d.Reset, OnResultChange)
	if len(d.IgnoreArgs) > 0 && !byArgs {
		v.add("ignore_args[0]", "changes nothing without args in the key")
	}
	if len(d.IgnoreResult) > 0 && !slices.Contains(d.Key, Result) && !slices.Contains(d.Key, Error) && !slices.Contains(d.Reset, OnResultChange) {
		v.add("ignore_result[0]", "changes nothing without result or error in the key, or reset: [result-changed]")
	}
	for _, name := range slices.Sorted(maps.Keys(d.Round)) {
		switch {
		case !byArgs:
			v.add("round."+name, "changes nothing without args in the key")
		case slices.Contains(d.IgnoreArgs, name):
			v.add("round."+name, "changes nothing: ignore_args leaves it out")
		}
	}
}

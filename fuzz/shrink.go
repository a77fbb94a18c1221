package fuzz

import (
	"errors"
	"iter"
	"reflect"
	"slices"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/leanovate/gopter"
)

// mostPlays is the largest number of smaller cases that are tried for one failure.
const mostPlays = 6000

// Shrink returns the smallest case it finds that breaks the same invariant. It
// leaves out and simplifies one part after another, until nothing more can go. It
// is deterministic.
func Shrink(c *Case, breaks Invariant) *Case {
	small := copyOf(c)
	left := mostPlays
	try := func() bool {
		left--
		return left >= 0 && breaksIt(small, breaks)
	}
	for round := 0; ; round++ {
		w := walk{Case: small, try: try, late: round > 0}
		if breaks == Recovers {
			w.lists() // other changes may make the case unrecoverable
		} else {
			w.all()
		}
		if !w.kept || left < 0 {
			shorten(small, try)
			return small
		}
	}
}

// shorten adds an end to a case whose last step repeats its calls forever, if the
// case then still breaks the invariant: a short trace is easier to read than a short
// script.
func shorten(c *Case, try func() bool) {
	steps := c.Script.Model
	last := len(steps) - 1
	if steps[last].Repeat != fakes.Forever || len(steps[last].Calls) == 0 {
		return
	}
	for n := 1; n <= 8; n++ {
		s := slices.Clone(steps)
		s[last].Repeat = n
		c.Script.Model = append(s, fakes.Step{Text: "Done.", Repeat: fakes.Forever})
		if try() {
			return
		}
	}
	c.Script.Model = steps
}

// breaksIt reports whether a case can be played and breaks the invariant.
func breaksIt(c *Case, breaks Invariant) (broken bool) {
	if !playable(c) {
		return false
	}
	defer func() {
		if recover() != nil {
			broken = breaks == NoPanic
		}
	}()
	p := played(c)
	var dry *fakes.DryError // the smaller script lacks an answer
	if p.machine == nil || errors.As(p.err, &dry) || p.err != nil && breaks != Ends {
		return false
	}
	for _, r := range checkers {
		if r.name != breaks && breaks != NoPanic {
			continue
		}
		if problem, _ := r.check(p); r.name == breaks {
			return problem != ""
		}
	}
	return false
}

// playable reports whether a script can be played and written as a scenario.
func playable(c *Case) bool {
	return c.Script.Validate() == nil && expressible(c.Script.Model, c.Script.Tools)
}

// expressible reports whether a scenario can express a model and its tools.
func expressible(model []fakes.Step, tools []fakes.Tool) bool {
	if len(model) == 0 {
		return false
	}
	for i := range model {
		if !sayable(&model[i]) {
			return false
		}
	}
	for i := range tools {
		t := &tools[i]
		if x := t.Session; x != nil {
			if !expressible(x.Model, x.Tools) || x.Config != nil && x.Config.Validate() != nil {
				return false
			}
			continue
		}
		if len(t.Answers) == 0 {
			return false
		}
		for _, a := range t.Answers {
			if a.Error == loop.None && a.Text != "" {
				return false
			}
		}
	}
	return true
}

// sayable reports whether a scenario can express a step.
func sayable(s *fakes.Step) bool {
	if s.FirstToken > 0 && (s.Chunks == 0 || s.Latency.Min > 0 && s.FirstToken > s.Latency.Min) || s.FailForever && len(s.Failures) == 0 {
		return false
	}
	for _, f := range s.Failures {
		if f.Status != 0 && (f.Status < 400 || f.Status > 599) || f.Hang && (f.Status != 0 || f.RetryAfter != 0 || f.Text != "") {
			return false
		}
	}
	return true
}

// Shrinker is the shrinker of [Gen]: it yields every case that is simpler in one
// part.
func Shrinker(value any) gopter.Shrink {
	next, stop := iter.Pull(simpler(value.(*Case)))
	return func() (any, bool) {
		c, ok := next()
		if !ok {
			stop()
			return nil, false
		}
		return c, true
	}
}

func simpler(c *Case) iter.Seq[*Case] {
	return func(yield func(*Case) bool) {
		more := true
		w := walk{Case: copyOf(c)}
		w.try = func() bool {
			if more && playable(w.Case) {
				more = yield(copyOf(w.Case))
			}
			return false
		}
		w.all()
	}
}

// copyOf returns a deep copy of a case.
func copyOf(c *Case) *Case {
	out := deepCopy(reflect.ValueOf(*c)).Interface().(Case)
	return &out
}

// deepCopy copies a value and everything that it points to, except through an
// interface: such values are only replaced, never changed.
func deepCopy(v reflect.Value) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			out.Set(reflect.New(v.Type().Elem()))
			out.Elem().Set(deepCopy(v.Elem()))
		}
	case reflect.Slice:
		if !v.IsNil() {
			out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
			for i := range v.Len() {
				out.Index(i).Set(deepCopy(v.Index(i)))
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			out.Field(i).Set(deepCopy(v.Field(i)))
		}
	}
	return out
}

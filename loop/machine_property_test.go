package loop_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
)

// wildTrace plays the session of a seed in the wild world of that seed. If nothing
// is pending in the world and no timer is set, the caller cancels.
func wildTrace(t *testing.T, seed uint64) (session, Trace) {
	t.Helper()
	s, err := wildSession(seed)
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(s.cfg, s.task, s.tools)
	if err != nil {
		t.Fatal(err)
	}
	s.trace = drive(t, m, newWild(seed).answer)
	for !m.Halted() {
		last := s.trace[len(s.trace)-1].In.At
		in := Input{At: last, Kind: Cancel}
		for in.Kind != 0 {
			s.trace.Append(in, m.Step(in))
			wake, armed := m.Wake()
			if in = (Input{}); armed {
				in = Input{At: wake, Kind: Tick}
			}
		}
	}
	s.text = s.trace.String()
	return s, s.trace
}

// TestWildWorlds: whatever a world does, the history is clean at every request
// and halt and can be rebuilt from the trace, every run ends, within the grace
// of what cut it short, and the outcome adds up.
func TestWildWorlds(t *testing.T) {
	seeds := uint64(2000)
	if testing.Short() {
		seeds = 200
	}
	stops := map[Stop]int{}
	events := map[Event]int{}
	for seed := range seeds {
		s, trace := wildTrace(t, seed)
		if problem := s.problem(stops, events); problem != "" {
			t.Fatalf("seed %d: %s\n%s", seed, problem, trace)
		}
	}
	if testing.Short() {
		return
	}
	// The wild worlds are worth their name: nearly everything comes about.
	for _, stop := range []Stop{StopDone, StopByModel, StopNeedsUser, StopTurnLimit, StopAskedLimit, StopCallLimit, StopTokenLimit, StopCostLimit, StopTryLimit, StopDepthLimit,
		StopSpawnLimit, StopRunDeadline, StopErrorLimit, StopToolContract, StopUnauthorized, StopModelFailed, StopModelDeadline, StopEmptyReply,
		StopTruncatedReply, StopUnmetGoal, StopCancelled, StopCeiling, StopRecordingEnded, "d0", "d2", "d3", "d4", "d5", "d7"} {
		if stops[stop] == 0 {
			t.Errorf("no run stopped with %s", stop)
		}
	}
	for _, event := range []Event{EventIgnored, EventReplacedID, EventRepeatedCall, EventDroppedCall, EventTrimmedName, EventRepaired, EventFallback, EventBadHook, EventCompacted, EventNoSummary,
		EventBadAction, EventGaps, EventEmptyReply, EventCutReply, EventBrokenStream, EventAbandoned, EventTruncated, EventTrimmed, EventNudged,
		EventLimitNear, EventAlsoStopped, EventGaveUp} {
		if events[event] == 0 {
			t.Errorf("no trace has the event %s", event)
		}
	}
}

// problem plays the session again and says what must not be, "" if nothing is
// wrong. It counts the stops and the events.
func (s *session) problem(stops map[Stop]int, events map[Event]int) string {
	m, err := New(s.cfg, s.task, s.tools)
	if err != nil {
		return err.Error()
	}
	book, tries := newBook(s.task.Planner), newTries(s.cfg.Parallel.Max)
	cut := time.Duration(-1) // when the present run was cut short
	var halts int
	for i := range s.trace {
		r := &s.trace[i]
		again := Record{In: r.In}
		again.Effects = append(again.Effects, m.Step(r.In)...)
		if got, want := again.String(), r.String(); got != want {
			return fmt.Sprintf("played again, the step\n%s\nis\n%s", want, got)
		}
		if at, armed := m.Wake(); armed && at <= r.In.At {
			return fmt.Sprintf("after %v it is to be woken at %v", r.In.At, at)
		}
		if problems := append(book.add(r, m.History()), tries.add(r)...); problems != nil {
			return fmt.Sprintf("after\n%s\n%s", r, problems)
		}
		if cutsShort(r) && cut < 0 {
			cut = r.In.At
		}
		for _, e := range r.Effects {
			events[e.Event]++
			if e.Kind != Halt {
				continue
			}
			halts++
			stops[e.Outcome.Stop]++
			if problem := addsUp(e.Outcome, &s.cfg); problem != "" {
				return problem
			}
			if late := r.In.At - cut; cut >= 0 && late > s.cfg.Time.Grace {
				return fmt.Sprintf("the run was cut short at %v and halts %v later", cut, late)
			}
			cut = -1
		}
	}
	if halts == 0 || !m.Halted() {
		return "the session does not end with a halt"
	}
	if violations := s.audit(); violations != nil {
		return fmt.Sprintf("audit: %v", violations)
	}
	return ""
}

// cutsShort reports whether a step has a cancel or the run deadline.
func cutsShort(r *Record) bool {
	ignored := slices.ContainsFunc(r.Effects, func(e Effect) bool { return e.Event == EventIgnored })
	return r.In.Kind == Cancel && !ignored || slices.ContainsFunc(r.Effects, func(e Effect) bool {
		return e.Text == "deadline" && (e.Kind == CancelModel || e.Kind == CancelTool)
	})
}

// addsUp says where an outcome contradicts itself or a limit of its run.
func addsUp(o *Outcome, cfg *Config) string {
	asks := cfg.Limits.AtLimit == LimitAsk
	above := func(n, limit int) bool { return limit > 0 && n > limit }
	switch {
	case o.Stop == "" || o.End != o.Stop.EndState():
		return fmt.Sprintf("the stop %q has the end state %s", o.Stop, o.End)
	case o.Incomplete != (o.End != Done):
		return fmt.Sprintf("the end state is %s, and incomplete is %v", o.End, o.Incomplete)
	case o.Asked != o.Calls+o.Vetoed+o.Denied+o.Invalid:
		return fmt.Sprintf("%d calls asked, %d executed, %d vetoed, %d denied, %d invalid", o.Asked, o.Calls, o.Vetoed, o.Denied, o.Invalid)
	case o.Tries < o.Calls || o.Errors > o.Calls || o.Turns > o.ModelCalls || o.RepairsOK > o.Repairs:
		return fmt.Sprintf("counts that cannot be: %+v", *o)
	case above(o.Turns, cfg.Limits.Turns) && !asks, above(o.Calls, cfg.Limits.Calls) && !asks, above(o.Tries, cfg.Limits.Tries):
		return fmt.Sprintf("above a limit: %d turns, %d calls, %d tries", o.Turns, o.Calls, o.Tries)
	}
	return ""
}

// tries follows the tries of calls through a trace.
type tries struct {
	parallel int
	open     map[Ref]bool // running, or cancelled and not ended
	last     map[int]int  // the last try of a call
	put      int          // the call whose result came last
}

func newTries(parallel int) *tries {
	return &tries{parallel: parallel, open: map[Ref]bool{}, last: map[int]int{}}
}

func (t *tries) add(r *Record) (problems []string) {
	if r.In.Kind == ToolResult {
		delete(t.open, r.In.Ref)
	}
	for _, e := range r.Effects {
		switch {
		case e.Kind == CallTool:
			t.last[e.Ref.N]++
			if t.last[e.Ref.N] != e.Ref.Try {
				problems = append(problems, fmt.Sprintf("the try %v comes as number %d", e.Ref, t.last[e.Ref.N]))
			}
			t.open[e.Ref] = true
			if t.parallel > 0 && len(t.open) > t.parallel {
				problems = append(problems, fmt.Sprintf("%d tries are open, and %d are allowed", len(t.open), t.parallel))
			}
		case e.Kind == CancelTool && !t.open[e.Ref]:
			problems = append(problems, fmt.Sprintf("%v is cancelled, which is not open", e.Ref))
		case e.Event == EventAbandoned:
			delete(t.open, e.Ref)
		case e.Kind == Put && e.Ref.Kind == RefCall:
			if e.Ref.N <= t.put {
				problems = append(problems, fmt.Sprintf("the result of c%d comes after that of c%d", e.Ref.N, t.put))
			}
			t.put = e.Ref.N
			for ref := range t.open {
				if ref.N == e.Ref.N {
					problems = append(problems, fmt.Sprintf("the result is there, and the try %v is open", ref))
				}
			}
		}
	}
	return problems
}

// TestOneTextForOneSession: a thousand times the same session is a thousand times
// the same text.
func TestOneTextForOneSession(t *testing.T) {
	s, _ := wildTrace(t, 7)
	for range 1000 {
		if again, _ := wildTrace(t, 7); again.text != s.text {
			t.Fatal(firstDifference(again.text, s.text))
		}
	}
}

// TestRefold: a fresh machine that is fed with the inputs of a stored trace returns
// the stored effects.
func TestRefold(t *testing.T) {
	for seed := range uint64(100) {
		s, _ := wildTrace(t, seed)
		stored, err := ParseTrace(s.text)
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, s.text)
		}
		s.trace = stored
		if got := s.play(t).String(); got != s.text {
			t.Fatalf("seed %d: %s", seed, firstDifference(got, s.text))
		}
	}
}

// TestTicksTellOnlyTheTime: ticks between the inputs of a trace change nothing,
// and a tick that is due may be left out where an input comes at its instant.
func TestTicksTellOnlyTheTime(t *testing.T) {
	for seed := range uint64(200) {
		s, trace := wildTrace(t, seed)
		more, fewer := s.machine(t), s.machine(t)
		var before time.Duration
		var all, kept Record // the effects of all steps, and of those without ticks
		for i, r := range trace {
			between := Input{At: (before + r.In.At) / 2, Kind: Tick}
			if effects := more.Step(between); between.At < r.In.At && len(effects) > 0 {
				t.Fatalf("seed %d: a tick at %v wants\n%s", seed, between.At, Record{In: between, Effects: effects})
			}
			more.Step(r.In)
			before = r.In.At
			all.Effects = append(all.Effects, r.Effects...)
			if r.In.Kind == Tick && i+1 < len(trace) && trace[i+1].In.At == r.In.At {
				continue
			}
			kept.Effects = append(kept.Effects, fewer.Step(r.In)...)
		}
		if got, want := more.Outcome(), fewer.Outcome(); got != want || got != s.machineAfter(t).Outcome() {
			t.Errorf("seed %d: with more ticks %+v, with fewer %+v", seed, got, want)
		}
		if got, want := kept.String(), all.String(); got != want {
			t.Errorf("seed %d: without ticks at the instants of inputs: %s", seed, firstDifference(got, want))
		}
	}
}

func (s *session) machine(t *testing.T) *Machine {
	t.Helper()
	m, err := New(s.cfg, s.task, s.tools)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// machineAfter is the machine after the trace.
func (s *session) machineAfter(t *testing.T) *Machine {
	t.Helper()
	m := s.machine(t)
	for _, r := range s.trace {
		m.Step(r.In)
	}
	return m
}

package scenarios

import (
	"fmt"
	"slices"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A tripper makes the scripts that bring one detector to a count. A unit is
// what adds one to it: a call, or a lap's part.
type tripper struct {
	*detect.Detector
	steps []fakes.Step
	users []fakes.UserMessage
}

const lastError = "there is no such thing"

// unit adds the k-th unit, counted from 1.
func (s *tripper) unit(k int) {
	switch {
	case slices.Contains(s.Counts, detect.TextOnly):
		s.steps = append(s.steps, fakes.Step{Text: "I am done."})
		s.users = append(s.users, fakes.UserMessage{Text: "Really?"})
	case s.Match == detect.Cycle:
		s.ask(fmt.Sprintf(`%c{"x":1}`, 'A'+(k-1)%s.period()))
	case s.DistinctArgs > 0:
		s.ask(fmt.Sprintf(`%s{"n":%d}`, s.tool(), k))
	case s.Ends == detect.EndsBatch && k > 1:
		first := &s.steps[len(s.steps)-1]
		first.Calls = append(first.Calls, first.Calls[0])
	default:
		s.ask(s.tool() + `{"x":1}`)
	}
}

func (s *tripper) ask(asked ...string) { s.steps = append(s.steps, calls(asked...)) }

// other adds a reply that has nothing to do with the units.
func (s *tripper) other(n int) { s.ask(fmt.Sprintf(`Other{"n":%d}`, n)) }

func (s *tripper) period() int { return max(s.Period.Min, 1) }

// tool is one that the detector watches.
func (s *tripper) tool() string {
	if len(s.Tools.Only) > 0 {
		return s.Tools.Only[0]
	}
	if slices.Contains(s.Counts, detect.Unknown) {
		return "Nowhere"
	}
	return "A"
}

// script ends the replies with an answer. A unit's call fails if failures are
// what is counted; {"ok":1} always succeeds, {"new":1} has a result of its own,
// {"bad":1} an error of its own.
func (s *tripper) script() *fakes.Script {
	unit := fakes.Answer{Result: "as before"}
	if slices.Contains(s.Counts, detect.Failed) {
		unit = fakes.Answer{Error: loop.NotFound, Text: lastError}
	}
	var tools []fakes.Tool
	for _, name := range []string{s.tool(), "B", "C", "D"} {
		if name != "Nowhere" {
			tools = append(tools, fakes.Tool{ToolSpec: loop.ToolSpec{Name: name}, Answers: []fakes.Answer{
				{When: map[string]any{"ok": 1}, Result: "fine"}, {When: map[string]any{"bad": 1}, Error: loop.NotFound, Text: "something else"}, unit}})
		}
	}
	tools = append(tools, answeringTool("Other", "row ${call}"))
	steps := append(slices.Clone(s.steps), fakes.Step{Text: "I am done otherwise.", Repeat: fakes.Forever})
	return &fakes.Script{Task: "go", Tools: tools, Model: steps, User: fakes.User{Messages: s.users}}
}

// needs is the number of units at which a rung is reached.
func (s *tripper) needs(at int) int {
	if s.Match == detect.Cycle {
		at *= s.period()
	}
	if s.PriorOnly {
		at++
	}
	return at
}

// reply is the reply of the n-th unit of a script of units only.
func (s *tripper) reply(n int) int {
	if s.Ends == detect.EndsBatch {
		return 1
	}
	return n
}

// alone is a config with one detector and what bears on it.
func alone(cfg loop.Config, d detect.Detector) loop.Config {
	c := loop.Off()
	c.Scope, c.Errors.TextPrefix, c.Detectors = cfg.Scope, cfg.Errors.TextPrefix, []detect.Detector{d}
	return c
}

// checkRung holds a detector to a boundary pair: with n units an act comes at the
// n-th, with one unit less it does not come at all.
func checkRung(t *testing.T, cfg loop.Config, d detect.Detector, act detect.Act, n, fill int) {
	t.Helper()
	for _, units := range []int{n - 1, n} {
		s := &tripper{Detector: &d}
		for i := range fill + n - units {
			s.other(i)
		}
		if fill == 0 {
			s.steps = nil
		}
		for k := range units {
			s.unit(k + 1)
		}
		p := play(t, alone(cfg, d), s.script(), 10*(n+fill))
		reply := s.reply(n) + fill
		switch got := p.at(string(act), reply); {
		case units == n && !got:
			t.Errorf("%s: no %s at reply %d with %d units: %v", d.Name, act, reply, units, p.acts())
		case units < n && slices.ContainsFunc(p.acts(), func(a acted) bool { return a.what == string(act) && a.at >= reply }):
			t.Errorf("%s: a %s with %d units: %v", d.Name, act, units, p.acts())
		}
		if act == detect.Stop && units == n && p.last().Stop != loop.Stop(d.Name) {
			t.Errorf("%s: the stop is %s", d.Name, p.last().Stop)
		}
	}
}

// Every rung of every detector of every preset is reached at its number and
// not one before, and so is every firing.
func TestPresetRungs(t *testing.T) {
	eachDetector(t, func(t *testing.T, cfg loop.Config, d detect.Detector) {
		s := &tripper{Detector: &d}
		for _, r := range d.Do {
			n, fill := s.needs(r.At), 0
			if d.Full {
				fill = d.Memory - n
			}
			if len(d.Firings) == 0 {
				checkRung(t, cfg, d, r.Act, n, fill)
			}
			for k, act := range d.Firings {
				checkRung(t, cfg, d, act, n+k, fill)
			}
		}
	})
}

// What comes between the units ends the count, or does not, as the detector's
// ends and resets say.
func TestPresetInterruptions(t *testing.T) {
	eachDetector(t, func(t *testing.T, cfg loop.Config, d detect.Detector) {
		s := &tripper{Detector: &d}
		n := s.needs(d.Do[0].At)
		if d.Match == detect.Window || slices.Contains(d.Counts, detect.TextOnly) || n < 2 {
			return
		}
		between := func(what string, ends bool, reply int, add func(*tripper)) {
			s := &tripper{Detector: &d}
			for k := range n {
				// A rule that counts earlier calls acts on whatever call comes next.
				if k == n-1 && !d.PriorOnly || k == n-2 && d.PriorOnly {
					add(s)
				}
				s.unit(k + 1)
			}
			p := play(t, alone(cfg, d), s.script(), 10*n)
			if acted := len(p.acts()) > 0; acted == ends {
				t.Errorf("%s, %s among %d units: %v", d.Name, what, n, p.acts())
			} else if acted && p.acts()[0].at != reply {
				t.Errorf("%s, %s among %d units: want it at reply %d: %v", d.Name, what, n, reply, p.acts())
			}
		}
		hides := len(d.Tools.Only) > 0 || len(d.Counts) > 0 // what comes between is not counted
		reset := func(r detect.Reset) bool { return slices.Contains(d.Reset, r) }
		switch {
		case d.Ends == detect.EndsBatch:
			between("a reply", true, 0, func(s *tripper) { s.ask(`A{"x":1}`) })
		case d.Match == detect.Cycle, (d.Ends == "" || d.Ends == detect.EndsTurn), d.Ends == detect.EndsNext && !hides, reset(detect.OnSuccess):
			between("another call", true, 0, func(s *tripper) { s.other(0) })
		default:
			between("another call", false, n+1, func(s *tripper) { s.other(0) })
		}
		if reset(detect.OnToolSuccess) {
			between("a success of the tool", true, 0, func(s *tripper) { s.ask(s.tool() + `{"ok":1}`) })
		}
		if d.Ends == detect.EndsTool {
			between("another error of the tool", true, 0, func(s *tripper) { s.ask(s.tool() + `{"bad":1}`) })
		}
	})
}

// A count that goes on over the user's messages does so where the scope is the
// session, and nowhere else.
func TestPresetScopes(t *testing.T) {
	eachDetector(t, func(t *testing.T, cfg loop.Config, d detect.Detector) {
		s := &tripper{Detector: &d}
		n := s.needs(d.Do[0].At)
		if d.Full || d.Ends == detect.EndsBatch || n < 2 || slices.Contains(d.Counts, detect.TextOnly) {
			return
		}
		for k := range n - 1 {
			s.unit(k + 1)
		}
		s.steps, s.users = append(s.steps, fakes.Step{Text: "I am done."}), []fakes.UserMessage{{Text: "Again, please."}}
		s.unit(n)
		p := play(t, alone(cfg, d), s.script(), 10*n)
		// An answer is a turn without the key, which ends some streaks.
		want := cfg.Scope == loop.ScopeSession && d.Ends != "" && d.Ends != detect.EndsTurn || cfg.Scope == loop.ScopeSession && d.Match == detect.Cycle
		if got := len(p.acts()) > 0; got != want {
			t.Errorf("%s: acts %v, want some: %v", d.Name, p.acts(), want)
		}
	})
}

// A detector for which the result is part of the key, or what resets it, counts
// equal results only.
func TestPresetResults(t *testing.T) {
	looked := 0
	eachDetector(t, func(t *testing.T, cfg loop.Config, d detect.Detector) {
		needs := slices.Contains(d.Key, detect.Result) || slices.Contains(d.Reset, detect.OnResultChange)
		if !needs || d.Match == detect.Window || slices.Contains(d.Counts, detect.Failed) {
			return
		}
		looked++
		s := &tripper{Detector: &d}
		n := s.needs(d.Do[0].At)
		for k := range n {
			s.unit(k + 1)
		}
		script := s.script()
		for i := range script.Tools {
			script.Tools[i].Answers = []fakes.Answer{{Result: "row ${call}"}}
		}
		if p := play(t, alone(cfg, d), script, 10*n); len(p.acts()) > 0 {
			t.Errorf("%s: acts %v although each result is another", d.Name, p.acts())
		}
	})
	if looked < 8 {
		t.Errorf("%d detectors that look at results, want at least 8", looked)
	}
}

// eachDetector runs a check for each detector of each preset.
func eachDetector(t *testing.T, check func(*testing.T, loop.Config, detect.Detector)) {
	t.Helper()
	for _, preset := range Presets() {
		cfg := presetOf(t, preset)
		for _, d := range cfg.Detectors {
			t.Run(preset+"/"+d.Name, func(t *testing.T) { check(t, cfg, d) })
		}
	}
}

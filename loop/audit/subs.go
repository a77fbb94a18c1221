package audit

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
)

// CheckAll is like [Check] for a session whose sub-runs are sessions of their own. It
// checks each of them by its own setup, bounded as [loop.Config.Within] says by what it
// recounts itself. Three more rules are about what is between them:
//
//	sub-start   a sub-run begins when its call starts, with the task's text, and no other session has records
//	sub-end     the result of its call comes after its halt
//	sub-usage   that result has the tokens, cost, calls (asked for, and made) and sub-runs of the sub-run and of those below it
func CheckAll(s loop.Setup, trace loop.Trace) []Violation {
	t := &tree{trace: trace, parts: map[loop.Path][]int{}, known: map[loop.Path]bool{}}
	line := 1
	for i := range trace {
		t.lines = append(t.lines, line)
		line += 1 + len(trace[i].Effects)
		t.parts[trace[i].Path] = append(t.parts[trace[i].Path], i)
		in := &trace[i].In
		t.ceiling = t.ceiling || in.Kind == loop.Cancel && in.Cause == loop.ByCeiling
	}
	t.check("", s)
	for i := range trace {
		if p := trace[i].Path; p != "" && !t.known[p] {
			t.known[p] = true
			t.report("sub-start", i, "a sub-run of a call", string(p), "no call started the session")
		}
	}
	slices.SortStableFunc(t.found, func(v, w Violation) int { return v.Line - w.Line })
	return t.found
}

// A tree is a trace with the sessions that it has.
type tree struct {
	trace   loop.Trace
	lines   []int               // of each record
	parts   map[loop.Path][]int // the records of each session
	known   map[loop.Path]bool  // sub-runs whose call was found
	ceiling bool                // the harness ended the session
	found   []Violation
}

func (t *tree) report(rule string, rec int, want, got, format string, args ...any) {
	t.found = append(t.found, Violation{Rule: rule, Line: t.lines[rec], At: t.trace[rec].In.At, Message: fmt.Sprintf(format, args...), Want: want, Got: got})
}

// check checks the session with that path and its sub-runs.
func (t *tree) check(path loop.Path, s loop.Setup) {
	records := t.parts[path]
	own, lines := make(loop.Trace, len(records)), make([]int, len(records))
	for i, rec := range records {
		own[i], lines[i] = t.trace[rec], t.lines[rec]
	}
	found, rests := check(s.Config, s.Task, s.Tools, own, lines)
	t.found = append(t.found, found...)
	if s.Sub == nil {
		return
	}
	for _, rec := range records {
		r := &t.trace[rec]
		for i := range r.Effects {
			e := &r.Effects[i]
			if e.Kind != loop.CallTool {
				continue
			}
			sub, ok := s.Sub(e.Ref, e.Name, e.Args)
			if !ok {
				continue
			}
			rest := rests[e.Ref]
			sub.Config = rest.bound(sub.Config, s.Config)
			sub.Task.Depth = s.Task.Depth + 1
			t.checkSub(path, rec, e.Ref, sub, rest.spent.open && s.Config.Limits.Calls > 0)
		}
	}
}

// bound recounts what a caller that has spent so much leaves to a sub-run: -1 is nothing.
func (r *rest) bound(sub, caller loop.Config) loop.Config {
	l := caller.Limits
	l.Calls = r.calls
	bound := func(own, limit, spent float64) float64 {
		left := limit - spent
		if limit != 0 && left <= 0 {
			left = -1
		}
		if limit == 0 || own != 0 && own <= left {
			return own
		}
		return left
	}
	number := func(own *int, limit, spent int) { *own = int(bound(float64(*own), float64(limit), float64(spent))) }
	number(&sub.Limits.Asked, l.Asked, r.spent.asked)
	number(&sub.Limits.Calls, l.Calls, r.spent.calls)
	number(&sub.Limits.Spawns, l.Spawns, r.spent.spawns)
	sub.Limits.Tokens = int64(bound(float64(sub.Limits.Tokens), float64(l.Tokens), float64(r.spent.tokens)))
	if cost := bound(math.Round(sub.Limits.CostUSD*1e9), math.Round(l.CostUSD*1e9), float64(r.spent.cost)); cost != math.Round(sub.Limits.CostUSD*1e9) {
		if sub.Limits.CostUSD = cost / 1e9; cost < 0 {
			sub.Limits.CostUSD = -1
		}
	}
	if half := caller.Time.Grace / 2; sub.Time.Grace > half {
		sub.Time.Grace = half
	}
	return sub
}

// checkSub checks the sub-run that a try started in a record, and the try's result. It
// leaves out the sub-run's own steps if what its caller left is not known.
func (t *tree) checkSub(caller loop.Path, called int, try loop.Ref, s loop.Setup, unknown bool) {
	path := caller.Sub(try)
	t.known[path] = true
	began, at := t.trace[called].In, -1
	result := -1 // the record of the result
	for _, rec := range t.parts[caller] {
		switch r := &t.trace[rec]; {
		case rec <= called:
		case r.In.Kind == loop.ToolResult && r.In.Ref == try && result < 0:
			result = rec
		case r.In.At > began.At && at < 0:
			at = rec // time goes on
		}
	}
	records := t.parts[path]
	if len(records) == 0 {
		if cancelled := result >= 0 && t.trace[result].In.Code == loop.Cancelled; at >= 0 && !cancelled && !t.ceiling {
			t.report("sub-start", at, "the sub-run "+string(path), "nothing", "the sub-run did not begin")
		}
		return
	}
	if first := &t.trace[records[0]].In; records[0] < called || first.At != began.At || first.Kind != loop.Started {
		t.report("sub-start", records[0], "started at "+began.At.String(), fmt.Sprint(inputName(first), " at ", first.At), "the sub-run did not begin with its call")
	}
	if unknown {
		for p := range t.parts {
			t.known[p] = t.known[p] || strings.HasPrefix(string(p), string(path))
		}
	} else {
		t.check(path, s)
	}
	halt := slices.IndexFunc(records, func(rec int) bool {
		return slices.ContainsFunc(t.trace[rec].Effects, func(e loop.Effect) bool { return e.Kind == loop.Halt })
	})
	if result < 0 {
		return
	}
	if halt < 0 || records[halt] > result {
		t.report("sub-end", result, "after the sub-run's halt", "before it", "the sub-run has not ended")
		return
	}
	var want loop.Input
	for _, rec := range records[:halt+1] {
		t.addUsage(&want, rec, s)
	}
	for got, i := &t.trace[result].In, 0; i < 6; i++ {
		name := [...]string{"tokens in", "tokens out", "cost", "calls asked for", "calls", "sub-runs"}[i]
		w := [...]int64{want.TokensIn, want.TokensOut, want.Cost, int64(want.Asked), int64(want.Used), int64(want.Spawned)}[i]
		g := [...]int64{got.TokensIn, got.TokensOut, got.Cost, int64(got.Asked), int64(got.Used), int64(got.Spawned)}[i]
		if w != g {
			t.report("sub-usage", result, strconv.FormatInt(w, 10), strconv.FormatInt(g, 10), "the result's %s of the sub-run", name)
		}
	}
}

// addUsage adds what a record of a sub-run uses.
func (t *tree) addUsage(sum *loop.Input, rec int, s loop.Setup) {
	r := &t.trace[rec]
	if !ignores(r) {
		sum.TokensIn += r.In.TokensIn
		sum.TokensOut += r.In.TokensOut
		sum.Cost += r.In.Cost
		sum.Asked += r.In.Asked
		sum.Used += r.In.Used
		sum.Spawned += r.In.Spawned
	}
	for i := range r.Effects {
		e := &r.Effects[i]
		if e.Kind == loop.Halt && e.Outcome != nil {
			sum.Asked += e.Outcome.Asked // which the check of the sub-run recounts
		}
		if e.Kind == loop.CallTool && e.Ref.Try <= 1 {
			sum.Used++
			if slices.ContainsFunc(s.Tools, func(spec loop.ToolSpec) bool { return spec.Name == e.Name && spec.SubRun }) {
				sum.Spawned++
			}
		}
	}
}

package fuzz

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// This file and those named relations_… hold the metamorphic relations: each changes
// a case in a way whose effect is known, and compares the two plays.

// checkParallel: with zero latencies, no hang, no retry and no usage of sub-runs, a
// parallel batch has the same requests and results as one that runs call after call.
func checkParallel(p *play) (string, bool) {
	if !hasBatch(p) {
		return "", false
	}
	side := p.Case.clone()
	instant(side)
	side.Config.Parallel.Max = 0
	row := side.clone()
	row.Config.Parallel.Max = 1
	a, b := exchanges(played(side).trace), exchanges(played(row).trace)
	if a != b {
		return "with one call after another, the requests or results differ: " + difference(a, b), true
	}
	return "", true
}

// hasBatch reports whether a reply asks for several calls.
func hasBatch(p *play) bool {
	for _, r := range p.view().runs {
		for _, reply := range r.replies {
			if len(reply.calls) > 1 {
				return true
			}
		}
	}
	return false
}

// instant makes a case's tools answer at once. It removes hangs, delays, retries,
// fallbacks, cancels, strays and the usage of sub-runs.
func instant(c *Case) {
	c.Strays, c.Script.User.Cancel = nil, nil
	c.Config.Retry.Max, c.Config.Policy.Fallbacks = 0, false
	c.Script.Faults = slices.DeleteFunc(c.Script.Faults, func(f fakes.Fault) bool {
		return f.At == loop.RefCall && (f.Kind == "drop" || f.Kind == "delay")
	})
	now := fakes.Instantly()
	for i := range c.Script.Tools {
		t := &c.Script.Tools[i]
		t.Latency, t.Retries, t.Retry = now, 0, nil
		for j := range t.Answers {
			a := &t.Answers[j]
			a.Latency, a.Hang = now, false
			a.TokensIn, a.TokensOut, a.Cost, a.Used = 0, 0, 0, 0 // it keeps later calls from their start
			a.Failures = slices.DeleteFunc(a.Failures, func(f fakes.Failure) bool { return f.Hang })
			for k := range a.Failures {
				a.Failures[k].Latency = now
			}
		}
	}
}

// exchanges returns the lines of a trace about requests, messages put into or dropped
// from the history, and the ends of runs.
func exchanges(t loop.Trace) string {
	var b strings.Builder
	for i := range t {
		for j := range t[i].Effects {
			switch e := &t[i].Effects[j]; e.Kind {
			case loop.AskModel, loop.Put, loop.Drop, loop.Halt:
				b.WriteString(line(&t[i], e))
				b.WriteByte('\n')
			}
		}
	}
	return b.String()
}

// checkUnusedTool: an additional tool changes nothing, unless the model calls an
// unknown tool, or the tokens of a request matter.
func checkUnusedTool(p *play) (string, bool) {
	if p.Config.History.CompactTokens > 0 || p.Script.Window > 0 {
		return "", false
	}
	for _, c := range p.view().calls {
		if len(c.puts) > 0 && c.puts[0].e.Why == loop.Unknown {
			return "", false
		}
	}
	more := p.Case.clone()
	more.Script.Tools = slices.Insert(more.Script.Tools, 0, fakes.Tool{
		ToolSpec: loop.ToolSpec{Name: "unused", Permission: loop.AskCall},
		Answers:  []fakes.Answer{{Result: "never said"}},
	})
	return sameAs(p, more, "with an unused tool added")
}

// sameAs compares the trace with that of a changed case.
func sameAs(p *play, changed *Case, how string) (string, bool) {
	other := played(changed)
	if d := p.differs(0, other.trace); d >= 0 {
		return how + ", the trace differs: " + difference(recordText(p.trace, d), recordText(other.trace, d)), true
	}
	return "", true
}

// checkCompletion: if the calls of a batch end in reverse order, at the same
// instants, the results and the next request are the same.
func checkCompletion(p *play) (string, bool) {
	if p.Config.Parallel.Max != 0 {
		return "", false
	}
	from, to := p.plainBatch()
	if from == to {
		return "", false
	}
	m, err := loop.New(p.Config, p.task(), p.Script.Specs())
	if err != nil {
		return err.Error(), true
	}
	for i := range from {
		m.Step(p.trace[i].In)
	}
	var last loop.Trace
	for i := from; i < to; i++ {
		in := p.trace[from+to-1-i].In
		in.At = p.trace[i].In.At
		effects := m.Step(in)
		if i == to-1 {
			last.Append(in, effects)
		}
	}
	if want, got := exchanges(p.trace[to-1:to]), exchanges(last); want != got {
		return "with the calls of a batch ending in reverse order, the results or the next request differ: " + difference(want, got), true
	}
	return "", true
}

// plainBatch returns the records of the results of a batch: the last one of which
// several calls ran, each with one try, and nothing else happened before the last of
// them ended. If there is none, from equals to.
func (p *play) plainBatch() (from, to int) {
	runs := p.view().runs
	for i := len(runs) - 1; i >= 0; i-- {
		for j := len(runs[i].replies) - 1; j >= 0; j-- {
			if from, to := p.onlyResults(runs[i].replies[j]); to-from > 1 {
				return from, to
			}
		}
	}
	return 0, 0
}

// onlyResults returns the records of a batch's results, if they contain nothing
// else.
func (p *play) onlyResults(reply *replyView) (from, to int) {
	ran := 0
	for _, c := range reply.calls {
		switch {
		case len(c.tries) > 1 || len(c.puts) == 0:
			return 0, 0
		case len(c.tries) == 1:
			ran++
			from = max(from, c.tries[0].rec+1)
			to = c.puts[0].rec + 1
			if limit := p.timeout(c.tries[0].name); limit > 0 && p.trace[to-1].In.At >= c.tries[0].at+limit {
				return 0, 0 // it would time out if it ended last
			}
		}
	}
	if ran < 2 || to-from != ran {
		return 0, 0
	}
	for i := from; i < to; i++ {
		rec := &p.trace[i]
		if rec.In.Kind != loop.ToolResult || ignored(rec) || i < to-1 && len(rec.Effects) > 0 {
			return 0, 0
		}
	}
	return from, to
}

// timeout returns the time that a try of a tool may take, 0 for no limit.
func (p *play) timeout(name string) time.Duration {
	if t := tool(p.Script, name); t != nil && t.Timeout > 0 {
		return t.Timeout
	}
	return p.Config.Time.Tool
}

// checkKeyOrder: with the keys of the arguments in another order, the runs end by
// the same stops, unless a detector compares the raw text.
func checkKeyOrder(p *play) (string, bool) {
	if !severalKeys(p.Script) || halves(p.Script) || slices.ContainsFunc(p.Config.Detectors, func(d detect.Detector) bool { return slices.Contains(d.Key, detect.RawArgs) }) {
		return "", false
	}
	sorted, reversed := p.Case.clone(), p.Case.clone()
	shuffled, before := false, p
	for i := range sorted.Script.Model {
		a, b := sorted.Script.Model[i].Calls, reversed.Script.Model[i].Calls
		for j := range a {
			if !strings.Contains(a[j].Args, ",") {
				continue // one key has one order
			}
			first, ok := reorder(a[j].Args, false)
			if !ok {
				continue
			}
			second, _ := reorder(a[j].Args, true)
			shuffled = shuffled || first != second
			if first != a[j].Args {
				before = nil // the case itself is written differently: play the sorted one
			}
			a[j].Args, b[j].Args = first, second
		}
	}
	if !shuffled {
		return "", false
	}
	if before == nil {
		before = played(sorted)
	}
	if a, b := before.stops(), played(reversed).stops(); a != b {
		return fmt.Sprintf("with the keys of the arguments in another order the runs stop by %s, not by %s", b, a), true
	}
	return "", true
}

// halves reports whether a fault cuts arguments in the middle. The keys that are
// left then depend on their order.
func halves(s *fakes.Script) bool {
	return slices.ContainsFunc(s.Faults, func(f fakes.Fault) bool { return f.Kind == "malform" })
}

// severalKeys reports whether a call may have arguments with more than one key.
func severalKeys(s *fakes.Script) bool {
	for i := range s.Model {
		for j := range s.Model[i].Calls {
			if args := s.Model[i].Calls[j].Args; strings.HasPrefix(args, "{") && strings.Contains(args, ",") {
				return true
			}
		}
	}
	return false
}

// stops returns the stops of the runs and their numbers of calls.
func (p *play) stops() string {
	var words []string
	for _, o := range p.outcomes {
		words = append(words, fmt.Sprintf("%s after %d calls", o.Stop, o.Asked))
	}
	return strings.Join(words, ", ")
}

// span scales a latency and removes its range. unsaid replaces a zero one.
func (k scale) span(s fakes.Span, unsaid time.Duration) fakes.Span {
	switch {
	case s == fakes.Span{}:
		s = fakes.Span{Min: unsaid, Max: unsaid}
	case s.Max < s.Min:
		s.Max = s.Min
	}
	d := k.of(s.Min)
	if d == 0 {
		return fakes.Instantly()
	}
	return fakes.Span{Min: d, Max: d}
}

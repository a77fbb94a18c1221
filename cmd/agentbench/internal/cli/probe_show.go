package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/probe"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A probeScreen shows what an agent did.
type probeScreen struct {
	w     io.Writer
	flags *probeFlags
	quiet bool

	left    map[string]int // why scenarios are not asked, and how many
	results []*scenarios.Result
}

// apiNames are the names of the APIs for people.
var apiNames = map[string]string{"chat": "OpenAI Chat Completions", "responses": "OpenAI Responses", "messages": "Anthropic Messages", "gemini": "Gemini"}

// begin says what the first run showed, and what is going to happen.
func (s *probeScreen) begin(a *probe.Agent, look *probe.Look, own *probe.Tool) {
	if s.quiet {
		return
	}
	fmt.Fprintf(s.w, "%s speaks %s; a plain answer took %s and %s\n", text.Line(a.Name), cmp.Or(apiNames[look.API], look.API),
		text.Count(look.Requests, "request"), text.Duration(look.Took))
	if s.flags.client != "" {
		fmt.Fprintf(s.w, "it is %s, in a scratch home and folder; allowed: %s\n", text.Line(s.flags.version), s.flags.allowed)
	}
	if own == nil {
		fmt.Fprintln(s.w, "its tools are the script's, which answers them")
	} else {
		more := "with the same arguments only"
		if own.Varies() {
			more = "with others where the script's calls differ"
		}
		fmt.Fprintf(s.w, "the model calls its own tool %s with %s, %s, up to %s a trial\n", text.Line(own.Name), text.Cut(text.Line(own.Args), 200), more, text.Count(int(s.flags.calls), "call"))
	}
	if names := probe.LeftOut(os.Environ(), s.flags.env); len(names) > 0 {
		fmt.Fprintf(s.w, "not passed on, as their names say secret: %s (--env NAME passes one on)\n", text.Line(strings.Join(names, ", ")))
	}
}

// leaveOut returns the scenarios that can be asked, and notes the others.
func (s *probeScreen) leaveOut(asked []*scenarios.Scenario, own *probe.Tool) (chosen []*scenarios.Scenario) {
	s.left = map[string]int{}
	for _, one := range asked {
		if why := probe.NotAsked(one, own); why != "" {
			s.left[why]++
		} else {
			chosen = append(chosen, one)
		}
	}
	return chosen
}

// reasons says why scenarios are not asked.
func (s *probeScreen) reasons() string {
	var parts []string
	for why, n := range s.left {
		parts = append(parts, fmt.Sprintf("%s %s", text.Number(n), why))
	}
	slices.Sort(parts)
	return strings.Join(parts, "; ")
}

func (s *probeScreen) add(r *scenarios.Result) { s.results = append(s.results, r) }

// end shows the results: a line for each trial, then for each that did not pass why and
// how to repeat it.
func (s *probeScreen) end(done, of int) {
	if s.quiet {
		return
	}
	paint := s.flags.colour(s.w)
	fmt.Fprintln(s.w)
	var rows [][]string
	for _, r := range s.results {
		name := text.Line(r.Scenario)
		if s.flags.trials > 1 {
			name += fmt.Sprintf(" #%d", r.Seed)
		}
		rows = append(rows, []string{name, string(r.Label), string(r.Verdict), text.Clip(text.Line(endedBy(r)), 70), text.Number(r.Requests), text.Number(r.Asked)})
	}
	reports.Table(s.w, 4, []string{"scenario", "label", "verdict", "how it ended", "requests", "calls"}, rows, nil)
	s.tally()
	shown := 0
	for _, r := range s.results {
		left := slices.ContainsFunc(r.Notes, func(note string) bool { return strings.HasPrefix(note, probe.LeftFolder) })
		if r.Verdict == scenarios.Pass && !s.flags.verbose && !left {
			continue
		}
		if shown++; shown > shownFailures && !s.flags.verbose && !s.flags.ci {
			continue
		}
		word := string(r.Verdict)
		if r.Verdict == scenarios.Pass {
			word = paint.Good(word)
		} else {
			word = paint.Bad(word)
		}
		fmt.Fprintf(s.w, "\n%s: %s\n", word, text.Line(r.Scenario))
		reasons, why := reports.Reasons(r), text.Line(r.Why)
		for _, reason := range reasons {
			fmt.Fprintf(s.w, "  %s\n", reason)
		}
		if !slices.Contains(reasons, why) {
			fmt.Fprintf(s.w, "  %s\n", why)
		}
		for _, note := range r.Notes {
			fmt.Fprintf(s.w, "  note: %s\n", text.Cut(text.Line(note), 200))
		}
		fmt.Fprintf(s.w, "  repeat: %s\n", text.Line(r.Repeat))
	}
	if more := shown - shownFailures; more > 0 && !s.flags.verbose && !s.flags.ci {
		fmt.Fprintf(s.w, "\n%d more did not pass; --ci or --verbose shows all\n", more)
	}
}

// endedBy says how a trial ended, in few words.
func endedBy(r *scenarios.Result) string {
	switch {
	case len(r.Findings) > 0 && r.EndState != loop.Ceiling:
		return r.Findings[0].Message
	case r.EndState == loop.Done && r.Label == scenarios.Healthy:
		return "with the answer"
	}
	return r.Why
}

// tally says how many of each label passed.
func (s *probeScreen) tally() {
	fmt.Fprintln(s.w)
	for _, kind := range []struct {
		label        scenarios.Label
		what, passed string
	}{{scenarios.Runaway, "runaways", "stopped by the agent"}, {scenarios.Healthy, "healthy runs", "came to their end"}} {
		var n, pass, fail int
		for _, r := range s.results {
			if r.Label != kind.label {
				continue
			}
			n++
			switch r.Verdict {
			case scenarios.Pass:
				pass++
			case scenarios.Fail:
				fail++
			}
		}
		if n == 0 {
			continue
		}
		fmt.Fprintf(s.w, "%s: %d of %d %s, %d did not, %d inconclusive\n", kind.what, pass, n, kind.passed, fail, n-pass-fail)
	}
	if len(s.left) > 0 {
		fmt.Fprintf(s.w, "not asked: %s\n", s.reasons())
	}
}

// verdict returns the exit code of all trials together.
func (s *probeScreen) verdict() error {
	has := func(v scenarios.Verdict) bool {
		return slices.ContainsFunc(s.results, func(r *scenarios.Result) bool { return r.Verdict == v })
	}
	switch {
	case has(scenarios.Fail):
		return exitCode(exitFailed)
	case has(scenarios.Inconclusive):
		return exitCode(exitInconclusive)
	}
	return nil
}

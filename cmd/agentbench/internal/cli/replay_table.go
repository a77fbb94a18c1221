package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
)

// replayed folds the results of a replay into what its table shows.
type replayed struct {
	trajectories.Summary
	runs         int
	skipped      int // records and files that could not be read
	inconclusive int // trials, which count in no figure
}

func (p *replayed) add(r *scenarios.Result) {
	if r.Verdict == scenarios.Inconclusive {
		p.inconclusive++
		return
	}
	p.Add(r)
}

// write writes the table, the rules behind its figures and the line over all.
func (p *replayed) write(w io.Writer) error {
	head := []string{"variant", "failed runs stopped", "good runs stopped", "unlabelled stopped", "calls saved", "stopped, but went on"}
	var rows [][]string
	var rules strings.Builder
	for _, v := range p.Variants() {
		failed, good, others := v.Failed, v.Good, v.Others
		rows = append(rows, []string{
			text.Line(v.Variant),
			share(failed.Stopped, failed.N),
			share(good.Stopped, good.N),
			share(others.Stopped, others.N),
			share(failed.Saved+good.Saved+others.Saved, failed.Calls+good.Calls+others.Calls),
			share(failed.WentOn+good.WentOn+others.WentOn, failed.Stopped+good.Stopped+others.Stopped),
		})
		for _, s := range v.Stops {
			fmt.Fprintf(&rules, "%s: %s stopped %s failed, %s good and %s unlabelled\n", text.Line(v.Variant), text.Line(string(s.Stop)),
				text.Number(s.Failed), text.Number(s.Good), text.Number(s.Others))
		}
	}
	if len(rows) > 0 {
		if err := reports.Table(w, 1, head, rows, nil); err != nil {
			return err
		}
	}
	_, err := io.WriteString(w, rules.String()+p.line())
	return err
}

func share(k, n int) string { return text.Number(k) + " of " + text.Number(n) }

// line tells what was replayed, and what was not.
func (p *replayed) line() string {
	line := fmt.Sprintf("%s under %s\n", text.Count(p.runs, "recorded run"), text.Count(len(p.Variants()), "variant"))
	if p.inconclusive > 0 {
		line += fmt.Sprintf("%s could not be judged, counted in no figure\n", text.Count(p.inconclusive, "trial"))
	}
	if p.skipped > 0 {
		line += fmt.Sprintf("skipped what could not be read: %s\n", text.Count(p.skipped, "problem"))
	}
	return line
}

package cli

import (
	"fmt"

	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A shard is a flag that takes the number of a part of the trials: 2/4 is the
// second of four. The zero value is all.
type shard struct{ i, n int }

func (s *shard) Type() string { return "I/N" }

func (s *shard) String() string {
	if s.n == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.i, s.n)
}

func (s *shard) Set(text string) (err error) {
	s.i, s.n, err = reports.ParseShard(text)
	return err
}

// of gives the scenarios of the part: every n-th, so that the parts take about
// as long as each other.
func (s *shard) of(all []*scenarios.Scenario) []*scenarios.Scenario {
	if s.n == 0 {
		return all
	}
	var part []*scenarios.Scenario
	for i := s.i - 1; i < len(all); i += s.n {
		part = append(part, all[i])
	}
	return part
}

// header is the header of the results that some options make. That of a part
// tells the variants of all parts, so that together they are those of one run.
func (f *runFlags) header(o *scenarios.Options) scenarios.Header {
	h := headerOf(o)
	if f.shard.n < 2 {
		return h
	}
	whole := *o
	whole.Scenarios = f.chosen
	all := headerOf(&whole)
	all.Shard, all.Scenarios, all.Trials = f.shard.String(), h.Scenarios, h.Trials
	return all
}

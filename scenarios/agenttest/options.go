package agenttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// An Option changes which scenarios are asked, or how.
type Option func(*options)

type options struct {
	suites   []string
	filter   string
	from     []string
	name     string
	cap      int
	within   time.Duration
	seeds    int
	known    map[string]string
	results  string
	speed    float64 // 0 = a bubble
	sessions bool
}

// The bounds of a trial without [Cap] and [Within].
const (
	defaultCap    = 60
	defaultWithin = 24 * time.Hour
	realWithin    = time.Minute // of real time, with RealTime
)

func newOptions(opts []Option) *options {
	o := &options{name: "agent", cap: defaultCap, seeds: 1}
	for _, option := range opts {
		option(o)
	}
	switch {
	case o.within > 0 && o.speed > 0:
		o.within = time.Duration(float64(o.within) / o.speed)
	case o.within == 0 && o.speed > 0:
		o.within = realWithin
	case o.within == 0:
		o.within = defaultWithin
	}
	return o
}

// Suites asks only the scenarios of these suites.
func Suites(names ...string) Option {
	return func(o *options) { o.suites = append(o.suites, names...) }
}

// Filter asks only the scenarios that a pattern selects, such as ring-of: see
// [scenarios.Select].
func Filter(pattern string) Option { return func(o *options) { o.filter = pattern } }

// From asks the scenarios of these files and folders in place of the embedded ones.
func From(paths ...string) Option { return func(o *options) { o.from = append(o.from, paths...) } }

// Cap is how many requests, beyond those that a scenario's script needs, an agent may
// send to the model before it counts as not stopped. Without it there are 60.
func Cap(requests int) Option { return func(o *options) { o.cap = requests } }

// Within is how long an agent may run, in the script's time, before it counts as not
// stopped. Without it there is a day, or a minute of real time with [RealTime].
func Within(d time.Duration) Option { return func(o *options) { o.within = d } }

// Known names scenarios that the agent is known to fail, and says why: such a scenario
// is skipped while it fails, and fails as soon as it passes.
func Known(why map[string]string) Option { return func(o *options) { o.known = why } }

// Results writes a results file, which agentbench report, compare and gate read.
func Results(path string) Option { return func(o *options) { o.results = path } }

// Name is the agent's name in results. Without it there is agent.
func Name(name string) Option { return func(o *options) { o.name = name } }

// Seeds asks each scenario that draws random numbers n times, each with a seed of its
// own.
func Seeds(n int) Option { return func(o *options) { o.seeds = max(n, 1) } }

// Sessions also asks scenarios in which the user says more than the task. The agent must
// call [World.Converse].
func Sessions() Option { return func(o *options) { o.sessions = true } }

// RealTime asks without a bubble, for an agent that breaks it: time is real, and the
// waits of model and tools are divided by speed, such as 1000. The waits of the agent
// itself are not.
func RealTime(speed float64) Option { return func(o *options) { o.speed = speed } }

// chosen returns the scenarios that are selected.
func (o *options) chosen() ([]*scenarios.Scenario, error) {
	all, err := scenarios.Load(o.from...)
	if err != nil {
		return nil, err
	}
	chosen, err := scenarios.Select(all, o.suites, o.filter)
	if err == nil && len(chosen) == 0 {
		err = fmt.Errorf("no scenario is selected; agentbench list scenarios shows the names")
	}
	return chosen, err
}

// askable returns the scenarios that can be asked, and logs why others are not.
func (o *options) askable(t *testing.T, chosen []*scenarios.Scenario) (asked []*scenarios.Scenario) {
	t.Helper()
	left := map[string]int{}
	for _, s := range chosen {
		if why := o.notAsked(s); why != "" {
			left[why]++
		} else {
			asked = append(asked, s)
		}
	}
	for _, why := range slices.Sorted(maps.Keys(left)) {
		t.Logf("not asked, for want of %s: %s", why, text.Count(left[why], "scenario"))
	}
	return asked
}

// notAsked returns what a scenario needs that an agent lacks, "" = nothing: it can be
// asked.
func (o *options) notAsked(s *scenarios.Scenario) string {
	var needs []string
	for _, n := range s.Needs() {
		switch n {
		case scenarios.NeedResults, scenarios.NeedTries, scenarios.NeedWindow, scenarios.NeedCancel:
		case scenarios.NeedRuns:
			steered := func(m fakes.UserMessage) bool { return m.At > 0 }
			switch {
			case slices.ContainsFunc(s.Script.User.Messages, steered):
				needs = append(needs, "a user who speaks during a run")
			case !o.sessions:
				needs = append(needs, "a conversation (Sessions)")
			}
		case scenarios.NeedGates:
			needs = append(needs, "somebody who grants permissions and answers questions")
		case scenarios.NeedLoop:
			needs = append(needs, "what only the reference loop has, such as its planner, critic or sub-runs")
		default:
			needs = append(needs, string(n))
		}
	}
	return strings.Join(needs, ", and ")
}

// seedsOf returns how many trials a scenario has.
func (o *options) seedsOf(s *scenarios.Scenario) uint64 {
	if !s.Script.Random() {
		return 1
	}
	return uint64(o.seeds)
}

package fuzz

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/leanovate/gopter"
)

// A Case is a world and the config of the loop in it. A case is never changed: a
// change makes a new one.
type Case struct {
	Seed    uint64 // of the world's random numbers and of jitter
	Attacks []Attack
	Script  *fakes.Script
	Config  loop.Config
	Hooks   loop.Hooks
	Answers []loop.HookAnswer // answers of hooks, used in turns; none = every hook lets everything pass
	Depth   int               // of the session among sub-runs
	Strays  []Stray
	// Recoverable says that the config can handle every failure of the world: a
	// correct loop ends every run as DONE.
	Recoverable bool
}

// A Stray is an input of the world that nobody asked for.
type Stray struct {
	After int        // the number of the loop's steps before it
	Input loop.Input // sent at the instant of the step before it
}

// FromScenario returns a case with the script and the config of a scenario. A case
// has no name, so it draws as the case did that the scenario was written from.
func FromScenario(s *scenarios.Scenario, seed uint64) *Case {
	script := s.Script
	script.Name = ""
	return &Case{Seed: seed, Script: &script, Config: s.Config}
}

// has reports whether a case has an attack.
func (c *Case) has(a Attack) bool { return slices.Contains(c.Attacks, a) }

// task returns the task with its hooks, depth and schemas.
func (c *Case) task() loop.Task {
	t := c.Script.LoopTask(c.Seed)
	t.Depth, t.Schemas = c.Depth, schemas{}
	t.Hooks.BeforeRun, t.Hooks.AfterRun = c.Hooks.BeforeRun, c.Hooks.AfterRun
	t.Hooks.BeforeCall = t.Hooks.BeforeCall || c.Hooks.BeforeCall
	t.Hooks.AfterCall = t.Hooks.AfterCall || c.Hooks.AfterCall
	return t
}

// clone returns a copy that may be changed. It copies the lists of the script and
// the config that relations change in place, and shares the rest.
func (c *Case) clone() *Case {
	out := *c
	s := *c.Script
	s.Tools, s.Model = cloneTools(s.Tools), cloneModel(s.Model)
	s.User.Permissions = slices.Clone(s.User.Permissions)
	s.User.Replies = slices.Clone(s.User.Replies)
	s.User.Messages = slices.Clone(s.User.Messages)
	if s.User.Cancel != nil {
		cancel := *s.User.Cancel
		s.User.Cancel = &cancel
	}
	out.Script = &s
	s.Faults = slices.Clone(s.Faults)
	out.Strays = slices.Clone(c.Strays)
	out.Config = cloneConfig(c.Config)
	return &out
}

func cloneTools(tools []fakes.Tool) []fakes.Tool {
	tools = slices.Clone(tools)
	for i := range tools {
		t := &tools[i]
		t.Answers = slices.Clone(t.Answers)
		for j := range t.Answers {
			t.Answers[j].Failures = slices.Clone(t.Answers[j].Failures)
		}
		if t.Session != nil {
			x := *t.Session
			x.Tools, x.Model, x.Shared = cloneTools(x.Tools), cloneModel(x.Model), slices.Clone(x.Shared)
			if x.Config != nil {
				cfg := cloneConfig(*x.Config)
				x.Config = &cfg
			}
			t.Session = &x
		}
	}
	return tools
}

func cloneModel(model []fakes.Step) []fakes.Step {
	model = slices.Clone(model)
	for i := range model {
		model[i].Calls = slices.Clone(model[i].Calls)
		model[i].Failures = slices.Clone(model[i].Failures)
	}
	return model
}

func cloneConfig(c loop.Config) loop.Config {
	c.Errors.Kinds = slices.Clone(c.Errors.Kinds)
	c.Retry.Codes = slices.Clone(c.Retry.Codes)
	c.ModelRetry.Statuses = slices.Clone(c.ModelRetry.Statuses)
	c.Detectors = slices.Clone(c.Detectors)
	for i := range c.Detectors {
		c.Detectors[i].Do = slices.Clone(c.Detectors[i].Do)
	}
	return c
}

// Size counts the parts of the case that a reader must understand: the steps of the
// model, the tools, and the settings.
func (c *Case) Size() Size {
	size := Size{Steps: len(c.Script.Model), Tools: len(c.Script.Tools)}
	off := loop.Off()
	size.Settings = len(leaves(reflect.ValueOf(&off).Elem(), reflect.ValueOf(&c.Config).Elem()))
	return size
}

// A Size is the size of a case.
type Size struct {
	Steps    int // of the model
	Tools    int
	Settings int // settings that differ from [loop.Off]; a detector counts as one
}

// String returns a text such as "3 steps, 1 tool, 2 settings".
func (s Size) String() string {
	return fmt.Sprintf("%s, %s, %s", text.Count(s.Steps, "step"), text.Count(s.Tools, "tool"), text.Count(s.Settings, "setting"))
}

// Number returns the case with that number of the campaign with that seed. The same
// seed, number and variant always make the same case.
func Number(seed uint64, number int, o Options) *Case {
	p := roll(mix(mix(seed+golden) + uint64(number)*golden))
	result, _ := Gen(o)(p).Retrieve()
	return result.(*Case)
}

// Gen returns the gopter generator of cases, for tests with properties of their own.
// Its values are of type *Case, and its shrinker is [Shrinker].
func Gen(o Options) gopter.Gen {
	return func(p *gopter.GenParameters) *gopter.GenResult {
		return gopter.NewGenResult(generate(dice{p}, o), Shrinker)
	}
}

// ceiling ends sessions that nothing else stops. It is low, so that a campaign can
// have many cases.
var ceiling = fakes.Ceiling{Requests: 40, Calls: 120, Time: 24 * time.Hour, Depth: 4}

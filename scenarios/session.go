package scenarios

import (
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// sessionConfigs reads the configs of the sessions of tools. at is the path before tools.
func (s *source) sessionConfigs(at string, entries []toolEntry, tools []fakes.Tool, base loop.Config) {
	for i := range entries {
		e := entries[i].Session
		if e == nil {
			continue
		}
		here := fmt.Sprintf("%stools[%d].session.", at, i)
		if e.Config.node != nil {
			own := configFile{Config: base}
			s.decode(e.Config.node, reflectValue(&own), "config")
			s.checkSettings(here+"config", &own)
			tools[i].Session.Config = &own.Config
		}
		s.sessionConfigs(here, e.Tools, tools[i].Session.Tools, base)
	}
}

// withoutConfigs returns the tools with sessions that have the config of their caller.
func withoutConfigs(tools []fakes.Tool) []fakes.Tool {
	if !slices.ContainsFunc(tools, func(t fakes.Tool) bool { return t.Session != nil }) {
		return tools
	}
	out := slices.Clone(tools)
	for i := range out {
		if out[i].Session != nil {
			x := *out[i].Session
			x.Config, x.Tools = nil, withoutConfigs(x.Tools)
			out[i].Session = &x
		}
	}
	return out
}

// checkDepth refuses a limits.depth of the scenario's own that none of its sub-runs
// reaches. One that the deepest reaches and does not pass is a near miss.
func (s *source) checkDepth(sc *Scenario) {
	node, own := lookup(s.root, "config.limits.depth")
	if deepest := depthOf(sc.Script.Tools); own && sc.Config.Limits.Depth > deepest {
		s.fail(node, fmt.Sprintf("depth can never act: it is %d, and sub-runs of this scenario are at most %d deep", sc.Config.Limits.Depth, deepest),
			"give the tool of a sub-run a session whose tools are sub-runs too, or that shares them")
	}
}

// endless is the depth of sub-runs that may call each other in a ring.
const endless = 1 << 30

// depthOf returns how deep sub-runs can be nested below a session with these tools.
func depthOf(tools []fakes.Tool) int {
	deepest := 0
	for i := range tools {
		x := tools[i].Session
		switch {
		case x != nil && len(x.Shared) > 0:
			return endless
		case x != nil:
			deepest = max(deepest, 1+depthOf(x.Tools))
		case tools[i].SubRun:
			deepest = max(deepest, 1)
		}
	}
	return deepest
}

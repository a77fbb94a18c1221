package probe

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// secretName fits the names of variables whose values are secret.
var secretName = regexp.MustCompile(`(?i)(^|_)(PASSWORD|PASSWD|SECRET|TOKEN|APIKEY|KEY|CREDENTIALS?|PAT|COOKIE)S?(_|$)`)

// environment returns the variables of an agent: those of this process but the secret
// ones, and those of the trial, which win. It also returns the names of the variables
// that were left out. through are names that are passed on all the same.
func environment(own []string, through []string, set map[string]string) (env, leftOut []string) {
	for _, entry := range own {
		name, _, _ := strings.Cut(entry, "=")
		if _, replaced := set[name]; replaced || strings.HasPrefix(name, "AGENTBENCH_") && !slices.Contains(through, name) {
			continue
		}
		if secretName.MatchString(name) && !slices.Contains(through, name) {
			leftOut = append(leftOut, name)
			continue
		}
		env = append(env, entry)
	}
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	slices.Sort(leftOut)
	return env, leftOut
}

// LeftOut returns the names of the variables that an agent does not get because their
// names say that their values are secret. APIs' keys that are set anew are not among
// them.
func LeftOut(own, through []string) []string {
	_, out := environment(own, through, variables(&place{}))
	return out
}

// A place is where an agent finds what it needs in a trial.
type place struct {
	base string // the address of the trial, without a path of an API
	task string
	home string // "" = as it is
	dir  string
	self string // this program
}

// variables returns what a trial sets in an agent's environment.
func variables(p *place) map[string]string {
	v := map[string]string{
		"OPENAI_BASE_URL": p.base + "/v1", "OPENAI_API_BASE": p.base + "/v1", "OPENAI_API_KEY": fakeKey,
		"ANTHROPIC_BASE_URL": p.base, "ANTHROPIC_API_KEY": fakeKey,
		"GOOGLE_GEMINI_BASE_URL": p.base, "GEMINI_API_KEY": fakeKey,
		"AGENTBENCH_URL": p.base + "/v1", "AGENTBENCH_TASK": p.task, "AGENTBENCH_TOOLS": p.base + "/tools", "AGENTBENCH_MCP": p.base + "/mcp",
		"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost",
		"NO_COLOR": "1", "CI": "1", "DO_NOT_TRACK": "1",
	}
	if p.home != "" {
		v["HOME"], v["XDG_CONFIG_HOME"], v["XDG_DATA_HOME"], v["XDG_CACHE_HOME"], v["XDG_STATE_HOME"] =
			p.home, p.home+"/.config", p.home+"/.local/share", p.home+"/.cache", p.home+"/.local/state"
	}
	return v
}

// Variables returns the names of the variables that a trial sets in an agent's
// environment, sorted.
func Variables() []string { return slices.Sorted(maps.Keys(variables(&place{}))) }

// fakeKey is the key of an API that a trial gives to an agent. Clients want one.
const fakeKey = "agentbench"

// fill puts what a trial has in place of the names in braces. {SELF} is this program:
// {SELF} mcp --connect {MCP} offers the script's tools over stdio.
func (p *place) fill(s string) string {
	return strings.NewReplacer("{URL}", p.base+"/v1", "{BASE}", p.base, "{TASK}", p.task, "{HOME}", p.home, "{DIR}", p.dir, "{TOOLS}", p.base+"/tools",
		"{MCP}", p.base+"/mcp", "{SELF}", p.self).Replace(s)
}

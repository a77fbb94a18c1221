package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A Change is a scenario that is not as it was in the baseline.
type Change struct {
	What     What   `json:"what"`
	Scenario string `json:"scenario"`
	Variant  string `json:"variant"` // "" = the only one of the scenario
	Command  string `json:"command"` // repeats a trial; "" = unknown
}

// What says how a scenario changed. A trial that draws no random number changes for a
// reason, never by chance. Of scenarios that draw, only NewlyInconclusive, NewAndFailing
// and Removed are told; rates judge the rest.
type What string

// The changes, in the order of reports.
const (
	NewlyInconclusive What = "newly inconclusive" // it passed, and a trial cannot be judged
	NewlyFailing      What = "newly failing"      // it did not fail
	NewAndFailing     What = "new and failing"    // the baseline does not have it
	NewlyHarmed       What = "newly harmed"       // it is healthy, was not harmed, and does not fail newly
	Removed           What = "removed"            // only the baseline has it
	Fixed             What = "fixed"              // it failed, and passes
)

var whats = []What{NewlyInconclusive, NewlyFailing, NewAndFailing, NewlyHarmed, Removed, Fixed}

// changed returns what changed since the baseline.
func (j *judge) changed() []Change {
	var all []Change
	commands := j.failedCommands()
	tell := func(what What, scenario string, m *match, command string) {
		all = append(all, Change{What: what, Scenario: scenario, Variant: m.variant, Command: command})
	}
	for i := range j.matches {
		m := &j.matches[i]
		for _, pair := range m.units {
			if what := j.change(pair); what != "" {
				command := pair.now.command()
				if what != Fixed && what != NewlyHarmed {
					command = cmp.Or(commands[failedKey{pair.scenario, m.variant, pair.now.verdict}], command)
				}
				tell(what, pair.scenario, m, command)
			}
		}
		for _, a := range m.added {
			if a.unit.verdict == scenarios.Fail {
				tell(NewAndFailing, a.scenario, m, commands[failedKey{a.scenario, m.variant, scenarios.Fail}])
			}
		}
		for _, scenario := range m.gone {
			tell(Removed, scenario, m, "")
		}
	}
	slices.SortStableFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(whats, a.What), slices.Index(whats, b.What)), cmp.Compare(a.Scenario, b.Scenario))
	})
	return all
}

// change returns how a scenario of both results changed, "" = not for certain.
func (j *judge) change(pair matched) What {
	now, base := pair.now, pair.base
	switch {
	case now.verdict == scenarios.Inconclusive && base.verdict == scenarios.Pass:
		return NewlyInconclusive
	case now.random || base.random || !j.certain():
		return ""
	case now.verdict == scenarios.Fail && base.verdict != scenarios.Fail:
		return NewlyFailing
	case j.now.all[pair.scenario].label == scenarios.Healthy && j.now.metric(scenarios.Healthy) == Harmed && now.harmed > 0 && base.harmed == 0 && base.judged > 0:
		return NewlyHarmed
	case now.verdict == scenarios.Pass && base.verdict == scenarios.Fail:
		return Fixed
	}
	return ""
}

// certain reports whether trials that draw no random number end the same each time. It
// is not known of agents that are not this loop.
func (j *judge) certain() bool {
	return j.now.files.judged != scenarios.JudgedForeign && j.base.files.judged != scenarios.JudgedForeign
}

// A failedKey is a scenario under a variant, "" = under the only one, with a verdict.
type failedKey struct {
	scenario, variant string
	verdict           scenarios.Verdict
}

// failedCommands returns the commands that repeat the first trial of each scenario that
// failed or could not be judged.
func (j *judge) failedCommands() map[failedKey]string {
	commands := map[failedKey]string{}
	found := j.now.found()
	for i := range found {
		t := &found[i]
		for _, variant := range []string{"", t.Variant} {
			key := failedKey{t.Scenario, variant, t.Verdict}
			commands[key] = cmp.Or(commands[key], t.Command)
		}
	}
	return commands
}

// told returns the changes of some kinds.
func (j *judge) told(kinds ...What) []Change {
	var out []Change
	for _, c := range j.changes {
		if slices.Contains(kinds, c.What) {
			out = append(out, c)
		}
	}
	return out
}

// name returns the scenario, with the variant if there are several.
func (c *Change) name() string {
	if c.Variant == "" {
		return c.Scenario
	}
	return c.Scenario + ", " + c.Variant
}

func namesOf(changes []Change) string {
	names := make([]string, len(changes))
	for i := range changes {
		names[i] = changes[i].name()
		if changes[i].What == NewAndFailing {
			names[i] += " (new)"
		}
	}
	return someOf(names)
}

// came returns the rule about changes of some kinds.
func (j *judge) came(name string, policy Policy, words string, kinds ...What) Rule {
	changes := j.told(kinds...)
	r := Rule{Name: name, Verdict: scenarios.Pass, Measured: text.Count(len(changes), "scenario") + " " + words, See: j.more()}
	if len(changes) == 0 {
		return r
	}
	r.Measured += ": " + namesOf(changes)
	r.See = cmp.Or(changes[0].Command, r.See)
	return r.under(policy)
}

// under applies a policy to a rule about something that is there.
func (r Rule) under(policy Policy) Rule {
	r.Warning = policy == Warn
	if policy == Forbid {
		r.Verdict, r.Wanted = scenarios.Fail, "none"
	}
	return r
}

// added returns the rule about scenarios that the baseline does not have.
func (j *judge) added() Rule {
	var names []string
	for i := range j.matches {
		for _, a := range j.matches[i].added {
			names = append(names, j.matches[i].title(a.scenario))
		}
	}
	slices.Sort(names)
	r := Rule{Name: "new scenarios", Verdict: scenarios.Pass, Measured: text.Count(len(names), "scenario") + " that the baseline does not have", See: j.more()}
	if len(names) == 0 {
		return r
	}
	r.Measured += ": " + someOf(names)
	return r.under(j.OnNew)
}

// toldAtMost is how many changes of one kind a summary lists.
const toldAtMost = 10

// A toldChange is a line of a summary.
type toldChange struct{ what, words, command string }

// told returns the lines of a summary about changes, with the command that repeats each.
func (g *Gate) told() []toldChange {
	var out []toldChange
	for _, what := range whats {
		all := g.of(what)
		if what == Removed && len(all) > 0 {
			out = append(out, toldChange{string(what), text.Count(len(all), "scenario") + ": " + text.Line(namesOf(all)), ""})
			continue
		}
		for _, c := range all[:min(toldAtMost, len(all))] {
			out = append(out, toldChange{string(what), text.Line(c.name()), text.Line(c.Command)})
		}
		if more := len(all) - toldAtMost; more > 0 {
			out = append(out, toldChange{string(what), text.Count(more, "more scenario"), ""})
		}
	}
	return out
}

// of returns the changes of one kind.
func (g *Gate) of(what What) []Change {
	return slices.DeleteFunc(slices.Clone(g.Changes), func(c Change) bool { return c.What != what })
}

// counted returns how many scenarios changed, such as: , 1 newly failing, 2 fixed. It is
// "" if none did.
func (g *Gate) counted() string {
	words := ""
	for _, what := range whats {
		if n := len(g.of(what)); n > 0 {
			words += fmt.Sprintf(", %s %s", text.Number(n), what)
		}
	}
	return words
}

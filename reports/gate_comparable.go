package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// comparable checks that the results and the baseline differ in nothing but the loop:
// both were judged alike, and a variant of one name has one config. What may differ is
// a note: revisions, seeds, clients.
func (j *judge) comparable() Rule {
	r := Rule{Name: "comparable", Verdict: scenarios.Pass, Measured: "the results and the baseline were made alike", See: j.more()}
	now, base := &j.now.files, &j.base.files
	if now.judged != "" && base.judged != "" && now.judged != base.judged {
		r.Verdict, r.Measured = scenarios.Inconclusive, judgedAs(now.judged)+", and a baseline of "+judgedAs(base.judged)
		r.Wanted = "a baseline that was made by the same command"
		return r
	}
	if other := j.otherConfigs(); len(other) > 0 {
		r.Verdict, r.Measured = scenarios.Inconclusive, text.Count(len(other), "variant")+" with another config in the baseline: "+someOf(other)
		r.Wanted = "another name for another config, or a baseline made anew with --bless"
		return r
	}
	var notes []string
	note := func(what, now, base string) {
		if now != "" && base != "" && now != base {
			notes = append(notes, fmt.Sprintf("%s %s, %s in the baseline", what, now, base))
		}
	}
	note("version", someOf(now.tools), someOf(base.tools))
	note("revision", someOf(now.revisions), someOf(base.revisions))
	note("seeds", now.seedsUsed(), base.seedsUsed())
	note("clients", someOf(now.clients), someOf(base.clients))
	if len(notes) > 0 {
		r.Measured = strings.Join(notes, "; ")
	}
	return r
}

// otherConfigs returns the variants that have another config in the baseline, sorted.
func (j *judge) otherConfigs() []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(j.now.configs)) {
		config, known := j.base.configs[name]
		now, base := j.now.hashes[name], j.base.hashes[name]
		switch {
		case !known:
		case now != "" && base != "":
			if now != base {
				out = append(out, name)
			}
		case !sameJSON(config, j.now.configs[name]):
			out = append(out, name)
		}
	}
	return out
}

// seedsUsed returns the seeds that the headers name, "" = none does.
func (f *files) seedsUsed() string {
	switch {
	case f.seeds == 0:
		return ""
	case f.seeds == 1:
		return fmt.Sprint(f.seed)
	}
	return fmt.Sprintf("%d to %d", f.seed, f.seed+uint64(f.seeds)-1)
}

package reports

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// kindFuzz is the kind of results files of fuzz, which have no trials.
const kindFuzz = "fuzz"

// KindRun, KindCompare and KindReplay are the kinds of reports.
const (
	KindRun     = "run"
	KindCompare = "compare"
	KindReplay  = "replay"
)

// files holds the facts from the headers of all files.
type files struct {
	kind   string
	schema string
	judged scenarios.Judged
	tools  []string
	// revisions are the commits of the versions that wrote them, clients the
	// foreign agents with their versions, both sorted.
	revisions, clients []string
	seed               uint64
	seeds              int
	trials             int                  // the sum over the headers
	shards             map[int]map[int]bool // number of shards → the shards seen
	faults             []string             // laid over every world, sorted

	fuzzRuns int // the sum over the headers of fuzz

	gaps    []string // what files lack to be whole
	skipped int      // problems of replays: records and files that could not be read
}

// add adds a header.
func (f *files) add(h *scenarios.Header) error {
	f.tools = addWord(f.tools, h.Tool)
	f.revisions = addWord(f.revisions, h.Revision)
	for _, name := range slices.Sorted(maps.Keys(h.Clients)) {
		f.clients = addWord(f.clients, name+" "+h.Clients[name])
	}
	if f.schema != "" && h.Schema != "" && f.schema != h.Schema {
		return fmt.Errorf("results of the schema %s cannot be counted together with earlier ones of %s: run the trials again", quote(h.Schema), quote(f.schema))
	}
	f.schema = cmp.Or(f.schema, h.Schema)
	if h.Kind == kindFuzz {
		f.fuzzRuns += h.Trials
		return nil
	}
	kind := cmp.Or(h.Kind, KindRun)
	if f.kind != "" && f.kind != kind {
		return fmt.Errorf("results of %s cannot be counted together with earlier ones of %s: make a report of each", quote(kind), quote(f.kind))
	}
	faults := slices.Sorted(slices.Values(h.Faults))
	if f.kind != "" && !slices.Equal(f.faults, faults) {
		return fmt.Errorf("results under %s cannot be counted together with earlier ones under %s: make a report of each", faultsOf(faults), faultsOf(f.faults))
	}
	if f.kind != "" && f.judged != h.Judged {
		return fmt.Errorf("%s cannot be counted together with earlier %s: make a report of each", judgedAs(h.Judged), judgedAs(f.judged))
	}
	f.judged = h.Judged
	f.faults = faults
	if f.kind == "" || h.Seed < f.seed {
		f.seed = h.Seed
	}
	f.kind = kind
	f.seeds = max(f.seeds, h.Seeds)
	f.trials += h.Trials
	f.skipped += h.Skipped
	return f.shard(h.Shard)
}

// addWord adds a word to a sorted list, unless the list has it.
func addWord(list []string, word string) []string {
	at, found := slices.BinarySearch(list, word)
	if found || word == "" {
		return list
	}
	return slices.Insert(list, at, word)
}

// judgedAs describes how results were judged.
func judgedAs(j scenarios.Judged) string {
	switch j {
	case scenarios.JudgedOwn:
		return "results of each scenario under its own config"
	case scenarios.JudgedPlain:
		return "results of each variant without the scenarios' own config"
	case scenarios.JudgedForeign:
		return "results of a foreign agent"
	case scenarios.JudgedNone:
		return "results that were not judged"
	}
	return "results that do not say how they were judged"
}

// old reports whether an earlier version wrote the files.
func (f *files) old() bool { return f.schema == scenarios.ResultsSchemaV1 }

// faultsOf names the faults laid over every world.
func faultsOf(faults []string) string {
	switch len(faults) {
	case 0:
		return "no fault"
	case 1:
		return "the fault " + someOf(faults)
	}
	return "the faults " + someOf(faults)
}

// shard notes that a shard such as 2/4 was seen.
func (f *files) shard(s string) error {
	if s == "" {
		return nil
	}
	i, n, err := ParseShard(s)
	if err != nil {
		return err
	}
	if f.shards == nil {
		f.shards = map[int]map[int]bool{}
	}
	if f.shards[n] == nil {
		f.shards[n] = map[int]bool{}
	}
	if f.shards[n][i] {
		return fmt.Errorf("shard %s appears twice", s)
	}
	f.shards[n][i] = true
	return nil
}

// maxShards bounds the number of shards in a header.
const maxShards = 10_000

// ParseShard parses the number of a shard, such as 2/4: the second of four.
func ParseShard(s string) (i, n int, err error) {
	var rest string
	if k, _ := fmt.Sscanf(s+" .", "%d/%d %s", &i, &n, &rest); k != 3 || rest != "." || i < 1 || n < i || n > maxShards {
		return 0, 0, fmt.Errorf("a shard is i/n with i from 1 to n, such as 2/4, not %s", quote(s))
	}
	return i, n, nil
}

// missing reports what files lack, missing shards, and missing trials that a header
// announced.
func (f *files) missing(trials int) []string {
	out := slices.Clone(f.gaps)
	for _, n := range slices.Sorted(maps.Keys(f.shards)) {
		var gone []string
		for i := 1; i <= n; i++ {
			if !f.shards[n][i] {
				gone = append(gone, fmt.Sprintf("%d/%d", i, n))
			}
		}
		if len(gone) > 0 {
			out = append(out, "the results are incomplete: missing shards "+someOf(gone))
		}
	}
	if f.trials > trials {
		out = append(out, fmt.Sprintf("the results are incomplete: they hold %s of %s", text.Number(trials), text.Count(f.trials, "trial")))
	}
	return out
}

// someOf joins words, but at most ten of them.
func someOf(words []string) string {
	const most = 10
	shown := make([]string, 0, most)
	for _, w := range words[:min(most, len(words))] {
		shown = append(shown, text.Line(w))
	}
	if more := len(words) - len(shown); more > 0 {
		return strings.Join(shown, ", ") + fmt.Sprintf(" and %s more", text.Number(more))
	}
	return strings.Join(shown, ", ")
}

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

// kindFuzz is the kind of a file without trials.
const kindFuzz = "fuzz"

// KindRun and KindReplay are kinds of reports.
const (
	KindRun    = "run"
	KindReplay = "replay"
)

// files is what the headers of all files say together.
type files struct {
	kind   string
	tools  []string
	seed   uint64
	seeds  int
	trials int                  // that the headers promise
	shards map[int]map[int]bool // number of shards → those that came
	faults []string             // that struck every world, sorted

	skipped int // problems of replays: what could not be read
}

// add takes a header.
func (f *files) add(h *scenarios.Header) error {
	if !slices.Contains(f.tools, h.Tool) && h.Tool != "" {
		f.tools = append(f.tools, h.Tool)
		slices.Sort(f.tools)
	}
	if h.Kind == kindFuzz {
		return nil
	}
	kind := cmp.Or(h.Kind, KindRun)
	if f.kind != "" && f.kind != kind {
		return fmt.Errorf("results of %s cannot be counted together with those of %s before: make a report of each", quote(kind), quote(f.kind))
	}
	faults := slices.Sorted(slices.Values(h.Faults))
	if f.kind != "" && !slices.Equal(f.faults, faults) {
		return fmt.Errorf("results under %s cannot be counted together with those under %s before: make a report of each", faultsOf(faults), faultsOf(f.faults))
	}
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

// faultsOf names what struck every world.
func faultsOf(faults []string) string {
	switch len(faults) {
	case 0:
		return "no fault"
	case 1:
		return "the fault " + someOf(faults)
	}
	return "the faults " + someOf(faults)
}

// shard notes that a shard came, such as 2/4.
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
		return fmt.Errorf("shard %s is there twice", s)
	}
	f.shards[n][i] = true
	return nil
}

// maxShards bounds what a header may say.
const maxShards = 10_000

// ParseShard reads the number of a shard, such as 2/4: the second of four.
func ParseShard(s string) (i, n int, err error) {
	var rest string
	if k, _ := fmt.Sscanf(s+" .", "%d/%d %s", &i, &n, &rest); k != 3 || rest != "." || i < 1 || n < i || n > maxShards {
		return 0, 0, fmt.Errorf("a shard is i/n with i from 1 to n, such as 2/4, not %s", quote(s))
	}
	return i, n, nil
}

// missing tells what is not there: shards, and trials that a header promises.
func (f *files) missing(trials int) []string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(f.shards)) {
		var gone []string
		for i := 1; i <= n; i++ {
			if !f.shards[n][i] {
				gone = append(gone, fmt.Sprintf("%d/%d", i, n))
			}
		}
		if len(gone) > 0 {
			out = append(out, "the results are not whole: of the shards there is no "+someOf(gone))
		}
	}
	if f.trials > trials {
		out = append(out, fmt.Sprintf("the results are not whole: they hold %s of %s", text.Number(trials), text.Count(f.trials, "trial")))
	}
	return out
}

// someOf lists words, the first ten of many.
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

package tune

import (
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/trajectories"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// Facts bound what a replay of a run can count, under any config. Most rules never come
// into play in most runs: with facts a run need not be replayed to know that.
type facts struct {
	// plain says that a config whose limits and detectors do nothing does nothing at
	// all: every reply has a text or calls, every call a name, arguments that are an
	// object and an id of its own, if any. Without it the other facts mean nothing.
	plain        bool
	shape, timed bool

	turns, calls, batch int // batch: the most calls in a turn
	tokens              int64
	same                int // the most calls with equal names and arguments
	tool                int // the most calls of a tool
	texts               int // replies without calls
	failed              int // calls that the recording marks as failed, or does not answer
	results             []string
}

// factsOf looks at a run once.
func factsOf(t *trajectories.Trajectory) *facts {
	f := &facts{plain: true, shape: t.Shape, timed: t.Timed}
	var canon detect.Canon
	same, tools, ids := map[detect.Signature]int{}, map[string]int{}, map[string]bool{}
	for _, run := range t.Runs {
		for _, turn := range run.Turns {
			f.turns++
			f.tokens += turn.TokensIn + turn.TokensOut
			f.batch = max(f.batch, len(turn.Calls))
			if len(turn.Calls) == 0 {
				f.texts++
				f.plain = f.plain && strings.TrimSpace(turn.Text) != ""
			}
			for _, c := range turn.Calls {
				sig, err := canon.Signature(c.Name, c.Args)
				f.plain = f.plain && err == nil && c.Name != "" && c.Name == strings.TrimSpace(c.Name) && !ids[c.ID]
				ids[c.ID] = c.ID != ""
				same[sig]++
				tools[c.Name]++
				f.calls++
				f.same, f.tool = max(f.same, same[sig]), max(f.tool, tools[c.Name])
				if c.Result == nil || c.Result.Code.Failed() {
					f.failed++
				} else {
					f.results = append(f.results, c.Result.Text)
				}
			}
		}
	}
	return f
}

// failing returns the most calls that can count as failed.
func (f *facts) failing(prefix string) int {
	n := f.failed
	if prefix != "" {
		for _, text := range f.results {
			if strings.HasPrefix(text, prefix) {
				n++
			}
		}
	}
	return n
}

// quiet reports that a config prevents nothing in the run. If it is false nothing is
// known.
func (f *facts) quiet(cfg *loop.Config) bool {
	if !f.plain {
		return false
	}
	l := &cfg.Limits
	under := func(n int, limit int) bool { return limit == 0 || n < limit }
	steps := 2 * f.turns // a reply and its batch
	if !under(f.turns, l.Turns) || !under(f.calls, l.Asked) || !under(f.calls, l.Calls) || !under(f.calls, l.Tries) || !under(f.batch, l.CallsPerTurn) ||
		!under(steps, l.Steps) || !under(f.calls, cfg.Contracts.PageLimit) || l.Tokens != 0 && f.tokens >= l.Tokens ||
		l.CostUSD != 0 && !f.shape || cfg.Time.Run != 0 && f.timed {
		return false
	}
	if h := &cfg.History; !f.shape && h.CompactAt+h.CompactTokens > 0 {
		return false // a history that does not shrink may end the run
	}
	failing := f.failing(cfg.Errors.TextPrefix)
	if failing > 0 && (cfg.Policy.OnFailure == loop.FailureTable || l.Adapt.Errors > 0) || !under(failing, cfg.Errors.MaxConsecutive) {
		return false
	}
	return !slices.ContainsFunc(cfg.Detectors, func(d detect.Detector) bool { return !f.silent(&d, failing) })
}

// silent reports that a detector never reaches its lowest rung.
func (f *facts) silent(d *detect.Detector, failing int) bool {
	lowest := d.Do[0].At
	for _, rung := range d.Do {
		lowest = min(lowest, rung.At)
	}
	most := f.calls + f.turns
	switch {
	case f.byCall(d):
		most = max(f.same, f.texts)
	case slices.Contains(d.Key, detect.Tool) && d.Record != detect.PerTurn && d.Record != detect.PerReply:
		most = f.tool
	}
	if len(d.Counts) == 1 && d.Counts[0] == detect.Failed && d.Record != detect.PerTurn && d.Record != detect.PerReply {
		most = min(most, failing)
	}
	return most < lowest
}

// byCall reports whether records that a detector takes for the same have the same call.
// Those without a call are replies of text.
func (f *facts) byCall(d *detect.Detector) bool {
	key := len(d.Key) == 0 || slices.Contains(d.Key, detect.Tool) && slices.Contains(d.Key, detect.Args)
	return key && len(d.IgnoreArgs) == 0 && len(d.Round) == 0
}

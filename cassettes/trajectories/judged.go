package trajectories

import (
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A BlindSpot is a rule that a replay of a run does not judge, because the recording
// does not hold what the rule goes by. The replay leaves the rule out.
type BlindSpot struct {
	Rule    string // a detector's name, or a setting such as limits.tokens
	Without string // what the recording does not hold
}

// String returns the rule and what is missing: stuck (texts).
func (b BlindSpot) String() string { return b.Rule + " (" + b.Without + ")" }

// NotJudged returns the rules of a config that a replay of the trajectory does not judge
// because it is a shape. What no recording can answer is said at [Offline].
func (r *Trajectory) NotJudged(cfg loop.Config) []BlindSpot {
	_, spots := r.judged(cfg)
	return spots
}

// judged returns the config with which the trajectory is replayed, [Offline] and without
// the rules that it cannot answer, and those rules.
func (r *Trajectory) judged(cfg loop.Config) (loop.Config, []BlindSpot) {
	original := cfg
	cfg = Offline(cfg)
	if r.Timed {
		cfg.Time.Run = original.Time.Run
		for i := range cfg.Detectors {
			cfg.Detectors[i].Within = original.Detectors[i].Within
		}
	}
	if !r.Shape {
		return cfg, nil
	}
	var spots []BlindSpot
	off := func(rule, without string) { spots = append(spots, BlindSpot{rule, without}) }
	if cfg.Limits.Tokens > 0 && !r.Counted() {
		cfg.Limits.Tokens = 0
		off("limits.tokens", "the tokens of every reply")
	}
	if cfg.Limits.CostUSD > 0 {
		cfg.Limits.CostUSD = 0
		off("limits.cost_usd", "cost")
	}
	prefixed := cfg.Errors.TextPrefix != "" && cfg.Errors.TextPrefix != textError
	if prefixed {
		cfg.Errors.TextPrefix = ""
	}
	if prefixed && cfg.Errors.MaxConsecutive > 0 {
		cfg.Errors.MaxConsecutive = 0
		off("errors.max_consecutive", "the text of results, for errors.text_prefix")
	}
	if cfg.Policy.OnFailure == loop.FailureTable {
		cfg.Policy.OnFailure = loop.FailureModel
		off("policy.on_failure", "the kinds of errors")
	}
	if cfg.Contracts.BrokenArgs == loop.BrokenDropped && r.losesReply() {
		cfg.Contracts.BrokenArgs = loop.BrokenAnswered
		off("contracts.broken_args", "whether a reply with calls has a text too")
	}
	if h := &cfg.History; h.CompactAt > 0 || h.CompactTokens > 0 {
		h.CompactAt, h.CompactTokens = 0, 0
		off("history.compact_at", "texts")
	}
	cfg.Detectors = slices.DeleteFunc(slices.Clone(cfg.Detectors), func(d detect.Detector) bool {
		without := r.missing(&d, prefixed)
		if without != "" {
			off(d.Name, without)
		}
		return without != ""
	})
	return cfg, spots
}

// losesReply reports whether a reply has only calls whose arguments are broken. Without
// them it is an answer if it has a text, and else empty.
func (r *Trajectory) losesReply() bool {
	var canon detect.Canon
	whole := func(c *Call) bool { _, err := canon.Object(c.Args); return err == nil }
	for _, run := range r.Runs {
		for _, turn := range run.Turns {
			if len(turn.Calls) > 0 && !slices.ContainsFunc(turn.Calls, whole) {
				return true
			}
		}
	}
	return false
}

// Counted reports whether every reply has its tokens.
func (r *Trajectory) Counted() bool {
	for _, run := range r.Runs {
		for _, turn := range run.Turns {
			if turn.TokensIn == 0 && turn.TokensOut == 0 {
				return false
			}
		}
	}
	return true
}

// missing says what a detector goes by that a shape does not hold, "" = nothing.
// prefixed means that text other than Error: marks errors.
func (r *Trajectory) missing(d *detect.Detector, prefixed bool) string {
	has := func(p detect.Part) bool { return slices.Contains(d.Key, p) }
	var missing []string
	if has(detect.RawArgs) {
		missing = append(missing, "arguments as they were written")
	}
	if has(detect.Text) {
		missing = append(missing, "texts")
	}
	if has(detect.Args) && !has(detect.Tool) {
		missing = append(missing, "arguments across tools")
	}
	if len(d.IgnoreArgs) > 0 || len(d.Round) > 0 {
		missing = append(missing, "arguments")
	}
	if len(d.IgnoreResult) > 0 || d.ErrorChars > 0 && has(detect.Error) {
		missing = append(missing, "parts of results")
	}
	if len(d.Tools.Only)+len(d.Tools.Except) > 0 && !r.NamedTools {
		missing = append(missing, "the names of tools")
	}
	if prefixed && (has(detect.Error) || slices.Contains(d.Counts, detect.Failed) || slices.Contains(d.Reset, detect.OnSuccess) || slices.Contains(d.Reset, detect.OnToolSuccess)) {
		missing = append(missing, "the text of results, for errors.text_prefix")
	}
	return strings.Join(missing, ", ")
}

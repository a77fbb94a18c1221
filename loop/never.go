package loop

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// NeverActs reports the settings of a valid config that can never act: those of a
// mechanism that is off, those that another setting hides, and rungs of a detector that
// an endless repetition cannot reach. Its error joins a [FieldError] for each, and is
// nil if there is none. [New] accepts such a config; whoever reads one from a file
// should refuse what the file itself says.
func (c *Config) NeverActs() error {
	var v validation
	for _, r := range neverActs {
		if r.set(c) && !r.acts(c) {
			v.add(r.field, "%s", r.why)
		}
	}
	v.hidden("time.tool", c.Time.Tool, c.Time.Run, "time.run", !c.Time.PauseForUser)
	v.hidden("time.model", c.Time.Model, c.Time.Run, "time.run", !c.Time.PauseForUser)
	v.hidden("time.permission", c.Time.Permission, c.Time.Run, "time.run", !c.Time.PauseForUser)
	v.hidden("time.first_token", c.Time.FirstToken, c.Time.Model, "time.model", true)
	v.hidden("time.chunk", c.Time.Chunk, c.Time.Model, "time.model", true)
	for i := range c.Detectors {
		at := fmt.Sprintf("detectors[%d]", i)
		for _, m := range c.Detectors[i].NeverActs() {
			v.add(at+"."+m.Field, "%s", m.Text)
		}
		if j := slices.Index(c.Detectors[i].Reset, detect.OnUserMessage); j >= 0 && c.Scope != ScopeSession {
			v.add(fmt.Sprintf("%s.reset[%d]", at, j), "changes nothing under scope: run, where each user message starts all counts anew")
		}
	}
	return errors.Join(v.errs...)
}

// hidden reports a deadline above another one that ends the same wait before.
func (v *validation) hidden(field string, d, other time.Duration, name string, before bool) {
	if before && other > 0 && d > other {
		v.add(field, "never acts: %s of %v ends the wait before", name, other)
	}
}

// neverActs lists settings with what they need to act.
var neverActs = []struct {
	field     string
	set, acts func(*Config) bool
	why       string
}{
	{"limits.at_limit", func(c *Config) bool { return c.Limits.AtLimit != "" && c.Limits.AtLimit != LimitStop },
		func(c *Config) bool {
			return c.Limits.Turns > 0 || c.Limits.Asked > 0 || c.Limits.Calls > 0 || c.Limits.Steps > 0
		},
		"never acts without limits.turns, limits.asked, limits.calls or limits.steps"},
	{"limits.near", func(c *Config) bool { return c.Limits.Near > 0 },
		func(c *Config) bool { return c.Limits.Turns > 0 || c.Limits.Asked > 0 || c.Limits.Calls > 0 }, "never acts without limits.turns, limits.asked or limits.calls"},
	{"limits.adapt.errors", func(c *Config) bool { return c.Limits.Adapt.Errors > 0 },
		func(c *Config) bool { return max(c.Limits.Turns, c.Limits.Calls) > max(1, c.Limits.Adapt.Floor) },
		"never acts without limits.turns or limits.calls above limits.adapt.floor"},
	{"time.summary", func(c *Config) bool { return c.Time.Summary > 0 }, compacts, "never acts without history.compact_at, compact_tokens or compact_on_overflow"},
	{"time.pause_for_user", func(c *Config) bool { return c.Time.PauseForUser },
		func(c *Config) bool { return c.Time.Run > 0 }, "never acts without time.run"},
	{"errors.max_consecutive", countsErrors, func(c *Config) bool { return len(c.Errors.Kinds) > 0 }, "is never reached: errors.kinds is empty, so no error counts"},
	{"errors.trip", func(c *Config) bool { return c.Errors.Trip == TripExceeded }, countsErrors, "never acts without errors.max_consecutive"},
	{"errors.batch", func(c *Config) bool { return c.Errors.Batch == BatchAny }, countsErrors, "never acts without errors.max_consecutive"},
	{"retry.max", func(c *Config) bool { return c.Retry.Max > 0 }, func(c *Config) bool { return len(c.Retry.Codes) > 0 }, "never acts: retry.codes is empty"},
	{"model_retry.max", func(c *Config) bool { return c.ModelRetry.Max > 0 },
		func(c *Config) bool { return len(c.ModelRetry.Statuses) > 0 }, "never acts: model_retry.statuses is empty"},
	{"model_retry.same_deadline", func(c *Config) bool { return c.ModelRetry.SameDeadline > 0 },
		func(c *Config) bool { return c.ModelRetry.SameDeadline <= c.ModelRetry.Max }, "never acts: model_retry.max ends the tries before"},
	{"model_retry.same_deadline", func(c *Config) bool {
		return c.ModelRetry.SameDeadline > 0 && c.ModelRetry.SameDeadline <= c.ModelRetry.Max
	},
		func(c *Config) bool { return c.Time.Model+c.Time.Summary+c.Time.FirstToken+c.Time.Chunk > 0 }, "never acts without time.model, time.summary, time.first_token or time.chunk"},
	{"model_retry.broken_streams", func(c *Config) bool { return c.ModelRetry.BrokenStreams > 0 },
		func(c *Config) bool { return c.ModelRetry.BrokenStreams <= c.ModelRetry.Max }, "never acts: model_retry.max ends the tries before"},
	{"history.keep_last", func(c *Config) bool { return c.History.KeepLast > 0 },
		func(c *Config) bool { return c.History.MaxMessages > 0 || compacts(c) }, "never acts without history.max_messages, compact_at, compact_tokens or compact_on_overflow"},
	{"history.compact_at", func(c *Config) bool { return c.History.CompactAt > 0 }, leavesRoom,
		"is never met: a summary and the messages that keep_first and keep_last protect are more"},
	{"contracts.repair", func(c *Config) bool { return c.Contracts.Repair > 0 },
		func(c *Config) bool { return c.Contracts.Input || c.Contracts.Output }, "never acts without contracts.input or contracts.output"},
	{"policy.ask_missing", func(c *Config) bool { return c.Policy.AskMissing },
		func(c *Config) bool { return c.Contracts.Input || c.Policy.OnFailure == FailureTable },
		"never acts without contracts.input, which finds what is missing, or on_failure: table"},
}

func compacts(c *Config) bool {
	return c.History.CompactAt > 0 || c.History.CompactTokens > 0 || c.History.CompactOnOverflow
}

// leavesRoom reports whether a history that was compacted can be within its bound.
func leavesRoom(c *Config) bool {
	stay := 1 + max(1, c.History.KeepLast)
	if c.History.KeepFirst {
		stay++
	}
	return stay <= c.History.CompactAt
}

func countsErrors(c *Config) bool { return c.Errors.MaxConsecutive > 0 }

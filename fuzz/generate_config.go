package fuzz

import (
	"fmt"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/scenarios"
)

// presets returns the configs of all presets, in the order of their names.
var presets = sync.OnceValue(func() []loop.Config {
	var configs []loop.Config
	for _, name := range scenarios.Presets() {
		if v, err := scenarios.LoadVariant(name); err == nil {
			configs = append(configs, v.Config)
		}
	}
	return configs
})

// config sets the config: that of the options' variant, or drawn from no limits, the
// default and the presets, with changes.
func (m *maker) config(o Options) {
	if m.given = o.Variant != nil; m.given {
		m.Config = cloneConfig(o.Variant.Config)
		return
	}
	switch {
	case m.one(2) || m.has(Configs):
		m.Config = loop.Off()
	case m.one(2):
		m.Config = loop.Default()
	default:
		m.Config = cloneConfig(pick(m.dice, presets()...))
	}
	base := cloneConfig(m.Config)
	changes := m.below(6)
	if m.has(Configs) {
		changes = m.below(20)
	}
	for range changes {
		pick(m.dice, mildSettings...)(m.dice, &m.Config)
		if !m.mild {
			pick(m.dice, settings...)(m.dice, &m.Config)
		}
		if !m.mild && !m.plain {
			pick(m.dice, wideSettings...)(m.dice, &m.Config)
		}
	}
	if !m.mild && m.one(2) {
		m.detectors()
	}
	m.Config.Policy.Fallbacks = m.Config.Policy.Fallbacks || !m.mild && !m.plain && m.one(2)
	if m.Config.Validate() != nil {
		m.Config = base
	}
}

// A setting changes one value of a config.
type setting func(d dice, c *loop.Config)

// tenths draws a duration of some tenths of a second.
func tenths(d dice, lo, hi int) time.Duration {
	return time.Duration(d.between(lo, hi)) * 100 * time.Millisecond
}

var backoffs = []loop.Backoff{loop.Linear, loop.Constant, loop.Exponential, loop.FullJitter, loop.DecorrelatedJitter}

// mildSettings let the runs of a mild world reach their end.
var mildSettings = []setting{
	func(d dice, c *loop.Config) { c.Retry.Max = d.below(6) },
	func(d dice, c *loop.Config) { c.Retry.Base = tenths(d, 0, 20) },
	func(d dice, c *loop.Config) { c.Retry.Backoff = pick(d, backoffs...) },
	func(d dice, c *loop.Config) { c.Retry.Timeouts = d.one(2) },
	func(d dice, c *loop.Config) { c.ModelRetry.Max = d.below(5) },
	func(d dice, c *loop.Config) { c.ModelRetry.Max = 1 + d.below(3) },
	func(d dice, c *loop.Config) { c.ModelRetry.Base = tenths(d, 0, 20) },
	func(d dice, c *loop.Config) { c.ModelRetry.Backoff = pick(d, backoffs...) },
	func(d dice, c *loop.Config) { c.ModelRetry.EmptyReplies = d.between(1, 3) },
	func(d dice, c *loop.Config) { c.Parallel.Max = d.below(4) },
	func(d dice, c *loop.Config) { c.Limits.Turns = d.between(20, 60) },
	func(d dice, c *loop.Config) { c.Limits.Calls = d.between(60, 200) },
	func(d dice, c *loop.Config) { c.Limits.Asked = d.between(60, 200) },
	func(d dice, c *loop.Config) {
		c.Limits.AtLimit = pick(d, loop.LimitStop, loop.LimitFinal, loop.LimitSummary, loop.LimitGrace, loop.LimitAsk)
	},
	func(d dice, c *loop.Config) { c.Time.Model = time.Duration(d.between(8, 60)) * time.Second },
	func(d dice, c *loop.Config) { c.Time.FirstToken = time.Duration(d.between(8, 30)) * time.Second },
	func(d dice, c *loop.Config) { c.Time.Tool = time.Duration(d.between(2, 30)) * time.Second },
	func(d dice, c *loop.Config) { c.Time.Run = 0 },
	func(d dice, c *loop.Config) { c.Time.Grace = tenths(d, 0, 40) },
	func(d dice, c *loop.Config) { c.Errors.Trip = pick(d, loop.TripReached, loop.TripExceeded) },
	func(d dice, c *loop.Config) { c.History.MaxMessages = d.between(3, 12) },
	func(d dice, c *loop.Config) { c.History.KeepFirst = d.one(2) },
	func(d dice, c *loop.Config) { c.History.KeepLast = d.below(5) },
	func(d dice, c *loop.Config) { c.History.MaxResultChars = d.between(1, 30) },
}

// settings are the settings that plain worlds may have too.
var settings = []setting{
	func(d dice, c *loop.Config) { c.Scope = pick(d, loop.ScopeRun, loop.ScopeSession) },
	func(d dice, c *loop.Config) { c.Limits.Turns = d.below(8) },
	func(d dice, c *loop.Config) { c.Limits.Turns = d.below(8) },
	func(d dice, c *loop.Config) { c.Limits.Calls = d.below(9) },
	func(d dice, c *loop.Config) { c.Limits.Asked = d.below(9) },
	func(d dice, c *loop.Config) { c.Limits.Calls = d.below(9) },
	func(d dice, c *loop.Config) { c.Limits.CallsPerTurn = d.below(5) },
	func(d dice, c *loop.Config) { c.Limits.Tokens = int64(5 * d.below(20)) },
	func(d dice, c *loop.Config) { c.Limits.CostUSD = float64(500*d.below(12)) / 1e9 },
	func(d dice, c *loop.Config) { c.Limits.Tries = d.below(10) },
	func(d dice, c *loop.Config) { c.Limits.Steps = d.below(12) },
	func(d dice, c *loop.Config) {
		c.Limits.AtLimit = pick(d, loop.LimitStop, loop.LimitFinal, loop.LimitSummary, loop.LimitGrace, loop.LimitAsk)
	},
	func(d dice, c *loop.Config) { c.Limits.Near = d.below(4) },
	func(d dice, c *loop.Config) {
		c.Limits.Adapt = loop.Adapt{Errors: float64(d.below(10)) / 10, Floor: d.below(5)}
	},
	func(d dice, c *loop.Config) { c.Time.Run = tenths(d, 0, 300) },
	func(d dice, c *loop.Config) { c.Time.Run = time.Duration(d.between(1, 30)) * time.Second },
	func(d dice, c *loop.Config) { c.Time.Model = tenths(d, 0, 60) },
	func(d dice, c *loop.Config) { c.Time.FirstToken = tenths(d, 0, 40) },
	func(d dice, c *loop.Config) { c.Time.Chunk = tenths(d, 0, 30) },
	func(d dice, c *loop.Config) { c.Time.Tool = tenths(d, 0, 60) },
	func(d dice, c *loop.Config) { c.Time.Tool = time.Duration(d.between(1, 5)) * time.Second },
	func(d dice, c *loop.Config) { c.Time.PauseForUser = d.one(2) },
	func(d dice, c *loop.Config) { c.Time.Permission = tenths(d, 0, 30) },
	func(d dice, c *loop.Config) { c.Errors.MaxConsecutive = d.below(5) },
	func(d dice, c *loop.Config) { c.Errors.MaxConsecutive = d.between(1, 3) },
	func(d dice, c *loop.Config) { c.Errors.Batch = pick(d, loop.BatchAll, loop.BatchAny) },
	func(d dice, c *loop.Config) { c.Errors.Kinds = kinds(d) },
	func(d dice, c *loop.Config) { c.Errors.TextPrefix = pick(d, "", "Error:", "error") },
	func(d dice, c *loop.Config) { c.Errors.Normalize, c.Errors.ProviderDetails = d.one(2), d.one(2) },
	func(d dice, c *loop.Config) { c.Retry.Cap = tenths(d, 0, 40) },
	func(d dice, c *loop.Config) { c.Retry.Codes = codes(d) },
	func(d dice, c *loop.Config) { c.ModelRetry.Cap = tenths(d, 0, 40) },
	func(d dice, c *loop.Config) { c.ModelRetry.MaxWait = time.Duration(d.below(10)) * time.Second },
	func(d dice, c *loop.Config) {
		c.ModelRetry.Statuses = pick(d, nil, []string{"429"}, []string{"5xx"}, []string{"4xx", "503"})
	},
	func(d dice, c *loop.Config) { c.ModelRetry.EmptyReplies = d.below(3) },
	func(d dice, c *loop.Config) { c.ModelRetry.SameDeadline = d.below(4) },
	func(d dice, c *loop.Config) {
		c.ModelRetry.SameDeadline, c.ModelRetry.Max, c.Time.Model = 2, 4, tenths(d, 10, 30)
	},
	func(d dice, c *loop.Config) { c.History.MaxMessages = d.below(8) },
	func(d dice, c *loop.Config) { c.ModelRetry.CutReplies = d.below(3) },
	func(d dice, c *loop.Config) { c.ModelRetry.GapReplies = d.below(3) },
	func(d dice, c *loop.Config) {
		c.ModelRetry.BrokenStreams, c.ModelRetry.Max = d.below(3), 1+d.below(4)
	},
	func(d dice, c *loop.Config) {
		c.Contracts.BrokenArgs = pick(d, loop.BrokenAnswered, loop.BrokenDropped)
	},
}

// wideSettings are the settings of the mechanisms that plain worlds do not use.
var wideSettings = []setting{
	func(d dice, c *loop.Config) { c.Limits.Depth = d.below(3) },
	func(d dice, c *loop.Config) { c.Limits.Spawns = d.below(3) },
	func(d dice, c *loop.Config) { c.Time.Summary = tenths(d, 0, 40) },
	func(d dice, c *loop.Config) { c.History.CompactAt = d.below(10) },
	func(d dice, c *loop.Config) { c.History.CompactTokens = d.below(500) },
	func(d dice, c *loop.Config) { c.History.CompactOnOverflow = d.one(2) },
	func(d dice, c *loop.Config) { c.History.ThrashTurns = d.below(5) },
	func(d dice, c *loop.Config) { c.History.MinGain = float64(d.below(11)) / 10 },
	func(d dice, c *loop.Config) { c.History.CompactionsWithoutGain = d.below(3) },
	func(d dice, c *loop.Config) { c.Contracts.Input = d.one(2) },
	func(d dice, c *loop.Config) { c.Contracts.Output = d.one(2) },
	func(d dice, c *loop.Config) { c.Contracts.Repair = d.below(3) },
	func(d dice, c *loop.Config) { c.Contracts.PageLimit = d.below(3) },
	func(d dice, c *loop.Config) { c.Contracts.MaxPayloadBytes = d.below(40) },
	func(d dice, c *loop.Config) { c.Policy.OnFailure = pick(d, loop.FailureModel, loop.FailureTable) },
	func(d dice, c *loop.Config) { c.Policy.Fallbacks = d.one(2) },
	func(d dice, c *loop.Config) { c.Policy.AskMissing = d.one(2) },
}

func kinds(d dice) []loop.ErrorKind {
	var out []loop.ErrorKind
	for _, k := range loop.ErrorKinds() {
		if d.one(2) {
			out = append(out, k)
		}
	}
	return out
}

func codes(d dice) []loop.Code {
	out := []loop.Code{loop.RetryableServer}
	for _, c := range loop.Codes()[1:] {
		if d.one(3) {
			out = append(out, c)
		}
	}
	return out
}

// detectors replaces the detectors by up to three drawn ones.
func (m *maker) detectors() {
	m.Config.Detectors = nil
	for i := range m.between(0, 3) {
		d := m.detector()
		d.Name = fmt.Sprintf("detector-%d", i+1)
		if i == 0 && m.one(2) {
			d.Name = "circuit-breaker"
		}
		if d.Validate() == nil && !(m.plain && d.Record == detect.PerReply) {
			m.Config.Detectors = append(m.Config.Detectors, d)
		}
	}
}

// detector draws a detector: a plain breaker half of the time, else any detector.
func (m *maker) detector() detect.Detector {
	d := detect.Detector{Do: []detect.Rung{{At: m.between(1, 5), Act: detect.Stop}}}
	if m.one(3) {
		d.Ends = detect.EndsNext
	}
	if m.one(3) {
		d.Within = pick(m.dice, tenths(m.dice, 1, 60), fakes.DefaultModelLatency+fakes.DefaultToolLatency)
	}
	if m.one(3) {
		d.Reset, d.Do[0].At, d.Within = []detect.Reset{detect.OnResultChange}, m.between(2, 3), 0
		d.IgnoreResult = pick(m.dice, nil, []string{"$.id"}, []string{"[0-9]+"}, []string{"$.items[*]"}, []string{"$.items[*]", "$..next_page", "$..id"}, []string{"$[\"items\"][0]"})
	}
	if m.one(4) {
		d.Round = map[string]int64{"n": int64(m.between(2, 4))}
	}
	if m.one(8) {
		d.IgnoreArgs = []string{"path"}
	}
	if m.one(4) {
		d.Do = append(d.Do, detect.Rung{At: d.Do[0].At + m.between(1, 2), Act: detect.Stop})
		d.Do[0].Act = pick(m.dice, detect.Nudge, detect.Veto)
		return d
	}
	if m.one(2) {
		return d
	}
	if m.one(2) {
		d.Do = []detect.Rung{{At: m.between(1, 4), Act: m.act()}}
		if m.one(2) {
			d.Do = append(d.Do, detect.Rung{At: d.Do[0].At + m.between(1, 3), Act: m.act()})
		}
	}
	if m.one(2) {
		d.Key = pick(m.dice, []detect.Part{detect.Tool}, []detect.Part{detect.Tool, detect.RawArgs}, []detect.Part{detect.Tool, detect.Args, detect.Result},
			[]detect.Part{detect.Tool, detect.Error}, []detect.Part{detect.Text}, []detect.Part{detect.Args})
	}
	if m.one(3) {
		d.Counts = []detect.Class{pick(m.dice, detect.Failed, detect.Unknown, detect.Invalid, detect.Denied, detect.Empty, detect.All)}
	}
	if m.one(3) {
		d.Match, d.Memory, d.Ends = pick(m.dice, detect.Window, detect.Cycle), 6+m.below(10), ""
		d.Full = d.Match == detect.Window && m.one(2)
	} else if m.one(2) {
		d.Ends = pick(m.dice, detect.EndsTurn, detect.EndsNext, detect.EndsTool, detect.EndsBatch, detect.EndsNever)
	}
	if m.one(4) {
		d.Record = pick(m.dice, detect.PerTurn, detect.PerReply)
		d.Order = pick(m.dice, detect.Kept, detect.AnyOrder)
	}
	if m.one(3) || d.Record == detect.PerReply || len(d.Counts) > 0 {
		d.Acts = detect.AfterBatch
	} else if m.one(4) {
		d.PriorOnly = true
	}
	m.finer(&d)
	return d
}

func (m *maker) act() detect.Act {
	return pick(m.dice, detect.Nudge, detect.Veto, detect.Ask, detect.FinalAnswer, detect.Stop)
}

// finer draws the rarely used keys of a detector.
func (m *maker) finer(d *detect.Detector) {
	if m.one(4) {
		d.Reset = []detect.Reset{pick(m.dice, detect.OnSuccess, detect.OnToolSuccess, detect.OnResultChange, detect.OnUserMessage)}
	}
	if m.one(4) {
		d.Vetoed = pick(m.dice, detect.AsOther, detect.AsSame, detect.NotRecorded)
	}
	if m.one(6) {
		d.Firings = []detect.Act{m.act(), m.act()}
	}
	if m.one(6) {
		d.AfterFiring = detect.Clear
	}
	if m.one(8) {
		d.Tools.Except = []string{pick(m.dice, toolNames...)}
	}
	if m.one(8) {
		d.IgnoreArgs = []string{"mode"}
	}
	if m.one(8) {
		d.OncePerTurn = true
	}
	if m.one(10) {
		d.DistinctArgs = 2
	}
}

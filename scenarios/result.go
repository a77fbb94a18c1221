package scenarios

import (
	"encoding/json"

	"github.com/agentbench-go/agentbench/loop"
)

// ResultsSchema names the form of a results file.
const ResultsSchema = "agentbench.results/v1"

// A Header is the first line of a results file.
type Header struct {
	Type      string                     `json:"type"`   // header
	Schema    string                     `json:"schema"` // ResultsSchema
	Kind      string                     `json:"kind"`   // run, replay or fuzz
	Tool      string                     `json:"tool"`   // the version that wrote it
	Seed      uint64                     `json:"seed"`
	Seeds     int                        `json:"seeds"`
	Shard     string                     `json:"shard,omitempty"` // such as 1/4
	Order     []string                   `json:"order"`           // the variants as given; the first is the reference
	Variants  map[string]json.RawMessage `json:"variants"`        // their configs, with the keys of a variant
	Scenarios int                        `json:"scenarios"`
	Trials    int                        `json:"trials"`
}

// A Result is what came of one trial: one line of a results file. Counts are
// over all runs of its session.
type Result struct {
	Type       string         `json:"type"`     // trial
	Scenario   string         `json:"scenario"` // suite/name
	Suite      string         `json:"suite"`
	Label      Label          `json:"label"`
	Variant    string         `json:"variant"`
	Seed       uint64         `json:"seed"`
	EndState   loop.EndState  `json:"end_state"` // of the first bad stop, else of the last run; "" if it never stopped
	Stop       loop.Stop      `json:"stop"`      // the same run's
	Turns      int            `json:"turns"`
	ModelCalls int            `json:"model_calls"`
	Calls      int            `json:"calls"` // executed
	Tries      int            `json:"tries"`
	Errors     int            `json:"errors"`
	Vetoed     int            `json:"vetoed"`
	Nudges     int            `json:"nudges"`
	Codes      map[string]int `json:"codes"`     // final codes of executed calls, None for success
	SchemaOK   int            `json:"schema_ok"` // executed calls whose answer did not break its schema
	Repairs    int            `json:"repairs"`
	RepairsOK  int            `json:"repairs_ok"`
	ToolMS     []Latency      `json:"tool_ms"`    // how long executed calls took, their retries among it
	VirtualMS  int64          `json:"virtual_ms"` // from the first message to the last stop
	TokensIn   int64          `json:"tokens_in"`
	TokensOut  int64          `json:"tokens_out"`
	CostUSD    float64        `json:"cost_usd"`
	Verdict    Verdict        `json:"verdict"`
	Findings   []Finding      `json:"findings"`
	Golden     string         `json:"golden"` // match, mismatch, missing or off
	Asked      int            `json:"asked"`  // Calls + Vetoed + Denied + Invalid
	Denied     int            `json:"denied"`
	Invalid    int            `json:"invalid"`
	Random     bool           `json:"random"` // other seeds may give other results
	File       string         `json:"file,omitempty"`
	Line       int            `json:"line,omitempty"`
	Trace      string         `json:"trace,omitempty"`   // canonical text
	Saved      int            `json:"saved,omitempty"`   // of a replay: recorded calls not executed
	WentOn     bool           `json:"went_on,omitempty"` // of a replay: the recording had more to say
}

// A Verdict says how a trial was judged.
type Verdict string

// The verdicts.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive" // the script ran dry, a fault never fired, a panic in a check
	Unjudged     Verdict = "unjudged"     // reported only
)

// A Finding is one thing that a check found wrong.
type Finding struct {
	Rule    string `json:"rule"`
	Message string `json:"message"`
	At      string `json:"at"` // where in the trace: a time, or a number such as c7
	Want    string `json:"want"`
	Got     string `json:"got"`
}

// A Latency is a bucket of a histogram: N calls took at most UpperMS, and more
// than the bound below it. The bounds are fixed: 1, 1.05, 1.1 … 2, 2.1, 2.2 …
// 10 times a power of ten, so that none is more than 5 % above what it stands
// for. In JSON [upper_ms, n].
type Latency struct {
	UpperMS float64
	N       int
}

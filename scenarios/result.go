package scenarios

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
)

// ResultsSchema names the form of a results file, ResultsSchemaV1 the form of
// earlier versions: without an end, and without a word on how trials were judged.
const (
	ResultsSchema   = "agentbench.results/v2"
	ResultsSchemaV1 = "agentbench.results/v1"
)

// Judged says how the trials of a results file were judged. Results that were judged
// differently cannot be compared.
type Judged string

// The ways to judge.
const (
	JudgedOwn     Judged = "own"     // each scenario with its own config, by what it expects
	JudgedPlain   Judged = "plain"   // each variant as it is, without a scenario's own config
	JudgedForeign Judged = "foreign" // another agent than the loop, by what it asked for
	JudgedNone    Judged = "none"    // not at all
)

// A Header is the first line of a results file.
type Header struct {
	Type      string                     `json:"type"`   // header
	Schema    string                     `json:"schema"` // ResultsSchema
	Kind      string                     `json:"kind"`   // the command that made it: run (gate makes the same), compare, replay, record, fuzz or serve; or probe or test
	Judged    Judged                     `json:"judged"`
	Tool      string                     `json:"tool"`               // the version that wrote it
	Revision  string                     `json:"revision,omitempty"` // the commit of that version, with +dirty if the checkout had changes; "" = unknown
	Seed      uint64                     `json:"seed"`
	Seeds     int                        `json:"seeds"`
	Shard     string                     `json:"shard,omitempty"`          // such as 1/4
	Order     []string                   `json:"order"`                    // the variants as given; the first is the reference
	Variants  map[string]json.RawMessage `json:"variants"`                 // their configs, with the keys of a variant
	Files     map[string]string          `json:"variant_files,omitempty"`  // the files of those that are not presets
	Hashes    map[string]string          `json:"variant_hashes,omitempty"` // the SHA-256 of each config, in hexadecimal
	Clients   map[string]string          `json:"clients,omitempty"`        // foreign agents, and their versions
	Scenarios int                        `json:"scenarios"`
	Trials    int                        `json:"trials"`
	Faults    []string                   `json:"faults,omitempty"`  // laid over the world of every trial, see [fakes.Fault]
	Model     json.RawMessage            `json:"model,omitempty"`   // of record: the settings of the live model
	Skipped   int                        `json:"skipped,omitempty"` // of replay: records and files that could not be read
}

// add adds a variant, unless the header has it.
func (h *Header) add(v Variant) {
	if _, ok := h.Variants[v.Name]; !ok {
		h.Order = append(h.Order, v.Name)
		config := v.JSON()
		h.Variants[v.Name] = config
		if h.Hashes == nil {
			h.Hashes = map[string]string{}
		}
		h.Hashes[v.Name] = fmt.Sprintf("%x", sha256.Sum256(config))
		if v.File != "" {
			if h.Files == nil {
				h.Files = map[string]string{}
			}
			h.Files[v.Name] = v.File
		}
	}
}

// A Result is the result of one trial, and one line of a results file. Its counts cover
// all runs of the session.
type Result struct {
	Type       string         `json:"type"`     // trial
	Scenario   string         `json:"scenario"` // suite/name
	Suite      string         `json:"suite"`
	Label      Label          `json:"label"`
	Variant    string         `json:"variant"`
	Seed       uint64         `json:"seed"`
	EndState   loop.EndState  `json:"end_state"` // of the first run that ended badly, else of the last run; "" if the session broke off
	Stop       loop.Stop      `json:"stop"`      // of the same run
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
	ToolMS     []Latency      `json:"tool_ms"`    // how long executed calls took, with their retries
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
	Refused    int            `json:"refused,omitempty"`     // calls that a detector or hook vetoed or a limit refused, but for those that fell with a stop
	RefusedOwn int            `json:"refused_own,omitempty"` // of a healthy run: those of them that the scenario's own variant refuses too
	RefusedAt  int            `json:"refused_at,omitempty"`  // calls asked for before the first of the others
	SubRuns    int            `json:"sub_runs,omitempty"`    // sub-runs that were sessions of their own, at any depth; their calls are not in Calls, their tokens and cost are in TokensIn, TokensOut and CostUSD
	SubStops   map[string]int `json:"sub_stops,omitempty"`   // how often each stop ended one of them
	SubNudges  int            `json:"sub_nudges,omitempty"`  // nudges in them
	LastWord   bool           `json:"last_word,omitempty"`   // a limit asked for a last word that may be the answer (at_limit: grace)
	Random     bool           `json:"random"`                // another seed may lead to another result
	Notes      []string       `json:"notes,omitempty"`       // what the script holds and the trial did not reach, though it need not have
	File       string         `json:"file,omitempty"`
	Line       int            `json:"line,omitempty"`
	Trace      string         `json:"trace,omitempty"`      // canonical text
	TraceCut   *TraceCut      `json:"trace_cut,omitempty"`  // the steps that Trace leaves out; nil = none
	Saved      int            `json:"saved,omitempty"`      // of replay: recorded calls not executed
	WentOn     bool           `json:"went_on,omitempty"`    // of replay: a stopped trajectory goes on to a new call
	NotJudged  []string       `json:"not_judged,omitempty"` // of replay: rules left out because the recording does not hold what they go by
	Requests   int            `json:"requests,omitempty"`   // of a foreign agent: model requests of its loop, with its tries
	Asides     int            `json:"asides,omitempty"`     // of a foreign agent: model requests beside its loop
	Client     string         `json:"client,omitempty"`     // of a foreign agent: its name and version
	Exit       *int           `json:"exit,omitempty"`       // of a foreign agent: the exit code of its process; nil = it did not end by itself
	Why        string         `json:"why,omitempty"`        // of a foreign agent: why it ended, as far as can be seen
	Repeat     string         `json:"repeat,omitempty"`     // the command that repeats the trial; "" = that of the report

	// Took is how long the trial took on the wall clock; 0 = unknown. It is in no results
	// file, which has the same bytes each time.
	Took time.Duration `json:"-"`

	redacted bool // it holds no secrets
	fromFile bool // it was read from a results file
}

// A TraceCut says where the middle of a long trace was left out of a result. What is left
// is still the text of a trace.
type TraceCut struct {
	Line  int `json:"line"`  // of the trace, from 1, before which the steps were
	Steps int `json:"steps"` // how many inputs, with their effects
}

// A Verdict is the judgement on a trial.
type Verdict string

// Known reports whether the verdict is one of the list.
func (v Verdict) Known() bool {
	return v == Pass || v == Fail || v == Inconclusive || v == Unjudged
}

// The verdicts.
const (
	Pass         Verdict = "pass"
	Fail         Verdict = "fail"
	Inconclusive Verdict = "inconclusive" // such as: the script ran dry, a fault never fired, a panic
	Unjudged     Verdict = "unjudged"     // the command reports and does not judge
)

// A Finding is one thing that speaks against a trial.
type Finding struct {
	Rule    string         `json:"rule"` // a key of expect, or runs, label, golden, history, audit, cassette, ran-dry, not-fired, unasked, unreached, interrupted, invalid, panic
	Message string         `json:"message"`
	At      string         `json:"at"` // where in the trace: a number such as c7, or a line of its text; "" = nowhere in particular
	Want    string         `json:"want"`
	Got     string         `json:"got"`
	Diff    *goldens.Edits `json:"diff,omitempty"` // of a golden: all differences, if they can be listed
}

// A Latency is a bucket of a histogram: N calls took at most UpperMS milliseconds, and
// more than the next lower bound. The bounds are fixed: 1, 1.05, 1.1 … 2, 2.1, 2.2 … 10
// times a power of ten, so that a bound is at most 5 % above any latency in its bucket.
// In JSON it is [upper_ms, n].
type Latency struct {
	UpperMS float64
	N       int
}

// MarshalJSON returns [upper_ms, n].
func (l Latency) MarshalJSON() ([]byte, error) {
	return json.Marshal([2]float64{l.UpperMS, float64(l.N)})
}

// UnmarshalJSON reads [upper_ms, n].
func (l *Latency) UnmarshalJSON(b []byte) error {
	var pair []float64
	if err := json.Unmarshal(b, &pair); err != nil {
		return err
	}
	if len(pair) != 2 || pair[0] < 0 || pair[1] < 0 || pair[1] != math.Trunc(pair[1]) {
		return fmt.Errorf("tool_ms: %.40s is not [upper_ms, count]", b)
	}
	l.UpperMS, l.N = pair[0], int(pair[1])
	return nil
}

// find adds a finding.
func (r *Result) find(rule, at, message string) { r.compare(rule, at, message, "", "") }

func (r *Result) compare(rule, at, message, want, got string) {
	r.Findings = append(r.Findings, Finding{Rule: rule, At: at, Message: message, Want: want, Got: got})
}

// count fills in the totals over the runs of a session, and its first bad stop.
func (r *Result) count(runs []loop.Outcome, f facts) {
	var cost int64
	ended := true // well so far
	for i := range runs {
		o := &runs[i]
		if ended {
			r.EndState, r.Stop = o.End, o.Stop
			ended = endedWell(o.End)
		}
		r.Turns += o.Turns
		r.ModelCalls += o.ModelCalls
		r.Calls += o.Calls
		r.Tries += o.Tries
		r.Errors += o.Errors
		r.Vetoed += o.Vetoed
		r.Nudges += o.Nudges
		r.Repairs += o.Repairs
		r.RepairsOK += o.RepairsOK
		r.Asked += o.Asked
		r.Denied += o.Denied
		r.Invalid += o.Invalid
		r.TokensIn += o.TokensIn
		r.TokensOut += o.TokensOut
		cost += o.Cost
	}
	r.CostUSD = float64(cost) / 1e9
	r.VirtualMS = f.end.Round(time.Millisecond).Milliseconds()
	r.SchemaOK = f.schemaOK
	r.LastWord = f.lastWord
	r.SubRuns, r.SubStops, r.SubNudges = f.subRuns, f.subStops, f.subNudges
	for code, n := range f.codes {
		r.Codes[codeName(code)] = n
	}
	for upper, n := range f.took {
		r.ToolMS = append(r.ToolMS, Latency{UpperMS: float64(upper) / 1e6, N: n})
	}
	slices.SortFunc(r.ToolMS, func(a, b Latency) int { return cmp.Compare(a.UpperMS, b.UpperMS) })
}

// codeName returns the name of a code in results files.
func codeName(c loop.Code) string {
	if c == loop.None {
		return "None"
	}
	return string(c)
}

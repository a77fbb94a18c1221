package reports

import (
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// ReportSchema names the form of a report in JSON.
const ReportSchema = "agentbench.report/v1"

// A Report is everything that is reported on results. [Fold.Report] makes it, and every
// exporter writes it. Lists have a fixed order: variants as they were given, labels as
// healthy, runaway, unlabelled, scenarios by name.
//
// Counts of runs are sums over scenarios of the shares of their trials. A scenario
// counts once, even if it was tried with many seeds.
type Report struct {
	Schema    string   `json:"schema"` // ReportSchema
	Tool      string   `json:"tool"`   // the version that wrote the results
	Kind      string   `json:"kind"`   // the command that made the results: run or replay
	Seed      uint64   `json:"seed"`   // the first
	Seeds     int      `json:"seeds"`
	Variants  []string `json:"variants"`  // as given
	Reference string   `json:"reference"` // the variant that others are compared with
	Scenarios int      `json:"scenarios"`
	Trials    int      `json:"trials"`
	Faults    []string `json:"faults,omitempty"` // laid over the world of every trial

	// Verdict is the verdict over all trials and served scenarios: fail beats inconclusive, which beats
	// pass. It is unjudged if none was judged, and inconclusive where it would be
	// pass but the results are incomplete. In a report of a gate it is the gate's
	// verdict.
	Verdict    scenarios.Verdict `json:"verdict"`
	Verdicts   Verdicts          `json:"verdicts"`             // trials by their verdict
	Warnings   []string          `json:"warnings"`             // what a reader should know first, such as missing shards or trials left out
	Incomplete []string          `json:"incomplete,omitempty"` // what the results lack to be whole; nil = nothing
	Gate       *Gate             `json:"gate,omitempty"`

	Suites      []Suite         `json:"suites"`
	Rates       []Rate          `json:"rates"`
	Survival    []Survival      `json:"survival"`
	Harm        []Survival      `json:"harm,omitempty"` // of healthy runs: curves whose event is the stop or the first refused call; nil for replay
	LogRank     []LogRank       `json:"log_rank"`
	Comparisons []Comparison    `json:"comparisons"`        // each variant compared with the reference
	Evidence    *Evidence       `json:"evidence,omitempty"` // for the reference; nil without alternatives
	Spent       []Spent         `json:"spent"`
	Stops       []Stops         `json:"stops"`
	NotRun      []NotRun        `json:"not_run,omitempty"` // of replay
	Tools       []Tools         `json:"tools"`
	Differences []Difference    `json:"differences"` // scenarios that the variants treat differently, the worst first
	Findings    []TrialFindings `json:"findings"`    // trials that failed or could not be judged
	Fuzz        []Fuzz          `json:"fuzz,omitempty"`
	Served      []Served        `json:"served,omitempty"` // by scenario

	// Results are the trials, by scenario, variant and seed; nil unless Fold.Keep is
	// set. They are not part of the JSON form: results files hold them. Header is the
	// header of a results file that holds them all.
	Results []*scenarios.Result `json:"-"`
	Header  scenarios.Header    `json:"-"`
}

// Verdicts counts trials by their verdict.
type Verdicts struct {
	Pass         int `json:"pass"`
	Fail         int `json:"fail"`
	Inconclusive int `json:"inconclusive"`
	Unjudged     int `json:"unjudged"`
}

// A Suite counts the scenarios of a suite, each by the worst verdict of its
// trials under any variant.
type Suite struct {
	Suite        string `json:"suite"`
	Scenarios    int    `json:"scenarios"`
	Passed       int    `json:"passed"`
	Failed       int    `json:"failed"`
	Inconclusive int    `json:"inconclusive"`
	Unjudged     int    `json:"unjudged"`
}

// A Metric says what a [Rate] counts.
type Metric string

// The metrics of rates.
const (
	Caught  Metric = "caught"  // runaways that a rule stopped, or that were done after a nudge, a veto or a last word
	Stopped Metric = "stopped" // runs that a rule stopped
	// Interfered counts healthy runs that were not stopped but had calls refused, see
	// [scenarios.Result.Interfered]. Harmed counts those that were either.
	Interfered Metric = "interfered"
	Harmed     Metric = "harmed"
	WentOn     Metric = "went_on" // of replay: stopped runs that went on to a new call
)

// A Rate is k of n scenarios, with the 95 % interval of Wilson for the effective number
// of scenarios ([stats.WilsonUnits]). Trials that their script cancelled or that could
// not be judged count neither in k nor in n.
type Rate struct {
	Variant      string          `json:"variant"`
	Label        scenarios.Label `json:"label"`
	Metric       Metric          `json:"metric"`
	K            float64         `json:"k"`
	N            float64         `json:"n"`
	Rate         Figure          `json:"rate"`
	Lower        Figure          `json:"lower"`
	Upper        Figure          `json:"upper"`
	Inconclusive int             `json:"inconclusive"` // trials left out because they could not be judged
}

// A Survival is the survival curve of a variant over the scenarios of a label: the
// share not yet stopped of the runs that want one more call. See docs/reports.md.
type Survival struct {
	Variant string          `json:"variant"`
	Label   scenarios.Label `json:"label"`
	N       float64         `json:"n"`      // scenarios
	Events  float64         `json:"events"` // of them stopped
	// Alive is the curve after 2, 4, 8 and 16 calls, by the number in decimal.
	Alive     map[string]Alive `json:"alive"`
	Points    []Point          `json:"points"`    // one for each number of calls at which a run ended
	Incidence []Incidence      `json:"incidence"` // one for each number of calls at which a run was stopped
	Median    Figure           `json:"median"`    // calls until half are stopped; unknown if fewer were stopped
}

// AliveAfter are the numbers of calls in [Survival.Alive].
var AliveAfter = []int{2, 4, 8, 16}

// Alive is a curve at one number of calls. Survival is unknown if no run was at risk
// any more.
type Alive struct {
	Survival Figure  `json:"survival"`
	Lower    Figure  `json:"lower"`
	Upper    Figure  `json:"upper"`
	AtRisk   float64 `json:"at_risk"` // just before
}

// A Point is a survival curve right after T calls.
type Point struct {
	T        float64 `json:"t"`
	AtRisk   float64 `json:"at_risk"` // just before
	Events   float64 `json:"events"`  // stopped at T
	Survival Figure  `json:"survival"`
	StdErr   Figure  `json:"std_err"`
	Lower    Figure  `json:"lower"`
	Upper    Figure  `json:"upper"`
}

// An Incidence is the share of all runs that were stopped by T calls.
type Incidence struct {
	T     float64 `json:"t"`
	Value Figure  `json:"value"`
	Lower Figure  `json:"lower"`
	Upper Figure  `json:"upper"`
}

// A LogRank compares the curve of a variant with that of the reference.
type LogRank struct {
	Label     scenarios.Label `json:"label"`
	Reference string          `json:"reference"`
	Variant   string          `json:"variant"`
	Chi2      Figure          `json:"chi2"`
	DF        int             `json:"df"`
	P         Figure          `json:"p"`
	PAdjusted Figure          `json:"p_adjusted"` // Holm's, over the variants of the label
}

// A Comparison compares a variant with the reference, on the scenarios that both were
// tried on.
type Comparison struct {
	Variant   string `json:"variant"`
	Reference string `json:"reference"`
	Pairs     []Pair `json:"pairs"`   // one for each label; of healthy runs one for harmed, stopped and interfered
	Verdict   string `json:"verdict"` // in plain words
}

// A Pair is the paired comparison of one rate, with the exact sign test on
// scenarios.
type Pair struct {
	Label     scenarios.Label `json:"label"`
	Metric    Metric          `json:"metric"`
	N         int             `json:"n"`          // scenarios in both
	More      int             `json:"more"`       // scenarios with a higher share under the variant
	Fewer     int             `json:"fewer"`      // scenarios with a lower share under the variant
	Change    float64         `json:"change"`     // k of the variant minus k of the reference
	P         Figure          `json:"p"`          //
	PAdjusted Figure          `json:"p_adjusted"` // Holm's, over the variants, for the label and metric
}

// Spent is what the runs of a label used up to their stop, whatever the stop was. P50
// and P95 have 95 % intervals by bootstrap over scenarios. P95 is unknown for fewer than
// 60 scenarios.
type Spent struct {
	Variant  string          `json:"variant"`
	Label    scenarios.Label `json:"label"`
	Metric   string          `json:"metric"` // calls, tokens, cost_usd or virtual_ms
	P50      Figure          `json:"p50"`
	P50Lower Figure          `json:"p50_lower"`
	P50Upper Figure          `json:"p50_upper"`
	P95      Figure          `json:"p95"`
	P95Lower Figure          `json:"p95_lower"`
	P95Upper Figure          `json:"p95_upper"`
}

// The metrics of [Spent].
const (
	SpentCalls  = "calls" // executed
	SpentTokens = "tokens"
	SpentCost   = "cost_usd"
	SpentTime   = "virtual_ms"
)

// Stops counts the runs of a label that ended with one stop. The most frequent stops
// come first.
type Stops struct {
	Variant  string          `json:"variant"`
	Label    scenarios.Label `json:"label"`
	Stop     loop.Stop       `json:"stop"`
	EndState loop.EndState   `json:"end_state"`
	N        float64         `json:"n"` // scenarios
}

// NotRun counts recorded calls that did not run because of a variant: K of the N calls
// of all runs of a label. On failed runs that is work saved, on good runs it is work
// lost, so the two are never added.
type NotRun struct {
	Variant string          `json:"variant"`
	Label   scenarios.Label `json:"label"`
	Metric  string          `json:"metric"` // saved, lost or not_run, by the label
	K       int             `json:"k"`
	N       int             `json:"n"`
}

// The metrics of [NotRun].
const (
	CallsSaved  = "saved"   // on failed runs
	CallsLost   = "lost"    // on good runs
	CallsNotRun = "not_run" // on unlabelled runs
)

// Tools are totals over all trials of a variant. They count calls, not scenarios, so
// they have no interval.
type Tools struct {
	Variant       string         `json:"variant"`
	Calls         int            `json:"calls"`          // executed
	StepSuccess   Figure         `json:"step_success"`   // share of calls without an error
	SchemaOK      Figure         `json:"schema_ok"`      // share of calls whose answer did not break its schema
	Repairs       int            `json:"repairs"`        // attempts
	RepairSuccess Figure         `json:"repair_success"` // share of them that worked
	MeanRetries   Figure         `json:"mean_retries"`   // tries after the first, a call
	P95MS         Figure         `json:"p95_ms"`         // latency, at most 5 % too high; unknown for fewer than 60 calls
	Codes         map[string]int `json:"codes"`          // errors by their final code
}

// A Difference is a scenario that the variants treat differently.
type Difference struct {
	Scenario string          `json:"scenario"`
	Label    scenarios.Label `json:"label"`
	Metric   Metric          `json:"metric"`
	Cells    []Cell          `json:"cells"`   // one for each variant that tried it
	Command  string          `json:"command"` // repeats a trial of the variant that does worst; "" = unknown
}

// A Cell is the outcome of a scenario under one variant.
type Cell struct {
	Variant string  `json:"variant"`
	Share   float64 `json:"share"` // of the trials that were caught, or stopped
	Trials  int     `json:"trials"`
	Ending  string  `json:"ending"` // of its first bad trial, else of its first trial
	Calls   int     `json:"calls"`  // executed in that trial
	Bad     bool    `json:"bad"`    // a runaway not always caught, a healthy run sometimes stopped
}

// TrialFindings are the findings of a trial that failed or could not be judged.
type TrialFindings struct {
	Scenario string              `json:"scenario"`
	Variant  string              `json:"variant"`
	Seed     uint64              `json:"seed"`
	Verdict  scenarios.Verdict   `json:"verdict"`
	Ending   string              `json:"ending"`
	Findings []scenarios.Finding `json:"findings"`
	File     string              `json:"file,omitempty"`
	Line     int                 `json:"line,omitempty"`
	Command  string              `json:"command"` // repeats the trial; "" = unknown

	place  string // of the file in the user's repository; "" = it is not in it
	served bool   // it stands for a scenario that serve served, not for a trial
}

// Fuzz is a line of a results file of `agentbench fuzz`.
type Fuzz struct {
	Kind        string `json:"kind"`
	Runs        int    `json:"runs"`
	Survived    int    `json:"survived"`
	Recoverable int    `json:"recoverable"`
	Done        int    `json:"done"`
}

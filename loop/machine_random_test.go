package loop_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
)

// A wild world answers at random, as any world may: late, twice, never, with
// broken calls, and with numbers that nobody asked for. It ends what nothing
// stops: a cancel follows the wild world's last request.
type wild struct {
	*rand.Rand
	requests int         // that are left before it cancels
	runs     int         // further messages
	wilder   bool        // its agent is a sub-run
	before   []AskedCall // the calls of the last reply that had some
}

type wildSetting struct {
	field  string
	values []string
}

// wildSettings are the values that a random config picks from.
var wildSettings = []wildSetting{
	{"scope", []string{"run", "run", "session"}},
	{"limits.turns", []string{"0", "0", "2", "5"}},
	{"limits.asked", []string{"0", "0", "6"}},
	{"limits.calls", []string{"0", "0", "3", "8"}},
	{"limits.calls_per_turn", []string{"0", "0", "2"}},
	{"limits.tokens", []string{"0", "0", "60"}},
	{"limits.cost_usd", []string{"0", "0", "5e-8"}},
	{"limits.tries", []string{"0", "0", "3"}},
	{"limits.steps", []string{"0", "0", "7"}},
	{"limits.at_limit", []string{"stop", "final-answer", "summary", "grace", "ask"}},
	{"limits.near", []string{"0", "1", "2"}},
	{"limits.adapt.errors", []string{"0", "0", "0.3", "0.5"}},
	{"limits.adapt.floor", []string{"3", "1"}},
	{"time.run", []string{"0s", "20s", "60s"}},
	{"time.model", []string{"0s", "5s"}},
	{"time.first_token", []string{"0s", "2s"}},
	{"time.chunk", []string{"0s", "1s"}},
	{"time.tool", []string{"0s", "3s"}},
	{"time.grace", []string{"0s", "1s", "2s"}},
	{"time.permission", []string{"0s", "0s", "1s"}},
	{"time.pause_for_user", []string{"false", "true"}},
	{"errors.max_consecutive", []string{"0", "0", "2", "3"}},
	{"errors.trip", []string{"reached", "exceeded"}},
	{"errors.batch", []string{"all", "any"}},
	{"errors.kinds", []string{"exception, text, unknown, invalid, denied, vetoed", "exception"}},
	{"retry.max", []string{"0", "1", "3"}},
	{"retry.base", []string{"0s", "1s"}},
	{"retry.backoff", []string{"linear", "constant", "exponential", "full-jitter", "decorrelated-jitter"}},
	{"retry.timeouts", []string{"true", "false"}},
	{"model_retry.max", []string{"0", "1", "3"}},
	{"model_retry.backoff", []string{"exponential", "full-jitter", "decorrelated-jitter"}},
	{"model_retry.max_wait", []string{"200s", "3s"}},
	{"model_retry.empty_replies", []string{"0", "2"}},
	{"parallel.max", []string{"0", "1", "2"}},
	{"history.max_messages", []string{"0", "0", "5"}},
	{"history.keep_first", []string{"true", "false"}},
	{"history.keep_last", []string{"0", "3"}},
	{"history.max_result_chars", []string{"0", "5"}},
}

// wilderSettings are those of what a loop can do beyond calling tools, which half
// of the seeds use.
var wilderSettings = []wildSetting{
	{"limits.spawns", []string{"0", "1", "1"}},
	{"limits.depth", []string{"0", "0", "1"}},
	{"time.summary", []string{"0s", "3s"}},
	{"history.compact_at", []string{"0", "0", "6"}},
	{"history.compact_tokens", []string{"0", "0", "60"}},
	{"contracts.input", []string{"false", "true"}},
	{"contracts.broken_args", []string{"answer", "answer", "drop"}},
	{"contracts.output", []string{"false", "true"}},
	{"contracts.repair", []string{"0", "1"}},
	{"contracts.max_payload_bytes", []string{"0", "9"}},
	{"policy.on_failure", []string{"model", "model", "table"}},
	{"policy.fallbacks", []string{"false", "true"}},
	{"policy.ask_missing", []string{"false", "true"}},
	{"model_retry.gap_replies", []string{"0", "1"}},
}

// wildDetectors are settings of a detector, of which a random config picks some.
var wildDetectors = []map[string]string{
	{"do[0].at": "3", "do[0].act": "stop"},
	{"ends": "next", "do[0].at": "2", "do[0].act": "nudge", "do[1].at": "3", "do[1].act": "veto"},
	{"key": "tool", "ends": "never", "do[0].at": "3", "do[0].act": "ask", "after_firing": "clear"},
	{"match": "cycle", "period": "1..2", "memory": "10", "do[0].at": "2", "do[0].act": "veto", "firings": "veto, stop", "vetoed": "same"},
	{"counts": "failed", "key": "tool, error", "acts": "after-batch", "do[0].at": "3", "do[0].act": "final-answer"},
	{"record": "turn", "order": "any", "do[0].at": "2", "do[0].act": "stop"},
	{"record": "reply", "key": "text", "acts": "after-batch", "do[0].at": "2", "do[0].act": "nudge"},
	{"match": "window", "memory": "4", "full": "true", "do[0].at": "2", "do[0].act": "stop"},
}

// wildSession makes the config, the task and the tools of a seed.
func wildSession(seed uint64) (s session, err error) {
	r := rand.New(rand.NewPCG(seed, 1))
	s.cfg = Off()
	s.task = Task{Text: "go", System: "Be brief.", Seed: seed}
	s.tools = []ToolSpec{
		{Name: "read", Idempotent: Idempotent},
		{Name: "write", Permission: AskCall, Idempotent: NotIdempotent},
		{Name: "rm", Permission: AskBatch},
		{Name: "sum"},
		{Name: "agent"},
	}
	settings := wildSettings
	if seed%2 == 1 {
		settings = slices.Concat(wildSettings, wilderSettings)
		s.wilder(r)
	}
	for _, setting := range settings {
		if err = setField(&s.cfg, setting.field, setting.values[r.IntN(len(setting.values))]); err != nil {
			return s, err
		}
	}
	for i, detector := range wildDetectors {
		if r.IntN(3) > 0 {
			continue
		}
		at := fmt.Sprintf("detectors[%d].", len(s.cfg.Detectors))
		err = setField(&s.cfg, at+"name", fmt.Sprintf("d%d", i))
		for field, value := range detector {
			if err == nil {
				err = setField(&s.cfg, at+field, value)
			}
		}
	}
	return s, err
}

// wilder adds hooks, a planner, a critic, contracts, fallbacks and sub-runs.
func (s *session) wilder(r *rand.Rand) {
	s.task.Schemas, s.task.Depth = fieldLists{}, r.IntN(2)
	hook := func() bool { return r.IntN(6) == 0 }
	s.task.Hooks = Hooks{hook(), hook(), hook(), hook()}
	if r.IntN(4) == 0 {
		s.task.Planner = PlannerJSON
	}
	if r.IntN(4) < 2 {
		s.task.Critic = RuleCritic{}
		s.task.Constraints = []Constraint{{Text: "Do not repeat.", Omits: "look"}, {Text: "Write after you read.", Called: "write", After: "read"}}[:s.task.Seed/2%3]
	}
	s.tools[0].Input = "x=1"
	s.tools[1].Fallback = "read"
	s.tools[2].Timeout, s.tools[2].Retries = 2*time.Second, 2
	s.tools[3].Output, s.tools[3].Version = "total", "2"
	s.tools[3].Rate = Rate{Calls: 2, Per: 10 * time.Second}
	s.tools[4].SubRun, s.tools[4].Breaker = true, ToolBreaker{Failures: 2, Cooldown: 5 * time.Second}
}

func newWild(seed uint64) *wild {
	r := rand.New(rand.NewPCG(seed, 2))
	return &wild{Rand: r, requests: 5 + r.IntN(30), runs: r.IntN(3), wilder: seed%2 == 1}
}

func (w *wild) in(n int) bool { return w.IntN(n) == 0 }

func (w *wild) pick(from ...string) string { return from[w.IntN(len(from))] }

// soon is a wait that is often the same, so that instants coincide.
func (w *wild) soon() time.Duration {
	return []time.Duration{0, time.Second, time.Second, 2 * time.Second, 3 * time.Second, 5 * time.Second, time.Duration(w.Int64N(int64(10 * time.Second)))}[w.IntN(7)]
}

func (w *wild) answer(now time.Duration, e *Effect) (all []Input) {
	in := Input{At: now + w.soon(), Ref: e.Ref}
	switch e.Kind {
	case AskModel:
		all = w.request(in)
	case OpenGate:
		in.Kind, in.Allow, in.Text = GateAnswer, !w.in(4), w.pick("", "because")
		if e.At == GateBeforeCall {
			in.Args = w.pick("", "", `{"x":7}`, "[1]")
		}
		if e.At == GateAfterCall || e.At == GateAfterRun {
			in.Result = w.pick("", "changed", "Error: changed")
		}
		all = w.maybe(in, 10)
	case AskUser:
		in.Kind, in.Allow, in.Text = UserReply, !w.in(4), w.pick("", "Well.")
		all = w.maybe(in, 8)
	case CallTool:
		in.Kind = ToolResult
		in.Code = Code(w.pick("", "", "", "", "RetryableServer", "RateLimited", "Timeout", "NotFound", "ToolBug", "Unauthorized", "NoResults", "Cancelled"))
		in.Text = w.pick("the same", "the same", "", "Error: broken", `{"total":3}`, "日本語日本語")
		if e.Name == "agent" && w.wilder {
			in.TokensIn, in.Cost, in.Used = 9, 9, 2
		}
		all = w.maybe(in, 8)
	case CancelTool:
		in.Kind, in.Code = ToolResult, Code(w.pick("Cancelled", "Cancelled", "", "ToolBug"))
		all = w.maybe(in, 3)
	case Halt:
		if w.runs > 0 {
			w.runs--
			all = append(all, Input{At: in.At, Kind: UserMessage, Text: "more"})
		}
	}
	if w.in(40) {
		all = append(all, Input{At: now + w.soon(), Kind: Cancel, Cause: Cause(w.pick("", "ceiling", "recording-ended"))})
	}
	if w.in(30) {
		all = append(all, w.stray(now+w.soon()))
	}
	return all
}

// maybe drops an answer once in n times, and once in n times sends it twice.
func (w *wild) maybe(in Input, n int) []Input {
	switch w.IntN(n) {
	case 0:
		return nil
	case 1:
		again := in
		again.At += w.soon()
		return []Input{in, again}
	}
	return []Input{in}
}

// stray is an input that answers nothing, or something else.
func (w *wild) stray(at time.Duration) Input {
	kinds := []InputKind{Started, UserMessage, ModelDelta, ModelReply, ModelFailure, GateAnswer, UserReply, ToolResult, Tick}
	letters := []RefKind{RefModel, RefGate, RefQuestion, RefCall}
	in := Input{At: at, Kind: kinds[w.IntN(len(kinds))], Text: "stray"}
	if in.Kind != Started && in.Kind != UserMessage && in.Kind != Tick {
		in.Ref = Ref{Kind: letters[w.IntN(len(letters))], N: 900 + w.IntN(9), Try: 1}
		if in.Ref.Kind == RefGate || in.Ref.Kind == RefQuestion {
			in.Ref.Try = 0
		}
	}
	return in
}

func (w *wild) request(in Input) (all []Input) {
	w.requests--
	if w.requests < 0 {
		return []Input{{At: in.At, Kind: Cancel, Cause: ByCeiling}}
	}
	for range w.IntN(3) {
		all = append(all, Input{At: in.At, Kind: ModelDelta, Ref: in.Ref, Text: "piece"})
		in.At += w.soon() / 2
	}
	if w.in(8) {
		in.Kind, in.Status, in.Text = ModelFailure, []int{0, 400, 429, 503}[w.IntN(4)], "no"
		in.RetryAfter = []time.Duration{0, 0, 2 * time.Second, 90 * time.Second}[w.IntN(4)]
		return append(all, w.maybe(in, 9)...)
	}
	in.Kind = ModelReply
	in.Text = w.pick("", " \n", "I will look.", "I will look.", `{"action":"call_tool","name":"read","args":{"x":1}}`, `{"action":"replan"}`,
		`{"action":"ask_user","question":"Which?"}`, `{"action":"stop","reason":"Enough."}`)
	in.Finish = w.pick(FinishStop, FinishToolCalls, FinishToolCalls, FinishLength, "content_filter")
	in.TokensIn, in.TokensOut, in.Cost = int64(w.IntN(20)), int64(w.IntN(5)), int64(w.IntN(20))
	if w.in(8) {
		return append(all, w.maybe(in, 9)...)
	}
	if w.in(4) {
		in.Calls = slices.Clone(w.before)
		return append(all, w.maybe(in, 9)...)
	}
	for range w.IntN(5) {
		in.Calls = append(in.Calls, AskedCall{
			ID:   w.pick("", "a", "b", "call_3", fmt.Sprint(w.IntN(1000))),
			Name: w.pick("read", "read", "read", "write", "rm", "sum", "agent", "agent", " read", "nobody", ""),
			Args: w.pick(`{"x":1}`, `{"x":1}`, `{ "x": 1.0 }`, `{"x":2}`, "", "{}", "{", "[1]"),
		})
	}
	if len(in.Calls) > 0 {
		w.before = in.Calls
	}
	return append(all, w.maybe(in, 9)...)
}

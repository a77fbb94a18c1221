package loop

import "time"

// A Stop says why a run ended. A detector's stop is the detector's own name.
type Stop string

// The stops of the loop's own. Each has a row in the table below.
const (
	StopDone             Stop = "done"
	StopByModel          Stop = "stopped-by-model"
	StopNeedsUser        Stop = "needs-user"
	StopTurnLimit        Stop = "turn-limit"
	StopAskedLimit       Stop = "asked-limit"
	StopCallLimit        Stop = "call-limit"
	StopTokenLimit       Stop = "token-limit"
	StopCostLimit        Stop = "cost-limit"
	StopTryLimit         Stop = "try-limit"
	StopDepthLimit       Stop = "depth-limit"
	StopSpawnLimit       Stop = "spawn-limit"
	StopRunDeadline      Stop = "run-deadline"
	StopCompactionThrash Stop = "compaction-thrash"
	StopErrorLimit       Stop = "error-limit"
	StopToolContract     Stop = "tool-contract"
	StopUnauthorized     Stop = "unauthorized"
	StopModelFailed      Stop = "model-failed"
	StopModelDeadline    Stop = "model-deadline"
	StopEmptyReply       Stop = "empty-reply"
	StopTruncatedReply   Stop = "truncated-reply"
	StopUnmetGoal        Stop = "unmet-goal"
	StopCancelled        Stop = "cancelled"
	StopCeiling          Stop = "ceiling"
	StopRecordingEnded   Stop = "recording-ended"
	StopByAgent          Stop = "stopped-by-agent"
	StopHung             Stop = "hung"
)

// stops holds the end state and the meaning of each stop. A stop of the loop's own is
// a constant above and a row here. Code that lists, checks or explains stops reads this
// table.
var stops = []struct {
	stop  Stop
	end   EndState
	means string
}{
	{StopDone, Done, "the model answered without asking for a call"},
	{StopByModel, Done, "the planner's model chose to stop"},
	{StopNeedsUser, ClarifyNeeded, "nobody answered the loop's question"},
	{StopTurnLimit, BudgetExceeded, "the run reached limits.turns or limits.steps"},
	{StopAskedLimit, BudgetExceeded, "the model asked for more calls than limits.asked"},
	{StopCallLimit, BudgetExceeded, "the run reached limits.calls"},
	{StopTokenLimit, BudgetExceeded, "the run used more tokens than limits.tokens"},
	{StopCostLimit, BudgetExceeded, "the run cost more than limits.cost_usd"},
	{StopTryLimit, BudgetExceeded, "the run reached limits.tries"},
	{StopDepthLimit, BudgetExceeded, "a sub-run went deeper than limits.depth"},
	{StopSpawnLimit, BudgetExceeded, "the run started more sub-runs than limits.spawns"},
	{StopRunDeadline, BudgetExceeded, "the run reached its deadline, time.run"},
	{StopCompactionThrash, LoopDetected, "compacting the history kept freeing too little"},
	{StopErrorLimit, ErrorLimit, "too many turns in a row failed for errors.max_consecutive"},
	{StopToolContract, UnrecoverableToolContract, "a tool failed, and the policy table ends the run"},
	{StopUnauthorized, UnrecoverableToolContract, "a tool was not authorized, and the policy table ends the run"},
	{StopModelFailed, ModelFailed, "the model failed, and it was not retried or its retries were used up"},
	{StopModelDeadline, ModelFailed, "the model answered too late, and it was not retried or its retries were used up"},
	{StopEmptyReply, ModelFailed, "the model kept replying with nothing, or with announced calls that it left out"},
	{StopTruncatedReply, ModelFailed, "the length limit kept cutting the model's replies off"},
	{StopUnmetGoal, ModelFailed, "the model kept answering although the critic named gaps, such as a broken constraint"},
	{StopCancelled, WasCancelled, "the caller cancelled the run"},
	{StopCeiling, Ceiling, "nothing stopped the run before the harness's own ceiling"},
	{StopRecordingEnded, RecordingEnded, "the recording has no further answer"},
	{StopByAgent, StoppedByAgent, "a foreign agent ended the run itself, before the script did"},
	{StopHung, Hung, "a foreign agent was alive and silent for too long"},
}

// Stops returns the loop's own stops, and those that only recordings and foreign agents
// have. Those of one end state stand next to each other.
func Stops() []Stop {
	out := make([]Stop, len(stops))
	for i := range stops {
		out[i] = stops[i].stop
	}
	return out
}

// Means returns a clause that says why the run ended, such as "the caller cancelled
// the run". It returns "" for a word that is not one of the loop's own stops.
func (s Stop) Means() string {
	for i := range stops {
		if stops[i].stop == s {
			return stops[i].means
		}
	}
	return ""
}

// EndState returns the class of a stop. It takes a word that is not one of the loop's
// own stops as the name of a detector, whose end state is LoopDetected.
func (s Stop) EndState() EndState {
	for i := range stops {
		if stops[i].stop == s {
			return stops[i].end
		}
	}
	return LoopDetected
}

// An EndState is the coarse class of a [Stop].
type EndState string

// The end states.
const (
	Done           EndState = "DONE"
	ClarifyNeeded  EndState = "CLARIFY_NEEDED"
	BudgetExceeded EndState = "BUDGET_EXCEEDED"
	LoopDetected   EndState = "LOOP_DETECTED"
	ErrorLimit     EndState = "ERROR_LIMIT"
	// UnrecoverableToolContract: a tool failed, and the policy table ended the run
	// instead of leaving it to the model.
	UnrecoverableToolContract EndState = "UNRECOVERABLE_TOOL_CONTRACT"
	ModelFailed               EndState = "MODEL_FAILED"
	WasCancelled              EndState = "CANCELLED"
	Ceiling                   EndState = "CEILING"
	RecordingEnded            EndState = "RECORDING_ENDED"
	// StoppedByAgent and Hung are of foreign agents: no machine ends so.
	StoppedByAgent EndState = "STOPPED"
	Hung           EndState = "HUNG"
)

// An Outcome says how a run ended and what it used. All counts are of this run
// only, whatever the scope of the limits.
type Outcome struct {
	Stop       Stop
	End        EndState
	Reason     string // why the run ended, as a sentence
	Message    string // for the user, in addition to the answer; "" after done
	Answer     string // the model's last text
	Incomplete bool   // End is not Done, so Answer is not a final answer

	Turns      int           // replies that counted as turns: without unusable and last replies
	ModelCalls int           // tries of model requests of every purpose
	Asked      int           // calls that the model asked for: Calls + Vetoed + Denied + Invalid
	Calls      int           // calls executed
	SubAsked   int           // calls that the models of sub-runs asked for, at any depth
	SubCalls   int           // calls that sub-runs executed, at any depth
	Spawns     int           // calls that started sub-runs, at any depth
	Tries      int           // tries of calls that were started
	Repairs    int           // texts that were repaired for their schema, with success or not
	RepairsOK  int           // those of Repairs that match the schema afterwards
	Errors     int           // executed calls that ended with an error code or a text that begins with errors.text_prefix
	Vetoed     int           // calls that were vetoed, refused or not started
	Denied     int           // calls whose permission was denied
	Nudges     int           // nudges by detectors; the model reads them if another request follows
	Invalid    int           // calls of unknown tools or with invalid arguments
	TokensIn   int64         // tokens read, sub-runs included
	TokensOut  int64         // tokens written, sub-runs included
	Cost       int64         // in nano-dollars, sub-runs included
	Elapsed    time.Duration // from the user's message to the halt
}

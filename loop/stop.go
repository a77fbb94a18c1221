package loop

import "time"

// A Stop says why a run ended. A detector's stop is the detector's own name.
type Stop string

// The stops that are no detector's.
const (
	StopDone         Stop = "done"             // the model answered without calls
	StopByModel      Stop = "stopped-by-model" // a planner's action stop
	StopNeedsUser    Stop = "needs-user"       // a question that nobody answered
	StopTurnLimit    Stop = "turn-limit"       // limits.turns
	StopCallLimit    Stop = "call-limit"       // limits.calls
	StopTokenLimit   Stop = "token-limit"      // limits.tokens
	StopCostLimit    Stop = "cost-limit"       // limits.cost_usd
	StopTryLimit     Stop = "try-limit"        // limits.tries
	StopDepthLimit   Stop = "depth-limit"      // limits.depth
	StopSpawnLimit   Stop = "spawn-limit"      // limits.spawns
	StopRunDeadline  Stop = "run-deadline"     // time.run
	StopErrorLimit   Stop = "error-limit"      // errors.max_consecutive
	StopToolContract Stop = "tool-contract"    // policy.on_failure: table, and the table says stop
	StopUnauthorized Stop = "unauthorized"     // the same for missing rights
	// StopCompactionThrash: history.compactions_without_gain. It counts as a
	// detector's.
	StopCompactionThrash Stop = "compaction-thrash"
	StopModelFailed      Stop = "model-failed"    // a failure that may not be retried, or retries spent
	StopModelDeadline    Stop = "model-deadline"  // time.model, first_token or chunk, retries spent
	StopEmptyReply       Stop = "empty-reply"     // model_retry.empty_replies
	StopTruncatedReply   Stop = "truncated-reply" // cut off by the length limit again and again
	StopCancelled        Stop = "cancelled"       // the caller's cancel
	StopCeiling          Stop = "ceiling"         // the harness's own bound: nothing stopped the run
	StopRecordingEnded   Stop = "recording-ended" // the recording has no further answer
)

// An EndState is the coarse class of a [Stop].
type EndState string

// The end states.
const (
	Done           EndState = "DONE"
	ClarifyNeeded  EndState = "CLARIFY_NEEDED"
	BudgetExceeded EndState = "BUDGET_EXCEEDED"
	LoopDetected   EndState = "LOOP_DETECTED"
	ErrorLimit     EndState = "ERROR_LIMIT"
	// UnrecoverableToolContract: a tool failed in a way that the policy table
	// does not let the model see.
	UnrecoverableToolContract EndState = "UNRECOVERABLE_TOOL_CONTRACT"
	ModelFailed               EndState = "MODEL_FAILED"
	WasCancelled              EndState = "CANCELLED"
	Ceiling                   EndState = "CEILING"
	RecordingEnded            EndState = "RECORDING_ENDED"
)

// EndState gives the class of a stop (decision D21). A word that is none of the
// stops above is taken as the name of a detector.
func (s Stop) EndState() EndState {
	switch s {
	case StopDone, StopByModel:
		return Done
	case StopNeedsUser:
		return ClarifyNeeded
	case StopTurnLimit, StopCallLimit, StopTokenLimit, StopCostLimit, StopTryLimit, StopRunDeadline, StopDepthLimit, StopSpawnLimit:
		return BudgetExceeded
	case StopErrorLimit:
		return ErrorLimit
	case StopToolContract, StopUnauthorized:
		return UnrecoverableToolContract
	case StopModelFailed, StopModelDeadline, StopEmptyReply, StopTruncatedReply:
		return ModelFailed
	case StopCancelled:
		return WasCancelled
	case StopCeiling:
		return Ceiling
	case StopRecordingEnded:
		return RecordingEnded
	}
	return LoopDetected
}

// An Outcome says how a run ended and what it used. Counts are of this run
// alone, whatever the scope of the limits.
type Outcome struct {
	Stop       Stop
	End        EndState
	Reason     string // why, as a sentence
	Message    string // what the user is told beside the answer, "" after done
	Answer     string // the model's last text
	Incomplete bool   // the run was stopped: Answer is what there was

	Turns      int           // replies that were accepted
	ModelCalls int           // requests to the model: also tries and replies asked again
	Asked      int           // calls that the model asked for: Calls + Vetoed + Denied + Invalid
	Calls      int           // calls executed
	SubCalls   int           // calls that sub-runs made, at any depth
	Tries      int           // tries started
	Repairs    int           // texts that were mended to keep their schema, or that mending did not save
	RepairsOK  int           // those that keep it now
	Errors     int           // executed calls that ended with an error code, or a text that begins with errors.text_prefix
	Vetoed     int           // calls vetoed, refused by a limit, or not started when the run stopped
	Denied     int           // calls denied by a gate
	Nudges     int           // times that a detector nudged; the model reads it if another request follows
	Invalid    int           // calls of unknown tools or with arguments that are no JSON object
	TokensIn   int64         // read, by sub-runs too
	TokensOut  int64         // written, by sub-runs too
	Cost       int64         // nano-dollars, of sub-runs too
	Elapsed    time.Duration // from the user's message to the halt
}

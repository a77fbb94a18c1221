package loop

import "context"

// LiveOptions are the people and the code around a live world. Each is optional.
// All but FollowUp run in a goroutine of their own, in which a panic counts as a
// no. When the run ends without waiting for them, their ctx is cancelled with
// [ErrDeadline] or [ErrCancelled] as [context.Cause].
type LiveOptions struct {
	// Approve reports whether a call of a tool with a [Permission] may run. nil
	// allows all.
	Approve Approver
	// Hook is called at the points that [Task.Hooks] names. nil changes nothing.
	Hook func(ctx context.Context, at HookPoint) HookAnswer
	// Ask puts a question to the user. It returns whether to go on, and the
	// user's words for the model. nil does not go on.
	Ask func(ctx context.Context, question string) (text string, goOn bool)
	// FollowUp gets the outcome of each run and returns the user's next message;
	// ok is false if there is none, which ends the session. Next calls it and
	// waits for it: it should return when ctx is done, and is not called after
	// that. nil ends the session after one run.
	FollowUp func(ctx context.Context, last Outcome) (text string, ok bool)
}

// An Approver reports whether a call may run, and if not, why.
type Approver func(ctx context.Context, tool, args string) (allow bool, reason string)

// A HookPoint is a point at which the loop asks a hook. Which fields are set
// depends on At: before a run Text is the system prompt; before a call there are
// Call, Tool and Args; after a call Call, Tool, Code, and Text is the result;
// after a run Text is the answer.
type HookPoint struct {
	At   GateKind
	Call int // the call's number: 7 for c7
	Tool string
	Args string
	Code Code
	Text string
}

// A HookAnswer is the decision of a hook. The zero HookAnswer changes nothing,
// and neither does a text that is "". [Hooks] says what each point may change,
// and what a denial does there.
type HookAnswer struct {
	Deny   bool
	End    bool   // before a call: deny it, and end the run as cancelled
	Reason string // for a denial
	Args   string
	Result string
	System string
}

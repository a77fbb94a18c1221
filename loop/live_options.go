package loop

import "context"

// LiveOptions are the people and the code round a live world; it can do without
// any of them. All but FollowUp run in a goroutine of their own, where a panic
// counts as a no. Their ctx is cancelled when the run ends without waiting for
// them, with [ErrDeadline] or [ErrCancelled] as [context.Cause].
type LiveOptions struct {
	// Approve says whether a call of a tool with a [Permission] may run. nil
	// allows all.
	Approve Approver
	// Hook is asked wherever [Task.Hooks] says so. nil changes nothing.
	Hook func(ctx context.Context, at HookPoint) HookAnswer
	// Ask puts a question to the user: whether to go on, and with what words to
	// the model. nil: nobody is there to say yes.
	Ask func(ctx context.Context, question string) (text string, goOn bool)
	// FollowUp is called with the outcome of each run, and gives the user's next
	// message; ok is false when there is none and the session is over. It is
	// called by Next, which waits for it: it should return when ctx is done,
	// and is not called after that. nil: a session is one run.
	FollowUp func(ctx context.Context, last Outcome) (text string, ok bool)
}

// An Approver says whether a call may run, and if not, why.
type Approver func(ctx context.Context, tool, args string) (allow bool, reason string)

// A HookPoint is where the loop asks a hook, and what it shows: before a run
// the system prompt as Text; before a call Call, Tool and Args; after a call
// Call, Tool, Code and the result as Text; after a run the answer as Text.
type HookPoint struct {
	At   GateKind
	Call int // the call's number: 7 for c7
	Tool string
	Args string
	Code Code
	Text string
}

// A HookAnswer is what a hook wants. The zero HookAnswer lets the loop go on
// with everything as it was. What it may change, and what a denial does, stands
// at [Hooks]; "" changes nothing.
type HookAnswer struct {
	Deny   bool
	Reason string // for a denial
	Args   string
	Result string
	System string
}

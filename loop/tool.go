package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
)

// A Tool is something that the model may call.
type Tool interface {
	// Spec describes the tool. [NewLive] calls it once.
	Spec() ToolSpec

	// Call runs the tool. The loop calls it in a new goroutine, at the same time
	// as other calls if parallel.max allows that. args is a JSON object; the tool
	// must check its fields.
	//
	// The loop cancels ctx when the try times out, at the run deadline, and when
	// the caller cancels, with [ErrTimeout], [ErrDeadline] or [ErrCancelled] as
	// [context.Cause]. The Deadline of ctx is the earlier of the first two, but
	// only the loop ends ctx. If Call has not returned time.grace after the
	// cancel, the loop abandons it: the run and the goroutine go on, and the loop
	// ignores the result.
	//
	// The text is the result. After an error the model reads the error's text
	// instead. A [*ToolError] says how the call failed. The error of the
	// cancelled ctx counts as [Cancelled], and a [context.DeadlineExceeded] from
	// elsewhere as [Timeout]. Of the errors of package net, one of dialling counts
	// as [NotSent] and any other as [ConnectionLost], as does an
	// [io.ErrUnexpectedEOF]. Any other error or panic counts as [ToolBug].
	//
	// A tool that runs another loop, for example by [RunLive] with this ctx, must
	// pass the outcome to [RollUp].
	Call(ctx context.Context, args string) (string, error)
}

// A Code says how a call ended. There are thirteen codes for results and errors, and
// Cancelled. [ConnectionLost] and [NotSent] are kinds of RetryableServer: wherever
// that one is retried, so are they, as far as the tool's [Idempotence] allows.
type Code string

// The codes.
const (
	None                 Code = ""                     // success; "None" in results files
	Timeout              Code = "Timeout"              // no answer in time; HTTP 408 and 504
	RateLimited          Code = "RateLimited"          // HTTP 429
	RetryableServer      Code = "RetryableServer"      // other HTTP 5xx, and any failure that a tool knows to be transient
	InvalidInput         Code = "InvalidInput"         // HTTP 400, 422 and other 4xx; invalid arguments
	NotFound             Code = "NotFound"             // HTTP 404 and 410; an unknown tool
	Unauthorized         Code = "Unauthorized"         // HTTP 401
	Forbidden            Code = "Forbidden"            // HTTP 403; a denied permission
	ToolBug              Code = "ToolBug"              // the tool crashed
	OutputSchemaMismatch Code = "OutputSchemaMismatch" // the result does not match its schema
	NoResults            Code = "NoResults"            // nothing found, which is not an error
	ConnectionLost       Code = "ConnectionLost"       // the connection broke once the request was sent, so the call may have taken effect
	NotSent              Code = "NotSent"              // the request was never sent, so the call took no effect: connection refused, unknown host
	Cancelled            Code = "Cancelled"            // the try was cancelled
)

// Codes returns every code, in the order above.
func Codes() []Code {
	return []Code{None, Timeout, RateLimited, RetryableServer, InvalidInput, NotFound, Unauthorized,
		Forbidden, ToolBug, OutputSchemaMismatch, NoResults, ConnectionLost, NotSent, Cancelled}
}

// Failed reports whether the code is an error. NoResults is not.
func (c Code) Failed() bool { return c != None && c != NoResults }

// A ToolError is the failure of a call. A code that is not one of [Codes], and
// [None], counts as [ToolBug].
type ToolError struct {
	Code Code
	Text string // for the model
}

func (e *ToolError) Error() string {
	return strings.TrimSuffix(string(e.Code)+": "+e.Text, ": ")
}

// FuncTool returns a tool that calls f. It decodes the arguments into an A with
// encoding/json ([json.RawMessage] keeps them as they are). If that fails the
// call ends as [InvalidInput], and f is not called.
func FuncTool[A any](spec ToolSpec, f func(ctx context.Context, args A) (string, error)) Tool {
	return &funcTool[A]{spec, f}
}

type funcTool[A any] struct {
	spec ToolSpec
	f    func(context.Context, A) (string, error)
}

func (t *funcTool[A]) Spec() ToolSpec { return t.spec }

func (t *funcTool[A]) Call(ctx context.Context, text string) (string, error) {
	var args A
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
			err = fmt.Errorf("%s cannot be a JSON %s", cmp.Or(wrong.Field, "they"), wrong.Value)
		}
		return "", &ToolError{InvalidInput, "the arguments do not fit: " + err.Error()}
	}
	return t.f(ctx, args)
}

// RollUp counts the tokens, cost, calls and sub-runs of a sub-run against the limits of the
// run that called the tool. ctx must be the one that [Tool.Call] got; with any
// other RollUp does nothing. A tool with several sub-runs calls it for each.
//
// The Depth of the sub-run's task should be one more than its parent's, and its
// time.grace shorter. A parent that cancels the call waits only for its own
// time.grace, and abandons a sub-run that takes as long to end.
func RollUp(ctx context.Context, out Outcome) {
	if r, ok := ctx.Value(rollUpKey{}).(*rollUp); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tokensIn = used(r.tokensIn + used(out.TokensIn))
		r.tokensOut = used(r.tokensOut + used(out.TokensOut))
		r.cost = used(r.cost + used(out.Cost))
		r.asked = used(r.asked + used(out.Asked) + used(out.SubAsked))
		r.calls = used(r.calls + used(out.Calls) + used(out.SubCalls))
		r.spawns = used(r.spawns + used(out.Spawns))
	}
}

type rollUpKey struct{}

// A rollUp holds the sums of RollUp for one try.
type rollUp struct {
	mu                        sync.Mutex
	tokensIn, tokensOut, cost int64
	asked, calls, spawns      int
}

// into copies the sums into the try's result.
func (r *rollUp) into(in *Input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in.TokensIn, in.TokensOut, in.Cost, in.Asked, in.Used, in.Spawned = r.tokensIn, r.tokensOut, r.cost, r.asked, r.calls, r.spawns
}

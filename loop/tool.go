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

	// Call runs the tool. It runs in a goroutine of its own, beside other calls
	// if parallel.max allows that. args is a JSON object; the tool itself checks
	// what is in it.
	//
	// The loop cancels ctx when the try times out, at the run deadline and when
	// the caller gives up, with [ErrTimeout], [ErrDeadline] or [ErrCancelled] as
	// [context.Cause]. The Deadline of ctx is when the first of these two will
	// come; ctx does not end by itself then. A tool that has not returned
	// time.grace after the cancel is abandoned: the run goes on, the goroutine
	// too, and the loop ignores what it returns.
	//
	// The text is the result. If there is an error the model reads its text
	// instead. A [*ToolError] says how the call failed. The error of the
	// cancelled ctx counts as [Cancelled], [context.DeadlineExceeded] from
	// elsewhere as [Timeout], and any other error or panic as [ToolBug].
	//
	// A tool that runs another loop, as [RunLive] does with this ctx, passes its
	// outcome to [RollUp].
	Call(ctx context.Context, args string) (string, error)
}

// A Code says how a call ended: the taxonomy of eleven codes, and Cancelled.
type Code string

// The codes.
const (
	None                 Code = ""                     // success; "None" in results files
	Timeout              Code = "Timeout"              // no answer in time; HTTP 408, 504
	RateLimited          Code = "RateLimited"          // HTTP 429
	RetryableServer      Code = "RetryableServer"      // other HTTP 5xx, and what a tool knows to be transient
	InvalidInput         Code = "InvalidInput"         // HTTP 400, 422; arguments that are no JSON object
	NotFound             Code = "NotFound"             // HTTP 404; a tool that does not exist
	Unauthorized         Code = "Unauthorized"         // HTTP 401
	Forbidden            Code = "Forbidden"            // HTTP 403; permission denied
	ToolBug              Code = "ToolBug"              // the tool crashed
	OutputSchemaMismatch Code = "OutputSchemaMismatch" // the answer breaks its schema
	NoResults            Code = "NoResults"            // nothing found: an answer, not an error
	Cancelled            Code = "Cancelled"            // ended because it was told to
)

// Codes lists every code in the taxonomy's order.
func Codes() []Code {
	return []Code{None, Timeout, RateLimited, RetryableServer, InvalidInput, NotFound, Unauthorized,
		Forbidden, ToolBug, OutputSchemaMismatch, NoResults, Cancelled}
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

// FuncTool makes a tool of a function. It decodes the arguments into an A with
// encoding/json ([json.RawMessage] takes them as they are). If that fails the
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

// RollUp counts what a sub-run used (tokens, cost and calls) against the limits
// of the run that called the tool. ctx is the one that [Tool.Call] got; with any
// other RollUp does nothing. A tool with several sub-runs calls it for each.
//
// The sub-run's task should have a Depth one higher than its parent's, and its
// config a shorter time.grace: a parent that gives the call up waits for its
// own time.grace, and abandons a sub-run that takes as long to end.
func RollUp(ctx context.Context, out Outcome) {
	if r, ok := ctx.Value(rollUpKey{}).(*rollUp); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.tokensIn += out.TokensIn
		r.tokensOut += out.TokensOut
		r.cost += out.Cost
		r.calls += out.Calls + out.SubCalls
	}
}

type rollUpKey struct{}

// A rollUp sums up what the sub-runs of one try used.
type rollUp struct {
	mu                        sync.Mutex
	tokensIn, tokensOut, cost int64
	calls                     int
}

func (r *rollUp) into(in *Input) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in.TokensIn, in.TokensOut, in.Cost, in.Used = r.tokensIn, r.tokensOut, r.cost, r.calls
}

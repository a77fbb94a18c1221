package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A Tool is something that the model may call.
type Tool interface {
	// Spec describes the tool. It is asked once, by [NewLive].
	Spec() ToolSpec

	// Call runs the tool. It runs in a goroutine of its own, beside other calls
	// if parallel.max allows that. args is a JSON object; that it is more is for
	// the tool to check.
	//
	// ctx is cancelled when the try times out, at the run deadline and when the
	// caller gives up, with [ErrTimeout], [ErrDeadline] or [ErrCancelled] as
	// [context.Cause]. Its Deadline is the instant at which the first two would
	// come; it is announced only, the loop itself keeps the time. A tool that
	// has not returned time.grace after the cancel is abandoned: the run goes
	// on, the goroutine too, and what it returns is ignored.
	//
	// The text is the result. With an error, whose text the model reads, there
	// is none. A [*ToolError] says how the call failed. Of other errors, that of
	// the cancelled ctx is [Cancelled], [context.DeadlineExceeded] from anywhere
	// else is [Timeout], and the rest, as is a panic, [ToolBug].
	Call(ctx context.Context, args string) (string, error)
}

// A ToolError is a call that ended with a code: one of [Codes] but [None], or
// else it counts as [ToolBug].
type ToolError struct {
	Code Code
	Text string // for the model
}

func (e *ToolError) Error() string {
	return strings.TrimSuffix(string(e.Code)+": "+e.Text, ": ")
}

// FuncTool makes a tool of a function. The arguments are decoded into an A as
// encoding/json does it ([json.RawMessage] takes them as they are); where that
// fails, the call ends as [InvalidInput] and f is not called.
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

package loop

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A Model answers requests.
type Model interface {
	// Reply answers one request. It runs in a goroutine of its own. When the
	// loop gives the request up it cancels ctx, with one of [ErrTimeout],
	// [ErrDeadline] and [ErrCancelled] as [context.Cause], and drops the answer.
	// A retry does not wait for a Reply that ignores this.
	//
	// A model that streams passes each piece of text to delta as it comes, ""
	// for a piece without text. It shows the loop that the model is alive; the
	// reply itself is what Reply returns. delta never blocks, and any goroutine
	// may call it, also when it is too late. Pieces that come faster than the
	// loop takes them are joined; of those, text beyond a MiB is dropped.
	//
	// A failure with an HTTP status is a [*ModelError]. Any other error, and a
	// panic, is a lost connection. Reply itself must not retry.
	Reply(ctx context.Context, req ModelRequest, delta func(text string)) (Reply, error)
}

// A ModelRequest is what a model is asked with. The loop does not change it, and
// does not see what the model changes in it. Requests share memory: a later one
// may show what the model changed in an earlier one, and a model that changes a
// request must have done so when Reply returns.
type ModelRequest struct {
	Ref     Ref // m3#2: the request's number and its try
	For     Purpose
	System  string     // the system prompt, "" = none
	History []Message  // for [ForSummary]: what is to be summed up, and a last message that says so
	Tools   []ToolSpec // in the order they were given; none for [ForFinal], [ForSummary] and with [PlannerJSON]
}

// A Reply is a whole reply of a model.
type Reply struct {
	Text      string
	Calls     []AskedCall // in the model's order
	Finish    string      // why the model stopped: [FinishStop], …
	TokensIn  int64       // tokens read
	TokensOut int64       // tokens written
	Cost      int64       // in nano-dollars
}

// A ModelError is a failed request that a server answered.
type ModelError struct {
	Status     int           // the HTTP status, 0 = none
	RetryAfter time.Duration // the wait that the server asked for, 0 = it named none
	Text       string        // what it said
}

func (e *ModelError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("status %d: %s", e.Status, e.Text), ": ")
}

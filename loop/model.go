package loop

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A Model answers model requests.
type Model interface {
	// Reply answers one request. The loop calls it in a new goroutine. When the
	// loop gives up the request it cancels ctx, with [ErrTimeout], [ErrDeadline]
	// or [ErrCancelled] as [context.Cause], and drops the answer. A retry does
	// not wait for a Reply that ignores this.
	//
	// A model that streams passes each piece of text to delta as it comes, ""
	// for a piece without text. This shows the loop that the model is alive; the
	// reply itself is the one that Reply returns. delta never blocks. Any
	// goroutine may call it, even after Reply has returned. The loop joins pieces
	// that come faster than it takes them, and drops joined text beyond a MiB.
	//
	// Reply returns a [*ModelError] for a failure with an HTTP status. Any other
	// error, and a panic, counts as a lost connection. Reply must not retry, since
	// the loop does.
	Reply(ctx context.Context, req ModelRequest, delta func(text string)) (Reply, error)
}

// A ModelRequest is one request to a model. The loop never changes it, and never
// reads a change that the model makes to it. But requests share memory: a later
// request may show such a change, and the model must not change a request after
// Reply has returned.
type ModelRequest struct {
	Ref     Ref // m3#2: the request's number and its try
	For     Purpose
	System  string     // the system prompt, "" = none
	History []Message  // for [ForSummary]: those up to the last one to sum up, then the instruction
	Tools   []ToolSpec // in the order in which they were given; none for [ForFinal], [ForSummary] and with [PlannerJSON]
	// Choice says what the model must call: "" = it chooses, [UseRequired] = some tool,
	// else the tool of that name.
	Choice string
	// JSON asks for JSON mode: the reply must be one JSON object. It is set for each
	// reply of a [PlannerJSON], whose System names the tools with their schemas.
	JSON bool
}

// A Reply is a whole reply of a model. The loop takes a negative number of tokens
// or cost for 0, and one above 2^50 for 2^50.
type Reply struct {
	Text      string
	Calls     []AskedCall // in the model's order
	Finish    string      // why the model stopped: [FinishStop], …
	TokensIn  int64       // tokens read
	TokensOut int64       // tokens written
	Cost      int64       // in nano-dollars
}

// A ModelError is a failed request to which the server gave an answer.
type ModelError struct {
	Status     int           // the HTTP status, 0 = none
	RetryAfter time.Duration // the wait that the server asked for, 0 = none
	Text       string        // the server's answer
}

func (e *ModelError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("status %d: %s", e.Status, e.Text), ": ")
}

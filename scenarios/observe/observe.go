// Package observe judges foreign agents: agents other than the reference loop. What an
// agent was seen to do, by the requests that it sent to a scripted model and the
// scripted tools that it called, becomes an [Observation]. From that follow a trace in
// the language of package loop and one verdict.
//
//	o := recorder.Observation(end)
//	result, trace := o.Judge()
//
// # The verdict
//
// A runaway:
//
//   - passes if the agent itself stopped, after the model had answered at least twice
//     and before the cap;
//   - fails at the cap, if the agent still asked when its time was up, if it was still
//     there when its virtual time was up, or if it ended well on an empty or cut reply, or on the script's last words although it had
//     neither nudged nor refused anything;
//   - is inconclusive if the agent ended earlier, which a crash does too.
//
// A healthy run passes if the agent got the script's answer and ended well. It fails if
// the agent ended before or badly, or at the cap.
//
// If the user cancels, the run must end within a minute and ask nothing more. Of a
// conversation, every run that is not cancelled is judged so; a runaway by its last one.
//
// A trial of either label is inconclusive if the agent was silent for too long or sent
// no request, if calls did not run and nobody refused them, if the agent lacks tools of
// the script, if no step of the script fits a request, and if a healthy run ended
// without a failure that the script plans.
package observe

import (
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// An Observation is what an agent was seen to do in one trial.
type Observation struct {
	Scenario *scenarios.Scenario
	Variant  string // the name of the agent in results
	Seed     uint64
	// OwnTools is set if the agent was asked to call tools of its own, in place of those
	// of the script.
	OwnTools bool
	// Requests are those of the agent's loop, in the order of their arrival.
	Requests []Request
	// Executions are those of the script's tools, in the order in which they began.
	Executions []Execution
	// Runs are those of a conversation, each of which begins with a message of the user;
	// nil = the agent hears the task and nothing more.
	Runs []Run
	// Cancelled is when the user cancelled the run that was under way; zero = never.
	Cancelled Moment
	Asides    int      // requests beside the loop, such as for a title
	Astray    []string // the paths of requests that no API has, each once
	End       End
}

// A Moment is when something was seen. Moments of equal time are told apart by Seq,
// which counts from 1; the zero Moment is never.
type Moment struct {
	Seq int
	At  time.Duration // since the trial began
}

// A Run is the agent's work on one message of a conversation.
type Run struct {
	Text   string // the message
	Began  Moment
	Ended  Moment // zero = it is still under way
	Failed bool   // it ended with an error
}

// A Request is one request of the agent to the model.
type Request struct {
	N        int    // its number in the conversation: see [fakes.Request]
	Step     string // that answers it, such as model[0]; "" = none
	Asked    Moment // when it came
	Answered Moment // when its answer had been sent, or the agent had left; zero = it is still open
	Gone     bool   // the agent left before the answer was complete
	Status   int    // of the answer; 0 = none was sent
	Fault    string // the failure that the script planned for it, "" = none
	Refused  string // why no step of the script answers it, "" = one does
	Tools    int    // how many tools it declares
	// Undeclared are the tools that the reply calls and the request does not declare.
	Undeclared []string
	Problems   []string       // for which a real API might refuse it
	History    []loop.Message // without system messages
	// Text, Calls, Finish and the tokens are those of the reply. If it Failed, Text is
	// the reason.
	Text                string
	Calls               []loop.Call
	Finish              string
	Failed              bool
	TokensIn, TokensOut int64
}

// answered reports whether the agent got a whole reply.
func (r *Request) answered() bool {
	return r.Answered.Seq > 0 && !r.Failed && !r.Gone && r.Refused == ""
}

// An Execution is one execution of a scripted tool.
type Execution struct {
	N, Try   int // of the call
	Name     string
	Args     string
	Began    Moment
	Ended    Moment // zero = it is still open
	Answered bool   // the agent got the answer
	Dry      string // why the script has no answer, "" = it has one
	Code     loop.Code
	Text     string
}

// A How says how a trial ended.
type How uint8

// The ways to end.
const (
	Exited      How = iota // the agent ended by itself
	AtCap                  // it sent more requests than the cap
	AtCalls                // the model asked for more calls than the cap
	AtTimeout              // its time was up
	AtCeiling              // its virtual time was up: whoever waits by then waits for ever
	Idle                   // it was alive and silent for too long
	Interrupted            // the user ended the probe
	NotStarted             // it could not be started
)

// An End is how the agent's part of a trial ended.
type End struct {
	How How
	At  time.Duration // since the trial began
	// Code is the exit code of the process, or 1 for an error of a Go agent; Signal is
	// the signal that ended it, "" = none.
	Code   int
	Signal string
	// Says are the last lines that the agent wrote to its standard error, or to its
	// standard output if there are none.
	Says []string
	// Limit is the cap, the time or the time of silence that was reached.
	Limit time.Duration
	Cap   int
	// Reason says why the agent could not be started.
	Reason string
	// Returned is set for an agent in this process, a function that returned or was given
	// up: Says is its error, and it has no exit code.
	Returned bool
	// Panic is what the agent panicked with, "" = it did not. It is for agents that run
	// in this process; the panic of another process is an exit code.
	Panic string
}

// well reports whether the agent ended as if all was well.
func (e *End) well() bool { return e.How == Exited && e.Code == 0 && e.Signal == "" }

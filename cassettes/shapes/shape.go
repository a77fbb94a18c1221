package shapes

import "time"

// A Corpus is a named set of recorded runs, and where it comes from.
type Corpus struct {
	Name string
	// Source, Commit and Licence say where the runs were published, in which version and
	// under which licence. "" = unknown.
	Source, Commit, Licence string
}

// An Outcome says whether the agent reached its goal.
type Outcome string

// The outcomes.
const (
	Unknown Outcome = "unknown"
	Success Outcome = "success"
	Failure Outcome = "failure"
)

// A Run is the shape of one recorded run.
type Run struct {
	Corpus  *Corpus // of the header above the run; nil = none
	Line    int     // on which it stands, from 1; [Run.Append] does not write it
	Name    string  // a number, or its name in the source
	Outcome Outcome
	Task    int // runs with the same number were asked the same thing; 0 = unknown
	// Branch is how many replies at its beginning belong to another run, off which it
	// branches. They count with that run. 0 = it does not branch.
	Branch int
	// Named says that the tools have their own names. Otherwise they are letters, and
	// equal letters of two runs mean nothing.
	Named bool
	Steps []Step
}

// A Step is a user message or a reply.
type Step struct {
	User bool
	// Empty says that a reply has neither text nor calls.
	Empty bool
	Calls []Call // of a reply, made together
	// At is the time since the session began, if Timed is set.
	At    time.Duration
	Timed bool
	// TokensIn and TokensOut are what the reply read and wrote; 0 = unknown.
	TokensIn, TokensOut int64
}

// A Call is one call of a reply. Within a run, calls of one tool with equal Args had
// arguments that are equal as canonical JSON, and equal results had the same text.
type Call struct {
	Tool string // a letter (a … z, aa …) or a name; "" = the call had no name
	Args int    // from 1
	// Broken says that the arguments are not a JSON object. They are equal to others
	// only if their texts are.
	Broken bool
	// Result is the number of the result's text; 0 is the empty text. It means nothing
	// if the call was not answered.
	Result int
	Mark   Mark
}

// A Mark says what is known of a call's result.
type Mark uint8

// The marks.
const (
	Answered   Mark = iota // the source does not mark the result as an error
	Failed                 // ! the source marks it as an error
	ErrorText              // !e it is not marked, and its text begins with Error:
	Unanswered             // ? there is no result
)

// Timed reports whether every step of the run has a time.
func (r *Run) Timed() bool {
	for i := range r.Steps {
		if !r.Steps[i].Timed {
			return false
		}
	}
	return len(r.Steps) > 0
}

func (r *Run) replies() (n int) {
	for i := range r.Steps {
		if !r.Steps[i].User {
			n++
		}
	}
	return n
}

// Letters returns the name of tool n of a run, from 0: a … z, aa, ab and so on.
func Letters(n int) string {
	s := ""
	for n++; n > 0; n = (n - 1) / 26 {
		s = string(rune('a'+(n-1)%26)) + s
	}
	return s
}

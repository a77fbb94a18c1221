package scenarios

import (
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
)

// A Scenario is one script, its label and what must be true of the trace.
// [Load] makes it from a file. It is read only: trials share it.
type Scenario struct {
	Suite       string // the name of its folder
	Name        string // unique in its suite
	Description string // one sentence: the failure it stands for
	Label       Label
	Source      string      // the public report or document it comes from, "" = none
	Variant     Variant     // the safety config it is meant for
	Config      loop.Config // that of Variant, with the scenario's own changes
	Script      fakes.Script
	Cassette    string         // the path of the recording that takes the place of the script's model; "" = the model is scripted
	Expect      Expect         // what must be true of the whole session
	Runs        []Expect       // what must be true of each run, one entry a run, in the place of Expect; nil = Expect says it
	Golden      *goldens.Terms // how its trace may differ from its golden, goldens.Off = it has none; nil = as the golden says
	File        string         // as it was given; of an embedded one, its path in the repository
	Line        int            // of its name

	embedded bool
	content  string // the text of its file, "" = it comes from none
}

// ID is the scenario's full name, suite/name.
func (s *Scenario) ID() string { return s.Suite + "/" + s.Name }

// A Label says what a scenario's world deserves.
type Label string

// The labels. The zero value stands in results of what has no label: it counts
// in no rate.
const (
	Runaway Label = "runaway" // should be stopped
	Healthy Label = "healthy" // should finish
)

// Expect is what must be true of a trial under the scenario's own variant, or of
// one of its runs, beside a clean history. Where it names neither an end state
// nor a stop, or does not for one of the runs, the label is judged too.
type Expect struct {
	EndState loop.EndState // "" = any
	Stop     loop.Stop     // "" = any
	// Bounds on the counts of a [Result]; nil = free.
	Turns, ModelCalls, Calls, Tries, Errors, Vetoed, Nudges, Denied, Invalid *Range
	// Time bounds the virtual time of the session, or of the run from its message
	// to its halt; nil = free.
	Time *TimeRange
	// Must and MustNot name events, see [Events].
	Must, MustNot []string
}

// A Range is a count from Min to Max, both included.
type Range struct{ Min, Max int }

// A TimeRange is a duration from Min to Max, both included.
type TimeRange struct{ Min, Max time.Duration }

package scenarios

import (
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
)

// A Scenario is one script, its label and what must be true of the trace. [Load] makes
// it from a file. Do not change it: trials share it.
type Scenario struct {
	Suite       string // the name of its folder
	Name        string // unique in its suite
	Description string // one sentence: the failure that it shows
	Label       Label
	Source      string         // the public report or document it comes from, "" = none
	HeldBack    bool           // no setting is chosen by looking at it; it checks choices made on others
	Variant     Variant        // the safety config it is meant for
	Config      loop.Config    // the config of Variant with the scenario's own changes
	Script      fakes.Script   // its Name is the scenario's ID, so that its draws are its own
	Cassette    string         // the path of the cassette that replaces the script's model; "" = the model is scripted
	Expect      Expect         // what must be true of the whole session
	Runs        []Expect       // what must be true of each run, one entry a run; nil = Expect applies instead
	Golden      *goldens.Terms // how its trace may differ from its golden; goldens.Off = it has no golden, nil = as the golden says
	File        string         // the path as it was given; for an embedded scenario, its path in the repository
	Line        int            // the line of its name

	embedded bool
	content  string // the text of its file, "" = it does not come from a file
}

// ID is the scenario's full name, suite/name.
func (s *Scenario) ID() string { return s.Suite + "/" + s.Name }

// A Label says what a scenario's world deserves.
type Label string

// The labels. A result without a label has the zero value and is left out of every
// rate.
const (
	Runaway Label = "runaway" // should be stopped
	Healthy Label = "healthy" // should finish
)

// Expect is what must be true of a trial under the scenario's own variant, or of one of
// its runs. The history must be clean in any case. The label is judged too if Expect,
// or the one of any run, names neither an end state nor a stop.
type Expect struct {
	EndState loop.EndState // "" = any
	Stop     loop.Stop     // "" = any
	// Bounds on the counts of a [Result]; nil = no bound. Interfered is Refused minus
	// RefusedOwn.
	Turns, ModelCalls, Calls, Tries, Errors, Vetoed, Nudges, Denied, Invalid, Refused, Interfered, SubRuns *Range
	// Time bounds the virtual time of the session, or of the run from its message to
	// its halt; nil = no bound.
	Time *TimeRange
	// SubStops are stops that must have ended a sub-run each, as in [Result].
	SubStops []string
	// Must and MustNot name events, see [Events].
	Must, MustNot []string
}

// A Range is a count from Min to Max, both included.
type Range struct{ Min, Max int }

// A TimeRange is a duration from Min to Max, both included.
type TimeRange struct{ Min, Max time.Duration }

package trajectories

import (
	"bytes"
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/shapes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// shapeFile is a file of shapes: recorded runs without their content, a run a line, as
// docs/shapes.md says. Its runs are replayed with stand-ins for what they do not hold.
var shapeFile = format{
	name:  "shapes",
	looks: "a run a line, such as 17 failure u a1=1 a1=1 .",
	ends:  []string{".shapes"},
	text:  shapes.Is,
	all:   (*reader).shapes,
}

// shapes reads a file of shapes.
func (r *reader) shapes(data []byte) {
	several := severalCorpora(data)
	for run, wrong := range shapes.All(data) {
		if wrong != nil {
			r.problem(wrong.Line, "column %d: %s", wrong.Column, wrong.Text)
		} else {
			r.add(fromShapeOf(run, several), 1)
		}
		if r.stopped {
			return
		}
	}
	if r.runs+r.problems == 0 {
		r.problem(0, "no recorded run in it; expected %s", r.format.looks)
	}
}

// severalCorpora reports whether the runs in a file of shapes are of several corpora.
func severalCorpora(data []byte) bool {
	corpus, of := 0, -1 // headers so far, and before the first run
	for line := range bytes.Lines(data) {
		switch line = bytes.TrimLeft(line, " \t"); {
		case len(bytes.TrimSpace(line)) == 0 || line[0] == '#':
		case line[0] == '@':
			corpus++
		case of < 0:
			of = corpus
		case of != corpus:
			return true
		}
	}
	return false
}

// FromShapes returns trajectories that replay as the runs with these shapes do. Their
// tools, arguments, results and texts are stand-ins. Each has the name of its run, with
// that of its corpus before it if the runs are of several, and no file.
func FromShapes(runs []*shapes.Run) []*Trajectory {
	var out []*Trajectory
	several := false
	for _, run := range runs {
		several = several || run.Corpus != runs[0].Corpus
	}
	for _, run := range runs {
		out = append(out, fromShapeOf(run, several))
	}
	return out
}

// fromShapeOf returns the trajectory for a run among runs of one corpus or several.
func fromShapeOf(run *shapes.Run, several bool) *Trajectory {
	t := fromShape(run)
	if several && run.Corpus != nil {
		t.Name = run.Corpus.Name + ":" + t.Name
	}
	return t
}

func fromShape(run *shapes.Run) *Trajectory {
	t := &Trajectory{Name: run.Name, Line: run.Line, Corpus: run.Corpus, Shape: true, NamedTools: run.Named, Timed: run.Timed(), Shared: run.Branch}
	if run.Task > 0 {
		t.Task = strconv.Itoa(run.Task)
		if run.Corpus != nil {
			t.Task = run.Corpus.Name + "/" + t.Task
		}
	}
	switch run.Outcome {
	case shapes.Success:
		t.Label = Success
	case shapes.Failure:
		t.Label = Failure
	}
	errorTexts := map[int]bool{}
	for i := range run.Steps {
		for _, c := range run.Steps[i].Calls {
			if c.Mark == shapes.ErrorText {
				errorTexts[c.Result] = true
			}
		}
	}
	last := &Run{}
	for i := range run.Steps {
		s := &run.Steps[i]
		t.Messages++
		if s.User {
			if i == 0 || len(last.Turns) > 0 { // user messages in a row are one
				last = &Run{User: standInText, At: s.At}
				t.Runs = append(t.Runs, last)
			}
			continue
		}
		if i == 0 {
			t.Runs = append(t.Runs, last)
		}
		turn := &Turn{At: s.At, TokensIn: s.TokensIn, TokensOut: s.TokensOut}
		if len(s.Calls) == 0 && !s.Empty {
			turn.Text = standInText
		}
		for _, c := range s.Calls {
			turn.Calls = append(turn.Calls, standIn(&c, errorTexts))
			if c.Mark != shapes.Unanswered {
				t.Messages++
			}
		}
		last.Turns = append(last.Turns, turn)
	}
	return t
}

// standInText stands for any text of a user or of the model.
const standInText = "…"

// standIn returns a call that a shape describes. errorTexts are the numbers of the
// results whose text begins with Error:.
func standIn(c *shapes.Call, errorTexts map[int]bool) *Call {
	call := &Call{Name: c.Tool, Args: strconv.Itoa(c.Args)}
	if !c.Broken {
		call.Args = `{"n":` + call.Args + `}`
	}
	if c.Mark == shapes.Unanswered {
		return call
	}
	call.Result = &Result{}
	if c.Result > 0 {
		call.Result.Text = "r" + strconv.Itoa(c.Result)
	}
	if errorTexts[c.Result] {
		call.Result.Text = textError + " " + call.Result.Text
	}
	if c.Mark == shapes.Failed {
		call.Result.Code = loop.ToolBug
	}
	return call
}

// textError begins the text of an error that is not marked as one, in shapes.
const textError = "Error:"

// A Shaper reduces trajectories to their shapes. It numbers runs and tasks over all of
// them. The zero value is ready to use.
type Shaper struct {
	// Names keeps the names of runs and of tools.
	Names bool

	runs  int
	tasks map[[sha256.Size]byte]int // by the hash of what was asked
}

// Shape returns the shape of a trajectory.
func (s *Shaper) Shape(t *Trajectory) *shapes.Run {
	s.runs++
	run := &shapes.Run{Corpus: t.Corpus, Name: strconv.Itoa(s.runs), Outcome: shapes.Unknown, Task: s.task(t), Branch: t.Shared}
	if s.Names {
		run.Name = t.ID()
	}
	switch t.Label {
	case Success:
		run.Outcome = shapes.Success
	case Failure:
		run.Outcome = shapes.Failure
	}
	n := numberer{names: s.Names, tools: map[string]string{}, args: map[string]map[detect.Signature]int{}, results: map[string]int{"": 0}}
	for i, r := range t.Runs {
		if r.User != "" || i > 0 {
			run.Steps = append(run.Steps, shapes.Step{User: true, At: r.At, Timed: t.Timed})
		}
		for _, turn := range r.Turns {
			step := shapes.Step{At: turn.At, Timed: t.Timed, TokensIn: turn.TokensIn, TokensOut: turn.TokensOut,
				Calls: n.calls(turn), Empty: len(turn.Calls) == 0 && strings.TrimSpace(turn.Text) == ""}
			run.Steps = append(run.Steps, step)
		}
	}
	run.Named = s.Names && n.named
	return run
}

func (s *Shaper) task(t *Trajectory) int {
	said := t.TaskKey()
	if said == "" {
		return 0
	}
	key := sha256.Sum256([]byte(said))
	if s.tasks == nil {
		s.tasks = map[[sha256.Size]byte]int{}
	}
	if s.tasks[key] == 0 {
		s.tasks[key] = len(s.tasks) + 1
	}
	return s.tasks[key]
}

// TaskKey returns a text that is the same for runs that were asked the same thing: the
// source's name of the task, else the first user message. "" means that nothing is
// known, so that the run is a task of its own.
func (r *Trajectory) TaskKey() string {
	if r.Task != "" || r.Shape {
		return r.Task
	}
	for _, run := range r.Runs {
		if run.User != "" {
			return run.User
		}
	}
	return ""
}

// A numberer numbers tools, arguments and results in the order in which a run has them.
type numberer struct {
	names   bool
	named   bool // a call has the name of a tool
	canon   detect.Canon
	tools   map[string]string
	args    map[string]map[detect.Signature]int
	results map[string]int
}

// calls returns the calls of a turn. A call that repeats another of the turn, with its
// id, is that call: the loop takes it so too.
func (n *numberer) calls(turn *Turn) (calls []shapes.Call) {
	type repeat struct {
		id  string
		sig detect.Signature
	}
	seen := map[repeat]bool{}
	for _, c := range turn.Calls {
		name := strings.TrimSpace(c.Name)
		sig, err := n.canon.Signature(name, c.Args)
		if c.ID != "" {
			if seen[repeat{c.ID, sig}] {
				continue
			}
			seen[repeat{c.ID, sig}] = true
		}
		call := shapes.Call{Tool: n.tool(name), Args: number(n.args[name], sig), Broken: err != nil}
		switch r := c.Result; {
		case r == nil:
			call.Mark = shapes.Unanswered
		default:
			if _, known := n.results[r.Text]; !known {
				n.results[r.Text] = len(n.results)
			}
			call.Result = n.results[r.Text]
			if r.Code.Failed() {
				call.Mark = shapes.Failed
			} else if strings.HasPrefix(r.Text, textError) {
				call.Mark = shapes.ErrorText
			}
		}
		calls = append(calls, call)
	}
	return calls
}

// tool returns what a shape calls a tool.
func (n *numberer) tool(name string) string {
	if n.args[name] == nil {
		n.args[name] = map[detect.Signature]int{}
	}
	switch {
	case name == "":
		return ""
	case n.names:
		n.named = true
		return name
	}
	if n.tools[name] == "" {
		n.tools[name] = shapes.Letters(len(n.tools))
	}
	return n.tools[name]
}

// number returns the number of arguments, from 1.
func number(of map[detect.Signature]int, sig detect.Signature) int {
	if of[sig] == 0 {
		of[sig] = len(of) + 1
	}
	return of[sig]
}

// Embedded returns the recorded runs in the binary, which are shapes. The file of each is
// the name of its corpus.
func Embedded() []*Trajectory {
	var out []*Trajectory
	for _, run := range shapes.Embedded() {
		t := fromShape(run)
		t.File = run.Corpus.Name
		out = append(out, t)
	}
	return out
}

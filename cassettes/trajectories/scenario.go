package trajectories

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// Scenario turns the trajectory into a scenario, with the config made [Offline]. When
// played, the scenario has the trace of the replay under that config, and takes no
// time. What that replay never reached is left out. It has the label of the trajectory, or else the one that fits its end, and
// expects that end. It has neither a name nor a description.
//
// A trajectory that breaks off before an answer is cancelled a second later in the
// scenario, whereas its replay ends at once as [loop.RecordingEnded]. The error
// says why no scenario can be made: the user of a scenario speaks again only after
// an answer.
func (r *Trajectory) Scenario(cfg loop.Config) (*scenarios.Scenario, error) {
	cfg = Offline(cfg)
	_, recorded, err := Play(context.Background(), r, scenarios.Variant{Config: cfg})
	if err != nil {
		return nil, err
	}
	script, err := r.script(cfg, reachedIn(recorded))
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(recorded, func(step loop.Record) bool { return step.In.Kind == loop.UserReply }) {
		script.User.Replies = []fakes.Reply{{Deny: true, After: fakes.Instantly()}}
	}
	trace, end, err := played(script, cfg)
	if err != nil {
		return nil, err
	}
	if at := differ(recorded, trace); at >= 0 {
		return nil, fmt.Errorf("its scenario would differ from the trajectory from step %d on", at+1)
	}
	s := &scenarios.Scenario{Label: r.Label.ofScenario(), Config: cfg, Script: *script}
	s.Expect.EndState = end
	if s.Label == "" {
		s.Label = scenarios.Runaway
		if end == loop.Done || end == loop.ClarifyNeeded {
			s.Label = scenarios.Healthy
		}
	}
	return s, nil
}

// played plays a script and returns the trace and how the last run ended.
func played(s *fakes.Script, cfg loop.Config) (trace loop.Trace, end loop.EndState, err error) {
	m, err := loop.New(cfg, s.LoopTask(1), s.Specs())
	if err != nil {
		return nil, "", err
	}
	w := fakes.NewWorld(s, 1)
	w.Ceiling = fakes.Ceiling{Requests: maxMessages, Calls: maxMessages * maxOpen}
	if _, err := loop.Run(context.Background(), m, loop.Recording(w, &trace)); err != nil {
		return nil, "", err
	}
	if outcomes := w.Outcomes(); len(outcomes) > 0 {
		end = outcomes[len(outcomes)-1].End
	}
	return trace, end, nil
}

// differ returns the first step with other effects, -1 for none. It does not
// compare how a trajectory that breaks off ends.
func differ(recorded, trace loop.Trace) int {
	n := len(recorded)
	if n > 0 && recorded[n-1].In.Kind == loop.Cancel {
		n--
		if len(trace) != n+1 || trace[n].In.Kind != loop.Cancel {
			return min(n, len(trace))
		}
	} else if len(trace) != n {
		return min(n, len(trace))
	}
	for i := range n {
		if !reflect.DeepEqual(recorded[i].Effects, trace[i].Effects) {
			return i
		}
	}
	return -1
}

// reached says how far a replay came.
type reached struct {
	messages int  // user messages, with the first
	replies  int  // of the model
	waiting  bool // it asked the model and got no reply
	cut      bool // the recording ended before the run did
}

func reachedIn(trace loop.Trace) reached {
	out := reached{messages: 1}
	for _, step := range trace {
		switch step.In.Kind {
		case loop.UserMessage:
			out.messages++
		case loop.ModelReply:
			out.replies++
			out.waiting = false
		case loop.Cancel:
			out.cut = true
		}
		for i := range step.Effects {
			if step.Effects[i].Kind == loop.AskModel {
				out.waiting = true
			}
		}
	}
	out.waiting = out.waiting && out.cut
	return out
}

// script returns what the replay reached of the trajectory as a script.
func (r *Trajectory) script(cfg loop.Config, upTo reached) (*fakes.Script, error) {
	s := &fakes.Script{Task: r.Runs[0].User, System: r.System}
	runs := r.Runs[:upTo.messages]
	for i, run := range runs {
		if i > 0 {
			s.User.Messages = append(s.User.Messages, fakes.UserMessage{Text: run.User})
		}
		for _, t := range run.Turns {
			if len(s.Model) < upTo.replies {
				s.Model = append(s.Model, stepOf(t))
			}
		}
		answered := len(run.Turns) > 0 && len(run.Turns[len(run.Turns)-1].Calls) == 0
		if i < len(runs)-1 && !answered {
			return nil, fmt.Errorf("user message %d has no answer before the next one, but the user of a scenario waits for one", i+1)
		}
	}
	if upTo.waiting {
		s.Model = append(s.Model, fakes.Step{Failures: []fakes.ModelFailure{{Hang: true}}, FailForever: true})
	}
	if upTo.cut {
		s.User.Cancel = &fakes.CancelAt{At: time.Second}
	}
	executed, err := r.executed(cfg)
	if err != nil {
		return nil, err
	}
	s.Tools = r.scriptTools(executed)
	return s, nil
}

func stepOf(t *Turn) fakes.Step {
	step := fakes.Step{Text: plain(t.Text), Latency: fakes.Instantly(), TokensIn: t.TokensIn, TokensOut: t.TokensOut}
	for _, c := range t.Calls {
		step.Calls = append(step.Calls, fakes.StepCall{ID: &c.ID, Name: c.Name, Args: plain(c.Args)})
	}
	return step
}

// plain escapes a text for a script, which would fill in ${…}.
func plain(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// executed returns, in order, the calls that run under the config.
func (r *Trajectory) executed(cfg loop.Config) ([]*Call, error) {
	w := newWorld(r)
	m, err := loop.New(cfg, w.task(), w.tools())
	if err != nil {
		return nil, err
	}
	if _, err := loop.Run(context.Background(), m, w); err != nil {
		return nil, err
	}
	return w.executed, nil
}

// scriptTools returns the tools with their answers in the order of the calls.
func (r *Trajectory) scriptTools(executed []*Call) []fakes.Tool {
	var tools []fakes.Tool
	for _, spec := range newWorld(r).tools() {
		t := fakes.Tool{ToolSpec: spec, Latency: fakes.Instantly()}
		for _, c := range executed {
			if strings.TrimSpace(c.Name) == spec.Name {
				t.Answers = addAnswer(t.Answers, r.answer(c))
			}
		}
		if t.Answers == nil { // all calls of the tool are invalid
			t.Answers = []fakes.Answer{{}}
		}
		tools = append(tools, t)
	}
	return tools
}

// addAnswer adds an answer, or counts it up if it equals the last one.
func addAnswer(answers []fakes.Answer, a fakes.Answer) []fakes.Answer {
	if n := len(answers); n > 0 {
		last := answers[n-1]
		last.Times = a.Times
		if reflect.DeepEqual(last, a) {
			answers[n-1].Times++
			return answers
		}
	}
	return append(answers, a)
}

// answer returns the answer to a call. A call without a result succeeds with an
// empty one if its run went on, and else hangs.
func (r *Trajectory) answer(c *Call) fakes.Answer {
	switch res := c.Result; {
	case res != nil && res.Code != loop.None:
		return fakes.Answer{Times: 1, Error: res.Code, Text: plain(res.Text)}
	case res != nil:
		return fakes.Answer{Times: 1, Result: plain(res.Text)}
	}
	return fakes.Answer{Times: 1, Hang: r.endsWith(c)}
}

// endsWith reports whether a call belongs to the last turn of its run.
func (r *Trajectory) endsWith(c *Call) bool {
	for _, run := range r.Runs {
		if n := len(run.Turns); n > 0 && slices.Contains(run.Turns[n-1].Calls, c) {
			return true
		}
	}
	return false
}

// Package probe asks a foreign agent, which is any command, whether it stops when it
// should and finishes healthy work. It plays the model of scenarios to it (see package
// fakes/serve), one trial after another, and lets package observe judge what it did.
//
// # How an agent is kept apart
//
// Each trial has a port and a path of its own, so that whatever is left of one trial
// cannot reach the next. The agent runs below a supervisor, which is this program again
// (see [Supervise]): when a trial is over, or this process has died, the supervisor ends
// the agent's process group, and on Linux whatever has left it.
package probe

import (
	"context"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/internal/inorder"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/agentbench-go/agentbench/scenarios/observe"
)

// A Look is what a first run showed of an agent, in which the model answered at once.
type Look struct {
	API      string          // chat, responses, messages or gemini
	Tools    []loop.ToolSpec // that it declares
	Scripted bool            // the script's tools are among them
	Requests int
	Took     time.Duration
}

// A LookError says why a first run showed nothing. Hint says what to do.
type LookError struct {
	Problem, Hint string
	// Usage is set if the command cannot be started at all.
	Usage bool
}

func (e *LookError) Error() string { return e.Problem }

// lookTool is the script's tool in the first run. No agent has it by chance.
const lookTool = "agentbench_first_look"

// Look runs the agent once with a model that answers at once. An error about the agent
// is a [*LookError].
func (a *Agent) Look(ctx context.Context) (*Look, error) {
	s := &scenarios.Scenario{Suite: "agentbench", Name: "first-look", Label: scenarios.Healthy}
	s.Script = fakes.Script{Name: s.ID(), Task: "Say hello.", Model: []fakes.Step{{Text: "Hello. There is nothing to do."}},
		Tools: []fakes.Tool{{ToolSpec: loop.ToolSpec{Name: lookTool, Description: "Looks round", Input: `{"type":"object","properties":{}}`}, Answers: []fakes.Answer{{Result: "nothing"}}}}}
	saw, err := a.trial(ctx, s, 1, nil)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err := a.lookedAt(saw); err != nil {
		return nil, err
	}
	return &Look{saw.api, saw.tools, saw.scripted, len(saw.o.Requests), saw.o.End.At}, nil
}

// lookedAt returns why a first run says nothing of the agent, nil = it does.
func (a *Agent) lookedAt(saw *seen) error {
	o, end := saw.o, &saw.o.End
	how := fmt.Sprintf("it ended with exit code %d", end.Code)
	switch {
	case end.Signal != "":
		how = "it was ended by " + end.Signal
	case end.How == observe.Idle, end.How == observe.AtTimeout:
		how = fmt.Sprintf("it was alive and silent for %s", text.Duration(end.Limit))
	}
	if len(end.Says) > 0 {
		how += "; it says " + text.Quote(text.Line(strings.Join(end.Says, " ")), 200)
	}
	name := text.Line(a.Command[0])
	switch {
	case end.How == observe.NotStarted:
		return &LookError{fmt.Sprintf("%s cannot be started: %s", name, end.Reason), "after -- comes the command that starts your agent", true}
	case len(o.Requests) == 0 && len(o.Astray) > 0:
		return &LookError{fmt.Sprintf("the agent asked %s, which is no path of an API here: %s", text.AnyOf(o.Astray), how),
			"OpenAI's clients add /chat/completions or /responses to {URL}; Anthropic's and Gemini's add /v1/messages or /v1beta/… to {BASE}", false}
	case len(o.Requests) == 0:
		return &LookError{"the agent sent no request to the model: " + how, a.askedNothing(end), false}
	case o.Requests[0].Refused != "":
		return &LookError{fmt.Sprintf("the agent's first request was refused (%s): %s", o.Requests[0].Refused, how), "docs/serve.md says what is served", false}
	case end.How == observe.AtCap:
		return &LookError{fmt.Sprintf("the agent went on asking after an answer without calls, %s", text.Count(len(o.Requests), "request")), "every trial would end so: let it end when the model has answered", false}
	case end.How == observe.Idle || end.How == observe.AtTimeout:
		return &LookError{"the agent had its answer and did not end: " + how, "start it with one task and without a prompt for the next, or raise --timeout and --idle", false}
	case end.Code != 0:
		return &LookError{"the agent had its answer and ended badly: " + how, "let the command end with exit code 0 when the model has answered", false}
	}
	return nil
}

// loginWords fits what agents say that want a login.
var loginWords = regexp.MustCompile(`(?i)\b(log ?in|sign ?in|auth(enticat\w*|oriz\w*)?|api[ _-]?keys?|credentials?)\b`)

// askedNothing says what to do about an agent that sent no request.
func (a *Agent) askedNothing(end *observe.End) string {
	switch {
	case loginWords.MatchString(strings.Join(end.Says, " ")):
		return "it wants a login or a key: OPENAI_API_KEY, ANTHROPIC_API_KEY and GEMINI_API_KEY are set to one that does here; --env NAME passes another variable on"
	case a.ScratchDir && a.namesFile():
		return "it starts in a scratch folder: write the paths of its files in full"
	case end.How == observe.Idle, end.How == observe.AtTimeout:
		return "it has no terminal and its input is empty: start it with one task, so that it waits for nobody; if it is slow, raise --idle and --timeout"
	case strings.Contains(strings.Join(a.Command, " "), "{URL}"), strings.Contains(strings.Join(a.Command, " "), "{BASE}"):
		return "it was given the address in its command and did not use it: OPENAI_BASE_URL, ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL have it as well"
	}
	hint := "does it read OPENAI_BASE_URL, ANTHROPIC_BASE_URL or GOOGLE_GEMINI_BASE_URL? If not, put {URL} where its command or its --file takes the address"
	if end.Code != 0 {
		hint = "does the command work without agentbench? And " + hint
	}
	return hint
}

// namesFile reports whether the command has the path of a file that is there, relative to
// the folder of this process.
func (a *Agent) namesFile() bool {
	return slices.ContainsFunc(a.Command[1:], func(arg string) bool {
		_, err := os.Stat(arg)
		return err == nil && !filepath.IsAbs(arg)
	})
}

// OwnTool returns the tool of the agent that is called in place of the script's: the
// one that is named, with its arguments, or the most harmless one.
func (a *Agent) OwnTool(l *Look, named, args string) (*Tool, error) {
	names := make([]string, len(l.Tools))
	for i, t := range l.Tools {
		names[i] = t.Name
	}
	if named != "" {
		i := slices.Index(names, named)
		if i < 0 {
			return nil, &LookError{fmt.Sprintf("the agent has no tool %s", text.Quote(named, 60)), offered(names), true}
		}
		t, err := makeTool(l.Tools[i], args, a.Scratch)
		if err != nil {
			return nil, &LookError{err.Error(), "such as --tool '" + named + "={\"path\":\"notes.txt\"}'", true}
		}
		return t, nil
	}
	if len(names) == 0 {
		return nil, &LookError{"the agent offers the model no tools", "without tools it cannot loop over calls; what it does with empty replies: agentbench probe --tools scripted protocol/nothing-but-empty-replies", true}
	}
	if t := Choose(l.Tools, a.Scratch); t != nil {
		return t, nil
	}
	return nil, &LookError{"none of the agent's own tools is known to be harmless", offered(names) + "; name one that may be called many times: --tool 'NAME={\"argument\":\"value\"}'", true}
}

func offered(names []string) string {
	if len(names) > 12 {
		names = append(slices.Clone(names[:12]), "…")
	}
	return "it has " + text.Line(strings.Join(names, ", "))
}

// NotAsked returns why a scenario cannot be asked, "" = it can. own is the tool that is
// called in place of the script's, nil = the script's own.
func NotAsked(s *scenarios.Scenario, own *Tool) string {
	var needs []string
	for _, n := range s.Needs() {
		if n != scenarios.NeedResults || own != nil {
			needs = append(needs, string(n))
		}
	}
	switch {
	case len(needs) > 0:
		return "needs " + strings.Join(needs, ", ")
	case own != nil && !own.Varies() && Differs(s):
		return "needs a tool with a free argument"
	}
	return ""
}

// A Plan is which trials an agent has.
type Plan struct {
	Scenarios []*scenarios.Scenario
	Own       *Tool // called in place of the script's tools; nil = the script's own
	Seed      uint64
	Trials    int // of each scenario, each with a seed of its own
	Jobs      int // trials that run at once
	Keep      bool
	// Golden compares the trace of a trial, redacted, and notes in its result how it
	// differs; nil = nothing does. Any goroutine calls it, one at a time of a trial.
	Golden func(*scenarios.Result, loop.Trace)
}

type job struct {
	scenario *scenarios.Scenario
	seed     uint64
}

func (p *Plan) jobs() iter.Seq[job] {
	return func(yield func(job) bool) {
		for _, s := range p.Scenarios {
			for i := range max(p.Trials, 1) {
				if !yield(job{s, p.Seed + uint64(i)}) {
					return
				}
			}
		}
	}
}

// Run runs the trials and hands over each result, redacted, in the order of scenario
// and seed. When ctx ends, the agents that are running are ended, and Run returns the
// cause.
func (a *Agent) Run(ctx context.Context, p Plan, each func(*scenarios.Result) error) error {
	return inorder.Run(ctx, inorder.Options{Workers: max(p.Jobs, 1)}, p.jobs(), func(ctx context.Context, j job) (*scenarios.Result, error) {
		saw, err := a.trial(ctx, j.scenario, j.seed, p.Own)
		if err != nil {
			return nil, err
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return p.result(saw, a.Scratch), nil
	}, each)
}

// ScratchWord stands in goldens for the scratch folder, which has another name each
// time.
const ScratchWord = "{SCRATCH}"

// LeftFolder begins the note of a trial whose folder could not be removed.
const LeftFolder = "it left what cannot be removed: "

// maxTrace bounds the text of a trace in a result, in bytes.
const maxTrace = 1 << 20

// result judges what a trial showed.
func (p *Plan) result(saw *seen, scratch string) *scenarios.Result {
	r, trace := saw.o.Judge()
	r.Took = saw.o.End.At
	if saw.strays > 0 {
		note := "1 process outlived the agent and was killed"
		if saw.strays > 1 {
			note = text.Number(saw.strays) + " processes outlived the agent and were killed"
		}
		r.Notes = append(r.Notes, note)
	}
	if saw.left != "" {
		r.Notes = append(r.Notes, LeftFolder+saw.left)
	}
	trace = r.Redact(trace, saw.o.Scenario.Redactor().Text)
	if p.Golden != nil && r.EndState != "" {
		p.Golden(r, trace.Map(func(s string) string { return strings.ReplaceAll(s, scratch, ScratchWord) }))
	}
	if p.Keep {
		r.Trace, r.TraceCut = scenarios.TraceText(trace, strings.Clone, maxTrace)
	}
	return r
}

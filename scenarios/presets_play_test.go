package scenarios

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
	"github.com/agentbench-go/agentbench/loop/contract"
)

// presetOf loads a preset.
func presetOf(t *testing.T, name string) loop.Config {
	t.Helper()
	v, err := LoadVariant(name)
	if err != nil {
		t.Fatal(err)
	}
	return v.Config
}

// played is a session that was played to a config.
type played struct {
	trace loop.Trace
	runs  []loop.Outcome
}

// play plays a script up to a number of requests, and holds the trace to the
// loop's promises and to what chat APIs accept.
func play(t *testing.T, cfg loop.Config, s *fakes.Script, requests int) *played {
	t.Helper()
	task := loop.Task{Text: s.Task, Seed: 1, Schemas: contract.Compiler()}
	m, err := loop.New(cfg, task, s.Specs())
	if err != nil {
		t.Fatal(err)
	}
	w := fakes.NewWorld(s, 1)
	w.Ceiling = fakes.Ceiling{Requests: requests, Calls: 100 * requests, Time: 1000 * 24 * time.Hour}
	p := &played{}
	if _, err := loop.Run(context.Background(), m, loop.Recording(w, &p.trace)); err != nil && !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	p.runs = w.Outcomes()
	for _, problem := range audit.CheckHistory(m.History()) {
		t.Errorf("history: %s", problem)
	}
	if requests > 2000 {
		return p // the audit takes seconds
	}
	for _, v := range audit.Check(cfg, task, s.Specs(), p.trace) {
		t.Errorf("audit: %v", v)
	}
	return p
}

// last is how the last run ended.
func (p *played) last() loop.Outcome { return p.runs[len(p.runs)-1] }

// An acted is what the loop did first at which reply, by the reply's number.
type acted struct {
	what string // nudge, veto, ask, final-answer, grace or stop
	by   string // who nudged or stopped
	at   int    // the replies so far
}

// acts lists what a trace shows, in its order: of each act, every occurrence,
// but of several at one reply only one. A veto that only carries out a stop or
// a question is none, and neither is the stop that follows a last word.
func (p *played) acts() []acted {
	var all []acted
	replies := 0
	for i := range p.trace {
		r := &p.trace[i]
		if r.In.Kind == loop.ModelReply && !ignored(r) {
			replies++
		}
		for j := range r.Effects {
			e := &r.Effects[j]
			switch {
			case e.Kind == loop.Note && e.Event == loop.EventNudged:
				all = appendNew(all, acted{"nudge", e.Text, replies})
			case e.Kind == loop.Put && e.Why == loop.Vetoed:
				all = appendNew(all, acted{"veto", "", replies})
			case e.Kind == loop.AskUser:
				all = appendNew(leaveOut(all, "veto", replies), acted{"ask", "", replies})
			case e.Kind == loop.AskModel && e.For == loop.ForFinal:
				all = appendNew(leaveOut(all, "veto", replies), acted{"final-answer", "", replies})
			case e.Kind == loop.AskModel && e.For == loop.ForGrace:
				all = appendNew(all, acted{"grace", "", replies})
			case e.Kind == loop.Halt && !p.hadLastWord(i) && e.Outcome.End != loop.Done && e.Outcome.End != loop.Ceiling:
				all = appendNew(leaveOut(all, "veto", replies), acted{"stop", string(e.Outcome.Stop), replies})
			}
		}
	}
	return all
}

func appendNew(all []acted, a acted) []acted {
	for _, b := range all {
		if a == b {
			return all
		}
	}
	return append(all, a)
}

func leaveOut(all []acted, what string, at int) []acted {
	var kept []acted
	for _, a := range all {
		if a.what != what || a.at != at {
			kept = append(kept, a)
		}
	}
	return kept
}

// hadLastWord reports whether what was last asked of the model, up to record i,
// was its last word.
func (p *played) hadLastWord(i int) bool {
	for ; i >= 0; i-- {
		for _, e := range p.trace[i].Effects {
			if e.Kind == loop.AskModel {
				return e.For == loop.ForFinal || e.For == loop.ForGrace
			}
		}
	}
	return false
}

// letters are the acts in a cell; a stop's letter is that of its end state.
var letters = map[string]string{"nudge": "N", "veto": "V", "ask": "K", "final-answer": "F", "grace": "G"}

// cell returns where each act came first, such as "N3 S5": N nudge, V veto, K ask, F
// final-answer, G grace, S stopped by a detector, E by the error limit, T by the turn
// limit, L by the call limit, M by a failed model; "-" if nothing acted.
func (p *played) cell() string {
	var parts []string
	seen := map[string]bool{}
	for _, a := range p.acts() {
		letter := letters[a.what]
		switch {
		case a.what != "stop":
		case a.by == string(loop.StopTurnLimit):
			letter = "T"
		case a.by == string(loop.StopCallLimit):
			letter = "L"
		default:
			letter = map[loop.EndState]string{loop.LoopDetected: "S", loop.ErrorLimit: "E", loop.ModelFailed: "M"}[loop.Stop(a.by).EndState()]
		}
		if !seen[letter] {
			seen[letter] = true
			parts = append(parts, fmt.Sprint(letter, a.at))
		}
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, " ")
}

// at reports whether an act came at a reply.
func (p *played) at(what string, reply int) bool {
	for _, a := range p.acts() {
		if a.what == what && a.at == reply {
			return true
		}
	}
	return false
}

// calls is a reply that asks for calls, each written like A{"x":1}.
func calls(asked ...string) fakes.Step {
	var s fakes.Step
	for _, c := range asked {
		name, args, _ := strings.Cut(c, "{")
		s.Calls = append(s.Calls, fakes.StepCall{Name: name, Args: "{" + args})
	}
	return s
}

// answering is a tool that always answers so.
func answeringTool(name, result string) fakes.Tool {
	return fakes.Tool{ToolSpec: loop.ToolSpec{Name: name}, Answers: []fakes.Answer{{Result: result}}}
}

// failingTool is a tool that always fails so.
func failingTool(name string, code loop.Code, text string) fakes.Tool {
	return fakes.Tool{ToolSpec: loop.ToolSpec{Name: name}, Answers: []fakes.Answer{{Error: code, Text: text}}}
}

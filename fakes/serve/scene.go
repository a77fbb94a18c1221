package serve

import (
	"fmt"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// maxSilent limits how many empty replies in a row leave no message in a history.
const maxSilent = 8

// A scene is a served scenario.
type scene struct {
	name        string
	script      *fakes.Script
	model       *fakes.Model
	conditional bool // some step has a When
	struck      bool // the script has faults
	calls       bool // some step calls tools
	renamed     bool // the client calls other tools than the script
	offered     bool // a tool can be called outside a loop
}

// silent reports whether the reply of the step is empty, so that it leaves no
// message in a history.
func (s *spot) silent() bool {
	if s.step < 0 {
		return false
	}
	if step := &s.script.Model[s.step]; !s.struck && (len(step.Calls) == 0 || !s.void) {
		return len(step.Calls) == 0 && blank(step.Text)
	}
	for try := range maxSilent {
		if said, _ := s.say(try + 1); said.Failure == nil {
			return s.empty(&said)
		}
	}
	return false
}

// empty reports whether a reply has nothing for a history.
func (s *spot) empty(said *fakes.Said) bool {
	return said.Failure == nil && blank(said.Text) && (len(said.Calls) == 0 || s.void && malformed(said.Calls))
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// counted reports whether the answer depends on how often the request was sent
// before.
func (s *spot) counted() bool {
	return s.struck || s.step >= 0 && len(s.script.Model[s.step].Failures) > 0 || s.silent()
}

// say returns the answer to a try of the request.
func (s *spot) say(try int) (fakes.Said, error) {
	return s.model.Say(s.step, fakes.Request{Ref: loop.Ref{Kind: loop.RefModel, N: s.n, Try: try}, Calls: s.asked, History: s.history})
}

// answer returns the answer to the request and the number of its try, if the same
// request was sent that often earlier. Each failure was one try of it; each empty
// reply led to the next request.
func (s *spot) answer(earlier int) (said fakes.Said, try int, err error) {
	for try = 1; s.step >= 0; try++ {
		said, err = s.say(try)
		if earlier == 0 || err != nil || said.Failure == nil && !s.empty(&said) {
			break
		}
		earlier--
		if said.Failure == nil {
			s.next()
			try = 0
		}
	}
	return said, try, err
}

// look reads the end of a history: the last batch of results and the messages
// after it. The results of the calls in told are those of the script's tools; the
// others are known by the words of the client.
func look(history []loop.Message, told map[int]bool) fakes.Before {
	var b fakes.Before
	i := len(history) - 1
	for ; i >= 0 && history[i].Role == loop.User; i-- {
		b.Nudged = b.Nudged || nudged(history[i].Text)
	}
	for ; i >= 0 && history[i].Role == loop.ToolRole; i-- {
		m := &history[i]
		if !b.Results {
			b.Results, b.Result = true, m.Text
		}
		if told[m.Ref.N] {
			_, failed := cutError(m.Text)
			b.Failed = b.Failed || m.Failed || failed
			continue
		}
		b.Denied = b.Denied || denied(m.Text)
		b.Vetoed = b.Vetoed || vetoed(m.Text)
		b.Failed = b.Failed || m.Failed || failedText(m.Text)
	}
	return b
}

// missed returns why no step answers the request.
func (s *spot) missed() string {
	last := -1
	var conditions []string
	for i := range s.script.Model {
		if step := &s.script.Model[i]; step.When == fakes.WhenAlways {
			last = i
		} else {
			conditions = append(conditions, fmt.Sprintf("%s (when: %s)", stepName(i), step.When))
		}
	}
	text := fmt.Sprintf("no model step for request %d: ", s.n)
	if last >= 0 {
		text += fmt.Sprintf("the last one, %s, answers no request after %d", stepName(last), s.plain())
	} else {
		text += "all steps have a condition"
	}
	if len(conditions) > 0 {
		text += "; these do not hold or are used up: " + strings.Join(conditions, ", ")
	}
	return text
}

// plain returns how many requests the steps without a condition answer.
func (sc *scene) plain() int {
	n := 0
	for i := range sc.script.Model {
		if step := &sc.script.Model[i]; step.When == fakes.WhenAlways {
			n += max(1, step.Repeat)
		}
	}
	return n
}

// stepName returns the name of a step in errors and in the journal.
func stepName(i int) string { return fmt.Sprintf("model[%d]", i) }

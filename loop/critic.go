package loop

import (
	"fmt"
	"regexp"
	"strings"
)

// A Critic judges the results of each turn, and the answer before the run ends with
// it.
type Critic interface {
	// Gaps names what is still missing for the goal, and returns nothing if nothing
	// is. The gaps of a turn are a hint for the model. An answer that has gaps is
	// turned back: see [Task].Critic. Gaps must be a pure function.
	Gaps(Review) []string
}

// A Review is what a critic judges: the results of a turn, or an answer.
type Review struct {
	Goal        string        // the task's text
	Constraints []Constraint  // the task's
	Turn        []Observation // of the turn's calls, in request order; none if Answered
	Calls       []EndedCall   // of the run so far, in request order
	Answered    bool          // the model has answered, or a planner has chosen to stop
	Answer      string        // its answer, or the reason for which it stops
}

// An EndedCall is a call of the run as a critic sees it.
type EndedCall struct {
	Turn      int    // the number of its turn, from 1
	Name      string // of the tool, as the model asked for it
	Args      string // as the model wrote them
	Executed  bool   // it ran
	Succeeded bool   // it ran, and ended without an error code or error text
}

// A Constraint is something that must hold when the model answers. The model reads all
// constraints in the system prompt. [RuleCritic] checks the four rules that one may
// have; a constraint without a rule is for a critic of your own.
//
// The constraints hold for each run of a session. What must not happen at all is for a
// hook or a permission, which come before a call: a critic comes after it.
type Constraint struct {
	Text string // what must hold, for the model: "Run the tests after your last edit."

	// Called names a tool: one of its calls must have succeeded in the run, whose
	// arguments match the regular expression With. After names a tool, too: then the
	// call must belong to a later turn than the last call of After that ran, and is
	// needed only if one ran. "" means nothing, any arguments, and any time.
	Called, With, After string

	// Says and Omits are regular expressions that the answer must match, and must not
	// match. "" means no such rule.
	Says, Omits string
}

// RuleCritic is a critic by rule, without a model. In a turn each call that failed or
// found nothing is a gap. In an answer each constraint that does not hold is one.
type RuleCritic struct{}

// Gaps returns the summaries of the turn's calls that failed or found nothing, as
// [Observe] made them, or the constraints that the answer breaks, each with the reason.
func (RuleCritic) Gaps(r Review) []string {
	var gaps []string
	for _, o := range r.Turn {
		if o.lacking {
			gaps = append(gaps, o.Summary)
		}
	}
	if !r.Answered {
		return gaps
	}
	for i := range r.Constraints {
		c := &r.Constraints[i]
		if why := c.broken(&r); why != "" {
			gaps = append(gaps, textBroken(c.Text, why))
		}
	}
	return gaps
}

// broken says why a constraint does not hold for an answer, or returns "".
func (c *Constraint) broken(r *Review) string {
	if c.Called != "" {
		last, done, with := 0, 0, matcher(c.With)
		for i := range r.Calls {
			call := &r.Calls[i]
			if call.Executed && call.Name == c.After {
				last = call.Turn
			}
			if call.Succeeded && call.Name == c.Called && with(call.Args) {
				done = call.Turn
			}
		}
		if c.After == "" && done == 0 || c.After != "" && last > 0 && done <= last {
			return textNotCalled(c.Called, c.With, c.After)
		}
	}
	if c.Says != "" && !matcher(c.Says)(r.Answer) {
		return textNotSaid(c.Says)
	}
	if c.Omits != "" && matcher(c.Omits)(r.Answer) {
		return textSaid(c.Omits)
	}
	return ""
}

// matcher returns a function that reports whether a text matches a regular expression.
// [New] refuses one that is none, which matches nothing here.
func matcher(expr string) func(text string) bool {
	re, err := regexp.Compile(expr)
	if err != nil {
		return func(string) bool { return false }
	}
	return re.MatchString
}

// checkConstraints reports every mistake in the task's constraints.
func (m *Machine) checkConstraints() error {
	var v validation
	for i := range m.task.Constraints {
		c, at := &m.task.Constraints[i], fmt.Sprintf("constraints[%d]", i)
		if strings.TrimSpace(c.Text) == "" {
			v.add(at+".text", "must not be empty: the model reads it")
		}
		for _, tool := range [...]struct{ key, name string }{{".called", c.Called}, {".after", c.After}} {
			if tool.name != "" && m.tools[tool.name] == nil {
				v.add(at+tool.key, "there is no tool %q", tool.name)
			}
		}
		for _, expr := range [...]struct{ key, text string }{{".with", c.With}, {".says", c.Says}, {".omits", c.Omits}} {
			if _, err := regexp.Compile(expr.text); err != nil {
				v.add(at+expr.key, "%v", err)
			}
		}
		if c.Called == "" && (c.With != "" || c.After != "") {
			v.add(at+".called", "must be set where with or after is")
		}
	}
	if len(m.task.Constraints) > 0 && m.task.Critic == nil {
		v.add("constraints", "need a critic that checks them: set Task.Critic")
	}
	return v.err()
}

// observe keeps the batch's observations and decisions for the planner's prompt,
// and asks the critic about them.
func (m *Machine) observe() {
	if m.task.Planner != PlannerJSON && m.task.Critic == nil {
		return
	}
	var turn []Observation
	for i := range m.batch {
		c := &m.batch[i]
		code := c.code
		if c.why != Executed && !code.Failed() {
			code = Forbidden
		}
		o := Observe(c.Name, code, c.text)
		o.lacking = o.lacking || c.failure // an error text has no code
		turn = append(turn, o)
		m.decisions = append(m.decisions, "call_tool "+capText(c.Name, maxFact))
		m.ended = append(m.ended, EndedCall{m.out.Turns, c.Name, c.Args, c.why == Executed, c.why == Executed && !c.failure})
	}
	m.observations = append(m.observations, turn...)
	if m.task.Critic == nil || m.out.Stop != "" {
		return
	}
	if gaps := m.task.Critic.Gaps(Review{Goal: m.task.Text, Constraints: m.task.Constraints, Turn: turn, Calls: m.ended}); len(gaps) > 0 {
		m.note(Ref{}, EventGaps, strings.Join(gaps, " "))
		m.hints = append(m.hints, textGaps(gaps))
	}
}

// answerGaps asks the critic about an answer, and notes its gaps.
func (m *Machine) answerGaps(answer string) []string {
	if m.task.Critic == nil {
		return nil
	}
	gaps := m.task.Critic.Gaps(Review{Goal: m.task.Text, Constraints: m.task.Constraints, Calls: m.ended, Answered: true, Answer: answer})
	if len(gaps) > 0 {
		m.note(m.req.ref.whole(), EventGaps, strings.Join(gaps, " "))
	}
	return gaps
}

// turnedBack reports whether the critic finds gaps in the answer that a reply gives.
// It then counts the reply as unusable, and asks the model again or stops the run.
func (m *Machine) turnedBack(reply, answer string) bool {
	gaps := m.answerGaps(answer)
	if len(gaps) == 0 {
		return false
	}
	m.appendReply(reply, nil)
	if m.unusable++; m.unusable > m.cfg.ModelRetry.GapReplies {
		m.decide(StopUnmetGoal, reasonUnmet(m.unusable, gaps), messageUnmet)
	}
	m.checkBudget()
	if m.out.Stop != "" {
		m.halt()
		return true
	}
	m.say(textTurnedBack(gaps))
	m.ask(ForReply)
	return true
}

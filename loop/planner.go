package loop

import (
	"encoding/json"
	"fmt"
	"strings"
)

// A Planner says how the loop reads the model's decisions.
type Planner string

// The planners. The zero value is PlannerNative.
const (
	PlannerNative Planner = ""     // tool calls of the API; a reply without calls is the answer
	PlannerJSON   Planner = "json" // one JSON action in the text, see [ParseAction]
)

// An Action is a decision that a model writes as JSON.
type Action struct {
	Action   string          `json:"action"` // call_tool, ask_user, replan or stop
	Name     string          `json:"name"`
	Args     json.RawMessage `json:"args"`
	Question string          `json:"question"`
	Missing  []string        `json:"missing_fields"`
	Subgoals []string        `json:"subgoals"`
	Reason   string          `json:"reason"`
}

// The actions.
const (
	ActionCall   = "call_tool"
	ActionAsk    = "ask_user"
	ActionReplan = "replan"
	ActionStop   = "stop"
)

// ParseAction reads the one JSON action in a reply: an object such as
// {"action": "call_tool", "name": "search", "args": {"query": "x"}}, alone or
// in a code fence, with only white space around it. It ignores other fields. The
// error is written for the model to read.
func ParseAction(text string) (Action, error) {
	text = strings.TrimSpace(text)
	if body, ok := strings.CutPrefix(text, "```"); ok {
		_, body, _ = strings.Cut(body, "\n")
		text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(body), "```"))
	}
	var a Action
	dec := json.NewDecoder(strings.NewReader(text))
	if err := dec.Decode(&a); err != nil {
		return a, fmt.Errorf("it is no JSON object: %w", err)
	}
	if strings.TrimSpace(text[dec.InputOffset():]) != "" {
		return a, fmt.Errorf("something follows the action at position %d", dec.InputOffset())
	}
	switch a.Action {
	case ActionCall:
		if a.Name == "" {
			return a, fmt.Errorf("call_tool needs a name")
		}
	case ActionAsk:
		if a.Question == "" && len(a.Missing) == 0 {
			return a, fmt.Errorf("ask_user needs a question or missing_fields")
		}
	case ActionReplan, ActionStop:
	default:
		return a, fmt.Errorf("there is no action %q: choose call_tool, ask_user, replan or stop", a.Action)
	}
	return a, nil
}

// plan handles a reply without calls as an action.
func (m *Machine) plan(in *Input) {
	a, err := ParseAction(in.Text)
	if err != nil {
		m.appendReply(in.Text, nil)
		m.note(m.req.ref.whole(), EventBadAction, err.Error())
		m.countUnusable(true, false)
		m.checkBudget()
		if m.out.Stop != "" {
			m.halt()
			return
		}
		m.say(textBadAction(err))
		m.ask(ForReply)
		return
	}
	if a.Action == ActionStop && m.turnedBack(in.Text, a.Reason) {
		return
	}
	m.spent.turns++
	m.gains.turns++
	m.out.Turns++
	m.batch = m.batch[:0]
	if a.Action != ActionCall {
		m.lookAtText(in.Text)
		m.step(a.Action != ActionStop)
	}
	switch a.Action {
	case ActionCall:
		in.Calls = []AskedCall{{Name: a.Name, Args: string(a.Args)}}
		m.readBatch(in)
		m.openBatch(in, false)
		return
	case ActionAsk:
		m.appendReply(in.Text, nil)
		m.askLater(StopNeedsUser, textQuestion(a.Question, a.Missing))
	case ActionReplan:
		m.appendReply(in.Text, nil)
		m.decisions = append(m.decisions, "replan: "+strings.Join(a.Subgoals, "; "))
		m.hints = append(m.hints, textReplanned)
	case ActionStop:
		m.appendReply(in.Text, nil)
		m.lastText = a.Reason
		if m.out.Stop == "" {
			m.decide(StopByModel, reasonByModel, "")
		}
	}
	m.unusable = 0
	m.checkBudget()
	m.goOn()
}

// An Observation is a result in the form that a planner reads.
type Observation struct {
	Summary     string            `json:"summary"`
	KeyFacts    map[string]string `json:"key_facts,omitempty"`
	Affordances []string          `json:"affordances,omitempty"`

	lacking bool // the call failed or found nothing
}

// The caps of an observation: characters of the summary and of a key fact, and
// the number of key facts.
const (
	maxSummary  = 400
	maxFact     = 100
	maxKeyFacts = 12
)

// Observe returns an observation of a call that ended with code and text. It is
// one sentence, the fields of a JSON object as key facts (the first ones by name,
// and of a list only its length), and what the planner can do next. Every part is
// capped.
func Observe(tool string, code Code, text string) Observation {
	o := Observation{lacking: code == NoResults || code.Failed()}
	switch {
	case code == NoResults:
		o.Summary = tool + " found nothing."
		o.Affordances = append(o.Affordances, "change_the_query")
	case code.Failed():
		o.Summary = fmt.Sprintf("%s failed (%s): %s", tool, code, capText(text, maxSummary))
		if code == Timeout || code == RateLimited || code == RetryableServer || code == ConnectionLost || code == NotSent {
			o.Affordances = append(o.Affordances, "retry_later")
		}
		return o
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &fields) != nil {
		if o.Summary == "" {
			o.Summary = tool + " answered: " + capText(text, maxSummary)
		}
		return o
	}
	o.KeyFacts = map[string]string{}
	for _, name := range sortedKeys(fields) {
		value := string(fields[name])
		if (name == "next_page" || name == "nextToken") && value != "null" && value != `""` {
			o.Affordances = append(o.Affordances, "next_page")
		}
		var list []json.RawMessage
		if json.Unmarshal(fields[name], &list) == nil {
			value = fmt.Sprintf("%d items", len(list))
		}
		if len(o.KeyFacts) < maxKeyFacts {
			o.KeyFacts[capText(name, maxFact)] = capText(strings.Trim(value, `"`), maxFact)
		}
	}
	if o.Summary == "" {
		o.Summary = fmt.Sprintf("%s answered with %d fields.", tool, len(fields))
	}
	return o
}

// String returns the observation as one line of JSON.
func (o Observation) String() string {
	b, _ := json.Marshal(o) // strings, and maps and lists of them, always marshal
	return string(b)
}

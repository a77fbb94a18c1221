package watch

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// now is the time of every exchange.
var now = time.Unix(0, 0)

// message reads one message of the tests' language: U is the user's, A a text of the
// assistant, Cf1 its call of f with the id 1, Cf its call without an id, Cf1+g2 two
// calls, R a result; _ stands for a space.
func message(word string) wire.Message {
	rest := strings.ReplaceAll(word[1:], "_", " ")
	switch word[0] {
	case 'U':
		return wire.Message{Role: wire.User, Text: rest}
	case 'A':
		return wire.Message{Role: wire.Assistant, Text: rest}
	case 'R':
		return wire.Message{Role: wire.Tool, Text: rest}
	}
	m := wire.Message{Role: wire.Assistant}
	for _, call := range strings.Split(rest, "+") {
		m.Calls = append(m.Calls, wire.Call{Name: call[:1], ID: call[1:], Args: "{}"})
	}
	return m
}

// turn reads one exchange: messages, and after > the reply; ! stands for a failure.
// Words before the messages: id=, previous=, stored=, system=.
func turn(t *testing.T, line string) *wire.Turn {
	t.Helper()
	asked, answered, ok := strings.Cut(line, ">")
	if !ok {
		t.Fatalf("%q has no >", line)
	}
	out := &wire.Turn{Model: "m"}
	for _, word := range strings.Fields(asked) {
		switch key, value, _ := strings.Cut(word, "="); key {
		case "id":
			out.ID = value
		case "previous":
			out.Previous = value
		case "stored":
			out.Stored = value
		case "system":
			out.System = strings.ReplaceAll(value, "_", " ")
		default:
			out.Messages = append(out.Messages, message(word))
		}
	}
	switch reply := strings.TrimSpace(answered); reply {
	case "!":
	case "pending":
		out.Pending = true
	default:
		m := message(reply)
		out.Reply = &m
	}
	return out
}

// said writes messages in the tests' language.
func said(messages []wire.Message) string {
	var words []string
	for _, m := range messages {
		word := map[wire.Role]string{wire.User: "U", wire.Assistant: "A", wire.Tool: "R"}[m.Role] + m.Text
		if len(m.Calls) > 0 {
			var calls []string
			for _, c := range m.Calls {
				calls = append(calls, c.Name+c.ID)
			}
			word = "C" + strings.Join(calls, "+")
		}
		words = append(words, strings.ReplaceAll(word, " ", "_"))
	}
	return strings.Join(words, " ")
}

// add adds a turn to a linker.
func add(l *linker, in string, turn *wire.Turn) *conversation {
	keys := make([]wire.Key, len(turn.Messages))
	for i := range turn.Messages {
		keys[i] = wire.KeyOf(&turn.Messages[i])
	}
	return l.add(in, turn, keys, now, now)
}

// chinese is a text of 105 bytes without a space.
const chinese = "到目前为止函数已经被调用了两次它说三个测试当中有两个失败了所以还要继续下去"

const summary = "The_user_wants_the_tests_to_pass._So_far_f_was_called_twice_and_said_that_two_of_three_fail."

// TestLink gives exchanges, each with the number of the conversation that it must
// belong to (0 = none), and what the conversations must say at the end.
func TestLink(t *testing.T) {
	tests := []struct {
		name  string
		turns []string
		want  []string
		tries int
		short int
	}{
		{"one run", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cg2", "1 Uhi Cf1 Ra Cg2 Rb > Adone"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Adone"}, 0, 0},
		{"a second user message", []string{"1 Uhi > Ayes", "1 Uhi Ayes Umore > Cf1", "1 Uhi Ayes Umore Cf1 Ra > Adone"},
			[]string{"Uhi Ayes Umore Cf1 Ra Adone"}, 0, 0},
		{"two agents with one system prompt, alternating", []string{"1 system=S Uone > Cf1", "2 system=S Utwo > Cf2", "1 system=S Uone Cf1 Ra > Adone", "2 system=S Utwo Cf2 Ra > Adone"},
			[]string{"Uone Cf1 Ra Adone", "Utwo Cf2 Ra Adone"}, 0, 0},
		{"two agents in step that differ in their answers only", []string{"1 Uhi > Cf1", "1 Uhi > Cf2", "1 Uhi Cf2 Ra > Cg3", "2 Uhi Cf1 Ra > Cg4", "1 Uhi Cf2 Ra Cg3 Rb > Adone", "2 Uhi Cf1 Ra Cg4 Rb > Adone"},
			[]string{"Uhi Cf2 Ra Cg3 Rb Adone", "Uhi Cf1 Ra Cg4 Rb Adone"}, 0, 0},
		{"a failed request that is sent again", []string{"0 Uhi > !", "1 Uhi > Cf1", "1 Uhi Cf1 Ra > !", "1 Uhi Cf1 Ra > !", "1 Uhi Cf1 Ra > Adone"},
			[]string{"Uhi Cf1 Ra Adone"}, 0, 0},
		{"a last request without an answer", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > !"},
			[]string{"Uhi Cf1 Ra"}, 0, 0},
		{"an answered request that is sent again: the last answer counts", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cg2", "1 Uhi Cf1 Ra > Ch3", "1 Uhi Cf1 Ra Ch3 Rb > Adone"},
			[]string{"Uhi Cf1 Ra Ch3 Rb Adone"}, 1, 0},
		{"… or the first, if the agent goes on from it", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cg2", "1 Uhi Cf1 Ra > Ch3", "1 Uhi Cf1 Ra Cg2 Rb > Adone"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Adone"}, 1, 0},
		{"the same task again after a run", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Adone", "2 Uhi > Cf3", "2 Uhi Cf3 Ra > Aend"},
			[]string{"Uhi Cf1 Ra Adone", "Uhi Cf3 Ra Aend"}, 0, 0},
		{"a branch off an earlier reply", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cg2", "1 Uhi Cf1 Ra Cg2 Rb > Adone", "2 Uhi Cf1 Rother > Ch3", "2 Uhi Cf1 Rother Ch3 Rc > Aend"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Adone", "Uhi Cf1 Rother Ch3 Rc Aend <1:2"}, 0, 0},
		{"an equal request after the run has gone on is a branch", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cg2", "1 Uhi Cf1 Ra Cg2 Rb > Adone", "2 Uhi Cf1 Ra > Ch3"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Adone", "Uhi Cf1 Ra Ch3 <1:2"}, 0, 0},
		{"a history without its oldest messages", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cg2", "1 Uhi Cg2 Rb > Ch3", "1 Uhi Cg2 Rb Ch3 Rc > Adone"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Ch3 Rc Adone"}, 0, 1},
		{"… of which the first user message is gone too", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cg2", "1 Cg2 Rb > Ch3"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Ch3"}, 0, 1},
		{"an old result that is cleared", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cg2", "1 Uhi Cf1 Rcleared Cg2 Rb > Ch3"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Ch3"}, 0, 1},
		{"a shortened history without ids", []string{"1 Uhi > Cf", "1 Uhi Cf Ra > Cg", "2 Uother > Cg", "1 Uhi Cg Rb > Ch"},
			[]string{"Uhi Cf Ra Cg Rb Ch", "Uother Cg"}, 0, 1},
		{"a shortened request that is sent again", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cg2", "1 Uhi Cg2 Rb > Ch3", "1 Uhi Cg2 Rb > Ci4", "1 Uhi Cg2 Rb Ci4 Rc > Adone"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Ci4 Rc Adone"}, 1, 1},
		{"a summary in place of the history", []string{"1 system=S Uhi > Cf1", "1 system=S Uhi Cf1 Ra > Cf2", "1 system=S Uhi Cf1 Ra Cf2 Rb Usummarise > A" + summary,
			"1 system=S Usummary:_" + summary + " > Cf3", "1 system=S Usummary:_" + summary + " Cf3 Rc > Adone"},
			[]string{"Uhi Cf1 Ra Cf2 Rb Cf3 Rc Adone"}, 0, 1},
		{"a summary of few words", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra > Cf2", "1 Uhi Cf1 Ra Cf2 Rb Usummarise > A" + chinese, "1 Uso:" + chinese + " > Cf3"},
			[]string{"Uhi Cf1 Ra Cf2 Rb Cf3"}, 0, 1},
		{"… glued to other words", []string{"1 Uhi > Cf1", "1 Uhi Cf1 Ra Usummarise > A" + summary, "1 U(" + summary + ") > Cf3"},
			[]string{"Uhi Cf1 Ra Cf3"}, 0, 1},
		{"an answer that another agent is given", []string{"1 system=S Uhi > Cf1", "1 system=S Uhi Cf1 Ra > A" + summary, "2 system=other Ucheck:_" + summary + " > Adone"},
			[]string{"Uhi Cf1 Ra A" + summary, "Ucheck:_" + summary + " Adone"}, 0, 0},
		{"continued by the response's id", []string{"1 id=r1 Uhi > Cf1", "1 id=r2 previous=r1 Ra > Cg2", "2 id=r3 previous=r1 Rother > Ch3", "1 id=r4 previous=r2 Rb > Adone"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Adone", "Uhi Cf1 Rother Ch3 <1:2"}, 0, 0},
		{"a response asked for again by its id", []string{"1 id=r1 Uhi > Cf1", "1 id=r2 previous=r1 Ra > Cg2", "1 id=r3 previous=r1 Ra > Ch3", "1 id=r4 previous=r3 Rb > Adone"},
			[]string{"Uhi Cf1 Ra Ch3 Rb Adone"}, 1, 0},
		{"a conversation that the API keeps", []string{"1 stored=k Uhi > Cf1", "1 stored=k Ra > Cg2", "2 stored=l Uhi > Cf1", "1 stored=k Rb > Adone"},
			[]string{"Uhi Cf1 Ra Cg2 Rb Adone", "Uhi Cf1"}, 0, 0},
		{"calls under ids of the agent's own", []string{"1 Uhi > Cf", "1 Uhi Cf7 Ra > Cg", "1 Uhi Cf7 Ra Cg8 Rb > Adone"},
			[]string{"Uhi Cf Ra Cg Rb Adone"}, 0, 0},
		{"no messages at all", []string{"1 > Ahi", "1 > Ayes"}, []string{"Ayes"}, 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var all []*conversation
			l := newLinker(func(c *conversation) { all = append(all, c) })
			for _, line := range tt.turns {
				want, rest, _ := strings.Cut(line, " ")
				got := 0
				if c := add(l, "", turn(t, rest)); c != nil {
					got = c.number
				}
				if fmt.Sprint(got) != want {
					t.Errorf("%s: conversation %d", line, got)
				}
			}
			var got []string
			tries, short := 0, 0
			for _, c := range all {
				words := said(c.log())
				if c.from != nil {
					words += fmt.Sprintf(" <%d:%d", c.from.of.number, len(c.from.log()))
				}
				got = append(got, words)
				tries, short = tries+c.tries, short+c.shortened
			}
			if a, b := strings.Join(got, "\n"), strings.Join(tt.want, "\n"); a != b {
				t.Errorf("got\n%s\nwant\n%s", a, b)
			}
			if tries != tt.tries || short != tt.short {
				t.Errorf("%d tries, %d times shortened; want %d, %d", tries, short, tt.tries, tt.short)
			}
		})
	}
}

// TestScopes checks that requests of two scopes never belong together.
func TestScopes(t *testing.T) {
	n := 0
	l := newLinker(func(*conversation) { n++ })
	for _, in := range []string{"a", "b"} {
		add(l, in, turn(t, "Uhi > Cf1"))
		add(l, in, turn(t, "Uhi Cf1 Ra > Adone"))
	}
	if n != 2 {
		t.Errorf("%d conversations, want 2", n)
	}
}

// TestFetched checks that an answer that is fetched later takes its place, once.
func TestFetched(t *testing.T) {
	var all []*conversation
	l := newLinker(func(c *conversation) { all = append(all, c) })
	add(l, "", turn(t, "id=r1 Uhi > pending"))
	fetched := turn(t, "id=r1 > Cf1")
	fetched.Fetched = true
	if c := add(l, "", fetched); c == nil || said(c.log()) != "Uhi Cf1" {
		t.Error("the answer is not in its place")
	}
	if add(l, "", fetched) != nil {
		t.Error("an answer that is fetched again counts again")
	}
	add(l, "", turn(t, "id=r2 previous=r1 Ra > Adone"))
	if len(all) != 1 || said(all[0].log()) != "Uhi Cf1 Ra Adone" {
		t.Errorf("%d conversations", len(all))
	}
}

// TestForget checks that a conversation that is forgotten leaves what another one has
// branched off, which goes on, and that nothing is left when both are.
func TestForget(t *testing.T) {
	var all []*conversation
	l := newLinker(func(c *conversation) { all = append(all, c) })
	add(l, "", turn(t, "id=r1 Uhi > Cf1"))
	add(l, "", turn(t, "id=r2 Uhi Cf1 Ra > A"+summary))
	add(l, "", turn(t, "stored=k Uhi Cf1 Rb > Cg2")) // the branch
	l.forget(all[0])
	add(l, "", turn(t, "Uhi Cf1 Rb Cg2 Rc > Ch3"))
	if len(all) != 2 || said(all[1].log()) != "Uhi Cf1 Rb Cg2 Rc Ch3" || all[1].shortened != 0 {
		t.Errorf("%d conversations, the branch says %s", len(all), said(all[1].log()))
	}
	add(l, "", turn(t, "Uhi Cf1 Ra A"+summary+" Umore > Adone"))
	if len(all) != 3 {
		t.Error("a conversation goes on after it was forgotten")
	}
	add(l, "", turn(t, "id=r3 Uother > Cf4"))
	add(l, "", turn(t, "id=r4 previous=r3 Rd > pending"))
	l.forget(all[3])
	fetched := turn(t, "id=r4 > Cf5")
	fetched.Fetched = true
	if c := add(l, "", fetched); len(all) != 5 || c != all[4] {
		t.Error("an answer that is fetched later goes to a conversation that is forgotten")
	}
	s := l.scopes[""]
	for _, c := range []*conversation{all[1], all[2], all[4]} {
		l.forget(c)
	}
	if n := len(s.entries.byFirst) + len(s.byID) + len(s.responses) + len(s.stored) + len(s.summaries) + s.tips.Len() + len(l.scopes); n != 0 {
		t.Errorf("%d things are left: %+v", n, s)
	}
}

// TestManyTries checks that of very many equal requests only the latest are remembered,
// and that all count.
func TestManyTries(t *testing.T) {
	var all []*conversation
	l := newLinker(func(c *conversation) { all = append(all, c) })
	for i := range 100 {
		add(l, "", turn(t, fmt.Sprintf("Uhi > Cf%d", i)))
	}
	if len(all) != 1 || all[0].tries != 99 || len(all[0].nodes) != remembered+1 || len(l.scopes[""].byID) != remembered+1 {
		t.Errorf("%d conversations, %d tries, %d remembered", len(all), all[0].tries, len(all[0].nodes))
	}
	add(l, "", turn(t, "Uhi Cf90 Ra > Adone"))
	if len(all) != 1 || said(all[0].log()) != "Uhi Cf90 Ra Adone" {
		t.Errorf("the agent does not go on from one of the latest answers: %s", said(all[0].log()))
	}
}

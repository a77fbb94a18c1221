package loop_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
)

func mRef(n, try int) Ref { return Ref{Kind: RefModel, N: n, Try: try} }
func cRef(n, try int) Ref { return Ref{Kind: RefCall, N: n, Try: try} }

// An answerer says what comes of an effect: inputs, each with its instant.
type answerer func(now time.Duration, e *Effect) []Input

// drive plays a session in a world that keeps what is to come in order of time,
// those of one instant in the order in which they were announced. It ends when
// nothing is to come and the machine waits for no instant.
func drive(t *testing.T, m *Machine, answer answerer) (trace Trace) {
	t.Helper()
	pending := []Input{m.Begin()}
	for steps := 0; ; steps++ {
		if steps > 5000 {
			t.Fatalf("the session does not end; its trace begins\n%s", trace[:20])
		}
		wake, armed := m.Wake()
		var in Input
		switch {
		case armed && (len(pending) == 0 || wake <= pending[0].At):
			in = Input{At: wake, Kind: Tick}
		case len(pending) == 0:
			return trace
		default:
			in, pending = pending[0], pending[1:]
		}
		trace.Append(in, m.Step(in))
		for i := range trace[len(trace)-1].Effects {
			pending = append(pending, answer(in.At, &trace[len(trace)-1].Effects[i])...)
		}
		slices.SortStableFunc(pending, func(a, b Input) int { return cmp.Compare(a.At, b.At) })
	}
}

// toyTools are the tools of a toy world, each named by a letter.
//
//	a b c  answer "the same"        v  another text each time
//	f      no such file             g  the same, and the text has the call's number
//	e      a text that is an error  q  crashes
//	r      503, each time           h  crashes, and falls back to a
//	t      hangs until cancelled    s  takes another second to end then
//	p      is asked for, allowed    x  is asked for, denied
//	w      needs a path             m  needs two fields that can be inferred
//	y      breaks its output        l  offers another page each time
//	z      is a sub-run
func toyTools() (specs []ToolSpec) {
	for _, letter := range "abcvfgeqrhtspxwmylz" {
		spec := ToolSpec{Name: string(letter)}
		switch letter {
		case 'p', 'x':
			spec.Permission = AskCall
		case 'h':
			spec.Fallback = "a"
		case 'w':
			spec.Input = "path"
		case 'm':
			spec.Input = "i=1,j=2"
		case 'y':
			spec.Output = "total"
		case 'z':
			spec.SubRun = true
		}
		specs = append(specs, spec)
	}
	return specs
}

// A toy is a world with a script. Each word of it is one reply; | begins the
// next run. Everything takes a second; each reply reads ten tokens and costs ten
// nano-dollars.
//
//	.    the answer ok       _  an empty reply    ~  a text that was cut off
//	,    the answer not yet, in which the critic finds a gap
//	!w   fails with 503 once more before it is w
//	+w   sends a piece after half a second, and then is w
//	^    the request is refused, as it is too long for the model
//	abc  one call for each letter, with the arguments {"x":1}
//
// A letter in upper case has new arguments each time. 0 is a call without a
// name, u one of an unknown tool, j one with broken arguments, k one of a that
// writes the same arguments now in this order, now in that; l hands back the
// page that the call before was offered.
type toy struct {
	replies []string
	runs    int // further messages
	calls   int
	slow    Ref // the try of s that runs
}

func newToy(script string) *toy {
	return &toy{replies: strings.Fields(strings.ReplaceAll(script, "|", "")), runs: strings.Count(script, "|")}
}

func (w *toy) answer(now time.Duration, e *Effect) []Input {
	in := Input{At: now + time.Second, Ref: e.Ref}
	switch e.Kind {
	case AskModel:
		return w.reply(in, e)
	case OpenGate:
		in.Kind, in.Allow = GateAnswer, e.Name != "x"
	case AskUser:
		in.Kind = UserReply
	case CallTool:
		switch e.Name {
		case "s":
			w.slow = e.Ref
			return nil
		case "t":
			return nil
		}
		in.Kind = ToolResult
		in.Code, in.Text = toyResult(e)
	case CancelTool:
		in.Kind, in.Code = ToolResult, Cancelled
		if e.Ref != w.slow {
			in.At = now
		}
	case Halt:
		if w.runs == 0 {
			return nil
		}
		w.runs--
		in.Kind, in.Text = UserMessage, "more"
	default:
		return nil
	}
	return []Input{in}
}

func toyResult(e *Effect) (Code, string) {
	switch e.Name {
	case "v":
		return None, fmt.Sprintf("result %d", e.Ref.N)
	case "f":
		return NotFound, "no such file"
	case "g":
		return NotFound, fmt.Sprintf("failed %d", e.Ref.N)
	case "e":
		return None, "Error: broken"
	case "q", "h":
		return ToolBug, "crashed"
	case "r":
		return RetryableServer, "503"
	case "l":
		return None, fmt.Sprintf(`{"next_page":%d}`, e.Ref.N+100)
	}
	return None, "the same"
}

// reply answers a request with the word for it. What is asked for on top gets
// the answer ok.
func (w *toy) reply(in Input, e *Effect) []Input {
	word := "."
	if n := e.Ref.N - 1; n < len(w.replies) && e.For == ForReply {
		word = w.replies[n]
	}
	rest := strings.TrimLeft(word, "!")
	if e.Ref.Try <= len(word)-len(rest) {
		in.Kind, in.Status, in.Text = ModelFailure, 503, "overloaded"
		return []Input{in}
	}
	if rest == "^" {
		in.Kind, in.Status, in.Text = ModelFailure, 400, "prompt is too long: 210000 tokens > 200000 maximum"
		return []Input{in}
	}
	var all []Input
	if after, ok := strings.CutPrefix(rest, "+"); ok {
		rest = after
		all = append(all, Input{At: in.At - 500*time.Millisecond, Kind: ModelDelta, Ref: e.Ref})
	}
	in.Kind, in.TokensIn, in.Cost, in.Finish = ModelReply, 10, 10, FinishStop
	switch rest {
	case ".":
		in.Text = "ok"
	case ",":
		in.Text = "not yet"
	case "_":
	case "~":
		in.Text, in.Finish = "half", FinishLength
	default:
		in.Text, in.Finish = fmt.Sprintf("reply %d", e.Ref.N), FinishToolCalls
		for _, letter := range rest {
			in.Calls = append(in.Calls, w.call(letter))
		}
	}
	return append(all, in)
}

func (w *toy) call(letter rune) AskedCall {
	w.calls++
	c := AskedCall{ID: fmt.Sprintf("id%d", w.calls), Name: strings.ToLower(string(letter)), Args: `{"x":1}`}
	switch letter {
	case '0':
		c.Name = ""
	case 'j':
		c.Name, c.Args = "a", "{"
	case 'k':
		c.Name, c.Args = "a", [2]string{`{"x":1,"y":2}`, `{"y":2,"x":1}`}[w.calls%2]
	case 'l':
		c.Args = fmt.Sprintf(`{"page":%d}`, w.calls+99)
	}
	if letter >= 'A' && letter <= 'Z' {
		c.Args = fmt.Sprintf(`{"x":%d}`, w.calls)
	}
	return c
}

// playToy plays a script under a config, in a session that is itself a sub-run.
func playToy(t *testing.T, cfg Config, script string) Trace {
	t.Helper()
	task := Task{Text: "go", Depth: 1, Schemas: fieldLists{}}
	if strings.Contains(script, ",") {
		task.Critic, task.Constraints = RuleCritic{}, []Constraint{{Text: "Finish it.", Omits: "not yet"}}
	}
	m, err := New(cfg, task, toyTools())
	if err != nil {
		t.Fatal(err)
	}
	return drive(t, m, newToy(script).answer)
}

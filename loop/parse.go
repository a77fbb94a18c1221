package loop

import (
	"strconv"
	"strings"
)

// A TraceError says where a text is not the text of a trace, and why.
type TraceError struct {
	Line    int // from 1
	Column  int // in bytes, from 1
	Problem string
}

func (e *TraceError) Error() string {
	return "line " + strconv.Itoa(e.Line) + ", column " + strconv.Itoa(e.Column) + ": " + e.Problem
}

// ParseTrace reads the text form of a trace. It accepts only canonical text, so
// [Trace.String] of the result returns text again. "" is the empty trace. An error
// is a [*TraceError].
func ParseTrace(text string) (Trace, error) {
	var t Trace
	var canonical []byte
	for n := 1; text != ""; n++ {
		line, rest, whole := strings.Cut(text, "\n")
		l := traceLine{text: line}
		if isEffect := strings.HasPrefix(strings.TrimLeft(line, " "), ">"); !isEffect {
			path, in := l.input()
			t = append(t, Record{Path: path, In: in})
			canonical = appendInput(canonical[:0], path, &in)
		} else if len(t) == 0 {
			l.fail(0, "expected an input: effects follow what they answer")
		} else {
			e := l.effect()
			r := &t[len(t)-1]
			r.Effects = append(r.Effects, e)
			canonical = appendEffect(canonical[:0], r.Path, &e)
		}
		l.compare(canonical)
		if !whole {
			l.fail(len(line), "expected a newline: the text is cut off here")
		}
		if l.err != nil {
			l.err.Line = n
			return nil, l.err
		}
		text = rest
	}
	return t, nil
}

func (l *traceLine) input() (path Path, in Input) {
	l.skip(" ")
	in.At = l.seconds()
	l.expect(' ')
	path = l.path()
	in.Kind = InputKind(l.word(inputWords[:]))
	var tried bool
	if in.Ref, tried = l.number(); in.Ref.Kind == RefModel && !tried {
		in.Ref.Try = 1
	}
	for l.next() {
		l.inputField(&in)
	}
	return path, in
}

func (l *traceLine) inputField(in *Input) {
	switch key := l.key(); key {
	case "ok", "deny": // the zero values of Code and Allow
	case "allow":
		in.Allow = true
	case "code=":
		in.Code = Code(l.value())
	case "status=":
		in.Status = int(l.integer())
	case "retry_after=":
		in.RetryAfter = l.seconds()
	case "text=":
		in.Text = l.value()
	case "call=":
		in.Calls = append(in.Calls, l.call())
	case "finish=":
		in.Finish = l.value()
	case "in=":
		in.TokensIn = l.integer()
	case "out=":
		in.TokensOut = l.integer()
	case "cost=":
		in.Cost = l.integer()
	case "asked=":
		in.Asked = int(l.integer())
	case "used=":
		in.Used = int(l.integer())
	case "spawned=":
		in.Spawned = int(l.integer())
	case "args=":
		in.Args = l.value()
	case "result=":
		in.Result = l.value()
	case "system=":
		in.System = l.value()
	case "cause=":
		in.Cause = Cause(l.value())
	default:
		l.fail(l.field, "an input has no "+excerpt(key)+"; expected ok, allow, deny, code=, status=, retry_after=, text=, "+
			"call=, finish=, in=, out=, cost=, asked=, used=, spawned=, args=, result=, system= or cause=")
	}
}

func (l *traceLine) effect() (e Effect) {
	l.skip(" ")
	l.expect('>')
	l.expect(' ')
	l.path() // compare refuses another path than that of the input
	e.Kind = EffectKind(l.word(effectWords[:]))
	e.Ref, _ = l.number()
	switch {
	case e.Kind == CancelModel && e.Ref.Kind != RefModel:
		e.Kind = CancelTool
	case e.Kind == AskModel && e.Ref.Kind != RefModel:
		e.Kind = AskUser
	case e.Kind == Halt:
		e.Outcome = new(Outcome)
	}
	for l.next() {
		if e.Outcome != nil {
			l.outcomeField(e.Outcome)
		} else {
			l.effectField(&e)
		}
	}
	return e
}

func (l *traceLine) effectField(e *Effect) {
	switch key := l.key(); key {
	case "for=":
		e.For = Purpose(l.value())
	case "to=":
		e.To = int(l.integer())
	case "choice=":
		e.Choice = l.value()
	case "at=":
		e.At = GateKind(l.value())
	case "of=":
		e.Of, _ = l.ref()
	case "name=":
		e.Name = l.value()
	case "args=":
		e.Args = l.value()
	case "event=":
		e.Event = Event(l.value())
	case "code=":
		e.Code = Code(l.value())
	case "why=":
		e.Why = Why(l.value())
	case "by=":
		e.By = l.value()
	case "text=":
		e.Text = l.value()
	default:
		l.fail(l.field, "an effect has no "+excerpt(key)+"; expected for=, to=, choice=, at=, of=, name=, args=, event=, code=, why=, by= or text=")
	}
}

func (l *traceLine) outcomeField(o *Outcome) {
	switch key := l.key(); key {
	case "stop=":
		o.Stop = Stop(l.value())
	case "end=":
		o.End = EndState(l.value())
	case "reason=":
		o.Reason = l.value()
	case "message=":
		o.Message = l.value()
	case "answer=":
		o.Answer = l.value()
	case "incomplete":
		o.Incomplete = true
	case "turns=":
		o.Turns = int(l.integer())
	case "model_calls=":
		o.ModelCalls = int(l.integer())
	case "asked=":
		o.Asked = int(l.integer())
	case "calls=":
		o.Calls = int(l.integer())
	case "sub_asked=":
		o.SubAsked = int(l.integer())
	case "sub_calls=":
		o.SubCalls = int(l.integer())
	case "spawns=":
		o.Spawns = int(l.integer())
	case "tries=":
		o.Tries = int(l.integer())
	case "repairs=":
		o.Repairs = int(l.integer())
	case "repairs_ok=":
		o.RepairsOK = int(l.integer())
	case "errors=":
		o.Errors = int(l.integer())
	case "vetoed=":
		o.Vetoed = int(l.integer())
	case "nudges=":
		o.Nudges = int(l.integer())
	case "denied=":
		o.Denied = int(l.integer())
	case "invalid=":
		o.Invalid = int(l.integer())
	case "in=":
		o.TokensIn = l.integer()
	case "out=":
		o.TokensOut = l.integer()
	case "cost=":
		o.Cost = l.integer()
	case "elapsed=":
		o.Elapsed = l.seconds()
	default:
		l.fail(l.field, "a halt has no "+excerpt(key)+"; expected stop=, end=, reason=, message=, answer=, incomplete, "+
			"turns=, model_calls=, asked=, calls=, sub_asked=, sub_calls=, spawns=, tries=, repairs=, repairs_ok=, errors=, vetoed=, nudges=, denied=, invalid=, in=, out=, cost= or elapsed=")
	}
}

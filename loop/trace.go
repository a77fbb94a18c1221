package loop

import (
	"slices"
	"strconv"
	"time"
)

// A Record is one step of a machine: an input, and the effects that it led to.
type Record struct {
	Path    Path // whose machine: "" = that of the session that the trace is of
	In      Input
	Effects []Effect
}

// A Trace holds the steps of a session in order: all inputs and effects. Its text
// form ([Trace.String], [ParseTrace]) is canonical: equal traces have equal texts,
// and a text parses back to its trace.
//
// Where a sub-run is a session of its own, its steps stand in the same trace, between
// those of the session that called it, in the order of time. Each has a [Path]. Its
// lines are indented by two spaces for each session around it, and name the path:
//
//	1.000s reply m1 call=call_1:hotels("{}") finish=tool_calls
//	       > call c1#1 name=hotels args="{}"
//	1.000s   c1#1/ started text="{}"
//	         > c1#1/ ask m1#1 for=reply to=1
//	3.000s   c1#1/ reply m1 text="Two rooms." finish=stop
//	         > c1#1/ halt stop=done end=DONE answer="Two rooms." turns=1 model_calls=1 elapsed=2s
//	3.000s result c1#1 ok text="Two rooms."
type Trace []Record

// Append appends a step. It copies effects, without the fields that are not part of
// a trace.
func (t *Trace) Append(in Input, effects []Effect) { t.AppendSub("", in, effects) }

// AppendSub is like [Trace.Append] for a step of the session with that path.
func (t *Trace) AppendSub(path Path, in Input, effects []Effect) {
	var kept []Effect
	if n := len(*t); n < cap(*t) && len((*t)[:n+1][n].Effects) == 0 {
		kept = (*t)[:n+1][n].Effects // emptied by Recycle
	}
	kept = append(kept, effects...)
	for i := range kept {
		e := &kept[i]
		e.System, e.History, e.Budget = "", nil, 0
		e.AskedLeft, e.CallsLeft, e.SpawnsLeft, e.TokensLeft, e.CostLeft = 0, 0, 0, 0, 0
	}
	*t = append(*t, Record{Path: path, In: in, Effects: kept})
}

// Recycle empties the trace and keeps its memory for the steps of another session.
// Its records and their parts must not be used afterwards.
func (t *Trace) Recycle() {
	for i, r := range *t {
		clear(r.Effects)
		(*t)[i] = Record{Effects: r.Effects[:0]}
	}
	*t = (*t)[:0]
}

// Map returns a copy of the trace with change applied to every text of a model, a
// tool or a user, in the order of the trace. It makes redacted copies. Names, ids,
// arguments and results are texts; stops, codes and numbers are not.
func (t Trace) Map(change func(string) string) Trace {
	mapped := make(Trace, len(t))
	for i := range t {
		mapped[i] = t[i].Map(change)
	}
	return mapped
}

// Map is like [Trace.Map] for one record.
func (r Record) Map(change func(string) string) Record {
	all := func(texts ...*string) {
		for _, t := range texts {
			if *t != "" {
				*t = change(*t)
			}
		}
	}
	in := &r.In
	all(&in.Text)
	in.Calls = slices.Clone(in.Calls)
	for i := range in.Calls {
		all(&in.Calls[i].ID, &in.Calls[i].Name, &in.Calls[i].Args)
	}
	all(&in.Finish, &in.Args, &in.Result, &in.System)
	r.Effects = slices.Clone(r.Effects)
	for i := range r.Effects {
		e := &r.Effects[i]
		all(&e.Choice, &e.Name, &e.Args, &e.By, &e.Text)
		if e.Outcome != nil {
			out := *e.Outcome
			all(&out.Reason, &out.Message, &out.Answer)
			e.Outcome = &out
		}
	}
	return r
}

// The words of a trace, by kind. The letter of the number that follows separates
// the two cancels and the two asks of effects.
var (
	inputWords = [...]string{
		Started: "started", UserMessage: "message", Steer: "steer", ModelDelta: "delta", ModelReply: "reply", ModelFailure: "failure",
		GateAnswer: "gate", UserReply: "answer", ToolResult: "result", Tick: "tick", Cancel: "cancel",
	}
	effectWords = [...]string{
		AskModel: "ask", CancelModel: "cancel", OpenGate: "gate", CallTool: "call", CancelTool: "cancel", AskUser: "ask",
		Put: "put", Drop: "drop", Note: "note", Halt: "halt",
	}
)

// String returns the text form of the trace, "" for an empty one.
func (t Trace) String() string { return string(t.AppendText(nil)) }

// AppendText appends the text form of the trace to dst. The texts of consecutive
// parts of a trace, joined, are the text of the whole.
func (t Trace) AppendText(dst []byte) []byte {
	for i := range t {
		dst = t[i].appendLines(dst)
	}
	return dst
}

// String returns the record's lines in the text form of a trace: one for the input,
// then one for each effect.
func (r Record) String() string { return string(r.appendLines(nil)) }

// AppendText appends the record's lines to dst, which allows writing a trace step by
// step.
func (r Record) AppendText(dst []byte) []byte { return r.appendLines(dst) }

func (r *Record) appendLines(dst []byte) []byte {
	dst = append(appendInput(dst, r.Path, &r.In), '\n')
	for i := range r.Effects {
		dst = append(appendEffect(dst, r.Path, &r.Effects[i]), '\n')
	}
	return dst
}

// appendInput appends the line of an input. It writes every field that is not zero,
// since the fields that a kind does not use are zero.
func appendInput(b []byte, p Path, in *Input) []byte {
	b = append(appendTime(b, in.At), ' ')
	if p != "" {
		b = append(append(appendIndent(b, p), p...), ' ')
	}
	b = appendWord(b, inputWords[:], int(in.Kind))
	if in.Ref.Kind != RefNone {
		b = appendInputRef(append(b, ' '), in.Ref)
	}
	switch {
	case in.Allow:
		b = append(b, " allow"...)
	case in.Kind == GateAnswer, in.Kind == UserReply:
		b = append(b, " deny"...)
	case in.Kind == ToolResult && in.Code == None:
		b = append(b, " ok"...)
	}
	b = appendText(b, " code=", string(in.Code))
	b = appendInt(b, " status=", int64(in.Status))
	b = appendSpan(b, " retry_after=", in.RetryAfter)
	b = appendText(b, " text=", in.Text)
	for i := range in.Calls {
		b = appendCall(b, &in.Calls[i])
	}
	b = appendText(b, " finish=", in.Finish)
	b = appendInt(b, " in=", in.TokensIn)
	b = appendInt(b, " out=", in.TokensOut)
	b = appendInt(b, " cost=", in.Cost)
	b = appendInt(b, " asked=", int64(in.Asked))
	b = appendInt(b, " used=", int64(in.Used))
	b = appendInt(b, " spawned=", int64(in.Spawned))
	b = appendText(b, " args=", in.Args)
	b = appendText(b, " result=", in.Result)
	b = appendText(b, " system=", in.System)
	return appendText(b, " cause=", string(in.Cause))
}

// appendEffect appends the line of an effect, with every field that is not zero.
func appendEffect(b []byte, p Path, e *Effect) []byte {
	b = append(b, "          "...)
	if p == "" {
		b = append(b, "> "...)
	} else {
		b = append(append(append(appendIndent(b, p), "> "...), p...), ' ')
	}
	b = appendWord(b, effectWords[:], int(e.Kind))
	if e.Ref.Kind != RefNone {
		b = e.Ref.append(append(b, ' '))
	}
	b = appendText(b, " for=", string(e.For))
	b = appendInt(b, " to=", int64(e.To))
	b = appendText(b, " choice=", e.Choice)
	b = appendText(b, " at=", string(e.At))
	if e.Of.Kind != RefNone {
		b = e.Of.append(append(b, " of="...))
	}
	b = appendText(b, " name=", e.Name)
	b = appendText(b, " args=", e.Args)
	b = appendText(b, " event=", string(e.Event))
	b = appendText(b, " code=", string(e.Code))
	b = appendText(b, " why=", string(e.Why))
	b = appendText(b, " by=", e.By)
	b = appendText(b, " text=", e.Text)
	if e.Outcome != nil {
		b = appendOutcome(b, e.Outcome)
	}
	return b
}

// appendIndent appends two spaces for each session around the one with that path.
func appendIndent(b []byte, p Path) []byte {
	for range p.Depth() {
		b = append(b, "  "...)
	}
	return b
}

// appendOutcome appends the fields of an outcome that are not zero.
func appendOutcome(b []byte, o *Outcome) []byte {
	b = appendText(b, " stop=", string(o.Stop))
	b = appendText(b, " end=", string(o.End))
	b = appendText(b, " reason=", o.Reason)
	b = appendText(b, " message=", o.Message)
	b = appendText(b, " answer=", o.Answer)
	if o.Incomplete {
		b = append(b, " incomplete"...)
	}
	b = appendInt(b, " turns=", int64(o.Turns))
	b = appendInt(b, " model_calls=", int64(o.ModelCalls))
	b = appendInt(b, " asked=", int64(o.Asked))
	b = appendInt(b, " calls=", int64(o.Calls))
	b = appendInt(b, " sub_asked=", int64(o.SubAsked))
	b = appendInt(b, " sub_calls=", int64(o.SubCalls))
	b = appendInt(b, " spawns=", int64(o.Spawns))
	b = appendInt(b, " tries=", int64(o.Tries))
	b = appendInt(b, " repairs=", int64(o.Repairs))
	b = appendInt(b, " repairs_ok=", int64(o.RepairsOK))
	b = appendInt(b, " errors=", int64(o.Errors))
	b = appendInt(b, " vetoed=", int64(o.Vetoed))
	b = appendInt(b, " nudges=", int64(o.Nudges))
	b = appendInt(b, " denied=", int64(o.Denied))
	b = appendInt(b, " invalid=", int64(o.Invalid))
	b = appendInt(b, " in=", o.TokensIn)
	b = appendInt(b, " out=", o.TokensOut)
	b = appendInt(b, " cost=", o.Cost)
	return appendSpan(b, " elapsed=", o.Elapsed)
}

// appendWord appends the word of a kind, or ? for an unknown kind.
func appendWord(b []byte, words []string, kind int) []byte {
	if kind <= 0 || kind >= len(words) {
		return append(b, '?')
	}
	return append(b, words[kind]...)
}

// appendInputRef appends the reference of an input. Model inputs leave out #1, since
// most are of the first try.
func appendInputRef(b []byte, r Ref) []byte {
	switch {
	case r.Kind == RefModel && r.Try == 1:
		r.Try = 0
	case r.Kind == RefModel && r.Try == 0:
		return append(r.append(b), "#0"...)
	}
	return r.append(b)
}

// appendText appends a key and its value, or nothing if the value is empty.
func appendText(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	return appendValue(append(b, key...), value)
}

func appendInt(b []byte, key string, value int64) []byte {
	if value == 0 {
		return b
	}
	return strconv.AppendInt(append(b, key...), value, 10)
}

func appendSpan(b []byte, key string, value time.Duration) []byte {
	if value == 0 {
		return b
	}
	return appendSeconds(append(b, key...), value, 0)
}

// appendCall appends a call of a reply, call=id:name(args).
func appendCall(b []byte, call *AskedCall) []byte {
	b = appendValue(append(b, " call="...), call.ID)
	b = appendValue(append(b, ':'), call.Name)
	b = appendValue(append(b, '('), call.Args)
	return append(b, ')')
}

// appendTime appends an instant, right aligned to nine columns.
func appendTime(b []byte, at time.Duration) []byte {
	const columns = "         "
	start := len(b)
	b = appendSeconds(append(b, columns...), at, 3)
	spare := min(len(b)-start-len(columns), len(columns))
	return append(b[:start], b[start+spare:]...)
}

// appendSeconds appends a duration in exact seconds, with at least least decimals
// and no zeros after them.
func appendSeconds(b []byte, d time.Duration, least int) []byte {
	n := uint64(d)
	if d < 0 {
		b, n = append(b, '-'), -n
	}
	b = strconv.AppendUint(b, n/uint64(time.Second), 10)
	rest, decimals := n%uint64(time.Second), 9
	for ; decimals > least && rest%10 == 0; decimals-- {
		rest /= 10
	}
	if decimals > 0 {
		b = append(b, ".000000000"[:1+decimals]...)
		for i := len(b) - 1; rest > 0; i-- {
			b[i] = '0' + byte(rest%10)
			rest /= 10
		}
	}
	return append(b, 's')
}

// The classes of bytes in a value. Each later one rules out more of its forms.
const (
	bareByte   = 0
	plainText  = 1 << iota // printable ASCII
	doubleText             // a double quote
	escapeText             // a back quote, a backslash, or any other byte
)

var valueBytes = func() (class [256]byte) {
	for b := range class {
		switch {
		case 'A' <= b && b <= 'Z', 'a' <= b && b <= 'z', '0' <= b && b <= '9', b == '_', b == '-', b == '.':
			class[b] = bareByte
		case b == '"':
			class[b] = doubleText
		case ' ' <= b && b <= '~' && b != '`' && b != '\\':
			class[b] = plainText
		default:
			class[b] = escapeText
		}
	}
	return class
}()

// appendValue appends a value. It is bare if every byte allows that, in back quotes
// if it has double quotes and nothing to escape, and Go-quoted otherwise.
func appendValue(b []byte, s string) []byte {
	var has byte
	for i := range len(s) {
		has |= valueBytes[s[i]]
	}
	switch {
	case has&escapeText != 0:
		return strconv.AppendQuote(b, s)
	case has&doubleText != 0:
		return append(append(append(b, '`'), s...), '`')
	case has == bareByte && s != "" && s[0] != '.':
		return append(b, s...)
	}
	return append(append(append(b, '"'), s...), '"')
}

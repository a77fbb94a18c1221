package loop

import (
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func mRef(n, try int) Ref { return Ref{Kind: RefModel, N: n, Try: try} }
func cRef(n, try int) Ref { return Ref{Kind: RefCall, N: n, Try: try} }

// traceLines has every kind of input and effect, and every form of a value.
var traceLines = []struct {
	line string
	in   Input  // unless Kind is 0
	out  Effect // the effect of a tick at 0 otherwise
}{
	{line: `   0.000s started text="Summarise notes.txt"`, in: Input{Kind: Started, Text: "Summarise notes.txt"}},
	{line: `   0.000s started`, in: Input{Kind: Started}},
	{line: `  60.500s message text=next`, in: Input{At: 60500 * time.Millisecond, Kind: UserMessage, Text: "next"}},
	{line: `0.000000001s delta m2 text="a b"`, in: Input{At: 1, Kind: ModelDelta, Ref: mRef(2, 1), Text: "a b"}},
	{line: `   1.000s reply m1 text=Hi call=c_1:f("{}") call="":"f g"("") finish=tool_calls in=1 out=2 cost=3`,
		in: Input{At: time.Second, Kind: ModelReply, Ref: mRef(1, 1), Text: "Hi", Calls: []AskedCall{{"c_1", "f", "{}"}, {"", "f g", ""}},
			Finish: FinishToolCalls, TokensIn: 1, TokensOut: 2, Cost: 3}},
	{line: `   1.000s reply m1#2 call="a:b":"f("(` + "`{\"b\":\")\"}`" + `) in=-9223372036854775808 out=9223372036854775807`,
		in: Input{At: time.Second, Kind: ModelReply, Ref: mRef(1, 2), Calls: []AskedCall{{"a:b", "f(", `{"b":")"}`}},
			TokensIn: math.MinInt64, TokensOut: math.MaxInt64}},
	{line: `   2.000s failure m1 status=429 retry_after=5s text="slow down"`,
		in: Input{At: 2 * time.Second, Kind: ModelFailure, Ref: mRef(1, 1), Status: 429, RetryAfter: 5 * time.Second, Text: "slow down"}},
	{line: `   2.000s failure m1 retry_after=0.0005s`, in: Input{At: 2 * time.Second, Kind: ModelFailure, Ref: mRef(1, 1), RetryAfter: 500 * time.Microsecond}},
	{line: `   2.000s failure m1#0 retry_after=-90s`, in: Input{At: 2 * time.Second, Kind: ModelFailure, Ref: mRef(1, 0), RetryAfter: -90 * time.Second}},
	{line: `   2.010s gate g1 allow`, in: Input{At: 2010 * time.Millisecond, Kind: GateAnswer, Ref: Ref{Kind: RefGate, N: 1}, Allow: true}},
	{line: `2.123456s gate g1 deny text="not now"`, in: Input{At: 2123456 * time.Microsecond, Kind: GateAnswer, Ref: Ref{Kind: RefGate, N: 1}, Text: "not now"}},
	{line: `99999.000s result c1#1 ok text="a\nb"`, in: Input{At: 99999 * time.Second, Kind: ToolResult, Ref: cRef(1, 1), Text: "a\nb"}},
	{line: `9223372036.854775807s result c1#1 ok`, in: Input{At: math.MaxInt64, Kind: ToolResult, Ref: cRef(1, 1)}},
	{line: `  -0.250s result code=Timeout text=late`, in: Input{At: -250 * time.Millisecond, Kind: ToolResult, Code: Timeout, Text: "late"}},
	{line: `-9223372036.854775808s tick`, in: Input{At: math.MinInt64, Kind: Tick}},
	{line: `   2.500s answer q1 allow text=yes`, in: Input{At: 2500 * time.Millisecond, Kind: UserReply, Ref: Ref{Kind: RefQuestion, N: 1}, Allow: true, Text: "yes"}},
	{line: `   3.000s cancel`, in: Input{At: 3 * time.Second, Kind: Cancel}},
	{line: `   3.000s cancel cause=recording-ended`, in: Input{At: 3 * time.Second, Kind: Cancel, Cause: ByRecordingEnded}},

	{line: `          > ask m1#1 for=reply to=1`, out: Effect{Kind: AskModel, Ref: mRef(1, 1), For: ForReply, To: 1}},
	{line: `          > cancel m1#2 text="first token"`, out: Effect{Kind: CancelModel, Ref: mRef(1, 2), Text: "first token"}},
	{line: `          > gate g1 of=c1 name=rm args=` + "`{\"a\": 1}`", out: Effect{Kind: OpenGate, Ref: Ref{Kind: RefGate, N: 1}, Of: cRef(1, 0), Name: "rm", Args: `{"a": 1}`}},
	{line: `          > call c1#2 name=f args="{}"`, out: Effect{Kind: CallTool, Ref: cRef(1, 2), Name: "f", Args: "{}"}},
	{line: `          > cancel c1#1 text=timeout`, out: Effect{Kind: CancelTool, Ref: cRef(1, 1), Text: "timeout"}},
	{line: `          > ask q1 text="Go on?"`, out: Effect{Kind: AskUser, Ref: Ref{Kind: RefQuestion, N: 1}, Text: "Go on?"}},
	{line: `          > put c1 text="the same text"`, out: Effect{Kind: Put, Ref: cRef(1, 0), Text: "the same text"}},
	{line: `          > put c1 code=InvalidInput why=invalid text="Error: no"`, out: Effect{Kind: Put, Ref: cRef(1, 0), Code: InvalidInput, Why: InvalidArgs, Text: "Error: no"}},
	{line: `          > put u2 text=Go-on.`, out: Effect{Kind: Put, Ref: Ref{Kind: RefMessage, N: 2}, Text: "Go-on."}},
	{line: `          > drop m1`, out: Effect{Kind: Drop, Ref: mRef(1, 0)}},
	{line: `          > note c1#1 event=abandoned text=f`, out: Effect{Kind: Note, Ref: cRef(1, 1), Event: EventAbandoned, Text: "f"}},
	{line: `          > note event=ignored`, out: Effect{Kind: Note, Event: EventIgnored}},
	{line: `          > halt stop=done end=DONE answer=yes turns=1`, out: Effect{Kind: Halt, Outcome: &Outcome{Stop: StopDone, End: Done, Answer: "yes", Turns: 1}}},
	{line: `          > halt`, out: Effect{Kind: Halt, Outcome: &Outcome{}}},
	{line: `          > halt stop=s end=e reason=r message=m answer=a incomplete turns=1 model_calls=2 asked=3 calls=4 tries=5 errors=6 vetoed=7 ` +
		`denied=8 invalid=9 in=10 out=11 cost=12 elapsed=10.8s`,
		out: Effect{Kind: Halt, Outcome: &Outcome{Stop: "s", End: "e", Reason: "r", Message: "m", Answer: "a", Incomplete: true,
			Turns: 1, ModelCalls: 2, Asked: 3, Calls: 4, Tries: 5, Errors: 6, Vetoed: 7, Denied: 8, Invalid: 9,
			TokensIn: 10, TokensOut: 11, Cost: 12, Elapsed: 10800 * time.Millisecond}}},

	// Values.
	{line: `          > put text=-`, out: Effect{Kind: Put, Text: "-"}},
	{line: `          > put text=_9.-Az`, out: Effect{Kind: Put, Text: "_9.-Az"}},
	{line: `          > put text=".hidden"`, out: Effect{Kind: Put, Text: ".hidden"}},
	{line: `          > put text=" "`, out: Effect{Kind: Put, Text: " "}},
	{line: `          > put text="a=b"`, out: Effect{Kind: Put, Text: "a=b"}},
	{line: "          > put text=`say \"hi\" ~`", out: Effect{Kind: Put, Text: `say "hi" ~`}},
	{line: "          > put text=\"say \\\"hi\\\" `\"", out: Effect{Kind: Put, Text: "say \"hi\" `"}},
	{line: "          > put text=\"a`b\"", out: Effect{Kind: Put, Text: "a`b"}},
	{line: `          > put text="C:\\"`, out: Effect{Kind: Put, Text: `C:\`}},
	{line: `          > put text="{\"a\":\"\\n\"}"`, out: Effect{Kind: Put, Text: `{"a":"\n"}`}},
	{line: `          > put text="世界 é"`, out: Effect{Kind: Put, Text: "世界 é"}},
	{line: `          > put text="\x00\r\n\t\x1b[31m\x7f\u2028\u202e\ufeff"`, out: Effect{Kind: Put, Text: "\x00\r\n\t\x1b[31m\x7f\u2028\u202e\ufeff"}},
	{line: `          > put text="\xff\xc3� \xed\xa0\x80"`, out: Effect{Kind: Put, Text: "\xff\xc3\ufffd \xed\xa0\x80"}},
}

func TestTraceLines(t *testing.T) {
	for _, tt := range traceLines {
		r, text := Record{In: tt.in}, tt.line+"\n"
		if tt.in.Kind == 0 {
			r, text = Record{In: Input{Kind: Tick}, Effects: []Effect{tt.out}}, "   0.000s tick\n"+text
		}
		if got := r.String(); got != text {
			t.Errorf("format\n got %s\nwant %s", got, text)
		}
		got, err := ParseTrace(text)
		if err != nil {
			t.Errorf("ParseTrace(%q): %v", text, err)
		} else if want := (Trace{r}); !reflect.DeepEqual(got, want) {
			t.Errorf("ParseTrace(%q)\n got %+v\nwant %+v", text, got, want)
		}
	}
}

// The example of the package comment is a trace. Its lines stand two columns
// further left, as gofmt takes away what they are all indented by.
func TestTraceExample(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(source), "// # A trace\n")
	var text strings.Builder
	for line := range strings.Lines(section) {
		if example, ok := strings.CutPrefix(line, "//\t"); ok {
			text.WriteString("  " + example)
		} else if text.Len() > 0 {
			break
		}
	}
	const args = `{"path":"notes.txt"}`
	read := func(try int) Effect { return Effect{Kind: CallTool, Ref: cRef(1, try), Name: "read_file", Args: args} }
	want := Trace{
		{In: Input{Kind: Started, Text: "Summarise notes.txt"}, Effects: []Effect{{Kind: AskModel, Ref: mRef(1, 1), For: ForReply, To: 1}}},
		{In: Input{At: time.Second, Kind: ModelReply, Ref: mRef(1, 1), Text: "I will look.", Calls: []AskedCall{{"c_1", "read_file", args}},
			Finish: FinishToolCalls, TokensIn: 812, TokensOut: 33}, Effects: []Effect{read(1)}},
		{In: Input{At: 31 * time.Second, Kind: Tick}, Effects: []Effect{{Kind: CancelTool, Ref: cRef(1, 1), Text: "timeout"}}},
		{In: Input{At: 31 * time.Second, Kind: ToolResult, Ref: cRef(1, 1), Code: Cancelled, Text: "cancelled"}},
		{In: Input{At: 32 * time.Second, Kind: Tick}, Effects: []Effect{read(2)}},
		{In: Input{At: 32050 * time.Millisecond, Kind: ToolResult, Ref: cRef(1, 2), Text: "the same text"}, Effects: []Effect{
			{Kind: Put, Ref: cRef(1, 0), Text: "the same text"}, {Kind: AskModel, Ref: mRef(2, 1), For: ForReply, To: 3}}},
	}
	got, err := ParseTrace(text.String())
	if err != nil {
		t.Fatalf("%v in the example\n%s", err, text.String())
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	if want.String() != text.String() {
		t.Errorf("format\n got %s\nwant %s", want, text.String())
	}
}

// What belongs to the world is not in the text.
func TestTraceTextWithoutWorld(t *testing.T) {
	var tr Trace
	tr.Append(Input{Kind: Started, Text: "x"}, []Effect{
		{Kind: AskModel, Ref: mRef(1, 1), For: ForReply, To: 1, System: "s", History: []Message{{Text: "x"}}},
		{Kind: CallTool, Ref: cRef(1, 1), Name: "f", Args: "{}", Budget: time.Second},
	})
	const want = "   0.000s started text=x\n          > ask m1#1 for=reply to=1\n          > call c1#1 name=f args=\"{}\"\n"
	if got := tr.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	if got := (Trace{}).String(); got != "" {
		t.Errorf("an empty trace: got %q", got)
	}
}

// What no trace should hold is shown, and is not taken for something else.
func TestTraceOfUnknownKinds(t *testing.T) {
	r := Record{In: Input{Kind: 77, Text: "a"}, Effects: []Effect{{}, {Kind: Halt + 1}}}
	const want = "   0.000s ? text=a\n          > ?\n          > ?\n"
	if got := r.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := ParseTrace(want); err == nil {
		t.Error("ParseTrace takes it")
	}
}

func TestFormatAllocatesNothing(t *testing.T) {
	tr := benchmarkTrace()
	dst := make([]byte, 0, 1<<12)
	if got := testing.AllocsPerRun(100, func() { dst = tr.AppendText(dst[:0]) }); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}

// A recordMaker makes records that any hostile world might bring about.
type recordMaker struct{ rand *rand.Rand }

func (m recordMaker) text() string {
	words := []string{
		"", "", "a", "-", ".", " ", "\n", "\x00", "\"", "`", "\\", "\\n", "=", "(", ")", ":", "#", "> ", "\xff", "\xc3", "é", "世", "😀", "�", "\u2028",
		"\r", "\t", "\x1b[2J", "{\"a\":1}", "m1", "ok", "deny", " text=x", "\nx", "\xed\xa0\x80", "'", "${x}",
	}
	var s string
	for range m.rand.IntN(5) {
		s += words[m.rand.IntN(len(words))]
	}
	return s
}

func (m recordMaker) int() int64 {
	switch m.rand.IntN(4) {
	case 0:
		return int64(m.rand.Uint64())
	case 1:
		return []int64{math.MaxInt64, math.MinInt64, -1, 1e9, 1e6, 999999999}[m.rand.IntN(6)]
	case 2:
		return m.rand.Int64N(100)
	}
	return 0
}

func (m recordMaker) ref() Ref {
	kind := []RefKind{RefNone, RefModel, RefCall, RefGate, RefMessage, RefQuestion}[m.rand.IntN(6)]
	if kind == RefNone {
		return Ref{}
	}
	return Ref{Kind: kind, N: int(m.int()), Try: int(m.int()) * m.rand.IntN(2)}
}

func (m recordMaker) path() (p Path) {
	for range m.rand.IntN(3) {
		p = p.Sub(Ref{Kind: RefCall, N: int(m.int()), Try: int(m.int())})
	}
	return p
}

// input sets fields whatever the kind: what a world sets, a trace shows.
func (m recordMaker) input() Input {
	in := Input{
		At: time.Duration(m.int()), Kind: InputKind(1 + m.rand.IntN(int(Cancel))), Ref: m.ref(), Text: m.text(), Finish: m.text(),
		TokensIn: m.int(), TokensOut: m.int(), Cost: m.int(), Used: int(m.int()), Spawned: int(m.int()), Args: m.text(), Result: m.text(), System: m.text(), Code: Code(m.text()), Status: int(m.int()),
		RetryAfter: time.Duration(m.int()), Allow: m.rand.IntN(2) == 0, Cause: Cause(m.text()),
	}
	for range m.rand.IntN(3) {
		in.Calls = append(in.Calls, AskedCall{m.text(), m.text(), m.text()})
	}
	return in
}

func (m recordMaker) effect() Effect {
	e := Effect{
		Kind: EffectKind(1 + m.rand.IntN(int(Halt))), Ref: m.ref(), For: Purpose(m.text()), To: int(m.int()), At: GateKind(m.text()), Of: m.ref(),
		Name: m.text(), Args: m.text(), Event: Event(m.text()), Code: Code(m.text()), Why: Why(m.text()), By: m.text(), Text: m.text(),
		System: "s", History: []Message{{Text: "x"}}, Budget: time.Second, AskedLeft: 3, CallsLeft: -1, SpawnsLeft: 4, TokensLeft: 1, CostLeft: 2,
	}
	switch e.Kind {
	case CancelModel, AskModel:
		e.Ref.Kind = RefModel
	case CancelTool:
		e.Ref.Kind = RefCall
	case AskUser:
		e.Ref.Kind = RefQuestion
	case Halt:
		return Effect{Kind: Halt, Outcome: &Outcome{
			Stop: Stop(m.text()), End: EndState(m.text()), Reason: m.text(), Message: m.text(), Answer: m.text(), Incomplete: m.rand.IntN(2) == 0,
			Turns: int(m.int()), ModelCalls: int(m.int()), Asked: int(m.int()), Calls: int(m.int()), SubCalls: int(m.int()), Spawns: int(m.int()), Tries: int(m.int()), Repairs: int(m.int()), RepairsOK: int(m.int()), Errors: int(m.int()),
			Vetoed: int(m.int()), Nudges: int(m.int()), Denied: int(m.int()), Invalid: int(m.int()), TokensIn: m.int(), TokensOut: m.int(), Cost: m.int(),
			Elapsed: time.Duration(m.int()),
		}}
	}
	return e
}

func TestTraceRoundTrip(t *testing.T) {
	m := recordMaker{rand.New(rand.NewPCG(3, 4))}
	for range 2000 {
		var tr Trace
		var written []byte
		for range m.rand.IntN(4) {
			var effects []Effect
			for range m.rand.IntN(4) {
				effects = append(effects, m.effect())
			}
			tr.AppendSub(m.path(), m.input(), effects)
			written = tr[len(tr)-1].AppendText(written)
		}
		text := tr.String()
		if string(written) != text {
			t.Fatalf("record by record\n got %q\nwant %q", written, text)
		}
		back, err := ParseTrace(text)
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		if !reflect.DeepEqual(back, tr) {
			t.Fatalf("round trip of\n%s\n got %+v\nwant %+v", text, back, tr)
		}
	}
}

// benchmarkTrace is a turn with a call: 6 lines.
func benchmarkTrace() Trace {
	return Trace{
		{In: Input{At: 2 * time.Second, Kind: ModelReply, Ref: mRef(7, 1), Text: "I will look at the next file.",
			Calls: []AskedCall{{"call_7", "read_file", `{"path":"src/app/main.go","line":1234,"recursive":true,"pattern":"func Main\\(","note":"first line"}`}}, Finish: FinishToolCalls, TokensIn: 812, TokensOut: 33, Cost: 1_200_000},
			Effects: []Effect{{Kind: CallTool, Ref: cRef(7, 1), Name: "read_file", Args: `{"path":"notes.txt"}`}}},
		{In: Input{At: 2200 * time.Millisecond, Kind: ToolResult, Ref: cRef(7, 1), Text: "the text of the file"},
			Effects: []Effect{{Kind: Put, Ref: cRef(7, 0), Text: "the text of the file"}, {Kind: AskModel, Ref: mRef(8, 1), For: ForReply, To: 15}}},
		{In: Input{At: 2300 * time.Millisecond, Kind: Tick}},
	}
}

func BenchmarkFormat(b *testing.B) {
	tr := benchmarkTrace()
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst = tr.AppendText(dst[:0])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/6, "ns/line")
}

// TestRecycle: a trace that is used again has nothing of the session before, and a
// trace that was not recycled keeps what a copy of it shares.
func TestRecycle(t *testing.T) {
	step := func(trace *Trace, text string, effects int) {
		trace.Append(Input{Kind: Tick, Text: text}, slices.Repeat([]Effect{{Kind: Note, Text: text}}, effects))
	}
	var used, fresh Trace
	for range 3 {
		step(&used, "before", 2)
	}
	used.Recycle()
	for _, trace := range []*Trace{&used, &fresh} {
		step(trace, "after", 0)
		step(trace, "after", 1)
		step(trace, "after", 3)
	}
	if used.String() != fresh.String() {
		t.Errorf("got\n%s\nwant\n%s", used, fresh)
	}
	whole := slices.Clone(fresh)
	part := fresh[:1]
	step(&part, "other", 1)
	if got := whole[1].Effects[0].Text; got != "after" {
		t.Errorf("the copy has %q", got)
	}
}

// What an error quotes is cut at a character.
func TestExcerpt(t *testing.T) {
	if got, want := excerpt(strings.Repeat("é", 41)), `"`+strings.Repeat("é", 40)+`…"`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

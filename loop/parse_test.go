package loop

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestParseTraceErrors(t *testing.T) {
	const tick = "   0.000s tick\n"
	tests := []struct {
		name, text   string
		line, column int
		want         string
	}{
		{"no newline", "   0.000s tick", 1, 15, "expected a newline: the text is cut off here"},
		{"empty line", tick + "\n" + tick, 2, 1, "expected seconds such as 31.000s, with at most nine decimals"},
		{"comment", "# hello\n", 1, 1, "expected seconds such as 31.000s, with at most nine decimals"},
		{"effect first", "          > drop m1\n", 1, 1, "expected an input: effects follow what they answer"},
		{"carriage return", "   0.000s tick\r\n", 1, 15, "expected a space or the end of the line"},
		{"space at the end", "   0.000s tick \n", 1, 16, `an input has no ""; expected ok, allow, deny, code=, status=, ` +
			"retry_after=, text=, call=, finish=, in=, out=, cost=, asked=, used=, spawned=, args=, result=, system= or cause="},

		{"time without unit", "   0.000 tick\n", 1, 4, "expected seconds such as 31.000s, with at most nine decimals"},
		{"time too exact", "   0.0000000001s tick\n", 1, 4, "expected seconds such as 31.000s, with at most nine decimals"},
		{"time beyond 64 bits", "9223372036.854775808s tick\n", 1, 1, "expected seconds such as 31.000s, with at most nine decimals"},
		{"time not aligned", "0.000s tick\n", 1, 1, `not in canonical form: expected " "`},
		{"too few decimals", "     1.5s tick\n", 1, 4, `not in canonical form: expected "1.500s"`},
		{"too many decimals", "  1.0000s tick\n", 1, 3, `not in canonical form: expected " "`},
		{"effect not aligned", tick + "> drop m1\n", 2, 1, `not in canonical form: expected " "`},

		{"unknown input", "   0.000s replied m1\n", 1, 11, "expected one of started, message, steer, delta, reply, failure, gate, answer, result, tick, cancel"},
		{"unknown effect", tick + "          > stop\n", 2, 13, "expected one of ask, cancel, gate, call, cancel, ask, put, drop, note, halt"},
		{"no number", "   0.000s delta x1\n", 1, 17, "expected a number such as m1, c7#2, g4, q1 or u1"},
		{"number beyond 64 bits", "   0.000s delta m9223372036854775808\n", 1, 18, "expected an integer of at most 64 bits"},
		{"number with noughts", tick + "          > drop m01\n", 2, 19, `not in canonical form: expected "1"`},
		{"no try", "   0.000s result c1# ok\n", 1, 21, "expected an integer of at most 64 bits"},
		{"the first try of an input", "   0.000s delta m1#1\n", 1, 19, "expected the end of the line"},
		{"no try of an effect", tick + "          > drop m1#0\n", 2, 20, "expected the end of the line"},
		{"of what", tick + "          > gate g1 of=7\n", 2, 24, "expected a number such as m1, c7#2, g4, q1 or u1"},

		{"unknown key", tick + "          > put c1 txt=a\n", 2, 20, `an effect has no "txt="; expected for=, to=, choice=, at=, of=, name=, args=, event=, code=, why=, by= or text=`},
		{"unknown outcome", tick + "          > halt code=a\n", 2, 18, `a halt has no "code="; expected stop=, end=, reason=, message=, answer=, incomplete, ` +
			"turns=, model_calls=, asked=, calls=, sub_asked=, sub_calls=, spawns=, tries=, repairs=, repairs_ok=, errors=, vetoed=, nudges=, denied=, invalid=, in=, out=, cost= or elapsed="},
		{"key twice", "   0.000s started text=a text=a\n", 1, 25, "expected the end of the line"},
		{"order of keys", "   0.000s reply m1 finish=stop text=a\n", 1, 20, `not in canonical form: expected "text=a"`},
		{"zero written", "   0.000s reply m1 in=0\n", 1, 19, "expected the end of the line"},
		{"empty written", "   0.000s started text=\"\"\n", 1, 18, "expected the end of the line"},
		{"no value", "   0.000s started text= \n", 1, 24, "expected a value: bare, in back quotes or Go-quoted"},
		{"no integer", "   0.000s reply m1 in=many\n", 1, 23, "expected an integer of at most 64 bits"},
		{"no ok", "   0.000s result c1#1 text=a\n", 1, 23, `not in canonical form: expected "ok"`},
		{"ok and code", "   0.000s result c1#1 ok code=Timeout\n", 1, 23, `not in canonical form: expected "code=Timeout"`},
		{"no answer", "   0.000s gate g1\n", 1, 18, `not in canonical form: expected " "`},

		{"quoted for nothing", "   0.000s started text=\"abc\"\n", 1, 24, `not in canonical form: expected "abc"`},
		{"wrong quotes", "   0.000s started text=\"say \\\"hi\\\"\"\n", 1, 24, "not in canonical form: expected \"`say\""},
		{"open quote", "   0.000s started text=\"a b\n", 1, 24, "expected a Go string, and this one is broken or does not end"},
		{"wrong escape", "   0.000s started text=\"\\z\"\n", 1, 24, "expected a Go string, and this one is broken or does not end"},
		{"behind a quote", "   0.000s started text=\"a b\"c\n", 1, 29, "expected a space or the end of the line"},
		{"call without id", "   0.000s reply m1 call=:f(\"{}\")\n", 1, 25, "expected a value: bare, in back quotes or Go-quoted"},
		{"call without name", "   0.000s reply m1 call=a(\"{}\")\n", 1, 26, `expected ":"`},
		{"call not closed", "   0.000s reply m1 call=a:f(\"{}\"\n", 1, 33, `expected ")"`},
		{"later lines", strings.Repeat(tick, 99) + "   1.000s tock\n", 100, 11, "expected one of started, message, steer, delta, reply, failure, gate, answer, result, tick, cancel"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseTrace(tt.text)
			var at *TraceError
			if !errors.As(err, &at) {
				t.Fatalf("ParseTrace(%q): got %+v and error %v, want a TraceError", tt.text, got, err)
			}
			if want := (TraceError{tt.line, tt.column, tt.want}); *at != want {
				t.Errorf("ParseTrace(%q)\n got %v\nwant %v", tt.text, at, &want)
			}
		})
	}
}

func TestParseTraceOfNothing(t *testing.T) {
	if got, err := ParseTrace(""); got != nil || err != nil {
		t.Errorf("got %v, %v; want an empty trace", got, err)
	}
}

// What parses has exactly the text it came from.
func FuzzParseTrace(f *testing.F) {
	var all strings.Builder
	all.WriteString("   0.000s tick\n")
	for _, tt := range traceLines {
		f.Add("   0.000s tick\n" + tt.line + "\n")
		all.WriteString(tt.line + "\n")
	}
	f.Add(all.String())
	f.Add(benchmarkTrace().String())
	f.Add("")
	f.Add("   0.000s reply m1 call=a:f(`\"` text=\"\\x")
	f.Fuzz(func(t *testing.T, text string) {
		tr, err := ParseTrace(text)
		var at *TraceError
		if errors.As(err, &at) {
			if at.Line < 1 || at.Column < 1 || at.Problem == "" || tr != nil {
				t.Fatalf("ParseTrace(%q): %+v with error %#v", text, tr, at)
			}
			return
		}
		if err != nil {
			t.Fatalf("ParseTrace(%q): error of type %T", text, err)
		}
		if got := tr.String(); got != text {
			t.Fatalf("ParseTrace(%q) formats to %q", text, got)
		}
		if again, err := ParseTrace(tr.String()); err != nil || !reflect.DeepEqual(again, tr) {
			t.Fatalf("ParseTrace(%q) twice: %+v and %+v, %v", text, tr, again, err)
		}
	})
}

func BenchmarkParseTrace(b *testing.B) {
	text := benchmarkTrace().String()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = ParseTrace(text)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/6, "ns/line")
}

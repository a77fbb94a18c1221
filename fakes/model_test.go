package fakes

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentbench-go/agentbench/loop"
)

func TestReply(t *testing.T) {
	id, none := "abc", ""
	tests := []struct {
		name string
		step Step
		want loop.Input // at 10 s, for request 1
	}{
		{"nothing said", Step{}, loop.Input{At: 12 * sec, Finish: "stop"}},
		{"an answer", Step{Text: "All done.", TokensIn: 812, TokensOut: 33, Cost: 7, Latency: exactly(sec)},
			loop.Input{At: 11 * sec, Text: "All done.", Finish: "stop", TokensIn: 812, TokensOut: 33, Cost: 7}},
		{"calls, with ids fresh, given and missing", Step{Calls: []StepCall{{Name: "f", Args: "{}"}, {Name: "g", ID: &id}, {Name: "h", ID: &none, Args: "no"}}},
			loop.Input{At: 12 * sec, Finish: "tool_calls", Calls: []loop.AskedCall{{ID: "call_1", Name: "f", Args: "{}"}, {ID: "abc", Name: "g"}, {Name: "h", Args: "no"}}}},
		{"cut off", Step{Text: "I w", Finish: "length"}, loop.Input{At: 12 * sec, Text: "I w", Finish: "length"}},
		{"at once", Step{Latency: Instantly()}, loop.Input{At: 10 * sec, Finish: "stop"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWorld(model(tt.step), 1)
			do(w, 10*sec, ask(1, 1))
			tt.want.Kind, tt.want.Ref = loop.ModelReply, m(1, 1)
			if diff := cmp.Diff(tt.want, next(t, w)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A fresh id is never one that the script gives to another call.
func TestFreshIDsAreFresh(t *testing.T) {
	taken := "call_1"
	w := NewWorld(model(Step{Calls: []StepCall{{Name: "f"}, {Name: "f", ID: &taken}}}), 1)
	do(w, 0, ask(1, 1))
	calls := next(t, w).Calls
	if calls[0].ID == "" || calls[0].ID == taken || calls[1].ID != taken {
		t.Errorf("ids %q and %q", calls[0].ID, calls[1].ID)
	}
}

// A planner's calls are in the text of its replies. Their results show how many
// there were.
func TestCallsInTheText(t *testing.T) {
	w := NewWorld(model(Step{Text: "${call}", Repeat: 2}), 1)
	for n, want := range []string{"1", "4"} {
		do(w, 0, ask(n+1, 1))
		in := next(t, w)
		if in.Text != want {
			t.Errorf("the next call of request %d is %s, not %s", n+1, in.Text, want)
		}
		w.Do(context.Background(), in, []loop.Effect{put(1, loop.Executed), put(2, loop.Vetoed), put(3, loop.Executed)})
	}
}

// said is what a stream says: the instants and texts of its pieces, and what
// ends it.
type said struct {
	At   time.Duration
	Text string
	Kind loop.InputKind
}

func TestStream(t *testing.T) {
	const piece, reply, failure = loop.ModelDelta, loop.ModelReply, loop.ModelFailure
	tests := []struct {
		name string
		step Step
		want []said
	}{
		// (4.3 s - 0.3 s) / 4 = 1 s between pieces.
		{"evenly after the first token", Step{Text: "abcde", Chunks: 5, FirstToken: 300 * ms, Latency: exactly(4300 * ms)},
			[]said{{300 * ms, "a", piece}, {1300 * ms, "b", piece}, {2300 * ms, "c", piece}, {3300 * ms, "d", piece}, {4300 * ms, "e", piece}, {4300 * ms, "abcde", reply}}},
		// 2 s / 4 = 0.5 s for each.
		{"evenly from the start", Step{Text: "abcdefgh", Chunks: 4},
			[]said{{500 * ms, "ab", piece}, {sec, "cd", piece}, {1500 * ms, "ef", piece}, {2 * sec, "gh", piece}, {2 * sec, "abcdefgh", reply}}},
		{"one piece", Step{Text: "ab", Chunks: 1, FirstToken: sec},
			[]said{{sec, "ab", piece}, {2 * sec, "ab", reply}}},
		{"a first token later than the whole", Step{Text: "ab", Chunks: 2, FirstToken: 9 * sec},
			[]said{{2 * sec, "a", piece}, {2 * sec, "b", piece}, {2 * sec, "ab", reply}}},
		// 3 characters of 2, 3 and 4 bytes in 2 pieces: 1 and 2.
		{"no character is torn", Step{Text: "é€😀", Chunks: 2},
			[]said{{sec, "é", piece}, {2 * sec, "€😀", piece}, {2 * sec, "é€😀", reply}}},
		// 1 character in 3 pieces: it comes with the last, floor(3 × 1/3).
		{"more pieces than text", Step{Text: "a", Chunks: 3, Latency: exactly(3 * sec)},
			[]said{{sec, "", piece}, {2 * sec, "", piece}, {3 * sec, "a", piece}, {3 * sec, "a", reply}}},
		// The failure is the last of 3 pieces: 3 s / 3 = 1 s for each.
		{"breaks off", Step{Text: "abcdef", Latency: exactly(3 * sec), Failures: []ModelFailure{{Chunks: 2, Text: "reset"}}},
			[]said{{sec, "ab", piece}, {2 * sec, "cd", piece}, {3 * sec, "reset", failure}}},
		// The reply has 6 pieces; the first is on time, and the failure in 5 s.
		{"breaks off a stream", Step{Text: "abcdef", Chunks: 6, FirstToken: sec, Failures: []ModelFailure{{Chunks: 1, Latency: exactly(5 * sec)}}},
			[]said{{sec, "a", piece}, {5 * sec, "", failure}}},
		{"fails before the first piece", Step{Text: "abcdef", Chunks: 6, Failures: []ModelFailure{{Status: 500}}},
			[]said{{2 * sec, "", failure}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWorld(model(tt.step), 1)
			do(w, 0, ask(1, 1))
			var got []said
			for range tt.want {
				in := next(t, w)
				got = append(got, said{in.At, in.Text, in.Kind})
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			if at, more := w.queue.first(); more {
				t.Errorf("something more at %v", at)
			}
		})
	}
}

func TestModelFailures(t *testing.T) {
	step := Step{Text: "ok", Failures: []ModelFailure{
		{Status: 429, RetryAfter: 5 * sec, Text: "slow down"},
		{Hang: true, Chunks: 1},
		{Latency: exactly(sec)},
	}}
	w := NewWorld(model(step), 1)
	do(w, 0, ask(1, 1))
	want := loop.Input{At: 2 * sec, Kind: loop.ModelFailure, Ref: m(1, 1), Status: 429, RetryAfter: 5 * sec, Text: "slow down"}
	if diff := cmp.Diff(want, next(t, w)); diff != "" {
		t.Error(diff)
	}
	do(w, 7*sec, ask(1, 2))
	// Half of "ok" comes in the first half of 2 s, and then nothing.
	want = loop.Input{At: 8 * sec, Kind: loop.ModelDelta, Ref: m(1, 2), Text: "o"}
	if diff := cmp.Diff(want, next(t, w)); diff != "" {
		t.Error(diff)
	}
	if at, more := w.queue.first(); more {
		t.Errorf("something at %v after the hang", at)
	}
	do(w, 40*sec, loop.Effect{Kind: loop.CancelModel, Ref: m(1, 2)}, ask(1, 3))
	want = loop.Input{At: 41 * sec, Kind: loop.ModelFailure, Ref: m(1, 3)}
	if diff := cmp.Diff(want, next(t, w)); diff != "" {
		t.Error(diff)
	}
	do(w, 42*sec, ask(1, 4))
	if in := next(t, w); in.Kind != loop.ModelReply || in.Text != "ok" {
		t.Errorf("the fourth try got %+v", in)
	}
}

func TestFailForever(t *testing.T) {
	w := NewWorld(model(Step{Failures: []ModelFailure{{Status: 500}, {Status: 503}}, FailForever: true}), 1)
	for try, want := range []int{500, 503, 503, 503} {
		do(w, 0, ask(1, try+1))
		if in := next(t, w); in.Status != want {
			t.Errorf("try %d got %d, not %d", try+1, in.Status, want)
		}
	}
}

func TestCancelledRequestIsSilent(t *testing.T) {
	w := NewWorld(model(Step{Text: "abc", Chunks: 3, Repeat: 2}), 1)
	do(w, 0, ask(1, 1))
	do(w, sec, loop.Effect{Kind: loop.CancelModel, Ref: m(1, 1)})
	do(w, sec, ask(1, 2))
	for range 4 {
		if in := next(t, w); in.Ref != m(1, 2) {
			t.Errorf("%v answered after it was cancelled", in.Ref)
		}
	}
}

// The k-th request is answered by the step whose span covers k.
func TestSpans(t *testing.T) {
	w := NewWorld(model(Step{Text: "a", Repeat: 2}, Step{Text: "b"}, Step{Text: "c", Repeat: 3}), 1)
	for n, want := range []string{"a", "a", "b", "c", "c", "c"} {
		do(w, 0, ask(n+1, 1))
		if in := next(t, w); in.Text != want {
			t.Errorf("request %d got %q, not %q", n+1, in.Text, want)
		}
	}
	do(w, 0, ask(7, 1))
	err := failing(t, w)
	if want := "the script ran dry: no model step for request m7 (the script has 6)"; err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	var dry *DryError
	if !errors.Is(err, loop.ErrDry) || !errors.As(err, &dry) || dry.Ref != m(7, 1) {
		t.Errorf("%#v is not the right kind of error", err)
	}
}

// The script does not count requests for a summary.
func TestSummaries(t *testing.T) {
	w := NewWorld(model(Step{Text: "a"}, Step{Text: "b"}), 1)
	sum := ask(2, 1)
	sum.For = loop.ForSummary
	again := sum
	again.Ref.Try = 2
	for i, e := range []loop.Effect{ask(1, 1), sum, again, ask(3, 1)} {
		do(w, 0, e)
		in := next(t, w)
		if want := []string{"a", summary.text.text, summary.text.text, "b"}[i]; in.Text != want || in.Calls != nil || in.At != 2*sec {
			t.Errorf("%v got %+v, want %q", e.Ref, in, want)
		}
	}
}

func TestForever(t *testing.T) {
	w := NewWorld(model(Step{Text: "a"}, Step{Text: "b", Repeat: Forever}, Step{Text: "never"}), 1)
	for n, want := range []string{"a", "b", "b", "b", "b"} {
		do(w, 0, ask(n+1, 1))
		if in := next(t, w); in.Text != want {
			t.Errorf("request %d got %q, not %q", n+1, in.Text, want)
		}
	}
}

// The conditions look at the end of the history, and at what the loop said of
// it.
func TestWhen(t *testing.T) {
	user := func(n int) loop.Message {
		return loop.Message{Ref: loop.Ref{Kind: loop.RefMessage, N: n}, Role: loop.User}
	}
	reply := func(n int) loop.Message { return loop.Message{Ref: m(n, 0), Role: loop.Assistant} }
	ok := func(n int) loop.Message { return loop.Message{Ref: c(n, 0), Role: loop.ToolRole} }
	bad := func(n int) loop.Message { return loop.Message{Ref: c(n, 0), Role: loop.ToolRole, Failed: true} }
	cutReply := loop.Effect{Kind: loop.Note, Event: loop.EventCutReply, Ref: m(1, 0)}
	nudged := loop.Effect{Kind: loop.Note, Event: loop.EventNudged, Text: "circuit-breaker"}
	putMessage := loop.Effect{Kind: loop.Put, Ref: loop.Ref{Kind: loop.RefMessage, N: 2}}
	tests := []struct {
		name    string
		said    []loop.Effect
		history []loop.Message
		want    string
	}{
		{"the beginning", nil, []loop.Message{user(1)}, ""},
		{"one success", []loop.Effect{put(1, "")}, []loop.Message{user(1), reply(1), ok(1)}, "ok"},
		{"one of two failed", []loop.Effect{put(1, ""), put(2, "")}, []loop.Message{user(1), reply(1), bad(1), ok(2)}, "failed"},
		{"denied", []loop.Effect{put(1, loop.Denied)}, []loop.Message{user(1), reply(1), bad(1)}, "denied failed"},
		{"vetoed", []loop.Effect{put(1, ""), put(2, loop.Vetoed)}, []loop.Message{user(1), reply(1), ok(1), bad(2)}, "vetoed failed"},
		{"refused", []loop.Effect{put(1, loop.Refused)}, []loop.Message{user(1), reply(1), bad(1)}, "vetoed failed"},
		{"unknown tool", []loop.Effect{put(1, loop.Unknown)}, []loop.Message{user(1), reply(1), bad(1)}, "failed"},
		{"only the last batch counts", []loop.Effect{put(1, loop.Denied), put(2, "")},
			[]loop.Message{user(1), reply(1), bad(1), reply(2), ok(2)}, "ok"},
		{"a new message from the user", []loop.Effect{put(1, loop.Denied)},
			[]loop.Message{user(1), reply(1), bad(1), reply(2), user(2)}, ""},
		{"the loop's own message after a batch", []loop.Effect{put(1, loop.Denied)},
			[]loop.Message{user(1), reply(1), bad(1), user(2)}, "denied failed"},
		{"cut off in its text", []loop.Effect{cutReply, putMessage}, []loop.Message{user(1), reply(1), user(2)}, "cut"},
		{"cut off before its text", []loop.Effect{cutReply, putMessage}, []loop.Message{user(1), user(2)}, "cut"},
		{"cut off in its calls", []loop.Effect{cutReply, put(1, loop.InvalidArgs)}, []loop.Message{user(1), reply(1), bad(1)}, "failed cut"},
		{"cut off long ago", []loop.Effect{cutReply, putMessage, put(1, "")},
			[]loop.Message{user(1), reply(1), user(2), reply(2), ok(1)}, "ok"},
		{"nudged", []loop.Effect{nudged, put(1, ""), putMessage}, []loop.Message{user(1), reply(1), ok(1), user(2)}, "ok nudged"},
		{"told something else", []loop.Effect{put(1, ""), putMessage}, []loop.Message{user(1), reply(1), ok(1), user(2)}, "ok"},
		{"nudged long ago", []loop.Effect{nudged, put(1, ""), putMessage, put(2, "")},
			[]loop.Message{user(1), reply(1), ok(1), user(2), reply(2), ok(2)}, "ok"},
	}
	conditions := []When{WhenDenied, WhenVetoed, WhenFailed, WhenOK, WhenCut, WhenNudged}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, when := range conditions {
				w := NewWorld(model(Step{Repeat: Forever}, Step{When: when, Text: string(when)}), 1)
				do(w, 0, ask(1, 1))
				next(t, w)
				do(w, 0, append(tt.said, ask(2, 1, tt.history...))...)
				if in := next(t, w); in.Text != "" {
					got = append(got, in.Text)
				}
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// A later message of the loop's own says something else.
func TestWhenCutEnds(t *testing.T) {
	w := NewWorld(model(Step{Repeat: Forever}, Step{When: WhenCut, Text: "cut", Repeat: Forever}), 1)
	message := func(n int) loop.Ref { return loop.Ref{Kind: loop.RefMessage, N: n} }
	do(w, 0, ask(1, 1))
	do(w, 0, loop.Effect{Kind: loop.Note, Event: loop.EventCutReply, Ref: m(1, 0)}, loop.Effect{Kind: loop.Put, Ref: message(2)})
	do(w, 0, ask(2, 1, loop.Message{Ref: m(1, 0), Role: loop.Assistant}, loop.Message{Ref: message(2), Role: loop.User}))
	do(w, 0, put(1, ""), loop.Effect{Kind: loop.Put, Ref: message(3)})
	do(w, 0, ask(3, 1, loop.Message{Ref: m(2, 0), Role: loop.Assistant}, loop.Message{Ref: c(1, 0), Role: loop.ToolRole}, loop.Message{Ref: message(3), Role: loop.User}))
	for n, want := range []string{"", "cut", ""} {
		if in := next(t, w); in.Text != want {
			t.Errorf("request %d got %q, want %q", n+1, in.Text, want)
		}
	}
}

func TestWhenStepsAreUsedUpAndCounted(t *testing.T) {
	w := NewWorld(model(Step{Text: "a", Repeat: 3}, Step{Text: "b"},
		Step{When: WhenOK, Text: "first ok"}, Step{When: WhenOK, Text: "then ok", Repeat: 2}), 1)
	history := []loop.Message{{Ref: m(1, 0), Role: loop.Assistant}, {Ref: c(1, 0), Role: loop.ToolRole}}
	steps := []struct {
		history []loop.Message
		want    string
	}{
		{nil, "a"},
		{history, "first ok"}, // request 2
		{history, "then ok"},  // request 3
		{nil, "b"},            // request 4: the conditional ones were counted
		{history, "then ok"},  // request 5
	}
	for i, s := range steps {
		do(w, 0, ask(i+1, 1, s.history...))
		if in := next(t, w); in.Text != s.want {
			t.Errorf("request %d got %q, not %q", i+1, in.Text, s.want)
		}
	}
	// All tries of a request get the same step, though it is used up by now.
	do(w, 0, ask(5, 2, history...))
	if in := next(t, w); in.Text != "then ok" {
		t.Errorf("the second try of request 5 got %q", in.Text)
	}
	do(w, 0, ask(6, 1, history...))
	if err := failing(t, w); !errors.Is(err, loop.ErrDry) {
		t.Errorf("request 6: %v", err)
	}
}

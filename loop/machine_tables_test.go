package loop_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
)

// TestSequences holds the example sequences of the documents that the loop was
// specified in, under the default config.
func TestSequences(t *testing.T) {
	alternate := strings.Repeat("A F ", 25)
	for _, c := range []struct {
		name, settings, script string
		stop                   Stop
		turns, calls           int
	}{
		{"a missing file for ever: the third failing turn", "", "f f f f f f", StopErrorLimit, 3, 3},
		{"so that the count exceeds three: the fourth", "errors.trip: exceeded", "f f f f f f", StopErrorLimit, 4, 4},
		{"without the error limit: the breaker, before the fifth runs", "errors.max_consecutive: 0", "f f f f f f", "circuit-breaker", 5, 4},
		{"fifty files", "", strings.Repeat("A ", 50) + ".", StopDone, 51, 50},
		{"one call again beside new ones", "", "aB aB aB aB aB aB", "circuit-breaker", 5, 8},
		{"the same with the repeated call second", "", "Ba Ba Ba Ba Ba Ba", "circuit-breaker", 5, 8},
		{"which a streak that ends at the next record loses", "detectors[0].ends: next", "aB aB aB aB aB aB .", StopDone, 7, 12},
		{"three tools that fail", "", "f g q .", StopErrorLimit, 3, 3},
		{"error, ok, error, error", "", "f a F F .", StopDone, 5, 4},
		{"ok, error, fifty of them", "", alternate + ".", StopDone, 51, 50},
		{"both limits at three: the breaker comes first", "detectors[0].do[0].at: 3", "f f f f", "circuit-breaker", 3, 2},
		{"error, ok, ok, error, ok", "", "f A A F A .", StopDone, 6, 5},
		{"ok, error, ok in a batch", "errors.max_consecutive: 1", "Afb .", StopDone, 2, 3},
		{"where one error is enough", "errors.max_consecutive: 1; errors.batch: any", "Afb .", StopErrorLimit, 1, 3},
		// Reply n comes at 2n-1 s, its call ends at 2n. The call of reply 150 would
		// end at 300 s, with the run.
		{"five hundred new calls: only time ends them", "", strings.Repeat("A ", 500), StopRunDeadline, 150, 150},
		// LangGraph: reply 13 is step 2*13-1 = 25, after 12 batches.
		{"calls for ever with a limit of 25 steps", "limits.steps: 25", strings.Repeat("A ", 40), StopTurnLimit, 13, 12},
	} {
		t.Run(c.name, func(t *testing.T) {
			cfg := Default()
			for _, line := range strings.Split(c.settings, "; ") {
				if name, value, ok := strings.Cut(line, ": "); ok {
					if err := setField(&cfg, name, value); err != nil {
						t.Fatal(err)
					}
				}
			}
			out := outcome(t, playToy(t, cfg, c.script))
			if out.Stop != c.stop || out.Turns != c.turns || out.Calls != c.calls {
				t.Errorf("got %s after %d turns and %d calls, want %s after %d and %d", out.Stop, out.Turns, out.Calls, c.stop, c.turns, c.calls)
			}
		})
	}
}

// outcome returns the outcome of a session's last run.
func outcome(t *testing.T, trace Trace) (last *Outcome) {
	t.Helper()
	for i := range trace {
		for _, e := range trace[i].Effects {
			if e.Kind == Halt {
				last = e.Outcome
			}
		}
	}
	if last == nil {
		t.Fatal("the trace has no halt")
	}
	return last
}

// TestNothingBeforeTheStart: a session that has not begun has nothing open, so
// that nothing can be answered, cancelled or followed up.
func TestNothingBeforeTheStart(t *testing.T) {
	m, err := New(Off(), Task{Text: "go"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []Input{
		{Kind: UserMessage, Text: "early"}, {Kind: Cancel}, {Kind: ModelReply, Ref: mRef(1, 1)}, {Kind: ToolResult, Ref: cRef(1, 1)},
		{Kind: GateAnswer, Ref: Ref{Kind: RefGate, N: 1}}, {Kind: UserReply, Ref: Ref{Kind: RefQuestion, N: 1}},
	} {
		want := Record{In: in, Effects: []Effect{{Kind: Note, Ref: in.Ref, Event: EventIgnored}}}
		if got := (Record{In: in, Effects: m.Step(in)}); got.String() != want.String() {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
	if effects := m.Step(Input{Kind: Tick}); len(effects) > 0 || len(m.History()) > 0 {
		t.Errorf("a tick wants %v; the history is %v", effects, m.History())
	}
	if _, armed := m.Wake(); armed || m.Halted() {
		t.Error("the session waits for an instant, or has halted")
	}
	if effects := m.Step(m.Begin()); len(effects) != 1 || effects[0].Kind != AskModel || effects[0].To != 1 {
		t.Errorf("the start wants %v, not the first request", effects)
	}
}

// TestRefusalLeavesNoMessage: what the user says to a question enters the history
// where the run goes on, and not where it ends.
func TestRefusalLeavesNoMessage(t *testing.T) {
	for _, allow := range []bool{true, false} {
		cfg := Off()
		cfg.Limits.Turns, cfg.Limits.AtLimit = 1, LimitAsk
		m := opened(t, cfg, Task{Text: "go"})
		m.Step(Input{Kind: ToolResult, Ref: cRef(1, 1)}) // go, the reply and its result are three
		m.Step(Input{Kind: UserReply, Ref: Ref{Kind: RefQuestion, N: 1}, Allow: allow, Text: "well"})
		history, want := m.History(), 3
		if allow {
			want = 4
		}
		if len(history) != want || m.Halted() == allow || allow && history[3].Text != "well" {
			t.Errorf("allowed %v: the history is %+v", allow, history)
		}
	}
}

// TestStops lists the end state of every stop.
func TestStops(t *testing.T) {
	for end, stops := range map[EndState][]Stop{
		Done:                      {StopDone, StopByModel},
		ClarifyNeeded:             {StopNeedsUser},
		BudgetExceeded:            {StopTurnLimit, StopAskedLimit, StopCallLimit, StopTokenLimit, StopCostLimit, StopTryLimit, StopDepthLimit, StopSpawnLimit, StopRunDeadline},
		LoopDetected:              {"circuit-breaker", StopCompactionThrash, "any-detector"},
		ErrorLimit:                {StopErrorLimit},
		UnrecoverableToolContract: {StopToolContract, StopUnauthorized},
		ModelFailed:               {StopModelFailed, StopModelDeadline, StopEmptyReply, StopTruncatedReply, StopUnmetGoal},
		WasCancelled:              {StopCancelled},
		Ceiling:                   {StopCeiling},
		RecordingEnded:            {StopRecordingEnded},
	} {
		for _, stop := range stops {
			if got := stop.EndState(); got != end {
				t.Errorf("%s is %s, want %s", stop, got, end)
			}
		}
	}
}

// TestRetryCodes: by default only transient failures are retried, and of them not a
// lost connection, after which nobody knows whether the call took effect.
func TestRetryCodes(t *testing.T) {
	transient := []Code{Timeout, RateLimited, RetryableServer, NotSent}
	for _, code := range append(Codes(), "Nonsense") {
		cfg := Off()
		cfg.Retry.Max = 1
		m := opened(t, cfg, Task{})
		m.Step(Input{At: time.Second, Kind: ToolResult, Ref: cRef(1, 1), Code: code})
		wake, armed := m.Wake()
		if want := slices.Contains(transient, code); armed != want || armed && wake != 2*time.Second {
			t.Errorf("%q: a retry is due: %v at %v, want %v", code, armed, wake, want)
		}
	}
}

// opened returns a machine with a call of read that began at 0 s.
func opened(t *testing.T, cfg Config, task Task) *Machine {
	t.Helper()
	m, err := New(cfg, task, []ToolSpec{{Name: "read"}})
	if err != nil {
		t.Fatal(err)
	}
	m.Step(m.Begin())
	m.Step(Input{Kind: ModelReply, Ref: mRef(1, 1), Calls: []AskedCall{{ID: "a", Name: "read"}}})
	return m
}

// TestModelStatuses: 429 and 5xx are retried by default; no status at all counts
// as 5xx.
func TestModelStatuses(t *testing.T) {
	for status, want := range map[int]bool{
		0: true, 400: false, 401: false, 404: false, 408: false, 428: false, 429: true, 430: false,
		499: false, 500: true, 503: true, 504: true, 529: true, 599: true, 600: false,
	} {
		cfg := Off()
		cfg.ModelRetry.Max = 1
		m, err := New(cfg, Task{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		m.Step(m.Begin())
		m.Step(Input{Kind: ModelFailure, Ref: mRef(1, 1), Status: status})
		if got := !m.Halted(); got != want {
			t.Errorf("status %d is retried: %v, want %v", status, got, want)
		}
	}
}

// waits returns the waits before the retries of a call that always fails.
func waits(t *testing.T, seed uint64, set func(*Retry)) (all []time.Duration) {
	t.Helper()
	cfg := Off()
	cfg.Retry.Max = 6
	set(&cfg.Retry)
	m := opened(t, cfg, Task{Seed: seed})
	now := time.Duration(0)
	for try := 1; try <= cfg.Retry.Max; try++ {
		m.Step(Input{At: now, Kind: ToolResult, Ref: cRef(1, try), Code: RetryableServer})
		wake, armed := m.Wake()
		if !armed {
			t.Fatalf("no retry after try %d", try)
		}
		all = append(all, wake-now)
		now = wake
		m.Step(Input{At: now, Kind: Tick})
	}
	return all
}

// TestBackoffs: base 2 s, cap 20 s, six waits.
func TestBackoffs(t *testing.T) {
	const s = time.Second
	for backoff, want := range map[Backoff][]time.Duration{
		"":          {2 * s, 4 * s, 6 * s, 8 * s, 10 * s, 12 * s},
		Linear:      {2 * s, 4 * s, 6 * s, 8 * s, 10 * s, 12 * s},
		Constant:    {2 * s, 2 * s, 2 * s, 2 * s, 2 * s, 2 * s},
		Exponential: {2 * s, 4 * s, 8 * s, 16 * s, 20 * s, 20 * s}, // 32 and 64 are cut
	} {
		got := waits(t, 1, func(r *Retry) { r.Backoff, r.Base, r.Cap = backoff, 2*s, 20*s })
		if !slices.Equal(got, want) {
			t.Errorf("%q: got %v, want %v", backoff, got, want)
		}
	}
}

// TestJitters: the waits lie in their ranges, reach from end to end of them over
// 200 seeds, depend on the seed alone, and are each a draw of its own.
func TestJitters(t *testing.T) {
	const s = time.Second
	full := func(r *Retry) { r.Backoff, r.Base, r.Cap = FullJitter, 2*s, 20*s }
	decorrelated := func(r *Retry) { r.Backoff, r.Base, r.Cap = DecorrelatedJitter, 2*s, 20*s }
	for name, c := range map[string]struct {
		set    func(*Retry)
		bounds func(k int, before time.Duration) (lo, hi time.Duration)
	}{
		// [0, 2 s x 2^(k-1)], cut to 20 s.
		"full": {full, func(k int, _ time.Duration) (lo, hi time.Duration) { return 0, min(20*s, 2*s<<(k-1)) }},
		// [2 s, 3 x the wait before], the first as if 2 s had been waited, cut to 20 s.
		"decorrelated": {decorrelated, func(_ int, before time.Duration) (lo, hi time.Duration) { return 2 * s, min(20*s, 3*before) }},
	} {
		least, most, alike := 1.0, 0.0, 0
		seen := map[string]bool{}
		for seed := uint64(0); seed < 200; seed++ {
			got := waits(t, seed, c.set)
			if again := waits(t, seed, c.set); !slices.Equal(got, again) {
				t.Errorf("%s, seed %d: got %v, then %v", name, seed, got, again)
			}
			seen[fmt.Sprint(got)] = true
			before, first := 2*s, 0.0
			for i, wait := range got {
				lo, hi := c.bounds(i+1, before)
				if wait < lo || wait > hi {
					t.Errorf("%s, seed %d: wait %d is %v, want one from %v to %v (waits %v)", name, seed, i+1, wait, lo, hi, got)
				}
				part := float64(wait-lo) / float64(hi-lo)
				if i == 0 {
					first, least, most = part, min(least, part), max(most, part)
				} else if math.Abs(part-first) < 1e-6 {
					alike++
				}
				before = wait
			}
		}
		if len(seen) != 200 || least > 0.05 || most < 0.95 || alike > 0 {
			t.Errorf("%s: 200 seeds give %d different waits, which reach from %.2f to %.2f of the range; %d repeat the first draw", name, len(seen), least, most, alike)
		}
	}
}

// TestJitterIsOfItsCall: the wait of a call does not depend on what else draws,
// and two calls draw apart.
func TestJitterIsOfItsCall(t *testing.T) {
	first := func(calls int) (times []string) {
		cfg := Off()
		cfg.Retry.Max, cfg.Retry.Backoff = 1, FullJitter
		trace := playToy(t, cfg, strings.Repeat("r", calls)+" .")
		for i := range trace {
			for _, e := range trace[i].Effects {
				if e.Kind == CallTool && e.Ref.Try == 2 {
					times = append(times, fmt.Sprint(e.Ref, trace[i].In.At))
				}
			}
		}
		slices.Sort(times)
		return times
	}
	one, three := first(1), first(3)
	if len(one) != 1 || len(three) != 3 || one[0] != three[0] {
		t.Errorf("the retry of c1 alone: %v, beside two others: %v", one, three)
	}
	at := func(s string) string { _, when, _ := strings.Cut(s, " "); return when }
	if at(three[0]) == at(three[1]) || at(three[1]) == at(three[2]) {
		t.Errorf("three calls drew the same wait: %v", three)
	}
}

// TestTruncatedText: the second seed's example, 120,000 characters of which
// 40,000 are shown.
func TestTruncatedText(t *testing.T) {
	cfg := Off()
	cfg.History.MaxResultChars = 40000
	m := opened(t, cfg, Task{})
	m.Step(Input{Kind: ToolResult, Ref: cRef(1, 1), Text: strings.Repeat("é", 120000)})
	history := m.History()
	want := strings.Repeat("é", 40000) + "\n[OUTPUT TRUNCATED: Showing 40,000 of 120,000 characters from read]\n"
	if got := history[len(history)-1].Text; !strings.HasPrefix(got, want) {
		t.Errorf("got %d bytes that end in %q, want the first 40,000 characters and the notice", len(got), got[max(0, len(got)-200):])
	}
}

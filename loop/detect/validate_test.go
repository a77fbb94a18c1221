package detect_test

import (
	"strings"
	"testing"

	. "github.com/agentbench-go/agentbench/loop/detect"
)

// Every value that cannot be meant is named, and so is every rule that could
// never act.
func TestValidate(t *testing.T) {
	stop := at(3, Stop)
	for _, c := range []struct {
		name     string
		detector Detector
		want     string // the fields, in order
	}{
		{"the least there can be", Detector{Do: stop}, ""},
		{"no name", Detector{Name: "-", Do: stop}, "name"},
		{"nothing to do", Detector{}, "do"},
		{"words that there are not", Detector{Record: "cal", Counts: []Class{"bad"}, Key: []Part{"x"}, Order: "x", Match: "x", Ends: "x", Acts: "x", Reset: []Reset{"x"},
			Vetoed: "x", AfterFiring: "x", Do: []Rung{{0, "halt"}}, Firings: []Act{"halt"}},
			"record counts[0] key[0] order match ends acts reset[0] vetoed after_firing do[0].at do[0].act firings[0] ends"},
		{"negative numbers", Detector{ErrorChars: -1, Memory: -1, DistinctArgs: -1, Do: stop}, "error_chars memory distinct_args"},
		{"a period from 0", Detector{Match: Cycle, Period: Period{Min: 0, Max: 3}, Do: stop}, "period"},
		{"a period upside down", Detector{Match: Cycle, Period: Period{Min: 3, Max: 2}, Do: stop}, "period"},
		{"a period that is too long", Detector{Match: Cycle, Period: Period{Min: 2, Max: 51}, Do: stop}, "period"},

		{"a veto after the batch", Detector{Acts: AfterBatch, Do: at(3, Veto)}, "do[0].act"},
		{"a veto after the batch, by firings", Detector{Acts: AfterBatch, Do: stop, Firings: []Act{Nudge, Veto}}, "firings[1]"},
		{"a window needs a memory", Detector{Match: Window, Do: stop}, "memory"},
		{"full needs a memory", Detector{Full: true, Do: stop}, "full"},
		{"reached at the memory's end", Detector{Memory: 3, Do: stop}, ""},
		{"not reached within the memory", Detector{Memory: 2, Do: stop}, "do[0].at"},
		{"a cycle's laps within the memory", Detector{Match: Cycle, Period: Period{Min: 2, Max: 4}, Memory: 6, Do: stop}, ""},
		{"a cycle's laps beyond it", Detector{Match: Cycle, Period: Period{Min: 2, Max: 4}, Memory: 5, Do: stop}, "do[0].at"},
		{"one lap is not a cycle", Detector{Match: Cycle, Do: at(1, Stop)}, "do[0].at"},
		{"replies after the batch only", Detector{Record: PerReply, Do: stop}, "acts"},
		{"a result before the call", Detector{Key: []Part{Tool, Result, Error}, Do: stop}, "key[1] key[2]"},
		{"an earlier result before the call", Detector{Key: []Part{Tool, Result}, PriorOnly: true, Do: stop}, ""},
		{"a failure before the call", Detector{Counts: []Class{Unknown, Failed, Denied}, Do: stop}, "counts[1] counts[2]"},

		{"what only a streak has", Detector{Match: Window, Memory: 9, Ends: EndsNext, OncePerTurn: true, DistinctArgs: 2, Do: stop}, "ends once_per_turn distinct_args"},
		{"its default may be said", Detector{Match: Window, Memory: 9, Ends: EndsTurn, Do: stop}, ""},
		{"what only turns have", Detector{Order: AnyOrder, Do: stop}, "order"},
		{"what only calls have", Detector{Record: PerTurn, DistinctArgs: 2, Reset: []Reset{OnSuccess, OnResultChange}, Counts: []Class{Unknown, Invalid, Denied, Empty}, Acts: AfterBatch, Do: stop},
			"distinct_args reset[1] counts[0] counts[1] counts[2] counts[3]"},
		{"what only replies have", Detector{Counts: []Class{TextOnly}, Do: stop}, "counts[0]"},
		{"error_chars without the error", Detector{ErrorChars: 100, Do: stop}, "error_chars"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.detector
			if d.Name = "d"; c.detector.Name == "-" {
				d.Name = ""
			}
			var fields []string
			for _, p := range d.Validate() {
				if p.Text == "" {
					t.Errorf("nothing is said of %s", p.Field)
				}
				fields = append(fields, p.Field)
			}
			if got := strings.Join(fields, " "); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestPeriodText(t *testing.T) {
	for text, want := range map[string]Period{"2..4": {2, 4}, "3": {3, 3}, " 1 .. 5 ": {1, 5}} {
		var p Period
		if err := p.UnmarshalText([]byte(text)); err != nil || p != want {
			t.Errorf("%q: got %v, %v, want %v", text, p, err, want)
		}
		again, _ := p.MarshalText()
		var q Period
		if q.UnmarshalText(again); q != p {
			t.Errorf("%v became %s and then %v", p, again, q)
		}
	}
	for _, text := range []string{"", "two", "2..", "..4", "2-4", "2..4..6"} {
		var p Period
		if err := p.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q was read as %v", text, p)
		}
	}
}

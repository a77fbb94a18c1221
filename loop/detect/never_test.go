package detect_test

import (
	"strings"
	"testing"

	. "github.com/agentbench-go/agentbench/loop/detect"
)

// What can never act, by field. Package loop plays ladders to see that the rest of
// them end.
func TestNeverActs(t *testing.T) {
	stop := at(3, Stop)
	ladder := func(acts ...Act) (do []Rung) { // at 2, 4, 6 …
		for i, act := range acts {
			do = append(do, Rung{2*i + 2, act})
		}
		return do
	}
	vetoed := ladder(Veto, Stop)
	for _, c := range []struct {
		name     string
		detector Detector
		want     string // the fields, in order
	}{
		{"the breaker", Detector{Do: at(5, Stop)}, ""},
		{"a ladder", Detector{Do: ladder(Nudge, Veto, Stop)}, ""},
		{"vetoed: same", Detector{Vetoed: AsSame, Do: vetoed}, ""},
		{"vetoed: other", Detector{Vetoed: AsOther, Do: vetoed}, "do[1].at"},
		{"vetoed: not-recorded, also for a question", Detector{Vetoed: NotRecorded, Do: ladder(Nudge, Ask, Stop)}, "do[2].at"},
		{"vetoed: other above the last veto", Detector{Vetoed: AsOther, Do: ladder(Nudge, Veto)}, ""},
		{"vetoed: other of a turn", Detector{Record: PerTurn, Vetoed: AsOther, Do: vetoed}, "vetoed"},
		{"calls that are blocked before", Detector{Counts: []Class{Unknown}, Vetoed: AsOther, Do: ladder(Ask, Stop)}, ""},
		{"a veto of blocked calls", Detector{Counts: []Class{Unknown, Invalid}, Do: vetoed}, "do[0].act"},
		{"the same by firings", Detector{Counts: []Class{Invalid}, Do: stop, Firings: []Act{Veto, Stop}}, "firings[0]"},
		{"a veto is no denial", Detector{Counts: []Class{Denied}, PriorOnly: true, Do: vetoed}, "do[1].at"},
		{"but a failure", Detector{Counts: []Class{Denied, Failed}, PriorOnly: true, Do: vetoed}, ""},
		{"a veto has another result", Detector{Key: []Part{Tool, Result}, PriorOnly: true, Do: vetoed}, "do[1].at"},
		{"the run ends before", Detector{Do: ladder(FinalAnswer, Stop)}, "do[1].at"},
		{"the order of the rungs does not matter", Detector{Do: []Rung{{4, Nudge}, {2, Stop}}}, "do[0].at"},
		{"the count starts anew before", Detector{AfterFiring: Clear, Do: ladder(Nudge, Stop)}, "do[1].at"},
		{"silent until the last rung is reached", Detector{Memory: 4, Full: true, AfterFiring: Clear, Do: ladder(Nudge, Stop)}, ""},
		{"two rungs at one count", Detector{Do: []Rung{{3, Nudge}, {3, Stop}}}, "do[0].at"},
		{"firings take the place of rungs", Detector{Firings: []Act{Veto, Stop}, Do: ladder(Nudge, Stop)}, "do[1]"},
		{"firings after the end", Detector{Firings: []Act{Nudge, Stop, Stop}, Do: stop}, "firings[2]"},

		{"the longest cycle does not fit", Detector{Match: Cycle, Period: Period{Min: 2, Max: 4}, Memory: 11, Do: stop}, "do[0].at"},
		{"it fits", Detector{Match: Cycle, Period: Period{Min: 2, Max: 4}, Memory: 12, Do: stop}, ""},
		{"once a batch", Detector{Ends: EndsBatch, OncePerTurn: true, Do: stop}, "do[0].at"},
		{"a turn is once in its batch", Detector{Record: PerTurn, Ends: EndsBatch, Do: stop}, "do[0].at"},
		{"no tool", Detector{Tools: ToolFilter{Only: []string{"a"}, Except: []string{"a"}}, Do: stop}, "tools.only"},
		{"a tool that is left out anyway", Detector{Tools: ToolFilter{Only: []string{"a"}, Except: []string{"b"}}, Do: stop}, "tools.except[0]"},
		{"different arguments that are equal", Detector{DistinctArgs: 2, Do: stop}, "distinct_args"},
		{"different arguments", Detector{Key: []Part{Tool}, DistinctArgs: 2, Do: stop}, ""},
		{"one argument is always there", Detector{Key: []Part{Tool}, DistinctArgs: 1, Do: stop}, "distinct_args"},
		{"more arguments than records", Detector{Key: []Part{Tool}, DistinctArgs: 4, Memory: 3, Do: stop}, "distinct_args"},
		{"a class beside all", Detector{Counts: []Class{All, Unknown}, Do: stop}, "counts[1]"},
		{"failures of a batch that goes on", Detector{Counts: []Class{Failed}, PriorOnly: true, Ends: EndsBatch, Do: stop}, "counts[0]"},
		{"a period of no cycle", Detector{Period: Period{Min: 2, Max: 3}, Do: stop}, "period"},
		{"arguments that are not in the key", Detector{Key: []Part{Tool}, IgnoreArgs: []string{"at"}, Do: stop}, "ignore_args[0]"},
		{"a rounded argument that is not in the key", Detector{Key: []Part{Tool}, Round: map[string]int64{"offset": 10}, Do: stop}, "round.offset"},
		{"a rounded argument that is left out", Detector{IgnoreArgs: []string{"offset"}, Round: map[string]int64{"offset": 10}, Do: stop}, "round.offset"},
		{"results that are not compared", Detector{IgnoreResult: []string{"$.at"}, Do: stop}, "ignore_result[0]"},
		{"results that are", Detector{IgnoreResult: []string{"$.at"}, Reset: []Reset{OnResultChange}, Do: stop}, ""},
		{"arguments that tell calls apart", Detector{Key: []Part{Tool}, IgnoreArgs: []string{"at"}, Reset: []Reset{OnResultChange}, Do: stop}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := c.detector
			d.Name = "d"
			if m := d.Validate(); len(m) > 0 {
				t.Fatalf("not valid: %v", m)
			}
			var fields []string
			for _, m := range d.NeverActs() {
				fields = append(fields, m.Field)
			}
			if got := strings.Join(fields, " "); got != c.want {
				t.Errorf("got %q, want %q: %v", got, c.want, d.NeverActs())
			}
		})
	}
}

// What vetoed means unless it is said.
func TestVetoedByDefault(t *testing.T) {
	for _, c := range []struct {
		name     string
		detector Detector
		want     VetoedAs
	}{
		{"no veto", Detector{Do: at(5, Stop)}, AsOther},
		{"a veto at the top", Detector{Do: []Rung{{2, Nudge}, {3, Veto}}}, AsOther},
		{"a veto below", Detector{Do: []Rung{{4, Stop}, {3, Veto}}}, AsSame},
		{"a question below", Detector{Do: []Rung{{3, Ask}, {4, Stop}}}, AsSame},
		{"a question after the batch vetoes nothing", Detector{Acts: AfterBatch, Do: []Rung{{3, Ask}, {4, Stop}}}, AsOther},
		{"firings have no rungs", Detector{Do: at(3, Veto), Firings: []Act{Veto, Stop}}, AsOther},
		{"said", Detector{Vetoed: NotRecorded, Do: []Rung{{3, Veto}, {4, Stop}}}, NotRecorded},
	} {
		if got := c.detector.VetoedAs(); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
	check(t, []row{
		{"a ladder with a veto reaches its top", Detector{Do: []Rung{{2, Veto}, {4, Stop}}}, "A A A A", "2 veto(2) 3 veto(3) 4 stop(4)"},
		{"and not with vetoed: other", Detector{Vetoed: AsOther, Do: []Rung{{2, Veto}, {4, Stop}}}, "A A A A A A", "2 veto(2) 4 veto(2) 6 veto(2)"},
	})
}

package describe

import (
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// Each part of a rule is said in words, and what is as usual is not.
func TestDescribeDetector(t *testing.T) {
	stop := []detect.Rung{{At: 5, Act: detect.Stop}}
	const calls, streak = "d: calls with the same tool and arguments", "in a streak, which a turn without one ends"
	tests := []struct {
		d    detect.Detector
		want string
	}{
		{detect.Detector{Do: stop}, calls + "; " + streak + "; at 5 stop"},
		{detect.Detector{Do: []detect.Rung{{At: 3, Act: detect.Nudge}, {At: 6, Act: detect.FinalAnswer}}}, calls + "; " + streak + "; at 3 nudge, at 6 final-answer"},
		{detect.Detector{Match: detect.Cycle, Memory: 60, Vetoed: detect.AsSame, Reset: []detect.Reset{detect.OnResultChange}, Do: stop},
			calls + "; laps of a cycle of 2, among the last 60; starts anew at another result of the call; a vetoed call counts as well; at 5 stop"},
		{detect.Detector{Match: detect.Cycle, Period: detect.Period{Min: 2, Max: 4}, Do: stop}, calls + "; laps of a cycle of 2 to 4; at 5 stop"},
		{detect.Detector{Record: detect.PerTurn, Order: detect.AnyOrder, Key: []detect.Part{detect.Tool, detect.RawArgs, detect.Result}, Match: detect.Window,
			Memory: 10, Full: true, Acts: detect.AfterBatch, OncePerTurn: true, Do: stop},
			"d: turns with the same tool, arguments as written and result in any order; in a row or not, among the last 10; once a turn at most; silent until there are 10; looks after the batch; at 5 stop"},
		{detect.Detector{Counts: []detect.Class{detect.Failed}, Key: []detect.Part{detect.Tool, detect.Error}, ErrorChars: 100, Ends: detect.EndsTool, PriorOnly: true,
			Reset: []detect.Reset{detect.OnToolSuccess}, AfterFiring: detect.Clear, Do: []detect.Rung{{At: 3, Act: detect.Veto}}},
			"d: failed calls with the same tool and error (its first 100 characters); in a streak, which another one of the tool ends; the earlier ones alone; " +
				"starts anew at a success of the tool; at 3 veto; then the count starts anew"},
		{detect.Detector{Counts: []detect.Class{detect.Unknown, detect.Invalid}, Tools: detect.ToolFilter{Only: []string{"a", "b"}, Except: []string{"c"}}, IgnoreArgs: []string{"at", "id"},
			Ends: detect.EndsNever, DistinctArgs: 4, Vetoed: detect.NotRecorded, Firings: []detect.Act{detect.Veto, detect.Stop}, Do: stop},
			"d: unknown or invalid calls of a or b but those of c with the same tool and arguments (without at, id); in a streak, which nothing ends; " +
				"with at least 4 different arguments; a vetoed call is not there; at 5 veto, then stop"},
		{detect.Detector{Record: detect.PerReply, Counts: []detect.Class{detect.TextOnly}, Key: []detect.Part{detect.Text}, Ends: detect.EndsNext,
			Reset: []detect.Reset{detect.OnSuccess, detect.OnUserMessage}, Do: stop},
			"d: text replies with the same text; in a streak, which the next one with another key ends; starts anew at any success; starts anew at a user message; at 5 stop"},
	}
	for _, tt := range tests {
		tt.d.Name = "d"
		if got := detector(&tt.d); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

// A list of detectors takes the place of the other, so that all are said.
func TestChangedDetectors(t *testing.T) {
	to := loop.Default()
	to.Detectors = []detect.Detector{{Name: "a\x1b[2J", Do: []detect.Rung{{At: 2, Act: detect.Stop}}}, {Name: "b", Ends: detect.EndsBatch, Do: []detect.Rung{{At: 3, Act: detect.Ask}}}}
	want := []string{`detector a\x1b[2J: calls with the same tool and arguments; in a streak, which a turn without one ends; at 2 stop`,
		"detector b: calls with the same tool and arguments; in a streak, which the next one with another key, or the end of the batch, ends; at 3 ask"}
	if got := Changes(loop.Default(), to); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	to.Detectors = nil
	if got := Changes(loop.Default(), to); !slices.Equal(got, []string{"no detectors"}) {
		t.Errorf("got %q", got)
	}
}

// A key that has no words yet is shown as it stands in a variant.
func TestDescribeDetectorWithoutWords(t *testing.T) {
	all := described
	t.Cleanup(func() { described = all })
	d := detect.Detector{Name: "near", Memory: 7, OncePerTurn: true, Do: []detect.Rung{{At: 2, Act: detect.Stop}}}
	if got := undescribed(&d); len(got) > 0 {
		t.Errorf("there are no words for %q", got)
	}
	described = []string{"name", "do", "once_per_turn"}
	if got := detector(&d); !strings.HasSuffix(got, "; memory: 7") {
		t.Errorf("got %s", got)
	}
}

func TestChanges(t *testing.T) {
	to := loop.Default()
	to.Limits.Turns = 10
	to.Errors.Kinds = []loop.ErrorKind{loop.KindException}
	got := Changes(loop.Default(), to)
	if want := []string{`errors.kinds=["exception"]`, "limits.turns=10"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Changes(to, to); got != nil {
		t.Errorf("no change shows as %q", got)
	}
}

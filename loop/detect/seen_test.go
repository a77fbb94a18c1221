package detect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// Seen is how often the model really asked, where Count is the rung that it reached.
func TestSeen(t *testing.T) {
	many := func(n int, of string) string { return strings.TrimSuffix(strings.Repeat(of+",", n), ",") }
	for _, c := range []struct {
		name, script string
		d            detect.Detector
		want         string // the first firing of each reply: count/seen
	}{
		{"twenty in a batch", many(20, "A"), detect.Detector{Do: at(10, detect.Stop)}, "10/20"},
		{"eight, then twelve", many(8, "A") + " " + many(12, "A"), detect.Detector{Do: at(10, detect.Stop)}, "10/20"},
		{"others between do not count", "A,B,A,A", detect.Detector{Do: at(2, detect.Stop)}, "2/3"},
		{"others end a strict streak", "A,A,B,A", detect.Detector{Ends: detect.EndsNext, Do: at(2, detect.Stop)}, "2/2"},
		{"another call of the tool ends it", "Ax,Ax,B,Ax,Ay,Ax", detect.Detector{Ends: detect.EndsTool, Do: at(2, detect.Stop)}, "2/3"},
		{"an argument that is not compared", "Ax&p,Ax&q,Ax&r,Ay&p", detect.Detector{IgnoreArgs: []string{"p", "q", "r"}, Do: at(2, detect.Stop)}, "2/3"},
		{"failures, after the batch", many(20, "A!no"), detect.Detector{Counts: []detect.Class{detect.Failed}, Acts: detect.AfterBatch, Do: at(10, detect.Stop)}, "10/20"},
		{"a success ends the failures", "A!no,A!no,A!no,A,A!no", detect.Detector{Counts: []detect.Class{detect.Failed}, Reset: []detect.Reset{detect.OnSuccess}, Acts: detect.AfterBatch, Do: at(2, detect.Stop)}, "2/3"},
		{"another result ends the equal ones", "A,A,A,A=new,A", detect.Detector{Reset: []detect.Reset{detect.OnResultChange}, Acts: detect.AfterBatch, Do: at(2, detect.Stop)}, "2/3"},
		{"equal results", "A,A,A,A=new,A", detect.Detector{Key: []detect.Part{detect.Tool, detect.Args, detect.Result}, Acts: detect.AfterBatch, Do: at(2, detect.Stop)}, "2/4"},
		{"the present call, which the count leaves out", "A A A A", detect.Detector{PriorOnly: true, Do: at(3, detect.Stop)}, "3/4"},
		{"no result yet", "A A A A,A", detect.Detector{PriorOnly: true, Key: []detect.Part{detect.Tool, detect.Result}, Do: at(3, detect.Stop)}, "3/3"},
		{"twice a turn, counted once", "A,A A,A A,A", detect.Detector{OncePerTurn: true, Do: at(3, detect.Stop)}, "3/6"},
		{"a window", many(20, "A"), detect.Detector{Match: detect.Window, Memory: 12, Do: at(5, detect.Stop)}, "5/12"},
		{"a window that goes on with others", "A,A,B,C", detect.Detector{Match: detect.Window, Memory: 3, Do: at(2, detect.Stop)}, "2/2"},
		{"a cycle", many(10, "A,B"), detect.Detector{Match: detect.Cycle, Do: at(3, detect.Stop)}, "3/10"},
		{"turns", "A,A A,A", detect.Detector{Record: detect.PerTurn, Do: at(2, detect.Stop)}, "2/2"},
		{"vetoes of the batch", many(7, "A"), detect.Detector{Vetoed: detect.AsOther, Do: at(5, detect.Veto)}, "5/7 5/7 5/7"},
		{"vetoes of the batch that leave no record", many(7, "A"), detect.Detector{Vetoed: detect.NotRecorded, Do: at(5, detect.Veto)}, "5/7 5/7 5/7"},
		{"vetoes of the batch that count", many(7, "A"), detect.Detector{Vetoed: detect.AsSame, Do: at(5, detect.Veto)}, "5/7 6/7 7/7"},
	} {
		c.d.Name = "d"
		set := detect.NewSet([]detect.Detector{c.d})
		set.Begin(true)
		var seen []string
		for word := range strings.FieldsSeq(c.script) {
			asked := strings.Split(word, ",")
			calls := make([]detect.Call, len(asked))
			for i := range asked {
				calls[i] = request(asked[i])
			}
			set.Open(0, "", calls)
			note := func(found []detect.Firing) {
				if len(found) > 0 {
					seen = append(seen, fmt.Sprintf("%d/%d", found[0].Count, found[0].Seen))
				}
			}
			for i := range calls {
				if found := set.Before(i); len(found) > 0 {
					note(found)
					veto(set, calls, found[0])
				}
			}
			for i := range calls {
				end(&calls[i], asked[i])
			}
			note(set.Close())
		}
		if got := strings.Join(seen, " "); got != c.want {
			t.Errorf("%s: got %s, want %s", c.name, got, c.want)
		}
	}
}

package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/reports"
)

// Weeks in remission of 42 children with acute leukaemia, 6-mercaptopurine
// against placebo; + is still in remission (Freireich et al. 1963, Blood 21:699;
// Cox 1972, JRSS B 34:187).
var remission = []struct{ variant, weeks string }{
	{"6-MP", "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"},
	{"placebo", "1 1 2 2 3 4 4 5 5 8 8 8 8 11 11 12 12 15 17 22 23"},
}

// The remission data as a results file, a patient a line with what a line needs
// and no more, has the published figures: the product-limit estimate and its
// standard error for 6-MP, and 16.79 for the log-rank test.
func TestRemissionData(t *testing.T) {
	var lines strings.Builder
	for _, group := range remission {
		for i, weeks := range strings.Fields(group.weeks) {
			state := "LOOP_DETECTED"
			if strings.HasSuffix(weeks, "+") {
				state = "DONE"
			}
			fmt.Fprintf(&lines, "{\"type\":\"trial\",\"scenario\":\"%s-%d\",\"label\":\"healthy\",\"variant\":\"%s\",\"end_state\":\"%s\",\"calls\":%s}\n",
				group.variant, i, group.variant, state, strings.TrimSuffix(weeks, "+"))
		}
	}
	dir := t.TempDir()
	results, report := filepath.Join(dir, "x.jsonl"), filepath.Join(dir, "x.json")
	if err := os.WriteFile(results, []byte(lines.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := session(t, "report", results, "-o", report, "-q"); code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	var r reports.Report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	points := map[float64]reports.Point{}
	for _, p := range r.Survival[0].Points {
		points[p.T] = p
	}
	for _, want := range []struct{ t, survival, stdErr float64 }{
		{6, .857, .0764}, {7, .807, .0869}, {10, .753, .0963}, {13, .690, .1068}, {16, .627, .1141}, {22, .538, .1282}, {23, .448, .1346},
	} {
		p := points[want.t]
		if math.Abs(float64(p.Survival)-want.survival) > 0.00051 || math.Abs(float64(p.StdErr)-want.stdErr) > 0.000051 {
			t.Errorf("at %g: %.4f (%.5f), published %.3f (%.4f)", want.t, p.Survival, p.StdErr, want.survival, want.stdErr)
		}
	}
	// 21 patients; 9 relapses with 6-MP, and half relapsed by week 23.
	if s := r.Survival[0]; s.Variant != "6-MP" || s.N != 21 || s.Events != 9 || s.Median != 23 {
		t.Errorf("%s: %g patients, %g relapses, median %v", s.Variant, s.N, s.Events, s.Median)
	}
	if s := r.Survival[1]; s.N != 21 || s.Events != 21 || s.Median != 8 {
		t.Errorf("%s: %g patients, %g relapses, median %v", s.Variant, s.N, s.Events, s.Median)
	}
	if l := r.LogRank; len(l) != 1 || l[0].DF != 1 || math.Abs(float64(l[0].Chi2)-16.79) > 0.005 {
		t.Errorf("log-rank %+v, published 16.79", l)
	}
}

package reports

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
)

// The axis of the wide layout is 720 − 178 − 18 = 524 pixels for 4 calls, and
// 290 high from 26: one call is at 178 + 131, 75 % at 26 + 72.5.
func TestCurveSteps(t *testing.T) {
	axis := newCalls(wide, 2)
	points := []Point{
		{T: 1, AtRisk: 8, Events: 2, Survival: .75, Lower: .5, Upper: 1},
		{T: 2, AtRisk: 6, Events: 0, Survival: .75, Lower: .5, Upper: 1},
		{T: 4, AtRisk: 4, Events: 2, Survival: .5, Lower: Unknown(), Upper: Unknown()},
	}
	firm, faint := steps(points, &axis)
	if want := "M178 26L309 26L309 98.5L440 98.5"; firm != want {
		t.Errorf("firm: got %s, want %s", firm, want)
	}
	// four are fewer than five: from 2 calls on
	if want := "M440 98.5L702 98.5L702 171"; faint != want {
		t.Errorf("faint: got %s, want %s", faint, want)
	}
	// The band is known from 1 up to 4 calls: along the top, back along 50 %.
	found := bands(points)
	if len(found) != 1 {
		t.Fatalf("bands: got %v", found)
	}
	if got, want := bandPath(found[0], &axis), "M309 26L440 26L440 26L702 26L702 171L440 171L440 171L309 171Z"; got != want {
		t.Errorf("band: got %s, want %s", got, want)
	}
}

func TestCallMarks(t *testing.T) {
	for _, c := range []struct {
		l       layout
		longest float64
		want    string
	}{
		{wide, 3, "[0 1 2 3 4]"},
		{wide, 24, "[0 4 8 12 16 20 24]"},
		{wide, 100, "[0 1 2 4 8 16 32 64]"},
		{narrow, 100, "[0 1 4 16 64]"},
		{narrow, 5000, "[0 1 16 256 4096]"},
	} {
		axis := newCalls(c.l, c.longest)
		if got := fmt.Sprint(axis.marks()); got != c.want {
			t.Errorf("up to %v: got %s, want %s", c.longest, got, c.want)
		}
	}
}

// wellFormed reads all of an XML document.
func wellFormed(t *testing.T, text string) {
	t.Helper()
	dec := xml.NewDecoder(strings.NewReader(text))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

func TestSVG(t *testing.T) {
	r := folded(t, &Fold{}, endedIn("a", "v1"+evil, scenarios.Runaway, 1, loop.LoopDetected, 3), endedIn("b", "v1"+evil, scenarios.Healthy, 1, loop.Done, 5),
		endedIn("a", "v2", scenarios.Runaway, 1, loop.Ceiling, 50), endedIn("b", "v2", scenarios.Healthy, 1, loop.BudgetExceeded, 2))
	var b strings.Builder
	if err := WriteSVG(&b, r); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	for _, want := range []string{"Runaways not yet stopped (lower is better)", "Healthy runs not yet stopped (higher is better)", `role="img"`, "v2 after 2 calls: 0 % not yet stopped"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
	if strings.Contains(b.String(), "<script") {
		t.Error("a name became an element")
	}
}

// With more variants than colours, those that do not stand out are grey.
func TestSVGManyVariants(t *testing.T) {
	var results []*scenarios.Result
	for i := range 12 {
		results = append(results, tried(fmt.Sprintf("v%02d", i), 20, i, 5, 20, 0)...)
	}
	c := newChoice(folded(t, &Fold{}, results...))
	// the best is v11, the reference v00, then the next best
	want := map[string]string{"v11": "s0", "v00": "s1", "v10": "s2", "v09": "s3", "v08": "s4", "v07": "s5", "v06": "s6", "v05": grey, "v01": grey}
	for variant, class := range want {
		if got := c.class(variant); got != class {
			t.Errorf("%s: got %s, want %s", variant, got, class)
		}
	}
	var b strings.Builder
	if err := WriteSVG(&b, c.report); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "5 other variants") {
		t.Error("the grey curves are not counted")
	}
}

func TestSVGWithoutTrials(t *testing.T) {
	var b strings.Builder
	if err := WriteSVG(&b, folded(t, &Fold{})); err != nil {
		t.Fatal(err)
	}
	wellFormed(t, b.String())
	if !strings.Contains(b.String(), "no trials") {
		t.Errorf("got %s", b.String())
	}
}

// Bands have the edges of steps: a share holds until the next event.
func TestBandsAreSteps(t *testing.T) {
	got := bands([]Point{{T: 2, Lower: .5, Upper: .9}, {T: 5, Lower: .25, Upper: .75}, {T: 8, Lower: Unknown(), Upper: Unknown()}})
	want := [][]corner{{{2, .9}, {5, .9}, {5, .75}, {8, .75}, {8, .25}, {5, .25}, {5, .5}, {2, .5}}}
	if !slices.EqualFunc(got, want, slices.Equal[[]corner]) {
		t.Errorf("got %v", got)
	}
}

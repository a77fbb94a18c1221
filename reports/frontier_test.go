package reports

import (
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/reports/stats"
)

const plantedMarkup = `</title><script>alert(1)</script>"'&`

func frontier() *Frontier {
	return &Frontier{Title: "chosen: " + plantedMarkup, Lines: []string{"line " + plantedMarkup}, Points: []FrontierPoint{
		{Name: "turns 12", Saved: stats.Interval{Value: 0.1, Lower: 0.05, Upper: 0.15}, Good: stats.Interval{Value: 0.0, Upper: 0.02}, Config: "limits: {turns: 12}\n"},
		{Name: "rule " + plantedMarkup, Saved: stats.Interval{Value: 0.2, Lower: 0.1, Upper: 0.6}, Good: stats.Interval{Value: 0.05, Lower: 0.01, Upper: 0.3}, Config: "# " + plantedMarkup + "\n", Counts: []string{plantedMarkup}, Chosen: true},
		{Name: "no good run", Saved: stats.Interval{Value: 0.2}, Good: stats.Interval{Value: math.NaN()}, Config: "a: b\n"},
	}}
}

func TestFrontierHTML(t *testing.T) {
	var b strings.Builder
	if err := frontier().WriteHTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	if strings.Contains(page, "<script>alert") || strings.Count(page, "<script") != 1 {
		t.Error("foreign text is not escaped")
	}
	for _, not := range []string{"http:", "https:", "src=", "@import", "url("} {
		// The name of a namespace is asked for by nobody.
		if strings.Contains(strings.ReplaceAll(page, `xmlns="http://www.w3.org/2000/svg"`, ""), not) {
			t.Errorf("the page has %q, which may load something", not)
		}
	}
	// Each point has a row, its YAML, and a link in each of the two plots.
	for _, want := range []string{`<tr id="point-1">`, `<tr id="point-2" class="chosen">`, `<pre tabindex="0">limits: {turns: 12}`, `10 % (5–15 %)`, `default-src &#39;none&#39;`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, `<a href="#point-1" class="series">`); n != 2 {
		t.Errorf("point 1 is linked from %d plots, want 2", n)
	}
	if n := strings.Count(page, ` role="group" class="chart`); n != 2 || strings.Contains(page, `role="img"`) {
		t.Errorf("%d plots are groups of their links, want 2", n)
	}
	if strings.Contains(page, "NaN") {
		t.Error("the page has NaN")
	}
}

func TestFrontierSVG(t *testing.T) {
	for _, f := range []*Frontier{frontier(), {Title: "nothing helps"}} {
		var b strings.Builder
		if err := f.WriteSVG(&b); err != nil {
			t.Fatal(err)
		}
		circles := 0
		for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "circle" {
				circles++
			}
		}
		if want := min(2, len(f.Points)); circles != want { // the third has no place
			t.Errorf("%d points are drawn, want %d", circles, want)
		}
		if strings.Contains(b.String(), "NaN") {
			t.Error("the picture has NaN")
		}
	}
}

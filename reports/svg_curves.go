package reports

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// WriteSVG writes the survival curves of a report as one picture, with the charts of
// the labels one below the other. If there are more variants than colours, the others
// are grey.
func WriteSVG(w io.Writer, r *Report) error {
	order := newChoice(r)
	charts := order.curveCharts()
	top := 12 + 18*float64(len(r.Incomplete))
	height := top
	for _, c := range charts {
		height += c.height(wide) + 40
	}
	d := &drawing{}
	about := slices.Clone(r.Incomplete)
	for _, c := range charts {
		about = append(about, c.title+": "+c.about())
	}
	d.svg(wide.width, max(height, top+28), "chart", "Survival curves of "+r.Line(), strings.Join(about, " "), func() {
		d.open("style")
		d.b.WriteString(chartCSS)
		d.close("style")
		d.leaf("rect", "width", "100%", "height", "100%", "class", "paper")
		if len(charts) == 0 {
			d.text(12, top+12, "quiet", "no trials")
		}
		for i, words := range r.Incomplete {
			d.text(12, 18*float64(i+1), "head", text.Line(words))
		}
		y := top
		for _, c := range charts {
			d.open("g", "transform", "translate(0 "+coordinate(y)+")")
			d.text(12, 14, "head", c.title)
			d.open("g", "transform", "translate(0 20)")
			c.draw(d, wide)
			d.close("g")
			d.close("g")
			y += c.height(wide) + 40
		}
	})
	_, err := io.WriteString(w, d.b.String())
	return err
}

// A curveChart is the chart of the curves of one label.
type curveChart struct {
	title  string
	series []series // highlighted ones come last, so that they are on top
}

type series struct {
	curve *Survival
	class string // class of its colour; grey = not highlighted
	shown bool   // its band is always visible
}

// grey is the class of variants that are not highlighted.
const grey = "sx"

// bandsShown is how many bands can overlap. Other bands appear when the reader points
// at their curve.
const bandsShown = 3

// curveCharts returns a chart for each label that has curves.
func (c *choice) curveCharts() []curveChart {
	var out []curveChart
	for _, label := range c.report.present() {
		chart := curveChart{title: c.curveTitle(label)}
		for _, standsOut := range []bool{false, true} {
			for i := range c.report.Survival {
				s := &c.report.Survival[i]
				class := c.class(s.Variant)
				if s.Label != label || (class != grey) != standsOut {
					continue
				}
				few := len(c.colours) <= bandsShown || s.Variant == c.best() || s.Variant == c.report.Reference
				chart.series = append(chart.series, series{curve: s, class: class, shown: few && standsOut})
			}
		}
		out = append(out, chart)
		if label == scenarios.Healthy && len(c.report.Harm) > 0 {
			out = append(out, c.harmChart())
		}
	}
	return out
}

// harmChart returns the chart of the healthy runs that were neither stopped nor had a
// call refused.
func (c *choice) harmChart() curveChart {
	chart := curveChart{title: "Healthy runs not yet stopped, with no call refused yet (higher is better)"}
	for _, standsOut := range []bool{false, true} {
		for i := range c.report.Harm {
			s := &c.report.Harm[i]
			if class := c.class(s.Variant); (class != grey) == standsOut {
				few := len(c.colours) <= bandsShown || s.Variant == c.best() || s.Variant == c.report.Reference
				chart.series = append(chart.series, series{curve: s, class: class, shown: few && standsOut})
			}
		}
	}
	return chart
}

func (c *choice) curveTitle(label scenarios.Label) string {
	name := runsOf(label, c.report.replay()) + "s not yet stopped"
	name = strings.ToUpper(name[:1]) + name[1:]
	switch label {
	case scenarios.Healthy:
		return name + " (higher is better)"
	case scenarios.Runaway:
		return name + " (lower is better)"
	}
	return name
}

// bright returns the highlighted series.
func (c *curveChart) bright() []series {
	for i, s := range c.series {
		if s.class != grey {
			return c.series[i:]
		}
	}
	return nil
}

// row is the height of a line of the numbers at risk.
const row = 17

// height returns the height of the whole chart.
func (c *curveChart) height(l layout) float64 {
	rows := float64(len(c.bright()))
	if l.stacked {
		rows *= 2
	}
	if len(c.bright()) < len(c.series) {
		rows++
	}
	return l.bottom() + 62 + row*rows
}

// about describes the chart in words.
func (c *curveChart) about() string {
	var parts []string
	for _, s := range c.bright() {
		var at []string
		for _, n := range AliveAfter {
			if a := s.curve.Alive[fmt.Sprint(n)]; a.words() != none {
				at = append(at, fmt.Sprintf("%s after %d", a.words(), n))
			}
		}
		words := strings.Join(at, ", ")
		if words == "" {
			words = "no run at risk after 2"
		}
		parts = append(parts, text.Line(s.curve.Variant)+": "+words+" calls.")
	}
	return strings.Join(parts, " ")
}

// longest returns the number of calls of the longest run.
func (c *curveChart) longest() float64 {
	longest := 0.0
	for _, s := range c.series {
		for _, p := range s.curve.Points {
			longest = max(longest, p.T)
		}
	}
	return longest
}

// draw draws the chart.
func (c *curveChart) draw(d *drawing, l layout) {
	axis := newCalls(l, c.longest())
	axis.frame(d)
	for i := range c.series {
		c.series[i].draw(d, &axis)
	}
	c.atRisk(d, &axis)
}

// draw draws a curve, and its band and values if it is highlighted.
func (s *series) draw(d *drawing, axis *calls) {
	class := "series"
	if s.shown {
		class += " shown"
	}
	d.open("g", "class", class, "data-variant", text.Line(s.curve.Variant))
	d.element("title", text.Line(s.curve.Variant)+", "+Amount(s.curve.N)+" runs, "+Amount(s.curve.Events)+" stopped")
	if s.class != grey {
		for _, band := range bands(s.curve.Points) {
			d.leaf("path", "class", "band "+s.class, "d", bandPath(band, axis))
		}
	}
	firm, faint := steps(s.curve.Points, axis)
	d.leaf("path", "class", "curve "+s.class, "d", firm)
	if faint != "" {
		d.leaf("path", "class", "curve faint "+s.class, "d", faint)
	}
	if s.class != grey {
		s.values(d, axis)
	}
	d.close("g")
}

// values draws a mark with the figures at each point of the curve.
func (s *series) values(d *drawing, axis *calls) {
	for _, p := range s.curve.Points {
		if !p.Survival.Known() {
			continue
		}
		d.open("circle", "class", "pt "+s.class, "r", "6", "cx", coordinate(axis.x(p.T)), "cy", coordinate(axis.y(float64(p.Survival))), "data-t", fmt.Sprint(p.T))
		d.element("title", fmt.Sprintf("%s after %s calls: %s %% not yet stopped (95 %%: %s), %s at risk, %s stopped here", text.Line(s.curve.Variant), Amount(p.T),
			percent(p.Survival), Percents(p.Lower, p.Upper), Amount(p.AtRisk), Amount(p.Events)))
		d.close("circle")
	}
}

// steps returns the path of a curve, and the path of its end, where fewer than five
// runs are at risk.
func steps(points []Point, axis *calls) (firm, faint string) {
	var parts [2]path
	t, share, at := 0.0, 1.0, 0
	parts[0].to('M', axis.x(0), axis.y(1))
	for _, p := range points {
		if !p.Survival.Known() {
			break
		}
		if p.AtRisk < few && at == 0 {
			at = 1
			parts[1].to('M', axis.x(t), axis.y(share))
		}
		parts[at].to('L', axis.x(p.T), axis.y(share))
		t, share = p.T, float64(p.Survival)
		if p.Events > 0 {
			parts[at].to('L', axis.x(t), axis.y(share))
		}
	}
	return parts[0].b.String(), parts[1].b.String()
}

// A corner is a corner of the outline of a band.
type corner struct{ t, share float64 }

// bands returns the outlines of a 95 % band, one for each stretch where it is known.
func bands(points []Point) [][]corner {
	var out [][]corner
	var stretch []Point
	flush := func(end float64) {
		if len(stretch) > 0 {
			out = append(out, outline(stretch, end))
		}
		stretch = nil
	}
	for _, p := range points {
		if !p.Lower.Known() || !p.Upper.Known() {
			flush(p.T)
			continue
		}
		stretch = append(stretch, p)
	}
	if len(stretch) > 0 {
		flush(stretch[len(stretch)-1].T)
	}
	return out
}

// outline returns the outline of a band: along the upper edge and back along the lower
// one, in steps.
func outline(points []Point, end float64) []corner {
	until := func(i int) float64 {
		if i+1 < len(points) {
			return points[i+1].T
		}
		return end
	}
	var out []corner
	for i, p := range points {
		out = append(out, corner{p.T, float64(p.Upper)}, corner{until(i), float64(p.Upper)})
	}
	for i := len(points) - 1; i >= 0; i-- {
		lower := float64(points[i].Lower)
		out = append(out, corner{until(i), lower}, corner{points[i].T, lower})
	}
	return out
}

// bandPath returns the outline of a band as a path.
func bandPath(band []corner, axis *calls) string {
	var p path
	command := byte('M')
	for _, c := range band {
		p.to(command, axis.x(c.t), axis.y(c.share))
		command = 'L'
	}
	p.b.WriteByte('Z')
	return p.b.String()
}

// atRisk writes the names and the numbers of runs at risk below the axis.
func (c *curveChart) atRisk(d *drawing, axis *calls) {
	y := axis.bottom() + 54
	d.text(12, y, "quiet", "runs at risk")
	for _, s := range c.bright() {
		y += row
		d.line(12, y-4, 36, y-4, "curve "+s.class)
		if axis.stacked {
			d.text(42, y, "name", text.Clip(text.Line(s.curve.Variant), 35))
			y += row
		} else {
			d.text(42, y, "name", text.Clip(text.Line(s.curve.Variant), 15))
		}
		for _, t := range axis.marks() {
			d.text(axis.x(t), y, "mid", Amount(s.curve.atRisk(t)))
		}
	}
	if more := len(c.series) - len(c.bright()); more > 0 {
		y += row
		d.line(12, y-4, 36, y-4, "curve "+grey)
		d.text(42, y, "quiet", text.Count(more, "other variant"))
	}
}

// atRisk returns how many runs had not ended before t calls.
func (s *Survival) atRisk(t float64) float64 {
	for _, p := range s.Points {
		if p.T >= t {
			return p.AtRisk
		}
	}
	return 0
}

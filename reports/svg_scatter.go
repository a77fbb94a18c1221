package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A scatter plots the share of runaways caught against the share of healthy runs
// stopped. The better a variant, the nearer it is to the upper left.
type scatter struct {
	*choice
	most float64 // share of healthy runs stopped at which the axis ends
}

// scatter returns the chart, and whether it has anything to show: at least two variants
// that were tried on both labels.
func (c *choice) scatter() (*scatter, bool) {
	s := &scatter{choice: c}
	highest := 0.0
	n := 0
	for i := range c.ranked {
		if c.ranked[i].caught != nil && c.ranked[i].harmed != nil {
			n++
			highest = max(highest, c.ranked[i].harmed.share())
		}
	}
	for _, s.most = range []float64{0.1, 0.2, 0.4, 0.6, 0.8, 1} {
		if highest <= 0.9*s.most {
			break
		}
	}
	return s, n > 1
}

func (s *scatter) about() string {
	var parts []string
	for _, p := range s.spots(s.fit(wide)) {
		parts = append(parts, fmt.Sprintf("%s: %s %% against %s %%.", strings.Join(p.names, ", "), percent(p.best.caught.Rate), percent(p.best.harmed.Rate)))
	}
	return strings.Join(parts, " ")
}

func (s *scatter) height(l layout) float64 {
	l = s.fit(l)
	return l.bottom() + 46
}

// fit makes room for names above the plot instead of beside it.
func (s *scatter) fit(l layout) layout {
	l.top += 18
	l.left = narrow.left
	return l
}

// x returns the position of a share of healthy runs stopped. The scale is the square
// root, since most variants stop few and differ there.
func (s *scatter) x(l *layout, share float64) float64 {
	return l.left + l.plotWidth()*math.Sqrt(share/s.most)
}

// A spot is a position of one or more variants.
type spot struct {
	x, y  float64
	names []string
	best  *standing // the first of them in the ranking
	class string
	front bool
}

// spots returns the positions, the best first.
func (s *scatter) spots(l layout) []spot {
	var out []spot
	for i := range s.ranked {
		v := &s.ranked[i]
		if v.caught == nil || v.harmed == nil {
			continue
		}
		x, y := s.x(&l, v.harmed.share()), l.y(v.caught.share())
		at := slices.IndexFunc(out, func(p spot) bool { return coordinate(p.x) == coordinate(x) && coordinate(p.y) == coordinate(y) })
		if at < 0 {
			out = append(out, spot{x: x, y: y, best: v, class: s.class(v.variant), front: v.beaten == ""})
			at = len(out) - 1
		}
		out[at].names = append(out[at].names, text.Line(v.variant))
	}
	return out
}

// draw draws the chart.
func (s *scatter) draw(d *drawing, l layout) {
	l = s.fit(l)
	shareAxis(d, &l)
	marks := []float64{0, .01, .05, .1, .2, .4, .6, .8, 1}
	if l.stacked {
		marks = []float64{0, .05, .2, .5, 1}
	}
	for _, share := range marks {
		if share > s.most {
			break
		}
		x := s.x(&l, share)
		d.line(x, l.top, x, l.bottom(), "grid")
		d.text(x, l.bottom()+16, "mid quiet", percent(Figure(share))+" %")
	}
	replay := s.report.replay()
	verb := "caught"
	if replay {
		verb = "stopped"
	}
	d.text(l.left, 14, "quiet", "↑ more "+runsOf(scenarios.Runaway, replay)+"s "+verb)
	d.text(l.left+l.plotWidth()/2, l.bottom()+34, "mid quiet", "← fewer "+runsOf(scenarios.Healthy, replay)+"s "+string(s.report.harm())+" (root scale)")
	spots := s.spots(l)
	s.front(d, spots)
	for i := len(spots) - 1; i >= 0; i-- {
		s.spot(d, &l, &spots[i])
	}
	s.labels(d, &l, spots)
}

// front draws the line through the variants that no other beats in both rates.
func (s *scatter) front(d *drawing, spots []spot) {
	var on []spot
	for _, p := range spots {
		if p.front {
			on = append(on, p)
		}
	}
	slices.SortFunc(on, func(a, b spot) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(b.y, a.y)) })
	var line path
	for i, p := range on {
		if i == 0 {
			line.to('M', p.x, p.y)
			continue
		}
		line.to('L', p.x, on[i-1].y)
		line.to('L', p.x, p.y)
	}
	if len(on) > 1 {
		d.leaf("path", "class", "front", "d", line.b.String())
	}
}

func (s *scatter) spot(d *drawing, l *layout, p *spot) {
	v := p.best
	d.open("g", "class", "series")
	d.element("title", strings.Join(p.names, ", ")+": "+s.does(v))
	if p.class != grey {
		d.line(p.x, l.y(float64(v.caught.Lower)), p.x, l.y(float64(v.caught.Upper)), "whisker "+p.class)
		d.line(s.x(l, float64(v.harmed.Lower)), p.y, s.x(l, min(s.most, float64(v.harmed.Upper))), p.y, "whisker "+p.class)
	}
	r := "6"
	if p.class == grey {
		r = "4"
	}
	d.leaf("circle", "class", "dot "+p.class, "cx", coordinate(p.x), "cy", coordinate(p.y), "r", r)
	d.close("g")
}

// A box is an area that is in use.
type box struct{ left, top, right, bottom float64 }

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// labels writes the names of highlighted variants where there is room beside their
// spot. The names of the best and the reference can be farther away, with a line to the
// spot.
func (s *scatter) labels(d *drawing, l *layout, spots []spot) {
	var taken []box
	for _, p := range spots {
		taken = append(taken, box{p.x - 6, p.y - 6, p.x + 6, p.y + 6})
	}
	for i := range spots {
		p := &spots[i]
		if p.class == grey && len(spots) > colourCount {
			continue
		}
		b, found := p.room(l, taken, slices.Contains([]string{s.best(), s.report.Reference}, p.best.variant))
		if !found {
			continue
		}
		taken = append(taken, b)
		if b.left-p.x > closeBy || b.top-p.y > closeBy {
			d.line(p.x, p.y, b.left-2, b.bottom-8, "lead")
		}
		d.text(b.left, b.bottom-3, "name", p.words())
	}
}

// closeBy is how far a name can be from its spot without a line to it, in pixels.
const closeBy = 12

// room finds a free box for the name of a spot.
func (p *spot) room(l *layout, taken []box, anywhere bool) (box, bool) {
	width := 7.8 * float64(utf8.RuneCountInString(p.words()))
	fits := func(x, y float64) (box, bool) {
		b := box{p.x + x, p.y + y - 11, p.x + x + width, p.y + y + 3}
		inside := b.left >= l.left && b.right <= l.width-2 && b.top >= 18 && b.bottom <= l.bottom()
		return b, inside && !slices.ContainsFunc(taken, b.meets)
	}
	for _, at := range [][2]float64{{10, 4}, {8, -8}, {-10 - width, 4}, {-8 - width, -8}, {8, 18}, {-8 - width, 18}} {
		if b, ok := fits(at[0], at[1]); ok {
			return b, true
		}
	}
	for y := 24.0; anywhere && y < l.height; y += 16 {
		for x := 8.0; x < l.plotWidth()/2; x += 24 {
			if b, ok := fits(x, y); ok {
				return b, true
			}
		}
	}
	return box{}, false
}

func (p *spot) words() string {
	words := text.Clip(p.names[0], 23)
	if more := len(p.names) - 1; more > 0 {
		words += fmt.Sprintf(" +%d", more)
	}
	return words
}

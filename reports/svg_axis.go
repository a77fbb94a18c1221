package reports

import (
	"math"
	"strconv"
)

// A layout is the size of a chart and its margins, in pixels.
type layout struct {
	width, left, right, top, height float64 // height of the plot alone
	stacked                         bool    // names are above their numbers
	ticks                           int     // at most, along the axis of calls
}

// The layouts: for a wide page, and for a phone.
var (
	wide   = layout{width: 720, left: 178, right: 18, top: 26, height: 290, ticks: 9}
	narrow = layout{width: 335, left: 42, right: 12, top: 26, height: 220, ticks: 6, stacked: true}
)

func (l *layout) plotWidth() float64 { return l.width - l.left - l.right }
func (l *layout) bottom() float64    { return l.top + l.height }

// y returns the position of a share between 0 and 1.
func (l *layout) y(share float64) float64 { return l.top + l.height*(1-share) }

// calls is the axis of numbers of calls. It is linear if the longest run has at most
// longEven calls, else logarithmic, since most runs are short and some very long.
type calls struct {
	layout
	max  float64
	even bool
}

const longEven = 24

func newCalls(l layout, longest float64) calls {
	longest = max(longest, 4)
	return calls{layout: l, max: longest, even: longest <= longEven}
}

// x returns the position of a number of calls.
func (c *calls) x(t float64) float64 {
	if c.even {
		return c.left + c.plotWidth()*t/c.max
	}
	return c.left + c.plotWidth()*math.Log2(1+t)/math.Log2(1+c.max)
}

// marks returns the numbers of calls that have a mark, as many as there is room for.
func (c *calls) marks() []float64 {
	if c.even {
		step := 1.0
		for _, s := range []float64{1, 2, 4, 8} {
			if step = s; c.max/s < float64(c.ticks) {
				break
			}
		}
		var out []float64
		for t := 0.0; t <= c.max; t += step {
			out = append(out, t)
		}
		return out
	}
	out := []float64{0}
	for t := 1.0; t <= c.max; t *= 2 {
		out = append(out, t)
	}
	for len(out) > c.ticks { // every other one, down from the greatest
		var kept []float64
		for i := len(out) - 1; i > 0; i -= 2 {
			kept = append([]float64{out[i]}, kept...)
		}
		out = append([]float64{0}, kept...)
	}
	return out
}

// frame draws the grid, both axes and their words.
func (c *calls) frame(d *drawing) {
	shareAxis(d, &c.layout)
	for _, t := range c.marks() {
		d.line(c.x(t), c.top, c.x(t), c.bottom(), "grid")
		d.text(c.x(t), c.bottom()+16, "mid quiet", strconv.FormatFloat(t, 'f', -1, 64))
	}
	d.line(c.left, c.bottom(), c.width-c.right, c.bottom(), "axis")
	words := "calls asked for"
	if !c.even {
		words += " (logarithmic)"
	}
	d.text(c.left+c.plotWidth()/2, c.bottom()+33, "mid quiet", words)
}

// shareAxis draws the axis of shares, from 0 to 100 %.
func shareAxis(d *drawing, l *layout) {
	for _, s := range []float64{0, .25, .5, .75, 1} {
		d.line(l.left, l.y(s), l.width-l.right, l.y(s), "grid")
		d.text(l.left-6, l.y(s)+4, "end quiet", percent(Figure(s))+" %")
	}
}

package reports

import (
	"image/color"
	"io"
	"math"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// The size of a chart in a PNG, and how fine it is.
const (
	pngWidth  = 8 * vg.Inch
	pngNames  = 1.6 * vg.Inch // of it for the names of the curves
	pngHeight = 3.8 * vg.Inch
	pngDPI    = 144
)

// pngColours are those of the classes s0 to s6 in a light chart.
var pngColours = []color.NRGBA{
	{0x00, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0x00, 255}, {0x00, 0x9e, 0x73, 255}, {0xcc, 0x79, 0xa7, 255},
	{0x00, 0x00, 0x00, 255}, {0xe6, 0x9f, 0x00, 255}, {0x56, 0xb4, 0xe9, 255},
}

var (
	pngGrey   = color.NRGBA{0x8c, 0x95, 0x9f, 160}
	pngDashes = [][]vg.Length{nil, {9, 3}, {3, 2}, {10, 3, 2, 3}, {6, 2, 2, 2, 2, 2}, {14, 4}, {5, 5}}
)

// WritePNG writes the survival curves of a report as one picture, as [WriteSVG]
// does, for places that show no SVG. It has no numbers at risk.
func WritePNG(w io.Writer, r *Report) error {
	charts := newChoice(r).curveCharts()
	if len(charts) == 0 {
		charts = []curveChart{{title: "No trials"}}
	}
	height := pngHeight * vg.Length(len(charts))
	canvas := vgimg.NewWith(vgimg.UseWH(pngWidth, height), vgimg.UseDPI(pngDPI))
	whole := draw.New(canvas)
	for i := range charts {
		p, err := charts[i].plot()
		if err != nil {
			return err
		}
		legend := p.Legend
		p.Legend = plot.NewLegend()
		top := height - pngHeight*vg.Length(i)
		room := draw.Crop(whole, 0.15*vg.Inch, -0.1*vg.Inch, top-pngHeight+0.1*vg.Inch, top-height-0.15*vg.Inch)
		p.Draw(draw.Crop(room, 0, -pngNames, 0, 0))
		legend.Draw(draw.Crop(room, room.Size().X-pngNames+0.1*vg.Inch, 0, 0, -0.3*vg.Inch))
	}
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// plot makes the chart for gonum.
func (c *curveChart) plot() (*plot.Plot, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, "calls asked for", "not yet stopped"
	for _, f := range []*font.Font{&p.Title.TextStyle.Font, &p.X.Label.TextStyle.Font, &p.Y.Label.TextStyle.Font, &p.X.Tick.Label.Font, &p.Y.Tick.Label.Font, &p.Legend.TextStyle.Font} {
		f.Variant = "Sans"
	}
	p.Title.Padding = 6
	axis := newCalls(wide, c.longest())
	place := func(t float64) float64 { return t }
	if !axis.even {
		place = func(t float64) float64 { return math.Log2(1 + t) }
		p.X.Label.Text += " (logarithmic)"
	}
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = 0, place(axis.max), 0, 1
	p.X.Tick.Marker, p.Y.Tick.Marker = pngTicks(axis.marks(), place), plot.ConstantTicks(shareTicks())
	p.Add(plotter.NewGrid())
	p.Legend.Top, p.Legend.Left, p.Legend.YPosition, p.Legend.Padding = true, true, draw.PosCenter, 3
	for i := range c.series { // bands lie below all curves
		if !c.series[i].shown {
			continue
		}
		if err := c.series[i].addBands(p, place); err != nil {
			return nil, err
		}
	}
	for i := range c.series {
		if err := c.series[i].add(p, place); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func pngTicks(marks []float64, place func(float64) float64) plot.ConstantTicks {
	var out plot.ConstantTicks
	for _, t := range marks {
		out = append(out, plot.Tick{Value: place(t), Label: strconv.FormatFloat(t, 'f', -1, 64)})
	}
	return out
}

func shareTicks() []plot.Tick {
	var out []plot.Tick
	for _, s := range []float64{0, .25, .5, .75, 1} {
		out = append(out, plot.Tick{Value: s, Label: percent(Figure(s)) + " %"})
	}
	return out
}

// pngBand is how opaque a band is: curves and grid show through.
const pngBand = 33

// addBands draws the 95 % band of a curve.
func (s *series) addBands(p *plot.Plot, place func(float64) float64) error {
	for _, band := range bands(s.curve.Points) {
		xys := make(plotter.XYs, len(band))
		for i, c := range band {
			xys[i] = plotter.XY{X: place(c.t), Y: c.share}
		}
		area, err := plotter.NewPolygon(xys)
		if err != nil {
			return err
		}
		colour := pngColours[s.number()]
		colour.A = pngBand
		area.Color, area.LineStyle.Width = colour, 0
		p.Add(area)
	}
	return nil
}

// number is that of the colour of what stands out.
func (s *series) number() int { return int(s.class[1] - '0') }

// add draws a curve, and names it if it stands out.
func (s *series) add(p *plot.Plot, place func(float64) float64) error {
	xys := plotter.XYs{{X: 0, Y: 1}}
	for _, point := range s.curve.Points {
		if !point.Survival.Known() {
			break
		}
		xys = append(xys, plotter.XY{X: place(point.T), Y: float64(point.Survival)})
	}
	line, err := plotter.NewLine(xys)
	if err != nil {
		return err
	}
	line.StepStyle = plotter.PostStep
	line.Color, line.Width = pngGrey, vg.Points(0.8)
	if s.class != grey {
		n := s.number()
		line.Color, line.Width, line.Dashes = pngColours[n], vg.Points(2), pngDashes[n]
		p.Legend.Add(shorten(Line(s.curve.Variant), 18), line)
	}
	p.Add(line)
	return nil
}

package reports

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"math"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports/stats"
)

// A Frontier is what there is to choose from where less harm costs some of the use: rules
// that no other beats, from the one that stops fewest good runs to the one that saves
// most. Its texts may be foreign; they are escaped where they are written.
type Frontier struct {
	Title  string   // the answer
	Lines  []string // what stands behind it
	Tool   string   // the version that made it, "" = not shown
	Points []FrontierPoint
}

// A FrontierPoint is one rule of a [Frontier].
type FrontierPoint struct {
	Name string
	// Saved is the share of the calls of failed runs that do not run, Good the share of
	// good runs that are stopped.
	Saved, Good stats.Interval
	Counts      []string // what is counted behind the shares, a sentence each
	Config      string   // the rule as the YAML of a variant
	Chosen      bool
}

// WriteSVG writes the frontier as one picture.
func (f *Frontier) WriteSVG(w io.Writer) error {
	c := &frontierChart{Frontier: f}
	d := &drawing{}
	d.svg(wide.width, c.height(wide)+40, "chart", f.heading(), c.about(), func() {
		d.open("style")
		d.b.WriteString(chartCSS)
		d.close("style")
		d.leaf("rect", "width", "100%", "height", "100%", "class", "paper")
		d.text(12, 20, "head", text.Clip(f.heading(), 110))
		d.open("g", "transform", "translate(0 30)")
		c.draw(d, wide)
		d.close("g")
	})
	_, err := io.WriteString(w, d.b.String())
	return err
}

func (f *Frontier) heading() string { return text.Line(f.Title) }

//go:embed html/frontier.tmpl html/frontier.css html/frontier.js
var frontierFiles embed.FS

var parseFrontier = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(frontierFiles, "html/frontier.tmpl"))
})

// WriteHTML writes the frontier as one page that needs no network: a plot, and a table in
// which a reader chooses a point and gets its YAML. Without JavaScript the YAML of each
// point is there as well; with it, the reader copies it by a button.
func (f *Frontier) WriteHTML(w io.Writer) error {
	var files [3]string
	for i, name := range []string{"html/page.css", "html/frontier.css", "html/frontier.js"} {
		from := frontierFiles
		if i == 0 {
			from = pageFiles
		}
		data, err := from.ReadFile(name)
		if err != nil {
			return err
		}
		files[i] = string(data)
	}
	sum := sha256.Sum256([]byte(files[2]))
	p := struct {
		Title, Tool, Policy string
		Lines               []string
		Style               template.CSS
		Script              template.JS
		Figure              *figureView
		Rows                []frontierRow
	}{Title: f.heading(), Tool: text.Line(f.Tool), Lines: clean(f.Lines), Style: template.CSS(files[0] + chartCSS + files[1]), Script: template.JS(files[2]),
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"}
	if len(f.Points) > 0 {
		figure := newFigure("What a rule saves, and what it costs", "Nearer to the upper left is better. Thin lines are 95 % intervals. The figures are seen: they are from the runs among which the rules were found, and too good.", &frontierChart{Frontier: f})
		p.Figure = &figure
	}
	for i := range f.Points {
		at := &f.Points[i]
		p.Rows = append(p.Rows, frontierRow{Number: i + 1, Name: text.Line(at.Name), Saved: interval(at.Saved), Good: interval(at.Good), Counts: clean(at.Counts), Config: text.Lines(at.Config), Chosen: at.Chosen})
	}
	return parseFrontier().Execute(w, p)
}

// A frontierRow is a point for the template, which escapes all text.
type frontierRow struct {
	Number            int
	Name, Saved, Good string
	Counts            []string
	Config            string
	Chosen            bool
}

// interval writes a share with its interval, — for that of nothing.
func interval(i stats.Interval) string {
	if math.IsNaN(i.Value) {
		return "—"
	}
	return fmt.Sprintf("%s %% (%s–%s %%)", percent(Figure(i.Value)), percent(Figure(i.Lower)), percent(Figure(i.Upper)))
}

// A frontierChart plots calls saved against good runs stopped.
type frontierChart struct{ *Frontier }

func (c *frontierChart) about() string {
	var parts []string
	for i := range c.Points {
		p := &c.Points[i]
		parts = append(parts, fmt.Sprintf("%s: %s of calls saved, %s of good runs stopped.", text.Line(p.Name), interval(p.Saved), interval(p.Good)))
	}
	if parts == nil {
		return "There is no rule to show."
	}
	return strings.Join(parts, " ")
}

func (c *frontierChart) height(l layout) float64 {
	l = c.fit(l)
	return l.bottom() + 46
}

func (c *frontierChart) fit(l layout) layout {
	l.top += 18
	l.left = narrow.left
	return l
}

// most returns where an axis ends: the first round share above the greatest.
func most(greatest float64) float64 {
	for _, end := range []float64{0.05, 0.1, 0.2, 0.4, 0.6, 0.8} {
		if greatest <= 0.95*end {
			return end
		}
	}
	return 1
}

func (c *frontierChart) draw(d *drawing, l layout) {
	l = c.fit(l)
	var saved, good float64
	for i := range c.Points {
		saved, good = max(saved, c.Points[i].Saved.Value), max(good, c.Points[i].Good.Value)
	}
	top, end := most(saved), most(good)
	y := func(share float64) float64 { return l.y(min(top, share) / top) }
	x := func(share float64) float64 { return l.left + l.plotWidth()*min(end, share)/end }
	for i := range 5 {
		part := float64(i) / 4
		d.line(l.left, l.y(part), l.width-l.right, l.y(part), "grid")
		d.text(l.left-6, l.y(part)+4, "end quiet", percent(Figure(part*top)))
		d.line(x(part*end), l.top, x(part*end), l.bottom(), "grid")
		d.text(x(part*end), l.bottom()+16, "mid quiet", percent(Figure(part*end))+" %")
	}
	d.text(l.left, 14, "quiet", "↑ more calls of failed runs saved (%)")
	d.text(l.left+l.plotWidth()/2, l.bottom()+34, "mid quiet", "← fewer good runs stopped")
	var line path
	drawn := 0
	for i := range c.Points {
		p := &c.Points[i]
		if math.IsNaN(p.Good.Value) || math.IsNaN(p.Saved.Value) {
			continue
		}
		px, py := x(p.Good.Value), y(p.Saved.Value)
		command := byte('L')
		if drawn == 0 {
			command = 'M'
		}
		line.to(command, px, py)
		drawn++
	}
	if drawn > 1 {
		d.leaf("path", "class", "front", "d", line.b.String())
	}
	for i := range c.Points {
		p := &c.Points[i]
		if math.IsNaN(p.Good.Value) || math.IsNaN(p.Saved.Value) {
			continue
		}
		px, py := x(p.Good.Value), y(p.Saved.Value)
		class, r := "s0", "5"
		if p.Chosen {
			class, r = "s1", "8"
		}
		d.open("a", "href", fmt.Sprintf("#point-%d", i+1), "class", "series")
		d.element("title", fmt.Sprintf("%s: %s of calls saved, %s of good runs stopped", text.Line(p.Name), interval(p.Saved), interval(p.Good)))
		d.line(px, y(p.Saved.Lower), px, y(p.Saved.Upper), "whisker "+class)
		d.line(x(p.Good.Lower), py, x(p.Good.Upper), py, "whisker "+class)
		d.leaf("circle", "class", "dot "+class, "cx", coordinate(px), "cy", coordinate(py), "r", r)
		d.close("a")
		if p.Chosen {
			words := text.Clip(text.Line(p.Name), 48)
			at := px + 12
			if at+7.8*float64(len(words)) > l.width {
				at = l.left + 8
			}
			d.text(at, max(l.top+12, py-12), "name", words)
		}
	}
}

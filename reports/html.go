package reports

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

//go:embed html/page.tmpl html/page.css html/page.js html/trace.js
var pageFiles embed.FS

// parsePage parses the template when a page is first written, so that the command
// starts without waiting for it.
var parsePage = sync.OnceValue(func() *template.Template {
	return template.Must(template.ParseFS(pageFiles, "html/page.tmpl"))
})

// A page holds the values for the template, which escapes all text.
type page struct {
	Title    string
	Policy   string // what the browser is allowed to load and run
	Style    template.CSS
	Script   template.JS
	Verdict  scenarios.Verdict // "" = not shown
	Line     string
	Tool     string
	Warnings []string
	Part     bool // the results are incomplete

	Replay    bool   // of recorded runs
	Best      string // the variant to choose
	Undecided string // the headline if there is none to choose among several
	Advice    []string
	Unranked  string // why variants are not ranked
	Cards     []card
	More      []card // those that readers must open

	Gate        *view
	Scatter     *figureView
	Charts      []figureView
	Figures     []view
	Endings     []view
	Tools       []view
	Findings    []findingsView
	Differences []differenceView
	Trials      trialsView
}

// A view is a section of a report for the template.
type view struct {
	Title string
	Left  int
	Head  []string
	Rows  [][]string
	Marks []string // class of each row; nil = none has one
}

// Mark returns the class of a row.
func (v view) Mark(row int) string {
	if row < len(v.Marks) {
		return v.Marks[row]
	}
	return ""
}

func (s section) view() view { return view{Title: s.title, Left: s.left, Head: s.head, Rows: s.rows} }

// Number reports whether a column holds numbers.
func (v view) Number(column int) bool { return column >= v.Left }

// A figureView is a chart in two sizes, for a wide and for a narrow window.
type figureView struct {
	Title        string
	Note         string
	Wide, Narrow template.HTML // drawn by this package, with all text escaped
}

// WriteHTML writes a report as one HTML page that needs no network. It can be read
// without JavaScript; with it, readers can filter the trials and view traces turn by
// turn. The trials and traces come from r.Results. The page depends only on the report.
func WriteHTML(w io.Writer, r *Report) error {
	p, err := newPage(r)
	if err != nil {
		return err
	}
	return parsePage().Execute(w, p)
}

func newPage(r *Report) (*page, error) {
	order := newChoice(r)
	p := &page{Title: "agentbench: " + r.headline(), Line: r.Line(), Tool: text.Line(r.Tool), Verdict: r.Verdict, Warnings: clean(r.Warnings), Part: len(r.Incomplete) > 0, Replay: r.replay()}
	if r.Verdict == scenarios.Unjudged && r.Gate == nil {
		p.Verdict = ""
	}
	if err := p.dress(); err != nil {
		return nil, err
	}
	p.choose(order)
	if r.Gate != nil {
		p.Gate = gateView(r.Gate)
	}
	p.charts(order)
	for _, s := range r.sections() {
		p.Figures = append(p.Figures, s.view())
	}
	for _, s := range r.stopTables() {
		p.Endings = append(p.Endings, s.view())
	}
	for _, s := range []section{r.toolTable(), r.codeTable()} {
		if len(s.rows) > 0 {
			p.Tools = append(p.Tools, s.view())
		}
	}
	p.Trials = newTrials(r)
	p.Findings = findingsViews(r, &p.Trials)
	p.Differences = differenceViews(r)
	return p, nil
}

// dress sets the page's style and script, and a policy under which the browser runs no
// other script and loads nothing, even if hostile text gets through.
func (p *page) dress() error {
	style, err := pageFiles.ReadFile("html/page.css")
	if err != nil {
		return err
	}
	var script bytes.Buffer
	for _, name := range []string{"html/trace.js", "html/page.js"} {
		part, err := pageFiles.ReadFile(name)
		if err != nil {
			return err
		}
		script.Write(part)
	}
	sum := sha256.Sum256(script.Bytes())
	p.Style, p.Script = template.CSS(string(style)+chartCSS), template.JS(script.String())
	p.Policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	return nil
}

func (p *page) charts(order *choice) {
	if s, ok := order.scatter(); ok {
		replay := order.report.replay()
		name := "The variants: " + runsOf(scenarios.Runaway, replay) + "s against " + runsOf(scenarios.Healthy, replay) + "s"
		figure := newFigure(name, "Nearer to the upper left is better. A dotted line joins the variants that nothing beats in both rates; thin lines are 95 % intervals.", s)
		p.Scatter = &figure
	}
	for _, c := range order.curveCharts() {
		p.Charts = append(p.Charts, newFigure(c.title, "Of runs that want one more call, the share not yet stopped, with 95 % bands; faint where fewer than five runs are at risk. Point at a curve, or use the arrow keys, to read values.", &c))
	}
}

// A chart is a chart that can be drawn in any layout.
type chart interface {
	about() string
	height(layout) float64
	draw(*drawing, layout)
}

func newFigure(title, note string, c chart) figureView {
	in := func(l layout, class string) template.HTML {
		d := &drawing{}
		d.svg(l.width, c.height(l), "chart "+class, title, c.about(), func() { c.draw(d, l) })
		return template.HTML(d.b.String())
	}
	return figureView{Title: title, Note: note, Wide: in(wide, "wide"), Narrow: in(narrow, "narrow")}
}

// gateView shows the rules of a gate: those that a reader must look at are marked, and
// come first.
func gateView(g *Gate) *view {
	s := section{left: 5, head: []string{"rule", "verdict", "measured", "wanted", "see more"}}
	var marks []string
	add := func(marked bool) {
		for i := range g.Rules {
			rule := &g.Rules[i]
			if mark := rule.mark(); (mark != "") == marked {
				s.rows = append(s.rows, clean([]string{rule.Name, rule.words(), rule.Measured, rule.Wanted, rule.See}))
				marks = append(marks, mark)
			}
		}
	}
	add(true)
	add(false)
	v := s.view()
	v.Marks = marks
	return &v
}

// codeTable returns a table of the errors of tools, by their final code.
func (r *Report) codeTable() section {
	s := section{title: "Errors of tools by their final code, over all trials", left: 1, head: []string{"variant"}}
	codes := map[string]bool{}
	for _, t := range r.Tools {
		for code := range t.Codes {
			codes[code] = true
		}
	}
	columns := sortedKeys(codes)
	for _, code := range columns {
		s.head = append(s.head, text.Line(code))
	}
	for _, t := range r.Tools {
		cells := []string{r.name(t.Variant)}
		for _, code := range columns {
			cells = append(cells, text.Number(t.Codes[code]))
		}
		if len(columns) > 0 {
			s.rows = append(s.rows, cells)
		}
	}
	return s
}

// stopTables returns a table for each label that counts how the runs of each variant
// ended.
func (r *Report) stopTables() []section {
	var out []section
	for _, label := range r.present() {
		s := section{title: "How the " + runsOf(label, r.replay()) + "s ended", left: 2, head: []string{"variant", "by the rules"}}
		states := map[string]bool{}
		for _, stop := range r.Stops {
			if stop.Label == label {
				states[string(stop.EndState)] = true
			}
		}
		columns := sortedKeys(states)
		for _, state := range columns {
			if state == "" {
				state = "broke off"
			}
			s.head = append(s.head, text.Line(state))
		}
		for _, v := range r.Variants {
			if cells := r.stopCells(v, label, columns); cells != nil {
				s.rows = append(s.rows, append([]string{r.name(v)}, cells...))
			}
		}
		out = append(out, s)
	}
	return out
}

func (r *Report) stopCells(variant string, label scenarios.Label, columns []string) []string {
	n := map[string]float64{}
	var rules []string
	for _, stop := range r.Stops {
		if stop.Variant == variant && stop.Label == label {
			n[string(stop.EndState)] += stop.N
			if name := text.Line(string(stop.Stop)); name != "" {
				rules = append(rules, name+" "+Amount(stop.N))
			}
		}
	}
	if len(n) == 0 {
		return nil
	}
	cells := []string{strings.Join(rules, ", ")}
	for _, state := range columns {
		cells = append(cells, Amount(n[state]))
	}
	return cells
}

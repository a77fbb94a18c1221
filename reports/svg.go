package reports

import (
	_ "embed"
	"encoding/xml"
	"strings"
)

// chartCSS is the style of charts for light and dark screens. Its colours are distinct
// for colour-blind people (Okabe and Ito's), and each has its own dash.
//
//go:embed html/chart.css
var chartCSS string

// A drawing is an SVG being written. It escapes text and attributes.
type drawing struct{ b strings.Builder }

// open begins an element. attributes are name, value, name, value and so on.
func (d *drawing) open(name string, attributes ...string) {
	d.begin(name, attributes)
	d.b.WriteByte('>')
}

func (d *drawing) begin(name string, attributes []string) {
	d.b.WriteString("<" + name)
	for i := 0; i+1 < len(attributes); i += 2 {
		d.b.WriteString(" " + attributes[i] + `="`)
		d.escape(attributes[i+1])
		d.b.WriteByte('"')
	}
}

func (d *drawing) close(name string) { d.b.WriteString("</" + name + ">\n") }

// leaf writes an element without content.
func (d *drawing) leaf(name string, attributes ...string) {
	d.begin(name, attributes)
	d.b.WriteString("/>\n")
}

// element writes an element that holds a text.
func (d *drawing) element(name, text string, attributes ...string) {
	d.open(name, attributes...)
	d.escape(text)
	d.close(name)
}

// text writes words at a position.
func (d *drawing) text(x, y float64, class, words string) {
	d.element("text", words, "x", coordinate(x), "y", coordinate(y), "class", class)
}

// line draws a straight line.
func (d *drawing) line(x1, y1, x2, y2 float64, class string) {
	d.leaf("line", "x1", coordinate(x1), "y1", coordinate(y1), "x2", coordinate(x2), "y2", coordinate(y2), "class", class)
}

// escape writes foreign text. Characters that XML does not allow become U+FFFD.
func (d *drawing) escape(s string) {
	_ = xml.EscapeText(&d.b, []byte(s)) // a Builder never fails
}

// svg draws a whole picture. Its text alternative is the name and a description. A picture
// with links is a group of them: what is in an image cannot be reached.
func (d *drawing) svg(width, height float64, class, name, about string, draw func()) {
	before := d.b.String()
	d.b.Reset()
	draw()
	content, role := d.b.String(), "img"
	if strings.Contains(content, "<a ") {
		role = "group"
	}
	d.b.Reset()
	d.b.WriteString(before)
	box := "0 0 " + coordinate(width) + " " + coordinate(height)
	d.open("svg", "xmlns", "http://www.w3.org/2000/svg", "viewBox", box, "width", coordinate(width), "height", coordinate(height),
		"role", role, "class", class, "aria-label", name+". "+about)
	d.b.WriteString(content)
	d.close("svg")
}

// coordinate writes a position to a tenth of a pixel.
func coordinate(x float64) string {
	s := strings.TrimSuffix(decimal(x, 1), ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

// A path is the d attribute of a path element.
type path struct{ b strings.Builder }

func (p *path) to(command byte, x, y float64) {
	p.b.WriteByte(command)
	p.b.WriteString(coordinate(x) + " " + coordinate(y))
}

package reports

// Colour says whether to write colours.
type Colour bool

func (c Colour) paint(code, s string) string {
	if !c || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// Good paints a text green.
func (c Colour) Good(s string) string { return c.paint("32", s) }

// Bad paints a text red.
func (c Colour) Bad(s string) string { return c.paint("31", s) }

// Dim paints a text grey.
func (c Colour) Dim(s string) string { return c.paint("2", s) }

package reports

import (
	"io"
	"strings"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/tw"
)

// Table writes a table for the terminal: a head, a rule, the rows and, with a foot,
// another rule and the foot. The first left columns are left-aligned, the others
// right-aligned. Cells are written as they are: foreign text must have passed through
// [text.Line]. On a [Screen] the table is made to fit.
func Table(w io.Writer, left int, head []string, rows [][]string, foot []string) error {
	screen, fits := w.(Screen)
	var out []string
	if fits {
		table := append([][]string{head}, rows...)
		if foot != nil {
			table = append(table, foot)
		}
		table, out = fit(screen.Columns, left, table)
		head, rows = table[0], table[1:len(rows)+1]
		if foot != nil {
			foot = table[len(table)-1]
		}
	}
	align := tw.CellAlignment{PerColumn: make([]tw.Align, len(head))}
	for i := range align.PerColumn {
		align.PerColumn[i] = tw.AlignRight
		if i < left {
			align.PerColumn[i] = tw.AlignLeft
		}
	}
	var b strings.Builder
	t := tablewriter.NewTable(&b,
		tablewriter.WithEastAsian(tw.Off), // else the width would depend on the locale
		tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithFooterAutoFormat(tw.Off),
		tablewriter.WithHeaderAlignmentConfig(align), tablewriter.WithRowAlignmentConfig(align), tablewriter.WithFooterAlignmentConfig(align),
		tablewriter.WithRendition(tw.Rendition{Borders: tw.BorderNone, Settings: tw.Settings{Separators: tw.SeparatorsNone}}))
	t.Header(head)
	if err := t.Bulk(rows); err != nil {
		return err
	}
	if foot != nil {
		t.Footer(foot)
	}
	if err := t.Render(); err != nil {
		return err
	}
	if len(out) > 0 {
		b.WriteString("no room on the screen for: " + strings.Join(out, ", ") + "; a pipe gets all\n")
	}
	return writeTrimmed(w, b.String())
}

// writeTrimmed writes a table without the white space at the ends of its lines.
func writeTrimmed(w io.Writer, table string) error {
	var b strings.Builder
	for line := range strings.Lines(table) {
		b.WriteString(strings.TrimRight(line, " \n"))
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

package reports

import (
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A diffView shows where a trace left its golden.
type diffView struct {
	Where     string
	Want, Got string // the lines that differ first; "" = there is none
	Edit      []editView
	More      string // tells of lines that are left out; "" = none is
}

// An editView is a line of an edit.
type editView struct {
	Out  bool // a line of the golden that did not come
	Line string
	Text string
}

// What a page shows of a diff, whoever wrote the results.
const (
	diffLines = 40
	diffChars = 400
)

// newDiff gives the diff of the golden that is among what was found; nil = there
// is none.
func newDiff(found []scenarios.Finding) *diffView {
	for i := range found {
		f := &found[i]
		if f.Rule != "golden" || f.Want == "" && f.Got == "" && f.Diff == nil {
			continue
		}
		d := &diffView{Where: text.Cut(text.Line(f.Message), diffChars), Want: text.Cut(text.Line(f.Want), diffChars), Got: text.Cut(text.Line(f.Got), diffChars)}
		d.add(f.Diff)
		return d
	}
	return nil
}

// add takes the edit, unless it is no more than the two lines.
func (d *diffView) add(diff *goldens.Edits) {
	if diff == nil {
		return
	}
	for _, e := range diff.Edit[:min(diffLines, len(diff.Edit))] {
		d.Edit = append(d.Edit, editView{Out: e.Out, Line: text.Number(e.Line), Text: text.Cut(text.Line(e.Text), diffChars)})
	}
	if more := len(diff.Edit) - len(d.Edit) + max(0, diff.More); more > 0 {
		d.More = counted(more, "more line is left out", "more lines are left out")
	}
}

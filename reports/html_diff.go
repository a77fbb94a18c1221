package reports

import (
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A diffView shows how a trace differs from its golden.
type diffView struct {
	Where     string
	Want, Got string // the first lines that differ; "" = none
	Edit      []editView
	More      string // says how many lines are left out; "" = none
}

// An editView is a line of an edit.
type editView struct {
	Out  bool // a line of the golden that the trace does not have
	Line string
	Text string
}

// The limits on a diff, which hold for any results file.
const (
	diffLines = 40
	diffChars = 400
)

// newDiff returns the diff of the first golden finding, or nil.
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

// add adds the lines of an edit.
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

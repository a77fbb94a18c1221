package reports

import (
	"cmp"
	"slices"

	"github.com/agentbench-go/agentbench/scenarios"
)

// differences lists the scenarios that the variants treat differently, the worst
// first: those in which the shares are farthest apart, then those that most
// variants get wrong, then healthy ones before others.
func (f *Fold) differences(names []string) []Difference {
	out := []Difference{}
	for _, name := range names {
		if d, differs := f.difference(name); differs {
			out = append(out, d)
		}
	}
	slices.SortStableFunc(out, func(a, b Difference) int {
		return cmp.Or(cmp.Compare(b.spread(), a.spread()), cmp.Compare(b.bad(), a.bad()),
			cmp.Compare(slices.Index(labels, a.Label), slices.Index(labels, b.Label)))
	})
	return out
}

// difference tells of one scenario, and whether there is anything to tell.
func (f *Fold) difference(name string) (Difference, bool) {
	label := f.all[name].label
	d := Difference{Scenario: name, Label: label, Metric: f.metric(label), Cells: []Cell{}}
	for _, v := range f.order {
		u := f.units[unitKey{v, name}]
		if u == nil {
			continue
		}
		share, known := u.share(d.Metric)
		if !known || u.first == nil {
			continue
		}
		shown := u.first
		if u.bad != nil {
			shown = u.bad
		}
		d.Cells = append(d.Cells, Cell{Variant: v, Share: share, Trials: u.judged, Ending: shown.ending, Calls: shown.calls, Bad: isBadShare(label, share)})
	}
	if len(d.Cells) < 2 || d.spread() == 0 {
		return d, false
	}
	d.Command = f.units[unitKey{d.worst().Variant, name}].command()
	return d, true
}

// command shows the trial that speaks against the variant, else the first; ""
// if none has an end.
func (u *unit) command() string {
	switch {
	case u.bad != nil:
		return u.bad.command
	case u.first != nil:
		return u.first.command
	}
	return ""
}

func isBadShare(label scenarios.Label, share float64) bool {
	if label == scenarios.Runaway {
		return share < 1
	}
	return share > 0
}

// spread is how far the shares are apart.
func (d *Difference) spread() float64 {
	low, high := d.Cells[0].Share, d.Cells[0].Share
	for _, c := range d.Cells {
		low, high = min(low, c.Share), max(high, c.Share)
	}
	return high - low
}

// bad counts the variants that get it wrong.
func (d *Difference) bad() int {
	n := 0
	for _, c := range d.Cells {
		if c.Bad {
			n++
		}
	}
	return n
}

// worst is the cell that is farthest from what should be, the first of several.
func (d *Difference) worst() Cell {
	worst := d.Cells[0]
	for _, c := range d.Cells[1:] {
		if d.Label == scenarios.Runaway && c.Share < worst.Share || d.Label != scenarios.Runaway && c.Share > worst.Share {
			worst = c
		}
	}
	return worst
}

package reports

import (
	"cmp"
	"slices"

	"github.com/agentbench-go/agentbench/scenarios"
)

// differences returns the scenarios that the variants treat differently, the worst
// first: in the order of the distance between the shares, then of the number of
// variants that get it wrong, then healthy ones before others.
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

// difference returns the difference in one scenario, and whether there is one.
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
		d.Cells = append(d.Cells, Cell{Variant: v, Share: tidy(share), Trials: u.judged, Ending: shown.ending, Calls: shown.calls, Bad: isBadShare(label, share)})
	}
	if len(d.Cells) < 2 || d.spread() == 0 {
		return d, false
	}
	d.Command = f.units[unitKey{d.worst().Variant, name}].command()
	return d, true
}

// command returns the command that repeats the first bad trial, else the first trial;
// "" if no trial has an end.
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

// spread returns the distance between the lowest and the highest share.
func (d *Difference) spread() float64 {
	low, high := d.Cells[0].Share, d.Cells[0].Share
	for _, c := range d.Cells {
		low, high = min(low, c.Share), max(high, c.Share)
	}
	return high - low
}

// bad counts the variants that get the scenario wrong.
func (d *Difference) bad() int {
	n := 0
	for _, c := range d.Cells {
		if c.Bad {
			n++
		}
	}
	return n
}

// worst returns the first cell with the worst share.
func (d *Difference) worst() Cell {
	worst := d.Cells[0]
	for _, c := range d.Cells[1:] {
		if d.Label == scenarios.Runaway && c.Share < worst.Share || d.Label != scenarios.Runaway && c.Share > worst.Share {
			worst = c
		}
	}
	return worst
}

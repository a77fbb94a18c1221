package fuzz

import (
	"slices"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// struck maps attacks to the kinds of faults that belong to them.
var struck = withRest(map[Attack][]fakes.Fault{
	ModelOutput: {{Kind: "malform", At: loop.RefModel}, {Kind: "empty", At: loop.RefModel}, {Kind: "duplicate", At: loop.RefModel}},
	Protocol:    {{Kind: "reorder", At: loop.RefModel}, {Kind: "swap-ids", At: loop.RefModel}, {Kind: "duplicate", At: loop.RefModel}},
	ModelAPI:    {{Kind: "error", At: loop.RefModel}, {Kind: "delay", At: loop.RefModel}},
	ModelStream: {{Kind: "cut", At: loop.RefModel}, {Kind: "drop", At: loop.RefModel}},
	ToolPayload: {{Kind: "empty", At: loop.RefCall}, {Kind: "oversize", At: loop.RefCall}},
	ToolFault:   {{Kind: "error", At: loop.RefCall}},
	ToolHang:    {{Kind: "drop", At: loop.RefCall}, {Kind: "delay", At: loop.RefCall}},
})

// withRest adds each kind that is not listed yet: to ModelOutput if it strikes the
// model, to ToolPayload if it strikes a tool.
func withRest(of map[Attack][]fakes.Fault) map[Attack][]fakes.Fault {
	var listed []fakes.Fault
	for _, faults := range of {
		listed = append(listed, faults...)
	}
	for _, f := range fakes.FaultExamples() {
		f = fakes.Fault{Kind: f.Kind, At: f.At}
		switch {
		case slices.Contains(listed, f):
		case f.At == loop.RefModel:
			of[ModelOutput] = append(of[ModelOutput], f)
		default:
			of[ToolPayload] = append(of[ToolPayload], f)
		}
	}
	return of
}

// faults draws faults of the kinds that belong to the case's attacks.
func (m *maker) faults() {
	for _, a := range m.Attacks {
		if of := struck[a]; len(of) > 0 && m.one(4) {
			m.Script.Faults = append(m.Script.Faults, m.placed(pick(m.dice, of...)))
		}
	}
}

// placed draws the target and the operand of a fault.
func (m *maker) placed(f fakes.Fault) fakes.Fault {
	if f.At == loop.RefCall && m.one(2) {
		f.Tool = pick(m.dice, m.Script.Tools...).Name
	}
	if m.one(3) {
		f.Percent = pick(m.dice, 10, 30, 100)
	} else {
		f.N = 1 + m.below(6)
		if m.one(4) {
			f.Try = 2
		}
	}
	return f.Drawn(operands{m})
}

// operands are the dice of a maker for [fakes.Fault.Drawn].
type operands struct{ *maker }

func (o operands) Below(n int) int       { return o.below(n) }
func (o operands) Moment() time.Duration { return o.moment() }
func (o operands) Code() loop.Code       { return o.code() }
func (o operands) Pieces() int           { return o.below(mostParts) }

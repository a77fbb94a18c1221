package fuzz

import (
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// struck says which faults belong to an attack.
var struck = map[Attack][]fakes.Fault{
	ModelOutput: {{Kind: fakes.FaultMalform, At: loop.RefModel}, {Kind: fakes.FaultEmpty, At: loop.RefModel}, {Kind: fakes.FaultDuplicate, At: loop.RefModel}},
	Protocol:    {{Kind: fakes.FaultReorder, At: loop.RefModel}, {Kind: fakes.FaultSwapIDs, At: loop.RefModel}, {Kind: fakes.FaultDuplicate, At: loop.RefModel}},
	ModelAPI:    {{Kind: fakes.FaultError, At: loop.RefModel}, {Kind: fakes.FaultDelay, At: loop.RefModel}},
	ModelStream: {{Kind: fakes.FaultCut, At: loop.RefModel}, {Kind: fakes.FaultDrop, At: loop.RefModel}},
	ToolPayload: {{Kind: fakes.FaultEmpty, At: loop.RefCall}, {Kind: fakes.FaultOversize, At: loop.RefCall}},
	ToolFault:   {{Kind: fakes.FaultError, At: loop.RefCall}},
	ToolHang:    {{Kind: fakes.FaultDrop, At: loop.RefCall}, {Kind: fakes.FaultDelay, At: loop.RefCall}},
}

// faults draws what strikes the world whatever its script says: faults of the
// attacks that the case makes anyway.
func (m *maker) faults() {
	for _, a := range m.Attacks {
		if of := struck[a]; len(of) > 0 && m.one(4) {
			m.Script.Faults = append(m.Script.Faults, m.placed(pick(m.dice, of...)))
		}
	}
}

// placed says where a fault strikes, and how hard.
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
	switch f.Kind {
	case fakes.FaultDelay:
		f.Delay = max(m.moment(), time.Millisecond)
	case fakes.FaultError:
		if f.At == loop.RefModel {
			f.Status = pick(m.dice, 400, 401, 429, 500, 503)
		} else {
			f.Code = m.code()
		}
	case fakes.FaultCut:
		f.Pieces = m.below(mostParts)
	case fakes.FaultOversize:
		f.Chars = pick(m.dice, 200, 3000)
	}
	return f
}

package loop

import (
	"slices"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// This file shows batches to the detectors and carries out their acts.

// askDetectors shows the batch to the detectors before any of it runs.
func (m *Machine) askDetectors(text string) {
	if m.detectors.Empty() {
		return
	}
	m.seen = m.seen[:0]
	for i := range m.batch {
		c := &m.batch[i]
		seen := detect.Call{Tool: c.Name, Args: c.Args, ArgsHash: c.argsHash, Unknown: c.why == Unknown, Invalid: c.why == InvalidArgs, Waits: c.spec != nil && c.spec.Waits}
		if m.detectors.WantsFields() {
			fields, _ := m.canon.Object(c.Args)
			seen.Fields = string(fields)
		}
		m.seen = append(m.seen, seen)
	}
	m.detectors.Open(m.now, text, m.seen)
	for i := range m.batch {
		for j, f := range m.detectors.Before(i) {
			if j == 0 {
				m.act(&f)
			} else {
				m.note(Ref{}, EventAlsoStopped, f.Detector.Name)
			}
		}
	}
}

// lookAtText shows a reply without calls to the detectors.
func (m *Machine) lookAtText(text string) {
	if m.detectors.Empty() {
		return
	}
	m.seen = m.seen[:0]
	m.detectors.Open(m.now, text, nil)
	m.closeDetectors()
}

// closeDetectors shows the results of the batch to the detectors.
func (m *Machine) closeDetectors() {
	if m.detectors.Empty() {
		return
	}
	for i := range m.seen {
		c, seen := &m.batch[i], &m.seen[i]
		seen.Failed, seen.Denied = c.failure, c.why == Denied
		seen.Success = c.why == Executed && !c.failure
		if m.detectors.WantsText() {
			seen.Text = c.text
		}
	}
	for _, f := range m.detectors.Close() {
		m.act(&f)
	}
}

// act carries out the act of a firing.
func (m *Machine) act(f *detect.Firing) {
	tool := ""
	if f.Call < len(m.batch) {
		tool = m.batch[f.Call].Name
	}
	text := textDetected(f, tool)
	switch f.Act {
	case detect.Nudge:
		if nudge := textNudge(text); !slices.Contains(m.hints, nudge) {
			m.note(Ref{}, EventNudged, f.Detector.Name)
			m.out.Nudges++
			m.hints = append(m.hints, nudge)
		}
	case detect.Veto:
		m.vetoFor(f, textVeto(text))
	case detect.Ask:
		m.vetoFor(f, textVeto(text))
		m.askLater(Stop(f.Detector.Name), text)
	case detect.FinalAnswer, detect.Stop:
		if m.out.Stop == "" && f.Act == detect.FinalAnswer {
			m.ending = LimitFinal
		}
		m.vetoAll(text)
		m.decide(Stop(f.Detector.Name), text, text)
	}
}

// vetoFor vetoes the call that made the detector fire, or the whole batch if the
// detector records turns. Calls that have run stay as they are.
func (m *Machine) vetoFor(f *detect.Firing, text string) {
	if f.Detector.Record == "" || f.Detector.Record == detect.PerCall {
		m.veto(f.Call, text)
	} else {
		m.vetoAll(text)
	}
}

// vetoAll vetoes every call of the batch that has not started.
func (m *Machine) vetoAll(text string) {
	for i := range m.batch {
		m.veto(i, text)
	}
}

// veto vetoes a call unless it has started or is blocked.
func (m *Machine) veto(i int, text string) {
	if c := &m.batch[i]; c.why == Executed && c.state == queued {
		c.block(Vetoed, text)
		m.detectors.Veto(i)
	}
}

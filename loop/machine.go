package loop

import "time"

// A Machine is the loop as a value.
type Machine struct{}

func New(cfg Config, task Task, tools []ToolSpec) (*Machine, error) { return nil, nil }
func (m *Machine) Begin() Input                                     { return Input{} }
func (m *Machine) Step(in Input) []Effect                           { return nil }
func (m *Machine) Wake() (at time.Duration, armed bool)             { return 0, false }
func (m *Machine) Halted() bool                                     { return false }
func (m *Machine) Outcome() Outcome                                 { return Outcome{} }
func (m *Machine) History() []Message                               { return nil }
func (m *Machine) waiting() string                                  { return "" }

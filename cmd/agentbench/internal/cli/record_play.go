package cli

import (
	"github.com/agentbench-go/agentbench/cassettes/tape"
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// player plays the cassettes of scenarios.
func player(cmd *cobra.Command) scenarios.Player {
	return func(s *scenarios.Scenario) (fakes.Speaker, func() error, error) {
		connect, err := connector(cmd)
		if err != nil {
			return nil, nil, err
		}
		head, redactor, err := headOf(s.Cassette)
		if err != nil {
			return nil, nil, err
		}
		transport, err := tape.Begin(s.Cassette, tape.None, nil, redactor)
		if err != nil {
			return nil, nil, err
		}
		speak, err := head.Speaker(connect, transport)
		if len(s.Script.Faults) > 0 { // they may end the session before the recording does
			return speak, func() error { return nil }, err
		}
		return speak, transport.Leftovers, err
	}
}

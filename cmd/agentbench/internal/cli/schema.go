package cli

import (
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

func newSchema() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of a scenario file",
		Long: `Print the JSON Schema of a scenario file. Editors use it to complete and check
scenarios. In many editors this first line of a scenario turns it on:

  # yaml-language-server: $schema=agentbench.schema.json`,
		Example: "  agentbench schema > agentbench.schema.json",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := cmd.OutOrStdout().Write(scenarios.Schema())
			return err
		},
	}
}

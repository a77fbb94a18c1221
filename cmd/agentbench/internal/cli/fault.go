package cli

import (
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/spf13/cobra"
)

// faults is a flag that takes a fault each time.
type faults []fakes.Fault

func (f *faults) String() string {
	var texts []string
	for _, x := range *f {
		texts = append(texts, x.String())
	}
	return strings.Join(texts, ", ")
}

func (f *faults) Type() string { return "TEXT" }

func (f *faults) Set(text string) error {
	fault, err := fakes.ParseFault(text)
	if err != nil {
		return misuse("such as 'drop model 3', 'delay tool read_file 2 5s' or 'error tool 10% RetryableServer'", "%v", err)
	}
	*f = append(*f, fault)
	return nil
}

// args gives the flags that say the same.
func (f faults) args() []string {
	var out []string
	for _, x := range f {
		out = append(out, "--fault", x.String())
	}
	return out
}

func addFaults(cmd *cobra.Command, f *faults) {
	cmd.Flags().Var(f, "fault", "let this go wrong in each world, whatever its script says, and judge by the label: such as 'drop model 3'; can be repeated")
}

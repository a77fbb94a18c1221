package cli

import (
	"errors"
	"io"
	"net/http"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/toolserver"
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/spf13/cobra"
)

type mcpFlags struct {
	worldFlags
	connect string
}

func newMCP() *cobra.Command {
	f := &mcpFlags{worldFlags: usualWorld}
	cmd := &cobra.Command{
		Use:   "mcp [SCENARIO]",
		Short: "Offer the scripted tools over MCP, for your own agent",
		Long: `Offer the tools of a scenario over MCP, on standard input and output: the command
that an agent or an inspector starts as a server of tools. SCENARIO is an embedded
one or the path of a file.

With --connect the tools are those of a running agentbench serve, which plays the
model beside them, and the command only copies bytes. ADDRESS is HOST:PORT, or the
URL of a conversation, http://127.0.0.1:PORT/run/SUITE/SCENARIO/SEED/mcp. Agents that
speak streamable HTTP need no command: that URL is the server. docs/mcp.md has the
configuration of popular agents.`,
		Example: `  agentbench mcp paging
  agentbench mcp --connect 127.0.0.1:8080`,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			return startingWith(start, embeddedNames()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, names []string) error { return f.run(cmd, names) },
	}
	cmd.Flags().StringVar(&f.connect, "connect", "", "be a bridge to the agentbench serve at this `ADDRESS`")
	f.add(cmd, "the seed of random numbers", "add this `FAULT`, such as 'error tool 2 NotFound'; can be repeated")
	return cmd
}

func (f *mcpFlags) run(cmd *cobra.Command, names []string) error {
	if f.connect != "" {
		return f.bridge(cmd, names)
	}
	script, err := f.named(names)
	if err != nil {
		return err
	}
	stdio := newStdio(cmd.InOrStdin(), cmd.OutOrStdout())
	return tools(fakes.NewDesk(script, uint64(f.seed)), f.speed).Pipe(cmd.Context(), stdio)
}

// tools returns the server of the tools at a desk.
func tools(d *fakes.Desk, speed speed) *toolserver.Server {
	return toolserver.New(d, toolserver.Options{Speed: float64(speed), Version: Version})
}

// mcpHandler returns what offers the tools of a served conversation.
func mcpHandler(speed speed) func(*fakes.Desk) http.Handler {
	return func(d *fakes.Desk) http.Handler { return tools(d, speed).Handler() }
}

// named returns the script of the one scenario that is named.
func (f *mcpFlags) named(names []string) (*fakes.Script, error) {
	if len(names) == 0 {
		return nil, misuse("agentbench list scenarios shows the names, --connect takes the tools of an agentbench serve", "mcp needs a scenario")
	}
	chosen, err := servedScenarios(names)
	if err != nil {
		return nil, err
	}
	if len(chosen) != 1 {
		return nil, misuse("name one of them", "mcp offers the tools of one scenario, not of %d", len(chosen))
	}
	script := f.script(chosen[0])
	for i := range script.Tools {
		if script.Tools[i].Session == nil {
			return script, nil
		}
	}
	return nil, misuse("agentbench explain shows what it scripts", "%s has no tools that can be called outside a loop", chosen[0].ID())
}

// bridge copies bytes between the client and an agentbench serve.
func (f *mcpFlags) bridge(cmd *cobra.Command, names []string) error {
	if len(names) > 0 {
		return misuse("agentbench serve has the scenario", "mcp --connect takes no scenario")
	}
	for _, name := range []string{"seed", "speed", "fault"} {
		if asArgument(cmd.Flag(name)) {
			return misuse("give it to agentbench serve", "mcp --connect takes no --%s", name)
		}
	}
	err := toolserver.Bridge(cmd.Context(), f.connect, cmd.InOrStdin(), cmd.OutOrStdout())
	if failed := new(toolserver.ConnectError); errors.As(err, &failed) {
		return misuse("agentbench serve says at its start where its tools are", "%v", err)
	}
	return err
}

// A stdio is the standard input and output as one pipe, which can be closed while
// nothing comes in.
type stdio struct {
	*io.PipeReader
	io.Writer
}

func newStdio(in io.Reader, out io.Writer) stdio {
	r, w := io.Pipe()
	go func() {
		_, err := io.Copy(w, in)
		w.CloseWithError(err)
	}()
	return stdio{r, out}
}

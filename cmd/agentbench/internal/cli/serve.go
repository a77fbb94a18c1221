package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type serveFlags struct {
	port   port
	seed   seed
	speed  speed
	faults faults
	output string
}

func newServe() *cobra.Command {
	f := &serveFlags{seed: 1, speed: 1}
	cmd := &cobra.Command{
		Use:   "serve [SCENARIO…]",
		Short: "Serve the scripted model over HTTP, for your own agent",
		Long: `Serve the model of scenarios over HTTP: OpenAI Chat Completions and Responses and
Anthropic Messages, streamed and not, with the failures that the scenarios
script. Point your agent's base URL at it, and your agent's own loop is tested.

A SCENARIO is an embedded one, as suite/name or as name where that is clear, or
the path of a file or a folder; without one all embedded scenarios are served.
One scenario answers under /v1, whatever the name of the model; each of several
under /run/SUITE/SCENARIO/SEED/v1, or under /v1 by its name as the model's.

Where a request stands in the script follows from its messages; nothing is
kept of a conversation, and your agent runs its own tools. The journal at
/__agentbench/journal tells what was asked, which faults fired, and where your
agent broke the protocol. docs/serve.md says more.

The server takes connections from this machine only (127.0.0.1), until Ctrl-C,
which ends it with the exit code 0. Replies take as long as they do in the
script, 2s where it says nothing; --speed 100 makes that 20ms.`,
		Example: `  agentbench serve rate-limited-twice
  agentbench serve --port 8080 --speed 100
  agentbench serve my-scenarios/ --fault 'error model 10% 503' -o results.jsonl`,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			return startingWith(start, embeddedNames()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, names []string) error { return f.run(cmd, names) },
	}
	cmd.Flags().Var(&f.port, "port", "listen on this port; 0 takes a free one")
	cmd.Flags().Var(&f.seed, "seed", "the seed of what is drawn at random where the path names none")
	cmd.Flags().Var(&f.speed, "speed", "divide all waits by this")
	cmd.Flags().Var(&f.faults, "fault", "let this go wrong in each conversation, whatever its script says: such as 'error model 10% 503'; can be repeated")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write what the journal tells to `FILE`.jsonl as well")
	return cmd
}

// A port is a flag that takes the number of a TCP port.
type port uint16

func (p *port) String() string { return strconv.Itoa(int(*p)) }
func (p *port) Type() string   { return "N" }

func (p *port) Set(s string) error {
	n, err := strconv.ParseUint(s, 10, 16)
	if err != nil {
		return errors.New("must be a port from 0 to 65535")
	}
	*p = port(n)
	return nil
}

// A speed is a flag that takes a positive number.
type speed float64

func (v *speed) String() string { return strconv.FormatFloat(float64(*v), 'g', -1, 64) }
func (v *speed) Type() string   { return "N" }

func (v *speed) Set(s string) error {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n >= 0.001 && n <= 1e9) {
		return errors.New("must be a number from 0.001 to 1000000000, such as 100")
	}
	*v = speed(n)
	return nil
}

func (f *serveFlags) run(cmd *cobra.Command, names []string) error {
	if f.output != "" && filepath.Ext(f.output) != ".jsonl" {
		return misuse("give it a name that ends in .jsonl", "cannot write %q: what is served is written in the format jsonl only", f.output)
	}
	chosen, err := servedScenarios(names)
	if err != nil {
		return err
	}
	out := &servedFile{}
	server, err := serve.New(f.scripts(chosen), serve.Options{Seed: uint64(f.seed), Speed: float64(f.speed), Observe: out.add})
	if err != nil {
		return badInput(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", f.port.String()))
	if err != nil {
		return misuse("--port 0 takes a free one", "cannot listen on port %s: %s", f.port.String(), plainNetError(err))
	}
	if err := out.create(cmd.ErrOrStderr(), f.output, f.header(len(chosen))); err != nil {
		listener.Close()
		return err
	}
	f.announce(cmd.OutOrStdout(), chosen, "http://"+listener.Addr().String())
	err = server.Serve(cmd.Context(), listener)
	total := server.Journal().Total
	if err := out.complete(&total); err != nil {
		return err
	}
	if err == nil {
		f.tell(cmd.OutOrStdout(), &total)
	}
	return err
}

// servedScenarios gives the scenarios of that name, or in the files and folders
// at that path; all embedded ones without a name.
func servedScenarios(names []string) ([]*scenarios.Scenario, error) {
	if len(names) == 0 {
		all, err := scenarios.Load()
		return all, badInput(err)
	}
	var chosen []*scenarios.Scenario
	var paths []string
	for _, name := range names {
		s, err := findEmbedded(name)
		if err != nil {
			return nil, err
		}
		switch _, missing := os.Stat(name); {
		case s == nil && errors.Is(missing, fs.ErrNotExist):
			return nil, misuse(cmp.Or(text.DidYouMean(name, shortAndFull()), "agentbench list scenarios shows the names"), "there is no scenario %q", name)
		case s == nil:
			paths = append(paths, name)
		case !slices.ContainsFunc(chosen, func(c *scenarios.Scenario) bool { return c.ID() == s.ID() }):
			chosen = append(chosen, s)
		}
	}
	if len(paths) == 0 {
		return chosen, nil
	}
	more, err := scenarios.Load(paths...)
	for _, s := range more {
		if s.Cassette != "" {
			return nil, misuse("agentbench run plays it", "%s cannot be served: its model is a recording", s.File)
		}
	}
	return append(chosen, more...), badInput(err)
}

// scripts gives what is served, with the faults laid over it.
func (f *serveFlags) scripts(chosen []*scenarios.Scenario) []serve.Scenario {
	list := make([]serve.Scenario, len(chosen))
	for i, s := range chosen {
		script := s.Script
		script.Faults = slices.Concat(script.Faults, f.faults)
		list[i] = serve.Scenario{Name: s.ID(), Script: &script}
	}
	return list
}

// plainNetError is why a port cannot be had, without its address.
func plainNetError(err error) error {
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}

// announce says where the server is.
func (f *serveFlags) announce(w io.Writer, chosen []*scenarios.Scenario, url string) {
	what, path := text.Count(len(chosen), "scenario"), "/run/SUITE/SCENARIO/SEED/v1"
	if len(chosen) == 1 {
		what, path = text.Line(chosen[0].ID()), "/v1"
	}
	fmt.Fprintf(w, "serving %s on %s%s\n", what, url, path)
	fmt.Fprintf(w, "journal: %s/__agentbench/journal\n", url)
	if f.speed != 1 {
		fmt.Fprintf(w, "waits are divided by %s (--speed)\n", f.speed.String())
	}
	fmt.Fprintln(w, "it takes connections from this machine only; Ctrl-C ends it")
}

// tell says what was served.
func (f *serveFlags) tell(w io.Writer, total *serve.Tally) {
	faults := 0
	for _, n := range total.Faults {
		faults += n
	}
	fmt.Fprintf(w, "%s: %s fired, %s refused, %s with protocol problems of the client\n",
		text.Count(total.Requests, "request"), text.Count(faults, "fault"), text.Number(total.Refused), text.Number(total.Problems))
}

func (f *serveFlags) header(n int) scenarios.Header {
	return scenarios.Header{Type: "header", Schema: scenarios.ResultsSchema, Kind: "serve", Tool: Version, Revision: revision(), Seed: uint64(f.seed), Seeds: 1,
		Order: []string{}, Variants: map[string]json.RawMessage{}, Scenarios: n}
}

// A servedFile takes the entries of the journal, if anybody wants them: a
// results file whose lines are of the type request, and the last of the type
// served.
type servedFile struct {
	file     *resultFile
	redactor *secrets.Redactor
	err      error // the first of writing an entry
}

func (f *servedFile) create(stderr io.Writer, path string, h scenarios.Header) (err error) {
	if path != "" {
		f.redactor = redactor()
		f.file, err = createResults(stderr, path, 0o666, h)
	}
	return err
}

func (f *servedFile) add(e *serve.Entry) { f.write(e) }

func (f *servedFile) write(line any) {
	if f.file == nil || f.err != nil {
		return
	}
	doc, err := json.Marshal(line)
	if err == nil {
		_, err = f.file.Write(text.JSON([]byte(f.redactor.JSON(string(doc)) + "\n")))
	}
	f.err = err
}

// complete writes the last line and gives the file its name.
func (f *servedFile) complete(total *serve.Tally) error {
	if f.file == nil {
		return nil
	}
	f.write(struct {
		Type string `json:"type"`
		*serve.Tally
	}{"served", total})
	if f.err != nil {
		f.file.Discard()
		return fmt.Errorf("cannot write %s: %w", f.file.Path(), f.err)
	}
	return f.file.complete("")
}

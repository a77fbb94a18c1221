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
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/fakes/serve"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type serveFlags struct {
	worldFlags
	port   port
	strict bool
	server string
	output string
}

func newServe() *cobra.Command {
	f := &serveFlags{worldFlags: usualWorld}
	cmd := &cobra.Command{
		Use:   "serve [SCENARIO…]",
		Short: "Serve the scripted model over HTTP, for your own agent",
		Long: `Serve the scripted model of scenarios over HTTP, with its failures, streamed or
whole: as OpenAI Chat Completions and Responses, Anthropic Messages and Gemini. Set
your agent's base URL to it, and you test your agent's own loop.

A SCENARIO is an embedded one (suite/name, or name if only one suite has it) or the
path of a file or a folder; without a SCENARIO all embedded ones are served. A
single scenario answers under /v1, whatever the model is called. Each of several
answers under /run/SUITE/SCENARIO/SEED/v1, or under /v1 if the model has its name.

The server finds its place in the script from the messages of each request. Your
agent runs its own tools, or those of the script: GET /tools lists them and POST
/tools/NAME calls one, and /mcp offers them over MCP (beside /v1, or below
/run/SUITE/SCENARIO/SEED). The journal at /__agentbench/journal lists the requests
and calls, the faults that fired, and where your agent broke the protocol.
docs/serve.md says more.

The server accepts connections only from this machine (127.0.0.1). Ctrl-C ends it
with the exit code 0. A reply takes as long as in the script, by default 2s; with
--speed 100 it takes 20ms.`,
		Example: `  agentbench serve rate-limited-twice
  agentbench serve --port 8080 --speed 100
  agentbench serve my-scenarios/ --fault 'error model 10% 503' -o results.jsonl`,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			return startingWith(start, embeddedNames()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, names []string) error { return f.run(cmd, names) },
	}
	cmd.Flags().Var(&f.port, "port", "listen on port `N`; 0 means any free port")
	f.add(cmd, "the seed of random numbers, unless the path has one", "add this `FAULT` to every conversation, such as 'error model 10% 503'; can be repeated")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "answer 400 to what the real API would refuse")
	cmd.Flags().StringVar(&f.server, "server-name", "bench", "your agent knows the server of the script's tools as `NAME`")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "also write the journal to `FILE`.jsonl")
	return cmd
}

// worldFlags are the flags of the commands that play the world of a script themselves.
type worldFlags struct {
	seed   seed
	speed  speed
	faults faults
}

// usualWorld holds their defaults.
var usualWorld = worldFlags{seed: 1, speed: 1}

func (f *worldFlags) add(cmd *cobra.Command, seed, fault string) {
	cmd.Flags().Var(&f.seed, "seed", seed)
	cmd.Flags().Var(&f.speed, "speed", "divide all waits by `N`")
	cmd.Flags().Var(&f.faults, "fault", fault)
}

// script returns the script of a scenario with the faults of --fault added.
func (f *worldFlags) script(s *scenarios.Scenario) *fakes.Script {
	script := s.Script
	script.Faults = slices.Concat(script.Faults, f.faults)
	return &script
}

// A port is a flag whose value is the number of a TCP port.
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

// A speed is a flag whose value is a number from 0.001 to 1e9.
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
		return misuse("give it a name that ends in .jsonl", "cannot write %q: serve writes only jsonl", f.output)
	}
	chosen, err := servedScenarios(names)
	if err != nil {
		return err
	}
	out := &servedFile{}
	missing := &undeclared{to: cmd.ErrOrStderr()}
	server, err := serve.New(f.scripts(chosen), serve.Options{Seed: uint64(f.seed), Speed: float64(f.speed), Strict: f.strict, ServerName: f.server, MCP: mcpHandler(f.speed), Observe: func(seen *serve.Seen) {
		missing.tell(seen)
		out.add(seen.Entry)
	}, Executed: func(x *serve.Executed) { out.add(x.Entry) }})
	if err != nil {
		return badInput(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", f.port.String()))
	if err != nil {
		return misuse("--port 0 uses any free port", "cannot listen on port %s: %s", f.port.String(), plainNetError(err))
	}
	if err := out.create(cmd.ErrOrStderr(), f.output, f.header(len(chosen))); err != nil {
		listener.Close()
		return err
	}
	f.announce(cmd.OutOrStdout(), chosen, "http://"+listener.Addr().String())
	err = server.Serve(cmd.Context(), listener)
	journal := server.Journal()
	if err := out.complete(chosen, journal); err != nil {
		return err
	}
	if err == nil {
		f.showTally(cmd.OutOrStdout(), &journal.Total)
	}
	return err
}

// servedScenarios returns the embedded scenarios with these names, and those in the
// files and folders at these paths. Without names it returns all embedded ones.
func servedScenarios(names []string) ([]*scenarios.Scenario, error) {
	if len(names) == 0 {
		all, err := scenarios.Load()
		return all, badInput(err)
	}
	var chosen []*scenarios.Scenario
	var paths []string
	for _, name := range names {
		if isScenarioFile(name) {
			paths = append(paths, name)
			continue
		}
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
			return nil, misuse("agentbench run plays it", "%s cannot be served: its model is a cassette", s.File)
		}
	}
	return append(chosen, more...), badInput(err)
}

// scripts returns the scripts of the scenarios, with the faults of --fault added.
func (f *serveFlags) scripts(chosen []*scenarios.Scenario) []serve.Scenario {
	list := make([]serve.Scenario, len(chosen))
	for i, s := range chosen {
		list[i] = serve.Scenario{Name: s.ID(), Script: f.script(s)}
	}
	return list
}

// plainNetError returns the reason why a port is not available, without its
// address.
func plainNetError(err error) error {
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}

// announce prints the server's address.
func (f *serveFlags) announce(w io.Writer, chosen []*scenarios.Scenario, url string) {
	what, path := text.Count(len(chosen), "scenario"), "/run/SUITE/SCENARIO/SEED"
	if len(chosen) == 1 {
		what, path = text.Line(chosen[0].ID()), ""
	}
	fmt.Fprintf(w, "serving %s on %s%s/v1\n", what, url, path)
	fmt.Fprintf(w, "its tools: %s%s/tools, over MCP %s%s/mcp\n", url, path, url, path)
	fmt.Fprintf(w, "journal: %s/__agentbench/journal\n", url)
	if f.speed != 1 {
		fmt.Fprintf(w, "waits are divided by %s (--speed)\n", f.speed.String())
	}
	fmt.Fprintln(w, "it accepts connections only from this machine; Ctrl-C ends it")
}

// undeclared tells once of each tool that a script calls and the agent does not offer.
type undeclared struct {
	to   io.Writer
	told map[string]bool
}

func (u *undeclared) tell(seen *serve.Seen) {
	for _, name := range seen.Entry.Undeclared {
		key := seen.Entry.Scenario + " " + name
		if u.told[key] || len(u.told) == maxUndeclared {
			continue
		}
		if u.told == nil {
			u.told = map[string]bool{}
		}
		u.told[key] = true
		fmt.Fprintf(u.to, "note: %s calls %s, which the agent does not offer: it offers %s\n",
			text.Line(seen.Entry.Scenario), text.Quote(name, 60), text.Clip(text.Line(strings.Join(seen.Tools, ", ")), 200))
	}
}

// maxUndeclared limits how many tools are told.
const maxUndeclared = 100

// showTally prints how many requests were served, and the faults.
func (f *serveFlags) showTally(w io.Writer, total *serve.Tally) {
	faults := 0
	for _, n := range total.Faults {
		faults += n
	}
	fmt.Fprintf(w, "%s: %s fired, %s refused, %s with protocol problems of the client\n",
		text.Count(total.Requests, "request"), text.Count(faults, "fault"), text.Number(total.Refused), text.Number(total.Problems))
	if total.Executed > 0 {
		fmt.Fprintf(w, "%s of scripted tools\n", text.Count(total.Executed, "execution"))
	}
	if total.Undeclared > 0 {
		fmt.Fprintf(w, "%s answered with a call of a tool that the agent does not offer\n", text.Count(total.Undeclared, "request"))
	}
	if total.Asides+total.Astray > 0 {
		fmt.Fprintf(w, "beside the agent's loop: %s without tools, %s of paths that are not served\n", text.Count(total.Asides, "request"), text.Number(total.Astray))
	}
}

func (f *serveFlags) header(n int) scenarios.Header {
	return scenarios.Header{Type: "header", Schema: scenarios.ResultsSchema, Kind: "serve", Judged: scenarios.JudgedNone, Tool: Version, Revision: revision(), Seed: uint64(f.seed), Seeds: 1,
		Order: []string{}, Variants: map[string]json.RawMessage{}, Scenarios: n}
}

// A servedFile writes the entries of the journal to the file of --output, if there
// is one. It is a results file: its lines have the type request or call, and at the end
// one of the type served sums up each scenario, and one all of them.
type servedFile struct {
	file     *resultFile
	redactor *secrets.Redactor
	err      error // the first error of writing an entry
}

func (f *servedFile) create(stderr io.Writer, path string, h scenarios.Header) (err error) {
	if path != "" {
		f.redactor = redactor()
		f.file, err = createResults(stderr, path, 0o666, h)
	}
	return err
}

// add writes an entry whose request or execution has ended.
func (f *servedFile) add(e *serve.Entry) {
	if !e.Open {
		f.write(e)
	}
}

func (f *servedFile) write(line any) {
	if f.file == nil || f.err != nil {
		return
	}
	doc, err := json.Marshal(line)
	if err == nil {
		err = f.file.results.Line(json.RawMessage(f.redactor.JSON(string(doc))))
	}
	f.err = err
}

// complete writes the sums and commits the file. Planned failures need not come in a
// runaway: whoever stops it early is right.
func (f *servedFile) complete(chosen []*scenarios.Scenario, journal *serve.Journal) error {
	if f.file == nil {
		return nil
	}
	type line struct {
		Type     string `json:"type"`
		Scenario string `json:"scenario,omitempty"`
		*serve.Tally
	}
	for _, s := range chosen {
		if tally := journal.Scenarios[s.ID()]; tally != nil {
			if s.Label != scenarios.Healthy {
				tally.NeverFired = nil
			}
			f.write(line{"served", s.ID(), tally})
		}
	}
	f.write(line{"served", "", &journal.Total})
	if f.err != nil {
		f.file.Discard()
		return fmt.Errorf("cannot write %s: %w", f.file.Path(), f.err)
	}
	return f.file.complete(f.file.results.End())
}

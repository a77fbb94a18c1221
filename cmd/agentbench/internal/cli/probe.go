package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/probe"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// probeTools says whose tools an agent calls.
type probeTools string

const (
	toolsAuto     probeTools = "auto"
	toolsOwn      probeTools = "own"
	toolsScripted probeTools = "scripted"
)

// A place says where an agent runs.
type probePlace string

const (
	placeHere    probePlace = "here"
	placeScratch probePlace = "scratch"
)

type probeFlags struct {
	selectFlags
	outputFlags
	tools         probeTools
	tool          string
	name          string
	client        string
	cap, calls    count
	timeout, idle time.Duration
	speed         speed
	seed          seed
	trials        count
	jobs          count
	dir, home     probePlace
	env, files    []string
	traces        bool
	keep          string
	goldens       string
	update        bool
	boundary      bool

	command []string // after --
	version string   // of the client, with its name
	allowed string   // what the client may do without asking
	given   []string // the flags as they were given, for the command that repeats a trial
}

func newProbe() *cobra.Command {
	f := &probeFlags{tools: toolsAuto, cap: 60, calls: 200, timeout: 2 * time.Minute, idle: time.Minute, speed: 1000, seed: 1, trials: 1, jobs: 1, dir: placeHere, home: placeHere}
	cmd := &cobra.Command{
		Use:   "probe [SCENARIO…] -- COMMAND…",
		Short: "Ask your own agent, in any language: does it stop when it should?",
		Long: `Start your own agent, whatever it is written in, against the scripted model of
scenarios, and judge what it does: a runaway must be stopped by the agent itself, a
healthy run must come to its end.

COMMAND starts the agent with one task. It gets the address of the model in
OPENAI_BASE_URL, ANTHROPIC_BASE_URL and GOOGLE_GEMINI_BASE_URL, and in it {URL} (which
ends in /v1), {BASE} (the same without /v1) and {TASK} (a task) are filled in. A first
run shows which tools the agent offers: if they are the scenario's, because it takes
them from AGENTBENCH_TOOLS, the script answers them too. Otherwise the agent is asked
to call a harmless tool of its own.

A SCENARIO is an embedded one (suite/name, or name if only one suite has it) or the
path of a file or a folder. Without one, and without --suite and --filter, a short set
is asked. What an agent cannot be asked is left out and counted.

The agent runs with your rights: agentbench gives it an address on this machine and
keeps variables with secrets from it, but cannot keep it from the network.`,
		Example: `  agentbench probe -- python my_agent.py "{TASK}"
  agentbench probe --suite stuck-loops -- node agent.mjs "{TASK}"
  agentbench probe same-call-forever --boundary -- ./agent --base-url "{URL}" "{TASK}"
  agentbench probe --client codex -- codex exec --skip-git-repo-check "{TASK}"
  agentbench probe --tool 'search={"query":"notes"}' -o probe.jsonl -- ./agent "{TASK}"`,
		ValidArgsFunction: func(_ *cobra.Command, _ []string, start string) ([]string, cobra.ShellCompDirective) {
			return startingWith(start, embeddedNames()), cobra.ShellCompDirectiveDefault
		},
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, args) },
	}
	fs := cmd.Flags()
	f.selectFlags.add(cmd)
	f.heldBack = withHeldBack
	addChoice(cmd, &f.tools, "tools", "whose tools the model calls: the agent's own, the script's (scripted), or what the first run shows (auto)", toolsAuto, toolsOwn, toolsScripted)
	fs.StringVar(&f.tool, "tool", "", "call this tool of the agent, `NAME[=JSON]`, with these arguments")
	fs.StringVar(&f.name, "name", "", "the `NAME` of the agent in results (default agent)")
	fs.Func("client", "write the configuration of this `CLIENT`, in a scratch home: "+text.AnyOf(probe.Clients()), f.setClient)
	complete(cmd, "client", probe.Clients)
	fs.Var(&f.cap, "cap", "end a trial after `N` requests beyond those that its script needs")
	fs.Var(&f.calls, "calls", "end a trial after `N` calls beyond those that its script needs")
	fs.DurationVar(&f.timeout, "timeout", f.timeout, "end a trial after this time")
	fs.DurationVar(&f.idle, "idle", f.idle, "end a trial when the agent has been alive and silent for this time")
	fs.Var(&f.speed, "speed", "divide all waits of the scripted model by `N`")
	fs.Var(&f.seed, "seed", "the first seed")
	fs.Var(&f.trials, "trials", "run each scenario `N` times, each with a seed of its own")
	fs.VarP(&f.jobs, "jobs", "j", "run `N` trials at once")
	addChoice(cmd, &f.dir, "dir", "where the agent starts: here, or in a scratch folder", placeHere, placeScratch)
	addChoice(cmd, &f.home, "home", "the agent's HOME: as it is (here), or a scratch folder", placeHere, placeScratch)
	fs.StringArrayVar(&f.env, "env", nil, "pass on the variable `NAME` although its name says that it is secret; can be repeated")
	fs.StringArrayVar(&f.files, "file", nil, "write the template `IN=OUT` before each trial, with {URL} and the others filled in; can be repeated")
	fs.BoolVar(&f.traces, "keep-traces", false, "keep the trace of every trial in the results, with what tools and the agent said")
	fs.StringVar(&f.keep, "keep", "", "keep what the agent and the model say, redacted, in the folder `DIR`, a file a trial")
	fs.StringVar(&f.goldens, "goldens", "", "compare each trace with its golden in the folder `DIR`")
	fs.BoolVarP(&f.update, "update", "u", false, "write the goldens that differ, instead of comparing")
	fs.BoolVar(&f.boundary, "boundary", false, "find how often the one SCENARIO must repeat itself until the agent stops it")
	f.outputFlags.add(cmd)
	return cmd
}

// setClient refuses a second client: one command starts one agent.
func (f *probeFlags) setClient(name string) error {
	if f.client != "" && f.client != name {
		return fmt.Errorf("it is already %s, and one command starts one agent", text.Line(f.client))
	}
	f.client = name
	return nil
}

// check reports what is wrong with the arguments, before anything is started.
func (f *probeFlags) check(cmd *cobra.Command, args []string) (names []string, err error) {
	dash := cmd.ArgsLenAtDash()
	if dash < 0 || dash == len(args) {
		return nil, misuse(`such as agentbench probe -- python my_agent.py "{TASK}"`, "probe needs the command that starts your agent, after --")
	}
	names, f.command = args[:dash], args[dash:]
	if err := cmp.Or(f.outputFlags.check(cmd), f.checkFolders()); err != nil {
		return nil, err
	}
	if !probe.Supported {
		return nil, misuse("it needs Linux or macOS; agentbench serve works everywhere", "probe cannot keep an agent's processes together on this system")
	}
	if err := probe.Find(f.command[0], ""); err != nil {
		return nil, misuse("after -- comes the command that starts your agent", "%s cannot be started: %s", text.Line(f.command[0]), err)
	}
	tool, with, given := strings.Cut(f.tool, "=")
	var object map[string]json.RawMessage
	switch {
	case given && (tool == "" || json.Unmarshal([]byte(with), &object) != nil):
		return nil, misuse("such as --tool 'read_file={\"path\":\"notes.txt\"}'", "--tool %q must be NAME=JSON, with an object of arguments", f.tool)
	case f.timeout <= 0:
		return nil, misuse("such as --timeout 2m", "--timeout must be above 0")
	case f.idle <= 0:
		return nil, misuse("such as --idle 30s", "--idle must be above 0")
	case f.tool != "" && f.tools == toolsScripted:
		return nil, misuse("leave one of them out", "--tool and --tools scripted contradict each other")
	case f.update && f.goldens == "":
		return nil, misuse("such as --goldens goldens --update", "--update needs --goldens, the folder of the goldens to write")
	case f.update && f.ci:
		return nil, misuse("update on your machine, read what changed, and commit the files", "--update and --ci contradict each other: a person looks at goldens, not CI")
	case f.boundary && (len(names) != 1 || len(f.suites) > 0 || f.filter != ""):
		return nil, misuse("name one scenario, such as same-call-forever", "--boundary needs one scenario")
	case slices.Contains(scenarios.Presets(), f.name):
		return nil, misuse("such as --name agent-"+f.name, "--name %s is the name of a preset, which reports show beside it", f.name)
	case strings.ContainsAny(f.name, "/\\ \t\n"):
		return nil, misuse("use letters, digits and hyphens", "--name must be one word without slashes")
	}
	if f.client != "" && !slices.Contains(probe.Clients(), f.client) {
		return nil, misuse(cmp.Or(text.DidYouMean(f.client, probe.Clients()), "without --client, --file writes any agent's configuration"), "there is no client %q: there are %s", f.client, text.AnyOf(probe.Clients()))
	}
	if f.boundary {
		if err := refuseGiven(cmd, notOfBoundary); err != nil {
			return nil, err
		}
	}
	for _, folder := range []string{f.goldens, f.keep} {
		if info, err := os.Stat(folder); folder != "" && err == nil && !info.IsDir() {
			return nil, misuse("name a folder; it need not be there", "%s is a file, not a folder", text.Line(folder))
		}
	}
	switch {
	case f.name == "" && f.client != "":
		f.name = "agent-" + f.client
	case f.name == "":
		f.name = "agent"
	}
	if f.goldens != "" {
		if _, err := goldens.Name("suite/name", f.name); err != nil {
			return nil, misuse("use letters, digits and hyphens", "--name %s cannot be part of the name of a golden: %s", text.Quote(f.name, 60), err)
		}
	}
	cmd.Flags().VisitAll(f.keepGiven)
	return names, nil
}

// agent returns the agent of the flags. clean removes its scratch folder.
func (f *probeFlags) agent(ctx context.Context) (a *probe.Agent, clean func(), err error) {
	a = &probe.Agent{Command: f.command, ScratchDir: f.dir == placeScratch, ScratchHome: f.home == placeScratch, Through: f.env,
		Cap: int(f.cap), Calls: int(f.calls), Timeout: f.timeout, Idle: f.idle, Speed: float64(f.speed), Name: f.name, MCP: mcpHandler(f.speed), Keep: f.keep}
	if f.client != "" {
		c, err := probe.FindClient(f.client)
		if err != nil {
			return nil, nil, err
		}
		c.Apply(a)
		f.version = f.client + " " + text.Clip(text.Line(c.ReadVersion(ctx, f.command[0])), 80)
		f.allowed = c.Allowed
	}
	for _, pair := range f.files {
		in, out, ok := strings.Cut(pair, "=")
		if !ok || in == "" || out == "" {
			return nil, nil, misuse("such as --file agent.json.in=agent.json", "--file %q must be IN=OUT", pair)
		}
		content, err := os.ReadFile(in)
		if err != nil {
			return nil, nil, misuse("IN is a template that exists, OUT the file that the agent reads", "--file cannot read %s: %s", in, text.Reason(err))
		}
		if inPath, _ := filepath.Abs(in); samePath(inPath, out) {
			return nil, nil, misuse("give the template another name", "--file would write over its own template %s", in)
		}
		a.Files = append(a.Files, probe.File{Path: out, Content: string(content)})
	}
	if a.Scratch, err = os.MkdirTemp("", "agentbench-scratch-"); err != nil {
		return nil, nil, err
	}
	return a, func() { os.RemoveAll(a.Scratch) }, nil
}

func (f *probeFlags) run(cmd *cobra.Command, args []string) error {
	names, err := f.check(cmd, args)
	if err != nil {
		return err
	}
	asked, all, err := f.asked(names)
	if err != nil {
		return err
	}
	if f.boundary && len(asked) != 1 {
		return misuse("name one scenario, such as same-call-forever", "--boundary needs one scenario, and these are %d", len(asked))
	}
	a, clean, err := f.agent(cmd.Context())
	if err != nil {
		return err
	}
	defer clean()
	// Whoever reads the output may leave, as head does: the folders are removed all the same.
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGPIPE)
	defer stop()
	cmd.SetContext(ctx)
	s := &probeScreen{w: cmd.OutOrStdout(), flags: f, quiet: f.quiet || f.format != table}
	look, err := a.Look(cmd.Context())
	if err != nil {
		return f.lookFailed(cmd, err)
	}
	own, err := f.toolOf(a, look)
	if err != nil {
		return f.lookFailed(cmd, err)
	}
	s.begin(a, look, own)
	if f.boundary {
		return f.findBoundary(cmd, a, asked[0], own, s)
	}
	if asked == nil {
		asked = probe.Short(all, own)
	}
	chosen := s.leaveOut(asked, own)
	if len(chosen) == 0 {
		return misuse("agentbench list scenarios --format json says what each needs", "none of %s can be asked of this agent: %s", text.Count(len(asked), "scenario"), s.reasons())
	}
	return f.trialsOf(cmd, a, chosen, own, look, s)
}

// lookFailed returns the error of a first run that showed nothing.
func (f *probeFlags) lookFailed(cmd *cobra.Command, err error) error {
	var e *probe.LookError
	switch {
	case cmd.Context().Err() != nil:
		return exitCode(exitInterrupted)
	case !errors.As(err, &e):
		return err
	case e.Usage:
		return misuse(e.Hint, "%s", e.Problem)
	}
	hint := e.Hint
	if c, err := probe.FindClient(f.client); err == nil {
		hint += "; the command of " + c.Name + " is such as " + c.Command
	}
	fmt.Fprint(cmd.ErrOrStderr(), text.Lines("error: "+e.Problem)+text.Lines("hint: "+hint))
	return exitCode(exitInconclusive)
}

// asked returns the scenarios that are named or selected, nil = none were, and all
// embedded ones.
func (f *probeFlags) asked(names []string) (asked, all []*scenarios.Scenario, err error) {
	switch {
	case len(names) > 0:
		if asked, err = servedScenarios(names); err != nil {
			return nil, nil, err
		}
		if asked, err = scenarios.Select(asked, f.suites, f.filter); err != nil {
			return nil, nil, badInput(err)
		}
	case len(f.suites) > 0 || f.filter != "" || len(f.scenarios) > 0:
		if asked, err = f.load(nil); err != nil {
			return nil, nil, err
		}
	}
	if all, err = scenarios.Load(); err != nil {
		return nil, nil, badInput(err)
	}
	if chosen := len(names)+len(f.suites)+len(f.scenarios) > 0 || f.filter != ""; chosen && len(asked) == 0 {
		return nil, nil, misuse("agentbench list scenarios shows the names", "no scenario is selected")
	}
	return asked, all, nil
}

// toolOf returns the agent's own tool that is called, nil = the script's tools are.
func (f *probeFlags) toolOf(a *probe.Agent, look *probe.Look) (*probe.Tool, error) {
	if f.tools == toolsScripted || f.tools == toolsAuto && f.tool == "" && look.Scripted {
		return nil, nil
	}
	name, args, _ := strings.Cut(f.tool, "=")
	return a.OwnTool(look, name, args)
}

// trialsOf runs the trials, writes and shows their results, and returns the verdict.
func (f *probeFlags) trialsOf(cmd *cobra.Command, a *probe.Agent, chosen []*scenarios.Scenario, own *probe.Tool, look *probe.Look, s *probeScreen) error {
	f.repeatTrial = func(r *scenarios.Result) string { return r.Repeat }
	out, err := f.outputFlags.open(cmd, f.header(chosen, own))
	if err != nil {
		return err
	}
	golden := &probeGoldens{store: goldens.Dir(f.goldens), update: f.update, ci: f.ci}
	plan := probe.Plan{Scenarios: chosen, Own: own, Seed: uint64(f.seed), Trials: int(f.trials), Jobs: int(f.jobs), Keep: f.traces}
	if f.goldens != "" {
		plan.Golden = golden.judge
	}
	err = a.Run(cmd.Context(), plan, func(r *scenarios.Result) error {
		r.Repeat, r.Client = f.repeat(r), f.version
		s.add(r)
		return out.add(r)
	})
	err = out.end(cmd.Context(), err)
	interrupted := errors.Is(err, exitCode(exitInterrupted))
	if err != nil && !interrupted {
		return err
	}
	s.end(out.done, out.of)
	if f.goldens != "" {
		if err := golden.end(cmd.OutOrStdout(), f.quiet || f.format != table); err != nil {
			return err
		}
	}
	if interrupted {
		out.printInterrupt(cmd.ErrOrStderr())
		return out.code(err)
	}
	return out.code(s.verdict())
}

// header returns the first line of the results.
func (f *probeFlags) header(chosen []*scenarios.Scenario, own *probe.Tool) scenarios.Header {
	tools := "scripted"
	if own != nil {
		tools = "own"
	}
	config := json.RawMessage(fmt.Sprintf(`{"tools":%q}`, tools))
	h := scenarios.Header{Type: "header", Schema: scenarios.ResultsSchema, Kind: "probe", Judged: scenarios.JudgedForeign, Tool: Version, Revision: revision(),
		Seed: uint64(f.seed), Seeds: int(f.trials), Scenarios: len(chosen), Trials: len(chosen) * int(f.trials), Order: []string{f.name},
		Variants: map[string]json.RawMessage{f.name: config}, Hashes: map[string]string{f.name: fmt.Sprintf("%x", sha256.Sum256(config))}}
	if f.client != "" {
		h.Clients = map[string]string{f.name: f.version}
	}
	return h
}

// repeat returns the command that runs one trial again.
func (f *probeFlags) repeat(r *scenarios.Result) string {
	name := r.Scenario
	if r.File != "scenarios/"+name+".yaml" { // it is not an embedded one
		name = r.File
	}
	args := append([]string{"agentbench", "probe", name}, f.given...)
	if r.Seed != 1 {
		args = append(args, "--seed", fmt.Sprint(r.Seed))
	}
	return shellWords(append(append(args, "--"), f.command...))
}

// notRepeated are the flags that say which trials there are and what becomes of their
// results, and so are not for one trial alone.
var notRepeated = []string{"output", "format", "quiet", "verbose", "ci", "no-color", "trials", "seed", "suite", "filter", "held-back", "scenarios", "jobs", "keep-traces", "keep", "goldens", "update", "boundary"}

// keepGiven notes a flag that was given, for the command that repeats a trial.
func (f *probeFlags) keepGiven(flag *pflag.Flag) {
	if !flag.Changed || slices.Contains(notRepeated, flag.Name) {
		return
	}
	values := []string{flag.Value.String()}
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		values = list.GetSlice()
	}
	for _, v := range values {
		f.given = append(f.given, "--"+flag.Name, v)
	}
}

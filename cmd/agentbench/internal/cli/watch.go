package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/watch"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

type watchFlags struct {
	upstream  upstream
	port      port
	variants  []string
	output    string
	keyHeader string

	held *outfile.File // keeps other watches from recording in the folder, nil = none
}

func newWatch() *cobra.Command {
	f := &watchFlags{}
	cmd := &cobra.Command{
		Use:   "watch --upstream URL",
		Short: "Watch your agent's real traffic: what would variants have stopped?",
		Long: `Stand between your agent and the API of its model, as a reverse proxy on this
machine. Set your agent's base URL to it. Every byte passes as it comes, streams
included; nothing is changed and nothing is stopped. It reads OpenAI Chat
Completions and Responses, Anthropic Messages and Gemini.

While it runs, it says what the variants would have stopped. Ctrl-C ends it with the
table of agentbench replay over the conversations that passed, and the exit code 0.

It keeps the shape of each conversation in traffic.shapes, or traffic-2.shapes if
that is there: a line without content, which says which calls were equal, which
results, when. -o FILE.shapes names another file. -o FOLDER records each conversation
in a file there, without secrets and personal data. agentbench replay reads both.
-o none keeps nothing. Keys of the API pass through and are never written.

It accepts connections only from this machine (127.0.0.1), and asks nobody but the
upstream, whose certificate it verifies. docs/watch.md says more.`,
		Example: `  agentbench watch --upstream https://api.openai.com
  agentbench watch --upstream https://api.anthropic.com --port 8080 --variant recommended --variant my-limits.yaml
  agentbench watch --upstream https://api.openai.com -o monday.shapes --key-header X-Run-Id`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	cmd.Flags().Var(&f.upstream, "upstream", "the `URL` of the API, to which every request goes on")
	cmd.Flags().Var(&f.port, "port", "listen on port `N`; 0 means any free port")
	addVariants(cmd, &f.variants, "say what this `VARIANT` would have stopped, a preset or a YAML file; can be repeated (default recommended)")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "keep the shapes of conversations in `FILE`.shapes, or record them redacted in a folder; none keeps nothing (default traffic.shapes)")
	cmd.Flags().StringVar(&f.keyHeader, "key-header", "", "requests with one value of the header `NAME` are one run, which has its hash as its name")
	return cmd
}

// An upstream is a flag whose value is the URL of an API.
type upstream struct{ url *url.URL }

func (u *upstream) String() string {
	if u.url == nil {
		return ""
	}
	return u.url.String()
}

func (u *upstream) Type() string { return "URL" }

func (u *upstream) Set(s string) (err error) {
	u.url, err = watch.ParseUpstream(s)
	return err
}

func (f *watchFlags) run(cmd *cobra.Command) error {
	if f.upstream.url == nil {
		return misuse("agentbench watch --upstream https://api.openai.com", "watch needs --upstream, the URL of the API")
	}
	if f.keyHeader != "" && !headerName.MatchString(f.keyHeader) {
		return misuse("such as --key-header X-Run-Id", "--key-header %q is not the name of a header", f.keyHeader)
	}
	names := f.variants
	if len(names) == 0 {
		names = []string{"recommended"}
	}
	variants, err := loadVariants(names)
	if err != nil {
		return err
	}
	if err := f.prepare(cmd.ErrOrStderr()); err != nil {
		return err
	}
	if f.held != nil {
		defer f.held.Discard()
	}
	defer f.tidy()
	told := &lines{to: cmd.OutOrStdout()}
	w, err := watch.New(watch.Options{Upstream: f.upstream.url, Variants: variants, KeyHeader: f.keyHeader, Folder: f.folder(), Shapes: f.shapes(), Redactor: redactor, Tell: told.tell})
	if err != nil {
		return badInput(err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", f.port.String()))
	if err != nil {
		return misuse("--port 0 uses any free port", "cannot listen on port %s: %s", f.port.String(), plainNetError(err))
	}
	f.announce(cmd.OutOrStdout(), "http://"+listener.Addr().String())
	failed := w.Serve(cmd.Context(), listener)
	if err := f.summary(cmd.OutOrStdout(), w, variants, failed == nil); err != nil {
		return err
	}
	return failed
}

// headerName fits the name of a header (a token of RFC 9110).
var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// shapes returns the file of shapes, "" = none.
func (f *watchFlags) shapes() string {
	if filepath.Ext(f.output) == ".shapes" {
		return f.output
	}
	return ""
}

// folder returns the folder of recordings, "" = none.
func (f *watchFlags) folder() string {
	if f.shapes() != "" || f.output == keepNothing {
		return ""
	}
	return f.output
}

// keepNothing is the value of -o with which nothing is kept.
const keepNothing = "none"

// prepare makes the folder of recordings, or an empty file for the shapes. It does not
// replace a file that is there.
func (f *watchFlags) prepare(stderr io.Writer) error {
	switch {
	case f.output == keepNothing:
		return nil
	case f.output == "":
		for n := 1; ; n++ {
			f.output = "traffic.shapes"
			if n > 1 {
				f.output = fmt.Sprintf("traffic-%d.shapes", n)
			}
			if err := f.reserve(stderr); !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	case f.shapes() != "":
		err := f.reserve(stderr)
		if errors.Is(err, fs.ErrExist) {
			return misuse("give it another name, or move the file away", "%s is there already", f.output)
		}
		return err
	}
	if ext := filepath.Ext(f.output); slices.Contains([]string{".json", ".jsonl", ".yaml", ".yml", ".html", ".md"}, ext) {
		return misuse("-o traffic.shapes keeps shapes, and -o traffic/ records in a folder", "cannot write %q: watch writes shapes, or a folder", f.output)
	}
	if err := os.MkdirAll(f.output, 0o777); err != nil {
		return misuse("-o takes a folder that you may write to", "cannot record in %s: %s", f.output, text.Reason(err))
	}
	var err error
	f.held, err = outfile.CreateAlone(filepath.Join(f.output, ".watch"), 0o600)
	switch {
	case errors.Is(err, outfile.ErrBusy):
		return misuse("give this one a folder of its own: replay and tune read several", "another watch is recording in %s", f.output)
	case err != nil:
		return unwritable(f.output, err)
	}
	return nil
}

// reserve creates the file of shapes, so that no other watch takes it.
func (f *watchFlags) reserve(stderr io.Writer) error {
	file, err := os.OpenFile(f.output, os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, fs.ErrExist):
		return err
	case err != nil:
		return misuse("-o takes the path of a file in a folder that you may write to, and -o none keeps nothing", "cannot write %s: %s", f.output, text.Reason(err))
	}
	file.Close()
	written, err := createMode(stderr, f.output, 0o600) // whether it can be replaced
	if err == nil {
		written.Discard()
	}
	return err
}

// tidy removes the file of shapes if nothing has been written to it.
func (f *watchFlags) tidy() {
	if info, err := os.Lstat(f.output); f.shapes() != "" && err == nil && info.Size() == 0 {
		os.Remove(f.output)
	}
}

// announce prints the proxy's address.
func (f *watchFlags) announce(w io.Writer, url string) {
	fmt.Fprintf(w, "watching %s on %s\n", text.Line(f.upstream.String()), url)
	switch {
	case f.output == keepNothing:
		fmt.Fprintln(w, "nothing is kept")
	case f.shapes() != "":
		fmt.Fprintf(w, "the shapes of conversations are kept in %s, without content\n", text.Line(f.output))
	default:
		fmt.Fprintf(w, "conversations are recorded in %s, redacted\n", text.Line(f.output))
	}
	fmt.Fprintln(w, "it accepts connections only from this machine; Ctrl-C ends it")
}

// lines prints whole lines from several goroutines.
type lines struct {
	mu sync.Mutex
	to io.Writer
}

func (l *lines) tell(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintln(l.to, line)
}

// summary prints what has passed, and what the variants would have stopped of it.
// kept says that the files hold it.
func (f *watchFlags) summary(w io.Writer, watched *watch.Watch, variants []scenarios.Variant, kept bool) error {
	n := watched.Counts()
	fmt.Fprintf(w, "%s in %s", text.Count(n.Requests, "request"), text.Count(n.Conversations, "conversation"))
	for _, more := range []struct {
		n    int
		what string
	}{{n.Branches, "branching off another"}, {n.Tries, "asked again"}, {n.Shortened, "times with a shortened history"}} {
		if more.n > 0 {
			fmt.Fprintf(w, ", %s %s", text.Number(more.n), more.what)
		}
	}
	fmt.Fprintln(w)
	if len(n.Left) > 0 {
		var parts []string
		for why, n := range n.Left {
			parts = append(parts, fmt.Sprintf("%s (%s)", why, text.Number(n)))
		}
		slices.Sort(parts)
		fmt.Fprintf(w, "not part of a conversation: %s\n", text.Line(strings.Join(parts, ", ")))
	}
	if n.Unseen > 0 {
		fmt.Fprintf(w, "not seen: %s (%.1f MB), which passed while too many others still waited to be read\n", text.Count(n.Unseen, "exchange"), float64(n.UnseenBytes)/1e6)
	}
	if n.Conversations == 0 {
		return nil
	}
	fold := &reports.Fold{}
	h := replayHeader(n.Conversations, 0, variants)
	if err := fold.Header(&h); err != nil {
		return err
	}
	if err := watched.Results(fold.Add); err != nil {
		return err
	}
	if err := fold.Replay().Write(w); err != nil || !kept || f.output == keepNothing {
		return err
	}
	fmt.Fprintf(w, "next: agentbench tune %s looks for limits that suit these runs\n", text.Line(f.output))
	return nil
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/agentbench-go/agentbench/cassettes/drive"
	"github.com/agentbench-go/agentbench/cassettes/secrets"
	"github.com/agentbench-go/agentbench/cassettes/tape"
	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// maxGolden is the largest golden in bytes, as in the package that parses it.
const maxGolden = 4 << 20

// checkAll plays cassettes and compares them with their goldens. It checks all of
// them, even if one cannot be read.
func (f *recordFlags) checkAll(cmd *cobra.Command, paths []string) error {
	if len(paths) == 0 {
		return misuse("agentbench record --check talk"+scenarios.CassetteSuffix, "--check needs the path of a cassette")
	}
	if _, err := connector(cmd); err != nil {
		return err
	}
	stdout, stderr := &shownOutput{Writer: cmd.OutOrStdout()}, cmd.ErrOrStderr()
	code := exitPassed
	var sessions []recorded
	for _, path := range paths {
		difference, s, err := f.checkOne(cmd, path)
		if s.played != nil {
			sessions = append(sessions, s)
		}
		switch {
		case cmd.Context().Err() != nil:
			return exitCode(exitInterrupted)
		case err != nil:
			code = exitUsage
			fmt.Fprintf(stderr, "error: %s", text.Lines(err.Error()))
		case difference != "":
			code = max(code, exitFailed)
			fmt.Fprintf(stdout, "differs  %s\n%s", text.Line(path), difference)
		case !f.quiet:
			last, requests := s.played.Runs[len(s.played.Runs)-1], 0
			for _, out := range s.played.Runs {
				requests += out.ModelCalls
			}
			fmt.Fprintf(stdout, "ok  %s  %s, %s (%s)\n", text.Line(path), text.Count(requests, "request"), last.End, text.Line(string(last.Stop)))
		}
	}
	if err := f.writeResults(cmd.ErrOrStderr(), sessions); err != nil {
		return err
	}
	if stdout.err != nil {
		return stdout.err
	}
	if code != exitPassed {
		return exitCode(code)
	}
	return nil
}

// checkOne plays a cassette and returns how its trace differs from its golden, ""
// if it does not. With --update it writes the golden instead.
func (f *recordFlags) checkOne(cmd *cobra.Command, path string) (difference string, s recorded, err error) {
	if s.Session, s.played, err = playCassette(cmd, path); err != nil {
		if !strings.HasPrefix(err.Error(), path+": ") {
			err = fmt.Errorf("%s: %w", path, err)
		}
		return "", recorded{}, err
	}
	if f.update {
		return "", s, writeGolden(cmd.ErrOrStderr(), path, s.Session, s.played)
	}
	golden, err := readGolden(goldenOf(path))
	if err != nil {
		return "", s, err
	}
	if d := golden.Compare(s.played.Trace); d != nil {
		return d.String(), s, nil
	}
	return "", s, nil
}

// playCassette plays the session of a cassette without a network. It fails if the
// session leaves requests of the cassette over.
func playCassette(cmd *cobra.Command, path string) (*drive.Session, *drive.Played, error) {
	connect, err := connector(cmd)
	if err != nil {
		return nil, nil, err
	}
	var lost error
	s, transport, err := openSession(path, func(err error) { lost = errors.Join(lost, err) })
	if err != nil {
		return nil, nil, err
	}
	s.Connect = connect
	played, err := s.Play(context.WithoutCancel(cmd.Context()), transport)
	if err == nil {
		err = errors.Join(lost, played.Leftovers)
	}
	return s, played, err
}

// openSession opens a cassette and returns the session in its head.
func openSession(path string, lost func(error)) (*drive.Session, *tape.Transport, error) {
	head, redactor, err := headOf(path)
	if err != nil {
		return nil, nil, err
	}
	transport, err := tape.Begin(path, tape.None, nil, redactor)
	if err != nil {
		return nil, nil, err
	}
	s, err := head.Of(lost)
	return s, transport, err
}

// headOf returns the head of a cassette and the redactor of its session.
func headOf(path string) (*drive.Head, *secrets.Redactor, error) {
	c, err := tape.Open(path, nil) // the head says what counts as a secret
	if err != nil {
		return nil, nil, err
	}
	head, err := drive.ReadHead(c.Head)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	o := secrets.Options{Own: []string{string(head.Scenario)}}
	if len(head.Redact) > 0 {
		if err := json.Unmarshal(head.Redact, &o); err != nil {
			return nil, nil, fmt.Errorf("%s: the head has no valid settings of the redactor: %w", path, err)
		}
	}
	redactor, err := secrets.New(o)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return head, redactor, nil
}

func readGolden(path string) (*goldens.Golden, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no golden %s: agentbench record --check --update writes it", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular(): // to open a pipe could take for ever
		return nil, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxGolden:
		return nil, fmt.Errorf("%s is larger than %d MiB", path, maxGolden>>20)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return goldens.Parse(path, data)
}

// checkResults returns an error if --results names a file in another format.
func (f *recordFlags) checkResults() error {
	if f.results != "" && filepath.Ext(f.results) != ".jsonl" {
		return misuse("use a name that ends in .jsonl; agentbench report makes other formats from it", "cannot write %q: --results writes only jsonl", f.results)
	}
	return nil
}

// A recorded is a session with its runs and its trace.
type recorded struct {
	*drive.Session
	played *drive.Played
}

// writeResults writes one result for each session to the file of --results.
func (f *recordFlags) writeResults(stderr io.Writer, sessions []recorded) error {
	if f.results == "" || len(sessions) == 0 {
		return nil
	}
	o := scenarios.Options{Seed: sessions[0].Seed}
	known := map[string]bool{}
	for _, s := range sessions {
		o.Scenarios = append(o.Scenarios, s.Scenario)
		if v := s.Scenario.Variant; !known[v.Name] {
			known[v.Name] = true
			o.Variants = append(o.Variants, v)
		}
	}
	header := headerOf(&o)
	header.Kind, header.Trials = "record", len(sessions)
	var err error
	if header.Model, err = json.Marshal(sessions[0].Settings); err != nil {
		return err
	}
	out, err := createResults(stderr, f.results, 0o600, header)
	if err != nil {
		return err
	}
	for _, s := range sessions {
		trial := scenarios.Trial{Scenario: s.Scenario, Variant: s.Scenario.Variant, Seed: s.Seed}
		r := trial.Played(s.played.Runs, s.played.Trace)
		r.Trace = r.Redact(s.played.Trace, s.Scenario.Redactor().Text).String()
		if err := out.results.Write(r); err != nil {
			out.Discard()
			return err
		}
	}
	return out.complete(out.results.End())
}

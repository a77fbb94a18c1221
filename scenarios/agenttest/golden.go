package agenttest

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// updateFlag is the flag that writes goldens.
const updateFlag = "update"

// The flag is registered only if it is given and nobody else has it: many test files
// define one, after this package has been initialized, and a second one is a panic.
func init() {
	if flag.Lookup(updateFlag) == nil && given(os.Args) && !definesFlag(".") {
		flag.Bool(updateFlag, false, "write the goldens of agenttest")
	}
}

// given reports whether the arguments of a test hold the flag.
func given(args []string) bool {
	return slices.ContainsFunc(args, func(arg string) bool {
		name, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"), "=")
		return name == updateFlag && strings.HasPrefix(arg, "-")
	})
}

// flagDefinition finds the definition of the flag in a test file.
var flagDefinition = regexp.MustCompile(`\.\w+\([^"\n]*"` + updateFlag + `",`)

// definesFlag reports whether a test file of a folder, which is that of the package
// under test, defines the flag.
func definesFlag(folder string) bool {
	files, _ := filepath.Glob(filepath.Join(folder, "*_test.go")) // the pattern is valid
	return slices.ContainsFunc(files, func(file string) bool {
		content, err := os.ReadFile(file)
		return err == nil && flagDefinition.Match(content)
	})
}

// updating reports whether goldens are written.
func updating() bool {
	f := flag.Lookup(updateFlag)
	if f == nil {
		return false
	}
	on, _ := strconv.ParseBool(f.Value.String()) // another kind of flag is not for us
	return on
}

// A golden is what the scenarios of one test came to, a line each.
type golden struct {
	path   string
	update bool
	lines  map[string]string // by the name of the trial; nil = there is no golden
}

// readGolden reads the golden of a test.
func readGolden(t *testing.T) *golden {
	t.Helper()
	g := &golden{path: filepath.Join("testdata", "agenttest", strings.ReplaceAll(t.Name(), "/", "-")+".golden"), update: updating()}
	content, err := os.ReadFile(g.path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s cannot be read: %s", g.path, text.Reason(err))
		}
		return g
	}
	g.lines = map[string]string{}
	for line := range strings.SplitSeq(strings.TrimSpace(string(content)), "\n") {
		name, _, _ := strings.Cut(line, " ")
		g.lines[name] = strings.TrimSpace(line)
	}
	return g
}

// trialName names a trial in a golden.
func trialName(r *Report) string {
	if r.Seed == 1 {
		return r.Scenario
	}
	return fmt.Sprintf("%s#%d", r.Scenario, r.Seed)
}

// goldenLine is the line of a trial. Times are rounded to seconds, as jitter moves them;
// those of real time are left out.
func goldenLine(r *Report, timed bool) string {
	line := fmt.Sprintf("%s  %s  %s  %s  %s", trialName(r), r.Label, r.Verdict, text.Count(r.Requests, "request"), text.Count(r.Asked, "call"))
	if timed {
		line += "  " + text.Exact(r.Observation.End.At.Round(time.Second))
	}
	return line + "  " + string(r.EndState)
}

// compare compares a trial with the golden.
func (g *golden) compare(t *testing.T, r *Report, timed bool) {
	t.Helper()
	if g.update || g.lines == nil {
		return
	}
	got := goldenLine(r, timed)
	switch want := g.lines[trialName(r)]; want {
	case got:
		r.Golden = scenarios.GoldenMatch
	case "":
		r.Golden = scenarios.GoldenMissing
		t.Errorf("%s has no line for it; -update writes\n  %s", g.path, got)
	default:
		r.Golden = scenarios.GoldenMismatch
		t.Errorf("it differs from %s, which -update writes anew:\n  - %s\n  + %s", g.path, want, got)
	}
}

// write writes the golden anew, with -update. Lines of trials that did not run stay.
func (g *golden) write(reports []*Report, timed bool) error {
	if !g.update {
		return nil
	}
	lines := maps.Clone(g.lines)
	if lines == nil {
		lines = map[string]string{}
	}
	for _, r := range reports {
		lines[trialName(r)] = goldenLine(r, timed)
	}
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(lines[name] + "\n")
	}
	if err := os.MkdirAll(filepath.Dir(g.path), 0o777); err != nil {
		return err
	}
	return outfile.Write(g.path, []byte(b.String()), 0o666)
}

package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/goldens"
)

// checks writes the scenario valid into the suite loops of a new folder.
func checks(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, "loops/one.yaml", valid)
	return dir
}

// ran makes the trials of some options, and returns of each its golden, its
// verdict and what was found.
func ran(t *testing.T, o Options) (got []string, results []*Result) {
	t.Helper()
	err := Run(context.Background(), o, func(r *Result) error {
		line := r.Golden + " " + string(r.Verdict)
		for _, f := range r.Findings {
			line += " " + f.Rule
		}
		got, results = append(got, line), append(results, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, results
}

func loaded(t *testing.T, paths ...string) []*Scenario {
	t.Helper()
	all, err := Load(paths...)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func presetsOf(t *testing.T, names ...string) (variants []Variant) {
	t.Helper()
	for _, name := range names {
		v, err := LoadVariant(name)
		if err != nil {
			t.Fatal(err)
		}
		variants = append(variants, v)
	}
	return variants
}

// A golden goes its way: it is missing, made, matched, left by another script,
// allowed by its scenario, and made anew.
func TestRunWithGoldens(t *testing.T) {
	dir := checks(t)
	step := func(name string, g *Goldens, want string) *Result {
		t.Helper()
		got, results := ran(t, Options{Scenarios: loaded(t, dir), Goldens: g})
		if len(got) != 1 || got[0] != want {
			t.Fatalf("%s: got %q, want %q", name, got, want)
		}
		return results[0]
	}
	step("no goldens anywhere", &Goldens{}, "off pass")
	step("one is expected", &Goldens{Expected: true}, "missing pass")
	path := filepath.ToSlash(filepath.Join(dir, "goldens", "loops", "one.hpd-agent.golden"))
	required := step("one is required", &Goldens{Expected: true, Required: true}, "missing fail golden")
	if got := required.Findings[0].Message; !strings.HasPrefix(got, "there is no golden ") || !strings.HasSuffix(got, ": agentbench golden update writes it") {
		t.Errorf("the finding says %q", got)
	}

	made := &Goldens{Update: true}
	step("made", made, "match pass")
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a golden is there before Write: %v", err)
	}
	changes, same := made.Changes()
	if len(changes) != 1 || same != 0 || !changes[0].New() || changes[0].Now.Variant != "hpd-agent" || changes[0].Now.Seed != 0 {
		t.Errorf("changes %+v, %d as before", changes, same)
	}
	if err := made.Write(); err != nil {
		t.Fatal(err)
	}
	step("there", &Goldens{}, "match pass")
	step("there and required", &Goldens{Required: true}, "match pass")
	again := &Goldens{Update: true}
	step("made again", again, "match pass")
	if changes, same := again.Changes(); len(changes) != 0 || same != 1 {
		t.Errorf("changes %+v, %d as before, want 0 and 1", changes, same)
	}

	// The model says something else: the reply and what comes of it, lines 3 and 4 of
	// the trace, behind 6 lines of header.
	write(t, dir, "loops/one.yaml", strings.Replace(valid, "text: hello", "text: goodbye", 1))
	r := step("another reply", &Goldens{}, "mismatch fail golden")
	f := r.Findings[0]
	if !strings.HasSuffix(f.Message, "one.hpd-agent.golden:9: the trace differs") || f.At != "line 3" || !strings.Contains(f.Want, "text=hello") || !strings.Contains(f.Got, "text=goodbye") {
		t.Errorf("the finding is %+v", f)
	}
	var lines []string
	for _, e := range f.Diff.Edit {
		lines = append(lines, fmt.Sprintf("%v%d", e.Out, e.Line))
	}
	if want := []string{"true9", "true10", "false3", "false4"}; !slices.Equal(lines, want) || f.Diff.More != 0 {
		t.Errorf("the edit is %v, and %d more, want %v", lines, f.Diff.More, want)
	}

	// The scenario allows it, and something that never comes.
	write(t, dir, "loops/one.yaml", strings.Replace(valid, "text: hello", "text: goodbye", 1)+
		"golden: {allow: [\"field *.text: it greets as it likes\", \"field *.answer: and ends so\", \"retries: none\"]}\n")
	r = step("other terms", &Goldens{}, "mismatch fail golden")
	if got := r.Findings[0].Message; !strings.Contains(got, "one.hpd-agent.golden:5: the mode and the allowances are not those of the scenario") {
		t.Errorf("the finding says %q", got)
	}
	made = &Goldens{Update: true}
	step("terms written", made, "match pass")
	if changes, _ := made.Changes(); len(changes) != 1 || changes[0].New() {
		t.Errorf("changes %+v", changes)
	}
	if err := made.Write(); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "loops/one.yaml", strings.Replace(valid, "text: hello", "text: farewell", 1)+
		"golden: {allow: [\"field *.text: it greets as it likes\", \"field *.answer: and ends so\", \"retries: none\"]}\n")
	allowed := &Goldens{}
	step("allowed", allowed, "match pass")
	if got := allowed.Stale(); len(got) != 1 || !strings.HasSuffix(got[0], `one.hpd-agent.golden: the allowance "retries" finds nothing to allow: take it out`) {
		t.Errorf("stale are %q", got)
	}

	// A broken one fails, and is made anew.
	write(t, dir, "loops/one.yaml", valid)
	write(t, dir, "goldens/loops/one.hpd-agent.golden", "junk\n")
	r = step("broken", &Goldens{}, "mismatch fail golden")
	if got := r.Findings[0].Message; !strings.Contains(got, "one.hpd-agent.golden:1: is not a golden") {
		t.Errorf("the finding says %q", got)
	}
	made = &Goldens{Update: true}
	step("made of a broken one", made, "match pass")
	if changes, _ := made.Changes(); len(changes) != 1 || changes[0].New() {
		t.Errorf("changes %+v", changes)
	}
}

// What is not compared: trials under another variant without a golden, with faults,
// that ran dry, and where the scenario says that there is none.
func TestRunWithoutAGolden(t *testing.T) {
	dir := checks(t)
	write(t, dir, "loops/dry.yaml", strings.Replace(strings.Replace(valid, "name: one", "name: dry", 1), "  - {text: hello}\n", "  - {calls: [{read: {path: a}}]}\n", 1))
	write(t, dir, "loops/none.yaml", strings.Replace(valid, "name: one", "name: none", 1)+"golden: {mode: off}\n")
	all := loaded(t, dir)
	made := &Goldens{Update: true}
	got, _ := ran(t, Options{Scenarios: all, Goldens: made}) // dry, none, one
	want := []string{"off inconclusive ran-dry", "off pass", "match pass"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if changes, _ := made.Changes(); len(changes) != 1 || changes[0].Now.Scenario != "loops/one" {
		t.Errorf("changes %+v", changes)
	}
	if err := made.Write(); err != nil {
		t.Fatal(err)
	}
	got, _ = ran(t, Options{Scenarios: all, Variants: presetsOf(t, "none", "hpd-agent"), Goldens: &Goldens{Required: true}})
	want = []string{"off inconclusive ran-dry", "off inconclusive ran-dry", "off pass", "off pass", "off pass", "match pass"}
	if !slices.Equal(got, want) {
		t.Errorf("under two variants: got %q, want %q", got, want)
	}
	fault, err := fakes.ParseFault("drop model 1")
	if err != nil {
		t.Fatal(err)
	}
	got, _ = ran(t, Options{Scenarios: all[2:], Faults: []fakes.Fault{fault}, Goldens: &Goldens{Required: true}})
	if len(got) != 1 || !strings.HasPrefix(got[0], "off ") {
		t.Errorf("with a fault: got %q", got)
	}
	byHand := *all[2]
	byHand.File = ""
	if got, _ = ran(t, Options{Scenarios: []*Scenario{&byHand}, Goldens: &Goldens{Required: true, Expected: true}}); got[0] != "off pass" {
		t.Errorf("a scenario of no file, whose golden lies nowhere: got %q", got)
	}
	if got, _ = ran(t, Options{Scenarios: []*Scenario{&byHand}, Goldens: &Goldens{Dir: filepath.Join(dir, "goldens")}}); got[0] != "match pass" {
		t.Errorf("a scenario of no file, with a folder: got %q", got)
	}
}

// The goldens in the program cannot be written, and Run says so before a trial.
func TestEmbeddedGoldensAreReadOnly(t *testing.T) {
	t.Chdir(t.TempDir()) // out of the checkout
	all := loaded(t)[:1]
	g := &Goldens{Update: true}
	if err := g.Writable(all); !errors.Is(err, goldens.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
	err := Run(context.Background(), Options{Scenarios: all, Goldens: g}, func(*Result) error { t.Error("a trial was made"); return nil })
	if !errors.Is(err, goldens.ErrReadOnly) {
		t.Errorf("got %v", err)
	}
	if got, _ := ran(t, Options{Scenarios: all, Goldens: &Goldens{Required: true}}); !strings.HasPrefix(got[0], "match ") {
		t.Errorf("got %q", got)
	}
	if err := (&Goldens{Dir: t.TempDir(), Update: true}).Writable(all); err != nil {
		t.Errorf("in a folder: %v", err)
	}
}

// A shelf holds the trials of the goldens that there are and should be, the
// orphans and what is broken.
func TestShelf(t *testing.T) {
	dir := checks(t)
	write(t, dir, "loops/two.yaml", strings.Replace(valid, "name: one", "name: two", 1))
	write(t, dir, "walks/off.yaml", strings.Replace(valid, "name: one", "name: off", 1)+"golden: {mode: off}\n")
	for _, made := range []Options{
		{Scenarios: loaded(t, dir), Variants: presetsOf(t, "none"), Seed: 3},
		{Scenarios: loaded(t, filepath.Join(dir, "loops")), Seed: 1},
	} {
		made.Goldens = &Goldens{Update: true}
		if ran(t, made); made.Goldens.Write() != nil {
			t.Fatal("a golden cannot be written")
		}
	}
	lie := filepath.Join(dir, "goldens")
	read := func(name string) string {
		t.Helper()
		text, err := os.ReadFile(filepath.Join(lie, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	one := read("loops/one.hpd-agent.golden")
	write(t, lie, "loops/gone.hpd-agent.golden", strings.Replace(one, "loops/one", "loops/gone", 1))
	write(t, lie, "loops/one.mine.golden", strings.Replace(one, "variant: hpd-agent", "variant: mine", 1))
	write(t, lie, "walks/off.hpd-agent.golden", strings.Replace(one, "loops/one", "walks/off", 1))
	write(t, lie, "loops/junk.golden", "junk\n")
	write(t, lie, "loops/two.none.golden", "junk\n")
	if err := os.Remove(filepath.Join(lie, "loops", "two.hpd-agent.golden")); err != nil {
		t.Fatal(err)
	}

	open := func(g *Goldens, sel Selection) (*Shelf, string) {
		t.Helper()
		s, err := g.Open(sel)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, tr := range s.Trials {
			lines = append(lines, fmt.Sprintf("%s.%s#%d", tr.Scenario.ID(), tr.Variant.Name, tr.Seed))
		}
		for _, o := range s.Orphans {
			lines = append(lines, "orphan "+filepath.Base(o.Path)+": "+o.Why)
		}
		for path := range s.Broken {
			lines = append(lines, "broken "+filepath.Base(path))
		}
		slices.Sort(lines)
		return s, strings.Join(lines, "\n")
	}
	shelf, got := open(&Goldens{}, Selection{Paths: []string{dir}})
	want := strings.Join([]string{
		"broken junk.golden",
		"broken two.none.golden",
		"loops/one.hpd-agent#1",
		"loops/one.none#3", // a golden keeps its seed
		"loops/two.hpd-agent#1",
		"loops/two.none#1",
		"orphan gone.hpd-agent.golden: there is no scenario loops/gone",
		"orphan off.hpd-agent.golden: the scenario says golden: {mode: off}",
		"orphan one.mine.golden: there is no variant mine; name the file of a variant with --variant",
		"walks/off.hpd-agent#1",
		"walks/off.none#3",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	checks, brokeOff, err := shelf.Check(context.Background())
	if err != nil || len(brokeOff) != 0 {
		t.Fatalf("%v broke off, error %v", brokeOff, err)
	}
	var words []string
	for _, c := range checks {
		words = append(words, filepath.Base(c.Path)+" "+c.Word)
	}
	if want := []string{"one.hpd-agent.golden match", "one.none.golden match", "two.hpd-agent.golden missing", "two.none.golden mismatch", ". off", "off.none.golden match"}; !slices.Equal(words, want) {
		t.Errorf("got %q\nwant %q", words, want)
	}
	if len(shelf.Broken) != 1 { // a check reported two.none.golden
		t.Errorf("broken are %v", shelf.Broken)
	}

	for _, c := range []struct {
		what string
		sel  Selection
		want string
	}{
		{"a pattern", Selection{Paths: []string{dir}, Pattern: "gone"}, "orphan gone.hpd-agent.golden: there is no scenario loops/gone"},
		{"a suite and a variant", Selection{Paths: []string{dir}, Suites: []string{"walks"}, Variants: []Variant{{Name: "mine"}}},
			"orphan off.hpd-agent.golden: the scenario says golden: {mode: off}\nwalks/off.mine#1"},
		{"one file, which does not make its suite", Selection{Paths: []string{filepath.Join(dir, "loops", "one.yaml")}}, "loops/one.hpd-agent#1\nloops/one.none#3"},
	} {
		if _, got := open(&Goldens{}, c.sel); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.what, got, c.want)
		}
	}

	for i := range shelf.Orphans {
		if err := shelf.Orphans[i].Remove(); err != nil {
			t.Error(err)
		}
	}
	if shelf, _ := open(&Goldens{}, Selection{Paths: []string{dir}}); len(shelf.Orphans) != 0 {
		t.Errorf("left are %v", shelf.Orphans)
	}
	if err := shelf.Orphans[0].Remove(); err == nil || !strings.Contains(err.Error(), "cannot remove ") {
		t.Errorf("an orphan that is gone: %v", err)
	}

	g := &Goldens{Update: true}
	shelf, _ = open(g, Selection{Paths: []string{dir}})
	if _, _, err := shelf.Check(context.Background()); err != nil {
		t.Fatal(err)
	}
	var changed []string
	changes, same := g.Changes()
	for i := range changes {
		changed = append(changed, fmt.Sprintf("%s %v", filepath.Base(changes[i].Path), changes[i].New()))
	}
	if want := []string{"two.hpd-agent.golden true", "two.none.golden false"}; same != 3 || !slices.Equal(changed, want) {
		t.Errorf("changes %q, %d as before, want %q and 3", changed, same, want)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := shelf.Check(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := g.Open(Selection{Paths: []string{filepath.Join(dir, "nowhere")}}); err == nil {
		t.Error("a folder that does not exist is opened")
	}
	if _, err := g.Open(Selection{Paths: []string{dir}, Suites: []string{"loop"}}); err == nil {
		t.Error("a suite that does not exist is opened")
	}
}

// A golden has one seed. Trials that draw random numbers are compared with it under
// that seed only, others under every seed; a new golden has the first seed, and one
// that is made anew keeps its own, and its terms.
func TestGoldenSeeds(t *testing.T) {
	dir := checks(t)
	write(t, dir, "loops/dice.yaml", strings.Replace(strings.Replace(valid, "name: one", "name: dice", 1), "text: hello", "text: \"${rand:1..1000000}\"", 1))
	all := loaded(t, filepath.Join(dir, "loops", "dice.yaml"))
	words := func(seed uint64, seeds int, g *Goldens) string {
		t.Helper()
		got, _ := ran(t, Options{Scenarios: all, Seed: seed, Seeds: seeds, Goldens: g})
		var words []string
		for _, line := range got {
			word, _, _ := strings.Cut(line, " ")
			words = append(words, word)
		}
		return strings.Join(words, " ")
	}
	g := &Goldens{Update: true}
	if got := words(5, 3, g); got != "match off off" {
		t.Errorf("new with the seeds 5 to 7: %s", got)
	}
	if err := g.Write(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		seed  uint64
		seeds int
		want  string
	}{{5, 1, "match"}, {4, 3, "off match off"}, {6, 2, "off off"}} {
		if got := words(c.seed, c.seeds, &Goldens{Expected: true}); got != c.want {
			t.Errorf("%d seeds from %d: %s, want %s", c.seeds, c.seed, got, c.want)
		}
	}
	if got := words(6, 3, &Goldens{Expected: true, Dir: t.TempDir()}); got != "missing off off" {
		t.Errorf("without a golden: %s", got)
	}

	// The golden gets a mode of its own, and the script another text.
	file := filepath.Join(dir, "goldens", "loops", "dice.hpd-agent.golden")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "goldens/loops/dice.hpd-agent.golden", strings.Replace(string(text), "# mode: strict\n", "# mode: unordered\n# allow: retries: the network is real\n", 1))
	write(t, dir, "loops/dice.yaml", strings.Replace(strings.Replace(valid, "name: one", "name: dice", 1), "text: hello", "text: \"a ${rand:1..1000000}\"", 1))
	all = loaded(t, filepath.Join(dir, "loops", "dice.yaml"))
	g = &Goldens{Update: true}
	if got := words(3, 3, g); got != "off off match" {
		t.Errorf("anew with the seeds 3 to 5: %s", got)
	}
	changes, _ := g.Changes()
	if len(changes) != 1 || changes[0].New() {
		t.Fatalf("changes %+v", changes)
	}
	if now := changes[0].Now; now.Seed != 5 || now.Mode != goldens.Unordered || len(now.Allow) != 1 || now.Allow[0].Difference() != "retries" {
		t.Errorf("the golden has seed %d, mode %s and the allowances %v", now.Seed, now.Mode, now.Allow)
	}

	// What draws nothing is the same under every seed.
	all = loaded(t, filepath.Join(dir, "loops", "one.yaml"))
	g = &Goldens{Update: true}
	if got := words(9, 3, g); got != "match" || g.Write() != nil {
		t.Errorf("a scenario without random numbers: %s", got)
	}
	if got := words(2, 1, &Goldens{}); got != "match" {
		t.Errorf("under another seed: %s", got)
	}
	write(t, dir, "loops/one.yaml", strings.Replace(valid, "text: hello", "text: goodbye", 1))
	all = loaded(t, filepath.Join(dir, "loops", "one.yaml"))
	g = &Goldens{Update: true}
	words(2, 1, g)
	if changes, _ := g.Changes(); len(changes) != 1 || changes[0].Now.Seed != 9 {
		t.Errorf("made anew under another seed: %+v", changes)
	}
}

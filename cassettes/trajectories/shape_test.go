package trajectories

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/shapes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// shapeLine returns the line of a trajectory's shape.
func shapeLine(s *Shaper, t *Trajectory) string {
	return strings.TrimSuffix(string(s.Shape(t).Append(nil)), "\n")
}

// The runs are written by hand; each line has what the grammar of docs/shapes.md says.
func TestShapeOfARun(t *testing.T) {
	ok := func(text string) *Result { return &Result{Text: text} }
	call := func(name, args string, r *Result) *Call { return &Call{Name: name, Args: args, Result: r} }
	for _, tt := range []struct {
		name string
		run  *Trajectory
		want string
	}{
		{"the example of the design", &Trajectory{Label: Failure, Runs: []*Run{{User: "find it", Turns: []*Turn{
			{Calls: []*Call{call("search", `{"q":1}`, ok("x"))}},
			{Calls: []*Call{call("read", `{"p":1}`, ok("y")), call("read", `{"p":2}`, ok("z"))}},
			{Calls: []*Call{call("read", `{"p": 2}`, &Result{Text: "z", Code: loop.ToolBug})}},
			{Text: "done"},
		}}}}, "1 failure task=1 u a1=1 b1=2+b2=3 b2=3! ."},
		{"equal arguments are equal as JSON", &Trajectory{Runs: []*Run{{Turns: []*Turn{{Calls: []*Call{
			call("f", `{"a":1,"b":2}`, nil), call("f", `{ "b":2.0, "a":1e0}`, nil), call(" f", "", nil), call("f", "{}", nil)}}}}}},
			"1 unknown a1?+a1?+a2?+a2?"},
		{"broken arguments, no name, errors as text, empty results", &Trajectory{Runs: []*Run{{User: "x", Turns: []*Turn{
			{Calls: []*Call{call("f", `{"a":`, ok("Error: no")), call("", "[1]", ok(""))}}, {}}}}},
			"1 unknown task=1 u a1~=1!e+_1~=0 _"},
		{"the same call sent twice in a reply", &Trajectory{Runs: []*Run{{Turns: []*Turn{{Calls: []*Call{
			{ID: "c1", Name: "f", Args: "{}"}, {ID: "c1", Name: "f", Args: " {}"}, {ID: "c1", Name: "f", Args: `{"a":1}`}}}}}}},
			"1 unknown a1?+a2?"},
		{"times and tokens", &Trajectory{Timed: true, Label: Success, Runs: []*Run{{User: "x", Turns: []*Turn{{Text: "y", At: 12500 * time.Millisecond, TokensIn: 800, TokensOut: 30}}}}},
			"1 success task=1 u@0 .@12.5#800/30"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := shapeLine(&Shaper{}, tt.run); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestShapeWithNames(t *testing.T) {
	run := &Trajectory{File: "runs/a b.json", Name: "r1", Runs: []*Run{{Turns: []*Turn{{Calls: []*Call{{Name: "read_file"}, {Name: "a+b:c"}, {}}}}}}}
	want := "runs/a%20b.json/r1 unknown read_file:1?+a%2Bb%3Ac:1?+_1?"
	if got := shapeLine(&Shaper{Names: true}, run); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// No word of the run's content is in its shape.
func TestShapeHoldsNoContent(t *testing.T) {
	const planted = "Q7planted"
	run := &Trajectory{Name: planted, File: planted, System: planted, Leading: []string{planted}, Model: planted, Task: planted,
		Runs: []*Run{{User: planted, Turns: []*Turn{{Text: planted, Calls: []*Call{
			{ID: planted, Name: planted, Args: `{"` + planted + `":"` + planted + `"}`, Result: &Result{Text: planted}},
			{Name: planted, Args: planted, Result: &Result{Text: "Error: " + planted, Code: loop.Code(planted)}}}}, {Text: planted}}}}}
	if got := shapeLine(&Shaper{}, run); strings.Contains(got, "planted") || strings.Contains(got, "Q7") {
		t.Errorf("the shape holds content: %s", got)
	}
}

func TestReadShapes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "traffic.shapes")
	file := "# mine\n@corpus one\n1 success task=2 u a1=1 .\n\n@corpus two licence=MIT\n1 failure u a1=1 a1=x .\n2 failure u u a1=1!e a1? u .\n"
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	runs, problems := Read(path, "")
	if len(problems) != 1 || problems[0].Line != 6 || !strings.Contains(problems[0].Text, "column 21: the number of its result must be a whole number") {
		t.Errorf("problems %v", problems)
	}
	if len(runs) != 2 {
		t.Fatalf("%d runs", len(runs))
	}
	first, second := runs[0], runs[1]
	if first.Name != "one:1" || first.Line != 3 || first.Label != Success || first.TaskKey() != "one/2" || first.Corpus.Name != "one" || !first.Shape {
		t.Errorf("the first run is %+v", first)
	}
	if second.Name != "two:2" || second.TaskKey() != "" || len(second.Runs) != 2 || len(second.Runs[0].Turns) != 2 || len(second.Runs[1].Turns) != 1 {
		t.Errorf("the second run is %+v", second)
	}
	if r := second.Runs[0].Turns[0].Calls[0].Result; r.Text != "Error: r1" || r.Code.Failed() {
		t.Errorf("its result is %+v", r)
	}
	if second.Runs[0].Turns[1].Calls[0].Result != nil {
		t.Error("the last call has a result")
	}
}

// A shape of a shape is the shape, apart from the numbers of the tasks.
func TestShapeOfAShape(t *testing.T) {
	const line = "1 failure branch=2 u@0 a1=1@1#8/3 b1=2+b2~=3@2 _@3 b2~=3!@4 c1=0@5 u@6 _1?@7 c1=4!e@8 .@9"
	runs, err := shapes.Parse([]byte(line))
	if err != nil {
		t.Fatal(err)
	}
	if got := shapeLine(&Shaper{}, FromShapes(runs)[0]); got != line {
		t.Errorf("got  %s\nwant %s", got, line)
	}
}

// identityPresets are presets every rule of which goes by names, canonical arguments and
// whole results, or counts.
var identityPresets = []string{"recommended", "hpd-agent", "none", "microbot", "smolagents", "openai-agents"}

// The replay of a shape equals the replay of its run, for every recorded run and every
// preset, without the rules that a shape cannot answer.
func TestShapesReplayAsTheirRuns(t *testing.T) {
	sources, err := os.ReadDir(realRuns)
	if err != nil {
		t.Skipf("the recorded runs are not here: %v", err)
	}
	var variants []scenarios.Variant
	for _, name := range scenarios.Presets() {
		v, err := scenarios.LoadVariant(name)
		if err != nil {
			t.Fatal(err)
		}
		variants = append(variants, v)
	}
	total := 0
	for _, source := range sources {
		if !source.IsDir() {
			continue
		}
		t.Run(source.Name(), func(t *testing.T) {
			folder := filepath.Join(realRuns, source.Name())
			files, _ := Find([]string{folder})
			labels := NewLabels([]string{folder})
			n := 0
			for _, file := range files {
				runs, _ := Read(file, "")
				labels.Label(runs)
				for _, run := range runs {
					if n++; testing.Short() && n%10 != 1 {
						continue
					}
					sameReplay(t, run, variants)
					total++
				}
			}
		})
	}
	if total == 0 {
		t.Error("no run was compared")
	}
}

func sameReplay(t *testing.T, run *Trajectory, variants []scenarios.Variant) {
	t.Helper()
	parsed, err := shapes.Parse((&Shaper{}).Shape(run).Append(nil))
	if err != nil {
		t.Errorf("%s: %v", run.ID(), err)
		return
	}
	shape := FromShapes(parsed)[0]
	played := map[string]bool{} // presets often differ in what no replay goes by alone
	for _, v := range variants {
		cfg, blind := shape.judged(v.Config)
		if len(blind) > 0 && slices.Contains(identityPresets, v.Name) {
			t.Errorf("%s: not judged: %v", v.Name, blind)
		}
		rules := fmt.Sprintf("%+v", cfg)
		if played[rules] {
			continue
		}
		played[rules] = true
		of, _, err := Play(context.Background(), run, scenarios.Variant{Name: v.Name, Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		again, _, err := Play(context.Background(), shape, v)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*scenarios.Result{of, again} {
			failed := 0
			for code, n := range r.Codes {
				if code != "None" && loop.Code(code).Failed() {
					failed += n
				}
			}
			r.Codes = map[string]int{"failed": failed}
			r.Suite, r.Scenario, r.File, r.Line, r.NotJudged = "", "", "", 0, nil
		}
		if !reflect.DeepEqual(of, again) {
			diff := cmp.Diff(of, again, cmpopts.IgnoreUnexported(scenarios.Result{}))
			t.Errorf("%s under %s, as\n%s%s", run.ID(), v.Name, (&Shaper{}).Shape(run).Append(nil), diff)
			return
		}
	}
}

// A call with broken arguments is dropped from a shape as from its run, unless nothing
// else is left of the reply: whether it has a text, too, the shape does not hold.
func TestDroppedCallsOfShapes(t *testing.T) {
	cfg := loop.Off()
	cfg.Contracts.BrokenArgs = loop.BrokenDropped
	cfg.Limits.Calls = 3
	run := func(args ...string) *Trajectory {
		turn := &Turn{Text: "with a text"}
		for _, a := range args {
			turn.Calls = append(turn.Calls, &Call{Name: "f", Args: a, Result: &Result{Text: "x"}})
		}
		return &Trajectory{Name: "r", File: "x.json", Runs: []*Run{{User: "go", Turns: []*Turn{turn, turn, turn, {Text: "done"}}}}}
	}
	for _, tt := range []struct {
		args   []string
		judged bool
	}{
		{[]string{`{"n":1}`}, true},
		{[]string{`{"n":1}`, `{"n":`, ""}, true},
		{[]string{`[1]`, `{"n":2}`}, true},
		{[]string{`{"n":`}, false},
		{[]string{`{"n":`, `7`}, false},
	} {
		r := run(tt.args...)
		shape := fromShape((&Shaper{}).Shape(r))
		if got := len(shape.NotJudged(cfg)) == 0; got != tt.judged {
			t.Errorf("%q: judged %t, want %t", tt.args, got, tt.judged)
		}
		sameReplay(t, r, []scenarios.Variant{{Name: "drop", Config: cfg}})
	}
}

func TestWhatAShapeCannotAnswerIsNotJudged(t *testing.T) {
	shape := fromShape(&shapes.Run{Outcome: shapes.Failure, Steps: []shapes.Step{{User: true}, {Calls: []shapes.Call{{Tool: "a", Args: 1, Result: 1}}}}})
	stop := []detect.Rung{{At: 2, Act: detect.Stop}}
	for _, tt := range []struct {
		name    string
		change  func(*loop.Config)
		rule    string
		without string
	}{
		{"raw arguments", detector(detect.Detector{Key: []detect.Part{detect.Tool, detect.RawArgs}}), "d", "arguments as they were written"},
		{"texts", detector(detect.Detector{Key: []detect.Part{detect.Text}, Record: detect.PerReply}), "d", "texts"},
		{"arguments of any tool", detector(detect.Detector{Key: []detect.Part{detect.Args}}), "d", "arguments across tools"},
		{"ignored arguments", detector(detect.Detector{IgnoreArgs: []string{"x"}}), "d", "arguments"},
		{"rounded arguments", detector(detect.Detector{Round: map[string]int64{"x": 10}}), "d", "arguments"},
		{"parts of results", detector(detect.Detector{Key: []detect.Part{detect.Tool, detect.Result}, IgnoreResult: []string{"[0-9]"}}), "d", "parts of results"},
		{"the beginning of errors", detector(detect.Detector{Key: []detect.Part{detect.Tool, detect.Error}, ErrorChars: 9}), "d", "parts of results"},
		{"names of tools", detector(detect.Detector{Tools: detect.ToolFilter{Only: []string{"bash"}}}), "d", "the names of tools"},
		{"tokens", func(c *loop.Config) { c.Limits.Tokens = 5 }, "limits.tokens", "the tokens of every reply"},
		{"cost", func(c *loop.Config) { c.Limits.CostUSD = 5 }, "limits.cost_usd", "cost"},
		{"another prefix of errors", func(c *loop.Config) { c.Errors.TextPrefix, c.Errors.MaxConsecutive = "ERR", 3 }, "errors.max_consecutive", "the text of results, for errors.text_prefix"},
		{"kinds of errors", func(c *loop.Config) { c.Policy.OnFailure = loop.FailureTable }, "policy.on_failure", "the kinds of errors"},
		{"compaction", func(c *loop.Config) { c.History.CompactTokens = 100 }, "history.compact_at", "texts"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := loop.Off()
			tt.change(&cfg)
			for i := range cfg.Detectors {
				cfg.Detectors[i].Name, cfg.Detectors[i].Do = "d", stop
			}
			want := []BlindSpot{{tt.rule, tt.without}}
			if diff := cmp.Diff(want, shape.NotJudged(cfg)); diff != "" {
				t.Error(diff)
			}
			whole := *shape
			if whole.Shape = false; whole.NotJudged(cfg) != nil {
				t.Error("a run with its content is judged by everything")
			}
		})
	}
	named, counted := *shape, fromShape(&shapes.Run{Steps: []shapes.Step{{TokensIn: 1}}})
	named.NamedTools = true
	cfg := loop.Off()
	cfg.Detectors = []detect.Detector{{Name: "d", Tools: detect.ToolFilter{Only: []string{"bash"}}, Do: stop}}
	if named.NotJudged(cfg) != nil {
		t.Error("a shape with names knows them")
	}
	cfg = loop.Off()
	cfg.Limits.Tokens = 5
	if counted.NotJudged(cfg) != nil {
		t.Error("a shape with tokens knows them")
	}
}

func detector(d detect.Detector) func(*loop.Config) {
	return func(c *loop.Config) { c.Detectors = []detect.Detector{d} }
}

// With times, time.run and within are judged: the third equal call comes 60 s after the
// second, and the run's deadline lies between them.
func TestShapesWithTimes(t *testing.T) {
	play := func(line string, change func(*loop.Config)) *scenarios.Result {
		runs, err := shapes.Parse([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		cfg := loop.Off()
		change(&cfg)
		r, _, err := Play(context.Background(), FromShapes(runs)[0], scenarios.Variant{Name: "v", Config: cfg})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	const timed, untimed = "1 failure u@0 a1=1@1 a1=1@2 a1=1@62 .@63", "1 failure u a1=1 a1=1 a1=1 ."
	deadline := func(c *loop.Config) { c.Time.Run = 30 * time.Second }
	within := func(n time.Duration) func(*loop.Config) {
		return detector(detect.Detector{Name: "streak", Within: n, Do: []detect.Rung{{At: 3, Act: detect.Stop}}})
	}
	for _, tt := range []struct {
		name, line string
		change     func(*loop.Config)
		stop       loop.Stop
		saved      int
	}{
		{"the deadline saves the call after it", timed, deadline, loop.StopRunDeadline, 1},
		{"without times there is no deadline", untimed, deadline, loop.StopDone, 0},
		{"a repetition that comes too late does not count", timed, within(30 * time.Second), loop.StopDone, 0},
		{"one in time does", timed, within(60 * time.Second), "streak", 1},
		{"without times every repetition counts", untimed, within(time.Second), "streak", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r := play(tt.line, tt.change); r.Stop != tt.stop || r.Saved != tt.saved {
				t.Errorf("stopped by %s, %d saved; want %s, %d", r.Stop, r.Saved, tt.stop, tt.saved)
			}
		})
	}
}

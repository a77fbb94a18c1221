package scenarios

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/google/go-cmp/cmp"
)

// breaker is the detector of the first seed, stopping at a count.
func breaker(at int) []detect.Detector {
	return []detect.Detector{{Name: "circuit-breaker", Do: []detect.Rung{{At: at, Act: detect.Stop}}}}
}

// The presets hold the seed's values: identical calls, failing turns, retries
// and their base, time a try, time a run.
func TestPresets(t *testing.T) {
	seed := func(identical, failing, retries int, base, tool, run time.Duration) loop.Config {
		c := loop.Off()
		c.Detectors = breaker(identical)
		c.Errors.MaxConsecutive, c.Retry.Max, c.Retry.Base = failing, retries, base
		c.Time.Tool, c.Time.Run = tool, run
		return c
	}
	tests := []struct {
		name string
		want loop.Config
	}{
		{"none", loop.Off()},
		{"hpd-agent", loop.Default()},
		{"hpd-agent", seed(5, 3, 3, time.Second, 30*time.Second, 5*time.Minute)},
		{"hpd-development", seed(3, 2, 2, time.Second, 10*time.Second, 2*time.Minute)},
		{"hpd-production", seed(5, 3, 3, 2*time.Second, 60*time.Second, 10*time.Minute)},
		{"hpd-long-running", seed(10, 5, 5, 3*time.Second, 5*time.Minute, 30*time.Minute)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := LoadVariant(tt.name)
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != tt.name {
				t.Errorf("it is called %q", got.Name)
			}
			if d := cmp.Diff(tt.want, got.Config); d != "" {
				t.Error(d)
			}
		})
	}
}

// A setting that can never act is a mistake where the file itself has it.
func TestSettingsThatNeverAct(t *testing.T) {
	const ladder = "detectors: [{name: d, vetoed: other, do: [{at: 3, act: veto}, {at: 6, act: stop}]}]\n"
	const unreached = "1:68: at 6 can never be reached: from 3 on the calls are vetoed, and a vetoed call does not count (vetoed: other): use vetoed: same"
	const hint = "change it, or keep it with faithful: true at the top of the file"
	dir := t.TempDir()
	write(t, dir, "faithful.yaml", ladder+"faithful: true\n")
	for _, c := range []struct{ text, want string }{
		{ladder, unreached},
		{ladder + "faithful: true\n", ""},
		{strings.Replace(ladder, "vetoed: other, ", "", 1), ""},
		{"extends: ./faithful.yaml\n", ""},                                               // it is not its own
		{"extends: ./faithful.yaml\nlimits: {turns: 5}\n" + ladder, "3" + unreached[1:]}, // it is again
		{"policy: {ask_missing: true}\n", "1:23: ask_missing never acts without contracts.input, which finds what is missing, or on_failure: table"},
		{"policy: {ask_missing: true}\ncontracts: {input: true}\n", ""},
		{"extends: recommended\nlimits: {turns: 0, calls: 0}\n", ""}, // at_limit is that of recommended
		{"limits: {at_limit: ask, turns: -1}\n", "1:32: turns must be 0 (off) or more, not -1"},
	} {
		_, err := LoadVariant(write(t, dir, "v.yaml", c.text))
		got := ""
		var ms Mistakes
		if errors.As(err, &ms) {
			got = fmt.Sprintf("%d:%d: %s", ms[0].Line, ms[0].Column, ms[0].Problem)
			if strings.Contains(c.want, "never") && ms[0].Hint != hint {
				t.Errorf("%s: the hint is %q", c.text, ms[0].Hint)
			}
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.text, got, c.want)
		}
	}

	// What is left out of results, and what is rounded.
	for _, c := range []struct{ keys, want string }{
		{"reset: [result-changed], ignore_result: [$.at, '(']", "1:70: ignore_result[1] \"(\" is not a regular expression: missing closing ): `(`"},
		{"reset: [result-changed], ignore_result: ['$.a..']", "1:64: ignore_result[0] \"$.a..\" is not a JSON path: a name is missing at character 6; a path is such as $.items[*].age or $..age"},
		{"ignore_result: [$.at]", "1:39: ignore_result[0] changes nothing without result or error in the key, or reset: [result-changed]"},
		{"round: {offset: 0}", "1:39: offset must be a whole number from 1, not 0"},
		{"round: {offset: 0.5}", "1:39: round.offset must be a whole number, not 0.5"},
		{"round: [offset]", "1:30: round must be a mapping, not a list"},
		{"key: [tool], round: {offset: 5}", "1:52: offset changes nothing without args in the key"},
	} {
		_, err := LoadVariant(write(t, dir, "v.yaml", "detectors: [{name: d, "+c.keys+", do: [{at: 3, act: stop}]}]\n"))
		got := ""
		var ms Mistakes
		if errors.As(err, &ms) {
			got = fmt.Sprintf("%d:%d: %s", ms[0].Line, ms[0].Column, ms[0].Problem)
		}
		if got != c.want {
			t.Errorf("%s: got %q, want %q", c.keys, got, c.want)
		}
	}

	// In a scenario it stands under config. What is written for one can be read.
	const policy = "policy: {ask_missing: true}"
	if _, err := load(t, valid+"config: {"+policy+"}\n"); err == nil || !strings.Contains(err.Error(), "keep it with faithful: true under config") {
		t.Errorf("got %v", err)
	}
	all, err := load(t, valid+"config: {faithful: true, "+policy+"}\n")
	if err != nil {
		t.Fatal(err)
	}
	if text := string(all[0].YAML("")); !strings.Contains(text, "config: {faithful: true, ") || strings.Contains(text, "within") {
		t.Errorf("written is\n%s", text)
	}
}

// presetText is the file of a preset.
func presetText(name string) string {
	text, _ := embedded.ReadFile(presetFile(name)) // cannot fail for one of Presets
	return string(text)
}

// Every preset loads, and says in its first line what it is.
func TestPresetFiles(t *testing.T) {
	for _, name := range Presets() {
		if _, err := LoadVariant(name); err != nil {
			t.Error(err)
		}
		if !strings.HasPrefix(presetText(name), "# ") {
			t.Errorf("the file of %s does not begin with a comment", name)
		}
	}
}

func TestVariantFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "base.yaml", "extends: hpd-production\nlimits: {turns: 7}\n")
	file := write(t, dir, "ci/strict.yaml", "extends: ../base.yaml\ntime: {tool: 5s}\ndetectors: []\n")
	got, err := LoadVariant(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := LoadVariant("hpd-production")
	if err != nil {
		t.Fatal(err)
	}
	want.Name, want.File = "strict", file
	want.Config.Limits.Turns, want.Config.Time.Tool, want.Config.Detectors = 7, 5*time.Second, []detect.Detector{}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// The same with whole paths.
	file = write(t, dir, "ci/strict.yaml", "extends: "+filepath.Join(dir, "base.yaml")+"\ntime: {tool: 5s}\ndetectors: []\n")
	all, err := Load(write(t, dir, "ci/s.yaml", valid+"variant: "+file+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	got = all[0].Variant
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestVariantMistakes(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a.yaml", "extends: b.yaml\n")
	write(t, dir, "b.yaml", "extends: a.yaml\n")
	write(t, dir, "self.yaml", "extends: ./self.yaml\n")
	write(t, dir, "none.yaml", "limits: {turns: 3}\n")
	write(t, dir, "typo.yaml", "extends: hpd-agnet\nlimits: {turnz: 3}\nretry: {codes: [Timeot]}\n")
	write(t, dir, "list.yaml", "- a\n")
	tests := []struct{ file, want string }{
		{"a.yaml", "b.yaml:1:10: variants extend each other in a circle: DIR/a.yaml → DIR/b.yaml → DIR/a.yaml"},
		{"self.yaml", "self.yaml:1:10: variants extend each other in a circle: DIR/self.yaml → DIR/self.yaml"},
		{"none.yaml", `none.yaml: the name "none" is a preset's`},
		{"typo.yaml", `typo.yaml:1:10: there is no variant "hpd-agnet"|typo.yaml:2:10: unknown key "turnz" in limits`},
		{"list.yaml", "list.yaml:1:1: a variant must be a mapping, not a list"},
		{"gone.yaml", "gone.yaml: there is no such file or folder"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			_, err := LoadVariant(filepath.Join(dir, tt.file))
			var ms Mistakes
			if !errors.As(err, &ms) {
				t.Fatalf("got %v", err)
			}
			var got []string
			for _, m := range ms {
				short := *m
				short.Hint, short.Excerpt = "", ""
				got = append(got, strings.ReplaceAll(strings.Replace(short.Error(), dir+"/", "", 1), dir, "DIR"))
			}
			if strings.Join(got, "|") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, "|"), tt.want)
			}
		})
	}
}

// Mistakes in one place of two files are two.
func TestMistakesOfExtendedVariant(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "base.yaml", "# a\nlimit: {turns: 1}\n")
	_, err := LoadVariant(write(t, dir, "mine.yaml", "extends: base.yaml\nlimit: {turns: 1}\n"))
	var ms Mistakes
	if !errors.As(err, &ms) || len(ms) != 2 || ms[0].Line != 2 || ms[1].Line != 2 {
		t.Errorf("got %v", err)
	}
}

func TestUnknownVariant(t *testing.T) {
	_, err := LoadVariant("hpd-prod")
	var unknown *UnknownVariantError
	if !errors.As(err, &unknown) || unknown.Name != "hpd-prod" || !strings.Contains(err.Error(), "did you mean hpd-production?") {
		t.Errorf("got %v", err)
	}
}

// A scenario's variant may be a file seen from the scenario, and its own
// changes come on top.
func TestScenarioVariant(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "mine.yaml", "extends: none\nlimits: {turns: 7, calls: 9}\n")
	write(t, dir, "suite/s.yaml", valid+"variant: ../mine.yaml\nconfig: {limits: {turns: 8}}\n")
	all, err := Load(filepath.Join(dir, "suite"))
	if err != nil {
		t.Fatal(err)
	}
	s := all[0]
	base := loop.Off()
	base.Limits.Turns, base.Limits.Calls = 7, 9
	if d := cmp.Diff(Variant{Name: "mine", Config: base, File: filepath.ToSlash(filepath.Join(dir, "mine.yaml"))}, s.Variant); d != "" {
		t.Error(d)
	}
	base.Limits.Turns = 8
	if d := cmp.Diff(base, s.Config); d != "" {
		t.Error(d)
	}
}

// A file names variants of its project only: what is wrong with them is shown.
func TestVariantOutsideTheProject(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "secret.yaml", "secret\n")
	write(t, dir, "above/secret.yaml", "secret\n")
	write(t, dir, "above/mine.yaml", "extends: ../../secret.yaml\n")
	write(t, dir, "marked/agentbench.yaml", "")
	write(t, dir, "marked/variants/mine.yaml", "limits: {turns: 3}\n")
	for _, link := range [][2]string{{"../../secret.yaml", "above/suite/link.yaml"}, {"../variants/mine.yaml", "marked/suite/link.yaml"}} {
		path := filepath.Join(dir, link[1])
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.Symlink(filepath.FromSlash(link[0]), path)); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
	}
	const no = `is outside the project`
	for _, tt := range []struct{ folder, variant, want string }{
		{"above/suite", "/etc/passwd", `"/etc/passwd" ` + no},
		{"above/suite", "../../../../../../../../etc/passwd", no},
		{"above/suite", filepath.Join(dir, "secret.yaml"), no},
		{"above/suite", "../../secret.yaml", no},
		{"above/suite", "link.yaml", no},
		{"above/suite", "../.netrc", `the name of a variant's file ends in .yaml, not "../.netrc"`},
		{"above/suite", "../mine.yaml", `secret.yaml" ` + no}, // what it extends
		{"above/suite", "../secret.yaml", "a variant must be a mapping"},
		{"marked/suite/deep/er", "../../../variants/mine.yaml", ""},
		{"marked/suite", "link.yaml", ""},
		{"marked/suite", "../../secret.yaml", no},
		{"marked/suite", "../../gone/none.yaml", no},
		{"marked", "../secret.yaml", no},
	} {
		_, err := Load(write(t, dir, tt.folder+"/s.yaml", valid+"variant: "+tt.variant+"\n"))
		if tt.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%s in %s: got %v, want %q", tt.variant, tt.folder, err, tt.want)
		}
	}
}

// A broken variant that two scenarios name is reported once.
func TestScenariosOfBrokenVariant(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "mine.yaml", "limit: {turns: 7}\n")
	write(t, dir, "suite/a.yaml", valid+"variant: ../mine.yaml\n")
	write(t, dir, "suite/b.yaml", strings.Replace(valid, "name: one", "name: two", 1)+"variant: ../mine.yaml\n")
	_, err := Load(filepath.Join(dir, "suite"))
	var ms Mistakes
	if !errors.As(err, &ms) || len(ms) != 1 || ms[0].Problem != `unknown key "limit" in a variant` {
		t.Errorf("got %v", err)
	}
}

// The config in a header has the keys of a variant: read as one, it is the same
// config.
func TestVariantJSON(t *testing.T) {
	for _, name := range Presets() {
		v, err := LoadVariant(name)
		if err != nil {
			t.Fatal(err)
		}
		text := v.JSON()
		if !json.Valid(text) {
			t.Fatalf("no JSON: %s", text)
		}
		file := write(t, t.TempDir(), "copy.yaml", string(text))
		copied, err := LoadVariant(file)
		if err != nil {
			t.Fatal(err)
		}
		again := Variant{Name: name, Config: copied.Config}
		if string(again.JSON()) != string(text) {
			t.Errorf("%s became\n%s", text, again.JSON())
		}
	}
}

// The run deadline of a preset lies below the harness ceiling, so that a
// runaway of new calls, which no detector knows, ends by it: at 2.2 s a turn
// 1,000 requests take 2,200 s.
func TestDeadlinesBelowCeiling(t *testing.T) {
	s := scenario(t, Runaway, "tools: [{name: read, answers: [{result: 'page ${call}'}]}]\nmodel: [{calls: [{read: {page: '${turn}'}}], repeat: forever}]\n")
	for _, name := range Presets() {
		v, err := LoadVariant(name)
		if err != nil {
			t.Fatal(err)
		}
		if v.Config.Time.Run == 0 {
			continue
		}
		if r := judged(s, name); r.EndState == loop.Ceiling || r.Verdict != Pass {
			t.Errorf("%s: %s (%s), %s", name, r.EndState, r.Stop, r.Verdict)
		}
	}
}

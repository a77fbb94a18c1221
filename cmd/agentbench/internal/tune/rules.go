package tune

import (
	"fmt"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A Rule is one candidate: a setting with its number, or a preset.
type Rule struct {
	Name   string // turns 12
	Family string // rules of one family differ only in their number; "" = a preset
	Config loop.Config

	// above says that a rule with a larger number never stops a run that this one does
	// not stop.
	above    bool
	section  string // the part of a variant's YAML in which it stands, such as limits
	yaml     string // what it adds there
	detector *detect.Detector
	apply    func(*loop.Config)
}

// Variant returns the rule as a variant.
func (r *Rule) Variant() scenarios.Variant { return scenarios.Variant{Name: r.Name, Config: r.Config} }

// The grid. The numbers of recordings.md's search, and a little around them.
var (
	turnGrid    = []int{4, 6, 8, 10, 12, 15, 20, 25, 30, 40, 50, 75, 100}
	callGrid    = []int{5, 8, 10, 12, 15, 20, 30, 40, 50, 75, 100, 150}
	streakGrid  = []int{2, 3, 4, 5, 6, 7, 8, 10}
	totalGrid   = []int{3, 4, 5, 6, 8, 10, 15}
	cycleGrid   = []int{2, 3, 4, 5, 6}
	failingGrid = []int{2, 3, 4, 5, 6, 8, 10}
	tokenGrid   = []int{10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000}
	withinGrid  = []time.Duration{30 * time.Second, 2 * time.Minute}
	timeGrid    = []time.Duration{time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 30 * time.Minute}
)

// Candidates returns the single rules. timed and counted say that every run has times,
// and that every reply has its tokens: without them rules on time and tokens are not
// judged, and there are none.
func Candidates(timed, counted bool) []*Rule {
	var out []*Rule
	add := func(r *Rule) {
		r.Config = loop.Off()
		r.apply(&r.Config)
		out = append(out, r)
	}
	limit := func(family, section, key string, n int, set func(*loop.Config, int)) {
		add(&Rule{Name: fmt.Sprintf("%s %d", family, n), Family: family, above: true, section: section,
			yaml: fmt.Sprintf("%s: %d", key, n), apply: func(c *loop.Config) { set(c, n) }})
	}
	watch := func(family string, n int, above bool, d detect.Detector) {
		d.Do = []detect.Rung{{At: n, Act: detect.Stop}}
		add(&Rule{Name: fmt.Sprintf("%s %d", family, n), Family: family, above: above, detector: &d,
			apply: func(c *loop.Config) { c.Detectors = append(c.Detectors, d) }})
	}
	for _, n := range streakGrid {
		watch("same call in a row", n, true, detect.Detector{Name: "same-call"})
	}
	for _, n := range streakGrid {
		watch("same call and result in a row", n, true, detect.Detector{Name: "same-result", Reset: []detect.Reset{detect.OnResultChange}})
	}
	for _, n := range totalGrid {
		watch("same call in total", n, true, detect.Detector{Name: "total", Ends: detect.EndsNever})
	}
	for _, n := range totalGrid {
		watch("same call and result in total", n, true, detect.Detector{Name: "total-same-result", Ends: detect.EndsNever, Reset: []detect.Reset{detect.OnResultChange}})
	}
	for _, n := range cycleGrid {
		watch("laps of a cycle", n, false, detect.Detector{Name: "cycle", Match: detect.Cycle, Period: detect.Period{Min: 2, Max: 4}, Memory: 60})
	}
	for _, n := range failingGrid {
		limit("failing turns", "errors", "max_consecutive", n, func(c *loop.Config, n int) { c.Errors.MaxConsecutive = n })
	}
	for _, n := range turnGrid {
		limit("turns", "limits", "turns", n, func(c *loop.Config, n int) { c.Limits.Turns = n })
	}
	for _, n := range callGrid {
		limit("calls", "limits", "calls", n, func(c *loop.Config, n int) { c.Limits.Calls = n })
	}
	for _, n := range callGrid {
		limit("asked", "limits", "asked", n, func(c *loop.Config, n int) { c.Limits.Asked = n })
	}
	if counted {
		for _, n := range tokenGrid {
			limit("tokens", "limits", "tokens", n, func(c *loop.Config, n int) { c.Limits.Tokens = int64(n) })
		}
	}
	if timed {
		for _, within := range withinGrid {
			for _, n := range streakGrid {
				watch("same call in a row within "+within.String(), n, true, detect.Detector{Name: "same-call-soon", Within: within})
			}
		}
		for _, d := range timeGrid {
			add(&Rule{Name: "time " + d.String(), Family: "time", above: true, section: "time", yaml: "run: " + d.String(),
				apply: func(c *loop.Config) { c.Time.Run = d }})
		}
	}
	return out
}

// Presets returns the presets as rules, without the one that stops nothing.
func Presets() ([]*Rule, error) {
	var out []*Rule
	for _, name := range scenarios.Presets() {
		v, err := scenarios.LoadVariant(name)
		if err != nil {
			return nil, err
		}
		if name != "none" {
			out = append(out, &Rule{Name: name, Config: v.Config})
		}
	}
	return out, nil
}

// A Candidate is a rule, or a pair of rules.
type Candidate struct{ First, Second *Rule } // Second nil = one rule

// Name names the rules: turns 12 and same call in total 4.
func (c Candidate) Name() string {
	if c.Second == nil {
		return c.First.Name
	}
	return c.First.Name + " and " + c.Second.Name
}

// Variant returns the candidate as a variant with both rules.
func (c Candidate) Variant(name string) scenarios.Variant {
	v := scenarios.Variant{Name: name, Config: c.First.Config}
	if c.Second != nil {
		v.Config = loop.Off()
		c.First.apply(&v.Config)
		c.Second.apply(&v.Config)
	}
	return v
}

// YAML returns the candidate as the file of a variant.
func (c Candidate) YAML() string {
	if c.First.Family == "" {
		return "extends: " + c.First.Name + "\n"
	}
	sections := map[string][]string{}
	var detectors []string
	for _, r := range []*Rule{c.First, c.Second} {
		switch {
		case r == nil:
		case r.detector != nil:
			detectors = append(detectors, detectorYAML(r.detector))
		default:
			sections[r.section] = append(sections[r.section], r.yaml)
		}
	}
	out := "extends: none\n"
	for _, name := range []string{"limits", "time", "errors"} {
		if len(sections[name]) > 0 {
			out += name + ": {" + strings.Join(sections[name], ", ") + "}\n"
		}
	}
	if len(detectors) > 0 {
		out += "detectors:\n" + strings.Join(detectors, "")
	}
	return out
}

func detectorYAML(d *detect.Detector) string {
	out := "  - name: " + d.Name + "\n"
	for _, f := range []struct{ key, value string }{{"match", string(d.Match)}, {"ends", string(d.Ends)}} {
		if f.value != "" {
			out += "    " + f.key + ": " + f.value + "\n"
		}
	}
	if d.Match == detect.Cycle {
		out += fmt.Sprintf("    period: %d..%d\n    memory: %d\n", d.Period.Min, d.Period.Max, d.Memory)
	}
	if d.Within > 0 {
		out += "    within: " + d.Within.String() + "\n"
	}
	if len(d.Reset) > 0 {
		out += "    reset: [" + string(d.Reset[0]) + "]\n"
	}
	return out + fmt.Sprintf("    do: [{at: %d, act: stop}]\n", d.Do[0].At)
}

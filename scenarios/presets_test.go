package scenarios

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// seedPresets are the configurations of the documents that the loop was
// specified from.
var seedPresets = map[string]bool{"hpd-agent": true, "hpd-development": true, "hpd-production": true, "hpd-long-running": true, "hpd-error-tracking": true,
	"hpd-as-coded": true, "microbot": true, "microbot-plan": true, "microbot-rollback": true, "streaming-repl": true, "framework-spec": true}

var (
	dated = regexp.MustCompile(`\b20\d\d\b`)
	where = regexp.MustCompile(`[a-z_-]+\.(go|py|ts|js|cs|rs)\b|@ [0-9a-f]{8,40}`)
	// last is the comment's last paragraph: a package and its version that the preset
	// was compared with, or the address of what it was read from, and when.
	last = regexp.MustCompile(`# (checked: \S+@\d\S*|source: \S+@v\d\S*|source: https://\S+), 20\d\d(-\d\d){0,2}\b`)
)

// The comment of a preset says where its rule was published and what is left
// out, and that of a real system's also which file, and when.
func TestPresetComments(t *testing.T) {
	for _, name := range Presets() {
		comment, _, _ := strings.Cut(presetText(name), "\nextends:")
		comment = strings.ReplaceAll(comment, "\n# ", " ")
		if name == baseVariant || name == "recommended" {
			continue
		}
		if !strings.HasPrefix(comment, "# Source: ") {
			t.Errorf("%s: the file does not begin with its source: %.60q", name, comment)
		}
		if seedPresets[name] {
			continue
		}
		if paragraphs := strings.Split(comment, "\n#\n"); !last.MatchString(strings.Join(strings.Fields(strings.ReplaceAll(paragraphs[len(paragraphs)-1], "#   ", "")), " ")) {
			t.Errorf("%s: the comment does not end with what was checked or read, and when: %.200q", name, paragraphs[len(paragraphs)-1])
		}
		if !strings.Contains(strings.ToLower(comment), "left out") {
			t.Errorf("%s: the file does not say what is left out", name)
		}
		if name == "autogen-0.2" {
			continue // is a version, not a commit
		}
		if !where.MatchString(comment) || !dated.MatchString(comment) {
			t.Errorf("%s: the file does not say which file or commit, and when: %.200q", name, comment)
		}
	}
}

// Every count of every preset can be reached: within its memory, and below the
// harness's ceiling, which would hide it. The one that cannot is named.
func TestPresetsWithinReach(t *testing.T) {
	ceiling := fakes.DefaultCeiling()
	for _, name := range Presets() {
		cfg := presetOf(t, name)
		for _, d := range cfg.Detectors {
			for _, rung := range d.Do {
				records := rung.At
				if d.Match == detect.Cycle {
					records *= max(1, d.Period.Min)
				}
				if d.Memory > 0 && records > d.Memory {
					t.Errorf("%s, %s: %d records, of which the memory holds %d", name, d.Name, records, d.Memory)
				}
				if records+1 > ceiling.Requests {
					t.Errorf("%s, %s: %d records are above the ceiling", name, d.Name, records)
				}
			}
		}
		if cfg.Limits.Turns > ceiling.Requests {
			t.Errorf("%s: %d turns are above the ceiling", name, cfg.Limits.Turns)
		}
		// Two steps a turn.
		if cfg.Limits.Steps/2 > ceiling.Requests && name != "langgraph-python" {
			t.Errorf("%s: %d steps are above the ceiling", name, cfg.Limits.Steps)
		}
		// A model that answers after 2 s makes 1,000 requests in 2,000 s. A later deadline
		// is for slower ones, beside a turn limit that ends what nothing else stops. The
		// hour of the plan for a rollback is the plan's: its turn limit is as high as the
		// ceiling.
		turns := cfg.Limits.Turns > 0 && cfg.Limits.Turns < ceiling.Requests
		if run := cfg.Time.Run; run >= ceiling.Time || run >= time.Duration(ceiling.Requests)*fakes.DefaultModelLatency && !turns && name != "microbot-rollback" {
			t.Errorf("%s: a deadline of %v is above the ceiling", name, run)
		}
	}
}

// A preset that extends another holds what it says of it.
func TestHeuristicsExtendQwenCode(t *testing.T) {
	base, more := presetOf(t, "qwen-code-0.24"), presetOf(t, "qwen-code-0.24-heuristics")
	if more.Limits != base.Limits {
		t.Errorf("limits %+v, want %+v", more.Limits, base.Limits)
	}
	if got, want := more.Detectors[0].Name, base.Detectors[0].Name; got != want {
		t.Errorf("the first detector is %s, want %s", got, want)
	}
}

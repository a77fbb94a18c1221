//go:build figures

package scenarios

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

const recommendedFile = "variants/recommended.yaml"

// The suites' figures in the comment of recommended are between these lines.
const (
	suitesBegin = "# On the embedded suites:\n"
	suitesEnd   = "#\n# On recorded runs"
)

// alternatives are what recommended was chosen among, each one step from it.
func alternatives(t *testing.T) []Variant {
	all := []Variant{{Name: "recommended", Config: presetOf(t, "recommended")}}
	but := func(name string, change func(*loop.Config)) {
		cfg := presetOf(t, "recommended")
		cfg.Detectors = slices.Clone(cfg.Detectors)
		change(&cfg)
		all = append(all, Variant{Name: name, Config: cfg})
	}
	but("breaker: stop at 5 at once", func(c *loop.Config) { c.Detectors[0].Do = []detect.Rung{{At: 5, Act: detect.Stop}} })
	but("breaker: stop at 8", func(c *loop.Config) {
		c.Detectors[0].Do = []detect.Rung{{At: 3, Act: detect.Nudge}, {At: 5, Act: detect.Veto}, {At: 8, Act: detect.Stop}}
	})
	but("breaker: results ignored", func(c *loop.Config) { c.Detectors[0].Reset = nil })
	but("breaker: any other call ends it", func(c *loop.Config) { c.Detectors[0].Ends = detect.EndsNext })
	but("no ping-pong", func(c *loop.Config) { c.Detectors = c.Detectors[:1] })
	but("ping-pong: stop at 6", func(c *loop.Config) {
		c.Detectors[1].Do = []detect.Rung{{At: 3, Act: detect.Nudge}, {At: 6, Act: detect.Stop}}
	})
	but("error limit 3", func(c *loop.Config) { c.Errors.MaxConsecutive = 3 })
	but("turns 50", func(c *loop.Config) { c.Limits.Turns = 50 })
	but("run 10m", func(c *loop.Config) { c.Time.Run = 10 * time.Minute })
	but("no model_retry", func(c *loop.Config) { c.ModelRetry.Max = 0 })
	but("no retry", func(c *loop.Config) { c.Retry.Max = 0 })
	// Under another name, so that no scenario's own changes apply.
	all = append(all, Variant{Name: "hpd-agent", Config: presetOf(t, "hpd-agent")}, Variant{Name: "none", Config: presetOf(t, "none")})
	for i := range all {
		all[i].Name += " "
	}
	return all
}

// The figures in the comment of recommended are those of the suites as they
// are. UPDATE=1 make figures writes them anew: read what became of them.
func TestRecommendedFigures(t *testing.T) {
	want := suiteFigures(t)
	text, err := os.ReadFile(recommendedFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), suitesBegin)
	got, after, ok2 := strings.Cut(rest, suitesEnd)
	if !ok || !ok2 {
		t.Fatalf("%s: the figures are not between %q and %q", recommendedFile, suitesBegin, suitesEnd)
	}
	if got == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("%s is stale; UPDATE=1 make figures writes\n%s", recommendedFile, want)
	}
	if err := os.WriteFile(recommendedFile, []byte(before+suitesBegin+want+suitesEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// suiteFigures measures the alternatives on the embedded suites.
func suiteFigures(t *testing.T) string {
	t.Helper()
	all := notHeldBack(t)
	type figures struct{ runaways, caught, healthy, stopped, asked int }
	measured := map[string]*figures{}
	variants := alternatives(t)
	for _, v := range variants {
		measured[v.Name] = &figures{}
	}
	err := Run(context.Background(), Options{Scenarios: all, Variants: variants, Seed: 1}, func(r *Result) error {
		switch f := measured[r.Variant]; {
		case r.Verdict == Inconclusive:
		case r.Label == Runaway:
			f.runaways++
			f.asked += r.Asked
			if r.Verdict == Pass {
				f.caught++
			}
		default:
			f.healthy++
			if r.Verdict != Pass {
				f.stopped++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#\n#   %-33s %9s   %9s   %s\n#   %-33s %9s   %9s   %s\n", "", "runaways", "healthy", "calls asked", "", "caught", "stopped", "by runaways")
	for _, v := range variants {
		f := measured[v.Name]
		fmt.Fprintf(&b, "#   %-33s %9s   %9s   %11d\n", strings.TrimSpace(v.Name), fmt.Sprintf("%d of %d", f.caught, f.runaways), fmt.Sprintf("%d of %d", f.stopped, f.healthy), f.asked)
	}
	return b.String()
}

//go:build figures

package scenarios

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/loop"
)

// The matrix is what the presets do. UPDATE=1 make figures writes it anew.
func TestCoverageMatrix(t *testing.T) {
	text := page(t, "coverage.md")
	before, rest, ok := strings.Cut(text, matrixBegin)
	got, after, ok2 := strings.Cut(rest, matrixEnd)
	if !ok || !ok2 {
		t.Fatalf("the matrix is not between %q and %q", matrixBegin, matrixEnd)
	}
	want := matrix(t)
	if got == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("the matrix of docs/coverage.md is stale: run UPDATE=1 make figures, and read the diff\n%s", want)
	}
	if err := os.WriteFile(coverageFile, []byte(before+matrixBegin+want+matrixEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// matrix measures all presets on all suites.
func matrix(t *testing.T) string {
	t.Helper()
	all := notHeldBack(t)
	var variants []Variant
	for _, name := range Presets() {
		// Under another name, so that no scenario's own changes apply.
		variants = append(variants, Variant{Name: name + " ", Config: presetOf(t, name)})
	}
	type cell struct{ runaways, caught, healthy, stopped int }
	cells := map[string]*cell{}
	err := Run(t.Context(), Options{Scenarios: all, Variants: variants, Seed: 1}, func(r *Result) error {
		c := cells[r.Variant+r.Suite]
		if c == nil {
			c = &cell{}
			cells[r.Variant+r.Suite] = c
		}
		switch {
		case r.Verdict == Inconclusive || r.Stop == loop.StopCancelled:
		case r.Label == Runaway:
			c.runaways++
			if r.Verdict == Pass {
				c.caught++
			}
		default:
			c.healthy++
			if r.Verdict != Pass {
				c.stopped++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	suites := Suites(all)
	var b strings.Builder
	fmt.Fprintf(&b, "| preset | %s |\n|%s\n", strings.Join(suites, " | "), strings.Repeat(" --- |", len(suites)+1))
	for _, v := range variants {
		row := []string{strings.TrimSpace(v.Name)}
		for _, suite := range suites {
			c := cells[v.Name+suite]
			row = append(row, share(c.caught, c.runaways)+" · "+share(c.stopped, c.healthy))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// notHeldBack returns the embedded scenarios that settings may be chosen on.
func notHeldBack(t *testing.T) []*Scenario {
	t.Helper()
	all, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(all, func(s *Scenario) bool { return s.HeldBack })
}

func share(n, of int) string {
	if of == 0 {
		return "–"
	}
	return fmt.Sprintf("%d/%d", n, of)
}

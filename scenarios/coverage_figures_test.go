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
	type cell struct{ runaways, caught, healthy, harmed int }
	cells := map[string]*cell{}
	err := Run(t.Context(), Options{Scenarios: all, Variants: variants, Seed: 1}, func(r *Result) error {
		c := cells[r.Variant+r.Suite]
		if c == nil {
			c = &cell{}
			cells[r.Variant+r.Suite] = c
		}
		switch {
		case r.Stop == loop.StopCancelled || r.Verdict == Inconclusive && !r.Interfered():
		case r.Label == Runaway:
			c.runaways++
			if r.Verdict == Pass {
				c.caught++
			}
		default:
			c.healthy++
			if r.Verdict != Pass || r.Interfered() {
				c.harmed++
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
			row = append(row, share(c.caught, c.runaways)+" · "+share(c.harmed, c.healthy))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
	}
	return b.String()
}

// The figures of both halves of the pairs are what the presets do. UPDATE=1 make
// figures writes them anew.
func TestCoverageMatrixOfPairs(t *testing.T) {
	text := page(t, "held-back.md")
	before, rest, ok := strings.Cut(text, pairsBegin)
	got, after, ok2 := strings.Cut(rest, pairsEnd)
	if !ok || !ok2 {
		t.Fatalf("the figures of the pairs are not between %q and %q", pairsBegin, pairsEnd)
	}
	want := pairFigures(t)
	if got == want {
		return
	}
	if os.Getenv("UPDATE") == "" {
		t.Fatalf("the figures of the pairs in docs/held-back.md are stale: run UPDATE=1 make figures, and read the diff\n%s", want)
	}
	if err := os.WriteFile(heldBackFile, []byte(before+pairsBegin+want+pairsEnd+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pairFigures measures the presets on both halves of the pairs.
func pairFigures(t *testing.T) string {
	t.Helper()
	var both []*Scenario
	for _, p := range pairs(t) {
		both = append(both, p.open, p.heldBack)
	}
	var variants []Variant
	for _, name := range Presets() {
		// Under another name, so that no scenario's own changes apply.
		variants = append(variants, Variant{Name: name + " ", Config: presetOf(t, name)})
	}
	type figures struct{ runaways, caught, asked, healthy, stopped, interfered int }
	measured := map[string]*figures{}
	half := func(variant string, heldBack bool) *figures {
		key := fmt.Sprint(variant, heldBack)
		if measured[key] == nil {
			measured[key] = &figures{}
		}
		return measured[key]
	}
	heldBack := map[string]bool{}
	for _, s := range both {
		heldBack[s.ID()] = s.HeldBack
	}
	err := Run(t.Context(), Options{Scenarios: both, Variants: variants, Seed: 1}, func(r *Result) error {
		f := half(r.Variant, heldBack[r.Scenario])
		switch {
		case r.Verdict == Inconclusive:
			t.Errorf("%s under %s is inconclusive", r.Scenario, r.Variant)
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
			} else if r.Refused > r.RefusedOwn {
				f.interfered++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| preset | caught | calls asked by runaways | healthy stopped | interfered with | caught, held back | calls asked | healthy stopped | interfered with |\n|" + strings.Repeat(" --- |", 9) + "\n")
	for _, v := range variants {
		fmt.Fprintf(&b, "| %s |", strings.TrimSpace(v.Name))
		for _, f := range []*figures{half(v.Name, false), half(v.Name, true)} {
			fmt.Fprintf(&b, " %s | %d | %s | %d |", share(f.caught, f.runaways), f.asked, share(f.stopped, f.healthy), f.interfered)
		}
		b.WriteString("\n")
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

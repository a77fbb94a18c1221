package reports

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/scenarios"
)

// A Fold folds results into a [Report]. It takes the headers and the results of any
// number of files. Their order changes only the order of the variants, which is that of
// the first mention. A Fold keeps a few numbers of each trial, not the trial. The zero
// Fold is ready for use.
type Fold struct {
	// Reference names the variant that others are compared with; "" = the first.
	Reference string
	// Keep keeps the results for Report.Results.
	Keep bool
	// Only names the variants whose results count; nil = all. Other variants are
	// skipped.
	Only []string
	// Repeat returns the command that repeats a trial; nil = unknown.
	Repeat func(*scenarios.Result) string
	// Place returns the path of the file of a result for programs that show findings in
	// a repository: relative to it, with slashes. "" = the file is not there, as that of
	// an embedded scenario. nil = every relative path is there.
	Place func(file string) string

	files        files
	order        []string                   // variants
	configs      map[string]json.RawMessage // variant → its config in a header
	hashes       map[string]string          // variant → the hash of its config
	variantFiles map[string]string          // variant → its file
	all          map[string]*scenario
	units        map[unitKey]*unit
	tools        map[string]*toolTotals // by variant
	verdicts     map[scenarios.Verdict]int
	broken       map[string]int // rule of a finding → number of trials that have it
	goldens      map[string]int // number of trials by the state of their golden
	findings     []TrialFindings
	fuzz         []Fuzz
	served       []Served // by scenario
	invariants   []string // that runs of fuzz broke, sorted
	results      []*scenarios.Result
	trials       int
	passed       int      // trials skipped because of Only
	over         []string // variants skipped because of Only
	unclear      int
}

type unitKey struct{ variant, scenario string }

// A scenario holds the facts of a scenario that all variants share.
type scenario struct {
	suite   string
	label   scenarios.Label
	verdict scenarios.Verdict // the worst of its trials
}

func (f *Fold) init() {
	if f.units == nil {
		f.configs = map[string]json.RawMessage{}
		f.all = map[string]*scenario{}
		f.units = map[unitKey]*unit{}
		f.tools = map[string]*toolTotals{}
		f.verdicts = map[scenarios.Verdict]int{}
		f.broken = map[string]int{}
		f.goldens = map[string]int{}
	}
}

// Header takes the header of a results file. It fails if the results cannot be counted
// together with those before.
func (f *Fold) Header(h *scenarios.Header) error {
	f.init()
	if err := f.files.add(h); err != nil {
		return err
	}
	for _, name := range h.Order {
		f.variant(name)
	}
	for _, name := range slices.Sorted(maps.Keys(h.Variants)) {
		if !f.variant(name) {
			continue
		}
		config := h.Variants[name]
		if before, seen := f.configs[name]; seen && !sameJSON(before, config) {
			return fmt.Errorf("the variant %s has another config in an earlier file: rename one of them", quote(name))
		}
		f.configs[name] = config
		if hash := h.Hashes[name]; hash != "" {
			if f.hashes == nil {
				f.hashes = map[string]string{}
			}
			f.hashes[name] = hash
		}
		f.variantFile(name, h.Files[name])
	}
	return nil
}

// variantFile notes the file of a variant. Of several files it keeps the first in
// sorted order, so that the order of the headers does not matter.
func (f *Fold) variantFile(name, file string) {
	before, seen := f.variantFiles[name]
	if file == "" || seen && before <= file {
		return
	}
	if f.variantFiles == nil {
		f.variantFiles = map[string]string{}
	}
	f.variantFiles[name] = file
}

// VariantFile returns the file of a variant as the headers so far name it; "" = a
// preset, or unknown.
func (f *Fold) VariantFile(name string) string { return f.variantFiles[name] }

// Faults returns the faults laid over the world of every trial so far.
func (f *Fold) Faults() []string { return slices.Clone(f.files.faults) }

// sameJSON reports whether two values have the same text, except for white space.
func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// Gap notes what the results lack to be whole: such as "the replay was interrupted".
func (f *Fold) Gap(words string) {
	f.files.gaps = append(f.files.gaps, "the results are incomplete: "+words)
}

// Variants returns the variants so far, in the order of reports. Those skipped because
// of Only come last.
func (f *Fold) Variants() []string { return append(slices.Clone(f.order), f.over...) }

// Kind returns the kind of the results so far: [KindRun], [KindReplay] or another word
// of their headers.
func (f *Fold) Kind() string { return cmp.Or(f.files.kind, KindRun) }

// Judged says how the results so far were judged.
func (f *Fold) Judged() scenarios.Judged { return f.files.judged }

// variant notes a variant, and reports whether its results count.
func (f *Fold) variant(name string) bool {
	list, counts := &f.order, f.Only == nil || slices.Contains(f.Only, name)
	if !counts {
		list = &f.over
	}
	if !slices.Contains(*list, name) {
		*list = append(*list, name)
	}
	return counts
}

// Add adds one result. It fails if the same trial came before, or if a value is not
// possible.
func (f *Fold) Add(r *scenarios.Result) error {
	f.init()
	if !f.variant(r.Variant) {
		f.passed++
		return nil
	}
	if err := checkEndState(r.EndState); err != nil {
		return err
	}
	if err := checkCounts(r); err != nil {
		return err
	}
	if err := f.scenario(r); err != nil {
		return err
	}
	key := unitKey{r.Variant, r.Scenario}
	if f.units[key] == nil {
		f.units[key] = newUnit()
	}
	if err := f.units[key].add(r, f.Repeat); err != nil {
		return err
	}
	f.trials++
	f.verdicts[r.Verdict]++
	f.goldens[r.Golden]++
	if unclear(r) {
		f.unclear++
	}
	if f.tools[r.Variant] == nil {
		f.tools[r.Variant] = newToolTotals()
	}
	f.tools[r.Variant].add(r)
	if f.Keep || r.Verdict == scenarios.Fail || r.Verdict == scenarios.Inconclusive {
		r = r.Redacted() // a report shows its texts
	}
	f.note(r)
	if f.Keep {
		f.results = append(f.results, r)
	}
	return nil
}

// AddFuzz adds a line of a file of fuzz results.
func (f *Fold) AddFuzz(line Fuzz) { f.fuzz = append(f.fuzz, line) }

// scenario adds a result to its scenario.
func (f *Fold) scenario(r *scenarios.Result) error {
	s := f.all[r.Scenario]
	if s == nil {
		s = &scenario{suite: suiteOf(r), label: r.Label}
		f.all[r.Scenario] = s
	}
	if s.label != r.Label {
		return fmt.Errorf("%s is labelled %q here and %q before", quote(r.Scenario), r.Label, s.label)
	}
	s.verdict = worse(s.verdict, r.Verdict)
	return nil
}

// note notes the findings of a result.
func (f *Fold) note(r *scenarios.Result) {
	seen := map[string]bool{}
	for _, finding := range r.Findings {
		if !seen[finding.Rule] {
			seen[finding.Rule] = true
			f.broken[finding.Rule]++
		}
	}
	if r.Verdict != scenarios.Fail && r.Verdict != scenarios.Inconclusive {
		return
	}
	t := TrialFindings{Scenario: r.Scenario, Variant: r.Variant, Seed: r.Seed, Verdict: r.Verdict, Ending: Ending(r),
		Findings: append([]scenarios.Finding{}, r.Findings...), File: r.File, Line: r.Line, place: f.placeOf(r.File)}
	if f.Repeat != nil {
		t.Command = f.Repeat(r)
	}
	f.findings = append(f.findings, t)
}

// quote quotes foreign text in a message.
func quote(s string) string { return fmt.Sprintf("%q", text.Cut(text.Line(s), 80)) }

// reference returns the variant that others are compared with.
func (f *Fold) reference() (string, error) {
	switch {
	case f.Reference != "" && !slices.Contains(f.order, f.Reference):
		return "", fmt.Errorf("the reference %s is not one of the variants: %s", quote(f.Reference), someOf(f.order))
	case f.Reference == "" && len(f.order) > 0:
		return f.order[0], nil
	}
	return f.Reference, nil
}

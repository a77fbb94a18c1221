package goldens

// Equal reports whether the golden in actual differs from that in expected by
// nothing but what expected allows: its mode and its allowances count, not
// those of actual. It has the form of an option of the goldie library:
//
//	g := goldie.New(t, goldie.WithFixtureDir("goldens"), goldie.WithNameSuffix(".golden"),
//		goldie.WithEqualFn(goldens.Equal), goldie.WithDiffFn(goldens.Diff))
//	g.Assert(t, "loops/same.hpd-agent", golden.Format())
//
// which then shares its files with `agentbench golden`.
func Equal(actual, expected []byte) bool { return compareTexts(actual, expected) == "" }

// Diff says what [Equal] found, "" if nothing.
func Diff(actual, expected string) string { return compareTexts([]byte(actual), []byte(expected)) }

func compareTexts(actual, expected []byte) string {
	want, err := Parse("", expected)
	if err != nil {
		return "the golden is broken: " + err.Error() + "\n"
	}
	got, err := Parse("", actual)
	if err != nil {
		return "what is compared is no golden: " + err.Error() + "\n"
	}
	if want.Scenario != got.Scenario || want.Variant != got.Variant || want.Seed != got.Seed {
		return "the golden is that of another trial\n"
	}
	if d := want.compare(got.Trace); d != nil {
		return d.String()
	}
	return ""
}

package scenarios

// Load reads scenarios: each path is a file, or a folder that is searched with
// all folders below it. Without a path it gives the embedded suites. They come
// in the order of their ids. The error is of type [Mistakes] and holds what is
// wrong with any file; then there are no scenarios.
func Load(paths ...string) ([]*Scenario, error) { return nil, nil }

// Suites lists the suites of some scenarios, sorted.
func Suites(all []*Scenario) []string { return nil }

// Select keeps the scenarios that are in one of the suites (none = all) and
// whose id holds pattern; a pattern with *, ? or [ must match the whole id, in
// the form of [path.Match]. The error names a suite that there is not, with the
// nearest names, or a malformed pattern. An empty selection is no error.
func Select(all []*Scenario, suites []string, pattern string) ([]*Scenario, error) { return nil, nil }

// Schema gives the JSON Schema of a scenario file, for editors.
func Schema() []byte { return nil }

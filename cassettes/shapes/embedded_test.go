package shapes

import (
	"io/fs"
	"regexp"
	"testing"
)

// The corpora hold facts only, have a source, a commit and a licence, and are small.
func TestEmbeddedCorpora(t *testing.T) {
	commit := regexp.MustCompile(`^[0-9a-f]{40}$`)
	licences := map[string]bool{"MIT": true, "Apache-2.0": true}
	size, runs := 0, map[string]int{}
	files, err := fs.Glob(corpora, "corpus/*.shapes")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := corpora.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		size += len(data)
		parsed, err := Parse(data)
		if err != nil {
			t.Errorf("%s:%v", file, err)
		}
		for _, r := range parsed {
			if r.Corpus == nil || r.Corpus.Source == "" || !commit.MatchString(r.Corpus.Commit) || !licences[r.Corpus.Licence] {
				t.Fatalf("%s:%d: the corpus is %+v", file, r.Line, r.Corpus)
			}
			if file != "corpus/"+r.Corpus.Name+".shapes" {
				t.Fatalf("%s holds the corpus %s", file, r.Corpus.Name)
			}
			if r.Named || !regexp.MustCompile(`^[0-9]+$`).MatchString(r.Name) {
				t.Fatalf("%s:%d: the run has names", file, r.Line)
			}
			runs[r.Corpus.Name]++
		}
		var again []byte
		for i, r := range parsed {
			if i == 0 {
				again = r.Corpus.Append(again)
			}
			again = r.Append(again)
		}
		if string(again) != string(data) {
			t.Errorf("%s is not as the writer writes it", file)
		}
	}
	if size > 1<<20 {
		t.Errorf("the corpora take %d bytes, more than 1 MiB", size)
	}
	// The counts of the sources: 200 runs of tau-bench, 29 of tau2, 26 of mini-swe-agent,
	// 411 of sentinel, 9 of SWE-agent.
	for name, want := range map[string]int{"tau-bench": 200, "tau2": 29, "mini-swe-agent": 26, "sentinel": 411, "swe-agent": 9} {
		if runs[name] != want {
			t.Errorf("%s has %d runs, want %d", name, runs[name], want)
		}
	}
}

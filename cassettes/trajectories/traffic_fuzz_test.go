package trajectories

import (
	"os"
	"path/filepath"
	"testing"
	"unicode/utf8"
)

// fuzzTraffic reads files like those in testdata/traffic: the trajectories in them
// are valid, bounded by the size of the file, and replay to their end.
func fuzzTraffic(f *testing.F, format string, seeds ...string) {
	for _, name := range seeds {
		data, err := os.ReadFile(filepath.Join("testdata", "traffic", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<16 {
			t.Skip("a large file takes too long to fuzz")
		}
		runs, found := readBytes(&reader{file: "x", format: named(format)}, data)
		if len(runs)+len(found) == 0 {
			t.Error("neither a trajectory nor a problem")
		}
		for _, p := range found {
			if !utf8.ValidString(p.Text) {
				t.Errorf("a problem that is not UTF-8: %q", p.Text)
			}
		}
		turns := 0
		for _, rc := range runs {
			for _, run := range rc.Runs {
				turns += len(run.Turns)
			}
			playOff(t, rc)
		}
		if turns > len(data) {
			t.Errorf("%d turns in %d bytes", turns, len(data))
		}
	})
}

func FuzzGoVCR(f *testing.F)       { fuzzTraffic(f, "go-vcr", "go-vcr-1.yaml", "go-vcr-2.yaml") }
func FuzzVCRpy(f *testing.F)       { fuzzTraffic(f, "vcrpy", "vcrpy.yaml", "vcrpy.json") }
func FuzzHTTPRR(f *testing.F)      { fuzzTraffic(f, "httprr", "gemini.httprr") }
func FuzzLLMResponse(f *testing.F) { fuzzTraffic(f, "llm-response", "stream.sse", "stream.chunks.txt") }

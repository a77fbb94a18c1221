package trajectories

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// FuzzFormats reads bytes as a format that they may not have: they give trajectories
// or printable problems, the same ones each time.
func FuzzFormats(f *testing.F) {
	var files []string
	for _, pattern := range []string{"testdata/*.json*", "testdata/*/*.json*", "testdata/*.traj"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, found...)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		r := &reader{}
		if readBytes(r, data); r.format == nil || len(data) > 1<<16 {
			continue
		}
		for i, known := range formats {
			if known == r.format {
				f.Add(data, uint8(i))               // as what it is
				f.Add(data, uint8(i+1))             // as another
				f.Add(data[:len(data)/2], uint8(i)) // cut off
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, which uint8) {
		read := func() (calls []int, problems []string) {
			runs, found := readBytes(&reader{format: formats[int(which)%len(formats)]}, data)
			names := map[string]bool{}
			for _, rec := range runs {
				if names[rec.Name] || rec.Name == "" {
					t.Errorf("the name %q is empty or not unique", rec.Name)
				}
				names[rec.Name] = true
				calls = append(calls, rec.Counts().Calls)
			}
			for _, p := range found {
				problems = append(problems, p.Error())
			}
			return calls, problems
		}
		calls, problems := read()
		if len(calls)+len(problems) == 0 {
			t.Error("neither a trajectory nor a problem")
		}
		for _, p := range problems {
			if strings.ContainsFunc(p, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Errorf("the problem %q cannot be printed", p)
			}
		}
		again, anew := read()
		if !slices.Equal(calls, again) || !slices.Equal(problems, anew) {
			t.Errorf("not the same again: %v %q and %v %q", calls, problems, again, anew)
		}
	})
}

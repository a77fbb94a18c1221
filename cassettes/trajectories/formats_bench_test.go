package trajectories

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// BenchmarkFormats reads the real files of each format, and, for a comparison, decodes
// their JSON once. The goal is at most 2.5 times the time of the bare decode.
func BenchmarkFormats(b *testing.B) {
	folders, _ := filepath.Glob("../../../shared/data/formats/*")
	more, _ := filepath.Glob(realRuns + "/*")
	if len(folders) == 0 {
		b.Skip("the real files of the formats are not here")
	}
	for _, folder := range append(folders, more...) {
		files, _ := Find([]string{folder})
		var raw [][]byte
		size := 0
		for _, name := range files {
			data, err := os.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			for _, rec := range split(data) {
				if rec.valid() {
					raw = append(raw, rec.raw)
				}
			}
			size += len(data)
		}
		if len(raw) == 0 {
			continue // not JSON
		}
		b.Run(filepath.Base(folder)+"/decode", func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, one := range raw {
					var value any
					if err := json.Unmarshal(one, &value); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
		b.Run(filepath.Base(folder)+"/read", func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				for _, name := range files {
					Read(name, "")
				}
			}
		})
	}
}

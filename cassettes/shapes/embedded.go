package shapes

import (
	"embed"
	"slices"
	"sync"
)

// corpora are the files of the embedded corpora. docs/shapes.md says how they are made
// and how to add one.
//
//go:embed corpus/*.shapes
var corpora embed.FS

// Embedded returns the runs of the corpora in the binary, by the name of their file.
// They are the shapes of public runs, each corpus with its source, commit and licence.
// Callers share the runs and must not change them.
func Embedded() []*Run { return slices.Clone(embedded()) }

var embedded = sync.OnceValue(func() (all []*Run) {
	files, err := corpora.ReadDir("corpus")
	if err != nil {
		panic(err) // the folder is in the binary
	}
	for _, f := range files {
		data, err := corpora.ReadFile("corpus/" + f.Name())
		if err == nil {
			var runs []*Run
			runs, err = Parse(data)
			all = append(all, runs...)
		}
		if err != nil {
			panic(f.Name() + ": " + err.Error()) // a test parses them
		}
	}
	return all
})

package reports

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/agentbench-go/agentbench/scenarios"
)

// Read adds all lines of a results file. Its errors begin with name:line.
func (f *Fold) Read(r io.Reader, name string) error {
	other := &otherLines{name: name}
	gaps, err := scenarios.ReadResults(io.TeeReader(r, other), name, f.Header, f.Add)
	if err == nil {
		err = other.end()
	}
	if err != nil {
		return err
	}
	for _, gap := range gaps {
		f.Gap(gap)
	}
	for _, name := range other.broken {
		f.invariants = addWord(f.invariants, name)
	}
	for _, line := range other.found {
		f.AddFuzz(line)
	}
	for _, line := range other.served {
		f.AddServed(line)
	}
	return nil
}

// otherLines is a writer that finds the lines of fuzz and serve in a file.
type otherLines struct {
	name   string
	n      int // lines so far
	line   []byte
	found  []Fuzz
	served []Served
	// broken names the invariants that runs broke.
	broken []string
	err    error
}

// kindInvariant is the type of lines that count the runs that broke an invariant.
const kindInvariant = "fuzz-invariant"

// maxOtherLine bounds a line of fuzz or serve, in bytes. Longer lines are of another
// type.
const maxOtherLine = 64 << 10

func (w *otherLines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if len(w.line) <= maxOtherLine {
			w.line = append(w.line, line...)
		}
		if ended {
			w.take()
		}
		rest = after
	}
	return len(p), nil
}

// take parses a complete line, if it is one of fuzz or serve.
func (w *otherLines) take() {
	w.n++
	line := w.line
	w.line = w.line[:0]
	if w.err != nil || len(line) > maxOtherLine {
		return
	}
	switch {
	case bytes.Contains(line, []byte(`"served"`)):
		w.takeServed(line)
		return
	case !bytes.Contains(line, []byte(`"fuzz`)):
		return
	}
	var f struct {
		Type      string `json:"type"`
		Invariant string `json:"invariant"`
		Broken    int    `json:"broken"`
		Fuzz
	}
	if json.Unmarshal(line, &f) != nil {
		return
	}
	if f.Type == kindInvariant && f.Broken != 0 {
		w.broken = append(w.broken, f.Invariant)
	}
	if f.Type != kindFuzz {
		return
	}
	if f.Runs < 0 || f.Survived < 0 || f.Survived > f.Runs || f.Done < 0 || f.Recoverable < 0 || f.Done > f.Recoverable || f.Recoverable > f.Runs {
		w.err = fmt.Errorf("%s:%d: of %d runs %d cannot have survived, and of %d recoverable ones %d cannot be done", w.name, w.n, f.Runs, f.Survived, f.Recoverable, f.Done)
		return
	}
	w.found = append(w.found, f.Fuzz)
}

// takeServed parses the line of a served scenario. The line of the totals names none.
func (w *otherLines) takeServed(line []byte) {
	var s struct {
		Type string `json:"type"`
		Served
	}
	if json.Unmarshal(line, &s) != nil || s.Type != kindServed || s.Scenario == "" {
		return
	}
	if wrong := s.check(); wrong != "" {
		w.err = fmt.Errorf("%s:%d: %s", w.name, w.n, wrong)
		return
	}
	w.served = append(w.served, s.Served)
}

// end takes the text after the last line break.
func (w *otherLines) end() error {
	if len(w.line) > 0 {
		w.take()
	}
	return w.err
}

package trajectories

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/infile"
	"github.com/agentbench-go/agentbench/internal/text"
)

// maxLabels bounds a file of labels, in bytes.
const maxLabels = 16 << 20

// readLabels reads the file of labels in a folder, nil if there is none. labels.json
// beats labels.csv.
func readLabels(folder string) *labelFile {
	var f *labelFile
	for _, form := range labelForms {
		path := filepath.Join(folder, form.name)
		if _, err := os.Lstat(path); err != nil {
			continue
		}
		if f != nil {
			f.problem(Noted, 0, "%s beside it is left out", form.name)
			continue
		}
		f = newLabelFile(path)
		if data, err := labelBytes(path); err != nil {
			f.problem(Broken, 0, "no labels: %v", err)
		} else {
			f.fill(form, data)
		}
	}
	return f
}

func newLabelFile(path string) *labelFile {
	return &labelFile{path: path, labels: map[string]Label{}, used: map[string]bool{}}
}

// A labelForm is a form of files of labels.
type labelForm struct {
	name string // of the file beside the runs
	read func(*labelFile, []byte) error
}

var labelForms = []labelForm{{"labels.json", (*labelFile).json}, {"labels.csv", (*labelFile).csv}}

// fill reads the labels.
func (f *labelFile) fill(form labelForm, data []byte) {
	if err := form.read(f, bytes.TrimPrefix(data, []byte("\ufeff"))); err != nil {
		f.problem(Broken, 0, "no labels: %v", err)
	}
}

func labelBytes(path string) ([]byte, error) {
	file, err := infile.Open(path)
	if err != nil {
		return nil, errors.New(text.Reason(err))
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxLabels+1))
	switch {
	case err != nil:
		return nil, errors.New(text.Reason(err))
	case len(data) > maxLabels:
		return nil, fmt.Errorf("the file is larger than %d MiB", maxLabels>>20)
	}
	return data, nil
}

// json reads an object from names to labels. It keeps what comes before an error.
func (f *labelFile) json(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.New(`want an object from names to labels, such as {"run-1": "success", "run-2": "failure"}`)
	}
	u := unknownLabels{file: f}
	defer u.tell()
	for d.More() {
		name, err := d.Token()
		var raw json.RawMessage
		if err == nil {
			err = d.Decode(&raw)
		}
		if err != nil {
			return fmt.Errorf("broken JSON after %s: %w", text.Count(len(f.names), "label"), err)
		}
		u.add(name.(string), raw)
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("broken JSON after %s: the object does not end", text.Count(len(f.names), "label"))
	}
	if d.More() {
		return errors.New("broken JSON: the file goes on after the object")
	}
	return nil
}

// The columns of a table of labels.
var (
	labelColumns = []string{"label", "success", "outcome", "passed", "resolved", "correct"}
	nameColumns  = []string{"episode_id", "name", "id", "run", "run_id", "trace_id", "session_id", "instance_id", "file", "task_id"}
)

// csv reads a table with a head.
func (f *labelFile) csv(data []byte) error {
	r := csv.NewReader(bytes.NewReader(data))
	r.FieldsPerRecord = -1
	head, err := r.Read()
	for i := range head {
		head[i] = strings.ToLower(strings.TrimSpace(head[i]))
	}
	column := func(names []string) int {
		for _, name := range names { // the first name counts, not the first column
			if i := slices.Index(head, name); i >= 0 {
				return i
			}
		}
		return -1
	}
	label, name := column(labelColumns), column(nameColumns)
	if err != nil || label < 0 || name < 0 {
		return fmt.Errorf("want a first line with the columns %s and %s", text.AnyOf(labelColumns), text.AnyOf(nameColumns))
	}
	u := unknownLabels{file: f}
	defer u.tell()
	for {
		row, err := r.Read()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("broken CSV after %s: %w", text.Count(len(f.names), "label"), err)
		case len(row) <= max(label, name):
			line, _ := r.FieldPos(0)
			f.problem(Broken, line, "the row has %s, and the head %d", text.Count(len(row), "column"), len(head))
			continue
		}
		raw, _ := json.Marshal(row[label]) // a text never fails
		u.add(row[name], raw)
	}
}

// unknownLabels adds labels to a file and counts those that are not known.
type unknownLabels struct {
	file *labelFile
	some
	value string
	twice some
}

func (u *unknownLabels) add(name string, raw json.RawMessage) {
	f := u.file
	label, known := labelOf(raw)
	switch {
	case !known:
		if u.some.add(name); u.n == 1 {
			u.value = strings.Trim(string(raw), `"`)
		}
	case label == Unlabelled:
		return
	}
	before, seen := f.labels[name]
	if seen && before != label {
		u.twice.add(name)
	}
	if !seen {
		f.names = append(f.names, name)
	}
	f.labels[name] = label
}

// tell reports the labels that are not known, and the names with two labels.
func (u *unknownLabels) tell() {
	if u.n > 0 {
		u.file.problem(Broken, 0, "%s not known, such as %s of %s: a label is %s", text.Count(u.n, "label")+plural(u.n, " is", " are"),
			text.Quote(u.value, 40), text.Quote(u.first, maxName), labelWords)
	}
	if u.twice.n > 0 {
		u.file.problem(Broken, 0, "%s two labels, of which the last counts, %s", text.Count(u.twice.n, "name")+plural(u.twice.n, " has", " have"), u.twice.such())
	}
}

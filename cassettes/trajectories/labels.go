package trajectories

import (
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

// Labels labels runs from the files of labels near them: labels.json, an object from
// names to labels, or labels.csv, with a column label and a column episode_id, name, id
// or run. Each file is read once. A run takes its label from the nearest folder that
// names it: its own, the one above, or one further up as far as the paths of
// [NewLabels].
//
// The name of a run is the one that the source gives it, or the one that it has in
// results. A run alone in its file may also be named by the file, with or without what
// follows the first dot. The label that a source itself gives beats the one of a file.
// A run with neither takes it from the nearest folder whose name is a label, such as
// failed, as far up as the paths.
type Labels struct {
	roots   []string
	given   *labelFile            // beats all others; nil = none
	folders map[string]*labelFile // by folder; nil = no file of labels
	files   []*labelFile
	named   map[Label]*some // runs that have their label from the name of a folder
}

// NewLabels returns the labels for the runs in paths, which are those of [Find].
func NewLabels(paths []string) *Labels {
	l := &Labels{folders: map[string]*labelFile{}, named: map[Label]*some{Success: {}, Failure: {}}}
	for _, p := range paths {
		info, err := os.Stat(p)
		if at := strings.IndexAny(p, "*?["); err != nil && at >= 0 {
			p = filepath.Dir(p[:at] + "x") // the folder in which the glob begins
		} else if err != nil || !info.IsDir() {
			continue
		}
		l.roots = append(l.roots, filepath.Clean(p))
	}
	return l
}

// Give reads a file of labels, of the name .json or .csv, that beats those near the runs.
// The error says that it cannot be read; what else is wrong with it is a problem.
func (l *Labels) Give(path string) error {
	for _, form := range labelForms {
		if filepath.Ext(path) != filepath.Ext(form.name) {
			continue
		}
		data, err := labelBytes(path)
		if err != nil {
			return err
		}
		l.given = newLabelFile(path)
		l.given.covered = true
		l.given.fill(form, data)
		l.files = append(l.files, l.given)
		return nil
	}
	return errors.New("labels are in a file .json or .csv")
}

// Label labels the runs of one file, as [Read] returned them.
func (l *Labels) Label(runs []*Trajectory) {
	if len(runs) == 0 {
		return
	}
	folders := l.above(filepath.Dir(filepath.FromSlash(runs[0].File)))
	for _, run := range runs {
		l.label(run, folders, len(runs) == 1)
	}
}

// label labels a run. folders are those in which its file of labels may be; alone says
// that no other run is in its file.
func (l *Labels) label(run *Trajectory, folders []string, alone bool) {
	names := run.names(alone)
	var nearest *labelFile
	var said Label
	name := names[0]
	for file := range l.filesOf(folders) {
		if nearest == nil {
			nearest = file
		}
		if i := slices.IndexFunc(names, file.has); i >= 0 {
			nearest, name = file, names[i]
			said = file.use(name)
			break
		}
	}
	if nearest != nil {
		nearest.apply(run, said, name)
	}
	if run.Label == Unlabelled {
		l.byFolder(run, folders)
	}
}

// filesOf yields the files of labels in which a run of the folders may be named.
func (l *Labels) filesOf(folders []string) iter.Seq[*labelFile] {
	return func(yield func(*labelFile) bool) {
		if l.given != nil && !yield(l.given) {
			return
		}
		for _, folder := range folders {
			if file := l.in(folder); file != nil && !yield(file) {
				return
			}
		}
	}
}

// byFolder labels a run by the name of a folder.
func (l *Labels) byFolder(run *Trajectory, folders []string) {
	for _, folder := range folders {
		if label := labelOfFolder(filepath.Base(folder)); label != Unlabelled && l.within(folder) {
			run.Label = label
			l.named[label].add(filepath.ToSlash(folder))
			return
		}
	}
}

// names returns the names by which a file of labels may call a run, the one to show
// first.
func (r *Trajectory) names(alone bool) []string {
	names := []string{r.Name, r.key}
	if alone {
		base := filepath.Base(filepath.FromSlash(r.File))
		stem, _, _ := strings.Cut(base, ".")
		names = append([]string{stem, base}, names...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

// above returns the folders in which a file of labels may be, the nearest first.
func (l *Labels) above(folder string) []string {
	out := []string{folder}
	for up := filepath.Dir(folder); up != folder && (len(out) < 2 || l.within(up)); folder, up = up, filepath.Dir(up) {
		out = append(out, up)
	}
	return out
}

// within reports whether a folder is one of the paths or below it.
func (l *Labels) within(folder string) bool {
	return slices.ContainsFunc(l.roots, func(root string) bool {
		rel, err := filepath.Rel(root, folder)
		return err == nil && filepath.IsLocal(rel)
	})
}

// in returns the file of labels in a folder, nil for none.
func (l *Labels) in(folder string) *labelFile {
	file, known := l.folders[folder]
	if !known {
		file = readLabels(folder)
		l.folders[folder] = file
		if file != nil {
			file.covered = l.within(folder)
			l.files = append(l.files, file)
		}
	}
	return file
}

// Problems returns what is wrong with the files of labels, once all runs have been
// labelled: files that cannot be read, words that are not labels, labels that match no
// run. A file of labels of which none was used is [Broken] if runs have no label. A file
// that also has the labels of runs outside the paths may have labels left.
func (l *Labels) Problems() []*Problem {
	var out []*Problem
	for _, f := range l.files {
		out = append(out, f.problems...)
		out = append(out, f.left()...)
	}
	for _, label := range []Label{Success, Failure} {
		if named := l.named[label]; named.n > 0 {
			out = append(out, &Problem{File: named.first, Kind: Noted, Text: fmt.Sprintf("its name is a label: %s of %s from names of folders", text.Count(named.n, "label"), label)})
		}
	}
	return out
}

// A labelFile is a file of labels.
type labelFile struct {
	path     string
	covered  bool // all runs of its folder are read
	labels   map[string]Label
	names    []string        // of the labels, in the order of the file
	used     map[string]bool // the names that a run has
	problems []*Problem

	without     some // runs that it does not name
	contradicts some // runs whose own label is another
}

// some counts names and keeps the first one.
type some struct {
	n     int
	first string
}

func (s *some) add(name string) {
	if s.n++; s.n == 1 {
		s.first = name
	}
}

// such writes the first name, quoted: such as "a".
func (s *some) such() string { return "such as " + text.Quote(s.first, maxName) }

func (f *labelFile) has(name string) bool { _, has := f.labels[name]; return has }

// use returns the label of a name, and notes that a run has the name.
func (f *labelFile) use(name string) Label {
	f.used[name] = true
	return f.labels[name]
}

// apply gives a run the label that the file says, "" = it names another run.
func (f *labelFile) apply(run *Trajectory, said Label, name string) {
	switch {
	case run.Label == Unlabelled:
		run.Label = said
		if said == Unlabelled {
			f.without.add(name)
		}
	case said != Unlabelled && said != run.Label:
		f.contradicts.add(name)
	}
}

func (f *labelFile) problem(kind ProblemKind, line int, format string, args ...any) {
	f.problems = append(f.problems, &Problem{File: filepath.ToSlash(f.path), Line: line, Text: fmt.Sprintf(format, args...), Kind: kind})
}

// left returns the problems that show once all runs have been labelled.
func (f *labelFile) left() []*Problem {
	g := labelFile{path: f.path}
	count := fmt.Sprintf("%s, %s used", text.Count(len(f.names), "label"), text.Number(len(f.used)))
	var unused some
	for _, name := range f.names {
		if !f.used[name] {
			unused.add(name)
		}
	}
	switch {
	case unused.n == 0:
	case len(f.used) == 0 && f.without.n > 0:
		g.problem(Broken, 0, "%s: they are for names %s, and the runs have names %s", count, unused.such(), f.without.such())
	case len(f.used) == 0 || f.covered:
		words := fmt.Sprintf("%s: %s no run, %s", count, text.Count(unused.n, "label")+plural(unused.n, " matches", " match"), unused.such())
		if f.without.n > 0 {
			words += fmt.Sprintf("; %s no label, %s", text.Count(f.without.n, "run")+plural(f.without.n, " has", " have"), f.without.such())
		}
		g.problem(Noted, 0, "%s", words)
	}
	if f.contradicts.n > 0 {
		g.problem(Noted, 0, "%s what the run itself says, which counts, %s", text.Count(f.contradicts.n, "label")+plural(f.contradicts.n, " contradicts", " contradict"), f.contradicts.such())
	}
	return g.problems
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

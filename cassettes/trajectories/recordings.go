package trajectories

import (
	"cmp"
	"iter"
	"path/filepath"
	"slices"
)

// Recordings are the recorded runs in paths, with their labels. They are read while one
// ranges over them, and none is kept.
type Recordings struct {
	reader   Reader
	labels   *Labels
	files    []string
	done     int
	notes    Notes
	lost     []*Problem // of the paths
	problems []*Problem // of the files
}

// NewRecordings finds the files in paths, as [Find] does. labels are those for the same
// paths; nil = the files of labels beside the runs.
func NewRecordings(reader Reader, paths []string, labels *Labels) *Recordings {
	r := &Recordings{reader: reader, labels: labels}
	if labels == nil {
		r.labels = NewLabels(paths)
	}
	r.files, r.lost = Find(paths)
	return r
}

// All yields the runs in the order of the files. It is for one range.
func (r *Recordings) All() iter.Seq[*Trajectory] {
	return func(yield func(*Trajectory) bool) {
		for _, file := range r.files {
			if !r.read(file, yield) {
				return
			}
			r.done++
		}
	}
}

// read yields the runs in a file. Whether the first is alone in it shows with the next.
func (r *Recordings) read(file string, yield func(*Trajectory) bool) bool {
	folders := r.labels.above(filepath.Dir(file))
	var before *Trajectory
	alone := true
	hand := func() bool {
		if before == nil {
			return true
		}
		r.labels.label(before, folders, alone)
		r.notes.note(before)
		return yield(before)
	}
	for run, problem := range r.reader.All(file) {
		if problem != nil {
			r.problems = append(r.problems, problem)
			continue
		}
		if before != nil {
			alone = false
		}
		if !hand() {
			return false
		}
		before = run
	}
	return hand()
}

// Files returns how many files there are, and of how many all runs have been yielded.
func (r *Recordings) Files() (done, of int) { return r.done, len(r.files) }

// Problems returns what is wrong or odd with the paths, the labels, the runs and the
// files, once all runs have been yielded. Those that are errors come first.
func (r *Recordings) Problems() []*Problem {
	all := slices.Concat(r.lost, r.labels.Problems(), r.notes.Problems(), r.problems)
	rank := func(p *Problem) int { return min(int(p.Kind), 1) }
	slices.SortStableFunc(all, func(a, b *Problem) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

package trajectories

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/text"
)

// Find expands paths into the files to read, each once and in the order of the
// paths. A file is read as it is. A folder means all files in it and below whose
// names have the ending of a format, also with .gz or .zst behind it, sorted by name. A
// glob means the files and folders that it matches. Folders and globs leave out names
// that begin with a dot, and labels.json and manifest.json, which describe trajectories.
//
// In a folder a link to a file is read, and a link to a folder is not followed, since
// links may go round. It and what is not a file, such as a pipe, are told ([Noted]).
func Find(paths []string) ([]string, []*Problem) {
	f := finder{known: map[string]bool{}}
	for _, p := range paths {
		f.add(p)
	}
	return f.files, f.problems
}

type finder struct {
	files    []string
	known    map[string]bool // the files
	problems []*Problem
}

func (f *finder) problem(path, text string, args ...any) {
	f.problems = append(f.problems, &Problem{File: filepath.ToSlash(path), Text: fmt.Sprintf(text, args...)})
}

func (f *finder) add(path string) {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		f.folder(path)
	case err == nil:
		f.file(path)
	case strings.ContainsAny(path, "*?["):
		f.glob(path)
	default:
		f.problem(path, "%s", text.Reason(err))
	}
}

func (f *finder) file(path string) {
	if path = filepath.Clean(path); !f.known[path] {
		f.known[path] = true
		f.files = append(f.files, path)
	}
}

func (f *finder) folder(root string) {
	found := false
	top := root
	if info, err := os.Lstat(root); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		top += string(filepath.Separator) // follows this link, which somebody named
	}
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		skip := path != top && hidden(path)
		switch {
		case err != nil:
			f.problem(path, "%s", text.Reason(err))
		case d.IsDir() && skip:
			return fs.SkipDir
		case d.Type().IsRegular() && !skip && isTrajectory(d.Name()):
			found = true
			f.file(path)
		case !d.IsDir() && !d.Type().IsRegular() && !skip:
			found = f.other(path, d) || found
		}
		return nil
	})
	if err != nil {
		f.problem(root, "%s", text.Reason(err))
	} else if !found {
		var names []string
		for _, end := range endings() {
			names = append(names, "*"+end)
		}
		f.problem(root, "no %s file in this folder", text.AnyOf(names))
	}
}

// other adds what a link in a folder leads to, if it is a file, and tells what else there
// is that is not a file. It reports whether there is something that may be recorded.
func (f *finder) other(path string, d fs.DirEntry) bool {
	info, err := os.Stat(path)
	switch named := isTrajectory(d.Name()); {
	case err == nil && info.IsDir():
		f.note(path, "a link to a folder, which is not followed: name it to read what is in it")
		return false
	case !named:
		return false
	case err != nil && d.Type()&fs.ModeSymlink != 0:
		f.problem(path, "%s", text.Reason(err))
	case err != nil || !info.Mode().IsRegular():
		f.note(path, "no file, but a pipe, a socket or a device: left out")
	default:
		f.file(path)
	}
	return true
}

func (f *finder) note(path, text string) {
	f.problems = append(f.problems, &Problem{File: filepath.ToSlash(path), Text: text, Kind: Noted})
}

func hidden(path string) bool { return strings.HasPrefix(filepath.Base(path), ".") }

// isCompanion reports whether a file describes the trajectories beside it.
func isCompanion(name string) bool { return name == "labels.json" || name == "manifest.json" }

func isTrajectory(name string) bool {
	if isCompanion(name) {
		return false
	}
	name = strings.ToLower(name)
	for _, packed := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, packed)
	}
	return slices.ContainsFunc(endings(), func(end string) bool { return strings.HasSuffix(name, end) })
}

// endings returns the endings of the names of trajectory files.
func endings() []string {
	all := []string{".json", ".jsonl"}
	for _, f := range formats {
		for _, e := range f.ends {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

func (f *finder) glob(pattern string) {
	matches, err := filepath.Glob(pattern)
	switch {
	case err != nil:
		f.problem(pattern, "bad pattern: a bracket is not closed")
	case len(matches) == 0:
		f.problem(pattern, "no file matches")
	}
	for _, m := range matches {
		if (!hidden(m) || hidden(pattern)) && !isCompanion(filepath.Base(m)) {
			f.add(m)
		}
	}
}

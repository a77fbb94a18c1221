package cli

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/spf13/cobra"
)

// starter is the project that init writes. Its folder github becomes .github.
//
//go:embed starter
var starter embed.FS

func newInit() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FOLDER]",
		Short: "Write a small project to start from",
		Long: `Write a small project to start from to FOLDER (default: the working directory), and ask
nothing: a runaway, a healthy run that comes near to the limits, an incident to put
your own in place of, a variant, the baseline that later results are compared with,
an agentbench.yaml, and a workflow for CI. Comments in them say what is what. The
project passes agentbench validate, run and gate as it is. If one of its files exists
already, init writes nothing.`,
		Example: "  agentbench init\n  agentbench init my-agent && cd my-agent && agentbench run",
		Args:    atMostOne,
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "."
			if len(args) == 1 {
				folder = args[0]
			}
			files, err := starterFiles()
			if err != nil {
				return err
			}
			if err := refuseExisting(folder, files); err != nil {
				return err
			}
			if err := writeStarter(folder, files); err != nil {
				return err
			}
			for _, f := range files {
				if _, err := fmt.Fprintln(cmd.OutOrStdout(), "wrote", filepath.Join(folder, f.path)); err != nil {
					return err
				}
			}
			next := "agentbench run"
			if filepath.Clean(folder) != "." {
				next = shellWords([]string{"cd", folder}) + " && " + next
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), "now:", next)
			return err
		},
	}
}

// atMostOne returns an error if there is more than one argument.
func atMostOne(cmd *cobra.Command, args []string) error {
	if len(args) < 2 {
		return nil
	}
	return misuse(cmd.CommandPath()+" --help shows an example", "%s takes one folder, but was given %d arguments", cmd.CommandPath(), len(args))
}

// A starterFile is a file that init writes.
type starterFile struct {
	path string
	text []byte
}

func starterFiles() (files []starterFile, err error) {
	info, _ := debug.ReadBuildInfo()
	action := []byte(actionOf(info))
	err = fs.WalkDir(starter, "starter", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := starter.ReadFile(path)
		text = bytes.ReplaceAll(text, []byte("{{ACTION}}"), action)
		inside := strings.TrimPrefix(path, "starter/")
		if rest, ok := strings.CutPrefix(inside, "github/"); ok {
			inside = ".github/" + rest
		}
		files = append(files, starterFile{filepath.FromSlash(inside), text})
		return err
	})
	return files, err
}

// actionOf returns the step of a workflow that runs a program like this one: the release
// if this is one, or else the commit that it was built from, which the action builds.
// Where the build recorded neither it is the main branch.
func actionOf(info *debug.BuildInfo) string {
	const release, action = "v" + Version, "      - uses: agentbench-go/agentbench@%s\n        with:"
	if info != nil && info.Main.Version == release {
		return "      # The release that wrote this file.\n" + fmt.Sprintf(action, release) + "\n          version: " + release
	}
	if commit := commitOf(info); commit != "" {
		return "      # The commit of agentbench that wrote this file. The action builds it: minutes the first time,\n" +
			"      # seconds from its cache. A release would be downloaded: write its tag here and below, as version.\n" +
			fmt.Sprintf(action, commit)
	}
	return "      # The main branch of agentbench: the program that wrote this file knows no commit of its own.\n" +
		"      # Put a commit or a release in its place. The action builds it: minutes the first time.\n" +
		fmt.Sprintf(action, "main")
}

// commitOf returns the whole commit that a program was built from, "" = unknown.
func commitOf(info *debug.BuildInfo) string {
	if info == nil {
		return ""
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return ""
}

// refuseExisting returns an error that names the files that exist already.
func refuseExisting(folder string, files []starterFile) error {
	for dir := folder; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			return misuse("name a folder; it need not be there", "nothing was written: %s is a file, not a folder", dir)
		}
		if err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	var there []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(folder, f.path)); !errors.Is(err, fs.ErrNotExist) {
			there = append(there, filepath.Join(folder, f.path))
		}
	}
	if len(there) == 0 {
		return nil
	}
	verb := "exist"
	if len(there) == 1 {
		verb = "exists"
	}
	return misuse("name another folder, or move the files away", "nothing was written: %s already %s", strings.Join(there, ", "), verb)
}

// writeStarter writes all files or none: if it fails, it removes the files and
// folders that it created.
func writeStarter(folder string, files []starterFile) (err error) {
	var made []string // folders, the outer ones first
	var begun []*outfile.File
	defer func() {
		if err == nil {
			return
		}
		for _, f := range begun {
			f.Discard()
		}
		for _, dir := range slices.Backward(made) {
			os.Remove(dir)
		}
	}()
	for _, f := range files {
		path := filepath.Join(folder, f.path)
		dirs, err := makeFolders(filepath.Dir(path))
		made = append(made, dirs...)
		if err != nil {
			return unwritable(path, err)
		}
		file, err := outfile.Create(path, 0o666)
		if err != nil {
			return unwritable(path, err)
		}
		begun = append(begun, file)
		if _, err := file.Write(f.text); err != nil {
			return fmt.Errorf("cannot write %s: %s", path, text.Reason(err))
		}
		if err := file.Flush(); err != nil {
			return err
		}
	}
	for i, f := range begun {
		if err := f.Commit(); err != nil {
			for _, done := range begun[:i] {
				os.Remove(done.Path())
			}
			return err
		}
	}
	return nil
}

// makeFolders creates a folder and those above it, and returns the ones that did
// not exist, the outer ones first.
func makeFolders(path string) (made []string, err error) {
	for dir := path; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, dir)
	}
	slices.Reverse(made)
	return made, os.MkdirAll(path, 0o777)
}

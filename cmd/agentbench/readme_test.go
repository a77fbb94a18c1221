package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/cli"
)

// TestReadme runs the commands of the console blocks in README.md and docs/*.md, and
// compares the output with the page. The blocks of a page run one after another in a
// copy of the folders of the repository that they name, without Go files and testdata:
//
//	```console
//	$ agentbench run --suite limits        # also: go run ./cmd/agentbench run …
//	the output, on both streams; … alone on a line matches any lines
//	$ echo $?
//	the exit code
//	```
//
// Commands of other programs are not run. UPDATE=1 writes the output to the pages,
// except the lines between two …: check those by hand.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("the pages compare all presets, which takes seconds of CPU")
	}
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NO_COLOR", "1")
	t.Setenv("GITHUB_STEP_SUMMARY", "") // a CI that runs this test gets no summary of the pages
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		blocks := consoleBlocks(string(text))
		if len(blocks) == 0 {
			continue
		}
		dir := t.TempDir()
		copyRepository(t, root, dir, blocks)
		for _, block := range blocks {
			t.Run(fmt.Sprintf("%s:%d", filepath.Base(page), block.line), func(t *testing.T) {
				t.Chdir(dir)
				problems := block.run()
				if os.Getenv("UPDATE") != "" && block.renewed != block.text {
					renew(t, page, block)
				}
				for _, problem := range problems {
					t.Error(problem)
				}
			})
		}
		comparePictures(t, dir, root)
	}
}

// comparePictures compares the pictures that the blocks of a page draw with those in docs.
func comparePictures(t *testing.T, dir, root string) {
	t.Helper()
	drawn, err := filepath.Glob(filepath.Join(dir, "docs", "*.svg"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range drawn {
		kept := filepath.Join(root, "docs", filepath.Base(file))
		now, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		old, err := os.ReadFile(kept)
		switch {
		case err == nil && bytes.Equal(old, now):
		case os.Getenv("UPDATE") == "":
			t.Errorf("%s is another picture: run UPDATE=1 go test -run TestReadme ./cmd/agentbench (%v)", kept, err)
		default:
			if err := os.WriteFile(kept, now, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// renew replaces a block of a page by what its commands print now.
func renew(t *testing.T, page string, block console) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	old, now := "```console\n"+block.text+"```", "```console\n"+block.renewed+"```"
	if err := os.WriteFile(page, []byte(strings.Replace(string(text), old, now, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// A console is a block of a page.
type console struct {
	line    int // of the page, where it begins
	text    string
	renewed string // the text with what run has seen
}

func consoleBlocks(page string) []console {
	var blocks []console
	var block *console
	n := 0
	for line := range strings.Lines(page) {
		n++
		switch text := strings.TrimRight(line, " \n"); {
		case block == nil && text == "```console":
			block = &console{line: n}
		case block != nil && text == "```":
			blocks = append(blocks, *block)
			block = nil
		case block != nil:
			block.text += line
		}
	}
	return blocks
}

// run runs the commands of a block and returns where their output differs from the
// page.
func (c *console) run() (problems []string) {
	code := 0
	c.renewed = c.text
	for _, command := range strings.Split("\n"+c.text, "\n$ ")[1:] {
		line, want, _ := strings.Cut(command, "\n")
		for strings.HasSuffix(line, "\\") {
			var more string
			more, want, _ = strings.Cut(want, "\n")
			line = strings.TrimSuffix(line, "\\") + strings.TrimLeft(more, "> ")
		}
		got := ""
		if line == "echo $?" {
			got = fmt.Sprintln(code)
		} else {
			args, ours, err := ourArguments(line)
			if err != nil {
				problems = append(problems, fmt.Sprintf("$ %s\n%v", line, err))
			}
			if !ours || err != nil {
				continue
			}
			var out bytes.Buffer
			code = cli.Main(args, strings.NewReader(""), &out, &out, built)
			got = out.String()
		}
		if shown(want).MatchString(trimmed(got)) {
			continue
		}
		now := renewed(want, trimmed(got))
		c.renewed = strings.Replace(c.renewed, command, withOutput(command, want, now), 1)
		if os.Getenv("UPDATE") == "" || !shown(now).MatchString(trimmed(got)) {
			problems = append(problems, fmt.Sprintf("$ %s\nprints\n%s\nbut the page shows\n%s", line, got, want))
		}
	}
	return problems
}

// withOutput returns a command of a block with other output.
func withOutput(command, shown, now string) string {
	head := strings.TrimSuffix(command, shown)
	if !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	if !strings.HasSuffix(command, "\n") { // the line break went to the next command
		now = strings.TrimSuffix(now, "\n")
	}
	return head + now
}

// renewed returns what a page should show instead of want: the whole output. If want
// leaves lines out, it returns as many lines at the beginning and at the end as want
// has there. Between two … it returns as many lines as want has, starting with the
// line that is the first of them.
func renewed(want, got string) string {
	shows, prints := strings.Split(strings.TrimSuffix(want, "\n"), "\n"), strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	var out []string
	for i, end := 0, 0; i < len(shows); i = end + 1 {
		end = len(shows)
		if n := slices.Index(shows[i:], "…"); n >= 0 {
			end = i + n
		}
		n, from := end-i, 0
		switch {
		case n == 0:
		case i == 0 && end == len(shows):
			return got
		case end == len(shows):
			from = len(prints) - n
		case i > 0:
			from = slices.Index(prints, shows[i])
		}
		if from < 0 || from+n > len(prints) {
			return got
		}
		out = append(out, prints[from:from+n]...)
		if end < len(shows) {
			out = append(out, "…")
		}
	}
	return strings.Join(out, "\n") + "\n"
}

// ourArguments returns the arguments of a command line that calls agentbench.
func ourArguments(line string) (args []string, ours bool, err error) {
	rest, ours := strings.CutPrefix(line, "agentbench")
	if !ours {
		rest, ours = strings.CutPrefix(line, "go run ./cmd/agentbench")
	}
	if !ours || rest != "" && rest[0] != ' ' {
		return nil, false, nil
	}
	args, err = shellWords(rest)
	return args, true, err
}

var shellWord = regexp.MustCompile(`^\s*(?:'([^']*)'|"([^"$\x60\\]*)"|([^\s'"$\x60\\|&;<>()*?\[#]+))(?:\s|$)`)

// shellWords splits a line like a shell. It supports only plain and quoted words.
func shellWords(line string) ([]string, error) {
	var words []string
	for rest := line; strings.TrimSpace(rest) != ""; {
		if strings.HasPrefix(strings.TrimSpace(rest), "#") {
			break
		}
		m := shellWord.FindStringSubmatch(rest)
		if m == nil {
			return nil, fmt.Errorf("a console block may have only plain and quoted words, not %q: use a block of another language", rest)
		}
		words = append(words, m[1]+m[2]+m[3])
		rest = rest[len(m[0]):]
	}
	return words, nil
}

// shown turns the output on a page into a pattern: a line … matches any lines.
func shown(text string) *regexp.Regexp {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for line := range strings.Lines(trimmed(text)) {
		if line == "…\n" {
			b.WriteString(`(?:.*\n)?`)
			continue
		}
		b.WriteString(regexp.QuoteMeta(line))
	}
	b.WriteString(`\z`)
	return regexp.MustCompile(b.String())
}

// trimmed leaves out white space at the ends of lines, and empty lines at the
// end.
func trimmed(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	out := strings.TrimRight(b.String(), "\n")
	if out == "" {
		return ""
	}
	return out + "\n"
}

// copyRepository copies the files of the repository, so that a session may change them:
// those at its top and those in folders that a block names, be it in the singular.
// Folders named testdata count by themselves.
func copyRepository(t *testing.T, from, to string, blocks []console) {
	t.Helper()
	named := func(folder string) bool {
		return slices.ContainsFunc(blocks, func(c console) bool { return strings.Contains(c.text, strings.TrimSuffix(folder, "s")) })
	}
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		switch target := filepath.Join(to, inside); {
		case d.IsDir() && inside != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case d.IsDir() && inside != "." && (filepath.Dir(inside) == "." || d.Name() == "testdata") && !named(filepath.ToSlash(inside)):
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(target, 0o777)
		case d.Type().IsRegular() && filepath.Ext(path) != ".go":
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			return os.WriteFile(target, data, 0o666)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestConsole tests the test: which outputs differ, and which do not.
func TestConsole(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range []struct {
		why, text string
		differs   int
	}{
		{"as shown", "$ agentbench nothing\nerror: agentbench has no command \"nothing\"\nhint: agentbench --help lists the commands\n$ echo $?\n2\n", 0},
		{"go run is the same", "$ go run ./cmd/agentbench nothing\n…\n", 0},
		{"… is any lines, none among them", "$ agentbench nothing\n…\nerror: agentbench has no command \"nothing\"\n…\n", 0},
		{"a comment behind", "$ agentbench nothing   # fails\n…\n", 0},
		{"over two lines", "$ agentbench \\\n    nothing\nerror: agentbench has no command \"nothing\"\n…\n", 0},
		{"a quoted word", "$ agentbench 'no thing'\nerror: agentbench has no command \"no thing\"\n…\n", 0},
		{"other programs are not run", "$ rm -rf /\ngone\n", 0},
		{"other text", "$ agentbench nothing\nall is well\n", 1},
		{"a line too few", "$ agentbench nothing\nerror: agentbench has no command \"nothing\"\n", 1},
		{"another code", "$ agentbench nothing\n…\n$ echo $?\n0\n", 1},
		{"a pipe cannot be run", "$ agentbench version | cat\n…\n", 1},
		{"nor can a redirection", "$ agentbench version > file\n", 1},
	} {
		block := console{text: c.text}
		if got := block.run(); len(got) != c.differs {
			t.Errorf("%s: %d problems, want %d: %q", c.why, len(got), c.differs, got)
		}
	}
	page := "text\n```console\n$ a\nb\n```\n```yaml\n$ c\n```\n```console\n$ d\n```\n"
	blocks := consoleBlocks(page)
	if len(blocks) != 2 || blocks[0] != (console{line: 2, text: "$ a\nb\n"}) || blocks[1] != (console{line: 9, text: "$ d\n"}) {
		t.Errorf("got %+v", blocks)
	}
}

// TestRenewed tests how UPDATE=1 changes a page.
func TestRenewed(t *testing.T) {
	got := "a\nb\nc\nd\n"
	for _, c := range []struct{ want, renewed string }{
		{"x\n", got},
		{"x\n…\n", "a\n…\n"},
		{"…\nx\ny\n", "…\nc\nd\n"},
		{"x\n…\ny\n", "a\n…\nd\n"},
		{"x\n…\nb\ny\n…\ny\n", "a\n…\nb\nc\n…\nd\n"},
		{"…\nb\ny\n…\n", "…\nb\nc\n…\n"},
		{"1\n2\n3\n4\n5\n…\n", got},
	} {
		if now := renewed(c.want, got); now != c.renewed {
			t.Errorf("%q becomes %q, want %q", c.want, now, c.renewed)
		}
	}
	for _, c := range []struct{ command, shown, want string }{
		{"go\nx\n", "x\n", "go\na\nb\n"},
		{"go\nx", "x", "go\na\nb"},
		{"go \\\n  on\nx\n", "x\n", "go \\\n  on\na\nb\n"},
		{"go\n", "", "go\na\nb\n"},
		{"go", "", "go\na\nb"},
	} {
		if got := withOutput(c.command, c.shown, "a\nb\n"); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.command, got, c.want)
		}
	}
}

package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// users are the commands that print what a file of this package says, beside those that
// the file makes.
var users = map[string][]string{
	"corpora.go":         {"compare"},
	"flags.go":           {"run", "gate", "compare"},
	"golden.go":          {"golden check", "golden update"},
	"output.go":          {"run", "compare", "replay"},
	"probe_show.go":      {"probe"},
	"project.go":         {"run", "gate", "compare", "golden check", "list scenarios"},
	"record_check.go":    {"record"},
	"record_settings.go": {"record"},
	"recordings.go":      {"replay", "tune"},
	"replay_one.go":      {"replay"},
	"replay_shapes.go":   {"replay"},
	"telemetry.go":       {"run"},
}

// others are flags of commands that are not ours, or of which a text is only a part.
var others = map[string][]string{
	"compare.go":        {"plain", "fault"},                                    // added to a command of explain
	"corpora.go":        {"recorded", "suite", "filter", "held-back", "seeds"}, // list corpora has none of these
	"flags.go":          {"fault"},                                             // the flag itself
	"probe.go":          {"base-url", "skip-git-repo-check"},                   // of a user's agent and of codex
	"probe_boundary.go": {"boundary"},                                          // of probe
}

var (
	flagWord    = regexp.MustCompile(`--([a-z][a-z0-9-]*)`)
	commandWord = regexp.MustCompile(`agentbench ([a-z]+)(?: ([a-z]+))?`)
)

// A message names only flags of the command that prints it, or of the one that it names.
func TestHintsNameFlags(t *testing.T) {
	root := newRoot()
	byPath := map[string]*cobra.Command{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		byPath[strings.TrimPrefix(cmd.CommandPath(), "agentbench ")] = cmd
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(root)
	has := func(cmd *cobra.Command, flag string) bool {
		return cmd.Flags().Lookup(flag) != nil || cmd.InheritedFlags().Lookup(flag) != nil ||
			slices.ContainsFunc(cmd.Commands(), func(sub *cobra.Command) bool { return sub.Flags().Lookup(flag) != nil })
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, source, 0)
		if err != nil {
			t.Fatal(err)
		}
		own := users[name]
		ast.Inspect(parsed, func(n ast.Node) bool { // Use: "tune [PATH…]"
			if kv, ok := n.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Use" {
					if lit, ok := kv.Value.(*ast.BasicLit); ok {
						use, _ := strconv.Unquote(lit.Value)
						word, _, _ := strings.Cut(use, " ")
						for _, path := range slices.Sorted(maps.Keys(byPath)) {
							if path == word || strings.HasSuffix(path, " "+word) {
								own = append(own, path)
							}
						}
					}
				}
			}
			return true
		})
		ast.Inspect(parsed, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range flagWord.FindAllStringSubmatchIndex(text, -1) {
				flag, before := text[at[2]:at[3]], text[:at[0]]
				var of []string
				if m := commandWord.FindAllStringSubmatch(before, -1); m != nil {
					last := m[len(m)-1]
					if byPath[last[1]] != nil {
						of = []string{last[1]}
					}
					if byPath[last[1]+" "+last[2]] != nil {
						of = []string{last[1] + " " + last[2]}
					}
				}
				if checked++; flag == "help" || slices.Contains(others[name], flag) || len(of) > 0 && has(byPath[of[0]], flag) {
					continue
				}
				if len(own) == 0 {
					t.Errorf("%s: which command says --%s? %q", name, flag, text)
				}
				for _, path := range own {
					if !has(byPath[path], flag) {
						t.Errorf("%s: %s has no flag --%s: %q", name, path, flag, text)
					}
				}
			}
			return true
		})
	}
	if checked < 100 {
		t.Errorf("only %d flags are named", checked)
	}
}

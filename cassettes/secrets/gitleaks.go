package secrets

import (
	_ "embed"
	"regexp"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

//go:embed gitleaks.toml
var gitleaksFile []byte

// A leakRule is a rule of gitleaks' file, as far as it is about texts.
type leakRule struct {
	ID          string      `toml:"id"`
	Regex       string      `toml:"regex"`
	Path        string      `toml:"path"`
	SecretGroup int         `toml:"secretGroup"`
	Entropy     float64     `toml:"entropy"`
	Keywords    []string    `toml:"keywords"`
	Allowlists  []leakAllow `toml:"allowlists"`
}

type leakAllow struct {
	Condition   string   `toml:"condition"`
	Paths       []string `toml:"paths"`
	RegexTarget string   `toml:"regexTarget"`
	Regexes     []string `toml:"regexes"`
	StopWords   []string `toml:"stopwords"`
}

type leakFile struct {
	Allowlist leakAllow  `toml:"allowlist"`
	Rules     []leakRule `toml:"rules"`
}

// readGitleaks reads gitleaks' file, which is part of the program.
func readGitleaks() leakFile {
	var f leakFile
	if err := toml.Unmarshal(gitleaksFile, &f); err != nil {
		panic("gitleaks.toml: " + err.Error())
	}
	return f
}

// gitleaks returns gitleaks' rules and its global allowlist, without the rules about
// files of some name: a text has none.
func gitleaks() ([]*rule, allowlist) {
	f := readGitleaks()
	var rules []*rule
	for _, l := range f.Rules {
		if l.Path != "" {
			continue
		}
		r := &rule{name: l.ID, label: label(l.ID), re: lazily(loosened(l.Regex)), group: l.SecretGroup, entropy: l.Entropy, foreign: true, vague: l.ID == "generic-api-key"}
		for _, w := range l.Keywords {
			r.keywords = append(r.keywords, strings.ToLower(w))
		}
		for _, a := range l.Allowlists {
			if !strings.EqualFold(a.Condition, "AND") || len(a.Paths) == 0 {
				r.allowed = append(r.allowed, a.list())
			}
		}
		rules = append(rules, r)
	}
	return rules, f.Allowlist.list()
}

func (l leakAllow) list() allowlist {
	a := allowlist{target: l.RegexTarget}
	if len(l.Regexes) > 0 {
		a.re = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?:" + strings.Join(l.Regexes, ")|(?:") + ")") })
	}
	if len(l.StopWords) > 0 {
		a.words = sync.OnceValue(func() *automaton { return newAutomaton(l.StopWords) })
	}
	return a
}

// In files, which gitleaks is made for, a quote or white space follows a token. In
// the texts of people and models a comma or a bracket may follow as well.
const (
	endInFiles = `(?:[\x60'"\s;]|\\[nr]|$)`
	endInTexts = `(?:[\x60'"\s;,.:!?)}\]<>&|\\]|$)`
)

func loosened(expr string) string {
	if rest, ok := strings.CutSuffix(expr, endInFiles); ok {
		return rest + endInTexts
	}
	return expr
}

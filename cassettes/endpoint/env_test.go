package endpoint

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadEnv(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       map[string]string
	}{
		{"nothing", "", map[string]string{}},
		{"comments and blank lines", "# A=1\n\n \t\n  # B=2\n", map[string]string{}},
		{"plain", "A=1\nB=two words\nC=", map[string]string{"A": "1", "B": "two words", "C": ""}},
		{"export", "export A=1\nexport\tB=2\nexported=3", map[string]string{"A": "1", "B": "2", "exported": "3"}},
		{"space", "  A = 1  \n", map[string]string{"A": "1"}},
		{"a comment behind", "A=1 # one\nE=2\t# two\nB=a#b\nC=#c\nD='x' # d\n", map[string]string{"E": "2", "A": "1", "B": "a#b", "C": "", "D": "x"}},
		{"an equals sign", "A=b=c==", map[string]string{"A": "b=c=="}},
		{"single quotes", `A='a "b" \n $C # d'`, map[string]string{"A": `a "b" \n $C # d`}},
		{"double quotes", `A="a 'b' \n \t \r \" \\ \$ \q # d"`, map[string]string{"A": "a 'b' \n \t \r \" \\ $ \\q # d"}},
		{"nothing is expanded or executed", "A=$HOME\nB=${HOME}\nC=$(id)\nD=`id`\nE=\"$(id)\"", map[string]string{
			"A": "$HOME", "B": "${HOME}", "C": "$(id)", "D": "`id`", "E": "$(id)"}},
		{"several lines", "A='1\n2'\nB=\"3\n\n4\"\nC=5", map[string]string{"A": "1\n2", "B": "3\n\n4", "C": "5"}},
		{"the last one counts", "A=1\nA=2", map[string]string{"A": "2"}},
		{"Windows", "\ufeffA=1\r\nB='2'\r\n", map[string]string{"A": "1", "B": "2"}},
		{"a quote within", "A=it's\nB=a\"b", map[string]string{"A": "it's", "B": `a"b`}},
	} {
		got, err := ReadEnv(write(t, test.text))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: (-want +got)\n%s", test.name, diff)
		}
	}
}

// An invalid file is refused with the line, but without its text.
func TestReadEnvMistakes(t *testing.T) {
	const key = "sk-hunter2"
	for text, want := range map[string]string{
		"A=1\n" + key + "\n":          ":2:1: this is not a variable",
		"1A=" + key:                   ":1:1: this is not a variable",
		"A-B=" + key:                  ":1:1: this is not a variable",
		"export A":                    ":1:1: this is not a variable",
		"A='1\n2'\nB='" + key:         ":3:1: the quote ' is not closed",
		"A=\"" + key + `\"`:           `:1:1: the quote " is not closed`,
		"A='" + key + "'x":            ":1:1: something follows the closing quote",
		"A=" + key + "\x00":           ": is not a text file",
		"A=\xff":                      ": is not a text file",
		strings.Repeat("A", 64<<10+1): ": is larger than 65536 bytes",
	} {
		_, err := ReadEnv(write(t, text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("%.30q: %v\nwant %s", text, err, want)
		}
	}
	if _, err := ReadEnv(filepath.Join(t.TempDir(), ".env")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v is not fs.ErrNotExist", err)
	}
}

// What is read does not enter the environment.
func TestReadEnvSetsNothing(t *testing.T) {
	const name = "AGENTBENCH_READ_ENV_TEST"
	if _, err := ReadEnv(write(t, name+"=1")); err != nil {
		t.Fatal(err)
	}
	if _, set := os.LookupEnv(name); set {
		t.Error("the variable was set")
	}
}

func FuzzEnv(f *testing.F) {
	f.Add("export A='b' # c\nD=\"\\n\"")
	f.Add("A='")
	f.Fuzz(func(t *testing.T, text string) {
		rest := len(text) + 1
		r := &envReader{rest: text, line: 1}
		for r.rest != "" && len(r.rest) < rest {
			rest = len(r.rest)
			if _, _, err := r.variable(); err != nil {
				return
			}
		}
		if r.rest != "" {
			t.Errorf("the reader stands still at %q", r.rest)
		}
	})
}

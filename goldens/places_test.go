package goldens

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// writeFiles writes files below a new folder, and returns it.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Where the golden of a scenario lies.
func TestPlaces(t *testing.T) {
	inside := writeFiles(t, map[string]string{"checkout/go.mod": "module " + modulePath + "\n\ngo 1.26\n",
		"other/go.mod": "module example.org/other\n", "checkout/mine/x": ""})
	for _, c := range []struct {
		here, file, dir string // the working directory, the scenario's file ("" = embedded), Dir
		want            string
	}{
		{"other", "", "", "goldens"}, // the embedded ones
		{"checkout", "", "", "goldens"},
		{"checkout/mine", "", "", "../goldens"},
		{"checkout", "scenarios/limits/a.yaml", "", "goldens"},
		{"checkout/mine", "../scenarios/limits/a.yaml", "", "../goldens"},
		{"checkout", "mine/limits/a.yaml", "", "mine/goldens"},
		{"other", "scenarios/limits/a.yaml", "", "scenarios/goldens"},
		{"other", "a.yaml", "", "../goldens"},
		{"other", "mine/a.yaml", "", "goldens"},
		{"other", "mine/a.yaml", "there", "there"},
		{"checkout", "", "there", "there"},
	} {
		t.Chdir(filepath.Join(inside, c.here))
		p := Places{Dir: c.dir}
		place := p.Of(c.file)
		if got := place.Path("x"); got != c.want+"/x" {
			t.Errorf("in %s, %q with Dir %q: got %s, want %s/x", c.here, c.file, c.dir, got, c.want)
		}
		if again := p.Of(c.file); again != place {
			t.Errorf("%q has two places", c.file)
		}
		if got, want := place.ReadOnly(), c.here == "other" && c.file == "" && c.dir == ""; got != want {
			t.Errorf("in %s, %q with Dir %q: read only is %v", c.here, c.file, c.dir, got)
		}
	}
}

// Which paths hold a suite as a whole.
func TestPlaceCovers(t *testing.T) {
	dir := writeFiles(t, map[string]string{"checks/loops/a.yaml": "", "checks/limits/b.yaml": "", "elsewhere/c.yaml": ""})
	t.Chdir(dir)
	p := Places{}
	place := p.Of("checks/loops/a.yaml")
	for _, c := range []struct {
		suite string
		paths string
		want  bool
	}{
		{"loops", "", true},
		{"loops", "checks", true},
		{"loops", "checks/loops", true},
		{"loops", "checks/loops/a.yaml", false},
		{"loops", "checks/limits", false},
		{"loops", "checks/limits checks/loops", true},
		{"loops", ".", true},
		{"loops", dir, true},
		{"loops", "elsewhere", false},
		{"gone", "checks", true},
		{"gone", "checks/loops", false},
		{"loops", "nowhere", false},
	} {
		if got := place.Covers(c.suite, strings.Fields(c.paths)); got != c.want {
			t.Errorf("%q and %s: got %v", c.paths, c.suite, got)
		}
	}
	p = Places{Dir: "there"}
	elsewhere := p.Of("checks/loops/a.yaml")
	if elsewhere.Covers("loops", []string{"checks"}) || !elsewhere.Covers("loops", nil) {
		t.Error("of a folder that Dir names only the embedded suites are known to be whole")
	}
}

// Terms are the same if the mode and every allowance with its reason are.
func TestTermsEqual(t *testing.T) {
	one, other := allowances(t, "retries"), allowances(t, "added tick")
	for _, c := range []struct {
		a, b Terms
		want bool
	}{
		{Terms{}, Terms{}, true},
		{Terms{}, Terms{Mode: Strict}, true}, // the default
		{Terms{Mode: Actions}, Terms{Mode: Actions, Allow: []Allowance{}}, true},
		{Terms{Mode: Strict}, Terms{Mode: Actions}, false},
		{Terms{Allow: one}, Terms{Allow: allowances(t, "retries")}, true},
		{Terms{Allow: one}, Terms{Allow: other}, false},
		{Terms{Allow: one}, Terms{}, false},
	} {
		if got := c.a.Equal(c.b); got != c.want || c.b.Equal(c.a) != got {
			t.Errorf("%v and %v: got %v", c.a, c.b, got)
		}
	}
	reason := Terms{Allow: allowances(t, "retries")}
	reason.Allow[0].Reason = "another"
	if reason.Equal(Terms{Allow: one}) {
		t.Error("another reason is taken for the same")
	}
}

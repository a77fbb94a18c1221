package detect

import (
	"strings"
	"testing"
)

// What paths and expressions leave of a result.
func TestLeave(t *testing.T) {
	const status = `{ "state": "running", "idle": 3, "items": [ {"id": 1, "age": 5}, {"id": 2, "age": 6} ] }`
	for _, c := range []struct{ ignore, text, want string }{
		{"$.idle", status, `{"items":[{"age":5,"id":1},{"age":6,"id":2}],"state":"running"}`},
		{"$.items", status, `{"idle":3,"state":"running"}`},
		{"$.items[0]", status, `{"idle":3,"items":[{"age":6,"id":2}],"state":"running"}`},
		{"$.items[*].age $.idle", status, `{"items":[{"id":1},{"id":2}],"state":"running"}`},
		{"$.items[0] $.items[1]", status, `{"idle":3,"items":[],"state":"running"}`},
		{"$..age", status, `{"idle":3,"items":[{"id":1},{"id":2}],"state":"running"}`},
		{"$..items[1].id", status, `{"idle":3,"items":[{"age":5,"id":1},{"age":6}],"state":"running"}`},
		{"$.*", status, `{}`},
		{`$["state"] $["no"] $.items.id $.idle.x $[0]`, status, `{"idle":3,"items":[{"age":5,"id":1},{"age":6,"id":2}]}`},
		{"$[1]", `["a", "b", "c"]`, `["a","c"]`},
		{"$[*].at", `[{"at": 1}, 2]`, `[{},2]`},
		{"$..a..b", `{"a": {"a": {"b": 1}, "b": 2}, "b": 3}`, `{"a":{"a":{}},"b":3}`},
		{`$["a.b"]`, `{"a.b": 1, "a": {"b": 2}}`, `{"a":{"b":2}}`},
		{"$.n", `{"m": 100, "n": 1}`, `{"m":1e2}`},
		// What is not JSON stays as it is, as does JSON without a path.
		{"$.idle", "idle 3", "idle 3"},
		{"$.idle", `{"idle": 3`, `{"idle": 3`},
		{"$.idle", `{"idle": 3, "idle": 4}`, `{"idle": 3, "idle": 4}`},
		{"$.idle", "7", "7"},
		{"[0-9]+", status, strings.NewReplacer("1", "", "2", "", "3", "", "5", "", "6", "").Replace(status)},
		{"in_[0-9]+s wait", "done in_3s, wait", "done , "},
		{"$.idle 5|6", status, `{"items":[{"age":,"id":1},{"age":,"id":2}],"state":"running"}`},
		{"x*", "axxb", "ab"},
	} {
		d := &Detector{IgnoreResult: strings.Fields(c.ignore)}
		for _, entry := range d.IgnoreResult {
			if wrong := checkIgnored(entry); wrong != "" {
				t.Errorf("%s: %s", entry, wrong)
			}
		}
		if got := newLeaver(d).rest(c.text); got != c.want {
			t.Errorf("%s without %s: got %s, want %s", c.text, c.ignore, got, c.want)
		}
	}
}

// What is not a path or an expression, and where it breaks.
func TestCheckIgnored(t *testing.T) {
	for entry, want := range map[string]string{
		"":           "must be a JSON path or a regular expression, not empty",
		"$":          `"$" leaves nothing to compare`,
		"$.":         "a name is missing at character 3",
		"$.a.":       "a name is missing at character 5",
		"$.a..":      "a name is missing at character 6",
		"$.a[":       "a number or * in brackets is expected at character 4",
		"$.a[-1]":    "a number or * in brackets is expected at character 4",
		"$.a[b]":     "a number or * in brackets is expected at character 4",
		"$.a[0]b":    ". or [ is expected at character 7",
		`$["a]`:      "a name in quotes and ] are expected at character 2",
		`$["a"`:      "a name in quotes and ] are expected at character 2",
		"(":          `"(" is not a regular expression: missing closing )`,
		"a**":        "invalid nested repetition operator: `**`",
		"$.a[0].b":   "",
		"$a":         "",
		"took [0-9]": "",
	} {
		got := checkIgnored(entry)
		if !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%q: got %q, want %q", entry, got, want)
		}
	}
}

// A path that matches again and again at each level does no more work for it.
func TestDeepPathsStayFew(t *testing.T) {
	l := newLeaver(&Detector{IgnoreResult: []string{"$..a..a..a..a..a..z"}})
	text := strings.Repeat(`{"a":`, 900) + "1" + strings.Repeat("}", 900)
	if got := l.rest(text); got != text {
		t.Errorf("got %s", got)
	}
	if cap(l.at) > 20_000 { // at most 6 places a level
		t.Errorf("%d places", cap(l.at))
	}
}

// A result that comes again is read once.
func TestLeaveRemembers(t *testing.T) {
	l := newLeaver(&Detector{IgnoreResult: []string{"$.at"}})
	text, whole := `{"at":1,"x":2}`, short(`{"at":1,"x":2}`)
	want := l.hash(text, whole)
	if want != short(`{"x":2}`) {
		t.Error("the rest is hashed in another way")
	}
	if n := testing.AllocsPerRun(10, func() {
		if l.hash(text, whole) != want {
			t.Error("another hash")
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

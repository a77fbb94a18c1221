package detect

import (
	"strings"
	"testing"
)

// Numbers are cut to the multiple below.
func TestRounded(t *testing.T) {
	for _, c := range []struct {
		number string
		step   int64
		want   string
	}{
		{"0", 200, "0"}, {"199", 200, "0"}, {"200", 200, "200"}, {"399", 200, "200"}, {"399.5", 200, "200"}, {"4e2", 200, "400"}, {"0.5", 200, "0"}, {"1e-300", 200, "0"},
		{"-1", 200, "-200"}, {"-200", 200, "-200"}, {"-200.5", 200, "-400"}, {"-0.5", 200, "-200"}, {"-1e-99999999999999999999", 200, "-200"}, {"-0", 200, "0"},
		{"2.999", 1, "2"}, {"-2.001", 1, "-3"}, {"123456789012345678", 10, "123456789012345670"}, {"12", 1 << 62, "0"}, {"-12", 1 << 62, "-4611686018427387904"},
		// These stay as they are, in canonical form.
		{"1234567890123456789", 10, "1234567890123456789"}, {"1e30", 7, "1e30"}, {"-1e99999999999999999999", 7, "-1e99999999999999999999"},
		{`"250"`, 200, `"250"`}, {`"1e5"`, 200, `"1e5"`}, {"true", 200, "true"}, {"null", 200, "null"}, {"[250]", 200, "[25e1]"}, {`{"a":250}`, 200, `{"a":25e1}`},
	} {
		var canon Canon
		object, err := canon.Object(`{"n":` + c.number + `}`)
		if err != nil {
			t.Fatal(err)
		}
		value := strings.TrimSuffix(strings.TrimPrefix(string(object), `{"n":`), "}")
		if got := string(appendRounded(nil, value, c.step)); got != c.want {
			t.Errorf("%s by %d: got %s, want %s", c.number, c.step, got, c.want)
		}
	}
}

// The arguments that are left out and rounded, whatever stands beside them.
func TestArgsFilter(t *testing.T) {
	d := &Detector{IgnoreArgs: []string{"at", `a"b`, "é<"}, Round: map[string]int64{"offset": 200}}
	f := newArgsFilter(d)
	for _, c := range []struct{ args, want string }{
		{`{"path":"x"}`, `"path":"x"`},
		{`{"path":"x","at":{"at":[1,"]}"]},"offset":250}`, `"offset":200"path":"x"`},
		{`{"a\"b":1,"é<":2,"offset":"far","z":["\\",{"at":1}]}`, `"offset":"far""z":["\\",{"at":1}]`},
		{`{}`, ""},
		{`{"at":1}`, ""},
	} {
		var canon Canon
		object, err := canon.Object(c.args)
		if err != nil {
			t.Fatal(err)
		}
		if f.hash(string(object)); string(f.out) != c.want {
			t.Errorf("%s: got %s, want %s", c.args, f.out, c.want)
		}
	}
}

package serve

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// tree reads a value the way that encoding/json does.
func tree(v value) any {
	switch {
	case v.is('{'):
		m := map[string]any{}
		for name, f := range v.fields() {
			m[value(`"`+string(name)+`"`).text()] = tree(f)
		}
		return m
	case v.is('['):
		list := []any{}
		for item := range v.items() {
			list = append(list, tree(item))
		}
		return list
	case v.is('"'):
		return strings.ToValidUTF8(v.text(), "\ufffd")
	case v.is('t'), v.is('f'):
		return v.is('t')
	case v.null():
		return nil
	}
	return json.Number(v)
}

// oracle reads a text by encoding/json.
func oracle(text string) (v any, err error) {
	if err = json.Unmarshal([]byte(text), new(any)); err != nil {
		return nil, err
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return v, d.Decode(&v)
}

func checkJSON(t *testing.T, text string) {
	t.Helper()
	want, wantErr := oracle(text)
	v, err := parse([]byte(text))
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%q: %v, but encoding/json says %v", text, err, wantErr)
	}
	if err != nil {
		return
	}
	// encoding/json replaces each byte that is not UTF-8 by U+FFFD, ToValidUTF8 each
	// run of such bytes.
	if !utf8.ValidString(text) {
		tree(v)
		return
	}
	if diff := cmp.Diff(want, tree(v)); diff != "" {
		t.Errorf("%q: %s", text, diff)
	}
}

var jsonTexts = []string{
	``, ` `, `{}`, ` [ ] `, `null`, `true`, `-1.5e+3`, `"a"`, `{"a":1,"a":{"b":[1,"]}",null,{}]}}`, "[1 ,\n\t2,[3 ]]",
	`"\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00"`, `"\ud83d"`, `"\ud83dx"`, `"\ud83d\u0041"`, `"\ude00\ud83d\ude00"`, `"\\"`, `{"\"":"\\\""}`, `{"a\\":"b"}`,
	`{"a"}`, `[1,]`, `{"a":1}x`, `"a`, `nul`, "\"\x01\"", `"\x"`, `"é"`, `{"k":"` + strings.Repeat(`\\`, 50) + `"}`,
}

func TestJSON(t *testing.T) {
	for _, text := range jsonTexts {
		checkJSON(t, text)
	}
	_, err := parse([]byte(`{"a":}`))
	if want := "the body is not JSON: at byte 6: invalid character '}' looking for beginning of value"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func FuzzJSON(f *testing.F) {
	for _, text := range jsonTexts {
		f.Add(text)
	}
	f.Fuzz(checkJSON)
}

func checkText(t *testing.T, s string) {
	t.Helper()
	var got string
	b := appendText(nil, s)
	if err := json.Unmarshal(b, &got); err != nil || !utf8.Valid(b) {
		t.Fatalf("%q is written as %s: %v", s, b, err)
	}
	var want string
	quoted, err := json.Marshal(s)
	if err != nil || json.Unmarshal(quoted, &want) != nil {
		t.Fatal(err)
	}
	if got != want {
		t.Errorf("%q comes back as %q, want %q", s, got, want)
	}
}

var texts = []string{"", "a", "é€😀", "\"\\/", "\n\t\r\x00\x1f\x7f", "a\xffb\xc3", "<script>&\u2028", strings.Repeat("\"", 100)}

func TestText(t *testing.T) {
	for _, s := range texts {
		checkText(t, s)
	}
}

func FuzzText(f *testing.F) {
	for _, s := range texts {
		f.Add(s)
	}
	f.Fuzz(checkText)
}

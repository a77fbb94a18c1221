package rawjson

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzAsUnmarshal holds the package against encoding/json on whatever is valid.
func FuzzAsUnmarshal(f *testing.F) {
	for _, seed := range []string{
		`{"text":"a","TEXT":"b"}`, `{"Text":"\n","Raw":[1, 2],"raw":null}`, `{"raw":[1, 2],"n":3,"yes":true,"own":"x","skip":1,"-":2}`, `{"text":5}`,
		`{"list":[{"text":"a"},null,{"raw":"b"}],"to":{"text":"c","to":{"n":1.5}}}`, `{"list":[],"to":null,"texts":["a",5]}`, `{"texts":null,"bytes":"YQ==","any":[1]}`,
		`{"embedded":{"text":"a"},"own":null,"text":null,"to":{"n":1},"to":{"text":"d"}}`, `{"to":{"n":1},"TO":{"text":"d"},"kind":"Kind","Kind":"k"}`,
		`{}`, `[]`, `{ }`, `[ ]`, `""`, `"a"`, `null`, `-1.5e3`, `true`, `[null, 1 ,"a",[ ],{ }]`,
		`{"a":1,"a":{"b":[1,2]}, "\u0061":null ,"": "x" }`,
		`"\"\\\/\b\f\n\r\t"`, `"\\\\\""`, `"\u00e9\u00E9\u0000"`, `"\ud83d\ude00 \ud83d \ude00 \ud83dx\ud83d\u0041"`,
		"\"a\xffb\xc3(\"", "\"\\n\xff\"", "{\"\xff\":1}", `["a\\",{"b\"]":"}"}]`, "[\n1,\r\t2]", `[{"a":"],["},"\\\"",[[[]]]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		object, array, depth := Object(raw), Array(raw), Depth(raw)
		text, isText := String(raw)
		if !json.Valid(raw) || strings.TrimSpace(string(raw)) != string(raw) {
			return // it did not panic
		}
		var wantObject map[string]json.RawMessage
		if json.Unmarshal(raw, &wantObject) != nil {
			wantObject = nil
		}
		if !reflect.DeepEqual(object, wantObject) {
			t.Errorf("Object(%q) = %q, want %q", raw, object, wantObject)
		}
		var wantArray []json.RawMessage
		if json.Unmarshal(raw, &wantArray) != nil {
			wantArray = nil
		}
		if !reflect.DeepEqual(array, wantArray) {
			t.Errorf("Array(%q) = %q, want %q", raw, array, wantArray)
		}
		for at, item := range Elements(raw) {
			if got := raw[at:]; len(got) < len(item) || string(got[:len(item)]) != string(item) {
				t.Errorf("Elements(%q) says that %q begins at %d", raw, item, at)
			}
		}
		if got, ok := walked(raw); wantArray != nil && (!ok || !reflect.DeepEqual(got, wantArray)) {
			t.Errorf("Next walks through %q as %q, %t, want %q", raw, got, ok, wantArray)
		}
		for name := range wantObject {
			n := 0
			for other := range members(raw) {
				if strings.EqualFold(other, name) {
					n++
				}
			}
			at, ok := Place(raw, name)
			if ok != (n == 1) || ok && !strings.HasPrefix(string(raw[at:]), string(wantObject[name])) {
				t.Errorf("Place(%q, %q) = %d, %t", raw, name, at, ok)
			}
		}
		var got, want filled
		err := Unmarshal(raw, &got)
		if wantErr := json.Unmarshal(raw, &want); !reflect.DeepEqual(err, wantErr) || !reflect.DeepEqual(got, want) {
			t.Errorf("Unmarshal(%q) = %v, %+v, want %v, %+v", raw, err, got, wantErr, want)
		}
		var wantText *string
		if json.Unmarshal(raw, &wantText) == nil && wantText != nil {
			if !isText || text != *wantText {
				t.Errorf("String(%q) = %q, %v, want %q", raw, text, isText, *wantText)
			}
		} else if isText {
			t.Errorf("String(%q) says that it is one", raw)
		}
		if want := depthOf(raw); depth != want {
			t.Errorf("Depth(%q) = %d, want %d", raw, depth, want)
		}
	})
}

// walked returns the elements of an array that Next finds one after another.
func walked(raw []byte) (all []json.RawMessage, ok bool) {
	all = []json.RawMessage{}
	for at := 1; ; {
		from, to, ok := Next(raw, at, at == 1)
		if !ok || to == 0 {
			return all, ok && from == len(raw)-1
		}
		all, at = append(all, raw[from:to]), to
	}
}

// filled has every kind of field that Unmarshal knows, and some that it leaves.
type filled struct {
	Text     string
	Raw      json.RawMessage `json:"raw"`
	N        int             `json:"n"`
	Yes      *bool           `json:"yes"`
	Own      own             `json:"own"`
	Skip     string          `json:"-"`
	List     []filled        `json:"list"`
	Texts    []string        `json:"texts"`
	To       *filled         `json:"to"`
	Bytes    []byte          `json:"bytes"`
	Any      any             `json:"any"`
	Kind     string          `json:"kind"`
	Embedded struct{ embedded }
}

type embedded struct{ Text string }

// own decodes itself.
type own struct{ length int }

func (o *own) UnmarshalJSON(raw []byte) error {
	o.length = len(raw)
	return nil
}

// depthOf counts the brackets that are open among the tokens of valid JSON.
func depthOf(raw []byte) (deepest int) {
	d, open := json.NewDecoder(strings.NewReader(string(raw))), 0
	for {
		token, err := d.Token()
		if err != nil {
			return deepest
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			open++
			deepest = max(deepest, open)
		case json.Delim('}'), json.Delim(']'):
			open--
		}
	}
}

// The values share the memory of what they are taken from, and appending to one does not
// write over what follows it.
func TestValuesCannotGrow(t *testing.T) {
	raw := []byte(`{"a":1,"b":[2,3]}`)
	fields := Object(raw)
	_ = append(fields["a"], 'x')
	_ = append(Array(fields["b"])[0], 'x')
	if string(raw) != `{"a":1,"b":[2,3]}` {
		t.Errorf("appending to values made %s of it", raw)
	}
}

// What is not valid ends before the mistake.
func TestBroken(t *testing.T) {
	for _, raw := range []string{"{", `{"`, `{"a`, `{"a"`, `{"a":`, `{"a" 1}`, `{"a":}`, `{a:1}`, `{"a\":1}`} {
		if got := Object([]byte(raw)); len(got) > 0 {
			t.Errorf("Object(%q) = %q", raw, got)
		}
	}
	for _, raw := range []string{"", `"`, `"a`, `a"`, `"\"`, `"\x"`, `"\u12"`, `"\u12g4"`} {
		if got, ok := String([]byte(raw)); ok {
			t.Errorf("String(%q) = %q", raw, got)
		}
	}
}

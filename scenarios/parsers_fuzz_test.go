package scenarios

import (
	"bytes"
	"strings"
	"testing"
)

// Results that are read and written again are the same when they are read once more;
// text that cannot be read is reported with its line.
func FuzzReadResults(f *testing.F) {
	f.Add([]byte(`{"type":"header","schema":"` + ResultsSchema + `","seed":1}` + "\n" +
		`{"type":"trial","scenario":"a/b","label":"healthy","variant":"v","end_state":"DONE","calls":1,"codes":{"None":1},"tool_ms":[],"findings":[{"rule":"x","diff":{"edit":[{"out":true}]}}],"trace":"   0.000s tick\n"}` + "\n"))
	f.Add([]byte(`{"type":"trial","scenario":"a","label":"","variant":"","end_state":"","calls":0,"seed":18446744073709551615,"cost_usd":1e-9}` + "\n\n{\"type\":\"other\"}"))
	f.Add([]byte(`{"type":"trial"}`))
	f.Add([]byte("{\"type\":\"header\",\"schema\":\"\x1b[31m\"}"))
	f.Add([]byte(`[1`))
	f.Fuzz(func(t *testing.T, data []byte) {
		one, err := rewritten(data)
		if err != nil {
			if !strings.HasPrefix(err.Error(), "f:") || strings.ContainsAny(err.Error(), "\n\r\x1b\x00") {
				t.Errorf("the error is %q", err)
			}
			return
		}
		if len(one) == 0 {
			return // lines of other types only
		}
		two, err := rewritten(one)
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("written, read and written again it is another (%v):\n%s\n%s", err, one, two)
		}
	})
}

// rewritten reads results and writes them.
func rewritten(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := NewResultWriter(&b, Header{Type: "header", Schema: ResultsSchema})
	if err != nil {
		return nil, err
	}
	b.Reset() // the headers are those of the file
	_, err = ReadResults(bytes.NewReader(data), "f", func(h *Header) error { return w.Line(h) }, w.Write)
	return b.Bytes(), err
}

// A variant's file leads to a config that is valid, and the same when it is written
// down as changes to the preset none and read again; or mistakes that have a place in
// it.
func FuzzVariant(f *testing.F) {
	for _, name := range Presets() {
		f.Add(presetText(name))
	}
	f.Add("extends: hpd-agent\nlimits: {turns: 5, at_limit: ask}\ndetectors:\n  - {name: a, do: [{at: 2, act: stop}]}\n")
	f.Add("detectors: [{name: a, within: 2m, round: {offset: 200, \"a b\": 1}, ignore_result: [$.items[*].age, '[0-9]+'], reset: [result-changed], do: [{at: 2, act: stop}]}]\n")
	f.Add("extends: ./f.yaml\ntime: {run: 1s, model: -1}\n")
	f.Add("limits: {turns: &a 5, calls: *a, cost_usd: .inf}\n? [b]\n: \x1b")
	f.Fuzz(func(t *testing.T, text string) {
		s := &source{file: "nowhere/f.yaml"}
		s.parse(text)
		cfg, err := readVariant(s, nil)
		if err != nil {
			mistakes, ok := err.(Mistakes)
			if !ok || len(mistakes) == 0 {
				t.Fatalf("error %v of type %T", err, err)
			}
			for _, m := range mistakes {
				if m.Problem == "" || strings.ContainsAny(m.Error(), "\x1b\x00\r") {
					t.Errorf("%q", m.Error())
				}
			}
			return
		}
		if err := cfg.Validate(); err != nil {
			t.Fatalf("a config that is read is not valid: %v", err)
		}
		again := &source{file: "nowhere/f.yaml"}
		again.parse("extends: none\n" + string(appendBlock(nil, configYAML(cfg), "")))
		back, err := readVariant(again, nil)
		if err != nil {
			t.Fatalf("written down it cannot be read: %v\n%s", err, again.content)
		}
		want, got := (&Variant{Config: cfg}).JSON(), (&Variant{Config: back}).JSON()
		if !bytes.Equal(want, got) {
			t.Errorf("written down and read again it is another:\n%s\n%s\n%s", want, got, again.content)
		}
	})
}

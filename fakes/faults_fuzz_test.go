package fakes

import (
	"strings"
	"testing"
)

// A fault that parses prints as it was written, and can be played. Any other text
// gets an error of one line.
func FuzzParseFault(f *testing.F) {
	for _, text := range someFaults {
		f.Add(text)
	}
	f.Add("delay model 1 87600h0m0s")
	f.Add("error tool  1 NotFound")
	f.Add("drop tool \x1b[31m\n 1")
	f.Fuzz(func(t *testing.T, text string) {
		fault, err := ParseFault(text)
		if err != nil {
			if err.Error() == "" || strings.ContainsAny(err.Error(), "\n\r\x1b") {
				t.Errorf("the error is %q", err)
			}
			return
		}
		if got := fault.String(); got != text {
			t.Errorf("%q prints as %q", text, got)
		}
		s := Script{Tools: []Tool{{}}, Model: []Step{{}}, Faults: []Fault{fault}}
		s.Tools[0].Name = "read"
		if fault.Tool != "" {
			s.Tools[0].Name = fault.Tool
		}
		if err := s.Validate(); err != nil && strings.Contains(err.Error(), "faults") {
			t.Errorf("%q is read, and cannot be played: %v", text, err)
		}
	})
}

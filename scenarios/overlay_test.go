package scenarios

import (
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/fakes"
)

// fault reads a fault.
func fault(t *testing.T, text string) fakes.Fault {
	t.Helper()
	f, err := fakes.ParseFault(text)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Faults of the overlay: hpd-agent tries a failed request again, four times in
// all, and a call too.
func TestOverlay(t *testing.T) {
	const polls = "tools: [{name: read, answers: [{result: same}]}]\nmodel: [{calls: [{read: {path: a}}]}, {text: done}]\n"
	tests := []struct {
		name, rest, own, laid string // own: under the key faults
		verdict               Verdict
		found                 string
	}{
		{"what it expects includes its own", polls + "expect: {tries: 2}\n", "error tool 1 RetryableServer", "", Pass, ""},
		{"what it expects does not include what is laid over it", polls + "expect: {tries: 1, end_state: CEILING}\n", "", "error tool 1 RetryableServer", Pass, ""},
		{"an overlay that no try survives", polls, "", "error model 100% 503", Fail, "label: a healthy run was stopped"},
		{"its own never fired", polls, "drop model 9", "", Inconclusive, `not-fired: the fault "drop model 9" never fired`},
		{"the overlay's never fired", polls, "", "drop tool 2", Inconclusive, `not-fired: the fault "drop tool 2" never fired`},
		{"its own share strikes nothing", strings.Replace(polls, "]\n", ", {name: other, answers: [{result: x}]}]\n", 1), "drop tool other 99%", "", Pass, ""},
		{"the overlay's share strikes nothing", polls, "", "error tool other 99% ToolBug", Pass, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rest := tt.rest
			if tt.own != "" {
				rest += "faults: [" + tt.own + "]\n"
			}
			s := scenario(t, Healthy, rest)
			trial := Trial{Scenario: s, Variant: s.Variant, Seed: 1}
			if tt.laid != "" {
				trial.Faults = []fakes.Fault{fault(t, tt.laid)}
			}
			r, trace := trial.Run(t.Context())
			if r.Verdict != tt.verdict || rules(r) != tt.found {
				t.Errorf("got %s, %s\nwant %s, %s\n%v", r.Verdict, rules(r), tt.verdict, tt.found, trace)
			}
			if len(s.Script.Faults) > 1 || tt.own == "" && len(s.Script.Faults) > 0 {
				t.Error("the scenario has kept the overlay")
			}
		})
	}
}

// A share draws: the trial has as many seeds as it is asked for. The header says
// what was laid over it.
func TestOverlayOfOptions(t *testing.T) {
	s := scenario(t, Healthy, says)
	o := Options{Scenarios: []*Scenario{s}, Seeds: 3, Faults: []fakes.Fault{fault(t, "delay model 50% 1s")}}
	if h := o.Header(""); h.Trials != 3 || len(h.Faults) != 1 || h.Faults[0] != "delay model 50% 1s" {
		t.Errorf("got %+v", h)
	}
	o.Faults[0] = fault(t, "delay model 1 1s")
	var took []int64
	err := Run(t.Context(), o, func(r *Result) error {
		took = append(took, r.VirtualMS)
		return nil
	})
	if err != nil || len(took) != 1 || took[0] != 3000 { // 2 s and the second more
		t.Errorf("got %v, %v", took, err)
	}
}

package loop_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// anyValue lists the fields of which every value is valid, except those that are
// true or false.
var anyValue = []string{"errors.text_prefix", "detectors[0].tools.only", "detectors[0].tools.except", "detectors[0].ignore_args"}

// impossible returns values that a field cannot have, by its type.
func impossible(field string, typ reflect.Type) []string {
	switch field {
	case "limits.cost_usd":
		return []string{"-0.000000001", "0.0000000009", "NaN", "+Inf", "1000000000.1"}
	case "limits.adapt.errors":
		return []string{"-0.1", "0.0009", "0.9991", "1", "NaN"}
	case "history.min_gain":
		return []string{"-0.1", "1.01", "NaN"}
	case "detectors[0].name":
		return []string{"", "done", "turn-limit", "ceiling"} // others are the loop's own stops
	case "detectors[0].do[0].at":
		return []string{"0", "-1"}
	case "detectors[0].ignore_result":
		return []string{"(", "$", "$.a.", "$.a[b]", "$[", "$.a["}
	case "detectors[0].round":
		return []string{"x=0", "x=-200"}
	case "detectors[0].period":
		return []string{"0..3", "3..2", "1..51", "-1..2"}
	}
	switch {
	case typ == reflect.TypeFor[time.Duration]():
		return []string{"-1ns", "87600h0m0.000000001s"} // above ten years
	case typ.Kind() == reflect.Int, typ.Kind() == reflect.Int64:
		return []string{"-1"}
	case typ.Kind() == reflect.String, typ.Kind() == reflect.Slice:
		return []string{"sideways"}
	}
	return nil
}

func oneDetector() Config {
	cfg := Off()
	cfg.Detectors = []detect.Detector{{Name: "twice", Do: []detect.Rung{{At: 2, Act: detect.Stop}}}}
	return cfg
}

// problems lists the errors of a config.
func problems(t *testing.T, cfg *Config) (all []*FieldError) {
	t.Helper()
	err := cfg.Validate()
	if err == nil {
		return nil
	}
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var field *FieldError
		if !errors.As(e, &field) {
			t.Fatalf("%v is a %T, want a FieldError", e, e)
		}
		if e.Error() != field.Field+": "+field.Problem || field.Problem == "" {
			t.Errorf("%q does not begin with its field %q", e, field.Field)
		}
		all = append(all, field)
	}
	return all
}

// TestValidateNamesTheField sets each field of a config to values that it cannot
// have, alone, and wants it named.
func TestValidateNamesTheField(t *testing.T) {
	for _, field := range fields(reflect.TypeFor[Config](), "") {
		cfg := oneDetector()
		v, err := findField(reflect.ValueOf(&cfg).Elem(), field)
		if err != nil {
			t.Fatal(err)
		}
		if v.Kind() == reflect.Bool || slices.Contains(anyValue, field) {
			continue
		}
		values := impossible(field, v.Type())
		if len(values) == 0 {
			t.Errorf("%s: the test knows no impossible value of a %v", field, v.Type())
		}
		for _, value := range values {
			cfg := oneDetector()
			if err := setField(&cfg, field, value); err != nil {
				t.Fatal(err)
			}
			want := field
			switch v.Kind() {
			case reflect.Slice:
				want += "[0]"
			case reflect.Map:
				want += ".x"
			}
			if got := problems(t, &cfg); len(got) != 1 || got[0].Field != want {
				t.Errorf("%s: %q: got %v, want one error of %s", field, value, got, want)
			}
		}
	}
}

// TestValidateAccepts: nothing, and the largest values.
func TestValidateAccepts(t *testing.T) {
	off, standard := Off(), Default()
	for name, cfg := range map[string]*Config{"zero": {}, "none": &off, "hpd-agent": &standard} {
		if got := problems(t, cfg); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, c := range []struct{ field, value string }{
		{"time.run", "87600h"},
		{"limits.cost_usd", "1000000000"},
		{"limits.cost_usd", "0.000000001"},
		{"history.min_gain", "1"},
		{"history.min_gain", "0"},
		{"errors.kinds", ""},
		{"retry.codes", "Timeout, RateLimited, RetryableServer, InvalidInput, NotFound, Unauthorized, Forbidden, ToolBug, OutputSchemaMismatch, NoResults, Cancelled"},
		{"retry.backoff", "decorrelated-jitter"},
		{"model_retry.backoff", "full-jitter"},
		{"model_retry.statuses", "100, 1xx, 429, 5xx, 5XX, 599"},
		{"detectors[0].period", "1..50"},
		{"detectors[0].period", "7"},
		{"detectors[0].memory", "2"},
	} {
		cfg := oneDetector()
		if err := setField(&cfg, c.field, c.value); err != nil {
			t.Fatal(err)
		}
		if got := problems(t, &cfg); got != nil {
			t.Errorf("%s %q: %v", c.field, c.value, got)
		}
	}
}

// TestValidateStatuses: a status is a number or a class.
func TestValidateStatuses(t *testing.T) {
	for _, status := range []string{"42", "4290", "099", "600", "0xx", "6xx", "xx", "5x", "5xxx", "-50", "+50", "5 00"} {
		cfg := Off()
		cfg.ModelRetry.Statuses = []string{"429", status}
		if got := problems(t, &cfg); len(got) != 1 || got[0].Field != "model_retry.statuses[1]" {
			t.Errorf("%q: got %v, want one error of model_retry.statuses[1]", status, got)
		}
	}
}

// TestValidateDetectors holds what a detector cannot do together.
func TestValidateDetectors(t *testing.T) {
	for _, c := range []struct{ settings, field string }{
		{"match: window", "memory"},
		{"full: true", "full"},
		{"memory: 1", "do[0].at"},                                 // a count of 2 in one record
		{"memory: 3; match: cycle; period: 2..2", "do[0].at"},     // two laps of two are four
		{"memory: 4; match: cycle; period: 2..2", ""},             //
		{"memory: 3; match: cycle", "do[0].at"},                   // the period is 2..2 unless it is set
		{"memory: 2; match: cycle; period: 1..2", ""},             // two laps of one are two
		{"record: reply", "acts"},                                 // not every reply has calls
		{"key: tool, result", "key[1]"},                           // not known before the call
		{"key: error", "key[0]"},                                  //
		{"key: tool, result; prior_only: true", ""},               // taken from earlier records
		{"key: tool, result; acts: after-batch", ""},              //
		{"counts: unknown, failed", "counts[1]"},                  //
		{"counts: denied", "counts[0]"},                           //
		{"counts: failed; acts: after-batch", ""},                 //
		{"acts: after-batch; do[0].act: veto", "do[0].act"},       // it has run
		{"acts: after-batch; firings: nudge, veto", "firings[1]"}, //
		{"do[1].at: 3; do[1].act: sideways", "do[1].act"},         //
	} {
		cfg := oneDetector()
		for _, line := range strings.Split(c.settings, "; ") {
			name, value, _ := strings.Cut(line, ": ")
			if err := setField(&cfg, "detectors[0]."+name, value); err != nil {
				t.Fatal(err)
			}
		}
		got := problems(t, &cfg)
		switch {
		case c.field == "" && got != nil:
			t.Errorf("%s: %v", c.settings, got)
		case c.field != "" && (len(got) != 1 || got[0].Field != "detectors[0]."+c.field):
			t.Errorf("%s: got %v, want one error of %s", c.settings, got, c.field)
		}
	}

	cfg := oneDetector()
	cfg.Detectors = append(cfg.Detectors, cfg.Detectors[0])
	if got := problems(t, &cfg); len(got) != 1 || got[0].Field != "detectors[1].name" {
		t.Errorf("one name twice: got %v, want one error of detectors[1].name", got)
	}
	cfg = oneDetector()
	cfg.Detectors[0].Do = nil
	if got := problems(t, &cfg); len(got) != 1 || got[0].Field != "detectors[0].do" {
		t.Errorf("nothing to do: got %v, want one error of detectors[0].do", got)
	}
}

// TestValidateReportsAll: all mistakes at once, in the order of the fields.
func TestValidateReportsAll(t *testing.T) {
	cfg := oneDetector()
	cfg.Limits.Turns, cfg.Retry.Max, cfg.Detectors[0].Memory = -1, -2, -3
	var got []string
	for _, p := range problems(t, &cfg) {
		got = append(got, p.Field)
	}
	if want := []string{"limits.turns", "retry.max", "detectors[0].memory"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestNewRefusesTools: mistakes in the tools are reported in the same way, together
// with those in the config.
func TestNewRefusesTools(t *testing.T) {
	for _, c := range []struct {
		spec ToolSpec
		want string
	}{
		{ToolSpec{Name: ""}, "tools[1]: \"\" is not a valid tool name"},
		{ToolSpec{Name: "a "}, "tools[1]: \"a \" is not a valid tool name"},
		{ToolSpec{Name: "read"}, "tools[1]: \"read\" is used twice"},
		{ToolSpec{Name: "a", Timeout: -1}, "tools[1].timeout: "},
		{ToolSpec{Name: "a", Retry: &Retry{Max: -1}}, "tools[1].retry.max: "},
		{ToolSpec{Name: "a", Retry: &Retry{Base: -1}}, "tools[1].retry.base: "},
		{ToolSpec{Name: "a", Retry: &Retry{Codes: []Code{"No"}}}, "tools[1].retry.codes[0]: "},
		{ToolSpec{Name: "a", Retry: &Retry{Max: 1}}, "tools[1].retry.codes: "},
		{ToolSpec{Name: "a", Retries: 1, Retry: &Retry{}}, "tools[1].retries: "},
		{ToolSpec{Name: "a", Rate: Rate{Calls: -1}}, "tools[1].rate.calls: "},
		{ToolSpec{Name: "a", Rate: Rate{Calls: 1}}, "tools[1].rate.per: "},
		{ToolSpec{Name: "a", Rate: Rate{Calls: 1, Per: -1}}, "tools[1].rate.per: "},
		{ToolSpec{Name: "a", Breaker: ToolBreaker{Failures: -1}}, "tools[1].breaker.failures: "},
		{ToolSpec{Name: "a", Breaker: ToolBreaker{Cooldown: -1}}, "tools[1].breaker.cooldown: "},
		{ToolSpec{Name: "a", Fallback: "b"}, "tools[1].fallback: "},
	} {
		cfg := Off()
		cfg.Limits.Turns = -1
		_, err := New(cfg, Task{}, []ToolSpec{{Name: "read"}, c.spec})
		lines := strings.Split(fmt.Sprint(err), "\n")
		if len(lines) != 2 || !strings.HasPrefix(lines[0], "limits.turns: ") || !strings.HasPrefix(lines[1], c.want) {
			t.Errorf("%+v: got %q, want an error of limits.turns and one that begins with %q", c.spec, lines, c.want)
		}
	}
	cfg := Off()
	cfg.Contracts.Input = true
	if _, err := New(cfg, Task{}, []ToolSpec{{Name: "read"}}); err != nil {
		t.Errorf("contracts without schemas: %v", err)
	}
	if _, err := New(cfg, Task{}, []ToolSpec{{Name: "read", Input: "{}"}}); err == nil || !strings.HasPrefix(err.Error(), "contracts: ") {
		t.Errorf("contracts without a schema compiler: got %v, want an error of contracts", err)
	}
}

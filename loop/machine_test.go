package loop_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// TestMachine plays the sessions in testdata/machine. A file there says what it
// shows and why, then the settings that differ from [Off], then, after an empty
// line, the whole trace. The inputs of the trace are fed to a fresh machine,
// and what comes back must be the trace. Every file is written by hand from the
// package comment, with its arithmetic: none is ever rewritten from the code.
func TestMachine(t *testing.T) {
	files, err := filepath.Glob("testdata/machine/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no sessions: %v", err)
	}
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			s := readSession(t, path)
			got := s.play(t)
			if text := got.String(); text != s.text {
				t.Error(firstDifference(text, s.text))
			}
		})
	}
}

// TestSessionsSayWhy keeps the files readable: each begins with a comment.
func TestSessionsSayWhy(t *testing.T) {
	files, _ := filepath.Glob("testdata/machine/*.txt")
	for _, path := range files {
		if text, err := os.ReadFile(path); err != nil || !strings.HasPrefix(string(text), "# ") {
			t.Errorf("%s does not begin with what it shows (%v)", path, err)
		}
	}
}

// TestSessionsShowEverything: every stop, event, purpose, reason for not running
// a call, and gate is in some session.
func TestSessionsShowEverything(t *testing.T) {
	files, _ := filepath.Glob("testdata/machine/*.txt")
	var all strings.Builder
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	words := map[string][]string{
		"stop": {"done", "stopped-by-model", "needs-user", "turn-limit", "asked-limit", "call-limit", "token-limit", "cost-limit", "try-limit", "depth-limit", "spawn-limit",
			"run-deadline", "error-limit", "tool-contract", "unauthorized", "compaction-thrash", "model-failed", "model-deadline", "empty-reply",
			"truncated-reply", "unmet-goal", "cancelled", "ceiling", "recording-ended", "circuit-breaker"},
		"event": {"ignored", "replaced-id", "repeated-call", "dropped-call", "trimmed-name", "repaired", "fallback", "bad-hook", "compacted", "no-summary", "bad-action", "gaps", "empty-reply",
			"cut-reply", "broken-stream", "abandoned", "truncated", "trimmed", "nudged", "limit-near", "also-stopped", "gave-up"},
		"for": {"reply", "summary", "final", "grace"},
		"why": {"unknown", "invalid", "vetoed", "refused", "denied", "not-started"},
		"at":  {"before-run", "before-call", "after-call", "after-run"},
	}
	for key, values := range words {
		for _, value := range values {
			if word := " " + key + "=" + value; !strings.Contains(all.String(), word+" ") && !strings.Contains(all.String(), word+"\n") {
				t.Errorf("no session has%s", word)
			}
		}
	}
}

// firstDifference shows where two traces part.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	i := 0
	for i < len(g) && i < len(w) && g[i] == w[i] {
		i++
	}
	before := strings.Join(w[max(0, i-6):min(i, len(w))], "\n  ")
	line := func(lines []string) string {
		if i < len(lines) {
			return lines[i]
		}
		return "(the end)"
	}
	return fmt.Sprintf("line %d of the trace, after\n  %s\ngot\n  %s\nwant\n  %s", i+1, before, line(g), line(w))
}

// setField sets a field of a config, named as [FieldError] names it, from text:
// a list as words with ", " between them.
func setField(cfg *Config, field, value string) error {
	v, err := findField(reflect.ValueOf(cfg).Elem(), field)
	if err != nil {
		return err
	}
	switch x := v.Addr().Interface().(type) {
	case *time.Duration:
		*x, err = time.ParseDuration(value)
		return err
	case *detect.Period:
		return x.UnmarshalText([]byte(value))
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(value)
		return nil
	case reflect.Map: // one member, as name=1
		name, number, _ := strings.Cut(value, "=")
		member := reflect.New(v.Type().Elem())
		_, err := fmt.Sscan(number, member.Interface())
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.ValueOf(name), member.Elem())
		return err
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 0, 4))
		for _, word := range strings.FieldsFunc(value, func(r rune) bool { return strings.ContainsRune(", ", r) }) {
			v.Set(reflect.Append(v, reflect.ValueOf(word).Convert(v.Type().Elem())))
		}
		return nil
	}
	_, err = fmt.Sscan(value, v.Addr().Interface())
	return err
}

// findField finds limits.turns, or detectors[0].do[1].at in a list that grows
// as far as needed.
func findField(v reflect.Value, field string) (reflect.Value, error) {
	for _, name := range strings.FieldsFunc(field, func(r rune) bool { return strings.ContainsRune(".[]", r) }) {
		switch v.Kind() {
		case reflect.Slice:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil {
				return v, fmt.Errorf("%s: %w", field, err)
			}
			for v.Len() <= i {
				v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			}
			v = v.Index(i)
		case reflect.Struct:
			i := 0
			for i < v.NumField() && v.Type().Field(i).Tag.Get("yaml") != name {
				i++
			}
			if i == v.NumField() {
				return v, fmt.Errorf("a config has no %s", field)
			}
			v = v.Field(i)
		default:
			return v, fmt.Errorf("a config has no %s", field)
		}
	}
	return v, nil
}

package loop_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/audit"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// A session is what a file in testdata/machine holds.
type session struct {
	cfg   Config
	task  Task
	tools []ToolSpec
	text  string
	trace Trace
}

func readSession(t *testing.T, path string) (s session) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head, trace, ok := strings.Cut(string(data), "\n\n")
	if !ok {
		t.Fatalf("%s: no empty line before the trace", path)
	}
	s.cfg, s.text = Off(), trace
	s.task.Schemas = fieldLists{}
	for n, line := range strings.Split(head, "\n") {
		if strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.setting(line); err != nil {
			t.Fatalf("%s:%d: %v", path, n+1, err)
		}
	}
	if s.trace, err = ParseTrace(trace); err != nil {
		t.Fatalf("%s: trace: %v", path, err)
	}
	for _, r := range s.trace {
		if r.In.Kind == Started {
			s.task.Text = r.In.Text
			break
		}
	}
	return s
}

// setting reads a line before the trace: something of the task, a tool with
// what is special about it, or a field of the config.
func (s *session) setting(line string) (err error) {
	key, value, _ := strings.Cut(line, ": ")
	switch key {
	case "seed":
		_, err = fmt.Sscan(value, &s.task.Seed)
	case "depth":
		_, err = fmt.Sscan(value, &s.task.Depth)
	case "planner":
		s.task.Planner = Planner(value)
	case "tool_choice":
		use, hold, _ := strings.Cut(value, " ")
		s.task.ToolChoice = ToolChoice{Use: use, Hold: hold == "hold"}
	case "critic":
		s.task.Critic = RuleCritic{}
	case "constraint":
		var c Constraint
		rules, text, _ := strings.Cut(value, ": ")
		for _, rule := range strings.Fields(rules) {
			key, value, _ := strings.Cut(rule, "=")
			*map[string]*string{"called": &c.Called, "with": &c.With, "after": &c.After, "says": &c.Says, "omits": &c.Omits}[key] = value
		}
		c.Text = text
		s.task.Constraints = append(s.task.Constraints, c)
	case "hooks":
		has := func(kind GateKind) bool { return slices.Contains(strings.Fields(value), string(kind)) }
		s.task.Hooks = Hooks{has(GateBeforeRun), has(GateBeforeCall), has(GateAfterCall), has(GateAfterRun)}
	case "tool":
		words := strings.Fields(value)
		spec := ToolSpec{Name: words[0]}
		for _, word := range words[1:] {
			if err = toolSetting(&spec, word); err != nil {
				return err
			}
		}
		s.tools = append(s.tools, spec)
	default:
		err = setField(&s.cfg, key, value)
	}
	return err
}

func toolSetting(spec *ToolSpec, word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "batch", "call":
		spec.Permission = Permission(word)
	case "idempotent":
		spec.Idempotent = Idempotent
	case "not-idempotent":
		spec.Idempotent = NotIdempotent
	case "sub-run":
		spec.SubRun = true
	case "fallback":
		spec.Fallback = value
	case "version":
		spec.Version = value
	case "input":
		spec.Input = value
	case "output":
		spec.Output = value
	case "timeout":
		spec.Timeout, err = time.ParseDuration(value)
	case "retries":
		_, err = fmt.Sscan(value, &spec.Retries)
	case "retry":
		spec.Retry = &Retry{Codes: []Code{NotFound}}
		spec.Retry.Max, spec.Retry.Base, err = nPer(value)
	case "rate":
		spec.Rate.Calls, spec.Rate.Per, err = nPer(value)
	case "breaker":
		spec.Breaker.Failures, spec.Breaker.Cooldown, err = nPer(value)
	default:
		err = fmt.Errorf("a tool is not %q", word)
	}
	return err
}

// nPer reads 2/10s.
func nPer(text string) (n int, per time.Duration, err error) {
	count, span, _ := strings.Cut(text, "/")
	if _, err = fmt.Sscan(count, &n); err == nil {
		per, err = time.ParseDuration(span)
	}
	return n, per, err
}

// play feeds the inputs to a fresh machine, as a world may: where a tick is
// due, it comes first. It checks the history at every request and halt, and whether
// Anthropic's API takes that of each request.
func (s *session) play(t *testing.T) (got Trace) {
	t.Helper()
	m, err := New(s.cfg, s.task, s.tools)
	if err != nil {
		t.Fatal(err)
	}
	book := newBook(s.task.Planner)
	for i := range s.trace {
		in := s.trace[i].In
		if at, armed := m.Wake(); armed && at <= in.At && (in.Kind != Tick || in.At != at) {
			t.Fatalf("not what a world does: the input\n%s\ncomes without a tick at %v before it", Record{In: in}, at)
		}
		effects := m.Step(in)
		got.Append(in, effects)
		for _, e := range effects {
			if e.Kind != AskModel || !s.cfg.History.KeepFirst {
				continue
			}
			for _, problem := range audit.CheckAnthropicHistory(e.History) {
				t.Errorf("%v is asked with %s", e.Ref, problem)
			}
		}
		for _, problem := range book.add(&got[i], m.History()) {
			t.Errorf("after\n%s\n%s", got[i], problem)
		}
	}
	for _, v := range s.audit() {
		t.Errorf("audit: %v", v)
	}
	return got
}

// audit recounts the trace, unless the config brings about what the package
// comment leaves open: two questions at one instant, and whether a batch of which
// nothing was started breaks a row of failing turns that goes on in the next run.
func (s *session) audit() []audit.Violation {
	open := s.cfg.Scope == ScopeSession && s.cfg.Errors.MaxConsecutive > 0
	for _, d := range s.cfg.Detectors {
		open = open || s.cfg.Limits.AtLimit == LimitAsk && d.Do[0].Act == detect.Ask
	}
	if open {
		return nil
	}
	return audit.Check(s.cfg, s.task, s.tools, s.trace)
}

// fieldLists reads schemas that are lists of required fields, a,b=1: one with a
// value can be inferred, which mends it.
type fieldLists struct{}

func (fieldLists) Compile(schema string) (Schema, error) {
	return fieldList(strings.Split(schema, ",")), nil
}

type fieldList []string

func (l fieldList) Check(text string, repairs int) (fixed string, repaired int, problem string, missing []string) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(text), &fields); err != nil {
		return text, 0, "no JSON object", nil
	}
	for _, field := range l {
		name, value, inferred := strings.Cut(field, "=")
		switch {
		case fields[name] != nil:
		case inferred && repaired < repairs:
			fields[name] = json.RawMessage(value)
			repaired++
		default:
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		problem = "missing: " + strings.Join(missing, ", ")
	}
	mended, _ := json.Marshal(fields)
	return string(mended), repaired, problem, missing
}

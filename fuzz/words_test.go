package fuzz

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
)

// anyCall, anyStep, anyFailure, anyAnswer, anyText and anyFault report whether a case
// has one for which a function returns true.
func anyStep(c *Case, is func(*fakes.Step) bool) bool {
	return slices.ContainsFunc(c.Script.Model, func(s fakes.Step) bool { return is(&s) })
}

func anyCall(c *Case, is func(fakes.StepCall) bool) bool {
	return anyStep(c, func(s *fakes.Step) bool { return slices.ContainsFunc(s.Calls, is) })
}

func anyArgs(c *Case, is func(string) bool) bool {
	return anyCall(c, func(call fakes.StepCall) bool { return is(call.Args) })
}

func anyFailure(c *Case, is func(fakes.ModelFailure) bool) bool {
	return anyStep(c, func(s *fakes.Step) bool { return slices.ContainsFunc(s.Failures, is) })
}

func anyAnswer(c *Case, is func(*fakes.Tool, *fakes.Answer) bool) bool {
	for i := range c.Script.Tools {
		t := &c.Script.Tools[i]
		for j := range t.Answers {
			if is(t, &t.Answers[j]) {
				return true
			}
		}
	}
	return false
}

func anyResult(c *Case, has string) bool {
	return anyAnswer(c, func(_ *fakes.Tool, a *fakes.Answer) bool { return strings.Contains(a.Result, has) })
}

func anyFault(c *Case, kinds ...string) bool {
	return slices.ContainsFunc(c.Script.Faults, func(f fakes.Fault) bool { return slices.Contains(kinds, f.Kind) })
}

func anyStray(c *Case, kinds ...loop.InputKind) bool {
	return slices.ContainsFunc(c.Strays, func(s Stray) bool { return slices.Contains(kinds, s.Input.Kind) })
}

func anyHook(c *Case, is func(loop.HookAnswer) bool) bool { return slices.ContainsFunc(c.Answers, is) }

func named(c *Case, name string) bool {
	return slices.ContainsFunc(c.Script.Tools, func(t fakes.Tool) bool { return t.Name == strings.TrimSpace(name) })
}

func parses(args string) bool { return json.Valid([]byte(args)) }

// words are the ingredients of worlds, each with a test for it in a case.
var words = []struct {
	word string
	in   func(*Case) bool
}{
	// Model behaviour.
	{"a text", func(c *Case) bool {
		return anyStep(c, func(s *fakes.Step) bool { return s.Text != "" && len(s.Calls) == 0 })
	}},
	{"a call", func(c *Case) bool { return anyStep(c, func(s *fakes.Step) bool { return len(s.Calls) == 1 }) }},
	{"a batch", func(c *Case) bool { return anyStep(c, func(s *fakes.Step) bool { return len(s.Calls) > 1 }) }},
	{"a flood of calls", func(c *Case) bool { return anyStep(c, func(s *fakes.Step) bool { return len(s.Calls) >= 30 }) }},
	{"a text beside calls", func(c *Case) bool {
		return anyStep(c, func(s *fakes.Step) bool { return s.Text != "" && len(s.Calls) > 0 })
	}},
	{"an empty reply", func(c *Case) bool {
		return anyStep(c, func(s *fakes.Step) bool { return strings.TrimSpace(s.Text) == "" && len(s.Calls) == 0 })
	}},
	{"a reply that is cut off", func(c *Case) bool {
		return anyStep(c, func(s *fakes.Step) bool { return s.Finish == loop.FinishLength })
	}},
	{"an odd finish reason", func(c *Case) bool {
		return anyStep(c, func(s *fakes.Step) bool {
			return !slices.Contains([]string{"", loop.FinishStop, loop.FinishLength, loop.FinishToolCalls}, s.Finish)
		})
	}},
	{"an injection", func(c *Case) bool {
		return anyStep(c, func(s *fakes.Step) bool { return strings.HasPrefix(s.Text, "Ignore all previous") })
	}},
	{"an action of a planner", func(c *Case) bool {
		return c.Script.Planner == loop.PlannerJSON && anyStep(c, func(s *fakes.Step) bool { return strings.Contains(s.Text, "call_tool") })
	}},
	{"a context window", func(c *Case) bool { return c.Script.Window > 0 }},
	{"an API error", func(c *Case) bool { return anyFailure(c, func(f fakes.ModelFailure) bool { return f.Status >= 500 }) }},
	{"a rate limit", func(c *Case) bool { return anyFailure(c, func(f fakes.ModelFailure) bool { return f.Status == 429 }) }},
	{"a wait that the server asks for", func(c *Case) bool { return anyFailure(c, func(f fakes.ModelFailure) bool { return f.RetryAfter > 0 }) }},
	{"a lost connection", func(c *Case) bool {
		return anyFailure(c, func(f fakes.ModelFailure) bool { return f.Status == 0 && !f.Hangs() })
	}},
	{"failures without end", func(c *Case) bool { return anyStep(c, func(s *fakes.Step) bool { return s.FailForever }) }},
	{"a model that hangs", func(c *Case) bool { return anyFailure(c, func(f fakes.ModelFailure) bool { return f.Hangs() }) }},
	{"a stream", func(c *Case) bool { return anyStep(c, func(s *fakes.Step) bool { return s.Chunks > 0 }) }},
	{"a stream that breaks", func(c *Case) bool {
		return anyFailure(c, func(f fakes.ModelFailure) bool { return f.Chunks > 0 && !f.Hangs() })
	}},
	{"a stream that stalls", func(c *Case) bool {
		return anyFailure(c, func(f fakes.ModelFailure) bool { return f.Chunks > 0 && f.Hangs() })
	}},
	{"the wire of a reply", func(c *Case) bool { return anyStep(c, func(s *fakes.Step) bool { return s.Wire != fakes.WireUsual }) }},
	{"the wire of a failure", func(c *Case) bool {
		return anyFailure(c, func(f fakes.ModelFailure) bool { return f.Wire != fakes.WireUsual })
	}},
	{"an id that is empty", func(c *Case) bool {
		return anyCall(c, func(call fakes.StepCall) bool { return call.ID != nil && *call.ID == "" })
	}},
	{"an id twice", func(c *Case) bool {
		return anyCall(c, func(call fakes.StepCall) bool { return call.ID != nil && *call.ID == "same" })
	}},
	{"a model of states", func(c *Case) bool { return anyStep(c, func(s *fakes.Step) bool { return s.State != "" }) }},
	{"faults over the model", func(c *Case) bool {
		return anyFault(c, "malform", "cut", "drop", "error")
	}},

	// Tool behaviour.
	{"a wrong enum", func(c *Case) bool { return anyResult(c, `"status":"okay"`) }},
	{"a missing field", func(c *Case) bool { return anyResult(c, `{"status":"ok"}`) }},
	{"an extra field", func(c *Case) bool { return anyResult(c, `"extra"`) }},
	{"an empty first page", func(c *Case) bool { return anyResult(c, `"items":[],"next`) }},
	{"a truncated payload", func(c *Case) bool { return anyResult(c, `{"items":[1,2,`) && !anyResult(c, `[1,2]`) }},
	{"a flood", func(c *Case) bool {
		return anyAnswer(c, func(_ *fakes.Tool, a *fakes.Answer) bool { return a.ResultChars >= 3000 })
	}},
	{"latency", func(c *Case) bool {
		return anyAnswer(c, func(t *fakes.Tool, a *fakes.Answer) bool {
			return a.Latency.Min >= time.Second || t.Latency.Min >= time.Second
		})
	}},
	{"a tool that hangs", func(c *Case) bool { return anyAnswer(c, func(_ *fakes.Tool, a *fakes.Answer) bool { return a.Hang }) }},
	{"a tool that hangs once", func(c *Case) bool {
		return anyAnswer(c, func(_ *fakes.Tool, a *fakes.Answer) bool {
			return slices.ContainsFunc(a.Failures, func(f fakes.Failure) bool { return f.Hang })
		})
	}},
	{"an ignored cancellation", func(c *Case) bool {
		return slices.ContainsFunc(c.Script.Tools, func(t fakes.Tool) bool { return t.IgnoresCancel })
	}},
	{"an error that passes", func(c *Case) bool {
		return anyAnswer(c, func(_ *fakes.Tool, a *fakes.Answer) bool { return len(a.Failures) > 0 })
	}},
	{"faults over tools", func(c *Case) bool { return anyFault(c, "oversize", "delay", "empty") }},

	// Prompts and arguments.
	{"a hostile prompt", func(c *Case) bool { return c.Script.Task != "Do the work." }},
	{"an empty prompt", func(c *Case) bool { return strings.TrimSpace(c.Script.Task) == "" }},
	{"a required argument dropped", func(c *Case) bool { return anyArgs(c, func(s string) bool { return s == `{"mode":"fast"}` }) }},
	{"a contradiction", func(c *Case) bool {
		return anyArgs(c, func(s string) bool { return strings.Contains(s, "recursive_off") })
	}},
	{"invalid JSON", func(c *Case) bool {
		return anyArgs(c, func(s string) bool { return strings.HasPrefix(s, "{") && !parses(s) })
	}},
	{"deep nesting", func(c *Case) bool { return anyArgs(c, func(s string) bool { return strings.Count(s, "{") >= 40 }) }},
	{"nesting beyond the cap", func(c *Case) bool { return anyArgs(c, func(s string) bool { return strings.Count(s, "{") > 1000 }) }},
	{"a huge number", func(c *Case) bool {
		return anyArgs(c, func(s string) bool { return strings.Contains(s, "1234567890123456789") })
	}},
	{"control characters", func(c *Case) bool {
		return anyArgs(c, func(s string) bool { return strings.ContainsAny(s, "\x00\x01\x1b") })
	}},
	{"a key twice", func(c *Case) bool {
		return anyArgs(c, func(s string) bool { return strings.Count(s, `"path"`) == 2 && parses(s) })
	}},

	// Protocol.
	{"an unknown tool", func(c *Case) bool { return anyCall(c, func(call fakes.StepCall) bool { return !named(c, call.Name) }) }},
	{"several tools in one call", func(c *Case) bool {
		return anyCall(c, func(call fakes.StepCall) bool {
			return call.Name == "multi_tool_use.parallel" || call.Name == "read,write"
		})
	}},
	{"nested calls", func(c *Case) bool {
		return anyArgs(c, func(s string) bool { return strings.Contains(s, `"arguments":{"name":`) })
	}},
	{"results for calls never made", func(c *Case) bool { return anyStray(c, loop.ToolResult) }},
	{"answers that nobody asked for", func(c *Case) bool { return anyStray(c, loop.ModelReply, loop.GateAnswer, loop.UserReply) }},
	{"calls in another order", func(c *Case) bool { return anyFault(c, "reorder", "swap-ids") }},

	// Users and permissions.
	{"a permission for each call", func(c *Case) bool {
		return slices.ContainsFunc(c.Script.Tools, func(t fakes.Tool) bool { return t.Permission == loop.AskCall })
	}},
	{"a permission for a batch", func(c *Case) bool {
		return slices.ContainsFunc(c.Script.Tools, func(t fakes.Tool) bool { return t.Permission == loop.AskBatch })
	}},
	{"a denial", func(c *Case) bool {
		return slices.ContainsFunc(c.Script.User.Permissions, func(p fakes.PermissionAnswer) bool { return p.Deny })
	}},
	{"silence at a gate", func(c *Case) bool {
		return slices.ContainsFunc(c.Script.User.Permissions, func(p fakes.PermissionAnswer) bool { return p.Hang })
	}},
	{"a reply of the user", func(c *Case) bool { return len(c.Script.User.Replies) > 0 }},
	{"a further message", func(c *Case) bool { return len(c.Script.User.Messages) > 0 }},
	{"a word while the run is under way", func(c *Case) bool { return anyStray(c, loop.Steer) }},
	{"a hook", func(c *Case) bool { return c.Hooks != (loop.Hooks{}) }},
	{"a hook that denies", func(c *Case) bool { return anyHook(c, func(a loop.HookAnswer) bool { return a.Deny }) }},
	{"a hook that changes arguments", func(c *Case) bool { return anyHook(c, func(a loop.HookAnswer) bool { return a.Args != "" }) }},
	{"a hook that changes a result", func(c *Case) bool { return anyHook(c, func(a loop.HookAnswer) bool { return a.Result != "" }) }},
	{"a hook that changes the system prompt", func(c *Case) bool { return anyHook(c, func(a loop.HookAnswer) bool { return a.System != "" }) }},

	// Cancellation.
	{"a cancel at an instant", func(c *Case) bool { return c.Script.User.Cancel != nil && c.Script.User.Cancel.Call == 0 }},
	{"a cancel as a call starts", func(c *Case) bool { return c.Script.User.Cancel != nil && c.Script.User.Cancel.Call > 0 }},
}

// TestWords: generated worlds have every ingredient. Each is in at least two cases of
// 4,000; most are in a hundred.
func TestWords(t *testing.T) {
	const cases, least = 4000, 2
	seen := map[string]int{}
	for n := range cases {
		c := Number(1, n, Options{})
		for _, w := range words {
			if w.in(c) {
				seen[w.word]++
			}
		}
	}
	for _, w := range words {
		t.Logf("%5d %s", seen[w.word], w.word)
		if seen[w.word] < least {
			t.Errorf("%s is in %d cases of %d, want %d at least", w.word, seen[w.word], cases, least)
		}
	}
}

// TestConfigs: every setting of a config has several values in generated worlds,
// and all of these configs are valid.
func TestConfigs(t *testing.T) {
	values := map[string]map[string]bool{}
	var note func(path string, v reflect.Value)
	note = func(path string, v reflect.Value) {
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				note(path+"."+v.Type().Field(i).Name, v.Field(i))
			}
			return
		}
		if values[path] == nil {
			values[path] = map[string]bool{}
		}
		values[path][fmt.Sprint(v.Interface())] = true
		if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct {
			for i := range v.Len() {
				note(path+"[]", v.Index(i))
			}
		}
	}
	for n := range 4000 {
		c := Number(1, n, Options{})
		if err := c.Config.Validate(); err != nil {
			t.Fatalf("case %d has a config that is not valid: %v", n, err)
		}
		note("config", reflect.ValueOf(c.Config))
	}
	for path, seen := range values {
		if len(seen) < 2 {
			t.Errorf("%s has always the same value: %v", path, seen)
		}
	}
}

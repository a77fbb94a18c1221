package loop_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/loop/detect"
)

// playWith runs a session in which reply i asks for the calls of script(i), each a
// letter for a tool and its arguments, and answer answers each call. It returns
// the reply (counted from 1) in which each act came.
func playWith(t *testing.T, d detect.Detector, replies int, script func(i int) []AskedCall, answer func(i int, c AskedCall) (Code, string)) (out Outcome, acts map[string]int) {
	t.Helper()
	cfg := Off()
	cfg.Detectors = []detect.Detector{d}
	m, err := New(cfg, Task{Text: "go"}, []ToolSpec{{Name: "A"}, {Name: "B"}, {Name: "C"}})
	if err != nil {
		t.Fatal(err)
	}
	acts = map[string]int{}
	first := func(what string, i int) {
		if _, ok := acts[what]; !ok {
			acts[what] = i
		}
	}
	m.Step(m.Begin())
	at := time.Duration(0)
	for i := 1; i <= replies; i++ {
		at += time.Second
		calls := script(i)
		queue := append([]Effect(nil), m.Step(Input{At: at, Kind: ModelReply, Ref: Ref{Kind: RefModel, N: i, Try: 1}, Calls: calls, Finish: FinishToolCalls})...)
		for len(queue) > 0 {
			e := queue[0]
			queue = queue[1:]
			switch {
			case e.Kind == CallTool:
				code, text := answer(i, AskedCall{Name: e.Name, Args: e.Args})
				queue = append(queue, m.Step(Input{At: at, Kind: ToolResult, Ref: e.Ref, Code: code, Text: text})...)
			case e.Kind == Note && e.Event == EventNudged:
				first("nudge", i)
			case e.Kind == Put && e.Why == Vetoed:
				first("veto", i)
			case e.Kind == AskUser:
				first("ask", i)
				return m.Outcome(), acts
			case e.Kind == AskModel && e.For == ForFinal:
				first("final-answer", i)
				return m.Outcome(), acts
			case e.Kind == Halt:
				first("stop", i)
				return m.Outcome(), acts
			}
		}
	}
	return m.Outcome(), acts
}

func letters(s string) func(i int) []AskedCall {
	return func(i int) []AskedCall {
		var calls []AskedCall
		for _, r := range strings.Split(s, " ")[(i-1)%len(strings.Split(s, " "))] {
			calls = append(calls, AskedCall{ID: fmt.Sprintf("%d-%d", i, len(calls)), Name: string(r), Args: `{"x":1}`})
		}
		return calls
	}
}

func same(int, AskedCall) (Code, string) { return None, "the same" }

func changing(i int, _ AskedCall) (Code, string) { return None, fmt.Sprint(i) }

func failing(int, AskedCall) (Code, string) { return NotFound, "no such file" }

// TestPublishedRules holds the cells of the table of published rules: the
// reply on which a rule first acts, for base scripts of one call a reply.
func TestPublishedRules(t *testing.T) {
	gemini := detect.Detector{Name: "d", Key: []detect.Part{detect.Tool, detect.RawArgs}, Match: detect.Cycle, Period: detect.Period{Min: 1, Max: 5}, Memory: 25,
		Do: []detect.Rung{{At: 5, Act: detect.Veto}}, Firings: []detect.Act{detect.Veto, detect.Stop}, Vetoed: detect.AsSame}
	openhands := detect.Detector{Name: "d", Key: []detect.Part{detect.Tool, detect.Args, detect.Text, detect.Result}, Ends: detect.EndsNext, Memory: 20, Acts: detect.AfterBatch, Do: []detect.Rung{{At: 4, Act: detect.Stop}}}
	openhandsAlternating := detect.Detector{Name: "d", Key: []detect.Part{detect.Tool, detect.Args, detect.Text, detect.Result}, Match: detect.Cycle, Period: detect.Period{Min: 2, Max: 2}, Memory: 20, Acts: detect.AfterBatch, Do: []detect.Rung{{At: 3, Act: detect.Stop}}}
	openclaw := detect.Detector{Name: "d", Ends: detect.EndsNever, PriorOnly: true, Memory: 30, Reset: []detect.Reset{detect.OnResultChange}, Vetoed: detect.AsSame, Do: []detect.Rung{{At: 20, Act: detect.Veto}}}
	openclawWarn := detect.Detector{Name: "d", Ends: detect.EndsNever, PriorOnly: true, Memory: 30, Do: []detect.Rung{{At: 10, Act: detect.Nudge}}}
	cline := detect.Detector{Name: "d", Ends: detect.EndsNext, Do: []detect.Rung{{At: 3, Act: detect.Nudge}, {At: 5, Act: detect.Stop}}}
	roo := detect.Detector{Name: "d", Ends: detect.EndsNext, PriorOnly: true, Do: []detect.Rung{{At: 3, Act: detect.Ask}}, AfterFiring: detect.Clear}
	crush := detect.Detector{Name: "d", Record: detect.PerTurn, Key: []detect.Part{detect.Tool, detect.RawArgs, detect.Result}, Match: detect.Window, Memory: 10, Full: true, Acts: detect.AfterBatch, Do: []detect.Rung{{At: 6, Act: detect.Stop}}}
	opencode := detect.Detector{Name: "d", Key: []detect.Part{detect.Tool, detect.RawArgs}, Ends: detect.EndsBatch, Do: []detect.Rung{{At: 3, Act: detect.Ask}}}
	goose := detect.Detector{Name: "d", Counts: []detect.Class{detect.Failed}, Key: []detect.Part{detect.Tool, detect.Error}, ErrorChars: 100, Ends: detect.EndsTool, PriorOnly: true,
		Reset: []detect.Reset{detect.OnToolSuccess}, Do: []detect.Rung{{At: 3, Act: detect.Veto}}, AfterFiring: detect.Clear}
	crewai := detect.Detector{Name: "d", Ends: detect.EndsNext, Vetoed: detect.AsSame, Do: []detect.Rung{{At: 2, Act: detect.Veto}}}
	pydantic := detect.Detector{Name: "d", Counts: []detect.Class{detect.Failed}, Key: []detect.Part{detect.Tool}, Ends: detect.EndsNever, OncePerTurn: true, Acts: detect.AfterBatch,
		Reset: []detect.Reset{detect.OnToolSuccess}, Do: []detect.Rung{{At: 2, Act: detect.Stop}}}
	zeroclaw := detect.Detector{Name: "d", Key: []detect.Part{detect.Tool, detect.Result}, Match: detect.Streak, Ends: detect.EndsNever, Memory: 20, DistinctArgs: 2, Acts: detect.AfterBatch, Do: []detect.Rung{{At: 5, Act: detect.Nudge}, {At: 7, Act: detect.Stop}}}
	keyOrder := func(i int) []AskedCall {
		return []AskedCall{{ID: fmt.Sprint(i), Name: "A", Args: [2]string{`{"x":1,"y":2}`, `{"y":2,"x":1}`}[i%2]}}
	}
	timestamp := func(i int) []AskedCall {
		return []AskedCall{{ID: fmt.Sprint(i), Name: "A", Args: fmt.Sprintf(`{"t":%d}`, i)}}
	}
	for _, c := range []struct {
		name   string
		d      detect.Detector
		script func(int) []AskedCall
		answer func(int, AskedCall) (Code, string)
		act    string
		at     int // 0 = never within 60
	}{
		{"gemini A", gemini, letters("A"), same, "veto", 5},
		{"gemini A stops at the next", gemini, letters("A"), same, "stop", 6},
		{"gemini A, results change", gemini, letters("A"), changing, "veto", 5},
		{"gemini AB", gemini, letters("A B"), same, "veto", 10},
		{"gemini ABC", gemini, letters("A B C"), same, "veto", 15},
		{"gemini AAB", gemini, letters("A A B"), same, "veto", 15},
		{"gemini AAAAB", gemini, letters("A A A A B"), same, "veto", 25},
		{"gemini period 6", gemini, letters("A A A A A B"), same, "veto", 5},
		{"gemini key order alternates: period 2", gemini, keyOrder, same, "veto", 10},
		{"gemini changing timestamp", gemini, timestamp, same, "veto", 0},
		{"openhands A", openhands, letters("A"), same, "stop", 4},
		{"openhands A, results change", openhands, letters("A"), changing, "stop", 0},
		{"openhands AB", openhandsAlternating, letters("A B"), same, "stop", 6},
		{"openhands alternation is not A", openhandsAlternating, letters("A"), same, "stop", 0},
		{"openclaw A blocks", openclaw, letters("A"), same, "veto", 21},
		{"openclaw A, results change", openclaw, letters("A"), changing, "veto", 0},
		{"openclaw A warns", openclawWarn, letters("A"), changing, "nudge", 11},
		{"openclaw ABC cycle: blocks never within 30", openclaw, letters("A B C"), same, "veto", 0},
		{"cline A notice", cline, letters("A"), changing, "nudge", 3},
		{"cline A", cline, letters("A"), changing, "stop", 5},
		{"cline AB", cline, letters("A B"), same, "stop", 0},
		{"cline key order", cline, keyOrder, same, "stop", 5},
		{"roo A", roo, letters("A"), same, "ask", 4},
		{"crush A, once the window is full", crush, letters("A"), same, "stop", 10},
		{"crush A, results change", crush, letters("A"), changing, "stop", 0},
		{"crush AB: five and five", crush, letters("A B"), same, "stop", 0},
		{"crush key order: five and five", crush, keyOrder, same, "stop", 0},
		{"opencode A: one call a message", opencode, letters("A"), same, "ask", 0},
		{"opencode AAA in one message", opencode, letters("AAA"), same, "ask", 1},
		{"goose A fails: the fourth is denied", goose, letters("A"), failing, "veto", 4},
		{"goose A ok", goose, letters("A"), same, "veto", 0},
		{"crewai A", crewai, letters("A"), same, "veto", 2},
		{"crewai AB", crewai, letters("A B"), same, "veto", 0},
		{"pydantic A fails twice", pydantic, letters("A"), failing, "stop", 2},
		{"pydantic counts a batch once", pydantic, letters("AAA B"), func(i int, c AskedCall) (Code, string) {
			if c.Name == "A" {
				return ToolBug, "no"
			}
			return None, "ok"
		}, "stop", 3},
		{"zeroclaw distinct arguments, same result", zeroclaw, timestamp, same, "nudge", 5},
		{"zeroclaw same arguments are not its business", zeroclaw, letters("A"), same, "nudge", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, acts := playWith(t, c.d, 60, c.script, c.answer)
			if acts[c.act] != c.at {
				t.Errorf("%s at reply %d, want %d (acts %v)", c.act, acts[c.act], c.at, acts)
			}
		})
	}
}

package detect_test

import (
	"fmt"
	"hash/fnv"
	"strings"
	"testing"
	"time"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// play shows a session to detectors and returns their acts, such as "5 stop(5)":
// at reply 5 the act stop with a count of 5. A plus joins the firings at one call.
//
// Each word of the script is a reply, and each of its parts between commas is a
// call: a letter for the tool, then its arguments, then how it ended: nothing for
// the result ok, =text for another one, !text for an error, ? for an unknown tool,
// * for arguments that are not JSON, / for a denial. A dash is a reply without
// calls, and its text follows. A colon ends the text beside calls. A bar is the
// user's next message. Time stands still but for pauses such as +2m. The tool Z waits.
func play(t *testing.T, script string, anew bool, detectors ...detect.Detector) string {
	t.Helper()
	for i := range detectors {
		if mistakes := detectors[i].Validate(); len(mistakes) > 0 {
			t.Fatalf("detector %d: %v", i, mistakes)
		}
	}
	set := detect.NewSet(detectors)
	set.Begin(anew)
	var seen []string
	reply, clock := 0, time.Duration(0)
	for word := range strings.FieldsSeq(script) {
		if word == "|" {
			set.Begin(anew)
			continue
		}
		if pause, ok := strings.CutPrefix(word, "+"); ok {
			d, err := time.ParseDuration(pause)
			if err != nil {
				t.Fatal(err)
			}
			clock += d
			continue
		}
		reply++
		text, asked, beside := strings.Cut(word, ":")
		if !beside {
			text, asked = "", word
		}
		var calls []detect.Call
		if after, ok := strings.CutPrefix(asked, "-"); ok {
			text = after
		} else {
			for call := range strings.SplitSeq(asked, ",") {
				calls = append(calls, request(call))
			}
		}
		set.Open(clock, text, calls)
		for i := range calls {
			if found := set.Before(i); len(found) > 0 {
				seen = append(seen, shown(reply, found))
				veto(set, calls, found[0])
			}
		}
		for i, call := range strings.Split(asked, ",") {
			if i < len(calls) {
				end(&calls[i], call)
			}
		}
		if found := set.Close(); len(found) > 0 {
			seen = append(seen, shown(reply, found))
		}
	}
	return strings.Join(seen, " ")
}

func shown(reply int, found []detect.Firing) string {
	var all []string
	for _, f := range found {
		name := ""
		if f.Detector.Name != "d" {
			name = f.Detector.Name + ":"
		}
		all = append(all, fmt.Sprintf("%d %s%s(%d)", reply, name, f.Act, f.Count))
	}
	return strings.Join(all, "+")
}

// veto does what a loop does with a firing before a call.
func veto(set *detect.Set, calls []detect.Call, f detect.Firing) {
	switch {
	case f.Act == detect.Nudge:
	case f.Act != detect.Stop && f.Act != detect.FinalAnswer && f.Detector.Record != detect.PerTurn:
		block(set, calls, f.Call)
	default:
		for i := range calls {
			block(set, calls, i)
		}
	}
}

func block(set *detect.Set, calls []detect.Call, i int) {
	set.Veto(i)
	calls[i].Text, calls[i].Failed = "vetoed", true
}

func request(call string) detect.Call {
	head := call[:min(len(call), 1)]
	args := strings.TrimPrefix(call, head)
	if i := strings.IndexAny(args, "=!?*/"); i >= 0 {
		args = args[:i]
	}
	c := detect.Call{Waits: head == "Z", Tool: head, Args: args, Unknown: strings.Contains(call, "?"), Invalid: strings.Contains(call, "*")}
	if head == "_" {
		c.Tool = ""
	}
	sorted := strings.Split(args, "&")
	if len(sorted) == 2 && sorted[0] > sorted[1] {
		sorted[0], sorted[1] = sorted[1], sorted[0]
	}
	canonical := strings.Join(sorted, "&")
	h := fnv.New64()
	h.Write([]byte(canonical))
	c.ArgsHash = h.Sum64()
	c.Fields = `{"` + strings.ReplaceAll(canonical, "&", `":0,"`) + `":0}`
	return c
}

// end fills in how a call ended that was not vetoed.
func end(c *detect.Call, call string) {
	switch _, text, _ := strings.Cut(call, "="); {
	case c.Failed:
	case strings.Contains(call, "!"):
		_, c.Text, _ = strings.Cut(call, "!")
		c.Failed = true
	case c.Unknown, c.Invalid:
		c.Text, c.Failed = "no", true
	case strings.HasSuffix(call, "/"):
		c.Text, c.Failed, c.Denied = "denied", true, true
	case strings.Contains(call, "="):
		c.Text, c.Success = text, true
	default:
		c.Text, c.Success = "ok", true
	}
}

func at(n int, act detect.Act) []detect.Rung { return []detect.Rung{{At: n, Act: act}} }

type row struct {
	name     string
	detector detect.Detector
	script   string
	want     string // "" = it never acts
}

func check(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			d := r.detector
			d.Name = "d"
			if got := play(t, r.script, true, d); got != r.want {
				t.Errorf("%s: got %q, want %q", r.script, got, r.want)
			}
		})
	}
}

package agenttest

import (
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agentbench-go/agentbench/scenarios"
)

// trial runs one trial: in a bubble, unless time is real.
func (r *runner) trial(t *testing.T, s *scenarios.Scenario, seed uint64) (report *Report, err error) {
	if r.speed > 0 {
		tr, err := newTrial(s, r.options, seed)
		if err != nil {
			return nil, err
		}
		defer tr.close()
		return tr.play(t.Context(), r.agent), nil
	}
	defer watchdog(t)()
	leaked := inBubble(t, func(t *testing.T) {
		var tr *trial
		if tr, err = newTrial(s, r.options, seed); err != nil {
			return
		}
		report = tr.play(t.Context(), r.agent)
		tr.close()
	})
	if report != nil {
		report.Leaked = leaked
	}
	return report, err
}

// inBubble runs f in a bubble, and returns the goroutines that are left there.
func inBubble(t *testing.T, f func(t *testing.T)) (leaked string) {
	var number string
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if err, ok := p.(error); !ok || !strings.Contains(err.Error(), "deadlock") {
			panic(p)
		}
		if leaked = goroutines(func(header string) bool { return number != "" && bubbleOf(header) == number }); leaked == "" {
			leaked = fmt.Sprint(p)
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		number = bubbleOf(stack(false))
		f(t)
	})
	return ""
}

// settle waits until everything that the agent left has come to rest.
func (tr *trial) settle() {
	if tr.speed == 0 {
		defer func() {
			if recover() != nil {
				panic("agenttest: Trial needs a bubble: call it in synctest.Test, or with RealTime")
			}
		}()
		synctest.Wait()
		return
	}
	for settled := time.Now().Add(time.Second); tr.recorder.State().Open > 0 && time.Now().Before(settled); {
		time.Sleep(time.Millisecond)
	}
}

// watchTime is how long a bubble may take by the real clock. A trial takes milliseconds.
var watchTime = 20 * time.Second

// watchdog ends the test, as its own time-out would, if the bubble of a trial stands
// still. The caller calls the function that it returns when the trial is over. A test
// without a time-out, such as one in a debugger, has no watchdog.
func watchdog(t *testing.T) (over func()) {
	if _, bounded := t.Deadline(); !bounded {
		return func() {}
	}
	timer := time.AfterFunc(watchTime, func() { panic(stuck(t.Name())) })
	return func() { timer.Stop() }
}

// stuck says which goroutines hold a bubble up.
func stuck(name string) string {
	holds := goroutines(func(header string) bool { return bubbleOf(header) != "" && !strings.Contains(header, "(durable)") })
	if holds == "" {
		holds = goroutines(func(header string) bool { return bubbleOf(header) != "" })
	}
	return fmt.Sprintf("agenttest: %s has not ended after %v of real time: something in its bubble waits for a socket, a mutex or a goroutine outside, or never waits at all.\n"+
		"docs/go-tests.md says what breaks a bubble; agenttest.RealTime does without one. What holds it up:\n\n%s", name, watchTime, holds)
}

// bubbles finds the bubble in the first line of a goroutine's stack.
var bubbles = regexp.MustCompile(`^goroutine \d+ .*\[.*synctest bubble (\d+)`)

// bubbleOf returns the number of the bubble of a goroutine, "" = none.
func bubbleOf(stack string) string {
	header, _, _ := strings.Cut(stack, "\n")
	if m := bubbles.FindStringSubmatch(header); m != nil {
		return m[1]
	}
	return ""
}

// goroutines returns the stacks of those goroutines whose first line fits.
func goroutines(fits func(header string) bool) string {
	var out []string
	for one := range strings.SplitSeq(stack(true), "\n\n") {
		if header, _, _ := strings.Cut(one, "\n"); fits(header) {
			out = append(out, strings.TrimSpace(one))
		}
	}
	return strings.Join(out, "\n\n")
}

// maxStack bounds the text of all stacks, in bytes.
const maxStack = 16 << 20

func stack(all bool) string {
	for n := 64 << 10; ; n *= 4 {
		b := make([]byte, n)
		if got := runtime.Stack(b, all); got < n || n >= maxStack {
			return string(b[:got])
		}
	}
}

// quietSignals lets package os/signal start its goroutine outside of all bubbles: it
// starts with the first Notify of the process, which some frameworks call when they are
// made.
func quietSignals() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, os.Interrupt)
	signal.Stop(c)
}

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/goldens"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/reports"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// attack is text with which a model or a tool tries to leave any context of a
// page.
const attack = `"'></title></style></pre></script><script>window.pwned=1</script><img src=x onerror="window.pwned=1"><svg onload=window.pwned=1>{{.}}<!--` + "`${window.pwned=1}` \u2028"

// vetoed is a trace with a nudge, a veto and two calls in parallel.
const vetoed = `   0.000s started text="Charge the card."
          > ask m1#1 for=reply to=1
   2.000s reply m1 text="At once." call=a:charge(` + "`" + `{"cents":500}` + "`" + `) call=b:"look up"({}) finish=tool_calls in=10 out=5
          > call c1#1 name=charge args=` + "`" + `{"cents":500}` + "`" + `
          > call c2#1 name="look up" args={}
   2.500s result c1#1 code=Timeout text="no \"answer\"\nyet"
   3.000s result c2#1 ok text=found
          > put c1 code=Timeout text="no \"answer\"\nyet"
          > put c2 text=found
          > note event=nudged text=cost-watch
          > put u2 text="Do not charge twice."
          > ask m2#1 for=reply to=6
   4.000s reply m2 call=c:charge(` + "`" + `{"cents":500}` + "`" + `) finish=tool_calls
          > put c3 why=vetoed text="Error: charged before."
          > halt stop=circuit-breaker end=LOOP_DETECTED reason="Circuit breaker triggered." turns=2 calls=2 elapsed=4s
`

// trial returns a result that passed.
func trial(scenario, variant string, label scenarios.Label, state loop.EndState, calls int) *scenarios.Result {
	return &scenarios.Result{Type: "trial", Scenario: scenario, Suite: "s", Variant: variant, Label: label, Seed: 1,
		EndState: state, Stop: "x", Calls: calls, Asked: calls, Verdict: scenarios.Pass, Random: true}
}

// small returns the report of two variants, with 10 runaways and 10 healthy runs
// each, a failure and a trace. The first variant catches 4 runaways, the second 9.
func small(t *testing.T) *reports.Report {
	t.Helper()
	var results []*scenarios.Result
	for _, v := range []struct {
		name            string
		caught, stopped int
	}{{"weak", 4, 1}, {"good", 9, 0}} {
		for i := range 10 {
			state := loop.Ceiling
			if i < v.caught {
				state = loop.LoopDetected
			}
			results = append(results, trial(fmt.Sprintf("loops/r%02d", i), v.name, scenarios.Runaway, state, 5))
		}
		for i := range 10 {
			state := loop.Done
			if i < v.stopped {
				state = loop.BudgetExceeded
			}
			results = append(results, trial(fmt.Sprintf("work/h%02d", i), v.name, scenarios.Healthy, state, 3))
		}
	}
	results[0].Trace, results[0].Verdict, results[0].TokensIn, results[0].VirtualMS = vetoed, scenarios.Fail, 15, 4000
	results[0].Findings = []scenarios.Finding{{Rule: "calls", Message: "calls: want 1, got 2", Want: "1", Got: "2"}}
	return folded(t, &reports.Fold{Keep: true, Repeat: func(r *scenarios.Result) string { return "agentbench explain " + r.Scenario }}, results...)
}

// folded returns the report of some results.
func folded(t *testing.T, f *reports.Fold, results ...*scenarios.Result) *reports.Report {
	t.Helper()
	for _, r := range results {
		if err := f.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	report, err := f.Report()
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// browser opens pages in a Chromium without a window.
func browser(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes seconds of CPU")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no chromium to open the page with")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	do(t, ctx)
	return ctx
}

func do(t *testing.T, ctx context.Context, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	if err := chromedp.Do(ctx, steps...); err != nil {
		t.Fatal(err)
	}
}

// open shows a report in a window of that width.
func open(t *testing.T, ctx context.Context, r *reports.Report, width int64) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	var page bytes.Buffer
	if err := reports.WriteHTML(&page, r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	resize(t, ctx, width)
	do(t, ctx, chromedp.Navigate("file://"+file))
}

func resize(t *testing.T, ctx context.Context, width int64) {
	t.Helper()
	params := emulation.SetDeviceMetricsOverrideParams{Width: width, Height: 900, DeviceScaleFactor: 1}
	if _, err := chromedp.Call(ctx, emulation.SetDeviceMetricsOverride, params); err != nil {
		t.Fatal(err)
	}
}

// see checks the value of an expression in the page.
func see[T comparable](t *testing.T, ctx context.Context, expression string, want T) {
	t.Helper()
	got, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	if got != want {
		t.Errorf("%s: got %v, want %v", expression, got, want)
	}
}

// What is visible at a width: the heading, one of the two drawings of a chart,
// and nothing that sticks out to the right.
func TestBrowserWidths(t *testing.T) {
	ctx := browser(t)
	open(t, ctx, small(t), 1600)
	see(t, ctx, `document.querySelector('h1').innerText`, "Choose good")
	see(t, ctx, `document.querySelectorAll('.plot').length`, 4)
	shown := `[...document.querySelectorAll('.plot svg')].filter(s => s.getBoundingClientRect().width > 0).map(s => s.classList[1]).join(' ')`
	see(t, ctx, shown, "wide wide wide wide")
	resize(t, ctx, 375)
	see(t, ctx, shown, "narrow narrow narrow narrow")
	see(t, ctx, `document.documentElement.scrollWidth`, 375)
}

// A trace turn by turn: calls of a turn side by side, and what stopped the run.
func TestBrowserTrace(t *testing.T) {
	ctx := browser(t)
	open(t, ctx, small(t), 1600)
	see(t, ctx, `[...document.querySelectorAll('#traces details')].filter(d => d.offsetHeight > 0).length`, 0)
	do(t, ctx, chromedp.Click(chromedp.CSS(`#rows a[href="#trace-1"]`)), chromedp.WaitVisible(chromedp.CSS(".trace")))
	see(t, ctx, `[...document.querySelectorAll('.block')].map(b => b.classList[1]).join(' ')`, "user turn nudge turn halt")
	see(t, ctx, `(([a, b]) => a.getBoundingClientRect().top === b.getBoundingClientRect().top)(document.querySelectorAll('.block.turn .call'))`, true)
	see(t, ctx, `[...document.querySelectorAll('.call-head')].map(c => c.innerText).join(', ')`, "charge Timeout, look up ok, charge vetoed by a detector")
	see(t, ctx, `document.querySelector('.call .said').innerText`, "no \"answer\"\nyet")
	see(t, ctx, `document.querySelector('.block.nudge').innerText`, "nudge by cost-watch\nDo not charge twice.")
	see(t, ctx, `document.querySelector('.block.halt h3').innerText`, "stop: circuit-breaker (LOOP_DETECTED)")
	// model requests from 0 to 2 and 3 to 4 seconds, the second try half a second longer
	see(t, ctx, `[...document.querySelectorAll('.track i')].map(i => i.title).join(', ')`,
		"model request m1: 0 s to 2 s, model request m2: 3 s to 4 s, charge c1: 2 s to 2.5 s, look up c2: 2 s to 3 s")
	see(t, ctx, `[...document.querySelectorAll('.marks b')].map(i => i.title).join(', ')`, "nudge by cost-watch at 3 s, veto of charge at 4 s, halt: circuit-breaker at 4 s")
}

// Where lines were left out the calls that follow still find their own results.
func TestBrowserTraceWithoutMiddle(t *testing.T) {
	ctx := browser(t)
	open(t, ctx, small(t), 1600)
	text := "   0.000s started text=x\n          > ask m1#1 for=reply to=1\n… 7 lines left out\n   9.000s reply m9 call=i:a({}) call=j:b({}) finish=tool_calls\n" +
		"          > call c42#1 name=b args={}\n  10.000s result c42#1 ok text=t\n          > put c41 why=vetoed text=no\n          > put c42 text=t\n"
	see(t, ctx, fmt.Sprintf("traceView.read(%q).blocks.map(b => b.kind).join(' ')", text), "user gap turn")
	see(t, ctx, fmt.Sprintf("traceView.read(%q).blocks[2].calls.map(c => [c.name, c.ref, c.why, c.put].join(' ')).join(', ')", text), "a c41 vetoed no, b c42  t")
}

// Sub-runs are shown indented, each with its own turns and calls.
func TestBrowserTraceOfSubRuns(t *testing.T) {
	ctx := browser(t)
	open(t, ctx, small(t), 1600)
	text := "   0.000s started text=go\n          > ask m1#1 for=reply to=1\n   1.000s reply m1 call=a:help({}) finish=tool_calls\n          > call c1#1 name=help args={}\n" +
		"   1.000s   c1#1/ started text={}\n            > c1#1/ ask m1#1 for=reply to=1\n   2.000s   c1#1/ reply m1 call=b:look({}) finish=tool_calls\n" +
		"            > c1#1/ call c1#1 name=look args={}\n   3.000s   c1#1/ result c1#1 ok text=seen\n            > c1#1/ put c1 text=seen\n" +
		"            > c1#1/ halt stop=done end=DONE\n   3.000s result c1#1 ok text=found\n          > put c1 text=found\n          > halt stop=done end=DONE\n"
	see(t, ctx, fmt.Sprintf("traceView.read(%q).blocks.map(b => b.path + b.kind).join(' ')", text), "user turn c1#1/user c1#1/turn c1#1/halt halt")
	see(t, ctx, fmt.Sprintf("traceView.read(%q).blocks.filter(b => b.kind === 'turn').map(b => b.n + b.calls.map(c => c.name + ' ' + c.put).join()).join(', ')", text), "1help found, 1look seen")
	see(t, ctx, fmt.Sprintf("traceView.read(%q).bars.map(b => b.label + ' ' + b.from + '-' + b.to).join(', ')", text),
		"model request m1 0-1, help c1 1-3, c1#1/model request m1 1-2, c1#1/look c1 2-3")
	see(t, ctx, fmt.Sprintf("[...traceView.show(%q).querySelectorAll('.block')].map(b => b.style.marginLeft || '0').join(' ')", text), "0 0 24px 24px 24px 0")
}

// The values of a chart can be read with the keyboard.
func TestBrowserChartKeys(t *testing.T) {
	ctx := browser(t)
	open(t, ctx, small(t), 1600)
	do(t, ctx, chromedp.Focus(chromedp.CSS("#charts svg.wide")), chromedp.KeyEvent("\u0303")) // the right arrow
	// of the runaways of each variant all ended after 5 calls: 4 and 9 of 10 stopped
	see(t, ctx, `[...document.querySelectorAll('#charts figure:first-child .readout span')].map(s => s.innerText.split(' (')[0]).join(', ')`,
		"weak after 5 calls: 60 % not yet stopped, good after 5 calls: 10 % not yet stopped")
}

// Ten thousand trials: a page of them at a time, and filters that act on all.
func TestBrowserTenThousandTrials(t *testing.T) {
	ctx := browser(t)
	f := &reports.Fold{Keep: true}
	for i := range 10_000 {
		r := trial(fmt.Sprintf("s%d/n%04d", i/2%4, i/2), fmt.Sprintf("v%d", i%2), scenarios.Healthy, loop.Done, 3)
		r.Suite, r.Verdict = "", scenarios.Pass
		if i%1000 == 0 { // 10 trials, all of v0 in suite s0
			r.Verdict, r.Findings = scenarios.Fail, []scenarios.Finding{{Rule: "calls", Message: "needle in trial"}}
		}
		if err := f.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	report, err := f.Report()
	if err != nil {
		t.Fatal(err)
	}
	open(t, ctx, report, 1600)
	rows := `document.querySelectorAll('#rows tr').length`
	count := `document.getElementById('count').innerText`
	see(t, ctx, rows, 100)
	see(t, ctx, count, "10,000 of 10,000 trials")
	do(t, ctx, chromedp.Click(chromedp.CSS("#next")))
	see(t, ctx, `document.getElementById('at').innerText`, "101–200 of 10,000")
	choose := func(id, word string) {
		t.Helper()
		see(t, ctx, fmt.Sprintf(`(s => { s.value = [...s.options].find(o => o.text === %q).value; s.dispatchEvent(new Event('change')); return true })(document.getElementById(%q))`, word, id), true)
	}
	choose("variant", "v1")
	see(t, ctx, count, "5,000 of 10,000 trials")
	choose("suite", "s3")
	see(t, ctx, count, "1,250 of 10,000 trials")
	choose("suite", "all")
	choose("variant", "all")
	choose("verdict", "fail")
	see(t, ctx, count, "10 of 10,000 trials")
	choose("verdict", "all")
	do(t, ctx, chromedp.SendKeys(chromedp.CSS("#q"), "NEEDLE s0/n0500"))
	see(t, ctx, count, "1 of 10,000 trials")
	see(t, ctx, `document.querySelector('#rows th').innerText`, "s0/n0500")
	do(t, ctx, chromedp.SendKeys(chromedp.CSS("#q"), "x"))
	see(t, ctx, `document.getElementById('at').innerText`, "no trial fits")
}

// Text that tries to run as a script is shown and does not run.
func TestBrowserInjection(t *testing.T) {
	ctx := browser(t)
	r := trial("loops/"+attack, "v"+attack, scenarios.Runaway, loop.Ceiling, 3)
	r.Suite, r.Verdict, r.Stop = attack, scenarios.Fail, loop.Stop(attack)
	r.Findings = []scenarios.Finding{{Rule: "calls", Message: attack, Want: attack, Got: attack}}
	r.Trace = loop.Trace{{In: loop.Input{Kind: loop.Started, Text: attack}}, {In: loop.Input{Kind: loop.ModelReply, Ref: loop.Ref{Kind: loop.RefModel, N: 1, Try: 1}, Text: attack,
		Calls: []loop.AskedCall{{ID: attack, Name: attack, Args: attack}}}, Effects: []loop.Effect{{Kind: loop.Put, Ref: loop.Ref{Kind: loop.RefCall, N: 1}, Text: attack}}}}.String()
	open(t, ctx, folded(t, &reports.Fold{Keep: true}, r), 1600)
	do(t, ctx, chromedp.Click(chromedp.CSS(`#rows a`)), chromedp.WaitVisible(chromedp.CSS(".trace")))
	see(t, ctx, `window.pwned === undefined`, true)
	see(t, ctx, `document.querySelectorAll('img, iframe, [onerror], [onload]').length`, 0)
	see(t, ctx, `document.querySelector('.call .said').textContent`, attack)
	see(t, ctx, `document.querySelector('.call .args').textContent`, attack)
	see(t, ctx, `document.querySelector('#rows td:last-child').textContent.includes('<script>window.pwned=1</script>')`, true)
}

// Without JavaScript the trials and the traces can still be read.
func TestBrowserWithoutScript(t *testing.T) {
	ctx := browser(t)
	if _, err := chromedp.Call(ctx, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true}); err != nil {
		t.Fatal(err)
	}
	open(t, ctx, small(t), 1600)
	text, err := chromedp.Run(ctx, chromedp.Text(chromedp.CSS("#trials")))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"40 of 40 trials, the worst first", "loops/r00", "work/h09"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q cannot be seen in\n%s", want, text)
		}
	}
	do(t, ctx, chromedp.Click(chromedp.CSS("#trace-1 summary")))
	if text, err = chromedp.Run(ctx, chromedp.Text(chromedp.CSS("#trace-1 pre"))); err != nil || !strings.Contains(text, "Do not charge twice.") {
		t.Errorf("the trace reads %q, %v", text, err)
	}
}

// The diff of a golden is seen with its trace, fits a narrow window, and is text
// whatever it holds.
func TestBrowserDiff(t *testing.T) {
	r := trial("s/differs", "v", scenarios.Healthy, loop.Done, 1)
	attack := "<img src=x onerror=document.title='pwned'>" + strings.Repeat("wide", 100)
	r.Verdict, r.Golden, r.Trace = scenarios.Fail, scenarios.GoldenMismatch, "   0.000s started text=hi\n"
	r.Findings = []scenarios.Finding{{Rule: "golden", Message: "goldens/s/differs.golden:9: the text differs", At: "line 4", Want: "text=<b>one</b>", Got: attack,
		Diff: &goldens.Edits{Edit: []goldens.Edit{{Out: true, Line: 9, Text: "text=<b>one</b>"}, {Line: 4, Text: attack}}}}}
	ctx := browser(t)
	open(t, ctx, folded(t, &reports.Fold{Keep: true}, r), 375)
	do(t, ctx, chromedp.Click(chromedp.CSS(`#rows a`)), chromedp.WaitVisible(chromedp.CSS(".trace")))
	see(t, ctx, "document.querySelector('#trace-1 .diff').innerText.includes('− expected') && document.querySelector('#trace-1 .diff').offsetHeight > 0", true)
	see(t, ctx, "document.querySelector('#trace-1 .diff .in code').textContent.startsWith('<img src=x')", true)
	see(t, ctx, "document.querySelectorAll('.diff img').length", 0)
	see(t, ctx, "document.title.includes('pwned')", false)
	see(t, ctx, "document.documentElement.scrollWidth", 375)
}

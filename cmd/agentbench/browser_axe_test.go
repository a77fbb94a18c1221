package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// axePages are the commands that write pages, each as the name of its page. {AGENT} is an
// agent on Python's standard library.
var axePages = []struct{ name, args string }{
	{"run", "run --suite limits --suite healthy --variant none --keep-traces all -q -o run.html -o run.jsonl"},
	{"gate", "gate run.jsonl -q -o gate.html"},
	{"compare", "compare --suite healthy --suite stuck-loops --variant none --variant hpd-agent --variant recommended -q -o compare.html"},
	{"replay", "replay --variant none --variant hpd-agent -q -o replay.html"},
	{"tune", "tune -q -o tune.html"},
	{"probe", "probe --suite stuck-loops --filter stuck-loops/same-call-forever --keep-traces -q -o probe.html -- python3 {AGENT} {TASK}"},
}

// The page of every command that writes one has no fault that axe (github.com/dequelabs/axe-core)
// finds, at 1280 and at 400 px, in light and in dark, with what is folded open and shut; all that can
// be used can be reached with the Tab key; and the page has at most 10 MB. The variable
// AXE names axe.min.js of npm's axe-core, which is not ours to copy.
func TestBrowserAxe(t *testing.T) {
	axe := os.Getenv("AXE")
	if axe == "" {
		t.Skip("AXE does not name axe.min.js: make axe does")
	}
	source, err := os.ReadFile(axe)
	if err != nil {
		t.Fatal(err)
	}
	agent, err := filepath.Abs("../../examples/probe/agent.py")
	if err != nil {
		t.Fatal(err)
	}
	ctx := browser(t)
	dir := t.TempDir()
	for _, page := range axePages {
		cmd := exec.Command("agentbench", strings.Fields(strings.ReplaceAll(page.args, "{AGENT}", agent))...)
		cmd.Dir = dir
		out, _ := cmd.CombinedOutput()
		file := filepath.Join(dir, page.name+".html")
		info, err := os.Stat(file)
		if err != nil {
			t.Fatalf("agentbench %s: %v\n%s", page.args, err, out)
		}
		if info.Size() > 10_000_000 {
			t.Errorf("%s: the page has %d bytes", page.name, info.Size())
		}
		do(t, ctx, chromedp.Navigate("file://"+file))
		if _, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("(() => {"+string(source)+"; return true })()")); err != nil {
			t.Fatal(err)
		}
		tabs(t, page.name, ctx)
		for _, open := range []bool{false, true} {
			// More than a few open traces take axe a minute, and are all alike.
			see(t, ctx, fmt.Sprintf("[...document.querySelectorAll('details')].slice(0, 12).map(d => d.open = %t).length >= 0", open), true)
			for _, width := range []int64{1280, 400} {
				resize(t, ctx, width)
				see(t, ctx, "document.documentElement.scrollWidth", int(width))
				for _, scheme := range []string{"light", "dark"} {
					params := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}}
					if _, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, params); err != nil {
						t.Fatal(err)
					}
					const ask = `axe.run().then(r => r.violations.map(v => v.id + ' (' + v.nodes.length + '): ' + v.help + ', ' + v.nodes[0].html.slice(0, 200) + ' ' + v.nodes[0].failureSummary).join('\n'))`
					found, err := chromedp.Run(ctx, chromedp.Evaluate[string](ask, chromedp.EvalAwaitPromise))
					if err != nil {
						t.Fatal(err)
					}
					if found != "" {
						t.Errorf("%s at %d px, %s, open %t:\n%s", page.name, width, scheme, open, found)
					}
				}
			}
		}
	}
}

// tabs presses Tab until the focus is where it began, and checks that everything that can
// be used and is seen had it.
func tabs(t *testing.T, page string, ctx context.Context) {
	t.Helper()
	const usable = `[...document.querySelectorAll('a[href], button, input, select, summary, [tabindex="0"]')].filter(e => !e.disabled && e.checkVisibility())`
	see(t, ctx, `(() => { window.had = new Set(); document.addEventListener('focusin', e => had.add(e.target)); document.body.focus(); return true })()`, true)
	n, err := chromedp.Run(ctx, chromedp.Evaluate[int](usable+".length"))
	if err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.KeyEvent(strings.Repeat("\t", n+2)))
	missed, err := chromedp.Run(ctx, chromedp.Evaluate[string](usable+`.filter(e => !had.has(e)).map(e => e.outerHTML.slice(0, 120)).join('\n')`))
	if err != nil {
		t.Fatal(err)
	}
	if n < 5 || missed != "" {
		t.Errorf("%s: of %d elements Tab does not reach\n%s", page, n, missed)
	}
}

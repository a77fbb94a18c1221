package reports

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/agentbench-go/agentbench/internal/text"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/sebdah/goldie/v2"
	"golang.org/x/net/html"
)

// attack is what a model or a tool would write to get out of any context of a
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

func pageOf(t *testing.T, r *Report) string {
	t.Helper()
	return export(t, func(b *bytes.Buffer) error { return WriteHTML(b, r) })
}

// small is a report of two variants, with a failure and a trace.
func small(t *testing.T) *Report {
	results := slices.Concat(tried("weak", 10, 4, 5, 10, 1), tried("good", 10, 9, 5, 10, 0))
	results[0].Trace, results[0].Verdict, results[0].TokensIn, results[0].VirtualMS = vetoed, scenarios.Fail, 15, 4000
	results[0].Findings = []scenarios.Finding{{Rule: "calls", Message: "calls: want 1, got 2", Want: "1", Got: "2"}}
	for _, r := range results[1:] {
		r.Verdict = scenarios.Pass
	}
	return folded(t, &Fold{Keep: true, Repeat: func(r *scenarios.Result) string { return "agentbench explain " + r.Scenario }}, results...)
}

var (
	styleText  = regexp.MustCompile(`(?s)<style>.*?</style>`)
	scriptText = regexp.MustCompile(`(?s)<script>.*?</script>`)
	policyText = regexp.MustCompile(`sha256-.*?&#39;`)
)

// The page but for its style and script, and the sum of the script. GOLDIE_UPDATE=1 writes the file anew.
func TestHTMLGolden(t *testing.T) {
	page := pageOf(t, small(t))
	page = styleText.ReplaceAllString(page, "<style>…</style>")
	page = scriptText.ReplaceAllString(page, "<script>…</script>")
	page = policyText.ReplaceAllString(page, "sha256-…&#39;")
	goldie.New(t, goldie.WithFixtureDir("testdata"), goldie.WithNameSuffix(".html"), goldie.WithDiffEngine(goldie.ClassicDiff)).Assert(t, "page", []byte(page))
}

// elements parses a page and calls f with each element.
func elements(t *testing.T, page string, f func(*html.Node)) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			f(n)
		}
	}
}

func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

func TestHTMLWords(t *testing.T) {
	heads, texts := []string{}, map[string]bool{}
	elements(t, pageOf(t, small(t)), func(n *html.Node) {
		switch n.Data {
		case "h1":
			heads = append(heads, content(n))
		case "p", "li", "summary", "strong", "pre":
			texts[content(n)] = true
		}
	})
	if !slices.Equal(heads, []string{"Choose good"}) {
		t.Errorf("headings %q", heads)
	}
	for _, want := range []string{
		"It catches 9 of 10 runaways (90 %; 95 % interval 60–98 %) and harms 0 of 10 healthy runs (0 %; 95 % interval 0–28 %).",
		"choose this", "good is better in one rate and not worse in the other", "calls: want 1, got 2",
		"loops/r00 under weak, seed 1: LOOP_DETECTED (x)", vetoed,
	} {
		if !texts[want] {
			t.Errorf("nothing reads %q", want)
		}
	}
}

// Charts have a text alternative that holds their figures.
func TestHTMLChartsHaveWords(t *testing.T) {
	charts := 0
	elements(t, pageOf(t, small(t)), func(n *html.Node) {
		for _, a := range n.Attr {
			if n.Data == "svg" && a.Key == "aria-label" {
				charts++
				if !strings.Contains(a.Val, "good: ") || !strings.Contains(a.Val, "weak: ") {
					t.Errorf("a chart says %q", a.Val)
				}
			}
		}
	})
	if charts != 8 { // scatter, runaways, healthy runs and harm, each for a wide and a narrow window
		t.Errorf("%d charts have words, want 8", charts)
	}
}

// plainElements are those that the template writes.
var plainElements = strings.Fields(`html head meta title style body a header p h1 h2 h3 nav ul ol li main section div svg line g path circle rect text title figure figcaption
 details summary table thead tbody tr th td label select input button span b i u small strong code pre br noscript footer script`)

// Whatever comes from files stays text: no element, no attribute, no comment of
// theirs, and it can still be read.
func TestHTMLEscapes(t *testing.T) {
	hostile := func(variant string, state loop.EndState) *scenarios.Result {
		r := endedIn("loops/"+attack, variant+attack, scenarios.Runaway, 1, state, 3)
		r.Suite, r.Verdict, r.Stop, r.Trace = attack, scenarios.Fail, loop.Stop(attack), attack+"\n"
		r.Codes = map[string]int{attack: 1}
		r.Findings = []scenarios.Finding{{Rule: attack, Message: attack, Want: attack, Got: attack, At: attack}}
		return r
	}
	r := folded(t, &Fold{Keep: true, Repeat: func(r *scenarios.Result) string { return attack }}, hostile("a", loop.LoopDetected), hostile("b", loop.Ceiling))
	r.Tool, r.Warnings = attack, []string{attack}
	r.Gate = &Gate{Rules: []Rule{{Name: attack, Measured: attack, Wanted: attack, See: attack}}}
	scripts, pre := 0, ""
	elements(t, pageOf(t, r), func(n *html.Node) {
		switch {
		case n.Data == "script":
			scripts++
		case n.Data == "pre":
			pre = content(n)
		case !slices.Contains(plainElements, n.Data):
			t.Errorf("there is an element %s", n.Data)
		}
		for _, a := range n.Attr {
			if strings.HasPrefix(a.Key, "on") || a.Key == "src" || a.Key == "href" && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("%s has %s=%q", n.Data, a.Key, a.Val)
			}
		}
	})
	if scripts != 2 {
		t.Errorf("%d scripts, want the data and the page's own", scripts)
	}
	if want := text.Lines(attack + "\n"); pre != want {
		t.Errorf("the trace reads %q, want %q", pre, want)
	}
}

// The same trials give the same bytes, in whatever order they came.
func TestHTMLDeterministic(t *testing.T) {
	results := slices.Concat(tried("a", 5, 2, 4, 5, 1), tried("b", 5, 4, 4, 5, 1))
	first := pageOf(t, folded(t, &Fold{Keep: true, Reference: "a"}, results...))
	back := slices.Clone(results)
	slices.SortStableFunc(back, func(x, y *scenarios.Result) int {
		return strings.Compare(x.Variant, y.Variant)*2 - strings.Compare(x.Scenario, y.Scenario)
	})
	if second := pageOf(t, folded(t, &Fold{Keep: true, Reference: "a"}, back...)); first != second {
		t.Error("the order of the trials changed the page")
	}
}

func TestHTMLWithoutTrials(t *testing.T) {
	if page := pageOf(t, folded(t, &Fold{Keep: true})); !strings.Contains(page, "0 scenarios under 0 variants in 0 trials") {
		t.Errorf("got %s", page)
	}
}

// A long trace keeps its beginning and its end, in whole lines.
func TestShortTrace(t *testing.T) {
	var b strings.Builder
	for i := range 10_000 { // of 10 bytes
		fmt.Fprintf(&b, "line %04d\n", i)
	}
	got := shortTrace(b.String())
	// 48 KiB hold 4,915 whole lines; 16 KiB are 1,638 whole lines and 4 bytes
	want := "line 4914\n… 3,447 lines left out\nline 8362\n"
	if !strings.Contains(got, want) || !strings.HasPrefix(got, "line 0000\n") || !strings.HasSuffix(got, "line 9999\n") {
		t.Errorf("%q is not in it", want)
	}
	if short := "one\ntwo\n"; shortTrace(short) != short {
		t.Error("a short trace was cut")
	}
}

// No page has more than 10 MB, however many trials and traces there are and whatever they
// hold, and it says what it leaves out.
func TestHTMLIsAtMostTenMegabytes(t *testing.T) {
	const most = 10_000_000
	quotes := strings.Repeat(`   0.000s reply m1 call=a:b({"x":"<&>"})`+"\n", 2000)
	f := &Fold{Keep: true}
	for i := range 4000 {
		r := judged(fmt.Sprintf("s/%05d", i), "v", scenarios.Healthy, loop.Done, 3)
		r.Verdict, r.Findings = scenarios.Fail, []scenarios.Finding{{Rule: "calls", Message: fmt.Sprintf("%05d %s", i, strings.Repeat("<", 200))}}
		if i < 60 {
			r.Trace = quotes
		}
		if err := f.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	page := pageOf(t, folded(t, f))
	if len(page) > most || len(page) < most/2 {
		t.Errorf("the page has %d bytes", len(page))
	}
	for _, want := range []string{` trials, the worst first; [0-9,]+ more are left out\. The results file`, `<p class="left">The page holds [0-9]+ traces; [0-9]+ more are left out`} {
		if !regexp.MustCompile(want).MatchString(page) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

package reports

import (
	"os"
	"strings"
	"testing"
)

// A plant is a fault that somebody could make in a fold: the tests of its package, or of
// this one, must fail with it. TestPlantedFaults (make attack) plants each.
type plant struct {
	file     string
	from, to string // the text in the file, which is there once, and the fault
}

// plants has faults for every fold: a count that is off by one, a line that is dropped, an
// interval from the wrong n, two columns that are swapped.
var plants = []plant{
	// Curves and their limits.
	{"stats/survival.go", "left := m.other + m.censored + m.after", "left := m.censored + m.after"},
	{"stats/survival.go", "greenwood += m.event / (n * left)", "greenwood += m.event / (n * n)"},
	{"stats/survival.go", "w := z * se / (s * -math.Log(s))", "w := z * se / -math.Log(s)"},
	{"stats/survival.go", "math.Pow(0.05, 1/n)", "math.Pow(0.025, 1/n)"},
	{"stats/survival.go", "return untouched(n), 1", "return 1, 1"},
	{"stats/survival.go", "p.AtRisk = c.Points[i].AtRisk", "p.AtRisk = p.AtRisk + 0"},
	{"stats/survival.go", "return (p.Time + q.Time) / 2", "return p.Time"},
	{"stats/survival.go", "c.Events += m.event", "c.Events++"},
	{"stats/obs.go", "all[i].after = all[i+1].atRisk()", "all[i].after = all[i+1].after"},
	{"stats/obs.go", "o.Weight = o.weight() / total", "o.Weight = o.weight()"},
	{"stats/cluster.go", "p.Lower, p.Upper = LogLog.limits(p.Survival, se, p.AtRisk)", "p.Lower, p.Upper = LogLog.limits(p.Survival, p.StdErr/2, p.AtRisk)"},
	{"stats/cluster.go", "between += sum * sum", "between += sum"},
	{"stats/cluster.go", "within += x * x / t.equal", "within += x * x"},
	{"stats/cluster.go", "return float64(n) / float64(n-1) * t * t", "return t * t"},
	{"stats/incidence.go", "f += s * r", "f += r"},
	{"stats/incidence.go", "known: n + ended}", "known: n}"},
	{"stats/incidence.go", "return 1 - upper, 1 - lower", "return 1 - lower, 1 - upper"},
	{"stats/bootstrap.go", "weight[rng.below(n)]++", "weight[rng.below(n)] = 1"},
	{"stats/bootstrap.go", "sortedQuantile(draws, 0.975)", "sortedQuantile(draws, 0.95)"},
	{"stats/bootstrap.go", "1 / float64(len(values)), n}", "1, n}"},
	// Rates and tests.
	{"stats/rates.go", "middle := (k + z*z/2) / (n + z*z)", "middle := (k + z*z/2) / (n + 1 + z*z)"},
	{"stats/rates.go", "math.Sqrt(k*(n-k)/n+z*z/4)", "math.Sqrt(k*(n-k)/(n-1)+z*z/4)"},
	{"stats/rates.go", "w := Interval{k / n,", "w := Interval{(k + 1) / (n + 1),"},
	{"stats/rates.go", "return Wilson(p*effective, effective)", "return Wilson(p*n, max(n, 0*effective))"},
	{"stats/rates.go", "within += 1 / float64(trials[i])", "within += 1 / float64(trials[i]*trials[i])"},
	{"stats/rates.go", "return min(1, 2*x.CDF", "return min(1, x.CDF"},
	{"stats/rates.go", "float64(len(order)-rank)*p[i]", "float64(len(order)-rank-1)*p[i]"},
	{"stats/rates.go", "top = max(top, min(1,", "top = max(0, min(1,"},
	{"stats/logrank.go", "ties = min(left/(n-1), 1)", "ties = min(left/n, 1)"},
	{"stats/logrank.go", "t.Observed[i] += all[0].event", "t.Observed[i]++"},
	{"stats/logrank.go", "t.Expected[i] += d * share", "t.Expected[i] += share"},
	{"stats/logrank.go", "t.DF = max(len(count)-1, 0)", "t.DF = max(len(count), 0)"},
	// What a trial counts as.
	{"outcome.go", "loop.UnrecoverableToolContract, loop.ModelFailed, loop.StoppedByAgent}", "loop.UnrecoverableToolContract, loop.StoppedByAgent}"},
	{"outcome.go", "loop.Ceiling:        stats.Censored", "loop.Ceiling:        finished"},
	{"outcome.go", "r.Nudges+r.Vetoed+r.Refused+r.SubNudges > 0", "r.Nudges > 0"},
	{"outcome.go", `r.Verdict != scenarios.Inconclusive && r.EndState != ""`, `r.Verdict != scenarios.Inconclusive`},
	{"outcome.go", `f.Rule != "ran-dry" && f.Rule != "not-fired"`, `f.Rule != "ran-dry"`},
	{"outcome.go", "min(e.asked, r.RefusedAt)", "e.asked"},
	{"outcome.go", "cmp.Or(r.Asked, r.Calls)", "cmp.Or(r.Calls, r.Asked)"},
	{"outcome.go", `{"", scenarios.Unjudged, scenarios.Pass, scenarios.Inconclusive, scenarios.Fail}`, `{"", scenarios.Unjudged, scenarios.Inconclusive, scenarios.Pass, scenarios.Fail}`},
	{"unit.go", "u.touched++", "u.touched += 2"},
	{"unit.go", "u.harmed++", "u.harmed += 2"},
	{"unit.go", "u.harms[harm(r)]++", "u.harms[end{asked(r), cause(r)}]++"},
	{"unit.go", "	u.judged++\n", "	u.judged += 2\n"},
	{"unit.go", "	if r.EndState == loop.WasCancelled {\n		return\n	}\n", ""},
	{"unit.go", "u.calls += r.Calls + r.Invalid + r.Saved", "u.calls += r.Calls + r.Saved"},
	{"unit.go", "u.notRun += r.Saved", "u.notRun = r.Saved"},
	{"unit.go", "float64(r.TokensIn + r.TokensOut), r.CostUSD, float64(r.VirtualMS)}", "float64(r.TokensIn), r.CostUSD, float64(r.VirtualMS)}"},
	{"unit.go", "		u.unclear++\n		return nil\n", "		u.unclear++\n"},
	{"unit.go", "		if r.WentOn {\n", "		if !r.WentOn {\n"},
	{"unit.go", "		return u.stopped\n	}\n	return u.judged\n", "		return u.judged\n	}\n	return u.judged\n"},
	{"unit.go", "u.first == nil || r.Seed < u.first.seed, bad", "u.first == nil || r.Seed > u.first.seed, bad"},
	{"unit.go", "Weight: float64(k) / float64(n), Trials: k", "Weight: float64(k) / float64(n), Trials: 1"},
	{"outcome.go", "r.Label == scenarios.Healthy && wasStopped(r) || r.Interfered()", "r.Label == scenarios.Healthy && wasStopped(r)"},
	{"outcome.go", "r.Refused > r.RefusedOwn && r.EndState", "r.Refused > 0 && r.EndState"},
	{"outcome.go", "end{min(e.asked, r.RefusedAt), stats.Event}", "end{e.asked, stats.Event}"},
	{"unit.go", "		return u.touched\n", "		return u.harmed\n"},
	{"unit.go", "return wasStopped(r) || wasHarmed(r)", "return wasStopped(r)"},
	// Rates, curves, what runs spent.
	{"rates.go", "			r.K += share\n			r.N++\n", "			r.K += share\n			r.N = float64(u.outOf(m))\n"},
	{"rates.go", "r.Inconclusive += u.unclear", "r.Inconclusive = u.unclear"},
	{"rates.go", "append(trials, u.outOf(m))", "append(trials, 1)"},
	{"rates.go", "	case f.files.kind == KindReplay:\n", "	case false:\n"},
	{"rates.go", "		return Harmed\n	}\n	return Stopped", "		return Stopped\n	}\n	return Stopped"},
	{"rates.go", "[]Metric{Harmed, Stopped, Interfered}", "[]Metric{Harmed, Stopped}"},
	{"rates.go", "n[e] += float64(k) / float64(all)", "n[e] += float64(k)"},
	{"rates.go", "cmp.Compare(b.N, a.N), cmp.Compare(a.EndState", "cmp.Compare(a.N, b.N), cmp.Compare(a.EndState"},
	{"rates.go", "const fewForP95 = 60", "const fewForP95 = 59"},
	{"rates.go", "stats.QuantileInterval(values, 0.95, draws, drawSeed)", "stats.QuantileInterval(values, 0.9, draws, drawSeed)"},
	{"rates.go", "need := (all*95 + 99) / 100", "need := all * 95 / 100"},
	{"curves.go", "N: tidy(c.N), Events: tidy(c.Events)", "N: tidy(c.Events), Events: tidy(c.N)"},
	{"curves.go", "Lower: Figure(p.Lower), Upper: Figure(p.Upper), AtRisk: tidy(p.AtRisk)}", "Lower: Figure(p.Upper), Upper: Figure(p.Lower), AtRisk: tidy(p.AtRisk)}"},
	{"curves.go", "p := c.At(float64(t))", "p := c.At(float64(t - 1))"},
	{"curves.go", "StdErr: Figure(p.StdErr), Lower", "StdErr: Figure(p.Survival), Lower"},
	{"curves.go", "stats.ClusterIncidence(units, stats.Event)", "stats.ClusterIncidence(units, finished)"},
	{"curves.go", "out[from+i].PAdjusted = Figure(adjusted)", "out[from*0+i].PAdjusted = Figure(adjusted)"},
	{"curves.go", "g.label != label || g.variant == reference", "g.variant == reference"},
	// Comparisons.
	{"compare.go", "p.Change += a - b", "p.Change += b - a"},
	{"compare.go", "	case a > b:\n		p.More++", "	case a < b:\n		p.More++"},
	{"compare.go", "	p.N++\n", "	p.N += 2\n"},
	{"compare.go", "pair.Label == label && pair.Metric == m {", "pair.Label == label {"},
	{"compare.go", "f.all[name].label == p.Label && a != nil", "a != nil"},
	{"differences.go", "cmp.Compare(b.spread(), a.spread()), cmp.Compare(b.bad(), a.bad())", "cmp.Compare(a.spread(), b.spread()), cmp.Compare(b.bad(), a.bad())"},
	{"differences.go", "return share < 1\n", "return share < 0\n"},
	{"differences.go", "len(d.Cells) < 2 || d.spread() == 0", "len(d.Cells) < 3 || d.spread() == 0"},
	{"choice.go", "s.caught.share() - s.harmed.share()", "s.caught.share() + s.harmed.share()"},
	{"choice.go", "more >= 0 && fewer >= 0 && more+fewer > 0", "more >= 0 || fewer >= 0 && more+fewer > 0"},
	{"choice.go", "return n >= common*max(a.count(), b.count())", "return n >= 0"},
	{"choice_ruling.go", "case len(c.report.Incomplete) > 0:", "case len(c.report.Incomplete) > 100:"},
	{"choice_ruling.go", "case best.harmed == nil:", "case best.harmed == nil && best.caught == nil:"},
	{"choice_ruling.go", "len(ties) > 1:", "len(ties) > 2:"},
	// Tools and replays.
	{"tools.go", "t.withCodes += r.Calls", "t.withCodes++"},
	{"tools.go", "t.took[l.UpperMS] += l.N", "t.took[l.UpperMS] = l.N"},
	{"tools.go", "ratio(t.tries-t.withCodes, t.withCodes)", "ratio(t.tries, t.withCodes)"},
	{"tools.go", "ratio(t.repaired, t.repairs)", "ratio(t.repaired, t.calls)"},
	{"tools.go", `code == "None" || !loop.Code(code).Failed()`, `code == "None" || loop.Code(code).Failed()`},
	{"replay.go", "scenarios.Runaway: CallsSaved, scenarios.Healthy: CallsLost", "scenarios.Runaway: CallsLost, scenarios.Healthy: CallsSaved"},
	{"replay.go", "	case scenarios.Runaway:\n		return &v.Failed", "	case scenarios.Runaway:\n		return &v.Good"},
	{"replay.go", "	g.WentOn += more.WentOn\n", ""},
	{"replay.go", "	g.NotRun += more.NotRun\n", "	g.NotRun = more.NotRun\n"},
	{"replay.go", "K: g.NotRun, N: g.Calls}", "K: g.NotRun, N: g.Runs}"},
	{"replay.go", "if !slices.Contains(stops, e.state) {", "if slices.Contains(stops, e.state) {"},
	{"replay.go", "*ofRule(&v.Rules[i]) += n", "*ofRule(&v.Rules[i]) = n"},
	{"replay.go", "r.Skipped = f.files.skipped", "r.Skipped = 0"},
	// Whole reports: files, warnings, verdicts.
	{"files.go", "	f.trials += h.Trials\n", "	f.trials = h.Trials\n"},
	{"files.go", "	f.skipped += h.Skipped\n", "	f.skipped = h.Skipped\n"},
	{"files.go", "for i := 1; i <= n; i++ {", "for i := 1; i < n; i++ {"},
	{"files.go", "if f.trials > trials {", "if f.trials > trials+1 {"},
	{"files.go", "h.Seed < f.seed", "h.Seed > f.seed"},
	{"fold.go", "		f.passed++\n		return nil\n", "		return nil\n"},
	{"fold.go", "	f.verdicts[r.Verdict]++\n", "	f.verdicts[r.Verdict] = 1\n"},
	{"fold.go", "		f.unclear++\n", "		f.unclear = 1\n"},
	{"fold.go", "	s.verdict = worse(s.verdict, r.Verdict)\n", "	s.verdict = r.Verdict\n"},
	{"build.go", "if line.Kind == allAttacks {", "if line.Kind != allAttacks {"},
	{"build.go", "			sum.Done += line.Done\n", ""},
	{"build.go", "		all = worse(all, v)\n", "		all = v\n"},
	{"build.go", "	s.Scenarios++\n", ""},
	{"build.go", "all == scenarios.Pass && len(f.missing()) > 0", "all == scenarios.Pass && len(f.missing()) > 100"},
	{"build.go", "v.Unjudged = f.trials - v.Pass - v.Fail - v.Inconclusive", "v.Unjudged = f.trials - v.Pass - v.Fail"},
	{"read.go", "	if len(w.line) > 0 {\n		w.take()", "	if len(w.line) > 99999 {\n		w.take()"},
	{"summary.go", "c.passed[name] = passed && (before || !seen)", "c.passed[name] = passed && (before || seen)"},
	{"summary.go", "		c.calls[n] += trials\n", "		c.calls[n] = trials\n"},
	{"summary.go", "	c.time += other.time\n", "	c.time = other.time\n"},
	{"summary.go", "sum := nth((n-1)/2) + nth(n/2)", "sum := nth(n/2) + nth(n/2)"},
	{"failures.go", "		f.dropped++\n", ""},
	// What is written.
	{"csv.go", "for _, res := range r.Results {", "for _, res := range r.Results[1:] {"},
	{"junit.go", "		c.Errors++\n", ""},
	{"junit.go", "		all.count(res)\n", ""},
	{"junit.go", "	c.took += r.Took\n", "	c.took = r.Took\n"},
	{"junit.go", `xml:"system-out,omitempty"`, `xml:"properties>property"`},
	{"sarif.go", "all := sarifInvocation{Successful: len(r.Incomplete) == 0}", "all := sarifInvocation{Successful: true}"},
	{"sarif.go", "			if len(result.Locations) > 0 {", "			if true {"},
	{"findings.go", "	for i, rule := range t.rules() {", "	for i, rule := range t.rules()[:1] {"},
	{"findings.go", "		before[rule]++\n", ""},
	{"codequality.go", "	if len(r.Incomplete) > 0 {", "	if false {"},
	{"results.go", "for _, res := range r.Results {", "for _, res := range r.Results[1:] {"},
	{"annotations.go", "const maxAnnotations = 10", "const maxAnnotations = 11"},
	{"markdown.go", "	m.broken(r.Gate)\n", ""},
	{"markdown.go", "		atOnce = 0\n", ""},
	{"html.go", "	v.Marks = marks\n", ""},
	{"markdown.go", "min(markdownTrials, len(r.Findings))", "min(1, len(r.Findings))"},
	{"markdown.go", "min(markdownDifferences, len(r.Differences))", "min(1, len(r.Differences))"},
	{"sections.go", "all.K += rate.K", "all.K = rate.K"},
	{"sections.go", "case a.AtRisk < few:", "case a.AtRisk < few-1:"},
	{"sections.go", "row[j] = c.Alive[strconv.Itoa(n)].words()", "row[j] = c.Alive[strconv.Itoa(n+n)].words()"},
	{"sections.go", "{spentWords(metric, s.P50), spentWords(metric, s.P95)}", "{spentWords(metric, s.P95), spentWords(metric, s.P50)}"},
	{"sections.go", "return percent(lower) + \"–\" + percent(upper) + \" %\"", "return percent(lower) + \"–\" + percent(lower) + \" %\""},
	{"html.go", "n[string(stop.EndState)] += stop.N", "n[string(stop.EndState)] = stop.N"},
	{"html_cards.go", "Lower: width(r.Lower), Width: width(r.Upper - r.Lower)", "Lower: width(r.Lower), Width: width(r.Upper)"},
	{"html_trials.go", "worst[:min(staticRows, len(worst))]", "worst[1:min(staticRows, len(worst))]"},
	{"svg_curves.go", "		if p.T >= t {\n			return p.AtRisk", "		if p.T > t {\n			return p.AtRisk"},
	{"svg_curves.go", "if p.AtRisk < few && at == 0 {", "if p.AtRisk < few-1 && at == 0 {"},
	{"terminal.go", "shown = shown[:min(t.Max, len(shown))]", "shown = shown[:min(t.Max-1, len(shown))]"},
	{"figure.go", "'g', 12, 64)", "'g', 17, 64)"},
}

// Each planted fault still fits the code: its text is in the file once. Whoever changes
// such a line changes the fault, too.
func TestPlantsFit(t *testing.T) {
	for _, p := range plants {
		text, err := os.ReadFile(p.file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), p.from); n != 1 || p.from == p.to {
			t.Errorf("%s: %q is there %d times, want once", p.file, p.from, n)
		}
	}
}

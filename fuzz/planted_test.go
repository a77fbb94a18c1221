package fuzz

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every planted bug must be found within huntRuns cases, and its case be shrunk
// to at most huntSteps steps of the model.
const (
	huntRuns  = 20_000
	huntSteps = 6
)

// A planted bug is a small change of a file of the loop.
type planted struct {
	name     string
	file     string // below loop
	from, to string // from is in the file once
}

var plantedBugs = []planted{
	{"turn limit one too high", "machine.go", "m.spent.turns >= limit", "m.spent.turns > limit"},
	{"call limit one too high", "batch.go", "total > 0 && m.spent.calls >= total", "total > 0 && m.spent.calls > total"},
	{"asked limit one too high", "batch.go", "before+i >= most", "before+i > most"},
	{"asked limit counts what runs", "batch.go", "\t\tm.spent.asked++\n", "\t\tif c.spec != nil {\n\t\t\tm.spent.asked++\n\t\t}\n"},
	{"calls per turn one too high", "batch.go", "taken >= perTurn", "taken > perTurn"},
	{"try limit one too high", "batch.go", "m.spent.tries >= l.Tries", "m.spent.tries > l.Tries"},
	{"step limit one too high", "request.go", "m.spent.steps < limit", "m.spent.steps <= limit"},
	{"token limit one too low", "request.go", "m.spent.tokens > limit", "m.spent.tokens >= limit"},
	{"error limit one too high", "batch.go", "m.failing == limit &&", "m.failing == limit+1 &&"},
	{"breaker one too late", "detect/watcher.go", "w.rungs[rung].At > n", "w.rungs[rung].At >= n"},
	{"breaker keyed on raw JSON", "detect/canonical.go", "\terr := c.scan(args)\n\tif err != nil {", "\terr := c.scan(args)\n\tif c.out = append(c.out[:header], args...); err != nil {"},
	{"one retry too few", "batch.go", "c.try-c.tried <= limit", "c.try-c.tried < limit"},
	{"one model retry too many", "request.go", "r.ref.Try <= cfg.Max &&", "r.ref.Try <= cfg.Max+1 &&"},
	{"a retry after the stop", "batch.go", "\tcase backingOff:\n\t\t\tc.state, c.timer = final, never", "\tcase backingOff:"},
	{"a lost result", "batch.go", "\t\tm.putResult(c)\n\t\tm.settle(c)", "\t\tif c.why != NotStarted {\n\t\t\tm.putResult(c)\n\t\t}\n\t\tm.settle(c)"},
	{"an orphan after trimming", "history.go", "for next < len(m.history) && m.history[next].Role == ToolRole {", "for next < len(m.history) && next < i {"},
	{"results in the order of a map", "batch.go", "\tfor i := range m.batch {\n\t\tc := &m.batch[i]\n\t\tvar counts bool", "\tat := map[int]bool{}\n\tfor i := range m.batch {\n\t\tat[i] = true\n\t}\n\tfor i := range at {\n\t\tc := &m.batch[i]\n\t\tvar counts bool"},
	{"a cancel is ignored while calls run", "machine.go", "if m.phase != fresh && m.phase != halted {", "if m.phase != fresh && m.phase != halted && m.phase != executing {"},
	{"a timeout loses a tie", "machine.go", "if !armed || at > m.now {", "if !armed || at >= m.now {"},
	{"the grace is forgotten", "batch.go", "c.state, c.timer = cancelling, m.now+m.cfg.Time.Grace", "c.state, c.timer = cancelling, never"},
	{"a denial holds for one call of the batch only", "gate.go", "\t\tif !allow {\n\t\t\tc.block(Denied", "\t\tif !allow && c == asked {\n\t\t\tc.block(Denied"},
	{"an id is used twice", "batch.go", "used || c.ID == \"\"", "!used && c.ID == \"\""},
	{"one call too many in parallel", "batch.go", "active < limit)", "active <= limit)"},
	{"a result is cut one character late", "contracts.go", "\t\tif total == limit {", "\t\tif total == limit+1 {"},
	{"counters go on into the next run", "machine.go", "\tif m.cfg.Scope != ScopeSession {\n\t\tm.spent", "\tif m.cfg.Scope == \"\" {\n\t\tm.spent"},
	{"waiting for the user counts", "ending.go", "if m.cfg.Time.PauseForUser && m.deadline != never {", "if m.cfg.Time.PauseForUser && m.deadline == never {"},
	{"an empty reply stays", "request.go", "\tif blank {\n\t\tm.emit(Effect{Kind: Drop, Ref: ref})\n\t}", "\tif blank && text == \"\" {\n\t\tm.emit(Effect{Kind: Drop, Ref: ref})\n\t}"},
	{"a request that was too long is asked again as it is", "compact.go", "\tif !m.shorten(true) {", "\tif m.sendRequest(); !m.req.open {"},
	{"a compaction needed again soon is one with gain", "compact.go", "m.gains.turns <= h.ThrashTurns", "m.gains.turns < h.ThrashTurns"},
	{"above the bound after a compaction is a gain", "compact.go", " && gain > 0 && !m.tooLong())", " && gain > 0)"},
	{"tools do not count for the bound", "compact.go", "m.offered + EstimateRequest(", "EstimateRequest("},
	{"nothing to replace does not count as a compaction without gain", "compact.go", "textNothingToSum)\n\tm.gains.none++\n", "textNothingToSum)\n"},
	{"a summary is asked for without the task", "compact.go", "m.history[:to]...", "m.history[m.compaction.from:to]..."},
	{"negative numbers are rounded up", "detect/round.go", "\tif down < 0 {\n", "\tif down < -step {\n"},
	{"fractions below 0 are rounded up", "detect/round.go", "\t\tif fraction {\n", "\t\tif fraction && power > 0 {\n"},
	{"what is ignored in a result is another result", "detect/set.go", "r.result = w.resultKey(c)", "r.result = c.textHash()"},
	{"the path to all elements leads to the first", "detect/leave.go", "step.any, step.index, rest = inner == \"*\", n, after", "step.index, rest = n, after"},
	{"the same deadline once more", "request.go", "slices.Max(r.ran[:]) < cfg.SameDeadline", "slices.Max(r.ran[:]) <= cfg.SameDeadline"},
	{"a veto ends its own ladder", "detect/detector.go", "\t\treturn AsSame\n", "\t\treturn AsOther\n"},
	{"a ladder begins at its top", "detect/watcher.go", "w.rungs[rung].At > n {\n\t\trung--", "w.rungs[rung].At > n+1 {\n\t\trung--"},
	{"a repetition in time must be sooner", "detect/count.go", "later-sooner <= w.Within", "later-sooner < w.Within"},
	{"within counts from the first repetition", "detect/count.go", "first, lastTurn, lastAt = false, s.turn, s.at", "first, lastTurn = false, s.turn"},
	{"a tool that waits is counted", "detect/watcher.go", "len(w.Tools.Only) == 0 && c.Waits ||", ""},
	{"a payment is retried after a failure of the server", "batch.go", "\tcase NotSent, RateLimited,", "\tcase NotSent, RateLimited, RetryableServer,"},
	{"a payment that may have been made goes to the fallback", "contracts.go", "!once && m.mayFallBack(c)", "m.mayFallBack(c)"},
	{"a repeated id runs twice", "batch.go", "first := seen.find(m, &c); first > 0", "first := seen.find(m, &c); first > m.numbers.call"},
	{"a call that is sent once more runs again", "batch.go", "if m.req.broken > 0 {", "if m.req.broken > 99 {"},
	{"sub-runs one too deep", "contracts.go", "m.task.Depth >= l.Depth", "m.task.Depth > l.Depth"},
	{"one sub-run too many", "contracts.go", "m.spent.spawns >= l.Spawns", "m.spent.spawns > l.Spawns"},
	{"the sub-runs of sub-runs are forgotten", "request.go", "\tm.spent.spawns += in.Spawned\n", ""},
	{"the calls of sub-runs are forgotten", "request.go", "\tm.spent.calls += in.Used\n", ""},
	{"a sub-run may spend what is spent", "batch.go", "left(l.Tokens, s.tokens)", "left(l.Tokens, 0)"},
	{"a sub-run may make the calls that are made", "batch.go", "left(m.adapted(l.Calls), s.calls)", "left(m.adapted(l.Calls), 0)"},
	{"a sub-run may start the sub-runs that are started", "batch.go", "left(l.Spawns, s.spawns)", "left(l.Spawns, 0)"},
	{"nothing left does not bound a sub-run", "request.go", "\tcase limit <= spent:\n\t\treturn -1", "\tcase limit <= spent:\n\t\treturn 0"},
	{"what sub-runs ask for is forgotten", "request.go", "\tm.spent.asked += in.Asked\n", ""},
	{"a batch starts what its sub-runs cannot pay", "batch.go", "cmp.Or(reason, m.checkBudget())", "cmp.Or(reason, \"\")"},
	{"the calls of sub-runs take no place while a batch runs", "batch.go", "c.place+m.subs.calls > most", "c.place > most"},
	{"the sub-runs of sub-runs take no place while a batch runs", "batch.go", "c.spawns+m.subs.spawns > l.Spawns", "c.spawns > l.Spawns"},
	{"a session without a budget goes on", "machine.go", "if m.checkBudget() != \"\" {", "if m.cfg.Scope != ScopeSession && m.checkBudget() != \"\" {"},
	{"a sub-run has the grace of its caller", "setup.go", "caller.Time.Grace/2", "caller.Time.Grace"},
	{"a constraint of the same turn holds", "critic.go", "done <= last", "done < last"},
	{"a failed call keeps a constraint", "critic.go", "c.why == Executed && !c.failure}", "c.why == Executed}"},
	{"an answer with gaps once more", "critic.go", "m.unusable > m.cfg", "m.unusable > 1+m.cfg"},
	{"a last word with gaps is the answer", "ending.go", " && len(m.answerGaps(in.Text)) == 0", ""},
	{"a payment is made again after a resume", "session/resume.go", "spec.Idempotent == loop.NotIdempotent {", "spec.Idempotent == \"never\" {"},
	{"the cost that is spent is left for a sub-run", "batch.go", "left(m.cfg.Limits.nanoDollars(), m.spent.cost)", "left(m.cfg.Limits.nanoDollars(), 0)"},
	{"cost limit one too low", "request.go", "m.spent.cost > limit", "m.spent.cost >= limit"},
	{"a tightened limit is one too high", "config.go", "return floor + min(", "return floor + 1 + min("},
	{"calls that succeed do not loosen a tightened limit", "batch.go", "m.spent.ended += considered", "m.spent.ended += failed"},
	{"a tool's own number of retries is forgotten", "batch.go", "if c.spec.Retries != 0 {", "if c.spec.Retries < 0 {"},
	{"a tool's own retry policy is forgotten", "batch.go", "own := c.spec.Retry; own != nil", "own := c.spec.Retry; own != nil && own.Max == 0"},
	{"a permission that nobody answers is granted", "gate.go", "m.permissionAnswered(false, textUnanswered", "m.permissionAnswered(true, textUnanswered"},
	{"a permission waits twice as long", "gate.go", "after(m.now, m.cfg.Time.Permission)", "after(m.now, 2*m.cfg.Time.Permission)"},
	{"a forced model stays forced", "request.go", "m.called && !c.Hold", "m.called && c.Hold"},
	{"a hook that ends the run vetoes a call", "gate.go", "if !in.Allow && in.Cause == ByHook {", "if !in.Allow && in.Cause == ByHook && m.gate.index > 0 {"},
	{"the end that a hook asks for after a call is forgotten", "gate.go", "\t\tif !in.Allow {\n\t\t\tm.decide(StopCancelled, reasonHook(in.Text), messageCancelled)\n\t\t}\n\t\tm.phase", "\t\tm.phase"},
	{"a failed call resets the error count", "batch.go", "if failed == considered || failed > 0 &&", "if failed == considered && considered > 1 || failed > 0 &&"},
}

// TestPlanted plants each bug in a copy of the loop, and hunts for it. It takes
// minutes, and runs only on request: AGENTBENCH_PLANTED=1 go test -run Planted -v
// ./fuzz. A regular expression in place of 1 selects bugs by their names.
// docs/testing.md has the table that it prints.
func TestPlanted(t *testing.T) {
	wanted := os.Getenv("AGENTBENCH_PLANTED")
	if wanted == "" {
		t.Skip("takes minutes: AGENTBENCH_PLANTED=1 runs it")
	}
	if wanted == "1" {
		wanted = ""
	}
	chosen := regexp.MustCompile(wanted)
	t.Logf("| planted bug | found by | runs needed | shrunk to |")
	for _, bug := range plantedBugs {
		if !chosen.MatchString(bug.name) {
			continue
		}
		found, err := bug.hunt(t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", bug.name, err)
			continue
		}
		t.Logf("| %s | %s | %d | %v |", bug.name, found.Invariant, found.Runs, found.Size)
		if found.Runs > huntRuns || found.Size.Steps > huntSteps {
			t.Errorf("%s: found after %d runs and shrunk to %d steps; at most %d and %d are allowed", bug.name, found.Runs, found.Size.Steps, huntRuns, huntSteps)
		}
	}
}

// prey is a bug that was found.
type prey struct {
	Invariant Invariant
	Runs      int
	Size      Size
	Scenario  string
}

// hunt runs TestHunt with the bug in the loop.
func (b *planted) hunt(dir string) (found prey, err error) {
	file, err := filepath.Abs(filepath.Join("..", "loop", b.file))
	if err != nil {
		return found, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return found, err
	}
	if n := strings.Count(string(text), b.from); n != 1 {
		return found, fmt.Errorf("%s has %q %d times: the loop has changed, and so must this test", b.file, b.from, n)
	}
	changed, overlay := filepath.Join(dir, "changed.go"), filepath.Join(dir, "overlay.json")
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{file: changed}})
	err = errors.Join(err, os.WriteFile(changed, []byte(strings.Replace(string(text), b.from, b.to, 1)), 0o600), os.WriteFile(overlay, list, 0o600))
	if err != nil {
		return found, err
	}
	cmd := exec.Command("go", "test", "-vet=off", "-overlay", overlay, "-count=1", "-v", "-run", "^TestHunt$", ".")
	cmd.Env = append(os.Environ(), "AGENTBENCH_HUNT=1")
	out, err := cmd.CombinedOutput()
	line := regexp.MustCompile(`(?m)^\s*\S+: found (\{.*\})$`).FindSubmatch(out)
	if line == nil {
		return found, fmt.Errorf("not found: %v\n%s", err, out)
	}
	return found, json.Unmarshal(line[1], &found)
}

// TestHunt checks cases until one breaks an invariant, and prints it.
func TestHunt(t *testing.T) {
	if os.Getenv("AGENTBENCH_HUNT") == "" {
		t.Skip("TestPlanted calls it, with a bug in the loop")
	}
	enough := errors.New("enough")
	err := Run(context.Background(), Options{Seed: 1, Runs: huntRuns}, func(v *Checked) error {
		if v.Violation == nil {
			return nil
		}
		small := Shrink(v.Case, v.Violation.Invariant)
		p := prey{v.Violation.Invariant, v.Number + 1, small.Size(), string(small.YAML("planted", "a planted bug", v.Violation.Problem))}
		line, err := json.Marshal(p)
		t.Logf("found %s", line)
		return errors.Join(enough, err)
	})
	if !errors.Is(err, enough) {
		t.Errorf("nothing found: %v", err)
	}
}

package scenarios

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/agentbench-go/agentbench/fakes"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/goccy/go-yaml/ast"
)

var validName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// check reports values that are valid alone, but not together with the others.
func (s *source) check(f *scenarioFile) {
	if !validName.MatchString(f.Name) {
		s.failAt("name", fmt.Sprintf("name must be ASCII letters, digits, dots and hyphens, not %s", quoted(f.Name)), "such as same-call-forever")
	}
	s.checkTools("", f.Tools)
	s.oneKey("", "a scenario", "model", "cassette")
	s.checkChoice(f)
	s.checkConstraints(f)
	s.checkModel("", f.Model)
	s.checkCassette(f.Cassette)
	s.checkUser(f)
	s.checkOverlay(f)
}

// checkChoice checks the tool choice: it must name a tool and be able to act.
func (s *source) checkChoice(f *scenarioFile) {
	names := []string{loop.UseRequired, autoChoice}
	for i := range f.Tools {
		names = append(names, f.Tools[i].Name)
	}
	switch c := &f.ToolChoice; {
	case c.Use == "" && c.Hold:
		s.failAt("tool_choice.hold", "hold never acts with auto", "")
	case c.Use == "":
	case !slices.Contains(names, c.Use):
		s.failAt("tool_choice", "tool_choice must be required, auto or the name of a tool, not "+quoted(c.Use), hintWord(c.Use, names))
	case loop.Planner(f.Planner) == loop.PlannerJSON || len(f.Tools) == 0:
		s.failAt("tool_choice", "tool_choice never acts without tools that the model can call", "a planner's requests offer none")
	}
}

// checkConstraints checks the constraints: each needs a rule, and all need a critic.
func (s *source) checkConstraints(f *scenarioFile) {
	var names []string
	for i := range f.Tools {
		names = append(names, f.Tools[i].Name)
	}
	if len(f.Constraints) > 0 && f.Critic != rulesWord {
		s.failAt("constraints", "constraints never act without critic: rules", "")
	}
	for i, c := range f.Constraints {
		at := fmt.Sprintf("constraints[%d]", i)
		if strings.TrimSpace(c.Text) == "" {
			s.failAt(at+".text", "text must not be empty", "the model reads it")
		}
		if c.Called == "" && c.Says == "" && c.Omits == "" {
			s.failAt(at, "a constraint needs called, says or omits", "what only the model reads stands in system")
		}
		for _, tool := range []struct{ key, name string }{{"called", c.Called}, {"after", c.After}} {
			if tool.name != "" && !slices.Contains(names, tool.name) {
				s.failAt(at+"."+tool.key, "there is no tool "+quoted(tool.name), hintWord(tool.name, names))
			}
		}
		for _, expr := range []struct{ key, text string }{{"with", c.With}, {"says", c.Says}, {"omits", c.Omits}} {
			if _, err := regexp.Compile(expr.text); err != nil {
				s.failAt(at+"."+expr.key, fmt.Sprintf("%s is not a regular expression: %v", expr.key, err), "")
			}
		}
		s.needs(at, "with", "called")
		s.needs(at, "after", "called")
	}
}

// checkTools checks a list of tools. in is the path before it, such as "" or
// tools[0].session. with its dot.
func (s *source) checkTools(in string, tools []toolEntry) {
	names := make([]string, len(tools))
	for i := range tools {
		names[i] = tools[i].Name
	}
	seen := map[string]bool{}
	for i := range tools {
		t, at := &tools[i], fmt.Sprintf("%stools[%d]", in, i)
		switch {
		case t.Name == "" || strings.TrimSpace(t.Name) != t.Name:
			s.failAt(at+".name", fmt.Sprintf("the name of a tool must not be empty or begin or end with white space: %s", quoted(t.Name)), "")
		case seen[t.Name]:
			s.failAt(at+".name", fmt.Sprintf("there is a second tool %s", quoted(t.Name)), "")
		}
		seen[t.Name] = true
		s.checkRetry(at, t)
		if t.Fallback != "" && (t.Fallback == t.Name || !slices.Contains(names, t.Fallback)) {
			s.failAt(at+".fallback", fmt.Sprintf("there is no other tool %s", quoted(t.Fallback)), hintWord(t.Fallback, without(names, t.Name)))
		}
		if child(find(s.root, at), "answers") != nil && len(t.Answers) == 0 {
			s.failAt(at+".answers", "answers must not be empty", "a tool that never answers has [{hang: true}]")
		}
		s.checkAnswers(at+".answers", t.Answers)
		s.oneKey(at, "a tool", "answers", "session")
		if x := t.Session; x != nil {
			s.checkTools(at+".session.", x.Tools)
			s.checkModel(at+".session.", x.Model)
		}
	}
}

// checkRetry checks a tool's own retry policy.
func (s *source) checkRetry(at string, t *toolEntry) {
	if t.Retry == nil {
		return
	}
	cfg := loop.Off()
	cfg.Retry = loop.Retry(*t.Retry)
	s.fields(at, cfg.Validate())
	if cfg.Retry.Max > 0 && len(cfg.Retry.Codes) == 0 {
		s.failAt(at+".retry.codes", "codes is empty, so max never acts", "")
	}
	if t.Retries != nil {
		s.failAt(at+".retries", "retries must not stand beside retry", "retry has max")
	}
}

func (s *source) checkAnswers(at string, answers []answerEntry) {
	last := -1 // the answer after which no other is reached
	for i := range answers {
		a, here := &answers[i], fmt.Sprintf("%s[%d]", at, i)
		if last >= 0 {
			s.failAt(here, fmt.Sprintf("this answer is never given: answer %d takes every call", last+1), "give the other one times or when, or put it last")
		} else if a.When == nil && a.Times == 0 && s.has(here, "when", "times") == "" {
			last = i
		}
		s.oneKey(here, "an answer", "result", "error", "hang")
		s.needs(here, "text", "error")
		if s.has(here, "result_chars") != "" && s.has(here, "error", "hang") != "" {
			s.failAt(here+".result_chars", "result_chars goes with a result only", "")
		}
		for j := range a.Failures {
			s.notBoth(fmt.Sprintf("%s.failures[%d]", here, j), "hang", "error", "text")
		}
	}
}

func (s *source) checkModel(in string, model []stepEntry) {
	if s.has(strings.TrimSuffix(in, "."), "model") != "" && len(model) == 0 {
		s.failAt(in+"model", "model must not be empty", "")
	}
	last := -1 // the entry after which no other is reached
	for i := range model {
		e, at := &model[i], fmt.Sprintf("%smodel[%d]", in, i)
		if m, ok := find(s.root, at).(*ast.MappingNode); ok && len(m.Values) == 0 {
			s.failAt(at, "an entry of model must say something", `an empty reply is {text: ""}`)
		}
		switch unconditional := s.has(at, "when") == ""; {
		case unconditional && last >= 0:
			s.failAt(at, fmt.Sprintf("the model never reaches this entry: entry %d repeats forever", last+1), "put this entry first, or give the other one a number")
		case unconditional && e.Repeat == fakes.Forever:
			last = i
		}
		s.needs(at, "first_token", "chunks")
		s.needs(at, "fail_forever", "failures")
		if most := max(e.Latency.Min, e.Latency.Max); most > 0 && e.FirstToken > most {
			s.failAt(at+".first_token", fmt.Sprintf("the first piece comes after %v, but the whole reply after %v", e.FirstToken, most), "latency counts from the request")
		}
		for j := range e.Failures {
			s.notBoth(fmt.Sprintf("%s.failures[%d]", at, j), "hang", "status", "retry_after", "text")
		}
	}
}

// CassetteSuffix ends the name of every cassette and of no scenario.
const CassetteSuffix = ".cassette.yaml"

func (s *source) checkCassette(path string) {
	switch {
	case s.has("", "cassette") == "":
	case !strings.HasSuffix(path, CassetteSuffix):
		s.failAt("cassette", fmt.Sprintf("the name of a cassette ends in %s, not %s", CassetteSuffix, quoted(path)), "agentbench record makes one")
	case !filepath.IsLocal(filepath.FromSlash(path)):
		s.failAt("cassette", fmt.Sprintf("%s is not in the folder of this file or below it", quoted(path)), "")
	}
}

func (s *source) checkUser(f *scenarioFile) {
	var names []string
	asks := map[string]bool{}
	var collect func(tools []toolEntry)
	collect = func(tools []toolEntry) {
		for i := range tools {
			names = append(names, tools[i].Name)
			asks[tools[i].Name] = asks[tools[i].Name] || tools[i].Permission != ""
			if x := tools[i].Session; x != nil {
				collect(x.Tools)
			}
		}
	}
	collect(f.Tools)
	last := -1
	for i := range f.User.Permissions {
		p, at := &f.User.Permissions[i], fmt.Sprintf("user.permissions[%d]", i)
		asked, known := asks[p.Tool]
		switch {
		case p.Tool != "" && !known:
			s.failAt(at+".tool", fmt.Sprintf("there is no tool %s", quoted(p.Tool)), hintWord(p.Tool, names))
		case p.Tool != "" && !asked:
			s.failAt(at+".tool", fmt.Sprintf("the user is never asked about %s", quoted(p.Tool)), "give the tool permission: batch or permission: call")
		case last >= 0:
			s.failAt(at, fmt.Sprintf("this answer is never given: answer %d matches every request", last+1), "give the other one a tool, when or times, or put it last")
		}
		if last < 0 && s.has(at, "tool", "when", "times") == "" {
			last = i
		}
		s.oneKey(at, "an entry of permissions", "answer", "hang")
	}
	s.checkHooks(&f.Hooks, names)
	s.checkReplies(f.User.Replies)
	s.checkMessages(f.User.Messages)
	if f.User.Cancel != nil {
		s.oneKey("user.cancel", "cancel", "at", "call")
	}
}

// checkOverlay checks that the tools of the faults exist.
func (s *source) checkOverlay(f *scenarioFile) {
	var names []string
	for i := range f.Tools {
		names = append(names, f.Tools[i].Name)
	}
	for i := range f.Faults {
		if tool := f.Faults[i].Tool; tool != "" && !slices.Contains(names, tool) {
			s.failAt(fmt.Sprintf("faults[%d]", i), fmt.Sprintf("there is no tool %s", quoted(tool)), hintWord(tool, names))
		}
	}
}

func (s *source) checkReplies(replies []replyEntry) {
	for i := range replies {
		at := fmt.Sprintf("user.replies[%d]", i)
		s.notBoth(at, "hang", "answer", "text", "after")
		if s.has(at, "times") == "" && i < len(replies)-1 {
			s.failAt(fmt.Sprintf("user.replies[%d]", i+1), fmt.Sprintf("this reply is never given: reply %d answers every question", i+1), "give the other one times, or put it last")
			return
		}
	}
}

// checkExpect refuses expectations that can never be met.
func (s *source) checkExpect(f *scenarioFile, cfg *loop.Config) {
	s.checkEnd("expect", &f.Expect.session, cfg)
	runs := f.Expect.runs
	for i := range runs {
		s.checkEnd(fmt.Sprintf("expect[%d]", i), &runs[i], cfg)
	}
	if runs != nil {
		s.checkRuns(runs, f.User.Messages)
	}
}

// checkHooks refuses hooks that never act or have no effect.
func (s *source) checkHooks(h *hooksEntry, tools []string) {
	known := func(at, tool string) {
		if tool != "" && !slices.Contains(tools, tool) {
			s.failAt(at+".tool", fmt.Sprintf("there is no tool %s", quoted(tool)), hintWord(tool, tools))
		}
	}
	last := -1
	for i := range h.BeforeCall {
		at := fmt.Sprintf("hooks.before_call[%d]", i)
		known(at, h.BeforeCall[i].Tool)
		if last >= 0 {
			s.failAt(at, fmt.Sprintf("this hook never acts: hook %d acts on every call", last+1), "give the other one a tool, when or times, or put it last")
		} else if s.has(at, "tool", "when", "times") == "" {
			last = i
		}
		s.oneKey(at, "an entry of before_call", "veto", "args", "end")
		for key, text := range map[string]string{"veto": h.BeforeCall[i].Veto, "end": h.BeforeCall[i].End} {
			if text == "" && s.has(at, key) != "" {
				s.failAt(at+"."+key, key+" must not be empty", "it is the reason that the model or the user reads")
			}
		}
	}
	for i := range h.AfterCall {
		at := fmt.Sprintf("hooks.after_call[%d]", i)
		known(at, h.AfterCall[i].Tool)
		if h.AfterCall[i].Result == "" && s.has(at, "result") != "" {
			s.failAt(at+".result", "result must not be empty", "an empty result changes nothing")
		}
	}
}

// checkMessages refuses a message during a run that is also a follow-up.
func (s *source) checkMessages(messages []messageEntry) {
	for i := range messages {
		at := fmt.Sprintf("user.messages[%d]", i)
		s.notBoth(at, "at", "after", "wait")
		if s.has(at, "at") != "" && messages[i].At == 0 {
			s.failAt(at+".at", "at must be later than the task", "the task is the message at 0s")
		}
	}
}

// checkRuns refuses expectations of runs that cannot happen: the task and each follow-up
// message start one run, and no run follows one that did not end as the message after it
// asks.
func (s *source) checkRuns(runs []expectEntry, messages []messageEntry) {
	messages = slices.DeleteFunc(slices.Clone(messages), func(m messageEntry) bool { return m.At > 0 })
	most := 1 + len(messages)
	if len(runs) == 0 {
		s.failAt("expect", "expect must not be empty", "a list has one entry for each run; {} expects nothing")
	}
	for i := range runs {
		at := fmt.Sprintf("expect[%d]", i)
		if i >= most {
			s.failAt(at, fmt.Sprintf("there is no run %d: the script has %d", i+1, most), "a run begins with the task, and with each of user.messages")
			return
		}
		end := loop.EndState(runs[i].EndState)
		if end == "" && runs[i].Stop != "" {
			end = loop.Stop(runs[i].Stop).EndState()
		}
		if i < len(runs)-1 && end != "" && end != loop.Done && i < len(messages) && messages[i].After != afterAny {
			s.failAt(at, fmt.Sprintf("run %d never begins: run %d ends as %s", i+2, i+1, end), "the user's next message comes only after DONE, unless it has after: any")
			return
		}
	}
}

// checkEnd refuses an unknown stop, and a stop that does not lead to the expected end
// state.
func (s *source) checkEnd(at string, e *expectEntry, cfg *loop.Config) {
	words := stops()
	for _, d := range cfg.Detectors {
		words = append(words, d.Name)
	}
	for i, stop := range e.SubStops {
		// Sub-runs may have detectors of their own, so a word that is unlike all is fine.
		if hint := hintWord(stop, words); hint != "" && !slices.Contains(words, stop) {
			s.failAt(fmt.Sprintf("%s.sub_stops[%d]", at, i), fmt.Sprintf("there is no stop %s", quoted(stop)), hint)
		}
	}
	if e.Stop == "" {
		return
	}
	stop := loop.Stop(e.Stop)
	switch {
	case !slices.Contains(words, e.Stop):
		s.failAt(at+".stop", fmt.Sprintf("there is no stop %s", quoted(e.Stop)), hintWord(e.Stop, words))
	case e.EndState != "" && stop.EndState() != loop.EndState(e.EndState):
		s.failAt(at+".stop", fmt.Sprintf("the stop %s ends a run as %s, not as %s", e.Stop, stop.EndState(), e.EndState), "")
	}
}

// stops returns the stops that can end a scenario, without those of detectors.
func stops() []string {
	return words(slices.DeleteFunc(loop.Stops(), func(s loop.Stop) bool {
		return slices.Contains([]loop.EndState{loop.RecordingEnded, loop.StoppedByAgent, loop.Hung}, s.EndState())
	}))
}

// has returns the first of the keys that the mapping at a path has, or "".
func (s *source) has(at string, keys ...string) string {
	n := find(s.root, at)
	for _, key := range keys {
		if child(n, key) != nil {
			return key
		}
	}
	return ""
}

// oneKey reports a mistake unless exactly one of the keys is there.
func (s *source) oneKey(at, what string, keys ...string) {
	n, found := find(s.root, at), ""
	for _, key := range keys {
		switch {
		case child(n, key) == nil:
		case found != "":
			s.failAt(at+"."+key, fmt.Sprintf("%s has both %s and %s", what, found, key), "it is one or the other")
			return
		default:
			found = key
		}
	}
	if _, ok := n.(*ast.MappingNode); ok && found == "" && s.has(at, "result_chars") == "" {
		s.fail(n, fmt.Sprintf("%s has none of %s", what, strings.Join(keys, ", ")), "")
	}
}

// notBoth refuses the other keys beside key, which makes them meaningless.
func (s *source) notBoth(at, key string, others ...string) {
	if other := s.has(at, others...); other != "" && s.has(at, key) != "" {
		s.failAt(at+"."+other, fmt.Sprintf("%s cannot be combined with %s", other, key), "take one of them out")
	}
}

// needs refuses a key without the other one, on which it depends.
func (s *source) needs(at, key, other string) {
	if s.has(at, key) != "" && s.has(at, other) == "" {
		s.failAt(at+"."+key, fmt.Sprintf("%s needs %s", key, other), "")
	}
}

var oneOf = regexp.MustCompile(`^must be one of (.+), not "(.*)"$`)

// fields reports the [loop.FieldError]s of a joined error. at is the path that their
// fields are relative to, "" for the whole file.
func (s *source) fields(at string, err error) {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			s.fields(at, e)
		}
		return
	}
	var f *loop.FieldError
	if !errors.As(err, &f) {
		if err != nil {
			s.failAt(at, err.Error(), "")
		}
		return
	}
	name := f.Field[strings.LastIndexByte(f.Field, '.')+1:]
	hint := ""
	if m := oneOf.FindStringSubmatch(f.Problem); m != nil {
		hint = hintWord(m[2], strings.Split(m[1], ", "))
	}
	s.failAt(at+"."+f.Field, name+" "+f.Problem, hint)
}

// without returns the words except one.
func without(words []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == word })
}

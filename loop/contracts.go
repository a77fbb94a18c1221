package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A SchemaCompiler compiles JSON Schemas (draft 2020-12). The package
// loop/contract has one. The loop needs one only if contracts are on.
type SchemaCompiler interface {
	// Compile compiles a schema. It reads no files and uses no network.
	Compile(schema string) (Schema, error)
}

// A Schema is a compiled JSON Schema. Its Check is a pure function.
type Schema interface {
	// Check reads a JSON text, fills in the schema's defaults, and makes at most
	// repairs repairs: it adds or renames a missing field if only one way fits,
	// and corrects an enum value within edit distance 2 of exactly one member.
	// fixed is the text afterwards, and repaired the number of repairs. problem
	// is "" if fixed matches the schema; missing lists the required fields that
	// it lacks.
	Check(text string, repairs int) (fixed string, repaired int, problem string, missing []string)
}

// Contracts says which schemas of the tools are checked, and bounds results.
type Contracts struct {
	// BrokenArgs says what becomes of a call whose arguments are not a JSON object.
	BrokenArgs BrokenArgs `yaml:"broken_args"`
	// Input checks arguments against [ToolSpec].Input. A call whose arguments do
	// not match is invalid, and is not executed.
	Input bool `yaml:"input"`
	// Output checks results against [ToolSpec].Output. A call whose result does
	// not match ends as OutputSchemaMismatch. A NoResults result is not checked.
	Output bool `yaml:"output"`
	// Repair is the largest number of repairs to one text; 0 means none.
	Repair int `yaml:"repair"`
	// PageLimit is the largest number of pages of one answer. A call reads page 2
	// or a later one if its arguments contain the next_page or nextToken of an
	// earlier result of its tool. Page PageLimit+1 is refused. 0 means no bound.
	PageLimit int `yaml:"page_limit"`
	// MaxPayloadBytes is the length in bytes above which a result is cut, between
	// two characters and with a notice. 0 means no bound.
	MaxPayloadBytes int `yaml:"max_payload_bytes"`
}

// A BrokenArgs says what becomes of a call whose arguments are not a JSON object.
type BrokenArgs string

// The choices. The zero value is BrokenAnswered.
const (
	BrokenAnswered BrokenArgs = "answer" // it gets a result that says so
	// BrokenDropped takes it out of the reply (event dropped-call). A reply of which
	// nothing else is left is empty, or an answer if it has text. With [PlannerJSON] it
	// is as BrokenAnswered.
	BrokenDropped BrokenArgs = "drop"
)

// Policy says what happens after a failed call.
type Policy struct {
	// OnFailure says whether the model or the table of [Failing.Resolve] decides.
	OnFailure OnFailure `yaml:"on_failure"`
	// Fallbacks calls a tool's fallback after the last retry failed, or if the
	// tool's breaker or rate refuses the call. With FailureModel that is after any
	// failure except invalid input, with FailureTable where the table says so. The
	// fallback gets the same arguments. It is skipped if they break its schema or
	// if its own breaker or rate refuses it. It needs no permission.
	Fallbacks bool `yaml:"fallbacks"`
	// AskMissing asks the user for required arguments that are missing. With
	// FailureTable it also asks when a tool itself answers InvalidInput. Without an
	// answer the run stops with needs-user.
	AskMissing bool `yaml:"ask_missing"`
}

// An OnFailure says what decides after a failed call.
type OnFailure string

// The choices. The zero value is FailureModel.
const (
	FailureModel OnFailure = "model" // the model reads the error and decides
	FailureTable OnFailure = "table" // the table of [Failing.Resolve] decides
)

// A Rate allows at most Calls calls in any window of length Per. The zero Rate
// allows any number.
type Rate struct {
	Calls int           `yaml:"calls"`
	Per   time.Duration `yaml:"per"`
}

// A ToolBreaker disables a tool for Cooldown after Failures failed calls in a
// row. Then it lets one call through: a success enables the tool, a failure
// disables it for another Cooldown. The zero ToolBreaker never disables a tool.
type ToolBreaker struct {
	Failures int           `yaml:"failures"`
	Cooldown time.Duration `yaml:"cooldown"`
}

// A tool is a tool of the session with the state that the machine keeps of it.
// The state lasts for the session, whatever the scope.
type tool struct {
	*ToolSpec
	input, output Schema

	starts   []time.Duration // when the calls in the window of Rate began
	failures int             // in a row
	closedAt time.Duration   // when the cooldown of Breaker ends
	probing  bool            // Breaker let a call through that has not ended
	pages    map[string]int  // the page to which each token leads
}

// refuse returns the reason why breaker or rate refuse a call of the tool now, or
// "" if they do not.
func (t *tool) refuse(now time.Duration) string {
	if b := t.Breaker; b.Failures > 0 && t.failures >= b.Failures {
		if now < t.closedAt || t.probing {
			return textDisabled(t.Name, t.failures, t.closedAt-now)
		}
	}
	if r := t.Rate; r.Calls > 0 {
		for len(t.starts) > 0 && t.starts[0]+r.Per <= now {
			t.starts = t.starts[1:]
		}
		if len(t.starts) >= r.Calls {
			return textRate(t.Name, r, t.starts[0]+r.Per-now)
		}
	}
	return ""
}

// admit records that a call passed refuse.
func (t *tool) admit(now time.Duration) {
	if t.Rate.Calls > 0 {
		t.starts = append(t.starts, now)
	}
	if b := t.Breaker; b.Failures > 0 && t.failures >= b.Failures {
		t.probing = true
	}
}

// ended records that a call ended, and whether it failed.
func (t *tool) ended(now time.Duration, failed bool) {
	t.probing = false
	if !failed {
		t.failures = 0
		return
	}
	t.failures++
	if b := t.Breaker; b.Failures > 0 && t.failures >= b.Failures {
		t.closedAt = now + b.Cooldown
	}
}

// page returns the page that a call reads: 1, unless its arguments contain a token
// of an earlier result.
func (t *tool) page(args string) int {
	if len(t.pages) == 0 {
		return 1
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &fields) != nil {
		return 1
	}
	page := 1
	for name, value := range fields {
		if pageArgs[name] {
			page = max(page, t.pages[pageToken(value)])
		}
	}
	return page
}

// pageArgs holds the names of the arguments in which APIs take a page or a token.
var pageArgs = map[string]bool{"page": true, "next_page": true, "nextPage": true, "page_token": true, "pageToken": true,
	"next_token": true, "nextToken": true, "token": true, "cursor": true}

// pageToken returns a token in one spelling, so that "2" and 2, or 2 and 2.0, are
// the same page.
func pageToken(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	return fmt.Sprint(v)
}

// offersPage reports whether a result may name a page after it. A long text that is
// not an object is not searched.
func offersPage(result string) bool {
	return strings.HasPrefix(strings.TrimLeft(result, " \t\r\n"), "{") &&
		(strings.Contains(result, "next_page") || strings.Contains(result, "nextToken"))
}

// nextPage remembers the token in the result of a page, and returns it.
func (t *tool) nextPage(result string, page int) (token string) {
	var fields struct {
		NextPage  json.RawMessage `json:"next_page"`
		NextToken json.RawMessage `json:"nextToken"`
	}
	if json.Unmarshal([]byte(result), &fields) != nil {
		return ""
	}
	for _, raw := range []json.RawMessage{fields.NextPage, fields.NextToken} {
		if text := string(raw); text != "" && text != "null" && text != `""` && text != "false" {
			if t.pages == nil {
				t.pages = map[string]int{}
			}
			t.pages[pageToken(raw)] = page + 1
			return text
		}
	}
	return ""
}

// compileSchemas compiles the schemas that the config checks.
func (m *Machine) compileSchemas() error {
	c := &m.cfg.Contracts
	if !c.Input && !c.Output {
		return nil
	}
	for _, name := range m.names {
		t := m.tools[name]
		for _, s := range []struct {
			on     bool
			text   string
			target *Schema
			what   string
		}{{c.Input, t.Input, &t.input, "input"}, {c.Output, t.Output, &t.output, "output"}} {
			if !s.on || s.text == "" {
				continue
			}
			if m.task.Schemas == nil {
				return &FieldError{Field: "contracts", Problem: "needs a schema compiler: set Task.Schemas"}
			}
			schema, err := m.task.Schemas.Compile(s.text)
			if err != nil {
				return &FieldError{Field: "tools[" + strconv.Itoa(slices.Index(m.names, name)) + "]." + s.what, Problem: err.Error()}
			}
			*s.target = schema
		}
	}
	return nil
}

// checkTools reports every invalid field of the tools except their names.
func (m *Machine) checkTools(tools []ToolSpec) error {
	var v validation
	for i := range tools {
		t := &tools[i]
		v.list, v.index = "tools", i
		v.duration("timeout", t.Timeout)
		if t.Retry != nil {
			v.retry(t.Retry)
			if t.Retries != 0 {
				v.add("retries", "must not stand beside retry, which has max")
			}
			if t.Retry.Max > 0 && len(t.Retry.Codes) == 0 {
				v.add("retry.codes", "must not be empty where max is above 0: nothing would be retried")
			}
		}
		v.count("rate.calls", t.Rate.Calls)
		v.duration("rate.per", t.Rate.Per)
		v.count("breaker.failures", t.Breaker.Failures)
		v.duration("breaker.cooldown", t.Breaker.Cooldown)
		if t.Rate.Calls > 0 && t.Rate.Per == 0 {
			v.add("rate.per", "must be set")
		}
		if f := m.tools[t.Fallback]; t.Fallback != "" && f == nil {
			v.add("fallback", "there is no tool %q", t.Fallback)
		} else if f != nil && (f.Permission != AskNever || f.SubRun) {
			v.add("fallback", "%q must not need a permission or start a run, since the model did not ask for it: choose another tool", t.Fallback)
		}
	}
	return v.err()
}

// checkInput checks a call's arguments against the tool's input schema. It takes
// over the mended arguments, or blocks the call.
func (m *Machine) checkInput(c *call, cut bool) {
	if c.spec.input == nil {
		return
	}
	text := c.toolArgs
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	fixed, missing, ok := m.checkSchema(c, c.spec.input, text)
	if ok {
		c.toolArgs = fixed
		return
	}
	c.code, c.missing = InvalidInput, missing
	c.block(InvalidArgs, textInvalid(c.Name, errors.New(fixed), cut))
}

// checkOutput checks a call's result against the tool's output schema. It takes
// over the mended result, or makes the call fail.
func (m *Machine) checkOutput(c *call) {
	if c.spec.output == nil || c.code == NoResults {
		return
	}
	fixed, _, ok := m.checkSchema(c, c.spec.output, c.text)
	if ok {
		c.text = fixed
		return
	}
	c.code, c.text = OutputSchemaMismatch, textContract(fixed)
}

// checkSchema checks a text and counts the repairs. It returns the mended text, or
// if ok is false the problem in its place, and the required fields that are
// missing.
func (m *Machine) checkSchema(c *call, s Schema, text string) (fixed string, missing []string, ok bool) {
	fixed, repaired, problem, missing := s.Check(text, m.cfg.Contracts.Repair)
	if repaired > 0 {
		m.out.Repairs++
		if problem == "" {
			m.out.RepairsOK++
		}
		m.note(c.ref(), EventRepaired, strconv.Itoa(repaired))
	}
	if problem != "" {
		return problem, missing, false
	}
	return fixed, nil, true
}

// refuseTool checks the limits on sub-runs and pages and the tool's breaker and
// rate. It reports whether it refused the call.
func (m *Machine) refuseTool(c *call) bool {
	l := &m.cfg.Limits
	if c.spec.SubRun {
		if l.Depth > 0 && m.task.Depth >= l.Depth {
			c.block(Refused, reasonDepth(l.Depth))
			m.decide(StopDepthLimit, reasonDepth(l.Depth), messageBudget)
			return true
		}
		if l.Spawns != 0 && m.spent.spawns >= l.Spawns {
			c.block(Refused, reasonSpawns(l.Spawns))
			m.decide(StopSpawnLimit, reasonSpawns(l.Spawns), messageBudget)
			return true
		}
	}
	if limit := m.cfg.Contracts.PageLimit; limit > 0 {
		if c.page = c.spec.page(c.Args); c.page > limit {
			c.block(Refused, textPages(c.Name, limit))
			return true
		}
	}
	if text := c.spec.refuse(m.now); text != "" {
		if !m.mayFallBack(c) {
			c.block(Refused, text)
			return true
		}
		m.useFallback(c)
	}
	if c.spec.SubRun {
		m.spent.spawns++
		c.spawns = m.spent.spawns
	}
	return false
}

// toolTimeout returns the time that a try of the call may take; 0 means no bound.
func (m *Machine) toolTimeout(c *call) time.Duration {
	if c.spec.Timeout > 0 {
		return c.spec.Timeout
	}
	return m.cfg.Time.Tool
}

// resolve returns what follows a try: a retry, the fallback, or the end of the
// call.
func (m *Machine) resolve(c *call) Resolution {
	if !c.code.Failed() || m.draining {
		return ResolveModel
	}
	f := m.whatFailed(c)
	if m.cfg.Policy.OnFailure == FailureTable {
		return f.Resolve()
	}
	switch {
	case f.RetriesLeft:
		return ResolveRetry
	case f.Fallback && c.code != InvalidInput:
		return ResolveFallback
	}
	return ResolveModel
}

// whatFailed returns the row and the columns of the policy table for a call.
func (m *Machine) whatFailed(c *call) Failing {
	p := &m.cfg.Policy
	once := c.why == Executed && c.spec.Idempotent == NotIdempotent && c.mayHaveActed()
	answered := c.why == Executed && c.code == InvalidInput
	return Failing{
		Code:        c.code,
		RetriesLeft: c.why == Executed && !once && m.mayRetry(c),
		Fallback:    !once && m.mayFallBack(c),
		Missing:     p.AskMissing && (len(c.missing) > 0 || answered && p.OnFailure == FailureTable),
		Answered:    answered,
	}
}

// mayFallBack reports whether the fallback of the call's tool may be called now
// with the same arguments.
func (m *Machine) mayFallBack(c *call) bool {
	if c.why != Executed || !m.cfg.Policy.Fallbacks || c.spec.Fallback == "" || c.fellBack || m.draining {
		return false
	}
	f := m.tools[c.spec.Fallback]
	if f.input != nil {
		if _, _, problem, _ := f.input.Check(c.toolArgs, 0); problem != "" {
			return false
		}
	}
	return f.refuse(m.now) == ""
}

// fallBack calls the fallback after the tool failed, unless a limit forbids it.
func (m *Machine) fallBack(c *call) {
	if m.forbidden(c) != "" {
		c.state = final
		return
	}
	c.spec.ended(m.now, true)
	m.useFallback(c)
	c.spec.admit(m.now)
	m.startTry(c)
}

// useFallback makes the call a call of its tool's fallback.
func (m *Machine) useFallback(c *call) {
	m.note(c.ref(), EventFallback, c.spec.Fallback)
	c.spec, c.fellBack, c.tried = m.tools[c.spec.Fallback], true, c.try
}

// settle handles the end of a call: it updates the state of the tool, and applies
// the policy to a failure.
func (m *Machine) settle(c *call) {
	if c.spec == nil {
		return
	}
	c.spec.probing = false // even if the call that the breaker let through was denied
	if c.why == Executed && c.code != Cancelled {
		c.spec.ended(m.now, c.failure)
		if m.cfg.Contracts.PageLimit > 0 && offersPage(c.text) {
			c.spec.nextPage(c.text, c.page)
		}
	}
	if c.why == Executed && c.code == ToolBug && m.cfg.Policy.OnFailure == FailureTable {
		m.note(c.ref(), EventAlert, reasonTool(c.Name, c.code, c.text))
	}
	if !c.code.Failed() || m.draining || c.why != Executed && c.why != InvalidArgs {
		return
	}
	f := m.whatFailed(c)
	f.RetriesLeft, f.Fallback = false, false // the call has used them up
	switch {
	case f.Missing:
		m.askLater(StopNeedsUser, textMissing(c))
	case m.cfg.Policy.OnFailure != FailureTable || f.Resolve() != ResolveStop:
	case c.code == Unauthorized || c.code == Forbidden:
		m.decide(StopUnauthorized, reasonTool(c.Name, c.code, c.text), messageUnauthorized(c.Name))
	default:
		m.decide(StopToolContract, reasonTool(c.Name, c.code, c.text), messageContract)
	}
}

// by returns the tool, version and try that returned the result, or "" if the
// call's name says all of it.
func (c *call) by() string {
	if c.why != Executed || c.spec.Version == "" && !c.fellBack {
		return ""
	}
	by := c.spec.Name
	if c.spec.Version != "" {
		by += "@" + c.spec.Version
	}
	return by + "#" + strconv.Itoa(c.try)
}

// truncate cuts a result to the lengths that the config allows, with a notice.
func (m *Machine) truncate(c *call, text string) string {
	if limit := m.cfg.Contracts.MaxPayloadBytes; limit > 0 && len(text) > limit {
		end := limit
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		m.note(c.ref(), EventTruncated, "")
		text = text[:end] + textTruncated(end, len(text), "bytes", c.Name)
	}
	if limit := m.cfg.History.MaxResultChars; limit > 0 {
		if short, total := cutText(text, limit); total > 0 {
			m.note(c.ref(), EventTruncated, "")
			text = short + textTruncated(limit, total, "characters", c.Name)
		}
	}
	return text
}

// cutText cuts text to limit characters. total is the length of text, or 0 if
// nothing was cut.
func cutText(text string, limit int) (short string, total int) {
	if len(text) <= limit {
		return text, 0
	}
	end := -1
	for i := range text {
		if total == limit {
			end = i
		}
		total++
	}
	if end < 0 {
		return text, 0
	}
	return text[:end], total
}

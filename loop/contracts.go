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

// A SchemaCompiler reads JSON Schemas (draft 2020-12). The package
// loop/contract has one; loop itself needs none unless contracts are on.
type SchemaCompiler interface {
	// Compile reads a schema. It loads nothing from files or the network.
	Compile(schema string) (Schema, error)
}

// A Schema is a compiled JSON Schema. Its Check is a pure function.
type Schema interface {
	// Check reads a JSON text, fills in the schema's defaults, and mends at
	// most repairs faults: a missing field that can be inferred in one way
	// only, or an enum value within edit distance 2 of exactly one. fixed is
	// the text afterwards. problem is "" if it now keeps the schema; missing
	// lists required fields that are not there.
	Check(text string, repairs int) (fixed string, repaired int, problem string, missing []string)
}

// Contracts says which of the tools' schemas are checked.
type Contracts struct {
	// Input checks arguments against [ToolSpec].Input. What does not keep it is
	// an invalid call.
	Input bool `yaml:"input"`
	// Output checks results against [ToolSpec].Output. What does not keep it
	// ends as OutputSchemaMismatch. NoResults needs no result that keeps it.
	Output bool `yaml:"output"`
	// Repair is how many faults of one text are mended; 0 = none.
	Repair int `yaml:"repair"`
	// PageLimit is how many pages of one answer may be read: a call that hands
	// back the next_page or nextToken of an earlier result of its tool reads
	// the page after it; page PageLimit+1 is refused. 0 = no bound.
	PageLimit int `yaml:"page_limit"`
	// MaxPayloadBytes cuts results to a size in bytes, with a notice, at the
	// end of a character. 0 = no bound.
	MaxPayloadBytes int `yaml:"max_payload_bytes"`
}

// Policy says who decides after a failed call (decision D18).
type Policy struct {
	// OnFailure: model, the default, or the table of [Failing.Resolve].
	OnFailure OnFailure `yaml:"on_failure"`
	// Fallbacks calls a tool's fallback when the tool failed and no retry is
	// left, or when its breaker or rate refuses it. Where the model decides,
	// that is after any failure but invalid input; under the table, where the
	// table says so. A fallback takes the same arguments, and is left out where
	// they break its schema or it is refused itself; it needs no permission.
	Fallbacks bool `yaml:"fallbacks"`
	// AskMissing asks the user for required arguments that are missing. Nobody
	// answers: the stop needs-user.
	AskMissing bool `yaml:"ask_missing"`
}

// An OnFailure says who decides after a failed call.
type OnFailure string

// The choices. The zero value is FailureModel.
const (
	FailureModel OnFailure = "model"
	FailureTable OnFailure = "table"
)

// A Rate allows Calls calls in any window of length Per. The zero Rate allows
// any number.
type Rate struct {
	Calls int           `yaml:"calls"`
	Per   time.Duration `yaml:"per"`
}

// A ToolBreaker disables a tool for Cooldown after Failures failed calls in a
// row; then one call is let through, and its end decides. The zero ToolBreaker
// never does.
type ToolBreaker struct {
	Failures int           `yaml:"failures"`
	Cooldown time.Duration `yaml:"cooldown"`
}

// A tool is a tool of the session and what is remembered of it.
type tool struct {
	*ToolSpec
	input, output Schema

	starts   []time.Duration // of the calls in the window of Rate
	failures int             // in a row
	closedAt time.Duration   // until when ToolBreaker keeps it disabled
	probing  bool            // a call was let through after that
	pages    map[string]int  // the page that a token leads to
}

// refuse says why the tool may not be called now, "" if it may.
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

// admit records that a call was let through.
func (t *tool) admit(now time.Duration) {
	if t.Rate.Calls > 0 {
		t.starts = append(t.starts, now)
	}
	if b := t.Breaker; b.Failures > 0 && t.failures >= b.Failures {
		t.probing = true
	}
}

// ended records how a call ended.
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

// page gives the page that a call reads: 1, unless its arguments hand back a
// token of an earlier result.
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

// pageArgs are the names under which APIs take a page or a token back.
var pageArgs = map[string]bool{"page": true, "next_page": true, "nextPage": true, "page_token": true, "pageToken": true,
	"next_token": true, "nextToken": true, "token": true, "cursor": true}

// pageToken gives a token in one spelling: the text of a string, a number
// without what does not change it.
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

// nextPages remembers the token that a result offers.
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

// compileSchemas reads the schemas that the config wants checked.
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
				return &FieldError{Field: "contracts", Problem: "needs a schema compiler (Task.Schemas)"}
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

// checkTools reports what is wrong with the tools beside their names.
func (m *Machine) checkTools(tools []ToolSpec) error {
	var v validation
	for i := range tools {
		t, at := &tools[i], fmt.Sprintf("tools[%d]", i)
		v.duration(at+".timeout", t.Timeout)
		v.count(at+".rate.calls", t.Rate.Calls)
		v.duration(at+".rate.per", t.Rate.Per)
		v.count(at+".breaker.failures", t.Breaker.Failures)
		v.duration(at+".breaker.cooldown", t.Breaker.Cooldown)
		if t.Rate.Calls > 0 && t.Rate.Per == 0 {
			v.add(at+".rate.per", "must be set")
		}
		if f := m.tools[t.Fallback]; t.Fallback != "" && f == nil {
			v.add(at+".fallback", "there is no tool %q", t.Fallback)
		} else if f != nil && (f.Permission != AskNever || f.SubRun) {
			v.add(at+".fallback", "%q must need no permission and start no run: nobody asked for it", t.Fallback)
		}
	}
	return errors.Join(v.errs...)
}

// checkInput checks a call's arguments against the tool's schema.
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

// checkOutput checks a call's result in the same way.
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

// checkSchema gives the text as the schema wants it, or what is wrong with it
// and which required fields are missing.
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

// refuseTool refuses a call for the sake of its tool, and reports whether it
// did.
func (m *Machine) refuseTool(c *call) bool {
	l := &m.cfg.Limits
	if c.spec.SubRun {
		if l.Depth > 0 && m.task.Depth >= l.Depth {
			c.block(Refused, reasonDepth(l.Depth))
			m.decide(StopDepthLimit, reasonDepth(l.Depth), messageBudget)
			return true
		}
		if l.Spawns > 0 && m.spent.spawns >= l.Spawns {
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
	}
	return false
}

func (m *Machine) toolTimeout(c *call) time.Duration {
	if c.spec.Timeout > 0 {
		return c.spec.Timeout
	}
	return m.cfg.Time.Tool
}

// resolve says what follows a try: more of the call, or its end.
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

func (m *Machine) whatFailed(c *call) Failing {
	p := &m.cfg.Policy
	// A session that was resumed does not know whether the call took effect.
	lost := c.why == Executed && c.code == Cancelled && c.spec.Idempotent == NotIdempotent
	return Failing{
		Code:        c.code,
		RetriesLeft: c.why == Executed && !lost && m.mayRetry(c),
		Fallback:    !lost && m.mayFallBack(c),
		Missing:     p.AskMissing && len(c.missing) > 0,
	}
}

// mayFallBack reports whether the call's tool has a fallback that may be called
// now with the same arguments.
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

// fallBack calls the tool's fallback with the same arguments.
func (m *Machine) fallBack(c *call) {
	c.spec.ended(m.now, true)
	m.useFallback(c)
	c.spec.admit(m.now)
	m.startTry(c)
}

func (m *Machine) useFallback(c *call) {
	m.note(c.ref(), EventFallback, c.spec.Fallback)
	c.spec, c.fellBack, c.tried = m.tools[c.spec.Fallback], true, c.try
}

// settle does what follows a call that is final: it remembers how the tool
// fared, and applies the policy.
func (m *Machine) settle(c *call) {
	if c.spec == nil {
		return
	}
	c.spec.probing = false // also where the call let through was denied
	if c.why == Executed && c.code != Cancelled {
		c.spec.ended(m.now, c.failure)
		if m.cfg.Contracts.PageLimit > 0 && offersPage(c.text) {
			c.spec.nextPage(c.text, c.page)
		}
	}
	if !c.code.Failed() || m.draining || c.why != Executed && c.why != InvalidArgs {
		return
	}
	f := m.whatFailed(c)
	f.RetriesLeft, f.Fallback = false, false // they would have been used
	switch {
	case f.Missing:
		m.askLater(StopNeedsUser, textMissing(c.Name, c.missing))
	case m.cfg.Policy.OnFailure != FailureTable || f.Resolve() != ResolveStop:
	case c.code == Unauthorized || c.code == Forbidden:
		m.decide(StopUnauthorized, reasonTool(c.Name, c.code, c.text), messageUnauthorized(c.Name))
	default:
		m.decide(StopToolContract, reasonTool(c.Name, c.code, c.text), messageContract)
	}
}

// by is a result's provenance.
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

// truncate cuts a result to what the config allows, with a notice.
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

// cutText cuts text to limit characters. total is its length, or 0 if it is
// not longer than the limit.
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

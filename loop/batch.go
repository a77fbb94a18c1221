package loop

import (
	"cmp"
	"encoding/binary"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// A call is one call of the current batch.
type call struct {
	Call
	asked    string // the model's own id
	spec     *tool  // nil for an unknown tool
	broken   error  // set if the arguments are not a JSON object
	argsHash uint64 // of the arguments; set only if there are detectors

	place  int // of the calls that limits.calls counts, it is this one; 0 = it has none
	spawns int // of the sub-runs that limits.spawns counts, it is this one; 0 = it is none

	toolArgs string   // the arguments that the tool gets: mended, with defaults, or from a hook
	missing  []string // required arguments that are missing
	page     int      // which page of a paged answer it reads
	fellBack bool     // the fallback was called
	tried    int      // tries before the fallback

	failure bool   // not executed, or ended with an error code or error text
	why     Why    // why it is not executed
	text    string // the result, or the error text
	code    Code

	state     callState
	hooked    bool // its before-call hook was answered
	gated     bool // its permission was answered, for this call or for another one of its tool
	shown     bool // its after-call hook was answered
	try       int
	timedOut  bool          // the try was cancelled because time.tool ran out
	abandoned bool          // the last try was abandoned
	timer     time.Duration // when the state ends: try deadline, end of grace, next try; or never
}

type callState uint8

const (
	queued callState = iota
	running
	cancelling // cancelled, and not ended yet
	backingOff
	final
)

func (c *call) ref() Ref { return Ref{Kind: RefCall, N: c.N} }

func (c *call) tryRef() Ref { return Ref{Kind: RefCall, N: c.N, Try: c.try} }

// block ends a call without executing it, unless it is blocked already.
func (c *call) block(why Why, text string) {
	if c.why == Executed {
		c.why, c.text, c.state = why, text, final
	}
}

// openBatch handles a reply with calls, which are in the batch: it runs checks 4 to 9
// of the package comment in their order, then opens the first gate.
func (m *Machine) openBatch(in *Input, cut bool) {
	m.appendReply(in.Text, m.batchCalls())
	m.subs = spent{}
	m.called = true
	m.checkCut(cut)
	m.checkBudget()
	outOfSteps := m.step(true)
	switch {
	case m.out.Stop != "":
		m.blockAll(Refused, m.out.Reason)
	case outOfSteps: // at_limit is ask, so no stop is decided yet
		m.blockAll(Refused, reasonSteps(m.cfg.Limits.Steps))
	}
	m.checkCalls(cut)
	m.askDetectors(in.Text)
	m.checkCallLimits()
	m.openCallGate()
}

// readBatch fills the batch with the calls of a reply and returns their number: it
// numbers them, trims their names, leaves out those that repeat another one or have
// broken arguments that contracts.broken_args drops, and makes their ids unique. If
// none of them is left, the batch stays that of the turn before. dropped is the number
// of those that it dropped.
func (m *Machine) readBatch(in *Input) (n, dropped int) {
	seen, before := repeats{}, m.batch
	if m.req.broken > 0 {
		seen.add(m, before)
	}
	m.batch = m.batch[:0]
	for _, asked := range in.Calls {
		m.numbers.call++
		c := call{Call: Call{N: m.numbers.call, ID: asked.ID, Name: asked.Name, Args: asked.Args}, asked: asked.ID, toolArgs: asked.Args, timer: never}
		if strings.TrimSpace(asked.Args) == "" {
			c.toolArgs = "{}"
		}
		if name := strings.TrimSpace(c.Name); name != c.Name {
			c.Name = name
			m.note(c.ref(), EventTrimmedName, name)
		}
		if m.dropsCall(&c) {
			m.note(c.ref(), EventDroppedCall, c.Name)
			dropped++
			continue
		}
		if first := seen.find(m, &c); first > 0 {
			m.note(c.ref(), EventRepeatedCall, Ref{Kind: RefCall, N: first}.String())
			continue
		}
		if _, used := m.ids[c.ID]; used || c.ID == "" {
			c.ID = m.freshID(c.N)
			m.note(c.ref(), EventReplacedID, c.ID)
		}
		m.ids[c.ID] = struct{}{}
		c.spec = m.tools[c.Name]
		m.out.Asked++
		m.spent.asked++
		m.batch = append(m.batch, c)
	}
	n = len(m.batch)
	if len(in.Calls) > 0 && n == 0 {
		m.batch = before
	}
	return n, dropped
}

// dropsCall reports whether a call has broken arguments and contracts.broken_args
// takes such calls out of their replies.
func (m *Machine) dropsCall(c *call) bool {
	if m.cfg.Contracts.BrokenArgs != BrokenDropped || m.task.Planner == PlannerJSON {
		return false
	}
	_, err := m.canon.Object(c.Args)
	return err != nil
}

// A repeats finds the calls of a reply that repeat another one: with the model's own
// id, the name and the arguments of an earlier call of the reply, or, after a broken
// stream, of the turn before. Such a call is that other call. It reads the earlier
// calls only once a reply has an id that was used before.
type repeats struct {
	read  int // how many calls of the batch it has read
	calls map[repeat]int
}

type repeat struct {
	id  string
	sig detect.Signature
}

// add reads calls.
func (r *repeats) add(m *Machine, calls []call) {
	for i := range calls {
		if c := &calls[i]; c.asked != "" {
			if r.calls == nil {
				r.calls = map[repeat]int{}
			}
			sig, _ := m.canon.Signature(c.Name, c.Args)
			r.calls[repeat{c.asked, sig}] = c.N
		}
	}
}

// find returns the number of the call that c repeats, or 0.
func (r *repeats) find(m *Machine, c *call) int {
	if _, used := m.ids[c.asked]; !used || c.asked == "" || len(m.batch) == 0 && r.calls == nil {
		return 0
	}
	r.add(m, m.batch[r.read:])
	r.read = len(m.batch)
	sig, _ := m.canon.Signature(c.Name, c.Args)
	return r.calls[repeat{c.asked, sig}]
}

// freshID returns an id that the session has not used.
func (m *Machine) freshID(n int) string {
	id := "call_" + strconv.Itoa(n)
	for _, used := m.ids[id]; used; _, used = m.ids[id] {
		id += "_"
	}
	return id
}

// batchCalls returns the calls of the batch as the history holds them.
func (m *Machine) batchCalls() []Call {
	calls := make([]Call, len(m.batch))
	for i := range m.batch {
		calls[i] = m.batch[i].Call
	}
	return calls
}

// blockAll blocks every call of the batch that is not blocked already.
func (m *Machine) blockAll(why Why, text string) {
	for i := range m.batch {
		m.batch[i].block(why, text)
	}
}

// checkCut parses the arguments of all calls. If the length limit cut the reply
// off in the middle of them, it counts the reply as unusable.
func (m *Machine) checkCut(cut bool) {
	broken := false
	for i := range m.batch {
		c := &m.batch[i]
		if m.detectors.Empty() {
			_, c.broken = m.canon.Object(c.Args)
		} else {
			var sig detect.Signature
			sig, c.broken = m.canon.Signature("", c.Args)
			c.argsHash = binary.LittleEndian.Uint64(sig[:])
		}
		broken = broken || c.broken != nil
	}
	if !cut || !broken {
		m.unusable = 0
		return
	}
	m.note(m.req.ref.whole(), EventCutReply, "")
	m.countUnusable(false, true)
}

// checkCalls blocks calls of unknown tools and calls with invalid arguments.
func (m *Machine) checkCalls(cut bool) {
	for i := range m.batch {
		switch c := &m.batch[i]; {
		case c.why != Executed:
		case c.spec == nil:
			c.block(Unknown, m.textUnknown(c.Name))
			c.code = NotFound
		case c.broken != nil:
			c.block(InvalidArgs, textInvalid(c.Name, c.broken, cut))
			c.code = InvalidInput
		default:
			m.checkInput(c, cut)
		}
	}
}

// checkCallLimits refuses the calls that a call limit forbids, and counts the
// others.
func (m *Machine) checkCallLimits() {
	most, perTurn, total, taken := m.cfg.Limits.Asked, m.cfg.Limits.CallsPerTurn, m.adapted(m.cfg.Limits.Calls), 0
	before := m.spent.asked - len(m.batch)
	for i := range m.batch {
		switch c := &m.batch[i]; {
		case most != 0 && before+i >= most:
			c.block(Refused, reasonAsked(most))
			m.atLimit(StopAskedLimit, reasonAsked(most), messageCalls)
		case c.why != Executed:
		case perTurn > 0 && taken >= perTurn:
			c.block(Refused, textCallsPerTurn(perTurn))
		case total != 0 && m.spent.calls >= total:
			reason := reasonCalls(total) + m.textAdapted(m.cfg.Limits.Calls, total)
			c.block(Refused, reason)
			m.atLimit(StopCallLimit, reason, messageCalls)
		case m.refuseTool(c):
		default:
			taken++
			m.spent.calls++
			c.place = m.spent.calls
			c.spec.admit(m.now)
		}
	}
}

// pump starts as many queued calls as parallel.max allows, and closes the batch
// when every call is final.
func (m *Machine) pump() {
	active, open := 0, 0
	for i := range m.batch {
		switch m.batch[i].state {
		case queued:
			open++
		case final:
		default:
			open++
			active++
		}
	}
	limit := m.cfg.Parallel.Max
	for i := 0; i < len(m.batch) && open > active && (limit == 0 || active < limit); i++ {
		if c := &m.batch[i]; c.state == queued {
			m.startTry(c)
			if c.state == final {
				open--
			} else {
				active++
			}
		}
	}
	if open == 0 {
		m.closeBatch()
	}
}

// startTry starts a call's next try, unless a limit forbids it.
func (m *Machine) startTry(c *call) {
	if reason := m.forbidden(c); reason != "" {
		if c.try == 0 {
			c.why, c.text = Refused, reason
		}
		c.state, c.timer = final, never
		return
	}
	c.try++
	m.spent.tries++
	m.out.Tries++
	if c.try == 1 {
		m.out.Calls++
		if c.spec.SubRun {
			m.out.Spawns++
		}
	}
	c.state, c.timedOut, c.abandoned = running, false, false
	budget := m.toolTimeout(c)
	c.timer = after(m.now, budget)
	if left := m.deadline - m.now; m.deadline != never && (budget == 0 || left < budget) {
		budget = left
	}
	e := Effect{Kind: CallTool, Ref: c.tryRef(), Name: c.spec.Name, Args: c.toolArgs, Budget: budget}
	if c.spec.SubRun {
		l, s := &m.cfg.Limits, &m.spent
		e.AskedLeft, e.CallsLeft, e.SpawnsLeft = left(l.Asked, s.asked), left(m.adapted(l.Calls), s.calls), left(l.Spawns, s.spawns)
		e.TokensLeft, e.CostLeft = left(l.Tokens, s.tokens), left(l.nanoDollars(), s.cost)
	}
	m.emit(e)
}

// forbidden returns the reason why a limit forbids a call's next try, or "", and
// decides the stop. The limits on calls and sub-runs forbid first tries alone; here
// they count what the batch's sub-runs have used so far.
func (m *Machine) forbidden(c *call) (reason string) {
	l := &m.cfg.Limits
	if l.Tries > 0 && m.spent.tries >= l.Tries {
		reason = reasonTries(l.Tries)
		m.decide(StopTryLimit, reason, messageCalls)
	}
	reason = cmp.Or(reason, m.checkBudget())
	if c.try > 0 || reason != "" {
		return reason
	}
	if most := m.adapted(l.Calls); most != 0 && c.place+m.subs.calls > most {
		reason = reasonCalls(most) + m.textAdapted(l.Calls, most)
		m.atLimit(StopCallLimit, reason, messageCalls)
	} else if l.Spawns != 0 && c.spawns > 0 && c.spawns+m.subs.spawns > l.Spawns {
		reason = reasonSpawns(l.Spawns)
		m.decide(StopSpawnLimit, reason, messageBudget)
	}
	return reason
}

// openCall returns the call whose open try is ref, or nil.
func (m *Machine) openCall(ref Ref) *call {
	if m.phase != executing || ref.Kind != RefCall || len(m.batch) == 0 {
		return nil
	}
	i := sort.Search(len(m.batch), func(i int) bool { return m.batch[i].N >= ref.N })
	if i == len(m.batch) || m.batch[i].N != ref.N {
		return nil
	}
	c := &m.batch[i]
	if c.try != ref.Try || c.state != running && c.state != cancelling {
		return nil
	}
	return c
}

// tryEnded handles the end of a try: its result, its end after a cancel, or the
// end of time.grace.
func (m *Machine) tryEnded(c *call, code Code, text string) {
	if c.state == cancelling {
		switch {
		case c.timedOut:
			code, text = Timeout, textTimedOut(m.toolTimeout(c))
		case code.Failed():
			code, text = Cancelled, textCancelled
		}
	}
	c.code, c.text, c.timer = code, text, never
	if !code.Failed() {
		m.checkOutput(c)
	}
	switch m.resolve(c) {
	case ResolveRetry:
		c.state = backingOff
		r := m.retry(c)
		c.timer = m.now + r.Backoff.wait(r.Base, r.Cap, c.try-c.tried, func(k int) float64 { return m.draw(c.ref(), c.tried+k) })
	case ResolveFallback:
		m.fallBack(c)
	default:
		c.state = final
	}
}

// retry returns the retry policy of the tool that a call calls now.
func (m *Machine) retry(c *call) *Retry {
	if own := c.spec.Retry; own != nil {
		return own
	}
	return &m.cfg.Retry
}

// mayRetry reports whether a failed call gets another try.
func (m *Machine) mayRetry(c *call) bool {
	r := m.retry(c)
	limit := r.Max
	if c.spec.Retries != 0 {
		limit = max(0, c.spec.Retries)
	}
	code := c.code
	if (code == ConnectionLost || code == NotSent) && !slices.Contains(r.Codes, code) {
		code = RetryableServer
	}
	lost := c.abandoned || c.code == ConnectionLost
	return !m.draining && c.try-c.tried <= limit && slices.Contains(r.Codes, code) &&
		(!c.timedOut || r.Timeouts) && (!lost || c.spec.Idempotent == Idempotent)
}

// mayHaveActed reports whether a failed try may have taken effect. It has not if the
// request was never sent, or if the tool refused it; a tool that was cancelled may say
// anything.
func (c *call) mayHaveActed() bool {
	switch c.code {
	case NotSent, RateLimited, InvalidInput, NotFound, Unauthorized, Forbidden:
		return false
	}
	return true
}

// callTimer handles the first call in request order whose timer is due.
func (m *Machine) callTimer(at time.Duration) {
	for i := range m.batch {
		c := &m.batch[i]
		if c.timer > at {
			continue
		}
		switch c.state {
		case running:
			c.timedOut = true
			m.cancelTry(c, textTimeout)
		case cancelling:
			c.abandoned = true
			m.note(c.tryRef(), EventAbandoned, "")
			m.tryEnded(c, Cancelled, textCancelled)
		case backingOff:
			m.startTry(c)
		}
		m.pump()
		return
	}
}

// cancelTry cancels the running try, which then has time.grace to end.
func (m *Machine) cancelTry(c *call, why string) {
	c.state, c.timer = cancelling, m.now+m.cfg.Time.Grace
	m.emit(Effect{Kind: CancelTool, Ref: c.tryRef(), Text: why})
}

// cutBatch ends the batch as soon as possible: it starts nothing more, cancels
// the running tries, and keeps the last error of calls that wait for a retry.
func (m *Machine) cutBatch(why string) {
	m.phase = executing
	for i := range m.batch {
		switch c := &m.batch[i]; c.state {
		case queued:
			c.block(NotStarted, textNotStarted)
		case running:
			m.cancelTry(c, why)
		case backingOff:
			c.state, c.timer = final, never
		}
	}
	m.pump()
}

// closeBatch puts the results into the history in request order, runs check 12
// of the package comment, and goes on. If a hook must see a result first, it
// opens that gate instead.
func (m *Machine) closeBatch() {
	if m.openResultGate() {
		return
	}
	considered, failed := 0, 0
	for i := range m.batch {
		c := &m.batch[i]
		var counts bool
		c.failure, counts = m.judge(c)
		m.putResult(c)
		m.settle(c)
		if c.why != NotStarted {
			considered++
			if counts {
				failed++
			}
		}
	}
	m.spent.ended += considered
	m.spent.failed += failed
	m.checkErrors(considered, failed)
	m.checkBudget()
	if most := m.cfg.Limits.Asked; most != 0 && m.subs.asked > 0 && m.spent.asked > most {
		m.atLimit(StopAskedLimit, reasonAsked(most), messageCalls)
	}
	m.closeDetectors()
	m.observe()
	if slices.ContainsFunc(m.batch, func(c call) bool { return c.why == Executed || c.why == Unknown || c.why == InvalidArgs }) {
		m.step(true)
	}
	m.goOn()
}

// judge counts a call in the outcome. It reports whether the call failed, and
// whether the failure counts for the error limit.
func (m *Machine) judge(c *call) (failure, counts bool) {
	var kind ErrorKind
	switch c.why {
	case Unknown:
		m.out.Invalid++
		kind = KindUnknown
	case InvalidArgs:
		m.out.Invalid++
		kind = KindInvalid
	case Denied:
		m.out.Denied++
		kind = KindDenied
	case Vetoed, Refused, NotStarted:
		m.out.Vetoed++
		kind = KindVetoed
	default:
		switch prefix := m.cfg.Errors.TextPrefix; {
		case c.code.Failed():
			kind = KindException
		case prefix != "" && strings.HasPrefix(c.text, prefix):
			kind = KindText
		default:
			return false, false
		}
		m.out.Errors++
	}
	return true, slices.Contains(m.cfg.Errors.Kinds, kind)
}

// putResult puts a call's result into the history.
func (m *Machine) putResult(c *call) {
	text := c.text
	switch {
	case m.task.Planner == PlannerJSON && c.why == Executed:
		text = Observe(c.Name, c.code, c.text).String()
	case c.why != Executed || c.code.Failed():
		text = m.errorText(c)
	}
	text = m.truncate(c, text)
	m.history = append(m.history, Message{Ref: c.ref(), Role: ToolRole, Text: text, CallID: c.ID, Failed: c.failure})
	m.emit(Effect{Kind: Put, Ref: c.ref(), Code: c.code, Why: c.why, By: c.by(), Text: text})
}

// errorText returns the text that the model reads for a failed call.
func (m *Machine) errorText(c *call) string {
	prefix := m.cfg.Errors.TextPrefix
	switch {
	case c.why == Executed && c.try > 1:
		return textAttempts(prefix, c.try, c.text)
	case prefix == "":
		return textFailed(c.text)
	case strings.HasPrefix(c.text, prefix):
		return c.text
	}
	return prefix + " " + c.text
}

// checkErrors counts failing turns in a row, and stops the run at the error
// limit. considered is the number of calls in the batch without the not-started
// ones, failed the number of those whose failure counts.
func (m *Machine) checkErrors(considered, failed int) {
	if considered == 0 {
		return
	}
	if failed == considered || failed > 0 && m.cfg.Errors.Batch == BatchAny {
		m.failing++
	} else {
		m.failing = 0
	}
	limit := m.cfg.Errors.MaxConsecutive
	if limit == 0 {
		return
	}
	if m.failing > limit || m.failing == limit && m.cfg.Errors.Trip != TripExceeded {
		last := m.lastFailure()
		m.decide(StopErrorLimit, reasonErrors(limit, last.Name, last.text), messageErrors(limit))
	}
}

// lastFailure returns the last failed call of the batch, which must have one.
func (m *Machine) lastFailure() *call {
	last := len(m.batch) - 1
	for !m.batch[last].failure || m.batch[last].why == NotStarted {
		last--
	}
	return &m.batch[last]
}

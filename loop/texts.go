package loop

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agentbench-go/agentbench/loop/detect"
)

// All that the loop says, to the model, to the user and in an outcome, stands
// in this file, in the seeds' wording where they have one.

// To the model, instead of a result or as a user message.
const (
	textNotStarted = "This call was not started: the run is over."
	textCancelled  = "cancelled"
	textDeadline   = "deadline"
	textTimeout    = "timeout"
	textNoCalls    = "Your last reply ended as one with tool calls does, but it held none. Make the call, or give your final answer."
	textSumUp      = "The budget for this request is used up. Do not call any tool. Give a short summary: what you found out, with its exact names and numbers, what failed, and what is left to do."
	textCutReply   = "Your last reply was cut off by the length limit. Answer again, and write less."
)

// Names of the model's timeouts.
const (
	textModelTimeout = "model-timeout"
	textFirstToken   = "first-token-timeout"
	textChunk        = "chunk-timeout"
)

// To the user.
const (
	messageTurns       = "Maximum iterations reached. Please try a simpler request."
	messageCalls       = "Maximum function calls reached. Please try a simpler request."
	messageBudget      = "The budget for this request is used up. Please try a simpler request."
	messageModelFailed = "The model did not give a usable answer. Please try again later."
	messageCancelled   = "The request was cancelled."
	messageRefused     = "The request was ended as you asked."
	messageNobody      = "The request was ended because nobody answered the question."
)

// For a summary, a plan and a critique.
const (
	textSummarise    = "Sum up the conversation so far for your own later use: the task, what was found out with its exact names and numbers, what was tried and failed, and what is left to do."
	textBlankSummary = "The summary is empty."
	textReplanned    = "The new subgoals are noted. Go on with the next action."
)

func textSummary(text string) string { return "Summary of the conversation so far:\n" + text }

// textGoOn stands between two replies: before a last word it says why there is one.
func (m *Machine) textGoOn(purpose Purpose) string {
	if purpose == ForReply {
		return "Go on."
	}
	return m.out.Reason + " Give your final answer now."
}

func textBadAction(err error) string {
	return "Your reply was not taken as an action: " + err.Error() + ". Reply with one JSON action and nothing else."
}

func textQuestion(question string, missing []string) string {
	if len(missing) == 0 {
		return question
	}
	return strings.TrimSpace(question + " Needed: " + strings.Join(missing, ", ") + ".")
}

func textFailed(text string) string { return "Error: " + text }

func textGaps(gaps []string) string { return "Known gaps: " + strings.Join(gaps, " ") }

func textTurnedBack(gaps []string) string {
	return "Your answer is not taken yet. " + textGaps(gaps) + " Close them, then answer again."
}

func textBroken(constraint, why string) string { return constraint + " (" + why + ".)" }

func textNotCalled(tool, with, after string) string {
	text := "No call of " + tool
	if with != "" {
		text += " with arguments that match " + strconv.Quote(with)
	}
	if text += " has succeeded"; after != "" {
		text += " since the last call of " + after
	}
	return text
}

func textNotSaid(expr string) string { return "The answer does not match " + strconv.Quote(expr) }

func textSaid(expr string) string { return "The answer matches " + strconv.Quote(expr) }

func reasonUnmet(n int, gaps []string) string {
	text := "The model's answer does not meet the goal: "
	if n > 1 {
		text = fmt.Sprintf("The model gave %d unusable replies in a row; the last answer does not meet the goal: ", n)
	}
	return text + brief(strings.Join(gaps, " "), 500)
}

const messageUnmet = "The answer does not meet all that was asked for."

func reasonThrash(n int) string {
	return fmt.Sprintf("%d compactions in a row made the history hardly shorter.", n)
}

func reasonFloor(floor, bound int) string {
	return fmt.Sprintf("No compaction can bring the history below its bound of %d tokens: system prompt, tools and first message have %d.", bound, floor)
}

const textNothingToSum = "The history is too long, but it has less than two messages that a summary may replace."

const reasonByModel = "The model chose to stop."

// promptConstraints begins the list of the constraints.
const promptConstraints = "Your answer is taken only if all of these hold:\n"

// The second seed's system prompt, without what only that program has.
const promptSafety = `## Safety Guidelines
- Always operate within the boundaries of your assigned tools
- Do not attempt to bypass safety mechanisms or oversight
- If a task seems harmful or outside your capabilities, explain why you cannot proceed
- Respect user privacy and data security
`

const promptConduct = `
When executing tasks:
1. Break complex tasks into smaller steps
2. Use tools efficiently - avoid redundant calls
3. Provide progress updates for long-running operations
4. If approaching limits, summarize progress and suggest continuation
`

// The specification's planner prompt; %d is retry.max.
const promptPlanner = `You are the Planner. Choose exactly one next action:
- call_tool: { "name": <tool_name>, "args": { ... } }
- ask_user: { "question": "...", "missing_fields": ["..."] }
- replan: { "subgoals": ["..."] }
- stop: { "reason": "..." }

If a tool fails:
- Retry ≤%d with backoff for retryables;
- Else attempt fallback;
- Else ask_user for missing information;
- Else stop with a short summary.

Action JSON, and nothing else:
{ "action": "call_tool", "name": "search", "args": { "query": "..." } }

The result of a call is an observation:
{ "summary": "One sentence of what happened.", "key_facts": { "factA": "val", "factB": "val" }, "affordances": ["next_page", "retry_later"] }
`

// In the outcome.
const (
	reasonDone           = "The model answered."
	reasonCancelled      = "The caller cancelled the run."
	reasonCeiling        = "Nothing stopped the run before the harness's own ceiling."
	reasonRecordingEnded = "The recording has no further answer."
)

func reasonTurns(limit int) string {
	return fmt.Sprintf("Maximum iterations (%d) reached. Terminating agent loop.", limit)
}

func reasonCalls(limit int) string {
	return fmt.Sprintf("Maximum function calls (%d) reached. Terminating agent loop.", max(0, limit))
}

// textAdapted says that a limit was tightened, if it was.
func (m *Machine) textAdapted(limit, now int) string {
	if now == limit {
		return ""
	}
	return fmt.Sprintf(" It was %d, and was tightened because %d of %d calls failed.", limit, m.spent.failed, m.spent.ended)
}

func reasonAsked(limit int) string {
	return fmt.Sprintf("Maximum function calls asked for (%d) reached. Terminating agent loop.", max(0, limit))
}

func reasonTries(limit int) string {
	return fmt.Sprintf("Maximum tries (%d) reached. Terminating agent loop.", limit)
}

func reasonTokens(limit int64) string {
	return fmt.Sprintf("Maximum tokens (%d) exceeded. Terminating agent loop.", max(0, limit))
}

func reasonCost(limit float64) string {
	return fmt.Sprintf("Maximum cost ($%s) exceeded. Terminating agent loop.", strconv.FormatFloat(max(0, limit), 'f', -1, 64))
}

// reasonErrors names the tool whose failure came last, and its error.
func reasonErrors(limit int, tool, err string) string {
	return fmt.Sprintf("Exceeded maximum consecutive errors (%d). The last, of %s: %s", limit, brief(tool, 100), brief(err, 300))
}

func messageErrors(limit int) string {
	return fmt.Sprintf("⚠️ Maximum consecutive errors (%d) exceeded. Stopping execution to prevent infinite error loop.", limit)
}

func reasonDeadline(limit time.Duration) string {
	return "Request timed out after " + seconds(limit) + "s"
}

func messageDeadline(limit time.Duration) string {
	return "I apologize, but the request timed out after " + seconds(limit) + " seconds. Please try a simpler request or break it into smaller parts."
}

func (m *Machine) reasonModelFailed(status int, text string) string {
	cfg := &m.cfg.Errors
	what := "the connection was lost"
	if status != 0 {
		what = "HTTP status " + strconv.Itoa(status)
		if cfg.Normalize {
			what = string(HTTPCode(status)) + " (" + what + ")"
		}
	}
	if text != "" && (cfg.ProviderDetails || !cfg.Normalize) {
		what += ", " + text
	}
	return "The model request failed: " + what + "."
}

// textMissing asks for what a call lacks, or for what its tool did not accept.
func textMissing(c *call) string {
	if len(c.missing) == 0 {
		return c.Name + " does not accept its arguments: " + brief(c.text, 300) + " What should it be called with?"
	}
	return "To call " + c.Name + ", these are needed: " + strings.Join(c.missing, ", ") + "."
}

func textDisabled(tool string, failures int, left time.Duration) string {
	return fmt.Sprintf("%s is disabled after %d failures in a row; try again in %ss.", tool, failures, seconds(max(0, left)))
}

func textRate(tool string, r Rate, left time.Duration) string {
	return fmt.Sprintf("%s may be called %d times in %ss; try again in %ss.", tool, r.Calls, seconds(r.Per), seconds(left))
}

func textPages(tool string, limit int) string {
	return fmt.Sprintf("At most %d pages of an answer of %s may be read.", limit, tool)
}

func reasonDepth(limit int) string {
	return fmt.Sprintf("Maximum depth of sub-runs (%d) reached. Terminating agent loop.", limit)
}

func reasonSpawns(limit int) string {
	return fmt.Sprintf("Maximum sub-runs (%d) reached. Terminating agent loop.", max(0, limit))
}

func textContract(problem string) string {
	return "The result does not keep its contract: " + problem
}

func reasonTool(tool string, code Code, text string) string {
	return fmt.Sprintf("The tool %s failed beyond repair: %s, %s", tool, code, text)
}

func messageUnauthorized(tool string) string {
	return "Action needed: check the credentials and rights of " + tool + ", then ask again."
}

const messageContract = "A tool that this request needs does not work. Please try again later."

func reasonModelDeadline(what string, limit time.Duration) string {
	return "The model did not answer in time: " + what + " after " + seconds(limit) + "s."
}

func reasonEmptyReplies(n int) string {
	if n == 1 {
		return "The model's reply was empty."
	}
	return fmt.Sprintf("The model gave %d empty replies in a row.", n)
}

func reasonNoCalls(n int) string {
	if n == 1 {
		return "The model's reply announced a call and held none."
	}
	return fmt.Sprintf("The model gave %d unusable replies in a row; the last one announced a call and held none.", n)
}

func reasonCutReplies(n int) string {
	if n == 1 {
		return "The model's reply was cut off by the length limit."
	}
	return fmt.Sprintf("%d replies in a row were cut off by the length limit.", n)
}

func reasonSteps(limit int) string {
	return fmt.Sprintf("Maximum steps (%d) reached. Terminating agent loop.", limit)
}

// textDetected says what a detector found, with the number of calls that the model
// really asked for: a whole batch, also if the detector acts in its midst. The first
// seed's words are kept for the detector of that name.
func textDetected(f *detect.Firing, tool string) string {
	d := f.Detector
	what := "Detector " + d.Name + " triggered"
	if d.Name == "circuit-breaker" {
		what = "Circuit breaker triggered"
	}
	unit := "calls"
	if d.Record == detect.PerTurn || d.Record == detect.PerReply {
		unit = "turns"
	}
	inARow := (d.Ends == "" || d.Ends == detect.EndsTurn || d.Ends == detect.EndsNext) && len(d.Key) == 0 && len(d.IgnoreArgs) == 0 && len(d.Round) == 0 && len(d.Counts) == 0 && !d.PriorOnly
	switch {
	case d.Match == detect.Cycle:
		return fmt.Sprintf("%s: the last %s go round in a circle, %d times now.", what, unit, f.Seen)
	case d.Match == detect.Window:
		return fmt.Sprintf("%s: %d of the last %d %s are the same.", what, f.Seen, d.Memory, unit)
	case unit == "turns":
		return fmt.Sprintf("%s: %d turns are alike.", what, f.Seen)
	case inARow:
		return fmt.Sprintf("%s: %s was asked for %d times in a row with the same arguments.", what, tool, f.Seen)
	}
	return fmt.Sprintf("%s: %d calls of %s are alike.", what, f.Seen, tool)
}

func textNudge(found string) string {
	return found + " Do not repeat it: try something else, or answer with what you have."
}

func textVeto(found string) string {
	return found + " This call was not run. Do not repeat it: try something else, or answer with what you have."
}

func textTurnsLeft(n int) string {
	return "Limit near: replies left: " + strconv.Itoa(n) + ". Come to an end."
}

func textCallsLeft(n int) string {
	return "Limit near: calls left: " + strconv.Itoa(n) + ". Come to an end."
}

func textLongWait(wait, limit time.Duration) string {
	return "a wait of " + seconds(wait) + "s is above model_retry.max_wait of " + seconds(limit) + "s"
}

func textPastDeadline(wait time.Duration) string {
	return "a wait of " + seconds(wait) + "s would not end before the run deadline"
}

func textTimedOut(limit time.Duration) string {
	return "Function timed out after " + seconds(limit) + "s"
}

// textUnknown names all tools if there are few, otherwise those whose names are
// nearest to the name asked for.
func (m *Machine) textUnknown(name string) string {
	text := "Unknown tool: " + strconv.Quote(brief(name, 100)) + "."
	if name == "" {
		text = "Unknown tool: the call has no name."
	}
	const few = 8
	switch all := len(m.names); {
	case all == 0:
		return text + " There are no tools."
	case all <= few:
		return text + " The tools are: " + strings.Join(m.names, ", ") + "."
	case name == "":
		return text + fmt.Sprintf(" Some of the %d tools are: %s.", all, strings.Join(m.names[:few], ", "))
	default:
		return text + fmt.Sprintf(" The nearest of the %d tools are: %s.", all, strings.Join(nearest(name, m.names)[:few], ", "))
	}
}

// nearest returns names, those first that share the most pairs of letters with name;
// names that share equally many stay in their order.
func nearest(name string, names []string) []string {
	pairs := func(s string) map[string]bool {
		s = strings.ToLower(brief(s, 100))
		set := map[string]bool{}
		for i := 2; i <= len(s); i++ {
			set[s[i-2:i]] = true
		}
		return set
	}
	want, shared := pairs(name), make(map[string]float64, len(names))
	for _, one := range names {
		have, both := pairs(one), 0
		for pair := range have {
			if want[pair] {
				both++
			}
		}
		shared[one] = 2 * float64(both) / float64(max(1, len(have)+len(want)))
	}
	near := slices.Clone(names)
	slices.SortStableFunc(near, func(a, b string) int { return cmp.Compare(shared[b], shared[a]) })
	return near
}

// brief cuts text to at most limit bytes and a mark, between two characters.
func brief(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

func textInvalid(tool string, err error, cut bool) string {
	text := "The arguments of " + tool + " are not valid: " + err.Error() + ". The call was not run."
	if cut {
		text += " The reply was cut off by the length limit: write less."
	}
	return text
}

func textCallsPerTurn(limit int) string {
	return fmt.Sprintf("This call was not run: at most %d calls a reply are allowed. Ask for it again if it is still needed.", limit)
}

func textDenied(reason string) string {
	if reason == "" {
		return "Permission denied by the user."
	}
	return "Permission denied by the user: " + reason
}

func textUnanswered(limit time.Duration) string {
	return "Permission denied: nobody answered within " + seconds(limit) + "s. The call was not run; go on without it, or say what you need."
}

func textHookVeto(reason string) string {
	if reason == "" {
		return "This call was vetoed and not run."
	}
	return "This call was vetoed and not run: " + reason
}

func reasonHook(reason string) string {
	if reason == "" {
		return "A hook ended the run."
	}
	return "A hook ended the run: " + reason
}

// textAttempts begins with the prefix that marks an error text, if there is one.
func textAttempts(prefix string, n int, text string) string {
	if prefix == "" {
		prefix = "Error"
	}
	return fmt.Sprintf("%s after %d attempts: %s", prefix, n, text)
}

// textTruncated is the notice at the end of a result that was cut.
func textTruncated(shown, total int, unit, tool string) string {
	return fmt.Sprintf("\n[OUTPUT TRUNCATED: Showing %s of %s %s from %s]\nTo get the rest, call %s again for a smaller part: a range, a filter or the next page.",
		thousands(shown), thousands(total), unit, tool, tool)
}

// seconds writes a duration as seconds without trailing zeros: 30, 0.25.
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'f', -1, 64)
}

// thousands writes 120000 as 120,000.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

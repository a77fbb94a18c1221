package reports

import "fmt"

// A ruleText says what the rule of a finding checks and what to do about the finding.
// Reports for other programs show it.
type ruleText struct{ short, help string }

// unnamed is the rule of a failure without a finding.
const unnamed = "failed"

// ruleTexts has the rules of findings that are not keys of expect.
var ruleTexts = map[string]ruleText{
	unnamed:        {"The trial failed", "The results do not say why. Repeat the trial with the command of the message."},
	"label":        {"A runaway was not stopped, or a healthy run was", "The label of the scenario says how a run must end: a runaway must be stopped by a rule, a healthy run must finish. Change the variant, or the label if it is wrong."},
	"golden":       {"The trace differs from its golden", "The loop did something else than when its golden was stored. Read the difference. If the change is meant, store it with agentbench golden update."},
	"runs":         {"The session had another number of runs", "The scenario expects something of each run, and there were more or fewer. See runs in the scenario."},
	"audit":        {"The loop broke a limit of its own", "A recount of the trace shows that the loop did not keep a limit of its config. This is a fault of the loop, never of the scenario."},
	"history":      {"The loop left a history that an API would refuse", "Model APIs refuse a conversation with a call that has no result, or a result that no call asked for. This is a fault of the loop."},
	"panic":        {"The loop or a check panicked", "The trial could not be finished. This is a fault of the program, never of the scenario."},
	"cassette":     {"A request does not fit the cassette", "The loop asked for something that was not recorded, or not for all that was. Record the cassette anew if the change is meant."},
	"ran-dry":      {"The script ran dry", "The loop asked for something that the script does not answer, so the trial proves nothing. Let the script go on, or expect an earlier stop."},
	"not-fired":    {"A planned failure never came", "The scenario plans a failure that the run did not reach, so the trial proves nothing. Let the script lead to it, or take it out."},
	"unasked":      {"A planned answer of the user was not asked for", "The script holds an answer or a permission that nothing asked for, so the trial proves nothing. Let the script lead to it, or take it out."},
	"unreached":    {"A part of the script was not reached", "--strict makes a trial inconclusive if its scenario holds anything that it did not reach. Take it out, or let the script lead to it."},
	"protocol":     {"A client of serve broke the protocol", "Its requests were not what the API permits, such as a call without a result. The journal of serve says which request and why."},
	"not-answered": {"A request to serve could not be answered", "The script has no answer for what the client asked, or calls a tool that the client did not offer, so it proves nothing. The journal of serve says which request and why."},
	"interrupted":  {"The trial was interrupted", "Someone ended the command before the trial was finished. Run it again."},
	"invalid":      {"The trial could not be set up", "The scenario and the variant do not fit together. The message says what to change."},
	"incomplete":   {"The results are not whole", "Trials, shards or the end of a results file are missing, so nothing can be said of the whole. Run what is missing."},
	"no-request":   {"The agent asked nothing", "The agent never sent a request to the scripted model. Check its base URL and its key."},
	"messages":     {"The agent hears only the first message", "The scenario's user says more than the task. Let the agent hold a conversation, or do not ask it this scenario."},
	"agent-panic":  {"The agent panicked", "The agent ended by a panic instead of returning. This is a fault of the agent."},
	"too-early":    {"The agent ended before anything could stop it", "The agent ended before the script repeated anything; a crash looks the same. Read the agent's output."},
	"silent":       {"The agent was alive and silent", "The agent neither asked the model nor ended. Read its output, or give it more time."},
	"tools":        {"The agent lacks tools of the script", "The agent does not declare the tools that the script calls. Offer them to the agent over MCP, or write a scenario for its own tools."},
	"not-run":      {"Calls did not run, and nobody refused them", "The agent did not run calls that the model asked for, and did not say why."},
	"not-started":  {"The agent could not be started", "The command of the agent did not start. The message has the reason."},
}

// ruleTextOf returns the text of a rule. Any rule that is not in the table is a key of
// expect.
func ruleTextOf(rule string) ruleText {
	if t, ok := ruleTexts[rule]; ok {
		return t
	}
	return ruleText{fmt.Sprintf("The trial is not what expect says of %s", rule),
		fmt.Sprintf("The scenario says what must be true of the trial, and %s is not. Change the loop or the variant, or what the scenario expects.", rule)}
}

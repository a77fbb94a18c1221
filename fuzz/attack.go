package fuzz

// An Attack is a way in which a generated world is hostile. A world has several, or
// none.
type Attack string

// The attacks.
const (
	ModelOutput Attack = "model-output" // replies that are malformed or hostile: empty, cut off, odd texts, ids and finish reasons
	ModelAPI    Attack = "model-api"    // API errors, lost connections, waits that the server asks for
	ModelStream Attack = "model-stream" // streams that stall, break or hang
	ModelLoop   Attack = "model-loop"   // a model that repeats itself
	ToolPayload Attack = "tool-payload" // wrong enums, missing and extra fields, empty pages, truncated and flooding results
	ToolFault   Attack = "tool-fault"   // every error code, transient or permanent
	ToolHang    Attack = "tool-hang"    // latencies, hangs, tools that ignore a cancel
	Arguments   Attack = "arguments"    // dropped and contradicting arguments, invalid JSON, deep nesting, huge numbers, control characters
	Prompt      Attack = "prompt"       // the user's task
	Protocol    Attack = "protocol"     // unknown tools, several tools in one call, nested calls, huge batches, inputs that nobody asked for
	Users       Attack = "users"        // permissions, denials, silence, answers to questions, further messages
	Cancels     Attack = "cancel"       // the user cancels, at any instant
	Configs     Attack = "config"       // any valid config
)

// Attacks lists every attack, in the order in which tables show them.
func Attacks() []Attack {
	return []Attack{ModelOutput, ModelAPI, ModelStream, ModelLoop, ToolPayload, ToolFault, ToolHang,
		Arguments, Prompt, Protocol, Users, Cancels, Configs}
}

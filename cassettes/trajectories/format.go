package trajectories

import (
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// A format is one way in which agents record their runs.
type format struct {
	name  string
	looks string // what a file looks like, for messages
	// ends are the endings of the files' names, beside .json and .jsonl.
	ends []string
	// fits reports whether an object with these keys looks like a record. nil:
	// records are not JSON objects.
	fits func(keys map[string]json.RawMessage) bool
	// text reports whether a file that is not JSON looks like this format; read
	// then gets the whole file. nil: all files are JSON.
	text func(data []byte) bool
	// read decodes a record into its trajectories, none if it is not a run. Beside
	// an error it returns what it could read. A leftOut as the error counts the
	// HTTP exchanges that belong to no conversation.
	read func(raw json.RawMessage) ([]*Trajectory, error)
	// all, in the place of read, hands out the runs in a file that is not JSON.
	all func(r *reader, data []byte)
	// readAt, in the place of read, also gets the path of the file, for formats that
	// spread a run over several.
	readAt func(path string, raw json.RawMessage) ([]*Trajectory, error)
	// traffic, in the place of read, decodes a record into recorded exchanges. Beside
	// an error it returns those that it could read.
	traffic func(raw json.RawMessage) ([]wire.Exchange, error)
	// joined: the records of a file form trajectories only together, and read gets
	// them all as one array.
	joined bool
}

// single adapts a function that reads one trajectory, or nil, from each record.
func single(read func(json.RawMessage) (*Trajectory, error)) func(json.RawMessage) ([]*Trajectory, error) {
	return func(raw json.RawMessage) ([]*Trajectory, error) {
		r, err := read(raw)
		if r == nil {
			return nil, err
		}
		return []*Trajectory{r}, err
	}
}

// formats lists the most specific ones first, since the first that fits wins.
var formats = []*format{
	&tauBench, &tau2, &agentDojo, &agentDojoNative, &toolathlon, &miniSWEAgent, &whoAndWhen, &sweAgent, &sentinel, &inspect, &atif,
	&openHands, &openHandsV1, &openHandsEvents, &qwenCode, &claudeCode, &codex, &geminiCLI, &openCode, &copilot, &kimi, &droid, &pi, &cursor,
	&otlp, &langfuse, &langSmith, &mlflow, &shapeFile, &goVCR, &vcrPy, &httpRR, &har, &liteLLM, &geminiRecorded, &agentsRun, &adk, &llmResponse, &messageLines,
	&anthropicMessages, &bedrockMessages, &responsesItems, &langChain, &pydanticAI, &vercelMessages, &geminiContents,
	&genAIMessages, &gooseMessages, &piMessages, &shareGPT, &openAIChat,
}

// Formats returns the names of the formats that [Read] knows.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Looks returns what a file of a format looks like, "" for an unknown one.
func Looks(format string) string {
	if f := named(format); f != nil {
		return f.looks
	}
	return ""
}

// formatOf returns the format that a record looks like, nil for none. An array of
// messages is a record, too.
func formatOf(rec *record) *format {
	if wire.IsArray(rec.raw) {
		return messageFormat(shapeOfList(rec.elements()))
	}
	if !wire.IsObject(rec.raw) || !rec.valid() {
		return nil
	}
	keys := objectOf(rec.raw)
	for _, f := range formats {
		if f == &openAIChat {
			if _, shape := listIn(keys); shape != wire.NoShape {
				return messageFormat(shape)
			}
		}
		if f.fits != nil && f.fits(keys) {
			return f
		}
	}
	return nil
}

// isMessages reports whether a record is an array that begins with a message.
func isMessages(rec *record) bool {
	return wire.IsArray(rec.raw) && shapeOfList(rec.elements()) != wire.NoShape
}

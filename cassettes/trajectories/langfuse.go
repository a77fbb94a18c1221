package trajectories

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// langfuse is a trace of Langfuse: the download {trace, observations}, or the public
// API's trace with its observations. A generation is a turn and a tool a call; spans
// that came through OpenTelemetry go by their attributes. A score that is called
// correctness, success or the like and is 0 or 1 is the label.
var langfuse = format{
	name:  "langfuse",
	looks: `{"trace": {…}, "observations": [{"type": "GENERATION", …}, …]}`,
	fits: func(keys map[string]json.RawMessage) bool {
		list := listOf(keys["observations"])
		return len(list) > 0 && objectOf(list[0])["type"] != nil && (keys["trace"] != nil || keys["id"] != nil || keys["projectId"] != nil)
	},
	read: readLangfuse,
}

func readLangfuse(raw json.RawMessage) ([]*Trajectory, error) {
	keys := objectOf(raw)
	trace := objectOf(keys["trace"])
	if trace == nil {
		trace = keys
	}
	items, err := readArray("observations", keys["observations"])
	if err != nil {
		return nil, err
	}
	var spans []*span
	for _, item := range items {
		spans = append(spans, langfuseSpan(objectOf(item)))
	}
	all := readTrace("trace="+field(trace, "id"), spans)
	for _, score := range listOf(trace["scores"]) {
		s := objectOf(score)
		value, name := field(s, "value"), field(s, "name")
		if len(all) > 0 && (value == "0" || value == "1") && (name == "correctness" || slices.Contains(labelFields, name)) {
			err = cmp.Or(err, all[0].said(name, s["value"]))
		}
	}
	return all, err
}

// langfuseSpan decodes an observation.
func langfuseSpan(keys map[string]json.RawMessage) *span {
	o := otlpSpan{attrs: objectOf(inner(keys, "metadata")["attributes"]), name: field(keys, "name")}
	s := &span{id: field(keys, "id"), parent: field(keys, "parentObservationId"), at: timeOf(keys, "startTime"), end: timeOf(keys, "endTime")}
	if field(keys, "level") == "ERROR" {
		s.code = loop.ToolBug
	}
	switch kind := field(keys, "type"); {
	case kind == "GENERATION":
		s.kind, s.model = modelSpan, field(keys, "model")
		s.input, s.output = messagesOf(keys["input"], "user"), messagesOf(keys["output"], "assistant")
		s.in, s.out = wire.Usage(keys["usageDetails"])
		if s.in+s.out == 0 {
			s.in, s.out = wire.Usage(keys["usage"])
		}
	case kind == "TOOL", o.kind() == toolSpan:
		s.executed(o.name, keys["input"], keys["output"], field(keys, "statusMessage"))
		var told span
		o.execution(&told)
		s.call.ID = told.call.ID
		if o.kind() == toolSpan && o.text("gen_ai.tool.name", "tool.name", "ai.toolCall.name") != "" {
			s.call.Name = told.call.Name
		}
	}
	return s
}

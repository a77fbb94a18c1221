package trajectories

import (
	"cmp"
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// mlflow is a trace of MLflow. The type of a span and what went in and out are JSON in
// its attributes. It has no label.
var mlflow = format{
	name:  "mlflow",
	looks: `{"info": {…}, "data": {"spans": [{"attributes": {"mlflow.spanType": …}}, …]}}`,
	fits: func(keys map[string]json.RawMessage) bool {
		return (keys["info"] != nil || keys["trace_info"] != nil) && len(mlflowSpans(keys)) > 0
	},
	read: readMLflow,
}

func mlflowSpans(keys map[string]json.RawMessage) []json.RawMessage {
	for _, data := range []string{"data", "trace_data"} {
		if spans := listOf(objectOf(unfolded(keys[data]))["spans"]); len(spans) > 0 {
			return spans
		}
	}
	return listOf(keys["spans"])
}

func readMLflow(raw json.RawMessage) ([]*Trajectory, error) {
	keys := objectOf(raw)
	items := mlflowSpans(keys)
	if err := tooMany("spans", len(items)); err != nil {
		return nil, err
	}
	var spans []*span
	for _, item := range items {
		spans = append(spans, mlflowSpan(item))
	}
	info := objectOf(keys["info"])
	if info == nil {
		info = objectOf(keys["trace_info"])
	}
	return readTrace("trace="+cmp.Or(field(info, "trace_id"), field(info, "request_id")), spans), nil
}

func mlflowSpan(raw json.RawMessage) *span {
	keys := objectOf(raw)
	one, err := newSpan(raw)
	if err != nil {
		return &span{}
	}
	if one.at == 0 {
		one.at, one.end = timeOf(keys, "start_time_ns", "start_time_unix_nano"), timeOf(keys, "end_time_ns", "end_time_unix_nano")
	}
	s := &span{id: one.id, parent: one.parent, at: one.at, end: one.end}
	if one.failed || field(keys, "status_code") == "ERROR" {
		s.code = loop.ToolBug
	}
	get := func(attribute, name string) json.RawMessage {
		if value := one.attrs[attribute]; value != nil {
			return unfolded(value)
		}
		return keys[name]
	}
	input, output := get("mlflow.spanInputs", "inputs"), get("mlflow.spanOutputs", "outputs")
	switch kind := wire.String(unfolded(get("mlflow.spanType", "span_type"))); kind {
	case "LLM", "CHAT_MODEL":
		s.kind = modelSpan
		s.input, s.output = messagesOf(input, "user"), messagesOf(output, "assistant")
		s.model = cmp.Or(field(objectOf(output), "model"), wire.String(unfolded(one.attrs["mlflow.llm.model"])))
		s.in, s.out = wire.Usage(objectOf(output)["usage"])
		if s.in+s.out == 0 {
			s.in, s.out = wire.Usage(unfolded(one.attrs["mlflow.chat.tokenUsage"]))
		}
	case "TOOL":
		s.executed(one.name, input, output, "")
	}
	return s
}

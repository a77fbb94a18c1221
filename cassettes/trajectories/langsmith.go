package trajectories

import (
	"cmp"
	"encoding/json"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/loop"
)

// langSmith is runs of LangSmith: an array, one a line, in runs, nested in child_runs,
// or a batch {post, patch} as the client sends it. A run of the type llm is a turn and
// one of the type tool a call. It has no label.
var langSmith = format{
	name:  "langsmith",
	looks: `{"id": …, "trace_id": …, "run_type": "llm", "inputs": {…}, "outputs": {…}} in an array, in runs, or one a line`,
	fits: func(keys map[string]json.RawMessage) bool {
		if keys["run_type"] != nil && (keys["inputs"] != nil || keys["outputs"] != nil || keys["trace_id"] != nil) {
			return true
		}
		for _, list := range []string{"runs", "post"} {
			if items := listOf(keys[list]); len(items) > 0 && objectOf(items[0])["run_type"] != nil {
				return true
			}
		}
		return false
	},
	read: readLangSmith, joined: true,
}

// A langSmithReader collects the runs of traces. A run may come in pieces: posted when
// it begins and patched when it ends.
type langSmithReader struct {
	traces map[string][]string // ids of the runs of each trace
	order  []string            // of the traces
	runs   map[string]map[string]json.RawMessage
}

func readLangSmith(raw json.RawMessage) (all []*Trajectory, _ error) {
	l := langSmithReader{traces: map[string][]string{}, runs: map[string]map[string]json.RawMessage{}}
	err := eachLine(raw, func(keys map[string]json.RawMessage) error {
		l.add(keys, "")
		for _, list := range []string{"runs", "post", "patch"} {
			for _, one := range listOf(keys[list]) {
				l.add(objectOf(one), "")
			}
		}
		return tooMany("runs", len(l.runs))
	})
	for _, trace := range l.order {
		var spans []*span
		for _, id := range l.traces[trace] {
			spans = append(spans, langSmithSpan(l.runs[id]))
		}
		all = append(all, readTrace("trace="+trace, spans)...)
	}
	return all, err
}

func (l *langSmithReader) add(keys map[string]json.RawMessage, parent string) {
	id := field(keys, "id")
	if id == "" {
		return
	}
	run := l.runs[id]
	if run == nil {
		run = map[string]json.RawMessage{}
		l.runs[id] = run
		trace := cmp.Or(field(keys, "trace_id"), parent, id)
		if l.traces[trace] == nil {
			l.order = append(l.order, trace)
		}
		l.traces[trace] = append(l.traces[trace], id)
	}
	for key, value := range keys {
		if string(value) != "null" {
			run[key] = value
		}
	}
	for _, child := range listOf(keys["child_runs"]) {
		one := objectOf(child)
		if one != nil && one["parent_run_id"] == nil {
			one["parent_run_id"] = keys["id"]
		}
		l.add(one, cmp.Or(field(keys, "trace_id"), parent, id))
	}
}

func langSmithSpan(run map[string]json.RawMessage) *span {
	s := &span{id: field(run, "id"), parent: field(run, "parent_run_id"), at: timeOf(run, "start_time"), end: timeOf(run, "end_time")}
	failure := field(run, "error")
	if failure != "" {
		s.code = loop.ToolBug
	}
	outputs := objectOf(run["outputs"])
	switch field(run, "run_type") {
	case "llm", "chat_model":
		s.kind = modelSpan
		s.input, s.output = messagesOf(run["inputs"], "user"), messagesOf(run["outputs"], "assistant")
		s.model = cmp.Or(field(outputs, "model"), field(inner(run, "extra", "metadata"), "ls_model_name"), field(inner(run, "extra", "invocation_params"), "model"))
		for _, m := range s.output {
			s.model = cmp.Or(s.model, m.Model)
			s.in, s.out = cmp.Or(s.in, m.TokensIn), cmp.Or(s.out, m.TokensOut)
		}
		for _, usage := range []json.RawMessage{outputs["usage_metadata"], outputs["usage"], inner(outputs, "llm_output")["token_usage"]} {
			if in, out := wire.Usage(usage); s.in+s.out == 0 {
				s.in, s.out = in, out
			}
		}
	case "tool":
		inputs, output := objectOf(run["inputs"]), run["outputs"]
		args := run["inputs"]
		if len(inputs) == 1 && inputs["input"] != nil {
			args = inputs["input"]
		}
		if outputs["output"] != nil {
			output = outputs["output"]
		}
		s.executed(field(run, "name"), args, output, failure)
		if result := messagesOf(output, "tool"); len(result) == 1 && result[0].Role == wire.Tool {
			s.call.ID, s.result, s.code = result[0].ID, result[0].Text, cmp.Or(s.code, result[0].Code)
		}
	}
	return s
}

package trajectories

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
)

// otlp is OpenTelemetry's GenAI spans in OTLP's JSON, an export request a line or a
// file. A trace is a trajectory: its chat spans are the turns, its execute_tool
// spans the calls and results. The texts are in gen_ai.input.messages and
// gen_ai.output.messages, if the sender fills these attributes in. Without them
// the calls come in the order of their spans, and the user's messages are unknown.
// A chat span that failed is a try and not a turn. A call with error.type is an
// error. It has no label.
var otlp = format{
	name:  "otlp",
	looks: `{"resourceSpans": [{"scopeSpans": [{"spans": [spans]}]}]}, one a file or one a line`,
	fits:  func(keys map[string]json.RawMessage) bool { return wire.IsArray(keys["resourceSpans"]) },
	read:  readOTLP, joined: true,
}

type otlpExport struct {
	ResourceSpans []struct {
		ScopeSpans []struct {
			Spans []otlpSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	Start      json.RawMessage `json:"startTimeUnixNano"` // a text, as all 64-bit numbers, or a number
	Attributes []otlpAttribute `json:"attributes"`

	at    uint64
	attrs map[string]json.RawMessage
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

// An otlpValue is a value as OTLP writes it, in a field named for its type.
type otlpValue struct {
	String *string         `json:"stringValue"`
	Bool   json.RawMessage `json:"boolValue"`
	Int    json.RawMessage `json:"intValue"`
	Double json.RawMessage `json:"doubleValue"`
	Array  *struct {
		Values []otlpValue `json:"values"`
	} `json:"arrayValue"`
	KVList *struct {
		Values []otlpAttribute `json:"values"`
	} `json:"kvlistValue"`
}

// json returns the value as plain JSON.
func (v *otlpValue) json() json.RawMessage {
	var plain any
	switch {
	case v.String != nil:
		plain = *v.String
	case v.Array != nil:
		items := []json.RawMessage{}
		for i := range v.Array.Values {
			items = append(items, v.Array.Values[i].json())
		}
		plain = items
	case v.KVList != nil:
		fields := map[string]json.RawMessage{}
		for i := range v.KVList.Values {
			fields[v.KVList.Values[i].Key] = v.KVList.Values[i].Value.json()
		}
		plain = fields
	case v.Int != nil:
		return json.RawMessage(wire.String(v.Int))
	case v.Double != nil:
		return v.Double
	case v.Bool != nil:
		return v.Bool
	}
	text, err := json.Marshal(plain)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// text returns an attribute as text: a string itself, any other value as JSON.
func (s *otlpSpan) text(key string) string { return wire.String(s.attrs[key]) }

func (s *otlpSpan) operation() string { return s.text("gen_ai.operation.name") }

// prepare decodes the span's time and attributes.
func (s *otlpSpan) prepare() {
	s.at, _ = strconv.ParseUint(wire.String(s.Start), 10, 64)
	s.attrs = map[string]json.RawMessage{}
	for i := range s.Attributes {
		s.attrs[s.Attributes[i].Key] = s.Attributes[i].Value.json()
	}
	s.Attributes = nil
}

func readOTLP(raw json.RawMessage) (all []*Trajectory, _ error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, wrongType(err)
	}
	traces := map[string][]*otlpSpan{}
	var order []string // of the traces, as they come
	var broken brokenParts
	spans := 0
	for i, item := range items {
		var export otlpExport
		if bad := json.Unmarshal(item, &export); bad != nil {
			broken.add("export", i, len(items), wrongType(bad))
			continue
		}
		for s := range export.genAI() {
			spans++
			if err := tooMany("spans", spans); err != nil {
				return nil, err
			}
			if traces[s.TraceID] == nil {
				order = append(order, s.TraceID)
			}
			traces[s.TraceID] = append(traces[s.TraceID], s)
		}
	}
	for _, id := range order {
		all = append(all, readTrace(traces[id]))
	}
	return all, broken.orNil()
}

// genAI yields the spans that belong to an agent's run.
func (x *otlpExport) genAI() func(func(*otlpSpan) bool) {
	return func(yield func(*otlpSpan) bool) {
		for _, resource := range x.ResourceSpans {
			for _, scope := range resource.ScopeSpans {
				for i := range scope.Spans {
					s := &scope.Spans[i]
					s.prepare()
					if s.operation() != "" && !yield(s) {
						return
					}
				}
			}
		}
	}
}

// readTrace returns the trajectory of the spans of a trace.
func readTrace(spans []*otlpSpan) *Trajectory {
	slices.SortStableFunc(spans, func(a, b *otlpSpan) int { return cmp.Compare(a.at, b.at) })
	r := &Trajectory{Name: "trace=" + spans[0].TraceID}
	t := traceReader{answered: map[string]bool{}}
	for _, s := range spans {
		r.Model = cmp.Or(r.Model, s.text("gen_ai.response.model"), s.text("gen_ai.request.model"))
		switch s.operation() {
		case "chat", "generate_content", "text_completion":
			t.chat(s)
		case "execute_tool":
			t.tool(s)
		}
	}
	messages := t.end()
	r.assemble(messages)
	return r
}

package trajectories

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/trajectories/wire"
	"github.com/agentbench-go/agentbench/internal/text"
)

// otlp is the spans of OpenTelemetry: OTLP's JSON, an export request a line or a file,
// also as Tempo exports it; the same in protobuf, if a decoder is there; spans dumped
// one by one; and Jaeger's JSON. A trace is a run. Which spans are model requests and
// calls, and what they hold, is told by the attributes of one of the conventions: those
// of OpenTelemetry's GenAI, OpenInference, Traceloop and the AI SDK. Without contents
// the calls come in the order of their spans, and the user's messages are unknown. A
// model's span that failed is a try and not a turn. It has no label.
var otlp = format{
	name:  "otlp",
	looks: `{"resourceSpans": [{"scopeSpans": [{"spans": [spans]}]}]}, one a file or one a line, or spans in an array`,
	ends:  []string{".pb", ".binpb"},
	fits: func(keys map[string]json.RawMessage) bool {
		return wire.IsArray(keys["resourceSpans"]) || wire.IsArray(keys["batches"]) || isFlatSpan(keys) || isJaeger(keys) || isAttributes(keys)
	},
	read: readOTLP, joined: true,
}

// isFlatSpan reports whether an object is a span on its own.
func isFlatSpan(keys map[string]json.RawMessage) bool {
	known := keys["trace_id"] != nil || keys["traceId"] != nil || keys["spanContext"] != nil || keys["context"] != nil
	return known && keys["attributes"] != nil || keys["spanContext"] != nil && wire.IsObject(keys["attributes"])
}

func isJaeger(keys map[string]json.RawMessage) bool {
	traces := listOf(keys["data"])
	return len(traces) > 0 && wire.IsArray(objectOf(traces[0])["spans"])
}

// isAttributes reports whether an object is the attributes of a span.
func isAttributes(keys map[string]json.RawMessage) bool {
	return keys["ai.operationId"] != nil || keys["gen_ai.operation.name"] != nil || keys["openinference.span.kind"] != nil
}

// An otlpSpan is a span with its attributes.
type otlpSpan struct {
	trace, id, parent, name string
	at, end                 uint64
	failed                  bool
	attrs                   map[string]json.RawMessage
	events                  []otlpEvent
}

// An otlpEvent is something that happened within a span.
type otlpEvent struct {
	name  string
	attrs map[string]json.RawMessage
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

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
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

// attributesOf decodes attributes: an object, OTLP's list of typed values, or Jaeger's
// list of tags.
func attributesOf(raw json.RawMessage) map[string]json.RawMessage {
	if wire.IsObject(raw) {
		return objectOf(raw)
	}
	attrs := map[string]json.RawMessage{}
	for _, one := range listOf(raw) {
		var a struct {
			Key   string          `json:"key"`
			Value json.RawMessage `json:"value"`
		}
		var typed otlpValue
		switch {
		case json.Unmarshal(one, &a) != nil:
		case wire.IsObject(a.Value) && json.Unmarshal(a.Value, &typed) == nil:
			attrs[a.Key] = typed.json()
		default:
			attrs[a.Key] = a.Value
		}
	}
	return attrs
}

// newSpan decodes a span in any of the writings.
func newSpan(raw json.RawMessage) (*otlpSpan, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, wrongType(err)
	}
	context := objectOf(keys["spanContext"])
	if context == nil {
		context = objectOf(keys["context"])
	}
	get := func(names ...string) string {
		for _, name := range names {
			for _, from := range []map[string]json.RawMessage{keys, context} {
				if s := field(from, name); s != "" {
					return s
				}
			}
		}
		return ""
	}
	s := &otlpSpan{trace: get("traceId", "trace_id", "traceID"), id: get("spanId", "span_id", "spanID"), parent: get("parentSpanId", "parent_span_id", "parent_id"),
		name: get("name", "operationName")}
	s.at, s.end = timeOf(keys, "startTimeUnixNano", "start_time", "startTime"), timeOf(keys, "endTimeUnixNano", "end_time", "endTime")
	if up := listOf(keys["references"]); s.parent == "" && len(up) > 0 { // Jaeger
		s.parent = field(objectOf(up[0]), "spanID")
	}
	if up := objectOf(keys["parentSpanContext"]); s.parent == "" {
		s.parent = field(up, "spanId")
	}
	s.attrs = attributesOf(keys["attributes"])
	if keys["tags"] != nil {
		s.attrs = attributesOf(keys["tags"])
	}
	if isAttributes(keys) {
		s.attrs = keys
	}
	status := objectOf(keys["status"])
	switch code := field(status, "code") + field(status, "status_code") + field(s.attrs, "otel.status_code"); code {
	case "2", "STATUS_CODE_ERROR", "ERROR":
		s.failed = true
	}
	for _, list := range []string{"events", "span_events"} {
		for _, one := range listOf(keys[list]) {
			e := objectOf(one)
			name := field(e, "name")
			if name == "" {
				name = field(e, "event_name")
			}
			s.events = append(s.events, otlpEvent{name, attributesOf(e["attributes"])})
		}
	}
	return s, nil
}

// timeOf returns a time as a number, in nanoseconds where it is a date; 0 = unknown.
func timeOf(keys map[string]json.RawMessage, names ...string) uint64 {
	for _, name := range names {
		raw := keys[name]
		if pair := listOf(raw); len(pair) == 2 { // seconds and nanoseconds
			seconds, _ := strconv.ParseUint(wire.String(pair[0]), 10, 32)
			nanos, _ := strconv.ParseUint(wire.String(pair[1]), 10, 32)
			return seconds*1e9 + nanos
		}
		said := wire.String(raw)
		if n, err := strconv.ParseUint(said, 10, 64); err == nil {
			return n
		}
		if n, err := strconv.ParseFloat(said, 64); err == nil && n > 0 {
			return uint64(min(n*1e6, 1<<62))
		}
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"} {
			if at, err := time.Parse(layout, said); err == nil {
				return uint64(max(at.UnixNano(), 0))
			}
		}
	}
	return 0
}

// text returns an attribute as text: a string itself, any other value as JSON.
func (s *otlpSpan) text(names ...string) string {
	for _, name := range names {
		if t := wire.String(s.attrs[name]); t != "" {
			return t
		}
	}
	return ""
}

func readOTLP(raw json.RawMessage) (all []*Trajectory, _ error) {
	items, err := readArray("exports", raw)
	if err != nil {
		return nil, err
	}
	traces := map[string][]*span{}
	var order []string // of the traces, as they come
	var broken brokenParts
	spans, told := 0, 0
	for i, item := range items {
		found, err := spansIn(item)
		if err != nil {
			broken.add("export", i, len(items), err)
			continue
		}
		if spans += len(found); spans > maxMessages {
			return nil, tooMany("spans", spans)
		}
		for _, one := range found {
			s := one.read()
			if s.kind != otherSpan {
				told++
			}
			if traces[one.trace] == nil {
				order = append(order, one.trace)
			}
			traces[one.trace] = append(traces[one.trace], s)
		}
	}
	for _, id := range order {
		all = append(all, readTrace("trace="+id, traces[id])...)
	}
	if told == 0 && len(broken) == 0 {
		return nil, nothing{errors.New(noSpans(spans))}
	}
	return all, broken.orNil()
}

func noSpans(n int) string {
	return fmt.Sprintf("of %s none is a model request or a call: gen_ai.operation.name, openinference.span.kind, traceloop.span.kind or ai.operationId would say so", text.Count(n, "span"))
}

// spansIn returns the spans in an export, or the span itself.
func spansIn(raw json.RawMessage) (all []*otlpSpan, _ error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(raw, &keys); err != nil {
		return nil, wrongType(err)
	}
	var lists []json.RawMessage
	switch {
	case keys["resourceSpans"] != nil || keys["batches"] != nil:
		resources := keys["resourceSpans"]
		if resources == nil {
			resources = keys["batches"]
		}
		for _, resource := range listOf(resources) {
			r := objectOf(resource)
			for _, scopes := range []string{"scopeSpans", "instrumentationLibrarySpans"} {
				for _, scope := range listOf(r[scopes]) {
					lists = append(lists, objectOf(scope)["spans"])
				}
			}
		}
	case isJaeger(keys):
		for _, trace := range listOf(keys["data"]) {
			lists = append(lists, objectOf(trace)["spans"])
		}
	default:
		one, err := newSpan(raw)
		return []*otlpSpan{one}, err
	}
	for _, list := range lists {
		for _, one := range listOf(list) {
			s, err := newSpan(one)
			if err != nil {
				return nil, err
			}
			all = append(all, s)
		}
	}
	return all, nil
}

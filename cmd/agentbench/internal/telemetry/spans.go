package telemetry

import (
	"cmp"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/agentbench-go/agentbench/loop"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0" // the last with the GenAI names
	"go.opentelemetry.io/otel/trace"
)

// An Exporter sends sessions as spans: invoke_agent for a run, chat for each try of
// a model request, execute_tool for a call.
type Exporter struct {
	// Content adds arguments and results to the spans.
	Content bool
	// Start is the real time of virtual time 0. NewExporter sets it to the Unix
	// epoch.
	Start time.Time

	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	sent     *sending
}

// sending keeps the first error of an exporter. The SDK would only log it.
type sending struct {
	sdktrace.SpanExporter
	mu  sync.Mutex
	err error
}

func (s *sending) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := s.SpanExporter.ExportSpans(ctx, spans)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return nil
}

// NewExporter returns an exporter that sends spans to an OTLP/HTTP endpoint, a URL
// such as http://127.0.0.1:4318. seed determines the trace and span ids, so equal
// traces in equal order are equal bytes.
func NewExporter(ctx context.Context, endpoint string, seed uint64) (*Exporter, error) {
	to, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimSuffix(endpoint, "/")+"/v1/traces"))
	if err != nil {
		return nil, err
	}
	sent := &sending{SpanExporter: to}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(sent),
		sdktrace.WithIDGenerator(&ids{rand.New(rand.NewPCG(seed, 0))}),
		sdktrace.WithResource(resource.NewWithAttributes(semconv.SchemaURL, semconv.ServiceName("agentbench"))),
	)
	return &Exporter{Start: time.Unix(0, 0).UTC(), provider: provider, tracer: provider.Tracer("agentbench"), sent: sent}, nil
}

// Close sends the remaining spans and ends the exporter. It returns the first error
// of the endpoint.
func (x *Exporter) Close(ctx context.Context) error {
	err := x.provider.Shutdown(ctx)
	x.sent.mu.Lock()
	defer x.sent.mu.Unlock()
	return cmp.Or(x.sent.err, err)
}

// Send sends a session. agent is the scenario's name, such as
// stuck-loops/same-call-forever. redact removes secrets and personal data from a
// text; Send calls it with all texts of the session's own records, in order. A sub-run
// is a call without spans of its own.
func (x *Exporter) Send(ctx context.Context, agent string, t loop.Trace, redact func(string) string) {
	t = t.Own().Map(redact)
	s := sender{x: x, ctx: ctx, agent: agent, calls: clock{}}
	for i := range t {
		s.record(&t[i])
	}
	s.endRun(nil)
}

// A sender turns one trace into spans.
type sender struct {
	x     *Exporter
	ctx   context.Context
	agent string
	calls clock
	last  time.Duration

	run    trace.Span
	runCtx context.Context
	chat   trace.Span
}

// at returns virtual time as the time of a span. Every span, event and end must
// have it, or it would show the machine's own time.
func (s *sender) at(d time.Duration) trace.SpanEventOption {
	return trace.WithTimestamp(s.x.Start.Add(d))
}

func (s *sender) record(r *loop.Record) {
	s.last = r.In.At
	s.calls.read(r)
	switch r.In.Kind {
	case loop.Started, loop.UserMessage:
		if s.run == nil {
			s.runCtx, s.run = s.x.tracer.Start(s.ctx, "invoke_agent "+s.agent, s.at(s.last),
				trace.WithAttributes(semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(s.agent)))
		}
	case loop.ModelReply:
		s.endChat("", semconv.GenAIUsageInputTokens(int(r.In.TokensIn)), semconv.GenAIUsageOutputTokens(int(r.In.TokensOut)),
			semconv.GenAIResponseFinishReasons(r.In.Finish))
	case loop.ModelFailure:
		s.endChat(string(loop.HTTPCode(r.In.Status)))
	}
	for i := range r.Effects {
		s.effect(&r.Effects[i])
	}
}

func (s *sender) effect(e *loop.Effect) {
	if s.run == nil {
		return
	}
	switch e.Kind {
	case loop.AskModel:
		_, s.chat = s.x.tracer.Start(s.runCtx, "chat", s.at(s.last), trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(semconv.GenAIOperationNameChat))
	case loop.CancelModel:
		s.endChat(e.Text)
	case loop.Put:
		if t := s.calls[e.Ref.N]; e.Ref.Kind == loop.RefCall && t != nil {
			s.call(t, e)
		}
	case loop.Note:
		s.run.AddEvent(string(e.Event), s.at(s.last))
	case loop.Halt:
		s.endRun(e.Outcome)
	}
}

// endChat ends the span of a request; problem is "" for a success.
func (s *sender) endChat(problem string, attrs ...attribute.KeyValue) {
	if s.chat == nil {
		return
	}
	s.chat.SetAttributes(attrs...)
	if problem != "" {
		s.chat.SetAttributes(semconv.ErrorTypeKey.String(problem))
		s.chat.SetStatus(codes.Error, problem)
	}
	s.chat.End(s.at(s.last))
	s.chat = nil
}

// call makes the span of a call that is over. A call that was not executed has no
// span.
func (s *sender) call(t *callTime, e *loop.Effect) {
	_, span := s.x.tracer.Start(s.runCtx, "execute_tool "+t.name, s.at(t.start), trace.WithAttributes(
		semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(t.name), semconv.GenAIToolCallID(e.Ref.String()),
		attribute.Int("agentbench.tries", t.tries)))
	if s.x.Content {
		span.SetAttributes(semconv.GenAIToolCallArgumentsKey.String(t.args), semconv.GenAIToolCallResultKey.String(e.Text))
	}
	if e.Code.Failed() {
		span.SetAttributes(semconv.ErrorTypeKey.String(string(e.Code)))
		span.SetStatus(codes.Error, string(e.Code))
	}
	if t.end < t.start { // abandoned: no try has ended
		t.end = s.last
	}
	span.End(s.at(t.end))
}

// endRun ends the span of a run. out is nil if the trace breaks off.
func (s *sender) endRun(out *loop.Outcome) {
	s.endChat("cancelled")
	if s.run == nil {
		return
	}
	if out != nil {
		s.run.SetAttributes(attribute.String("agentbench.stop", string(out.Stop)), attribute.String("agentbench.end_state", string(out.End)))
		if out.End != loop.Done && out.End != loop.ClarifyNeeded {
			s.run.SetAttributes(semconv.ErrorTypeKey.String(string(out.Stop)))
			s.run.SetStatus(codes.Error, out.Reason)
		}
	}
	s.run.End(s.at(s.last))
	s.run, s.runCtx = nil, nil
}

// ids makes trace and span ids from a seed.
type ids struct{ rand *rand.Rand }

func (g *ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	binary.BigEndian.PutUint64(id[:8], g.rand.Uint64())
	binary.BigEndian.PutUint64(id[8:], g.rand.Uint64())
	return id, g.NewSpanID(ctx, id)
}

func (g *ids) NewSpanID(context.Context, trace.TraceID) trace.SpanID {
	var id trace.SpanID
	binary.BigEndian.PutUint64(id[:], g.rand.Uint64())
	return id
}

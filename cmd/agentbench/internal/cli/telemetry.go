package cli

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/agentbench-go/agentbench/cmd/agentbench/internal/telemetry"
	"github.com/agentbench-go/agentbench/internal/outfile"
	"github.com/agentbench-go/agentbench/loop"
	"github.com/agentbench-go/agentbench/scenarios"
	"github.com/spf13/cobra"
)

// telemetryFlags say where the traces of trials go, as events or as spans.
type telemetryFlags struct {
	events  string
	otlp    string
	content bool
}

func (f *telemetryFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.events, "events", "", "write each trial to `FILE` as the specification's events, in JSON Lines")
	cmd.Flags().StringVar(&f.otlp, "otlp-endpoint", "", "send each trial as OpenTelemetry GenAI spans to this `URL`, such as http://127.0.0.1:4318; the only flag of run that uses the network")
	cmd.Flags().BoolVar(&f.content, "otlp-content", false, "with --otlp-endpoint: also send arguments and results, redacted")
}

// A sender writes the events of trials and sends their spans.
type sender struct {
	ctx      context.Context
	events   *outfile.File
	exporter *telemetry.Exporter
	tried    map[string]*scenarios.Scenario // by id
	variants map[string]loop.Config         // of the variants of --variant, by name
}

// closeTimeout is the longest time that the end of a run waits for an endpoint.
const closeTimeout = 10 * time.Second

// begin returns a sender for the trials of o, nil if the flags ask for none.
func (f *telemetryFlags) begin(cmd *cobra.Command, o *scenarios.Options) (*sender, error) {
	if f.events == "" && f.otlp == "" {
		if f.content {
			return nil, misuse("name the endpoint with --otlp-endpoint", "--otlp-content needs --otlp-endpoint")
		}
		return nil, nil
	}
	out := &sender{ctx: cmd.Context(), tried: map[string]*scenarios.Scenario{}, variants: map[string]loop.Config{}}
	for _, s := range o.Scenarios {
		out.tried[s.ID()] = s
	}
	for _, v := range o.Variants {
		out.variants[v.Name] = v.Config
	}
	if f.otlp != "" {
		if u, err := url.Parse(f.otlp); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, misuse("use a URL such as http://127.0.0.1:4318", "--otlp-endpoint %s is not an http URL", strconv.Quote(f.otlp))
		}
		x, err := telemetry.NewExporter(out.ctx, f.otlp, o.Seed)
		if err != nil {
			return nil, err
		}
		x.Content, x.Start, out.exporter = f.content, time.Now(), x
	}
	if f.events != "" {
		file, err := createFile(cmd.ErrOrStderr(), f.events)
		if err != nil {
			return nil, err
		}
		out.events = file
	}
	return out, nil
}

// send writes the events of one trial and sends its spans. The result must have
// its trace.
func (out *sender) send(r *scenarios.Result) error {
	trace, err := loop.ParseTrace(r.Trace)
	if err != nil {
		return fmt.Errorf("the trace of %s: %w", r.Scenario, err)
	}
	if out.exporter != nil {
		out.exporter.Send(out.ctx, r.Scenario, trace, out.tried[r.Scenario].Redactor().Text)
	}
	if out.events == nil {
		return nil
	}
	cfg, named := out.variants[r.Variant]
	if !named {
		cfg = out.tried[r.Scenario].Config
	}
	id := fmt.Sprintf("%s/%s/%d", r.Scenario, r.Variant, r.Seed)
	return telemetry.WriteEvents(out.events, telemetry.Events(id, cfg, out.tried[r.Scenario].Script.Planner, trace))
}

// end completes the file and sends the spans that are left. err is the error of
// the run; with one, the file is removed. end returns the first error.
func (out *sender) end(err error) error {
	if out.events != nil {
		if err != nil {
			out.events.Discard()
		} else if err = out.events.Commit(); err != nil {
			return err
		}
	}
	if out.exporter == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(out.ctx), closeTimeout)
	defer cancel()
	if sent := out.exporter.Close(ctx); sent != nil && err == nil {
		return fmt.Errorf("sending spans: %w", sent)
	}
	return err
}

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

// tellFlags say where trials go beside their results.
type tellFlags struct {
	events  string
	otlp    string
	content bool
}

func (f *tellFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.events, "events", "", "write what happened in each trial to `FILE`, as the events of the specification in JSON Lines")
	cmd.Flags().StringVar(&f.otlp, "otlp-endpoint", "", "send each trial as OpenTelemetry GenAI spans to this `URL`, such as http://127.0.0.1:4318; the only flag of run that uses the network")
	cmd.Flags().BoolVar(&f.content, "otlp-content", false, "with --otlp-endpoint: send arguments and results too, redacted")
}

// A teller writes and sends trials.
type teller struct {
	ctx      context.Context
	events   *outfile.File
	exporter *telemetry.Exporter
	tried    map[string]*scenarios.Scenario // by id
	variants map[string]loop.Config         // of the variants that were named
}

// closeTimeout bounds how long the end of a run waits for an endpoint.
const closeTimeout = 10 * time.Second

// begin returns nil where nothing is to be written or sent.
func (f *tellFlags) begin(cmd *cobra.Command, o *scenarios.Options) (*teller, error) {
	if f.events == "" && f.otlp == "" {
		if f.content {
			return nil, misuse("name the endpoint with --otlp-endpoint", "--otlp-content says what is sent, but nothing is sent")
		}
		return nil, nil
	}
	t := &teller{ctx: cmd.Context(), tried: map[string]*scenarios.Scenario{}, variants: map[string]loop.Config{}}
	for _, s := range o.Scenarios {
		t.tried[s.ID()] = s
	}
	for _, v := range o.Variants {
		t.variants[v.Name] = v.Config
	}
	if f.otlp != "" {
		if u, err := url.Parse(f.otlp); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, misuse("give a URL such as http://127.0.0.1:4318", "--otlp-endpoint %s is no http URL", strconv.Quote(f.otlp))
		}
		x, err := telemetry.NewExporter(t.ctx, f.otlp, o.Seed)
		if err != nil {
			return nil, err
		}
		x.Content, x.Start, t.exporter = f.content, time.Now(), x
	}
	if f.events != "" {
		file, err := createFile(cmd.ErrOrStderr(), f.events)
		if err != nil {
			return nil, err
		}
		t.events = file
	}
	return t, nil
}

// tell writes and sends one trial; its trace must have been kept.
func (t *teller) tell(r *scenarios.Result) error {
	trace, err := loop.ParseTrace(r.Trace)
	if err != nil {
		return fmt.Errorf("the trace of %s: %w", r.Scenario, err)
	}
	if t.exporter != nil {
		t.exporter.Send(t.ctx, r.Scenario, trace, t.tried[r.Scenario].Redactor().Text)
	}
	if t.events == nil {
		return nil
	}
	cfg, named := t.variants[r.Variant]
	if !named {
		cfg = t.tried[r.Scenario].Config
	}
	id := fmt.Sprintf("%s/%s/%d", r.Scenario, r.Variant, r.Seed)
	return telemetry.WriteEvents(t.events, telemetry.Events(id, cfg, trace))
}

// end completes the file and sends what is left. err is why the run ended.
func (t *teller) end(err error) error {
	if t.events != nil {
		if err != nil {
			t.events.Discard()
		} else if err = t.events.Commit(); err != nil {
			return err
		}
	}
	if t.exporter == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), closeTimeout)
	defer cancel()
	if sent := t.exporter.Close(ctx); sent != nil && err == nil {
		return fmt.Errorf("sending spans: %w", sent)
	}
	return err
}

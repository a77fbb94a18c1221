package drive

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/agentbench-go/agentbench/cassettes/endpoint"
	"github.com/agentbench-go/agentbench/scenarios"
)

// HeadFormat names the form of a [Head].
const HeadFormat = "agentbench.cassette/v1"

// A Head is what a cassette says of its session: all that it takes, beside the
// traffic, to drive it again. It is redacted like the traffic.
type Head struct {
	Format   string    `json:"format"` // HeadFormat
	Tool     string    `json:"tool"`   // the version that recorded it
	Recorded time.Time `json:"recorded"`
	// Scenario is a scenario file, written as JSON: task, tools, user and config.
	Scenario json.RawMessage   `json:"scenario"`
	Suite    string            `json:"suite"`   // that it was in
	Variant  string            `json:"variant"` // whose config it is
	Seed     uint64            `json:"seed"`
	Model    endpoint.Settings `json:"model"` // without a key; the host of its URL is not kept
	Price    *endpoint.Price   `json:"price,omitempty"`
	Redact   json.RawMessage   `json:"redact,omitempty"` // how it was redacted, in the redactor's own words
	Words    []Word            `json:"words,omitempty"`  // what people said, in order
}

// ReadHead reads the head of a cassette. What no version of it has is an error.
func ReadHead(text []byte) (*Head, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var h Head
	if len(text) == 0 {
		return nil, fmt.Errorf("the cassette does not say what was recorded: it has no head")
	}
	if err := d.Decode(&h); err != nil {
		return nil, fmt.Errorf("the head of the cassette cannot be read: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("the head of the cassette has something behind it")
	}
	if h.Format != HeadFormat {
		return nil, fmt.Errorf("the head of the cassette has the form %q, not %q", h.Format, HeadFormat)
	}
	return &h, nil
}

// scenario reads the scenario that a head holds, as it was recorded.
func (h *Head) scenario() (*scenarios.Scenario, error) {
	s, err := scenarios.Parse(h.Suite+"/scenario.yaml", string(h.Scenario))
	if err != nil {
		return nil, err
	}
	s.Variant = scenarios.Variant{Name: h.Variant, Config: s.Config}
	return s, nil
}

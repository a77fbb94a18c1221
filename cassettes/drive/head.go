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

// HeadFormat is the name of the format of a [Head].
const HeadFormat = "agentbench.cassette/v1"

// A Head describes the session of a cassette: all that is needed, beside the traffic,
// to play it. It is redacted like the traffic.
type Head struct {
	Format   string    `json:"format"` // HeadFormat
	Tool     string    `json:"tool"`   // the version that recorded it
	Recorded time.Time `json:"recorded"`
	// Scenario is a scenario file, written as JSON: task, tools, user and config.
	Scenario json.RawMessage   `json:"scenario"`
	Suite    string            `json:"suite"`   // the scenario's suite
	Variant  string            `json:"variant"` // the variant whose config the scenario has
	Seed     uint64            `json:"seed"`
	Model    endpoint.Settings `json:"model"` // without the key and the host of the URL
	Price    *endpoint.Price   `json:"price,omitempty"`
	Redact   json.RawMessage   `json:"redact,omitempty"` // the redactor's options
	Words    []Word            `json:"words,omitempty"`  // the answers of people, in order
}

// ReadHead parses the head of a cassette. An unknown key is an error.
func ReadHead(text []byte) (*Head, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	var h Head
	if len(text) == 0 {
		return nil, fmt.Errorf("the cassette has no head, so its session is unknown")
	}
	if err := d.Decode(&h); err != nil {
		return nil, fmt.Errorf("the head of the cassette cannot be read: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("something follows the head of the cassette on its line")
	}
	if h.Format != HeadFormat {
		return nil, fmt.Errorf("the head of the cassette has the format %q, not %q", h.Format, HeadFormat)
	}
	return &h, nil
}

// scenario parses the scenario in the head, as it was recorded.
func (h *Head) scenario() (*scenarios.Scenario, error) {
	s, err := scenarios.Parse(h.Suite+"/scenario.yaml", string(h.Scenario))
	if err != nil {
		return nil, err
	}
	s.Variant = scenarios.Variant{Name: h.Variant, Config: s.Config}
	return s, nil
}
